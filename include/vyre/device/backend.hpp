// SPDX-License-Identifier: Apache-2.0
// The contract between the driver and a device. A backend implements a few private functions; the
// public ones check, count, own the handles and know whether the device is lost, so no backend has
// to. docs/adding-a-backend.md walks through the smallest one.
//
// Threads: every public function may be called from several threads at once, and so may the private
// ones, except do_recover, beside which only do_metrics runs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/device/allocation.hpp"
#include "vyre/device/artifact.hpp"
#include "vyre/device/capabilities.hpp"
#include "vyre/device/metrics.hpp"
#include "vyre/device/steps.hpp"

namespace vyre::device {

enum class Kind : uint8_t { Gpu, Cpu, Oracle, Null };
std::string_view name_of(Kind kind);

struct BackendInfo {
  std::string id;  // of the device: "cuda", "cuda:1"
  std::string version;
  Kind kind = Kind::Null;
  Capabilities capabilities;
  DeviceProfile profile;
  // What compiled code depends on beyond the capabilities: target, device, driver and its version.
  std::string signature;
  // What code is made for, where a format leaves it open: "sm_90". Empty: the generator's choice.
  std::string architecture = {};
};

class Buffer;
class LoadedArtifact;

class Backend : public std::enable_shared_from_this<Backend> {
 public:
  virtual ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  [[nodiscard]] const BackendInfo& info() const { return info_; }
  // Different for every opened device of this process, and for every life of it.
  [[nodiscard]] uint64_t instance() const { return instance_; }
  [[nodiscard]] uint32_t generation() const { return generation_.load(std::memory_order_acquire); }

  // DeviceOutOfMemory, LimitExceeded; InvalidArgument for an alignment that is no power of two from
  // kLeastAlignment to kMostAlignment. Holds what is requested and never another owner's bytes. 0
  // bytes are fine.
  Result<Buffer> allocate(const Allocation& wanted);
  Result<Buffer> allocate(uint64_t bytes, Memory kind = Memory::Device);
  Result<void> transfer(std::span<const Transfer> transfers);
  // Unsupported for a format the device does not take; CompileFailed.
  Result<LoadedArtifact> load(const Artifact& artifact);
  Result<Ticket> submit(const Submission& submission);
  // Every ticket is waited for once, except that Timeout at the deadline leaves it as it is.
  Result<Completion> wait(Ticket ticket, Deadline deadline = kNoDeadline);
  // Whether a wait for the ticket would not have to wait. Errors are left to it.
  [[nodiscard]] bool is_done(Ticket ticket);
  // Both at once, for work that nothing else is done beside.
  Result<Completion> run(const Submission& submission);

  // In a child of fork(), for a device that was opened before it: its threads are in the parent,
  // and its locks may be held for ever. Every call is PoisonedState, and nothing is released.
  [[nodiscard]] bool is_of_parent() const;
  [[nodiscard]] Result<void> check_process() const;
  // A lost device stays lost until recover(); every call gives the error of the loss.
  [[nodiscard]] bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  [[nodiscard]] Result<void> check_usable() const;
  // Where the loss was noticed, reported once, by the thread that did. Others wait for it, a moment
  // at most, so that everybody gets the same error.
  void describe_loss(const std::vector<std::string>& context);
  // Starts the device anew. Buffers and loaded artifacts from before are stale.
  Result<void> recover();
  // How often this device was found lost, and how often it came back.
  [[nodiscard]] uint64_t losses() const { return losses_.load(std::memory_order_relaxed); }
  // Bytes that allocations had to clear so far.
  [[nodiscard]] uint64_t cleared_bytes() const {
    return cleared_bytes_.load(std::memory_order_relaxed);
  }
  // What the backend counts, also of a device that is lost; nothing in a child of fork().
  [[nodiscard]] Metrics metrics() const { return is_of_parent() ? Metrics() : do_metrics(); }

 protected:
  explicit Backend(BackendInfo info);
  // The device is lost if the error says so; the error becomes that of the first loss. For a
  // backend whose call returns something else than the loss it has found.
  void note_loss(Error& error);

 private:
  friend class Buffer;
  friend class LoadedArtifact;

  struct LoadedCode {
    Handle handle;
    // By entry: how many workgroups can be on the device at once; ~0: any number.
    std::vector<uint64_t> max_resident_groups;
    // What the cache keeps instead of the artifact's code, if the device made something better.
    std::vector<std::byte> native;
    Format native_format = Format::Program;
  };

  // Fulfils what Allocation says of alignment and contents: memory that a driver or a pool gives
  // again is taken for another owner's unless it is known to be the same one's.
  virtual Result<Allocated> do_allocate(const Allocation& wanted) = 0;
  virtual void do_release(Handle handle) noexcept = 0;  // of memory or loaded code
  virtual Result<void> do_transfer(std::span<const Transfer> transfers) = 0;
  virtual Result<LoadedCode> do_load(const Artifact& artifact) = 0;
  // May return before the work is done, or after.
  virtual Result<Ticket> do_submit(const Submission& submission) = 0;
  virtual Result<Completion> do_wait(Ticket ticket, Deadline deadline) = 0;
  virtual bool do_is_done(Ticket /*ticket*/) { return true; }
  // Frees everything; nothing of the old life is released afterwards.
  virtual Result<void> do_recover() = 0;
  // Reads counters, at any time: neither asks the driver nor waits for work.
  [[nodiscard]] virtual Metrics do_metrics() const { return {}; }

  void release(Handle handle, uint32_t generation) noexcept;

  BackendInfo info_;
  uint64_t instance_;
  const uint32_t fork_epoch_;
  std::atomic<uint32_t> generation_ = 1;
  // Shared by calls, alone for recover().
  mutable std::shared_mutex life_;
  std::atomic<bool> lost_ = false;
  std::atomic<uint64_t> losses_ = 0;
  std::atomic<uint64_t> cleared_bytes_ = 0;
  mutable std::mutex loss_mutex_;
  Error loss_;
  std::thread::id loss_seen_by_;  // none once it is described
  std::condition_variable loss_described_;

 protected:
  using Loaded = LoadedCode;
};

}  // namespace vyre::device
