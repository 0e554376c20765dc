// SPDX-License-Identifier: Apache-2.0
#include "conformance/guard.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace vyre::conformance {
namespace {

size_t page_size() {
  static const auto kSize = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return kSize;
}

}  // namespace

GuardedBytes::GuardedBytes(std::span<const std::byte> bytes, Edge edge) {
  const size_t page = page_size();
  const size_t inner = (bytes.size() + page - 1) / page * page;
  length_ = inner + 2 * page;
  void* const memory = mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  mapping_ = static_cast<std::byte*>(memory);
  std::byte* const first = mapping_ + page;
  if (inner > 0 && mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) std::abort();
  bytes_ = {edge == Edge::End ? first + (inner - bytes.size()) : first, bytes.size()};
  std::ranges::copy(bytes, bytes_.begin());
}

GuardedBytes::GuardedBytes(GuardedBytes&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      length_(other.length_),
      bytes_(other.bytes_) {}

GuardedBytes::~GuardedBytes() {
  if (mapping_ != nullptr) munmap(mapping_, length_);
}

void GuardedBytes::make_read_only() const {
  const size_t page = page_size();
  if (length_ > 2 * page && mprotect(mapping_ + page, length_ - 2 * page, PROT_READ) != 0)
    std::abort();
}

}  // namespace vyre::conformance
