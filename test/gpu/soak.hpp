// SPDX-License-Identifier: Apache-2.0
// Checks that drive a device hard and for long. A check throws Wrong with what it saw; what it
// measured it leaves in `note`. Programs and results are known beforehand, so nothing here needs an
// oracle.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "vyre/vyre.hpp"

namespace vyre::soak {

using Clock = std::chrono::steady_clock;
using Words = std::vector<uint32_t>;

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void hold(bool good, const std::string& what) {
  if (!good) throw Wrong(what);
}
template <class T>
T must(Result<T> result, std::string_view doing) {
  if (!result) throw Wrong(fmt::format("{}: {}", doing, to_string(result.error())));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
inline double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Soak {
  Device device;
  bool smoke = false;  // a few of everything, on a device that is slow
  std::mt19937 random{};
  std::string note{};  // of the check that runs

  [[nodiscard]] uint32_t times(uint32_t full, uint32_t few) const { return smoke ? few : full; }
  // Up to `most`, as many small ones as large ones.
  uint32_t up_to(uint32_t most);
};

Pipeline compile(const Device& device, const std::string& text);

// A program whose workgroups publish words, meet, and look at what all others have published. Once
// in a loop of barriers, once in the passes of a fixpoint.
enum class Form : uint8_t { Loop, Passes };
inline constexpr Form kForms[] = {Form::Loop, Form::Passes};
std::string_view name_of(Form form);

class Rounds {
 public:
  enum class Extra : uint8_t {
    None,
    Slow,   // now and then a workgroup is busy while the others wait
    Traps,  // and lanes trap
  };
  static constexpr uint32_t kLanes = 256;
  static constexpr uint32_t kTag = 7;
  static constexpr uint32_t kEndless = ~uint32_t{0};

  Rounds(const Device& device, Form form, Extra extra);

  struct Run {
    uint32_t grid = 1;
    uint32_t rounds = 1;
    uint32_t slow_unless = 0;  // a round is slow if it has none of these bits
    bool stuck = false;        // what is slow never ends
    // By lane: 1 + the round in which it traps; lanes that are not there do not.
    Words traps = {};
  };
  // The error of a dispatch; what is wrong with its results is thrown.
  [[nodiscard]] Result<Report> run(const Run& run, const DispatchConfig& over = {}) const;
  [[nodiscard]] Result<Pending> start(const Run& run, const DispatchConfig& over = {}) const;
  // Throws if the results are not those of a run that came to its end.
  static void judge(const Run& run, const Outputs& outputs);
  // How many workgroups can meet inside one launch; few where a device or a smoke test has to be
  // quick.
  [[nodiscard]] uint32_t most_resident(const Soak& soak) const;
  // 1, one for each multiprocessor of large GPUs, and as many as there can be.
  [[nodiscard]] std::vector<uint32_t> grids(const Soak& soak) const;

 private:
  Pipeline pipeline_;
  bool cooperative_ = false;  // the device has such a barrier, so it has to be used
};

// ---- the checks, by what they are about

void check_barriers(Soak& soak);
void check_slow_blocks(Soak& soak);
void check_cancel(Soak& soak);
void check_cancel_near_the_end(Soak& soak);
void check_deadlines(Soak& soak);
void check_traps(Soak& soak);
void check_repeats(Soak& soak);
void check_resident_repeats(Soak& soak);
void check_other_buffers(Soak& soak);
void check_two_pipelines(Soak& soak);
void check_one_pipeline_twice(Soak& soak);
void check_bounds(Soak& soak);
void check_approximations(Soak& soak);
void check_memory(Soak& soak);
void check_hang(Soak& soak);
void check_loss(Soak& soak);
void check_leaks(Soak& soak);

// ---- processes of the checks

// Runs this program again for one of them: its exit code, 8 if all was well, and what it wrote.
std::pair<int, std::string> run_child(const std::string& id, const std::string& what);
// In there; what to exit with.
int run_child_of_check(const std::string& id, const std::string& kind);
void leave_marks(const std::string& id);
void lose_and_come_back(const std::string& id);

}  // namespace vyre::soak
