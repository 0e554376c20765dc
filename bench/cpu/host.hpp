// SPDX-License-Identifier: Apache-2.0
// Memory and data of the peers' side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include <sys/mman.h>

namespace vyre::bench {

// Zeros in huge pages where the kernel has them, already touched: a peer must not lose because its
// memory is colder or has smaller pages than that of the device. `offset` is that of the array in
// its page, a multiple of 64.
template <class T>
class HostArray {
 public:
  explicit HostArray(size_t count, size_t offset = 0) : count_(count) {
    constexpr size_t kPage = size_t{2} << 20;
    const size_t bytes = (offset + count * sizeof(T) + kPage - 1) / kPage * kPage;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, bytes)));
    if (memory_ == nullptr) throw std::bad_alloc();
    (void)madvise(memory_.get(), bytes, MADV_HUGEPAGE);
    std::memset(memory_.get(), 0, bytes);
    data_ = reinterpret_cast<T*>(memory_.get() + offset);
  }
  explicit HostArray(const std::vector<T>& values, size_t offset = 0)
      : HostArray(values.size(), offset) {
    *this = values;
  }
  HostArray& operator=(const std::vector<T>& values) {
    std::memcpy(data_, values.data(), std::min(count_, values.size()) * sizeof(T));
    return *this;
  }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] std::span<const T> span() const { return {data_, count_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  size_t count_;
  std::unique_ptr<std::byte, Free> memory_;
  T* data_ = nullptr;
};

// Where arrays that are used together begin in their pages. At the same place, a load can be taken
// for bytes just stored to another array (equal low 12 bits), which costs loops with neighbours up
// to a quarter; but a plain loop in L1 is faster so. Peers for which it matters get both layouts.
enum class Layout : uint8_t { Aligned, Staggered };
inline constexpr Layout kLayouts[] = {Layout::Aligned, Layout::Staggered};
inline size_t offset_of(Layout layout, size_t array) {
  constexpr size_t kOffsets[] = {0, 2112, 1088};
  return layout == Layout::Aligned ? 0 : kOffsets[array];
}
inline const char* suffix_of(Layout layout) {
  return layout == Layout::Aligned ? "" : ", staggered arrays";
}

// The same numbers in every run.
class Random {
 public:
  explicit Random(uint64_t seed = 1) : state_(seed * 0x9E37'79B9'7F4A'7C15u + 1) {}
  uint32_t next() {
    state_ = state_ * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
    const auto mixed = static_cast<uint32_t>((state_ ^ (state_ >> 22)) >> 30);
    return mixed;
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(uint64_t{next()} * limit >> 32); }
  float between(float low, float high) {
    return low + (high - low) * (static_cast<float>(next() >> 8) * 0x1p-24f);
  }

 private:
  uint64_t state_;
};

inline std::vector<uint32_t> random_words(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> values(count);
  for (uint32_t& value : values) value = random.next();
  return values;
}
inline std::vector<float> random_floats(size_t count, float low, float high, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = random.between(low, high);
  return values;
}

}  // namespace vyre::bench
