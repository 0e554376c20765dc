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
// memory is colder or has smaller pages than that of the device.
template <class T>
class HostArray {
 public:
  explicit HostArray(size_t count) : count_(count) {
    constexpr size_t kPage = size_t{2} << 20;
    const size_t bytes = (count * sizeof(T) + kPage - 1) / kPage * kPage;
    data_.reset(static_cast<T*>(std::aligned_alloc(kPage, bytes)));
    if (data_ == nullptr) throw std::bad_alloc();
    (void)madvise(data_.get(), bytes, MADV_HUGEPAGE);
    std::memset(static_cast<void*>(data_.get()), 0, bytes);
  }
  explicit HostArray(const std::vector<T>& values) : HostArray(values.size()) { *this = values; }
  HostArray& operator=(const std::vector<T>& values) {
    std::memcpy(data_.get(), values.data(), std::min(count_, values.size()) * sizeof(T));
    return *this;
  }

  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] std::span<const T> span() const { return {data_.get(), count_}; }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  size_t count_;
  std::unique_ptr<T, Free> data_;
};

// The same numbers in every run.
class Random {
 public:
  explicit Random(uint64_t seed = 1) : state_(seed * 0x9E37'79B9'7F4A'7C15u + 1) {}
  uint32_t next() {
    state_ = state_ * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
    const auto mixed = static_cast<uint32_t>((state_ ^ (state_ >> 22)) >> 30);
    return mixed;
  }
  uint32_t below(uint32_t limit) {
    return static_cast<uint32_t>(uint64_t{next()} * limit >> 32);
  }
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
