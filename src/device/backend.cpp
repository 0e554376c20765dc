// SPDX-License-Identifier: Apache-2.0
#include "vyre/device/backend.hpp"

#include <bit>
#include <chrono>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "base/fork.hpp"
#include "device/check_steps.hpp"
#include "vyre/device/buffer.hpp"

namespace vyre::device {

namespace {

std::atomic<uint64_t> g_next_instance = 1;
std::atomic<uint64_t> g_next_owner = 1;

Error stale(std::string_view what, const Backend& owner, uint32_t generation,
            const Backend& used_with) {
  if (&owner != &used_with)
    return error(ErrorCode::StaleHandle,
                 fmt::format("{} of device `{}` (instance {}) is used with device `{}` (instance "
                             "{}). Fix: make it on the device that uses it",
                             what, owner.info().id, owner.instance(), used_with.info().id,
                             used_with.instance()));
  return error(ErrorCode::StaleHandle,
               fmt::format("{} of device `{}` is from generation {}, and the device is in "
                           "generation {} since its recovery. Fix: make it again after recover()",
                           what, owner.info().id, generation, owner.generation()));
}

}  // namespace

uint64_t new_owner() {
  return g_next_owner.fetch_add(1, std::memory_order_relaxed);
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::Gpu: return "gpu";
    case Kind::Cpu: return "cpu";
    case Kind::Oracle: return "oracle";
    case Kind::Null: return "null";
  }
  VYRE_CHECK(false && "a Kind outside its enumeration");
}

Backend::Backend(BackendInfo info)
    : info_(std::move(info)),
      instance_(g_next_instance.fetch_add(1)),
      fork_epoch_(base::fork_epoch()) {}

Backend::~Backend() = default;

bool Backend::is_of_parent() const {
  return base::is_forked_since(fork_epoch_);
}

Result<void> Backend::check_process() const {
  if (!is_of_parent()) return {};
  return std::unexpected(error(ErrorCode::PoisonedState,
                               fmt::format("device `{}` was opened before this process was forked, "
                                           "and its threads are in the parent. Fix: open a device "
                                           "in the child",
                                           info_.id)));
}

Result<void> Backend::check_usable() const {
  VYRE_TRY(check_process());
  if (!is_lost()) return {};
  const std::scoped_lock lock(loss_mutex_);
  return std::unexpected(loss_);
}

// The first loss is kept; what other threads run into meanwhile is the same one.
void Backend::note_loss(Error& error) {
  if (error.code != ErrorCode::DeviceLost) return;
  const std::scoped_lock lock(loss_mutex_);
  if (!lost_.load(std::memory_order_relaxed)) {
    loss_ = error;
    loss_seen_by_ = std::this_thread::get_id();
    losses_.fetch_add(1, std::memory_order_relaxed);
    lost_.store(true, std::memory_order_release);
  }
  error = loss_;
}

void Backend::describe_loss(const std::vector<std::string>& context) {
  constexpr auto kMoment = std::chrono::milliseconds(100);
  std::unique_lock lock(loss_mutex_);
  if (!lost_.load(std::memory_order_relaxed) || loss_seen_by_ == std::thread::id()) return;
  if (loss_seen_by_ == std::this_thread::get_id())
    loss_.context.insert(loss_.context.end(), context.begin(), context.end());
  else if (loss_described_.wait_for(lock, kMoment,
                                    [&] { return loss_seen_by_ == std::thread::id(); }))
    return;
  loss_seen_by_ = {};
  loss_described_.notify_all();
}

