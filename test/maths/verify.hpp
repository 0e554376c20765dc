// SPDX-License-Identifier: Apache-2.0
// What the parts of vyre_verify_maths share: options, the tally of a function, and its row.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ir/maths_error_test.hpp"

namespace vyre::test {

struct Options {
  uint64_t stride = 1;  // of the inputs of functions of one argument
  uint64_t pairs = uint64_t{1} << 32;
  uint64_t doubles = uint64_t{1} << 28;
  unsigned threads = 1;
  std::vector<std::string> only;
};

struct Tally {
  uint64_t inputs = 0, rounded = 0, wrong = 0;
  double worst = 0;
  double worst_x = 0, worst_y = 0;

  void add_error(double error, double x, double y) {
    if (error == kWrong) {
      if (wrong++ == 0) std::fprintf(stderr, "  wrong at %a %a\n", x, y);
    } else if (error > worst) {
      worst = error, worst_x = x, worst_y = y;
    }
  }
  void merge(const Tally& other) {
    inputs += other.inputs, rounded += other.rounded, wrong += other.wrong;
    if (other.worst > worst) worst = other.worst, worst_x = other.worst_x, worst_y = other.worst_y;
  }
};

// Runs work(block number, tally) for every block on all threads.
inline Tally run(uint64_t blocks, unsigned threads,
                 const std::function<void(uint64_t, Tally&)>& work) {
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  Tally total;
  const auto loop = [&] {
    Tally mine;
    for (uint64_t i = next++; i < blocks; i = next++) work(i, mine);
    const std::scoped_lock lock(mutex);
    total.merge(mine);
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(loop);
  loop();
  others.clear();
  return total;
}

// Rows that missed a bound or a special value.
inline int& failures() {
  static int count = 0;
  return count;
}

inline void row(const Options& options, const char* name, double bound,
                const std::function<Tally()>& work) {
  if (!options.only.empty() &&
      std::find(options.only.begin(), options.only.end(), name) == options.only.end())
    return;
  const auto start = std::chrono::steady_clock::now();
  const Tally tally = work();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const std::string_view word = name;
  const bool pair =
      word.starts_with("pow") || word.starts_with("atan2") || word.starts_with("hypot");
  char at[96];
  std::snprintf(at, sizeof at, pair ? "%.17g, %.17g" : "%.17g", tally.worst_x, tally.worst_y);
  std::printf("| `%s` | %llu | %.3f | %s | %.2f %% | %llu | %.0f |\n", name,
              static_cast<unsigned long long>(tally.inputs), tally.worst, at,
              100.0 * static_cast<double>(tally.rounded) / static_cast<double>(tally.inputs),
              static_cast<unsigned long long>(tally.wrong), seconds.count());
  std::fflush(stdout);
  if (tally.wrong != 0 || tally.worst > bound) ++failures();
}

// The f64 functions.
void verify_f64(const Options& options);

}  // namespace vyre::test
