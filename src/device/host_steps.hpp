// SPDX-License-Identifier: Apache-2.0
// Runs the steps of a submission on memory that the host can reach, for backends whose device is
// the host itself. They say where a buffer lies and how a kernel is run; the rest is the same for
// all of them. Nothing here allocates, unless times of single steps are wanted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::device {

class HostDevice {
 public:
  virtual ~HostDevice() = default;
  // Empty for a handle that is none of its buffers.
  virtual std::span<std::byte> memory(Handle buffer) = 0;
  // `grid` is the launch's, or what its grid_from said: within the limits, no axis 0. May write
  // Completion::lane_stop and whole.
  virtual Result<Timings> launch(const Launch& launch, const Axes& grid,
                                 Completion& completion) = 0;
  // For devices that keep what they looked up for a launch: runs that of this step, which has run
  // before in this submission with the same grid, once more. False: it is not known any more.
  // Like launch(), but for the times, which such a device adds to the completion by itself.
  virtual bool launch_again(uint32_t /*step*/, Completion& /*completion*/,
                            std::optional<Error>& /*error*/) {
    return false;
  }
  // Before a step is done; loops and branches are no steps of their own. A device that does not
  // watch its steps hears only of those that are done for the first time.
  virtual void on_step(const Step& /*step*/) {}
  [[nodiscard]] virtual bool watches_steps() const { return true; }

  // Bytes in bulk, for devices that are faster at it than one thread. Never empty, of one length.
  virtual void fill(std::span<std::byte> to, std::byte value);
  virtual void copy(std::span<std::byte> to, std::span<const std::byte> from);
  virtual bool differ(std::span<const std::byte> a, std::span<const std::byte> b);
};

// Timeout: what a submission ends with that was cancelled, or that was still at this step when its
// time was over.
Error cancelled_error();
Error out_of_time_error(uint64_t step, uint64_t steps);

// Internal: bytes that are not there, and a copy onto itself.
Error outside_error(Handle buffer, uint64_t offset, uint64_t bytes, uint64_t size);
Error overlap_error(Handle buffer);
bool overlap(const Region& a, const Region& b);

// LimitExceeded for a grid or workgroup that the device does not take, or more than 2^32-1 lanes.
Result<void> check_limits(const Launch& launch, const Axes& grid, const BackendInfo& info);

// Adds to `completion`, whose timings start as 0 where the device measures and as nothing where it
// does not. Timeout at the deadline or when cancelled, seen between steps (the clock is read before
// the first, after long ones, and now and then among short ones); LimitExceeded for a grid
// from memory that is too large, and for times that overflow; Internal for bytes that are not
// there; whatever a launch returns. Writes Submission::failed_step.
Result<void> run_steps(const Submission& submission, const BackendInfo& info, HostDevice& device,
                       Completion& completion);

Result<void> run_transfers(std::span<const Transfer> transfers, HostDevice& device);

// CooperativeResidencyExceeded if more workgroups have to be on the device at once than `resident`.
Result<void> check_residency(const Launch& launch, const Axes& grid, uint64_t resident,
                             const BackendInfo& info);

// A time that one side does not know is not known of the sum; LimitExceeded if it overflows.
Result<void> add_times(Timings& sum, const Timings& more);

}  // namespace vyre::device
