// SPDX-License-Identifier: Apache-2.0
// Statements of the C++ builder. Each call appends one statement to the block at hand of the
// current ProgramBuilder; blocks are given as lambdas, which run at once.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <span>

#include "vyre/ir/builder_memory.hpp"

namespace vyre::build {

using Body = std::function<void()>;
using LoopBody = std::function<void(Value)>;

// ---- locals

namespace detail {
Value let(const Name& name, std::optional<ir::Type> type, const Operand& value);
Var var(const Name& name, std::optional<ir::Type> type, const Operand& value);
MemoryRef private_array(const Name& name, ir::Type type, const Operand& count,
                        std::initializer_list<Operand> values);
MemoryRef private_array(const Name& name, ir::Type type, std::initializer_list<Operand> axes);
}  // namespace detail

// let name : type = value; type and name may be left out.
inline Value let(const Operand& value) {
  return detail::let({}, {}, value);
}
inline Value let(const Name& name, const Operand& value) {
  return detail::let(name, {}, value);
}
inline Value let(const Name& name, ir::Type type, const Operand& value) {
  return detail::let(name, type, value);
}
template <class T>
Value let(const Operand& value) {
  return detail::let({}, type_of<T>, value);
}
template <class T>
Value let(const Name& name, const Operand& value) {
  return detail::let(name, type_of<T>, value);
}

inline Var var(const Operand& value) {
  return detail::var({}, {}, value);
}
inline Var var(const Name& name, const Operand& value) {
  return detail::var(name, {}, value);
}
inline Var var(const Name& name, ir::Type type, const Operand& value) {
  return detail::var(name, type, value);
}
template <class T>
Var var(const Operand& value) {
  return detail::var({}, type_of<T>, value);
}
template <class T>
Var var(const Name& name, const Operand& value) {
  return detail::var(name, type_of<T>, value);
}

// var name : T[count]; var name : T[count] = {values};
template <class T>
MemoryRef private_array(const Name& name, const Operand& count,
                        std::initializer_list<Operand> values = {}) {
  return detail::private_array(name, type_of<T>, count, values);
}
// With axes: private_array<u32>("t", {4, 4}).
template <class T>
MemoryRef private_array(const Name& name, std::initializer_list<Operand> axes) {
  return detail::private_array(name, type_of<T>, axes);
}
inline MemoryRef private_array(const Name& name, ir::Type type, const Operand& count,
                               std::initializer_list<Operand> values = {}) {
  return detail::private_array(name, type, count, values);
}

// ---- control flow

// What if_() gives, for the branches that follow at once.
class IfChain {
 public:
  IfChain else_if_(const Operand& condition, const Body& body) const;
  void else_(const Body& body, Where where = Where::current()) const;

 private:
  friend IfChain if_(const Operand& condition, const Body& body);
  IfChain(uint64_t owner, ir::StmtId outer, ir::StmtId inner, uint32_t depth)
      : owner_(owner), outer_(outer), inner_(inner), depth_(depth) {}

  uint64_t owner_;
  ir::StmtId outer_;  // the first `if` of the chain, a statement of the block at hand
  ir::StmtId inner_;  // the last one, which gets the next branch
  uint32_t depth_;    // how many `else` blocks lie between the two
};

struct ForOptions {
  Operand step = {};
  bool unroll = false;
  bool reversed = false;  // for i in rev first .. last
};

IfChain if_(const Operand& condition, const Body& body);
void for_(const Name& name, const Operand& first, const Operand& last, const LoopBody& body,
          const ForOptions& options = {});
void for_(const Operand& first, const Operand& last, const LoopBody& body,
          const ForOptions& options = {});
void while_(const Operand& condition, const Body& body);
void fixpoint_(const Operand& max_passes, std::initializer_list<MemoryRef> buffers,
               const Body& body);
void region_(const Name& name, const Body& body);
void block_(const Body& body, Where where = Where::current());
void break_(Where where = Where::current());
void continue_(Where where = Where::current());
void return_(Where where = Where::current());
void return_(const Operand& value);

// ---- barriers, copies, traps, collectives

void barrier(ir::Scope scope, Where where = Where::current());
inline void barrier_subgroup(Where where = Where::current()) {
  barrier(ir::Scope::Subgroup, where);
}
inline void barrier_workgroup(Where where = Where::current()) {
  barrier(ir::Scope::Workgroup, where);
}
inline void barrier_grid(Where where = Where::current()) {
  barrier(ir::Scope::Grid, where);
}

// Tags are 0 to 65535.
void async_copy(int tag, const MemoryRef& dst, const Operand& dst_index, const MemoryRef& src,
                const Operand& src_index, const Operand& count);
void wait(int tag, Where where = Where::current());
void trap(int tag, const Operand& value);
void resume(int tag, Where where = Where::current());

namespace detail {
void print(const Name& format, std::span<const Operand> args);
void assert_that(const Operand& condition, const Name& format, std::span<const Operand> args);
}  // namespace detail

// print("v = {}", v): a line for people, in dispatches with DispatchConfig::print.
template <std::convertible_to<Operand>... Args>
void print(const Name& format, const Args&... args) {
  const std::array<Operand, sizeof...(Args)> list = {args...};
  detail::print(format, list);
}
// assert(condition, "text {}", x): in checked mode a trap with that text. `assert` is a macro of
// C++.
template <std::convertible_to<Operand>... Args>
void assert_(const Operand& condition, const Name& format, const Args&... args) {
  const std::array<Operand, sizeof...(Args)> list = {args...};
  detail::assert_that(condition, format, list);
}

void all_reduce(const MemoryRef& memory, ir::ReduceOp op, const Operand& group = {},
                Where where = Where::current());
void broadcast(const MemoryRef& memory, const Operand& root, const Operand& group = {});
void all_gather(const MemoryRef& src, const MemoryRef& dst, const Operand& group = {},
                Where where = Where::current());
void reduce_scatter(const MemoryRef& src, const MemoryRef& dst, ir::ReduceOp op,
                    const Operand& group = {}, Where where = Where::current());
// A grid barrier, then the two buffers have exchanged their contents.
void swap_(const MemoryRef& a, const MemoryRef& b, Where where = Where::current());

}  // namespace vyre::build
