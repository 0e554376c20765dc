// SPDX-License-Identifier: Apache-2.0
#include "run/trials.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.hpp"

namespace vyre::run {

uint64_t median_of(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

namespace {

constexpr double kMillion = 1e6;
// One may be disturbed.
constexpr uint32_t kPairsToGiveUp = 2;

std::vector<uint64_t> last_of(const std::vector<uint64_t>& values, size_t count) {
  return {values.end() - static_cast<ptrdiff_t>(std::min(count, values.size())), values.end()};
}

}  // namespace

Trials::Trials(const plan::RouteVariant& chosen, const std::vector<plan::RouteVariant>& candidates,
               TrialRules rules)
    : rules_(rules) {
  rows_.push_back({.variant = chosen, .default_ns = {}, .own_ns = {}, .dropped = {}});
  for (const plan::RouteVariant& variant : candidates)
    rows_.push_back({.variant = variant, .default_ns = {}, .own_ns = {}, .dropped = {}});
  if (candidates.empty()) stage_ = Stage::Over;
}

std::optional<Trials::Run> Trials::next() const {
  switch (stage_) {
    case Stage::Default: return Run{.row = 0, .counted = false};
    case Stage::Warm: return Run{.row = row_, .counted = false};
    case Stage::Compare:
    case Stage::Confirm: return Run{.row = half_ ? row_ : 0, .counted = true};
    case Stage::Over: break;
  }
  return std::nullopt;
}

void Trials::add(uint64_t ns) {
  VYRE_CHECK(stage_ != Stage::Over);
  ++runs_;
  switch (stage_) {
    case Stage::Default:
      first_ns_ = ns;
      next_candidate();
      return;
    case Stage::Warm: stage_ = Stage::Compare; return;
    case Stage::Compare:
    case Stage::Confirm: break;
    case Stage::Over: return;
  }
  if (!half_) {
    half_ = ns;
    return;
  }
  Row& row = rows_[row_];
  row.default_ns.push_back(*std::exchange(half_, std::nullopt));
  row.own_ns.push_back(ns);
  finish_pair();
}

void Trials::finish_pair() {
  const Row& row = rows_[row_];
  ++pairs_;
  const auto is_slow = [&](size_t i) {
    return row.own_ns[i] / rules_.give_up_factor > row.default_ns[i];
  };
  if (stage_ == Stage::Compare && pairs_ == kPairsToGiveUp && is_slow(0) && is_slow(1)) {
    drop("much slower in the first pairs");
    return;
  }
  if (pairs_ == rules_.pairs) finish_comparison();
}

void Trials::finish_comparison() {
  const bool passed = passes(rows_[row_]);
  if (stage_ == Stage::Confirm) {
    if (passed) adopted_ = row_;
    stage_ = Stage::Over;
    return;
  }
  if (passed) passed_.push_back(row_);
  next_candidate();
}

void Trials::next_candidate() {
  pairs_ = 0;
  half_.reset();
  if (row_ + 1 < rows_.size()) {
    ++row_;
    stage_ = Stage::Warm;
    return;
  }
  if (passed_.empty()) {
    stage_ = Stage::Over;
    return;
  }
  // Each is compared with the default of its own pairs, which took part in the same noise.
  row_ = *std::ranges::min_element(passed_, {}, [&](size_t i) {
    return static_cast<double>(median_of(rows_[i].own_ns)) /
           static_cast<double>(std::max<uint64_t>(1, median_of(rows_[i].default_ns)));
  });
  stage_ = Stage::Confirm;
}

void Trials::drop(std::string why) {
  if (stage_ == Stage::Over || row_ == 0) return;
  rows_[row_].dropped = std::move(why);
  if (stage_ == Stage::Confirm)
    stage_ = Stage::Over;
  else
    next_candidate();
}

bool Trials::passes(const Row& row) const {
  const std::vector<uint64_t> by_default = last_of(row.default_ns, rules_.pairs);
  const std::vector<uint64_t> own = last_of(row.own_ns, rules_.pairs);
  uint32_t faster = 0;
  std::vector<uint64_t> ratios;  // of each pair, in millionths
  for (size_t i = 0; i < own.size(); ++i) {
    faster += own[i] < by_default[i] ? 1 : 0;
    ratios.push_back(
        static_cast<uint64_t>(kMillion * static_cast<double>(own[i]) /
                              static_cast<double>(std::max<uint64_t>(1, by_default[i]))));
  }
  const uint64_t ratio = median_of(ratios);
  for (uint64_t& each : ratios) each = each > ratio ? each - ratio : ratio - each;
  constexpr double kWhole = 100;
  return faster + 1 >= rules_.pairs &&
         ratio + rules_.least_deviations * median_of(ratios) <= static_cast<uint64_t>(kMillion) &&
         static_cast<double>(median_of(own)) * kWhole <=
             static_cast<double>(median_of(by_default)) * (kWhole - rules_.least_gain_percent);
}

uint32_t Trials::most_runs() const {
  const auto candidates = static_cast<uint32_t>(rows_.size() - 1);
  if (candidates == 0) return 0;
  return 1 + candidates * (1 + 2 * rules_.pairs) + 2 * rules_.pairs;
}

std::optional<uint64_t> Trials::default_ns() const {
  for (size_t i = rows_.size(); i-- > 1;)
    if (!rows_[i].default_ns.empty()) return median_of(rows_[i].default_ns);
  return first_ns_;
}

plan::TuningRecord Trials::record() const {
  plan::TuningRecord record{.runs = runs_, .candidates = static_cast<uint32_t>(rows_.size() - 1)};
  record.default_ns = default_ns().value_or(0);
  if (!adopted_) return record;
  const Row& row = rows_[*adopted_];
  record.adopted = row.variant;
  record.default_ns = median_of(last_of(row.default_ns, rules_.pairs));
  record.adopted_ns = median_of(last_of(row.own_ns, rules_.pairs));
  return record;
}

}  // namespace vyre::run
