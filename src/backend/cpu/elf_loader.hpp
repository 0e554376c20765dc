// SPDX-License-Identifier: Apache-2.0
// Brings a relocatable ELF object for x86-64 (Format::Object) into memory so that it can be run.
// The bytes may come from a cache on disk and are not trusted: whatever is wrong with them is
// CompileFailed. Only the code itself has to be believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "vyre/base/result.hpp"

namespace vyre::backend::cpu {

struct LoadedSymbol {
  std::byte* address = nullptr;
  uint64_t bytes = 0;  // to the end of its section, whatever the symbol says of itself
  bool executable = false;
};

// One mapping: code, then constants, then data, each on pages of its own. Nothing is writable and
// executable at once. Unmapped at the end, so no thread may be running its code then.
class LoadedObject {
 public:
  // CompileFailed, naming the relocation, symbol or field.
  static Result<LoadedObject> load(std::span<const std::byte> object);

  LoadedObject(LoadedObject&& other) noexcept
      : mapping_(std::exchange(other.mapping_, {})), symbols_(std::move(other.symbols_)) {}
  LoadedObject& operator=(LoadedObject&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(symbols_, other.symbols_);
    return *this;
  }
  ~LoadedObject();

  // Of the symbols that the object shows to others; nothing if it has none of this name.
  [[nodiscard]] std::optional<LoadedSymbol> symbol(std::string_view name) const;
  [[nodiscard]] std::span<const std::byte> mapping() const { return mapping_; }

 private:
  friend class ObjectLoader;
  LoadedObject() = default;

  std::span<std::byte> mapping_;
  std::map<std::string, LoadedSymbol, std::less<>> symbols_;
};

// The address of a function of the C library that compiled code may call by itself, 0 for others.
uint64_t library_function(std::string_view name);

}  // namespace vyre::backend::cpu