Result<Buffer> Backend::allocate(const Allocation& wanted) {
  VYRE_TRY(check_process());
  const std::shared_lock lock(life_);
  VYRE_TRY(check_usable());
  const uint64_t most = info_.capabilities.storage_buffer_bytes;
  if (most != 0 && wanted.bytes > most)
    return std::unexpected(error(
        ErrorCode::LimitExceeded,
        fmt::format("a buffer of {} bytes is larger than device `{}` allows ({} bytes). Fix: use "
                    "smaller buffers",
                    wanted.bytes, info_.id, most)));
  if (!std::has_single_bit(wanted.alignment) || wanted.alignment < kLeastAlignment ||
      wanted.alignment > kMostAlignment ||
      (wanted.kind != Memory::Device && wanted.alignment != kLeastAlignment))
    return std::unexpected(error(
        ErrorCode::InvalidArgument,
        fmt::format("a buffer is requested at a multiple of {} bytes. Fix: use a power of two "
                    "from {} to {}, and the least one for memory of the host",
                    wanted.alignment, kLeastAlignment, kMostAlignment)));
  auto made = do_allocate(wanted);
  if (!made) {
    note_loss(made.error());
    return std::unexpected(std::move(made.error()));
  }
  VYRE_CHECK(made->handle.valid());
  if (made->cleared_bytes != 0)
    cleared_bytes_.fetch_add(made->cleared_bytes, std::memory_order_relaxed);
  try {
    Buffer buffer;
    buffer.owned_ =
        std::make_unique<Buffer::Owned>(shared_from_this(), made->handle, wanted, generation());
    return buffer;
  } catch (...) {
    do_release(made->handle);
    throw;
  }
}

Result<Buffer> Backend::allocate(uint64_t bytes, Memory kind) {
  return allocate(Allocation{.bytes = bytes, .kind = kind});
}

Result<void> Backend::transfer(std::span<const Transfer> transfers) {
  VYRE_TRY(check_process());
  const std::shared_lock lock(life_);
  VYRE_TRY(check_usable());
  auto done = do_transfer(transfers);
  if (!done) note_loss(done.error());
  return done;
}

Result<LoadedArtifact> Backend::load(const Artifact& artifact) {
  VYRE_TRY(check_process());
  const std::shared_lock lock(life_);
  VYRE_TRY(check_usable());
  if (!info_.capabilities.formats.contains(artifact.format))
    return std::unexpected(error(
        ErrorCode::Unsupported,
        fmt::format("device `{}` does not load code of format `{}`, only {}. Fix: compile for this "
                    "device",
                    info_.id, name_of(artifact.format), to_string(info_.capabilities.formats))));
  LoadedArtifact loaded;
  auto code = do_load(artifact);
  if (!code) {
    note_loss(code.error());
    return std::unexpected(std::move(code.error()));
  }
  VYRE_CHECK(code->handle.valid() && code->max_resident_groups.size() == artifact.entries.size());
  loaded.backend_ = shared_from_this();
  loaded.handle_ = code->handle;
  loaded.generation_ = generation();
  loaded.max_resident_groups_ = std::move(code->max_resident_groups);
  loaded.native_ = std::move(code->native);
  loaded.native_format_ = code->native_format;
  return loaded;
}

Result<Ticket> Backend::submit(const Submission& submission) {
  VYRE_TRY(check_process());
  const std::shared_lock lock(life_);
  VYRE_TRY(check_usable());
  VYRE_TRY(check_steps(submission.steps, info_));
  auto ticket = do_submit(submission);
  if (!ticket) note_loss(ticket.error());
  return ticket;
}

Result<Completion> Backend::wait(Ticket ticket, Deadline deadline) {
  VYRE_TRY(check_process());
  const std::shared_lock lock(life_);
  VYRE_TRY(check_usable());
  auto done = do_wait(ticket, deadline);
  if (!done) note_loss(done.error());
  return done;
}

bool Backend::is_done(Ticket ticket) {
  if (is_of_parent()) return true;
  const std::shared_lock lock(life_);
  return is_lost() || do_is_done(ticket);
}

Result<Completion> Backend::run(const Submission& submission) {
  VYRE_TRY(check_process());
  const std::shared_lock lock(life_);
  VYRE_TRY(check_usable());
  VYRE_TRY(check_steps(submission.steps, info_));
  auto ticket = do_submit(submission);
  if (!ticket) {
    note_loss(ticket.error());
    return std::unexpected(std::move(ticket.error()));
  }
  auto done = do_wait(*ticket, kNoDeadline);
  if (!done) note_loss(done.error());
  return done;
}

