// SPDX-License-Identifier: Apache-2.0
// Owners of what lives on a device. They know their device and the generation of it they belong to,
// and may outlive both: they keep the backend alive (shared ownership, since a handle in some
// program's destructor must never reach a device that is gone), and what a recovery has made stale
// is simply not freed again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::device {

class Buffer {
 public:
  Buffer() = default;  // none
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;
  // Waits for work that uses it.
  ~Buffer() = default;

  [[nodiscard]] bool valid() const { return owned_ != nullptr; }
  [[nodiscard]] uint64_t bytes() const { return owned_ ? owned_->bytes : 0; }
  // Its address is a multiple of this, which was requested; what it happens to be besides does not
  // count.
  [[nodiscard]] uint64_t alignment() const { return owned_ ? owned_->alignment : 0; }
  [[nodiscard]] Memory kind() const { return owned_ ? owned_->kind : Memory::Device; }
  [[nodiscard]] Handle handle() const { return owned_ ? owned_->handle : Handle{}; }
  // The same as destroying it.
  void free() { owned_.reset(); }

  [[nodiscard]] bool belongs_to(const Backend& backend) const {
    return owned_ && owned_->backend.get() == &backend &&
           owned_->generation == backend.generation();
  }
  // StaleHandle, naming both sides, unless the buffer belongs to this life of this device.
  [[nodiscard]] Result<void> check_owner(const Backend& backend) const;
  // InvalidArgument if it leaves the buffer.
  [[nodiscard]] Result<Region> region(uint64_t offset, uint64_t bytes) const;
  [[nodiscard]] Region whole() const { return {handle(), 0, bytes()}; }

  // Held by work in flight; the buffer must outlive the call, not the use.
  class Use {
   public:
    Use() = default;
    explicit Use(const Buffer& buffer);
    Use(Use&& other) noexcept : uses_(std::exchange(other.uses_, nullptr)) {}
    Use& operator=(Use&& other) noexcept;
    ~Use() { end(); }
    void end() noexcept;

   private:
    std::atomic<uint32_t>* uses_ = nullptr;
  };

 private:
  friend class Backend;
  struct Owned {
    std::shared_ptr<Backend> backend;
    Handle handle;
    uint64_t bytes = 0;
    uint64_t alignment = 0;
    Memory kind = Memory::Device;
    uint32_t generation = 0;
    std::atomic<uint32_t> uses = 0;
    Owned(std::shared_ptr<Backend> b, Handle h, const Allocation& wanted, uint32_t g)
        : backend(std::move(b)),
          handle(h),
          bytes(wanted.bytes),
          alignment(wanted.alignment),
          kind(wanted.kind),
          generation(g) {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned();
  };
  std::unique_ptr<Owned> owned_;
};

class LoadedArtifact {
 public:
  LoadedArtifact() = default;
  LoadedArtifact(LoadedArtifact&& other) noexcept;
  LoadedArtifact& operator=(LoadedArtifact&& other) noexcept;
  ~LoadedArtifact();

  [[nodiscard]] bool valid() const { return backend_ != nullptr; }
  [[nodiscard]] Handle handle() const { return handle_; }
  [[nodiscard]] uint64_t max_resident_groups(uint32_t entry) const {
    return max_resident_groups_[entry];
  }
  // What the device made of the code, to be kept in its place; empty: nothing better.
  [[nodiscard]] std::span<const std::byte> native() const { return native_; }
  [[nodiscard]] Format native_format() const { return native_format_; }
  [[nodiscard]] Result<void> check_owner(const Backend& backend) const;

 private:
  friend class Backend;
  std::shared_ptr<Backend> backend_;
  Handle handle_;
  uint32_t generation_ = 0;
  std::vector<uint64_t> max_resident_groups_;
  std::vector<std::byte> native_;
  Format native_format_ = Format::Program;
};

}  // namespace vyre::device
