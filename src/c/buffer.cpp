// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "c/boundary.hpp"

using vyre::ErrorCode;
using vyre::fail;
using vyre::Result;
using vyre::c::guarded;
using vyre::c::require;
using vyre::c::require_bytes;

namespace {

uint64_t alignment_of(uint64_t alignment) {
  return alignment == 0 ? vyre::device::kLeastAlignment : alignment;
}

void give(vyre_device* device, vyre::device::Buffer buffer, vyre_buffer** to) {
  auto made = std::make_unique<vyre_buffer>();
  made->device = vyre::c::Ref<vyre_device>(device);
  made->buffer = std::move(buffer);
  *to = made.release();
}

}  // namespace

vyre_error* vyre_buffer_allocate(vyre_device* device, uint64_t bytes, uint32_t contents,
                                 uint64_t alignment, vyre_buffer** buffer) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(device, "device"));
    VYRE_TRY(require(buffer, "buffer"));
    if (contents > VYRE_UNINITIALISED)
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("`contents` is {}. Fix: give VYRE_ZEROS or VYRE_UNINITIALISED", contents));
    const auto wanted = contents == VYRE_ZEROS ? vyre::device::Contents::Zeros
                                               : vyre::device::Contents::Uninitialised;
    VYRE_TRY_ASSIGN(auto made, device->device.allocate(bytes, wanted, alignment_of(alignment)));
    give(device, std::move(made), buffer);
    return {};
  });
}

vyre_error* vyre_buffer_upload(vyre_device* device, const void* from, uint64_t bytes,
                               uint64_t alignment, vyre_buffer** buffer) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(device, "device"));
    VYRE_TRY(require(buffer, "buffer"));
    VYRE_TRY(require_bytes(from, bytes, "from"));
    VYRE_TRY_ASSIGN(auto made,
                    device->device.upload(std::span(static_cast<const std::byte*>(from), bytes),
                                          alignment_of(alignment)));
    give(device, std::move(made), buffer);
    return {};
  });
}

uint64_t vyre_buffer_size(const vyre_buffer* buffer) {
  return buffer == nullptr ? 0 : buffer->buffer.bytes();
}

vyre_error* vyre_buffer_read(vyre_buffer* buffer, uint64_t offset, void* to, uint64_t bytes) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(buffer, "buffer"));
    VYRE_TRY(require_bytes(to, bytes, "to"));
    return buffer->device->device.read_range(buffer->buffer, offset,
                                             std::span(static_cast<std::byte*>(to), bytes));
  });
}

vyre_error* vyre_buffer_write(vyre_buffer* buffer, uint64_t offset, const void* from,
                              uint64_t bytes) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(buffer, "buffer"));
    VYRE_TRY(require_bytes(from, bytes, "from"));
    return buffer->device->device.write(
        buffer->buffer, std::span(static_cast<const std::byte*>(from), bytes), offset);
  });
}

vyre_error* vyre_buffer_fill(vyre_buffer* buffer, uint8_t value) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(buffer, "buffer"));
    return buffer->device->device.fill(buffer->buffer, std::byte{value});
  });
}

vyre_buffer* vyre_buffer_retain(vyre_buffer* buffer) {
  return vyre::c::retain(buffer);
}
void vyre_buffer_release(vyre_buffer* buffer) {
  vyre::c::release(buffer);
}