Result<void> Backend::recover() {
  VYRE_TRY(check_process());
  const std::unique_lock lock(life_);
  if (auto ok = do_recover(); !ok) {
    Error lost = ok.error();
    note_loss(lost);
    return ok;  // what keeps it from coming back, not what it was lost by
  }
  generation_.fetch_add(1, std::memory_order_acq_rel);
  const std::scoped_lock loss_lock(loss_mutex_);
  loss_ = {};
  loss_seen_by_ = {};
  lost_.store(false, std::memory_order_release);
  return {};
}

void Backend::release(Handle handle, uint32_t generation) noexcept {
  if (is_of_parent()) return;
  const std::shared_lock lock(life_);
  if (generation == this->generation()) do_release(handle);
}

// ---- buffers

Buffer::Owned::~Owned() {
  // In a child the work that uses it never ends.
  if (backend->is_of_parent()) return;
  for (uint32_t n = uses.load(std::memory_order_acquire); n != 0;
       n = uses.load(std::memory_order_acquire))
    uses.wait(n, std::memory_order_acquire);
  backend->release(handle, generation);
}

Buffer::Use::Use(const Buffer& buffer) {
  if (!buffer.owned_) return;
  uses_ = &buffer.owned_->uses;
  uses_->fetch_add(1, std::memory_order_relaxed);
}
// The last use may let a destructor go on: nothing of the buffer is touched after the count, but
// the address, which notify_all only compares.
void Buffer::Use::end() noexcept {
  std::atomic<uint32_t>* const uses = std::exchange(uses_, nullptr);
  if (uses == nullptr) return;
  if (uses->fetch_sub(1, std::memory_order_release) == 1) uses->notify_all();
}
Buffer::Use& Buffer::Use::operator=(Use&& other) noexcept {
  if (this != &other) {
    end();
    uses_ = std::exchange(other.uses_, nullptr);
  }
  return *this;
}

Result<void> Buffer::check_owner(const Backend& backend) const {
  if (belongs_to(backend)) return {};
  if (!valid())
    return std::unexpected(error(ErrorCode::InvalidArgument,
                                 "a buffer that is empty (moved from or freed) is given as an "
                                 "argument. Fix: allocate it first"));
  return std::unexpected(stale("a buffer", *owned_->backend, owned_->generation, backend));
}

Result<Region> Buffer::region(uint64_t offset, uint64_t bytes) const {
  if (offset > this->bytes() || bytes > this->bytes() - offset)
    return std::unexpected(
        error(ErrorCode::InvalidArgument,
              fmt::format("bytes {} to {} are outside a buffer of {} bytes. Fix: keep offset and "
                          "length within the buffer",
                          offset, static_cast<unsigned __int128>(offset) + bytes, this->bytes())));
  return Region{handle(), offset, bytes};
}

// ---- loaded code

LoadedArtifact::LoadedArtifact(LoadedArtifact&& other) noexcept
    : backend_(std::move(other.backend_)),
      handle_(std::exchange(other.handle_, {})),
      generation_(other.generation_),
      max_resident_groups_(std::move(other.max_resident_groups_)),
      native_(std::move(other.native_)),
      native_format_(other.native_format_) {}

LoadedArtifact& LoadedArtifact::operator=(LoadedArtifact&& other) noexcept {
  if (this == &other) return *this;
  LoadedArtifact old(std::move(*this));
  backend_ = std::move(other.backend_);
  handle_ = std::exchange(other.handle_, {});
  generation_ = other.generation_;
  max_resident_groups_ = std::move(other.max_resident_groups_);
  native_ = std::move(other.native_);
  native_format_ = other.native_format_;
  return *this;
}

LoadedArtifact::~LoadedArtifact() {
  if (backend_) backend_->release(handle_, generation_);
}

Result<void> LoadedArtifact::check_owner(const Backend& backend) const {
  if (backend_.get() != &backend || generation_ != backend.generation())
    return std::unexpected(stale("a pipeline", *backend_, generation_, backend));
  return {};
}

}  // namespace vyre::device
