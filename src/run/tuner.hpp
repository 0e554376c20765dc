// SPDX-License-Identifier: Apache-2.0
// What is known, and what is being measured, of one program, shape class and device
// (docs/design/tuning.md). All pipelines of a device share it, and any thread may use it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/trials.hpp"
#include "vyre/base/digest.hpp"
#include "vyre/pipeline/compiler.hpp"
#include "vyre/plan/tuning.hpp"

namespace vyre::run {

class Tuner;

// A dispatch that is measured. There is at most one at a time; one that is destroyed before it is
// finished is done again, and one that keeps failing ends its candidate.
class Trial {
 public:
  Trial(std::shared_ptr<Tuner> tuner, Trials::Run run, std::string text)
      : tuner_(std::move(tuner)), run_(run), text_(std::move(text)) {}
  Trial(Trial&&) noexcept = default;
  Trial& operator=(Trial&&) = delete;
  ~Trial();

  [[nodiscard]] bool is_of_candidate() const { return run_.row != 0; }
  [[nodiscard]] const std::string& text() const { return text_; }  // "trial 3 of 92: interleave 4"
  // What the variant was made into. False: of a candidate it is what the default has, so that there
  // is nothing to measure; the trial is over then.
  bool accept_code(const std::pair<Digest, Digest>& plan_and_code);
  void finish(uint64_t ns);
  // The candidate cannot be had, or must not be tried again.
  void drop(std::string why);

 private:
  std::shared_ptr<Tuner> tuner_;  // null: it is over
  Trials::Run run_;
  std::string text_;
};

class Tuner : public std::enable_shared_from_this<Tuner> {
 public:
  Tuner(const pipeline::CacheKey& key, std::optional<plan::TuningRecord> record)
      : key_(key), record_(std::move(record)), state_(record_ ? 0 : kMeasuring) {}

  struct Choice {
    std::optional<plan::TunedVariant> tuned{};  // nothing: the default
    std::optional<Trial> trial{};
  };
  // What the next dispatch runs with; `may_measure`: it can be a trial.
  Choice choose(bool may_measure);
  // No record, and no candidates yet.
  [[nodiscard]] bool needs_candidates() const;
  void start(const plan::RouteVariant& chosen, const std::vector<plan::RouteVariant>& candidates);

  // Changes with every choice that may change. For a dispatch that would like to do what the last
  // one did.
  [[nodiscard]] uint64_t state() const { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_settled(uint64_t seen, bool may_measure) const {
    const uint64_t now = state();
    return now == seen && !(may_measure && (now & kMeasuring) != 0);
  }
  // What the measurements have come to, once: for the caller to keep.
  std::optional<plan::TuningRecord> take_unsaved();
  [[nodiscard]] const pipeline::CacheKey& key() const { return key_; }
  // What the default takes, as far as it was measured.
  [[nodiscard]] uint64_t default_ns() const;

  struct View {
    std::vector<Trials::Row> rows;
    std::optional<plan::TuningRecord> record;
    uint32_t runs = 0;
    uint32_t most_runs = 0;
  };
  [[nodiscard]] View view() const;

 private:
  friend class Trial;
  static constexpr uint64_t kMeasuring = 1;
  static constexpr uint64_t kVersion = 2;
  static constexpr uint32_t kMostAbandoned = 3;  // trials of one candidate

  bool accept_code(const Trials::Run& run, const std::pair<Digest, Digest>& code);
  void finish(uint64_t ns);
  void drop(std::string why);
  void abandon();
  void end_if_over();  // locked

  const pipeline::CacheKey key_;
  mutable std::mutex mutex_;
  std::optional<plan::TuningRecord> record_;
  std::optional<Trials> trials_{};
  bool busy_ = false;  // there is a Trial
  bool unsaved_ = false;
  uint32_t abandoned_ = 0;
  size_t abandoned_row_ = 0;
  std::optional<std::pair<Digest, Digest>> default_code_{};
  std::atomic<uint64_t> state_;
};

// Of one device.
class Tuners {
 public:
  // The same for equal keys. `read` gives the record that there may be on disk.
  template <class Read>
  std::shared_ptr<Tuner> find(const pipeline::CacheKey& key, const Read& read) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = all_.find(key); found != all_.end()) return found->second;
    if (all_.size() >= kMost)
      std::erase_if(all_, [](const auto& x) { return x.second.use_count() == 1; });
    return all_[key] = std::make_shared<Tuner>(key, read());
  }

 private:
  static constexpr size_t kMost = 1024;  // that no pipeline uses
  std::mutex mutex_;
  std::map<pipeline::CacheKey, std::shared_ptr<Tuner>> all_;
};

}  // namespace vyre::run
