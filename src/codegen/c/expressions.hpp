// SPDX-License-Identifier: Apache-2.0
// Expressions of one lane. What has no effect becomes one expression of C; whatever has one becomes
// a statement with a temporary, in the order of evaluation of the language, because C leaves the
// order of operands open.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/c/body.hpp"

namespace vyre::codegen::c {

// A memory as arguments of the functions that access it.
struct MemoryText {
  std::string pointer;
  std::string length;
  std::string number;  // for stops; "0": the site says which memory it is
  ir::Type element = ir::Type::U32;
  bool read_only = false;
};

class Expressions {
 public:
  explicit Expressions(Body& body) : b_(body), unit_(body.unit), p_(body.unit.p()) {}

  std::string value(ir::ExprId id);
  // In this order.
  std::vector<std::string> values(std::span<const ir::ExprId> ids);
  // For its effect.
  void evaluate(ir::ExprId id);
  // A value in a temporary.
  std::string captured(ir::Type type, std::string_view text);

  [[nodiscard]] MemoryText memory(ir::Memory m) const;
  // Checked: ends the lane if there is no such element. `index` may become a temporary.
  void check_index(const MemoryText& m, std::string& index, const Site& site);
  std::string load(const MemoryText& m, std::string index, const Site& site);
  void store(const MemoryText& m, std::string index, const std::string& value, const Site& site);
  [[nodiscard]] Site site_of(ir::Memory m, ir::Type index_type, Position at) const;

  // `op` of two values of a type; for shifts the type is that of the left one.
  std::string binary(ir::BinaryOp op, ir::Type type, const std::string& a, const std::string& b);
  // What a function with a `buffer` parameter gets for it.
  [[nodiscard]] std::string memory_arguments(ir::Memory m) const;
  // The global number of the lane.
  static std::string global_lane() { return "g->first_lane + lane"; }

 private:
  [[nodiscard]] std::string literal(ir::Type type, uint64_t bits);
  [[nodiscard]] std::string builtin(const ir::BuiltinRef& e) const;
  [[nodiscard]] std::string lid(uint32_t axis) const;
  std::string unary(ir::UnaryOp op, ir::Type type, const std::string& a) const;
  std::string lazy(const ir::Binary& e);
  std::string cast(ir::Type from, ir::Type to, const std::string& a);
  std::string bitcast(ir::Type from, ir::Type to, const std::string& a);
  std::string intrinsic(const ir::IntrinsicCall& e);
  std::string axis_index(const ir::AxisIndex& e);
  std::string atomic_call(ir::ExprId id, const ir::Atomic& e);
  std::string call_text(const ir::Call& e);
  void after_call(const ir::Call& e);

  Body& b_;
  const Unit& unit_;
  const ir::Program& p_;
};

}  // namespace vyre::codegen::c
