// SPDX-License-Identifier: Apache-2.0
// A dispatch's part in tuning: which variant it requests of plan::decide(), and what it has
// measured. docs/design/tuning.md has the rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "run/tuner.hpp"
#include "vyre/base/stop.hpp"
#include "vyre/run/device.hpp"

namespace vyre::run {

struct Workspace;

// What a tuner has suggested for a shape. Kept with it.
struct Suggestion {
  std::shared_ptr<Tuner> tuner{};             // null: the dispatch is not tuned
  uint64_t state = 0;                         // of the tuner at that time
  std::optional<plan::TunedVariant> tuned{};  // nothing: the default
  bool by_record = false;                     // not as a trial
  bool taken = false;                         // by plan::decide()
};

class DispatchTuning {
 public:
  using Time = std::chrono::steady_clock::time_point;
  DispatchTuning(PipelineState& pipeline, const DispatchConfig& config, Time start,
                 Workspace& workspace)
      : p_(pipeline), config_(config), start_(start), w_(workspace) {}

  // Of calls that wait for this dispatch and nothing else: their time is that of the program.
  void allow_trials() { may_try_ = true; }

  // For a workspace that has a launch.
  std::optional<plan::TunedVariant> choose();
  // Whether choose() would say what it said when the workspace was shaped.
  [[nodiscard]] bool is_settled() const;
  // This dispatch has to find out what there is to try: the first of its class that may.
  [[nodiscard]] bool needs_candidates() const;
  void offer_candidates(const plan::DeviceModel& model, const plan::Strategy& chosen);
  // How long a suggested variant may be compiled.
  [[nodiscard]] StopCondition compile_stop() const;
  // It cannot be had.
  void refuse(std::string why);
  void check_code();

  [[nodiscard]] const std::string* trial() const { return trial_ ? &trial_->text() : nullptr; }
  // The work of the dispatch, measured if it is a trial.
  template <class Work>
  Result<Report> measured(const Work& work) {
    if (!trial_ && !has_tuner()) return work();
    const uint64_t start = trial_ ? now() : 0;
    Result<Report> report = work();
    finish(report, start);
    return report;
  }

 private:
  [[nodiscard]] bool is_tuned() const;
  [[nodiscard]] bool may_measure() const;
  [[nodiscard]] bool has_tuner() const;
  [[nodiscard]] uint64_t now() const;
  void finish(Result<Report>& report, uint64_t start);
  void keep_measurements();

  PipelineState& p_;
  const DispatchConfig& config_;
  Time start_;
  Workspace& w_;
  bool may_try_ = false;
  std::optional<Trial> trial_;
};

}  // namespace vyre::run
