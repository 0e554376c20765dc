// SPDX-License-Identifier: Apache-2.0
// ProgramBuilder: makes a Program from C++. Declarations are its members; statements and
// expressions are free functions that act on the current builder of the thread: the one made last
// and not yet finished.
//
// Misuse never crashes. It is recorded with its source line, and finish() returns all of it. A call
// made while no builder is current is recorded for the thread, does nothing else, and the next
// finish() on the thread reports it. A builder belongs to the thread that made it. finish() does
// not check the program: that is the checker's work.
#pragma once

#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/ir/builder_statements.hpp"

namespace vyre::build {

class Core;

// ---- buffers

struct Attribute {
  enum class Kind : uint8_t { Elements, Binding, Align, Count, Range, LiveOut, Locality, Coalesce };
  Kind kind = Kind::Elements;
  Operand first, last;
  ir::Locality locality = ir::Locality::None;
  Where where;
  std::vector<Operand> axes = {};
};

// What stands between the brackets: elements(16) is `: u32[16]`, elements(h, w) is `: u32[h, w]`.
inline Attribute elements(const Operand& n) {
  return {Attribute::Kind::Elements, n, {}, {}, n.where()};
}
template <class... Rest>
  requires(sizeof...(Rest) > 0)
Attribute elements(const Operand& n, const Rest&... rest) {
  return {Attribute::Kind::Elements, {}, {}, {}, n.where(), {n, Operand(rest)...}};
}
inline Attribute binding(const Operand& n) {
  return {Attribute::Kind::Binding, n, {}, {}, n.where()};
}
inline Attribute align(const Operand& n) {
  return {Attribute::Kind::Align, n, {}, {}, n.where()};
}
// @count(n): how many elements the caller gets.
inline Attribute count(const Operand& n) {
  return {Attribute::Kind::Count, n, {}, {}, n.where()};
}
inline Attribute range(const Operand& first, const Operand& last) {
  return {Attribute::Kind::Range, first, last, {}, first.where()};
}
inline Attribute live_out(Where where = Where::current()) {
  return {Attribute::Kind::LiveOut, {}, {}, {}, where};
}
inline Attribute locality(ir::Locality hint, Where where = Where::current()) {
  return {Attribute::Kind::Locality, {}, {}, hint, where};
}
inline Attribute coalesce(int axis, Where where = Where::current()) {
  return {Attribute::Kind::Coalesce, Operand(axis, where), {}, {}, where};
}

// ---- functions

struct ParamSpec {
  Name name;
  ir::Type type = ir::Type::U32;
  bool buffer = false;
  uint8_t rank = 1;  // number of axes of a buffer
};
template <class T>
ParamSpec param(const Name& name) {
  return {name, type_of<T>, false};
}
inline ParamSpec param(const Name& name, ir::Type type) {
  return {name, type, false};
}
template <class T>
ParamSpec buffer_param(const Name& name, uint8_t rank = 1) {
  return {name, type_of<T>, true, rank};
}
inline ParamSpec buffer_param(const Name& name, ir::Type type, uint8_t rank = 1) {
  return {name, type, true, rank};
}

// The parameters inside the body of a function, by position.
class Params {
 public:
  [[nodiscard]] Value value(size_t i) const { return i < values_.size() ? values_[i] : Value(); }
  [[nodiscard]] MemoryRef buffer(size_t i) const {
    return i < buffers_.size() ? buffers_[i] : MemoryRef();
  }
  [[nodiscard]] size_t size() const { return values_.size(); }

 private:
  friend class Core;
  std::vector<Value> values_;       // Empty where the parameter is a buffer
  std::vector<MemoryRef> buffers_;  // likewise
};

// Parameter types for functions written as lambdas.
template <class T>
struct Param : Value {
  Param(const Params& params, size_t i) : Value(params.value(i)) {}
  static ParamSpec spec(const Name& name) { return param<T>(name); }
};
template <class T, uint8_t Rank = 1>
struct BufferParam : MemoryRef {
  BufferParam(const Params& params, size_t i) : MemoryRef(params.buffer(i)) {}
  static ParamSpec spec(const Name& name) { return buffer_param<T>(name, Rank); }
};

// An argument of a call: a value, or a memory for a buffer parameter.
class Argument {
 public:
  Argument(const MemoryRef& memory, Where where = Where::current())
      : value_(Value(), where), memory_(memory), is_memory_(true) {}
  Argument(const Operand& value) : value_(value) {}
  Argument(const Value& value, Where where = Where::current()) : value_(value, where) {}
  Argument(const Var& value, Where where = Where::current()) : value_(value, where) {}
  Argument(const Element& value, Where where = Where::current()) : value_(value, where) {}
  template <Number T>
  Argument(T value, Where where = Where::current()) : value_(value, where) {}

  [[nodiscard]] const Operand& value() const { return value_; }
  [[nodiscard]] const MemoryRef& memory() const { return memory_; }
  [[nodiscard]] bool is_memory() const { return is_memory_; }

 private:
  Operand value_;
  MemoryRef memory_;
  bool is_memory_ = false;
};

// A function of the program; calling it makes a call in the program.
class Function {
 public:
  Function(uint64_t owner, ir::FnId fn) : owner_(owner), fn_(fn) {}
  Value operator()(Where where = Where::current()) const { return call({}, where); }
  template <class... Rest>
  Value operator()(const Argument& first, const Rest&... rest) const {
    const Where where = first.value().where();
    return call({first, Argument(rest, where)...}, where);
  }

