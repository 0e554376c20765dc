// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

namespace vyre::bench {
namespace {

// Runtimes let their threads spin for a while after a region (libgomp for about 4 ms). On a
// machine with few cores these would run beside the other side, so each side starts when they have
// parked (Options::settle_ns).
constexpr double kSettleQuickNs = 1e6;
// A sample of short calls takes about this long.
constexpr double kSampleNs = 3e6;
constexpr double kSampleQuickNs = 1e5;
constexpr double kLongSample = 2;  // so many times longer and it ends before all calls are made
constexpr double kWarmNs = 2e8;    // up to here a call is repeated before it is timed
constexpr double kSlowNs = 1e9;    // from here on five repetitions

using Clock = std::function<double()>;

double time_of(const std::function<void()>& run, const Clock& clock) {
  const double start = clock();
  run();
  return clock() - start;
}

Sample summary(std::vector<double> times) {
  std::ranges::sort(times);
  const size_t n = times.size();
  const double median = n % 2 == 1 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  return {median, times.front(), static_cast<uint32_t>(n)};
}
Sample summary_or_none(const std::vector<double>& times) {
  return times.empty() ? Sample{} : summary(times);
}

bool is_met(const Row& row) {
  switch (row.goal.kind) {
    case Goal::Kind::None: return false;
    case Goal::Kind::Ratio: return row.ratio >= row.goal.value;
    case Goal::Kind::DeviceRatio: return row.device_ratio >= row.goal.value;
    case Goal::Kind::Over: return row.ours.median_ns - row.theirs.median_ns <= row.goal.value;
    case Goal::Kind::AtMost: return row.ours.median_ns <= row.goal.value;
  }
  return false;
}

struct Side {
  std::function<void()> run;
  size_t calls = 1;
  bool warm = false;
  std::vector<double> times{};
  std::function<double()> device{};
  std::vector<double> device_times{};
};

// How many calls there are is guessed from one of them, which may have been lucky: on a machine
// that others use a call can take a hundred times longer. So a sample also ends by the clock, which
// is looked at ever more rarely, since short calls would feel it.
double time_per_call(const Side& side, double most_ns, const Clock& clock) {
  const double start = clock();
  double taken = 0;
  size_t done = 0;
  for (size_t next_check = 1; done < side.calls && taken < most_ns; next_check *= 2) {
    for (; done < std::min(next_check, side.calls); ++done) side.run();
    taken = clock() - start;
  }
  return taken / static_cast<double>(done);
}

// Ours and the peers that are there, each called once, and how they took part.
struct Measured {
  std::vector<Side> sides{};  // ours first
  std::vector<const Peer*> peers{};
  std::vector<Agreement> agreements{};
  std::string failure{};
};

void sample(const Case& c, const Options& options, const Clock& clock,
            const std::vector<double>& first_calls, Measured& m) {
  double slowest = 0;
  const double sample_ns = options.quick ? kSampleQuickNs : std::max(kSampleNs, c.sample_ns);
  const auto prepare = [&](const std::function<void()>& run, const std::function<double()>& device,
                           double first) {
    // The first call of a warm case also pays for threads and page faults.
    const double again = c.one_call || first > kSlowNs ? first : time_of(run, clock);
    slowest = std::max(slowest, again);
    Side side{run};
    side.device = device;
    side.warm = !c.one_call && again < kWarmNs;
    if (!c.one_call)
      side.calls = static_cast<size_t>(std::clamp(sample_ns / std::max(again, 1.0), 1.0, 1e6));
    m.sides.push_back(std::move(side));
  };
  prepare(c.ours, c.device, first_calls[0]);
  for (size_t i = 0; i < m.peers.size(); ++i)
    prepare(m.peers[i]->run, m.peers[i]->device, first_calls[i + 1]);
  uint32_t repetitions = c.repetitions != 0 ? c.repetitions : options.repetitions;
  if (slowest > kSlowNs) repetitions = std::min(repetitions, 5u);
  if (options.quick) repetitions = std::min(repetitions, 3u);
  const double settle_ns =
      options.quick ? std::min(kSettleQuickNs, options.settle_ns) : options.settle_ns;
  for (uint32_t r = 0; r < repetitions; ++r) {
    for (Side& side : m.sides) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<int64_t>(settle_ns)));
      if (side.warm) side.run();  // threads are awake and caches warm again
      side.times.push_back(time_per_call(side, kLongSample * sample_ns, clock) / c.per);
    }
  }
  for (uint32_t r = 0; r < repetitions; ++r)
    for (Side& side : m.sides)
      if (const double ns = side.device ? side.device() : 0; ns > 0)
        side.device_times.push_back(ns / c.per);
}

