// SPDX-License-Identifier: Apache-2.0
// Data that stays on the device: allocation and transfers. They hold the lock of queue 0, so they
// come after what was dispatched there before.
#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "run/entry.hpp"
#include "run/errors.hpp"
#include "run/state.hpp"

namespace vyre::run {

using device::Region;
using device::Transfer;

namespace {

Result<Region> region_of(const DeviceState& device, const Buffer* buffer, uint64_t offset,
                         uint64_t bytes) {
  if (buffer == nullptr)
    return fail(ErrorCode::InvalidArgument, "no buffer is given. Fix: name one");
  VYRE_TRY(buffer->check_owner(*device.backend));
  return buffer->region(offset, bytes);
}

// A step without a launch.
Result<void> submit(DeviceState& device, const device::Step& step) {
  device::Submission submission;
  submission.steps = {&step, 1};
  VYRE_TRY_ASSIGN(const auto ticket, device.backend->submit(submission));
  const auto done = device.backend->wait(ticket);
  return done ? Result<void>() : std::unexpected(done.error());
}

// A call about buffers, under the lock of queue 0: from the check of its handles to the end of its
// work no recovery comes between.
template <class Work>
std::invoke_result_t<Work> under_queue_lock(DeviceState& device, std::string_view what,
                                            Work&& work) {
  return enter(*device.backend, {what}, [&]() -> std::invoke_result_t<Work> {
    VYRE_TRY(device.check_usable());
    const Queue::Lock lock(device.queues[0]);
    device.queues[0].finish_started();
    return std::forward<Work>(work)();
  });
}

}  // namespace

namespace {

Result<Buffer> allocate_for_caller(DeviceState& device, device::Allocation wanted) {
  wanted.owner = device.owner;
  return enter(*device.backend, {"allocating a buffer"}, [&]() -> Result<Buffer> {
    VYRE_TRY(device.check_usable());
    const device::BackendInfo& info = device.backend->info();
    if (!info.capabilities.resident_buffers)
      return fail(ErrorCode::Unsupported,
                  fmt::format("device `{}` keeps no buffers between dispatches (resident_buffers). "
                              "Fix: dispatch with bytes of the host",
                              info.id));
    return device.backend->allocate(wanted);
  });
}

}  // namespace

Result<Buffer> Device::allocate(uint64_t bytes, device::Contents contents,
                                uint64_t alignment) const {
  if (!state_) return no_device();
  auto buffer =
      allocate_for_caller(*state_, {.bytes = bytes, .contents = contents, .alignment = alignment});
  if (buffer && state_->poison && contents == device::Contents::Uninitialised)
    VYRE_TRY(fill(*buffer, *state_->poison));
  return buffer;
}

Result<Buffer> Device::upload(std::span<const std::byte> bytes, uint64_t alignment) const {
  if (!state_) return no_device();
  auto buffer = allocate_for_caller(
      *state_, {.bytes = bytes.size(), .overwritten = true, .alignment = alignment});
  if (!buffer) return buffer;
  VYRE_TRY(write(*buffer, bytes));
  return buffer;
}

Result<void> Device::write(const Buffer& buffer, std::span<const std::byte> bytes,
                           uint64_t offset) const {
  const Write one{&buffer, offset, bytes};
  return write_many({&one, 1});
}

Result<void> Device::write_many(std::span<const Write> writes) const {
  if (!state_) return no_device();
  return under_queue_lock(*state_, "writing to buffers", [&]() -> Result<void> {
    std::vector<Transfer> transfers;
    transfers.reserve(writes.size());
    for (const Write& write : writes) {
      VYRE_TRY_ASSIGN(const auto region,
                      region_of(*state_, write.buffer, write.offset, write.bytes.size()));
      // The device only reads from it.
      if (region.bytes != 0)
        transfers.push_back(
            {Transfer::Direction::ToDevice, region, const_cast<std::byte*>(write.bytes.data())});
    }
    if (transfers.empty()) return {};
    const TraceSpan span(state_->trace.load(), TraceCategory::Upload, "write");
    return state_->backend->transfer(transfers);
  });
}

Result<std::vector<std::byte>> Device::read(const Buffer& buffer) const {
  return enter({"reading a buffer"}, [&]() -> Result<std::vector<std::byte>> {
    std::vector<std::byte> bytes(buffer.bytes());
    VYRE_TRY(read_range(buffer, 0, bytes));
    return bytes;
  });
}

Result<void> Device::read_range(const Buffer& buffer, uint64_t offset,
                                std::span<std::byte> to) const {
  if (!state_) return no_device();
  return under_queue_lock(*state_, "reading a buffer", [&]() -> Result<void> {
    VYRE_TRY_ASSIGN(const auto region, region_of(*state_, &buffer, offset, to.size()));
    if (to.empty()) return {};
    const Transfer transfer{Transfer::Direction::ToHost, region, to.data()};
    const TraceSpan span(state_->trace.load(), TraceCategory::Readback, "read");
    return state_->backend->transfer({&transfer, 1});
  });
}

namespace {

// Ranges by place; those that touch or overlap are one.
std::vector<Region> merge_regions(std::vector<Region> sorted) {
  std::ranges::sort(sorted, [](const Region& a, const Region& b) {
    return std::tie(a.buffer.value, a.offset, a.bytes) <
           std::tie(b.buffer.value, b.offset, b.bytes);
  });
  std::vector<Region> merged;
  for (const Region& r : sorted) {
    if (r.bytes == 0) continue;
    if (!merged.empty() && merged.back().buffer == r.buffer &&
        r.offset <= merged.back().offset + merged.back().bytes) {
      Region& last = merged.back();
      last.bytes = std::max(last.bytes, r.offset + r.bytes - last.offset);
    } else {
      merged.push_back(r);
    }
  }
  return merged;
}

bool contains(const Region& whole, const Region& part) {
  return part.bytes != 0 && whole.buffer == part.buffer && part.offset >= whole.offset &&
         part.offset + part.bytes <= whole.offset + whole.bytes;
}

// A range that is all of its transfer comes right into its slot, others by way of `shared`.
Result<OutputStats> read_merged(DeviceState& device, std::span<const ReadRange> ranges,
                                Outputs& slots) {
  std::vector<Region> regions;
  std::vector<uint64_t> lengths;
  for (const ReadRange& range : ranges) {
    VYRE_TRY_ASSIGN(const auto region, region_of(device, range.buffer, range.offset, range.bytes));
    regions.push_back(region);
    lengths.push_back(region.bytes);
  }
  const std::vector<Region> merged = merge_regions(regions);
  const OutputStats stats = prepare_outputs(slots, lengths);
  Outputs shared(merged.size());
  std::vector<Transfer> transfers;
  for (size_t m = 0; m < merged.size(); ++m) {
    const auto same = std::ranges::find(regions, merged[m]);
    if (same == regions.end()) shared[m].resize(merged[m].bytes);
    std::byte* const to = same != regions.end()
                              ? slots[static_cast<size_t>(same - regions.begin())].data()
                              : shared[m].data();
    transfers.push_back({Transfer::Direction::ToHost, merged[m], to});
  }
  if (!transfers.empty()) {
    const TraceSpan span(device.trace.load(), TraceCategory::Readback, "read ranges");
    VYRE_TRY(device.backend->transfer(transfers));
  }
  for (size_t i = 0; i < regions.size(); ++i) {
    const auto in = std::ranges::find_if(
        merged, [&](const Region& whole) { return contains(whole, regions[i]); });
    if (in == merged.end()) continue;
    const std::byte* const from =
        transfers[static_cast<size_t>(in - merged.begin())].host + (regions[i].offset - in->offset);
    if (from != slots[i].data()) std::memcpy(slots[i].data(), from, regions[i].bytes);
  }
  return stats;
}

}  // namespace

Result<OutputStats> read_into(DeviceState& device, std::span<const ReadRange> ranges,
                              Outputs& slots) {
  return under_queue_lock(device, "reading ranges of buffers",
                          [&] { return read_merged(device, ranges, slots); });
}

Result<std::vector<std::vector<std::byte>>> Device::read_ranges(
    std::span<const ReadRange> ranges) const {
  if (!state_) return no_device();
  Outputs results;
  VYRE_TRY(read_into(*state_, ranges, results));
  return results;
}

Result<void> Device::fill(const Buffer& buffer, std::byte value) const {
  if (!state_) return no_device();
  return under_queue_lock(*state_, "filling a buffer", [&]() -> Result<void> {
    VYRE_TRY_ASSIGN(const auto region, region_of(*state_, &buffer, 0, buffer.bytes()));
    if (region.bytes == 0) return {};
    return submit(*state_, device::Fill{region, value});
  });
}

Result<void> Device::copy(const Buffer& from, const Buffer& to) const {
  if (!state_) return no_device();
  return under_queue_lock(*state_, "copying a buffer", [&]() -> Result<void> {
    VYRE_TRY_ASSIGN(const auto source, region_of(*state_, &from, 0, from.bytes()));
    VYRE_TRY_ASSIGN(const auto target, region_of(*state_, &to, 0, from.bytes()));
    if (source.buffer == target.buffer)
      return fail(ErrorCode::InvalidArgument,
                  "a buffer is copied to itself. Fix: leave the copy out, or use two buffers");
    if (source.bytes == 0) return {};
    return submit(*state_, device::Copy{target, source});
  });
}

}  // namespace vyre::run
