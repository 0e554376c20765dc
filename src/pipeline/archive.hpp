// SPDX-License-Identifier: Apache-2.0
// Values as bytes for another process of the same build on the same machine: plain values are
// copied as they lie in memory. A reader checks lengths; past the end it gives zeros and is not
// ok() any more.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace vyre::pipeline {

class Writer {
 public:
  static constexpr bool kReads = false;

  template <class... T>
  void operator()(T&... values) {
    (put(values), ...);
  }
  void raw(const void* data, size_t bytes) {
    const auto* const first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + bytes);
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  template <class T>
  void put(const T& value);

  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  static constexpr bool kReads = true;

  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  void raw(void* data, size_t bytes) {
    if (bytes > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      std::memset(data, 0, bytes);
      return;
    }
    if (bytes != 0) std::memcpy(data, bytes_.data(), bytes);
    bytes_ = bytes_.subspan(bytes);
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && bytes_.empty(); }
  // A number of elements of at least `bytes` bytes each.
  size_t count(size_t each) {
    uint64_t n = 0;
    raw(&n, sizeof n);
    if (n <= bytes_.size() / each) return static_cast<size_t>(n);
    ok_ = false;
    bytes_ = {};
    return 0;
  }

 private:
  template <class T>
  void get(T& value);

  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

namespace archive {

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsVariant = false;
template <class... T>
inline constexpr bool kIsVariant<std::variant<T...>> = true;

template <class... T>
void read_variant(Reader& in, std::variant<T...>& value) {
  uint8_t index = 0;
  in(index);
  const auto read = [&]<size_t... I>(std::index_sequence<I...>) {
    (void)((index == I && (in(value.template emplace<I>()), true)) || ...);
  };
  read(std::index_sequence_for<T...>());
}

}  // namespace archive

// Of types that are not plain: void fields(archive, value) calls archive(members...).
template <class T>
void Writer::put(const T& value) {
  if constexpr (std::is_same_v<T, std::string> || archive::kIsVector<T>) {
    const uint64_t n = value.size();
    raw(&n, sizeof n);
    if constexpr (std::is_trivially_copyable_v<typename T::value_type>)
      raw(value.data(), n * sizeof(typename T::value_type));
    else
      for (const auto& each : value) put(each);
  } else if constexpr (std::is_trivially_copyable_v<T>) {
    raw(&value, sizeof value);
  } else if constexpr (archive::kIsVariant<T>) {
    const auto index = static_cast<uint8_t>(value.index());
    raw(&index, 1);
    std::visit([&](const auto& each) { put(each); }, value);
  } else {
    fields(*this, const_cast<T&>(value));
  }
}

template <class T>
void Reader::get(T& value) {
  if constexpr (std::is_same_v<T, std::string> || archive::kIsVector<T>) {
    using Each = typename T::value_type;
    constexpr bool kPlain = std::is_trivially_copyable_v<Each>;
    value.resize(count(kPlain ? sizeof(Each) : 1));
    if constexpr (kPlain)
      raw(value.data(), value.size() * sizeof(Each));
    else
      for (auto& each : value) get(each);
  } else if constexpr (std::is_same_v<T, bool>) {
    // A process that crashed may leave anything, and a bool that is neither is undefined.
    uint8_t byte = 0;
    raw(&byte, 1);
    if (byte > 1) ok_ = false;
    value = byte == 1;
  } else if constexpr (std::is_trivially_copyable_v<T>) {
    raw(&value, sizeof value);
  } else if constexpr (archive::kIsVariant<T>) {
    archive::read_variant(*this, value);
  } else {
    fields(*this, value);
  }
}

}  // namespace vyre::pipeline