// The row of a name, for its fastest variant.
Row row_of(const Case& c, const Options& options, const Measured& m, const std::string& name) {
  Row row;
  row.id = c.id;
  row.workload = c.workload;
  row.peer = name;
  row.failure = m.failure;
  if (m.failure.empty() && !options.peers_only) {
    row.ours = summary(m.sides[0].times);
    row.ours_device = summary_or_none(m.sides[0].device_times);
  }
  bool all_equal = true;
  std::string differs;
  for (size_t i = 0; i < m.peers.size(); ++i) {
    if (m.peers[i]->name != name) continue;
    const Sample theirs = summary(m.sides[i + 1].times);
    const bool compared = m.peers[i]->compare && !options.peers_only;
    if (compared && !m.agreements[i].equal) {
      all_equal = false;
      differs = m.agreements[i].how;
    }
    if (row.theirs.repetitions != 0 && theirs.median_ns >= row.theirs.median_ns) continue;
    row.theirs = theirs;
    row.theirs_device = summary_or_none(m.sides[i + 1].device_times);
    row.variant = m.peers[i]->variant;
    row.agreement = m.agreements[i];
    row.compared = compared;
  }
  if (!all_equal) row.agreement = {false, differs};
  for (const Peer& peer : c.peers) {
    if (peer.name != name) continue;
    row.goal = peer.goal;
    if (row.theirs.repetitions == 0) row.unavailable = peer.unavailable;
  }
  const bool both = row.theirs.repetitions != 0 && row.ours.repetitions != 0;
  if (both) row.ratio = row.theirs.median_ns / row.ours.median_ns;
  const bool both_devices = row.theirs_device.repetitions != 0 && row.ours_device.repetitions != 0;
  if (both_devices) row.device_ratio = row.theirs_device.median_ns / row.ours_device.median_ns;
  switch (row.goal.kind) {
    case Goal::Kind::None: break;
    case Goal::Kind::Ratio:
    case Goal::Kind::Over: row.judged = both; break;
    case Goal::Kind::DeviceRatio: row.judged = both_devices; break;
    case Goal::Kind::AtMost: row.judged = row.ours.repetitions != 0; break;
  }
  if (options.quick) row.judged = false;
  return row;
}

}  // namespace

double now_ns() {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::steady_clock::now().time_since_epoch())
                                 .count());
}

bool Bench::includes(std::string_view id) const {
  return options_.only.empty() || std::ranges::find(options_.only, id) != options_.only.end();
}

void Bench::add(Row row) {
  row.met = is_met(row);
  rows_.push_back(std::move(row));
  if (on_row) on_row(rows_.back());
}

std::vector<Row> Bench::run(std::string_view id, std::string_view workload,
                            const std::function<Case()>& make) {
  std::fprintf(stderr, "%s %s\n", std::string(id).c_str(), std::string(workload).c_str());
  std::vector<Row> rows;
  try {
    Case c = make();
    c.id = id;
    c.workload = workload;
    rows = measure(c);
  } catch (const std::exception& e) {
    Row row;
    row.id = id;
    row.workload = workload;
    row.failure = e.what();
    rows.push_back(std::move(row));
  }
  for (Row& row : rows) {
    add(row);
    row.met = rows_.back().met;
  }
  return rows;
}

std::vector<Row> Bench::measure(Case& c) {
  const Clock clock = c.clock ? c.clock : Clock(now_ns);
  Measured m;
  if (options_.peers_only) {
    c.ours = [] {};
    c.device = nullptr;
  }
  std::vector<double> first_calls;
  try {
    first_calls.push_back(time_of(c.ours, clock));
  } catch (const Failed& e) {
    m.failure = e.what();
  }
  for (const Peer& peer : c.peers) {
    if (!peer.unavailable.empty() || !m.failure.empty()) continue;
    if (peer.reset) peer.reset();
    first_calls.push_back(time_of(peer.run, clock));
    const bool compare = peer.compare && !options_.peers_only;
    m.agreements.push_back(compare ? peer.compare() : Agreement{});
    m.peers.push_back(&peer);
  }
  if (m.failure.empty()) sample(c, options_, clock, first_calls, m);
  std::vector<Row> rows;
  std::vector<std::string> names;
  for (const Peer& peer : c.peers) {
    if (std::ranges::find(names, peer.name) != names.end()) continue;
    names.push_back(peer.name);
    rows.push_back(row_of(c, options_, m, peer.name));
  }
  return rows;
}

bool Bench::all_good() const {
  return std::ranges::all_of(rows_, [](const Row& row) {
    return row.failure.empty() && (!row.compared || row.agreement.equal);
  });
}

// ---- programs of ours

