// SPDX-License-Identifier: Apache-2.0
// Runs the tree of a plan: the part of a dispatch between its inputs and its outputs. Steps that
// follow from each other without a decision are recorded; where a loop or branch needs a word, the
// host reads it, or, on devices that can, the loop itself is recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/memory.hpp"
#include "vyre/pipeline/compiler.hpp"
#include "vyre/run/device.hpp"

namespace vyre::run {

class PlanRunner : public device::HostServices {
 public:
  struct Setup {
    const pipeline::Variant* variant = nullptr;
    const check::CheckedProgram* source = nullptr;
    const check::Launch* launch = nullptr;
    bool record_loops = false;  // the device has them
    bool checked = false;
    const TrapHandler* trap_handler = nullptr;
    const ProgressFunction* progress = nullptr;
    device::Communicator* communicator = nullptr;
    std::optional<device::Word> grid_from{};
    uint64_t print_bytes = 0;  // 0: nothing is printed
  };
  PlanRunner(const Setup& setup, Memory& memory, Recorder& recorder, Report& report);

  // Records one pass over the program and, unless it may be left to a later flush, runs it.
  Result<void> pass();
  // Whether pass() leaves everything to the next flush.
  [[nodiscard]] bool deferred() const;
  [[nodiscard]] bool records_loops() const { return s_.record_loops; }
  // After the flush of a deferred pass.
  Result<void> take_reports();
  // The launch that failed or stopped, for the error.
  [[nodiscard]] uint32_t segment() const { return segment_; }

  Result<void> resume(std::span<const TrapReport> reports, HandlerBuffers& buffers) override;
  void progress(uint64_t done, uint64_t of) override;
  [[nodiscard]] uint64_t print_bytes() const override { return s_.print_bytes; }
  void printed(PrintReport lines) override;
  // Of a device that runs the program itself: what it has printed so far.
  PrintReport& printed() { return printed_; }

 private:
  enum class Signal : uint8_t { Go, Stop, Skip, End };
  class Buffers;

  Result<void> run_steps();

  // ---- the host decides
  Signal steps(const plan::Steps& list);
  Signal step(const plan::Step& step);
  [[nodiscard]] bool is_target(const plan::Step& step) const;
  Signal take_part(const plan::Step& step);
  Signal launch(uint32_t index);
  Signal fixpoint(const plan::FixpointStep& x);
  Signal resume_step(const plan::ResumeStep& x);
  Signal collective(const plan::CollectiveStep& x);
  Signal check_stop();
  Signal stop_of_lane(uint32_t lane);
  Signal fail(Error error);
  Result<uint32_t> frame(uint32_t word);
  Result<void> fetch_state();
  Result<std::vector<uint32_t>> report_words(plan::Hidden::Kind kind);
  Signal failed_assertion(uint32_t lane, uint32_t number, const Position& at);
  Result<void> report_phase();
  // What the lane at this place of both reports has left.
  struct LaneReport {
    plan::Site site;
    uint32_t value = 0;
  };
  Result<LaneReport> report_of(uint32_t lane, const std::vector<uint32_t>& sites,
                               const std::vector<uint32_t>& values) const;

  // ---- the device decides
  Result<void> record(const plan::Steps& list);
  Result<void> record_launch(uint32_t index);
  Result<void> record_fixpoint(const plan::FixpointStep& x);
  void exit_if(uint32_t control_word, bool equal, uint32_t value);

  Result<void> add_launch(uint32_t index);
  [[nodiscard]] bool can_stop() const { return s_.checked || !plan_.sites.empty(); }

  Setup s_;
  const plan::Schedule& plan_;
  Memory& m_;
  Recorder& recorder_;
  Report& report_;
  std::optional<Error> error_;
  uint32_t segment_ = 0;
  bool is_fetched_ = false;    // control and frames on the host are those of the last launch
  std::vector<bool> waiting_;  // by resume: lanes wait for it
  uint32_t skip_to_ = 0;
  uint64_t phases_ = 0;
  std::optional<device::LaneStop> lane_stop_;
  std::vector<uint32_t> words_;
  PrintReport printed_;
  uint32_t taken_part_ = 0;     // phases without live lanes since a lane was live
  bool decides_ = false;        // the tree has loops or branches
  bool needs_host_ = false;     // it has resumes or collectives
  bool swaps_ = false;          // it has swaps
  bool may_end_early_ = false;  // lanes may end or stop, so the host has to check
};

}  // namespace vyre::run
