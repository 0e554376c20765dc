// SPDX-License-Identifier: Apache-2.0
// What a backend whose device is the host has to keep: memory, loaded code, and work that is done
// but not yet collected. Handles are 1, 2, 3 and so on and are never used again. Any thread may
// call anything; only memory itself is not guarded, as on a device.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::device {

// Where memory comes from, for devices that have something better than the heap. Any thread may
// call it.
class BlockSource {
 public:
  enum class Held : uint8_t { Zeros, Own, Foreign };
  struct Taken {
    std::byte* data = nullptr;  // at a multiple of kLeastAlignment; null if there is no more
    uint64_t bytes = 0;         // of the block: at least those requested
    Held held = Held::Foreign;  // by all of the block
  };
  virtual ~BlockSource() = default;
  // A block that the owner gave back comes first. Owner 0 owns nothing.
  virtual Taken take(uint64_t bytes, uint64_t owner) noexcept = 0;
  // `bytes` were requested, and nothing of another owner is left in the block.
  virtual void give(std::byte* block, uint64_t bytes, uint64_t owner) noexcept = 0;
};

class HostMemory {
 public:
  struct Options {
    uint64_t limit = ~uint64_t{0};  // bytes in all
    // What new memory holds that need not be zeros; none: zeros, or what its owner left.
    std::optional<std::byte> fresh_fill{};
    BlockSource* source = nullptr;  // not the heap; outlives the memory
  };
  explicit HostMemory(Options options) : options_(options) {}

  // At a multiple of what is wanted. From the heap not a byte longer, so that AddressSanitizer sees
  // what lies beyond. DeviceOutOfMemory.
  Result<Allocated> allocate(const Allocation& wanted, const BackendInfo& info);
  // False: no memory of this one.
  bool release(Handle handle) noexcept;
  void clear() noexcept;
  Handle new_handle() { return {next_.fetch_add(1, std::memory_order_relaxed)}; }

  [[nodiscard]] uint64_t buffers() const;
  [[nodiscard]] uint64_t bytes() const;
  // Those of memory.
  [[nodiscard]] Metrics metrics() const;

  // Where buffers were found to be. Who keeps it between two pieces of work finds the same few
  // buffers without a lock; it forgets all of them when memory has been freed.
  class Lookups {
   private:
    friend class HostMemory;
    struct Found {
      Handle handle;
      std::span<std::byte> bytes;
    };
    uint64_t frees_ = 0;
    std::array<Found, 16> found_ = {};  // by the last digits of the handle
  };
  // Before work during which what it uses is not released.
  void refresh(Lookups& lookups) const {
    if (const uint64_t now = frees_.load(std::memory_order_acquire); lookups.frees_ != now) {
      lookups.found_ = {};
      lookups.frees_ = now;
    }
  }
  // Empty for a handle that is no memory of this one.
  [[nodiscard]] std::span<std::byte> find(Handle handle, Lookups& lookups) const {
    Lookups::Found& found = lookups.found_[handle.value % lookups.found_.size()];
    return found.handle == handle ? found.bytes : look_up(handle, found);
  }

  // Held by one thread while it uses memory of a device that may scribble().
  class Work {
   public:
    explicit Work(HostMemory& memory);
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    ~Work();
    [[nodiscard]] std::span<std::byte> find(Handle handle) {
      return memory_.find(handle, lookups_);
    }

   private:
    HostMemory& memory_;
    Lookups lookups_;
  };

  // For devices without resident buffers: unless work runs, all memory of the device becomes
  // `value`, so that who relies on it is found.
  void scribble(std::byte value);

 private:
  struct Free {
    BlockSource* source;
    uint64_t bytes;
    uint64_t owner;
    uint64_t alignment;
    void operator()(std::byte* data) const {
      if (source != nullptr)
        source->give(data, bytes, owner);
      else
        ::operator delete(data, std::align_val_t{alignment});
    }
  };
  // What is taken for a request: from a source as much more as it takes to find a multiple of a
  // larger alignment inside.
  [[nodiscard]] uint64_t bytes_to_take(const Allocation& wanted) const;
  // No data: there is no more, or too little is free (base/free_memory.hpp). A source sees to that
  // itself, because what it has kept is no growth.
  [[nodiscard]] BlockSource::Taken take(const Allocation& wanted, uint64_t owner) const;
  // How many bytes of the block had to be cleared.
  [[nodiscard]] uint64_t clear(const BlockSource::Taken& taken, const Allocation& wanted) const;
  struct Block {
    std::unique_ptr<std::byte, Free> data;
    std::byte* first = nullptr;  // at the alignment that was wanted
    uint64_t bytes = 0;
    Memory kind = Memory::Device;
  };
  std::span<std::byte> look_up(Handle handle, Lookups::Found& found) const;

  const Options options_;
  std::atomic<uint64_t> next_ = 1;
  std::atomic<uint32_t> working_ = 0;
  std::atomic<uint64_t> frees_ = 0;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Block> blocks_;
  uint64_t bytes_ = 0;
  uint64_t peak_bytes_ = 0;
};

// Loaded code by handle. What a launch has found lives until it is done with it.
template <class Code>
class HostCode {
 public:
  void add(Handle handle, Code code) {
    auto shared = std::make_shared<const Code>(std::move(code));
    const std::scoped_lock lock(mutex_);
    rows_.emplace(handle.value, std::move(shared));
  }
  [[nodiscard]] std::shared_ptr<const Code> find(Handle handle) const {
    const std::scoped_lock lock(mutex_);
    const auto row = rows_.find(handle.value);
    return row == rows_.end() ? nullptr : row->second;
  }
  void release(Handle handle) noexcept {
    const std::scoped_lock lock(mutex_);
    rows_.erase(handle.value);
    releases_.fetch_add(1, std::memory_order_release);
  }
  void clear() noexcept {
    const std::scoped_lock lock(mutex_);
    rows_.clear();
    releases_.fetch_add(1, std::memory_order_release);
  }
  // Other than before: who keeps what it has found should let go of it.
  [[nodiscard]] uint64_t releases() const { return releases_.load(std::memory_order_acquire); }
  [[nodiscard]] uint64_t size() const {
    const std::scoped_lock lock(mutex_);
    return rows_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<uint64_t> releases_ = 0;
  std::unordered_map<uint64_t, std::shared_ptr<const Code>> rows_;
};

// Work that ended before a wait for it.
class FinishedWork {
 public:
  Ticket add(Result<Completion>&& result);
  // Internal for a ticket that is not there, or not any more.
  Result<Completion> take(Ticket ticket);
  void clear() noexcept;

 private:
  struct Row {
    Ticket ticket;  // 0: free
    Result<Completion> result;
  };
  std::mutex mutex_;
  uint64_t next_ = 1;
  std::vector<Row> rows_;  // as many as were ever waiting at once
};

}  // namespace vyre::device