std::string source_text(std::string_view path) {
  const std::string full = std::string(VYRE_SOURCE_DIR) + "/" + std::string(path);
  std::ifstream file(full, std::ios::binary);
  if (!file) throw Failed("cannot read " + full);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Ours::Ours(const Bench& bench, std::string_view path) : device_(bench.device()) {
  pipeline_ = must(device_.compile(must(parse_checked(source_text(path), path)))).pipeline;
}

void Ours::upload(const std::string& name, std::span<const std::byte> bytes) {
  const auto found = buffers_.find(name);
  if (found != buffers_.end()) return must(device_.write(found->second, bytes));
  buffers_.emplace(name, must(device_.upload(bytes)));
}

Ours& Ours::output(const std::string& name, uint64_t bytes) {
  buffers_.emplace(name, must(device_.allocate(bytes)));
  return *this;
}

Ours& Ours::grid(uint32_t workgroups) {
  config_.grid = check::Axes{workgroups, 1, 1};
  return *this;
}

void Ours::bind() {
  const plan::BindingPlan& plan = pipeline_.bindings();
  for (const uint32_t slot : plan.input_slots) {
    const auto value = values_.find(plan.bindings[slot].name);
    if (value != values_.end()) {
      inputs_.emplace_back(std::span<const std::byte>(value->second));
      continue;
    }
    const auto found = buffers_.find(plan.bindings[slot].name);
    if (found == buffers_.end()) throw Failed("no data for " + plan.bindings[slot].name);
    inputs_.emplace_back(found->second);
  }
  for (const uint32_t slot : plan.output_slots) {
    const plan::Binding& binding = plan.bindings[slot];
    const auto found = buffers_.find(binding.name);
    // An inout stays where it came from.
    const bool here = found != buffers_.end() && !binding.input_index;
    outputs_.push_back(here ? &found->second : nullptr);
  }
  bound_ = true;
}

void Ours::run() {
  if (!bound_) bind();
  report_ =
      must(pipeline_.dispatch_into({.inputs = inputs_, .outputs = outputs_}, slots_, config_));
}

double Ours::device_ns() {
  if (!bound_) bind();
  DispatchConfig timed = config_;
  timed.timing = Timing::Dispatch;
  const Arguments arguments = {.inputs = inputs_, .outputs = outputs_};
  report_ = must(pipeline_.dispatch_into(arguments, slots_, timed));
  return static_cast<double>(report_.timings.device_ns.value_or(0));
}

// ---- comparing

namespace {

template <class Real>
Agreement close_reals(std::span<const Real> ours, std::span<const Real> theirs, double relative) {
  if (ours.size() != theirs.size()) return {false, "lengths differ"};
  char text[96];
  for (size_t i = 0; i < ours.size(); ++i) {
    const double a = double{ours[i]};
    const double b = double{theirs[i]};
    if (std::abs(a - b) <= relative * std::max({std::abs(a), std::abs(b), 1.0})) continue;
    std::snprintf(text, sizeof text, "element %zu: %g and %g", i, a, b);
    return {false, text};
  }
  std::snprintf(text, sizeof text, "within %g", relative);
  return {true, text};
}

template <class Real, class Word>
Agreement ulp_reals(std::span<const Real> ours, std::span<const Real> theirs, uint32_t ulps) {
  if (ours.size() != theirs.size()) return {false, "lengths differ"};
  // Bits in the order of the numbers.
  const auto place = [](Real value) {
    const auto bits = std::bit_cast<Word>(value);
    return int64_t{bits < 0 ? std::numeric_limits<Word>::min() - bits : bits};
  };
  for (size_t i = 0; i < ours.size(); ++i) {
    if (std::isnan(ours[i]) && std::isnan(theirs[i])) continue;
    const int64_t distance = std::abs(place(ours[i]) - place(theirs[i]));
    if (distance > int64_t{ulps})
      return {false, "element " + std::to_string(i) + " by " + std::to_string(distance) + " ULP"};
  }
  return {true, "within " + std::to_string(ulps) + " ULP"};
}

}  // namespace

Agreement close_values(std::span<const float> ours, std::span<const float> theirs,
                       double relative) {
  return close_reals(ours, theirs, relative);
}
Agreement close_values(std::span<const double> ours, std::span<const double> theirs,
                       double relative) {
  return close_reals(ours, theirs, relative);
}

Agreement ulp_values(std::span<const float> ours, std::span<const float> theirs, uint32_t ulps) {
  return ulp_reals<float, int32_t>(ours, theirs, ulps);
}
Agreement ulp_values(std::span<const double> ours, std::span<const double> theirs, uint32_t ulps) {
  return ulp_reals<double, int64_t>(ours, theirs, ulps);
}

}  // namespace vyre::bench
