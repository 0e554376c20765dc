// SPDX-License-Identifier: Apache-2.0
// What a name stands for at a place in the text. Declarations of the program are visible
// everywhere, locals from their declaration to the end of their block; a function body sees neither
// buffers nor the locals around it. Looking up, declaring and leaving a block take constant time
// per name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vyre/ir/program.hpp"

namespace vyre::text {

struct Symbol {
  // Unknown: a name that was reported once and is not to be reported again in its scope.
  enum class Kind : uint8_t { Scalar, Array, BufferParam, Const, Table, Buffer, Fn, Unknown };
  Kind kind = Kind::Unknown;
  uint32_t index = 0;  // into locals, consts, buffers or fns of the Program
};

struct Found {
  enum class Where : uint8_t {
    Nowhere,
    Visible,
    Hidden
  };  // Hidden: it exists, but not for this function
  Where where = Where::Nowhere;
  Symbol symbol;
};

class Scopes {
 public:
  // The first declaration of a name stays; the checker reports the second.
  void declare_global(std::string_view name, Symbol symbol);
  // A local declared directly in the program: known to exist, for functions that name it.
  void note_top_local(std::string_view name) { top_locals_.insert(name); }

  void push() { marks_.push_back(locals_.size()); }
  void pop();
  void declare(std::string_view name, Symbol symbol);
  // Between these two only what a function sees is visible.
  void enter_function();
  void leave_function();

  [[nodiscard]] Found find(std::string_view name) const;
  // The visible name that looks most like `name`, or nothing. Functions if `callable`, others if
  // not.
  [[nodiscard]] std::string_view nearest(std::string_view name, bool callable) const;

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Entry {
    std::string_view name;
    Symbol symbol;
    size_t shadowed = kNone;
  };
  [[nodiscard]] bool in_function() const { return !function_bases_.empty(); }
  [[nodiscard]] size_t function_base() const { return in_function() ? function_bases_.back() : 0; }

  std::unordered_map<std::string_view, Symbol> globals_;
  std::vector<std::string_view> global_names_;
  std::unordered_map<std::string_view, size_t> innermost_;
  std::unordered_set<std::string_view> top_locals_;
  std::vector<Entry> locals_;
  std::vector<size_t> marks_;
  std::vector<size_t> function_bases_;  // size of locals_ at each enter_function
};

// The built-in function (if `callable`) or value that looks most like `name`, or nothing.
std::string_view nearest_builtin(std::string_view name, bool callable);

// Changes of one letter that turn `a` into `b`; gives up, with limit + 1, above `limit`.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit);

}  // namespace vyre::text
