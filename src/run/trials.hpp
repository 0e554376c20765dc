// SPDX-License-Identifier: Apache-2.0
// Which runs it takes to find a faster strategy, and what they prove. Durations come in, no clock
// is read: the same durations always give the same outcome.
//
//   the default once, then for each candidate:
//     the candidate once, so that what is new with it does not count;
//     default, candidate, default, candidate, ... `pairs` times;
//   the fastest of those that passed once more against the default, as many times.
//
// A candidate passes if its median is faster by `least_gain_percent`, if it is faster in all of
// these pairs but one at most, and if its gain is `least_deviations` times as large as the median
// by which the pairs deviate from it. It has to pass both times: the best of several by chance
// passes once. One that takes `give_up_factor` times as long in the first two pairs is given up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vyre/plan/tuning.hpp"

namespace vyre::run {

struct TrialRules {
  uint32_t pairs = 7;
  uint32_t least_gain_percent = 5;
  uint32_t least_deviations = 2;
  uint32_t give_up_factor = 2;
};

class Trials {
 public:
  // Row 0 is the default, the others are candidates.
  struct Row {
    plan::RouteVariant variant;
    std::vector<uint64_t> default_ns;  // of the pairs so far, in their order
    std::vector<uint64_t> own_ns;
    std::string dropped;  // why it is measured no more; empty: it is
  };
  struct Run {
    size_t row = 0;
    bool counted = false;  // a part of a pair
    friend bool operator==(const Run&, const Run&) = default;
  };

  Trials(const plan::RouteVariant& chosen, const std::vector<plan::RouteVariant>& candidates,
         TrialRules rules = {});

  // What is to be run now; nothing if all is known.
  [[nodiscard]] std::optional<Run> next() const;
  // It took so long.
  void add(uint64_t ns);
  // The candidate that is measured now is given up.
  void drop(std::string why);

  [[nodiscard]] bool is_over() const { return stage_ == Stage::Over; }
  // The row that is faster than the default; nothing if none is, or while this is not over.
  [[nodiscard]] std::optional<size_t> adopted() const { return adopted_; }
  [[nodiscard]] plan::TuningRecord record() const;
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] uint32_t runs() const { return runs_; }
  // What runs() cannot exceed.
  [[nodiscard]] uint32_t most_runs() const;
  // What the default took, as far as it is known.
  [[nodiscard]] std::optional<uint64_t> default_ns() const;

 private:
  enum class Stage : uint8_t { Default, Warm, Compare, Confirm, Over };
  void next_candidate();
  void finish_pair();
  void finish_comparison();
  // By the last `pairs` pairs.
  [[nodiscard]] bool passes(const Row& row) const;

  TrialRules rules_;
  std::vector<Row> rows_;
  Stage stage_ = Stage::Default;
  size_t row_ = 0;                  // that is measured
  uint32_t pairs_ = 0;              // of it that are complete, in this stage
  std::optional<uint64_t> half_{};  // the first half of a pair
  std::vector<size_t> passed_;
  std::optional<size_t> adopted_{};
  std::optional<uint64_t> first_ns_{};  // of the default
  uint32_t runs_ = 0;
};

// The lower one of an even number.
uint64_t median_of(std::vector<uint64_t> values);

}  // namespace vyre::run
