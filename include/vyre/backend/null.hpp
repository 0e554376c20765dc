// SPDX-License-Identifier: Apache-2.0
// A device that runs nothing: it keeps memory, records its submissions, calls a function
// instead of a kernel, and fails where a test requires it. The smallest complete backend, and so
// the one to start from when writing another (docs/adding-a-backend.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::backend {

// A launch as a kernel would see it.
struct NullLaunch {
  const device::Entry& entry;
  // What Format::Program has instead of code (vyre/device/interpreted.hpp); may be null.
  const std::shared_ptr<const device::InterpretedProgram>& program;
  const device::Launch& launch;
  device::Axes grid;                                // also if it was read from memory
  std::span<const std::span<std::byte>> arguments;  // by argument of the entry
  uint64_t number = 0;                              // of all launches of this device, from 0
};

// A generous GPU that loads Format::Program and measures nothing.
device::BackendInfo null_info();

struct NullOptions {
  device::BackendInfo info = null_info();
  uint64_t resident_groups = ~uint64_t{0};  // for every entry, unless a function says otherwise
  std::function<uint64_t(const device::Entry&)> resident_of = {};
  uint64_t memory_limit = uint64_t{4} << 30;
  // What new memory holds that need not be zeros; nothing: zeros, or what its owner left.
  std::optional<std::byte> fresh_fill{std::byte{0xA5}};
  bool record = true;
  // Stands for the kernels. Runs without locks, maybe on several threads at once.
  std::function<Result<void>(const NullLaunch&)> on_launch = {};
  // Hears of every submission before its work, so that a test knows what the driver wants measured.
  std::function<void(const device::Submission&)> on_submit = {};
  // What each launch is said to have taken, or a function of its number instead.
  device::Timings times = {};
  std::function<device::Timings(uint64_t)> times_of = {};
};

// One row of the record. A batch of transfers is one call with several rows.
struct NullCall {
  enum class Kind : uint8_t {
    Allocate,
    Release,
    Write,  // to the device, by itself or as a step
    Read,
    Load,
    Submit,
    Launch,
    Copy,
    Fill,
    SetWord,
    Compare,
    Exit,
    Wait,
    Recover,
  };
  Kind kind = Kind::Submit;
  device::Handle handle = {};  // the memory; Load, Launch: the code
  uint64_t offset = 0;         // in the memory; Launch: the entry; Submit: the queue
  uint64_t bytes = 0;          // Launch: workgroups; Submit: steps
  friend bool operator==(const NullCall&, const NullCall&) = default;
};
inline constexpr int kNullCallKinds = 14;
std::string_view name_of(NullCall::Kind kind);

// Handles are 1, 2, 3 and so on, for memory and code alike, and never used again. Work is done
// when submit returns, or, with async_compute, not before a wait for it or for what was
// submitted later; what goes wrong in it is reported by wait.
class NullBackend : public device::Backend {
 public:
  explicit NullBackend(NullOptions options = {});
  ~NullBackend() override;

  // Calls that can fail, so far: allocate, transfer, load, submit, wait, recover and launches.
  [[nodiscard]] uint64_t calls() const;
  // The call that makes calls() more than n fails, once: fail_call(calls(), e) fails the next.
  void fail_call(uint64_t n, Error error);
  // The same among the calls of one kind, counted from now on. Write and Read: a transfer() that
  // has such a row. Not for kinds that cannot fail.
  void fail_calls_like(NullCall::Kind kind, uint64_t n, Error error);
  void lose_device_at(uint64_t n);
  // With async_compute: does all that was submitted so far, as a device does on its own.
  void do_work();

  [[nodiscard]] std::vector<NullCall> record() const;
  void clear_record();
  [[nodiscard]] uint64_t launches() const;
  [[nodiscard]] uint64_t live_buffers() const;
  [[nodiscard]] uint64_t live_bytes() const;
  [[nodiscard]] uint64_t loaded() const;

 private:
  struct State;
  class Run;
  Result<device::Completion> work(const device::Submission& submission);
  void do_work(uint64_t up_to);

  Result<device::Allocated> do_allocate(const device::Allocation& wanted) override;
  void do_release(device::Handle handle) noexcept override;
  Result<void> do_transfer(std::span<const device::Transfer> transfers) override;
  Result<Loaded> do_load(const device::Artifact& artifact) override;
  Result<device::Ticket> do_submit(const device::Submission& submission) override;
  Result<device::Completion> do_wait(device::Ticket ticket, device::Deadline deadline) override;
  bool do_is_done(device::Ticket ticket) override;
  Result<void> do_recover() override;
  [[nodiscard]] device::Metrics do_metrics() const override;

  std::unique_ptr<State> state_;
};

std::shared_ptr<NullBackend> open_null(NullOptions options = {});

}  // namespace vyre::backend
