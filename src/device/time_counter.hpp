// SPDX-License-Identifier: Apache-2.0
// Nanoseconds that scopes took, summed over threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace vyre::device {

class TimeCounter {
 public:
  [[nodiscard]] uint64_t ns() const { return ns_.load(std::memory_order_relaxed); }

  class Scope {
   public:
    explicit Scope(TimeCounter& counter)
        : counter_(counter), start_(std::chrono::steady_clock::now()) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start_;
      counter_.ns_.fetch_add(static_cast<uint64_t>(took.count()), std::memory_order_relaxed);
    }

   private:
    TimeCounter& counter_;
    std::chrono::steady_clock::time_point start_;
  };

 private:
  std::atomic<uint64_t> ns_ = 0;
};

}  // namespace vyre::device
