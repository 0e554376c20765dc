// SPDX-License-Identifier: Apache-2.0
// What PoolProtocol needs of the machine: atomics, futexes and spinning of real threads.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "backend/cpu/processor.hpp"
#include "base/fork.hpp"

namespace vyre::backend::cpu {

struct ThreadSystem {
  template <class T>
  using Atomic = std::atomic<T>;
  template <class T>
  using Plain = T;
  template <class T>
  using Counter = std::atomic<T>;

  // How long an owner spins for helpers before it sleeps: longer than most pieces of work.
  class Patience {
   public:
    [[nodiscard]] bool is_over() const { return left_ == 0; }
    void spin() {
      --left_;
      spin_pause();
    }

   private:
    int left_ = 2000;
  };

  // Futexes on the halves of a word; both may return early.
  static void wait_lower(std::atomic<uint64_t>& word, uint32_t value) {
    wait(half(word, 0), value);
  }
  static void wait_upper(std::atomic<uint64_t>& word, uint32_t value) {
    wait(half(word, 1), value);
  }
  static void wake_lower(std::atomic<uint64_t>& word, int count) { wake(half(word, 0), count); }
  static void wake_upper(std::atomic<uint64_t>& word, int count) { wake(half(word, 1), count); }

  static bool is_forked_since(uint32_t epoch) { return base::is_forked_since(epoch); }

  // For the checker of interleavings: from here on the function depends on these values only.
  struct Position {};
  static Position position() { return {}; }
  template <class... Values>
  static void merge(Position /*entry*/, Values... /*values*/) {}

 private:
  static_assert(std::endian::native == std::endian::little, "halves of a word are futexes");
  static uint32_t* half(std::atomic<uint64_t>& word, int index) {
    return reinterpret_cast<uint32_t*>(&word) + index;
  }
  static void wait(uint32_t* word, uint32_t value);
  static void wake(uint32_t* word, int count);
};

}  // namespace vyre::backend::cpu
