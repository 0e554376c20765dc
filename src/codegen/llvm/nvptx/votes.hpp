// SPDX-License-Identifier: Apache-2.0
// Votes of a segment with barriers of the grid inside. The plan writes them as words of memory:
// lanes store 1 before a barrier, all read the word after it, and one lane clears it for later.
// Where a word is used for nothing else, the barrier itself can count who would have written it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

class Votes {
 public:
  Votes() = default;
  Votes(const plan::Plan& plan, const plan::Segment& segment);

  // Votes are numbered from 0.
  [[nodiscard]] uint32_t count() const { return count_; }
  // Those that end at a barrier, and how many do at most.
  static constexpr uint32_t kMostAtOnce = 3;
  [[nodiscard]] std::span<const uint32_t> at(ir::StmtId barrier) const {
    const auto found = barriers_.find(barrier.value);
    return found == barriers_.end() ? std::span<const uint32_t>() : found->second;
  }
  [[nodiscard]] uint32_t most_at_once() const { return most_at_once_; }
  // What a statement is to a vote. One that casts may be a test around the store.
  struct Step {
    bool casts = false;  // otherwise it clears
    uint32_t vote = 0;
  };
  [[nodiscard]] std::optional<Step> step(ir::StmtId id) const {
    const auto found = steps_.find(id.value);
    return found == steps_.end() ? std::nullopt : std::optional(found->second);
  }
  // The load of a vote's outcome, which is not 0 if a lane has cast it before the last barrier of
  // the vote and after the one before.
  [[nodiscard]] std::optional<uint32_t> outcome(ir::ExprId id) const {
    const auto found = outcomes_.find(id.value);
    return found == outcomes_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  class Finder;
  uint32_t count_ = 0;
  uint32_t most_at_once_ = 0;
  std::unordered_map<uint32_t, std::vector<uint32_t>> barriers_;
  std::unordered_map<uint32_t, Step> steps_;
  std::unordered_map<uint32_t, uint32_t> outcomes_;
};

}  // namespace vyre::codegen