 private:
  [[nodiscard]] Value call(std::initializer_list<Argument> args, const Where& where) const;
  uint64_t owner_;
  ir::FnId fn_;
};

namespace detail {
template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class C, class R, class... P>
struct Signature<R (C::*)(P...) const> {
  using Params = std::tuple<std::decay_t<P>...>;
};
template <class C, class R, class... P>
struct Signature<R (C::*)(P...)> {
  using Params = std::tuple<std::decay_t<P>...>;
};
template <class T>
constexpr std::optional<ir::Type> result_type() {
  if constexpr (std::is_void_v<T>)
    return std::nullopt;
  else
    return type_of<T>;
}
}  // namespace detail

// ---- the program

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const Name& name);
  ~ProgramBuilder();
  ProgramBuilder(const ProgramBuilder&) = delete;
  ProgramBuilder& operator=(const ProgramBuilder&) = delete;

  void workgroup(const Operand& x, const Operand& y = {}, const Operand& z = {});
  void over(const Operand& x, const Operand& y = {}, const Operand& z = {});
  void require(const Operand& condition, std::string_view message);

  template <class T>
  Value constant(const Name& name, const Operand& value) {
    return constant(name, type_of<T>, value);
  }
  Value constant(const Name& name, ir::Type type, const Operand& value);
  template <class T>
  MemoryRef table(const Name& name, std::initializer_list<Operand> values) {
    return table(name, type_of<T>, values);
  }
  MemoryRef table(const Name& name, ir::Type type, std::span<const Operand> values);
  MemoryRef table(const Name& name, ir::Type type, std::initializer_list<Operand> values) {
    return table(name, type, std::span(values.begin(), values.size()));
  }

  MemoryRef buffer(ir::BufferKind kind, const Name& name, ir::Type element,
                   std::span<const Attribute> attributes);
// p.in<u32>("a", count(n)) and, with a type known only at run time, p.in("a", Type::U32, count(n)).
#define VYRE_BUFFER_KIND(function, kind_name)                                      \
  template <class T, std::same_as<Attribute>... A>                                 \
  MemoryRef function(const Name& name, const A&... attributes) {                   \
    return declare(ir::BufferKind::kind_name, name, type_of<T>, {attributes...});  \
  }                                                                                \
  template <std::same_as<Attribute>... A>                                          \
  MemoryRef function(const Name& name, ir::Type element, const A&... attributes) { \
    return declare(ir::BufferKind::kind_name, name, element, {attributes...});     \
  }
  VYRE_BUFFER_KIND(in, In)
  VYRE_BUFFER_KIND(uniform, Uniform)
  VYRE_BUFFER_KIND(inout, InOut)
  VYRE_BUFFER_KIND(out, Out)
  VYRE_BUFFER_KIND(writeonly, WriteOnly)
  VYRE_BUFFER_KIND(shared, Shared)
  VYRE_BUFFER_KIND(persistent, Persistent)
  VYRE_BUFFER_KIND(scratch, Scratch)
#undef VYRE_BUFFER_KIND

  // `uniform n : u32;`: one element, which the program uses as a value.
  template <class T>
  Value scalar(const Name& name) {
    return scalar(name, type_of<T>);
  }
  Value scalar(const Name& name, ir::Type type);

  // A function written as a lambda; the types of its parameters say what they are, `names` what
  // they are called:
  //   auto axpy = p.fn<f32>("axpy", {"a", "x", "y"}, [](Param<f32> a, Param<f32> x,
  //   BufferParam<f32> y) {
  //     return_(a * x + y[0]);
  //   });
  // The body sees only its parameters, constants and other functions.
  template <class Result = void, class F>
  Function fn(const Name& name, std::initializer_list<Name> names, const F& body) {
    using List = typename detail::Signature<F>::Params;
    return typed_fn<Result, List>(name, names, body,
                                  std::make_index_sequence<std::tuple_size_v<List>>());
  }
  template <class Result = void, class F>
  Function fn(const Name& name, const F& body) {
    return fn<Result, F>(name, {}, body);
  }
  // The same with types known only at run time.
  Function fn(const Name& name, const std::vector<ParamSpec>& params,
              std::optional<ir::Type> result, const std::function<void(const Params&)>& body);

  // The program, with loose top-level statements wrapped in `region main`, or every misuse found.
  // Once.
  Result<ir::Program> finish(Where where = Where::current());

 private:
  MemoryRef declare(ir::BufferKind kind, const Name& name, ir::Type element,
                    std::initializer_list<Attribute> list) {
    return buffer(kind, name, element, std::span(list.begin(), list.size()));
  }
  template <class Result, class List, class F, size_t... I>
  Function typed_fn(const Name& name, std::initializer_list<Name> names, const F& body,
                    std::index_sequence<I...>) {
    [[maybe_unused]] const auto name_of = [&](size_t i) {
      return i < names.size() ? names.begin()[i] : Name("", name.where());
    };
    std::vector<ParamSpec> specs = {std::tuple_element_t<I, List>::spec(name_of(I))...};
    if (names.size() > sizeof...(I)) too_many_names(name, names.size(), sizeof...(I));
    return fn(name, specs, detail::result_type<Result>(),
              [&]([[maybe_unused]] const Params& params) {
                body(std::tuple_element_t<I, List>(params, I)...);
              });
  }
  void too_many_names(const Name& function, size_t names, size_t params);

  std::unique_ptr<Core> core_;
};

}  // namespace vyre::build
