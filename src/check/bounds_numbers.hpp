// SPDX-License-Identifier: Apache-2.0
// What the facts say about expressions: intervals, linear forms, upper bounds, and what a condition
// that holds adds to the facts.
#pragma once

#include <optional>
#include <vector>

#include "check/bounds_domain.hpp"
#include "check/state.hpp"

namespace vyre::check {

class Numbers {
 public:
  explicit Numbers(const State& s);

  NumberFacts facts;

  [[nodiscard]] Interval interval(ir::ExprId id) const;
  [[nodiscard]] std::optional<Linear> linear(ir::ExprId id) const;
  [[nodiscard]] std::vector<Upper> uppers(ir::ExprId id) const;
  // The condition is known to be `truth` here.
  void assume(ir::ExprId condition, bool truth);
  // Conditions of `require`: their arithmetic is exact, the host refuses to launch if it overflows.
  void assume_on_host(ir::ExprId condition);

  // A local gets the value of an expression; for a `var` this is a new version.
  void define(ir::LocalId local, ir::ExprId value);
  void forget(ir::LocalId variable);
  void define_loop_variable(const ir::For& loop);

  // The length of one axis of a memory, of all of it if it has one; and what is known of it.
  [[nodiscard]] Linear axis_length(ir::Memory memory, uint32_t axis) const;
  [[nodiscard]] Interval axis_interval(ir::Memory memory, uint32_t axis) const;
  [[nodiscard]] uint32_t version(ir::LocalId local) const { return versions_[local.index()]; }

 private:
  void assume(ir::ExprId condition, bool truth, int& budget);
  [[nodiscard]] std::optional<ir::Type> type_of(ir::ExprId id) const {
    return s_.facts.expr_types[id.index()];
  }
  [[nodiscard]] std::optional<Wide> constant(ir::ExprId id) const;
  [[nodiscard]] Symbol symbol_of(ir::LocalId local) const;
  [[nodiscard]] Interval builtin_interval(const ir::BuiltinRef& builtin) const;
  [[nodiscard]] Interval binary_interval(const ir::Binary& e, Interval all) const;
  [[nodiscard]] Interval intrinsic_interval(const ir::IntrinsicCall& e, Interval all) const;
  [[nodiscard]] Interval memory_interval(ir::Memory memory, Interval all) const;
  void add_uppers(ir::ExprId id, Wide shift, std::vector<Upper>& out) const;
  void compare(ir::BinaryOp op, ir::ExprId a, ir::ExprId b, ir::LocId at);
  void less_or_equal(ir::ExprId a, ir::ExprId b, Wide offset, ir::LocId at);
  [[nodiscard]] bool unchanging(ir::ExprId id) const;
  // What is written as the length of an axis; nothing if nothing is.
  [[nodiscard]] ir::ExprId written_length(ir::Memory memory, uint32_t axis) const;
  // Of an element of a uniform buffer at a constant index.
  [[nodiscard]] Symbol uniform_symbol(const ir::Load& load) const;

  const State& s_;
  const ir::Program& p_;
  std::vector<uint32_t> versions_;                // by LocalId
  std::vector<std::optional<Linear>> linear_of_;  // by LocalId, for `let`
  std::vector<ir::ExprId> condition_of_;  // by LocalId, for a bool `let` of unchanging parts
  mutable bool exact_ = false;            // host arithmetic: nothing wraps
};

Interval type_interval(ir::Type type);

}  // namespace vyre::check
