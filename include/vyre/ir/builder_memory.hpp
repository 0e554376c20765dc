// SPDX-License-Identifier: Apache-2.0
// Things the builder can index or assign: buffers, tables, private arrays, mutable locals.
// `b[i]` is an Element: used as a value it is a load, assigned to it is a store.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "vyre/ir/builder_value.hpp"

namespace vyre::build {

// A name as the caller writes it, with the place where it stands. An empty name requests a
// generated one.
class Name {
 public:
  Name() = default;
  Name(const char* text, Where where = Where::current()) : text_(text), where_(where) {}
  Name(std::string_view text, Where where = Where::current()) : text_(text), where_(where) {}
  Name(const std::string& text, Where where = Where::current()) : text_(text), where_(where) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] const Where& where() const { return where_; }

 private:
  std::string_view text_;
  Where where_;
};

// A mutable local, made by var().
class Var {
 public:
  Var(uint64_t owner, ir::LocalId local) : owner_(owner), local_(local) {}
  Var(const Var&) = default;

  // An assignment in the program, not of the handle. Between two Vars C++ passes no place along;
  // the statement then gets the place of the builder call before it.
  Var& operator=(const Var& other) { return assign({}, Operand(other, Where{})); }
  Var& operator=(const Operand& value) { return assign({}, value); }
  Var& operator+=(const Operand& value) { return assign(ir::BinaryOp::Add, value); }
  Var& operator-=(const Operand& value) { return assign(ir::BinaryOp::Sub, value); }
  Var& operator*=(const Operand& value) { return assign(ir::BinaryOp::Mul, value); }
  Var& operator/=(const Operand& value) { return assign(ir::BinaryOp::Div, value); }
  Var& operator%=(const Operand& value) { return assign(ir::BinaryOp::Rem, value); }
  Var& operator&=(const Operand& value) { return assign(ir::BinaryOp::And, value); }
  Var& operator|=(const Operand& value) { return assign(ir::BinaryOp::Or, value); }
  Var& operator^=(const Operand& value) { return assign(ir::BinaryOp::Xor, value); }
  Var& operator<<=(const Operand& value) { return assign(ir::BinaryOp::Shl, value); }
  Var& operator>>=(const Operand& value) { return assign(ir::BinaryOp::Shr, value); }

  [[nodiscard]] Value value() const;

 private:
  Var& assign(std::optional<ir::BinaryOp> op, const Operand& value);

  uint64_t owner_;
  ir::LocalId local_;
};

// A buffer, a constant table, a private array or a `buffer` parameter.
class MemoryRef {
 public:
  MemoryRef() = default;
  MemoryRef(uint64_t owner, ir::Memory memory) : owner_(owner), memory_(memory) {}

  Element operator[](const Operand& index) const;
  // One index for each axis: a(y, x) is `a[y, x]`.
  template <class... Rest>
    requires(sizeof...(Rest) > 0)
  Element operator()(const Operand& first, const Rest&... rest) const;
  [[nodiscard]] uint64_t owner() const { return owner_; }
  [[nodiscard]] ir::Memory memory() const { return memory_; }

 private:
  Element at(std::initializer_list<Operand> indices) const;

  uint64_t owner_ = 0;
  ir::Memory memory_;
};

// One element of a memory. The index is evaluated where the element is used.
class Element {
 public:
  Element(const MemoryRef& memory, const Operand& index) : memory_(memory), index_(index) {}
  Element(const Element&) = default;

  Element& operator=(const Element& other) { return store({}, Operand(other, other.where())); }
  Element& operator=(const Operand& value) { return store({}, value); }
  Element& operator+=(const Operand& value) { return store(ir::BinaryOp::Add, value); }
  Element& operator-=(const Operand& value) { return store(ir::BinaryOp::Sub, value); }
  Element& operator*=(const Operand& value) { return store(ir::BinaryOp::Mul, value); }
  Element& operator/=(const Operand& value) { return store(ir::BinaryOp::Div, value); }
  Element& operator%=(const Operand& value) { return store(ir::BinaryOp::Rem, value); }
  Element& operator&=(const Operand& value) { return store(ir::BinaryOp::And, value); }
  Element& operator|=(const Operand& value) { return store(ir::BinaryOp::Or, value); }
  Element& operator^=(const Operand& value) { return store(ir::BinaryOp::Xor, value); }
  Element& operator<<=(const Operand& value) { return store(ir::BinaryOp::Shl, value); }
  Element& operator>>=(const Operand& value) { return store(ir::BinaryOp::Shr, value); }

  [[nodiscard]] const MemoryRef& memory() const { return memory_; }
  [[nodiscard]] const Operand& index() const { return index_; }
  [[nodiscard]] const Where& where() const { return index_.where(); }

 private:
  Element& store(std::optional<ir::BinaryOp> op, const Operand& value);

  MemoryRef memory_;
  Operand index_;
};

inline Element MemoryRef::operator[](const Operand& index) const {
  return {*this, index};
}
template <class... Rest>
  requires(sizeof...(Rest) > 0)
Element MemoryRef::operator()(const Operand& first, const Rest&... rest) const {
  return at({first, Operand(rest)...});
}

Value len(const MemoryRef& memory, Where where = Where::current());
// The length of one axis.
Value len(const MemoryRef& memory, int axis, Where where = Where::current());

// ---- atomics

namespace detail {
Value load(const Element& element, const Where& where);
Value uniform_load(ir::Scope scope, const Element& element);
Value atomic(ir::AtomicOp op, const Element& element, const Operand& a, const Operand& b,
             ir::MemoryOrder order);
}  // namespace detail

// They give the old value, and are statements when it is not used.
#define VYRE_ATOMIC(name, op)                                                    \
  inline Value atomic_##name(const Element& element, const Operand& value,       \
                             ir::MemoryOrder order = ir::MemoryOrder::Relaxed) { \
    return detail::atomic(ir::AtomicOp::op, element, value, {}, order);          \
  }
VYRE_ATOMIC(add, Add)
VYRE_ATOMIC(sub, Sub)
VYRE_ATOMIC(min, Min)
VYRE_ATOMIC(max, Max)
VYRE_ATOMIC(and, And)
VYRE_ATOMIC(or, Or)
VYRE_ATOMIC(xor, Xor)
VYRE_ATOMIC(nand, Nand)
VYRE_ATOMIC(exchange, Exchange)
VYRE_ATOMIC(store, Store)
#undef VYRE_ATOMIC

inline Value atomic_cas(const Element& element, const Operand& expected, const Operand& value,
                        ir::MemoryOrder order = ir::MemoryOrder::Relaxed) {
  return detail::atomic(ir::AtomicOp::Cas, element, expected, value, order);
}
inline Value atomic_load(const Element& element, ir::MemoryOrder order = ir::MemoryOrder::Relaxed) {
  return detail::atomic(ir::AtomicOp::Load, element, {}, {}, order);
}

// The same value for all lanes, with the barriers this takes.
inline Value grid_load(const Element& element) {
  return detail::uniform_load(ir::Scope::Grid, element);
}
inline Value workgroup_load(const Element& element) {
  return detail::uniform_load(ir::Scope::Workgroup, element);
}

}  // namespace vyre::build
