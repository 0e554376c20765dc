// SPDX-License-Identifier: Apache-2.0
// What a name stands for at a place in the text. Declarations of the program are visible
// everywhere, locals from their declaration to the end of their block; a function body sees neither
// buffers nor the locals around it. Looking up, declaring and leaving a block take constant time
// per name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vyre/ir/program.hpp"

namespace vyre::text {

struct Symbol {
  // Unknown: a name that was reported once and is not to be reported again in its scope.
  enum class Kind : uint8_t {
    Scalar,
    Array,
    BufferParam,
    Const,
    Table,
    Buffer,
    Fn,
    Unknown,
    // What is expanded; `index` is into lists of the parser.
    Generic,      // a function that becomes instances
    ModuleConst,  // a constant of a module
    StructType,
    Struct,
    StructArray,
    Type,    // a static parameter that stands for a type: `index` is the ir::Type
    Static,  // a static parameter that stands for a value
    Target,  // a function parameter
  };
  Kind kind = Kind::Unknown;
  uint32_t index = 0;  // into locals, consts, buffers or fns of the Program
};

struct Found {
  enum class Where : uint8_t {
    Nowhere,
    Visible,
    Hidden,  // it exists, but not for this function
    Around   // outside the lambda that names it
  };
  Where where = Where::Nowhere;
  Symbol symbol;
};

class Scopes {
 public:
  // The first declaration of a name stays; the checker reports the second. Files have their own
  // names: `unit` is the one whose names are visible.
  void declare_global(std::string_view name, Symbol symbol);
  [[nodiscard]] std::optional<Symbol> global(uint32_t unit, std::string_view name) const;
  [[nodiscard]] uint32_t unit() const { return unit_; }
  void set_unit(uint32_t unit);
  // A local declared directly in the program: known to exist, for functions that name it.
  void note_top_local(std::string_view name) { top_locals_.insert(name); }

  void push() { marks_.push_back(locals_.size()); }
  void pop();
  void declare(std::string_view name, Symbol symbol);
  // Between these two only what a function sees is visible.
  void enter_function();
  void leave_function();
  // The same for a lambda, which knows what is around it; leave_function ends it.
  void enter_lambda();

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
  [[nodiscard]] size_t function_base() const {
    return in_function() ? function_bases_.back().first : 0;
  }

  struct Globals {
    std::unordered_map<std::string_view, Symbol> symbols;
    std::vector<std::string_view> names;
  };
  std::vector<Globals> globals_ = std::vector<Globals>(1);  // by unit
  uint32_t unit_ = 0;
  std::unordered_map<std::string_view, size_t> innermost_;
  std::unordered_set<std::string_view> top_locals_;
  std::vector<Entry> locals_;
  std::vector<size_t> marks_;
  struct Base {
    size_t first = 0;              // size of locals_ at the enter_function
    std::optional<size_t> around;  // of a lambda: where what its function sees begins
  };
  std::vector<Base> function_bases_;
};

// The built-in function (if `callable`) or value that looks most like `name`, or nothing.
std::string_view nearest_builtin(std::string_view name, bool callable);

// Changes of one letter that turn `a` into `b`; gives up, with limit + 1, above `limit`.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit);

}  // namespace vyre::text
