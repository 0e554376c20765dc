// SPDX-License-Identifier: Apache-2.0
// What is known of the values of locals on the way through a program, as forms (cover.hpp), and
// which lanes come along.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "check/cover.hpp"
#include "vyre/check/check.hpp"
#include "vyre/check/launch.hpp"

namespace vyre::check {

// The least and the largest value of an integer type.
cover::Wide lowest_of(ir::Type type);
cover::Wide highest_of(ir::Type type);

class LaneValues {
 public:
  // `given` by BufferId: bytes of the caller; none: not known.
  LaneValues(const CheckedProgram& checked, const Launch& launch,
             std::span<const std::span<const std::byte>> given);

  // What lanes that come along have passed; the code that opens a scope restores what was there.
  std::vector<cover::Guard> guards;

  // The buffer that a memory stands for here, if it is one.
  [[nodiscard]] ir::BufferId resolve(ir::Memory m) const {
    return m.kind == ir::Memory::Kind::Local ? memories_[m.index] : m.buffer();
  }
  // None if it is no integer, or nothing is known. May leave lanes out: those for which it is
  // something else.
  std::optional<cover::Form> value(ir::ExprId id);
  // Only lanes for which the condition is that come along. May leave out more.
  void assume(ir::ExprId condition, bool truth);

  // A local that is assigned to again has no value.
  void define(ir::LocalId local, std::optional<cover::Form> form);
  void define(const ir::Let& let);
  void define(ir::LocalId parameter, ir::BufferId memory) { memories_[parameter.index()] = memory; }

 private:
  [[nodiscard]] ir::Type type_of(ir::ExprId id) const { return *c_.expr_types[id.index()]; }
  std::optional<cover::Form> value(ir::ExprId id, ir::Type type);
  [[nodiscard]] std::optional<cover::Form> builtin(const ir::BuiltinRef& e) const;
  std::optional<cover::Form> uniform(const ir::Load& e, ir::Type type);
  std::optional<cover::Form> binary(const ir::Binary& e, ir::Type type);
  std::optional<cover::Form> cast(const ir::Cast& e);
  std::optional<cover::Form> axis_index(const ir::AxisIndex& e);
  [[nodiscard]] std::span<const uint64_t> axes_of(ir::BufferId buffer) const;
  [[nodiscard]] uint64_t axis_length(ir::BufferId buffer, uint32_t axis) const;
  std::optional<cover::Form> function(const ir::IntrinsicCall& e);
  void assume(ir::ExprId condition, bool truth, int& budget);
  void compare(const ir::Binary& e, bool truth);

  const CheckedProgram& c_;
  const ir::Program& p_;
  const Launch& launch_;
  std::span<const std::span<const std::byte>> given_;
  std::vector<std::optional<cover::Form>> values_;  // by LocalId
  std::vector<ir::ExprId> conditions_;              // by LocalId: what a `let` stands for
  std::vector<ir::BufferId> memories_;              // by LocalId: what a parameter stands for
  std::vector<bool> assigned_;                      // by LocalId: not one value
};

}  // namespace vyre::check
