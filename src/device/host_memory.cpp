// SPDX-License-Identifier: Apache-2.0
#include "device/host_memory.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/free_memory.hpp"

namespace vyre::device {

namespace {

std::byte* at_multiple(std::byte* address, uint64_t alignment) {
  const auto number = reinterpret_cast<uint64_t>(address);
  return address + ((number + alignment - 1) / alignment * alignment - number);
}

}  // namespace

uint64_t HostMemory::bytes_to_take(const Allocation& wanted) const {
  const uint64_t more = options_.source != nullptr ? wanted.alignment - kLeastAlignment : 0;
  return wanted.bytes > ~uint64_t{0} - more ? ~uint64_t{0} : wanted.bytes + more;
}

BlockSource::Taken HostMemory::take(const Allocation& wanted, uint64_t owner) const {
  const uint64_t bytes = bytes_to_take(wanted);
  if (options_.source != nullptr) return options_.source->take(bytes, owner);
  if (!may_grow_memory(bytes)) return {};
  auto* const data = static_cast<std::byte*>(
      ::operator new(bytes, std::align_val_t{wanted.alignment}, std::nothrow));
  return {data, bytes, BlockSource::Held::Foreign};
}

uint64_t HostMemory::clear(const BlockSource::Taken& taken, const Allocation& wanted) const {
  using Held = BlockSource::Held;
  const bool zeros = wanted.contents == Contents::Zeros && !wanted.overwritten;
  if (taken.data == nullptr || taken.bytes == 0) return 0;
  if (options_.fresh_fill && !zeros) {
    std::memset(taken.data, static_cast<int>(*options_.fresh_fill), taken.bytes);
    return 0;
  }
  if (wanted.overwritten || taken.held == Held::Zeros || (taken.held == Held::Own && !zeros))
    return 0;
  // All of a foreign block: its owner may get it back for a few bytes more.
  const uint64_t bytes = taken.held == Held::Foreign ? taken.bytes : bytes_to_take(wanted);
  std::memset(taken.data, 0, bytes);
  return bytes;
}

Result<Allocated> HostMemory::allocate(const Allocation& wanted, const BackendInfo& info) {
  const uint64_t bytes = wanted.bytes;
  const auto none = [&](uint64_t available) {
    return std::unexpected(
        error(ErrorCode::DeviceOutOfMemory,
              fmt::format("{} bytes are requested on device `{}`, which has {} bytes available. "
                          "Fix: free buffers, or use smaller ones",
                          bytes, info.id, available)));
  };
  {  // The bytes are ours before they are there: filling them may take long.
    const std::scoped_lock lock(mutex_);
    if (bytes > options_.limit - std::min(bytes_, options_.limit))
      return none(options_.limit - std::min(bytes_, options_.limit));
    bytes_ += bytes;
  }
  // What is not cleared has no owner until it is written, and stays so.
  const uint64_t owner = wanted.overwritten ? 0 : wanted.owner;
  const BlockSource::Taken taken = take(wanted, owner);
  const Free free{options_.source, bytes_to_take(wanted), owner, wanted.alignment};
  Block block{.data = std::unique_ptr<std::byte, Free>(taken.data, free),
              .first = at_multiple(taken.data, wanted.alignment),
              .bytes = bytes,
              .kind = wanted.kind};
  const uint64_t cleared = clear(taken, wanted);
  const Handle handle = new_handle();
  const std::scoped_lock lock(mutex_);
  try {
    if (block.data) {
      blocks_.emplace(handle.value, std::move(block));
      peak_bytes_ = std::max(peak_bytes_, bytes_);
      return Allocated{handle, cleared};
    }
  } catch (...) {
    bytes_ -= bytes;
    throw;
  }
  bytes_ -= bytes;
  if (auto grown = check_memory_growth(bytes, fmt::format("a buffer of device `{}`", info.id));
      !grown) {
    grown.error().code = ErrorCode::DeviceOutOfMemory;
    return std::unexpected(std::move(grown.error()));
  }
  return none(0);
}

bool HostMemory::release(Handle handle) noexcept {
  Block freed;  // outside the lock
  const std::scoped_lock lock(mutex_);
  const auto row = blocks_.find(handle.value);
  if (row == blocks_.end()) return false;
  bytes_ -= row->second.bytes;
  freed = std::move(row->second);
  blocks_.erase(row);
  frees_.fetch_add(1, std::memory_order_release);
  return true;
}

void HostMemory::clear() noexcept {
  const std::scoped_lock lock(mutex_);
  blocks_.clear();
  bytes_ = 0;
  frees_.fetch_add(1, std::memory_order_release);
}

uint64_t HostMemory::buffers() const {
  const std::scoped_lock lock(mutex_);
  return blocks_.size();
}

uint64_t HostMemory::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

Metrics HostMemory::metrics() const {
  const std::scoped_lock lock(mutex_);
  return {.memory_bytes = bytes_, .memory_peak_bytes = peak_bytes_};
}

void HostMemory::scribble(std::byte value) {
  const std::scoped_lock lock(mutex_);
  if (working_.load(std::memory_order_acquire) != 0) return;
  for (auto& [handle, block] : blocks_)
    if (block.kind == Memory::Device && block.bytes != 0)
      std::memset(block.first, static_cast<int>(value), block.bytes);
}

// Under the lock, so that no work begins while all is overwritten.
HostMemory::Work::Work(HostMemory& memory) : memory_(memory) {
  const std::scoped_lock lock(memory_.mutex_);
  memory_.working_.fetch_add(1, std::memory_order_relaxed);
}
HostMemory::Work::~Work() {
  memory_.working_.fetch_sub(1, std::memory_order_release);
}

std::span<std::byte> HostMemory::look_up(Handle handle, Lookups::Found& found) const {
  if (!handle.valid()) return {};
  const std::scoped_lock lock(mutex_);
  const auto row = blocks_.find(handle.value);
  if (row == blocks_.end()) return {};
  found = {handle, {row->second.first, row->second.bytes}};
  return found.bytes;
}

Ticket FinishedWork::add(Result<Completion>&& result) {
  const std::scoped_lock lock(mutex_);
  const Ticket ticket{next_++};
  const auto free = std::ranges::find(rows_, Ticket{}, &Row::ticket);
  if (free == rows_.end()) {
    rows_.push_back({ticket, std::move(result)});
  } else {
    free->ticket = ticket;
    free->result = std::move(result);
  }
  return ticket;
}

Result<Completion> FinishedWork::take(Ticket ticket) {
  const std::scoped_lock lock(mutex_);
  const auto row = std::ranges::find(rows_, ticket, &Row::ticket);
  if (ticket == Ticket{} || row == rows_.end())
    return std::unexpected(error(ErrorCode::Internal,
                                 fmt::format("ticket {} is waited for, but there is no such work. "
                                             "Fix: report this as a bug of the driver",
                                             ticket.value)));
  row->ticket = {};
  return std::move(row->result);
}

void FinishedWork::clear() noexcept {
  const std::scoped_lock lock(mutex_);
  rows_.clear();
}

}  // namespace vyre::device
