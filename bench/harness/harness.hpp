// SPDX-License-Identifier: Apache-2.0
// How two sides are measured against each other: in this process, in turn, on the same data, with
// their results compared before anything is timed. In: cases; out: rows of a table and of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <vyre/vyre.hpp>

namespace vyre::bench {

struct Options {
  std::string device = "cpu";
  std::vector<std::string> only{};  // ids; empty: all
  bool quick = false;               // tiny sizes and three repetitions: does it still run?
  bool peers_only = false;          // ours is not run: what the machine and the peers can do
  std::string json{};               // a file; empty: none
  uint32_t repetitions = 15;
  double settle_ns = 10e6;  // a pause before each sample
};

// Ends a case, not the program: its rows say what went wrong.
struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
T must(Result<T> result) {
  if (!result) throw Failed(to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct Goal {
  enum class Kind : uint8_t { None, Ratio, DeviceRatio, Over, AtMost } kind = Kind::None;
  double value = 0;  // a ratio; nanoseconds over the peer; nanoseconds of ours

  static Goal ratio(double at_least) { return {Kind::Ratio, at_least}; }
  // Of the times on the device.
  static Goal device_ratio(double at_least) { return {Kind::DeviceRatio, at_least}; }
  static Goal over(double ns) { return {Kind::Over, ns}; }
  static Goal at_most(double ns) { return {Kind::AtMost, ns}; }
};

// What a comparison of results gave.
struct Agreement {
  bool equal = false;
  std::string how{};  // the tolerance, or what differs; empty: bit for bit
};

struct Peer {
  std::string name;       // a row each; of several with one name the fastest is the peer
  std::string variant{};  // what sets it apart from others with its name
  Goal goal{};
  std::function<void()> run{};
  std::function<Agreement()> compare{};  // after both sides ran once; none: nothing to compare
  std::string unavailable{};             // why there is none here
  // Where a run goes on from the last one: back to the start, before the run that is compared.
  std::function<void()> reset{};
  // One more run, and how long the device was busy with it (ns); none, or 0: nobody knows.
  std::function<double()> device{};
};

struct Case {
  std::string id{};  // and workload: set by Bench::run
  std::string workload{};
  double per = 1;                // times are divided by it: passes, steps
  std::function<void()> ours{};  // blocking
  std::vector<Peer> peers{};
  std::function<double()> device{};  // as a peer's
  // In place of the steady clock, for both sides: where only a part of a run counts, and says what
  // it took.
  std::function<double()> clock{};
  double sample_ns = 0;      // at least; 0: about 3 ms of calls
  uint32_t repetitions = 0;  // 0: as the options say, fewer if a call takes seconds
  bool one_call = false;     // a sample is one call, also a short one: for cold cases
};

struct Sample {
  double median_ns = 0;
  double min_ns = 0;
  uint32_t repetitions = 0;
};

struct Row {
  std::string id, workload;
  std::string peer, variant;
  Sample ours, theirs;
  Goal goal;
  double ratio = 0;  // > 1: ours is better
  Sample ours_device, theirs_device;
  double device_ratio = 0;
  Agreement agreement;
  bool compared = false;
  bool judged = false;  // whether met means something
  bool met = false;
  std::string failure;      // of ours
  std::string unavailable;  // of the peer
};

class Bench {
 public:
  Bench(Options options, Device device)
      : options_(std::move(options)), device_(std::move(device)) {}

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] bool quick() const { return options_.quick; }
  [[nodiscard]] bool includes(std::string_view id) const;
  // Picks a size.
  template <class T>
  T size(T full, T quick) const {
    return options_.quick ? quick : full;
  }

  // Measures a case; its rows are also kept. `make` may throw Failed: then there is one failed row.
  std::vector<Row> run(std::string_view id, std::string_view workload,
                       const std::function<Case()>& make);
  void add(Row row);
  std::function<void(const Row&)> on_row{};  // as soon as there is one
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

  [[nodiscard]] bool all_good() const;  // nothing failed, nothing differs

 private:
  std::vector<Row> measure(Case& c);

  Options options_;
  Device device_;
  std::vector<Row> rows_;
};

// A program on the device under test, its data resident. Buffers are named as in the program.
class Ours {
 public:
  // `path` is relative to the source tree.
  Ours(const Bench& bench, std::string_view path);

  template <class R>
  Ours& input(const std::string& name, const R& values) {
    upload(name, as_bytes(values));
    return *this;
  }
  // Small, from the host with every dispatch: what decides about sizes cannot be on the device.
  Ours& uniform(const std::string& name, const std::vector<uint32_t>& values) {
    const auto bytes = as_bytes(values);
    values_[name].assign(bytes.begin(), bytes.end());
    return *this;
  }
  // An output that stays on the device. One that is not named here comes back as bytes.
  Ours& output(const std::string& name, uint64_t bytes);
  Ours& grid(uint32_t workgroups);
  [[nodiscard]] const Pipeline& pipeline() const { return pipeline_; }
  [[nodiscard]] const Buffer& buffer(const std::string& name) const { return buffers_.at(name); }

  void run();
  // One more run with timers on; 0 if the device does not say.
  double device_ns();
  template <class T>
  std::vector<T> read(const std::string& name) const {
    return to_vector<T>(must(device_.read(buffers_.at(name))));
  }
  [[nodiscard]] const Report& report() const { return report_; }

 private:
  void upload(const std::string& name, std::span<const std::byte> bytes);
  void bind();

  Device device_;
  Pipeline pipeline_;
  DispatchConfig config_;
  std::map<std::string, Buffer> buffers_;  // nodes stay in place: arguments point to them
  std::map<std::string, std::vector<std::byte>> values_;
  std::vector<Argument> inputs_;
  std::vector<const Buffer*> outputs_;
  Outputs slots_;
  Report report_;
  bool bound_ = false;
};

// The text of a file of the source tree.
std::string source_text(std::string_view path);

double now_ns();
std::string format_time(double ns);

// ---- comparing

template <class T>
Agreement equal_values(std::span<const T> ours, std::span<const T> theirs) {
  if (ours.size() != theirs.size()) return {false, "lengths differ"};
  for (size_t i = 0; i < ours.size(); ++i)
    if (std::memcmp(&ours[i], &theirs[i], sizeof(T)) != 0)
      return {false, "element " + std::to_string(i) + ": " + std::to_string(ours[i]) + " and " +
                         std::to_string(theirs[i])};
  return {true, ""};
}
// Relative to the larger of the two, or to 1 where both are smaller.
Agreement close_values(std::span<const float> ours, std::span<const float> theirs, double relative);
Agreement close_values(std::span<const double> ours, std::span<const double> theirs,
                       double relative);
// In units of the last place; two NaNs are equal.
Agreement ulp_values(std::span<const float> ours, std::span<const float> theirs, uint32_t ulps);
Agreement ulp_values(std::span<const double> ours, std::span<const double> theirs, uint32_t ulps);

}  // namespace vyre::bench
