// SPDX-License-Identifier: Apache-2.0
#include "codegen/c/facts.hpp"

#include <algorithm>

#include "ir/properties.hpp"

namespace vyre::codegen::c {

using namespace ir;

Facts::Facts(const check::CheckedProgram& checked, bool accesses_end)
    : c_(checked),
      p_(checked.program),
      accesses_end_(accesses_end),
      exprs_(p_.exprs.size()),
      fns_(p_.fns.size()),
      fn_weights_(p_.fns.size()),
      called_(p_.fns.size()),
      tables_(p_.consts.size()) {
  collect(p_.body);
}

// Of the node itself, its operands aside.
uint8_t Facts::own(const Expr& e) {
  const ExprProperties row = properties_of(e);
  uint8_t bits = 0;
  if (const auto* call = std::get_if<Call>(&e)) {
    bits = collect(call->fn);
  } else {
    if (row.synchronises) bits |= kSynchronises | kEffect;
    if (row.has_effect) bits |= kEffect;
    if (row.may_trap && accesses_end_) bits |= kEffect | kEnds;
  }
  for_each_memory(p_, e, [&](const MemoryUse& use) {
    if (const ConstId table = use.memory.table(); table.valid()) tables_[table.index()] = true;
    if (reads(use.access)) bits |= kReads;
  });
  return bits;
}

uint8_t Facts::collect(ExprId id) {
  uint8_t bits = own(p_[id]);
  for_each_operand(p_, p_[id], [&](ExprId operand) { bits |= collect(operand); });
  exprs_[id.index()] = bits;
  return bits;
}

uint8_t Facts::collect(FnId id) {
  if ((fns_[id.index()] & kKnown) == 0) {
    called_[id.index()] = true;
    fns_[id.index()] = kKnown | collect(p_[id].body);
  }
  return fns_[id.index()] & static_cast<uint8_t>(~kKnown);
}

uint8_t Facts::collect(Block block) {
  uint8_t bits = 0;
  for (const StmtId id : p_.items(block)) {
    const Stmt& s = p_[id];
    const StmtProperties row = properties_of(s);
    if (row.synchronises) bits |= kSynchronises | kEffect;
    // Loops may be given up, which ends the lane as well.
    if (row.is_loop) bits |= kEffect | kEnds;
    if (row.exit == Exit::Trap || (row.may_trap && accesses_end_)) bits |= kEffect | kEnds;
    for_each_memory(p_, s, [&](const MemoryUse& use) {
      if (writes(use.access)) bits |= kEffect;
      if (reads(use.access)) bits |= kReads;
    });
    for_each_operand(p_, s, [&](ExprId operand) { bits |= collect(operand); });
    for_each_block(s, [&](Block inner) { bits |= collect(inner); });
  }
  return bits;
}

// A `break` or `continue` of the loop around the statement.
bool Facts::jumps(StmtId id) const {
  const Stmt& s = p_[id];
  const StmtProperties row = properties_of(s);
  if (row.exit == Exit::Break || row.exit == Exit::Continue) return true;
  if (row.is_loop) return false;
  bool found = false;
  for_each_block(s, [&](Block b) {
    found = found || std::ranges::any_of(p_.items(b), [&](StmtId i) { return jumps(i); });
  });
  return found;
}

namespace {

constexpr uint32_t kMostWeight = 1U << 14;  // that of asking at once

}  // namespace

uint32_t Facts::weight(ExprId id) const {
  uint32_t sum = 0;
  if (const auto* call = std::get_if<Call>(&p_[id])) {
    uint32_t& known = fn_weights_[call->fn.index()];
    if (known == 0) known = std::max(1U, weight(p_[call->fn].body));
    sum = known;
  }
  for_each_operand(p_, p_[id], [&](ExprId operand) { sum += weight(operand); });
  return std::min(sum, kMostWeight);
}

uint32_t Facts::weight(Block block) const {
  uint32_t sum = 0;
  for (const StmtId id : p_.items(block)) {
    ++sum;
    for_each_operand(p_, p_[id], [&](ExprId e) { sum += weight(e); });
    for_each_block(p_[id], [&](Block inner) { sum += weight(inner); });
    sum = std::min(sum, kMostWeight);
  }
  return sum;
}

bool Facts::is_straight(Block block) const {
  bool straight = true;
  for (const StmtId id : p_.items(block)) {
    straight = straight && !properties_of(p_[id]).is_loop;
    for_each_operand(p_, p_[id], [&](ExprId e) { straight = straight && weight(e) == 0; });
    for_each_block(p_[id], [&](Block inner) { straight = straight && is_straight(inner); });
  }
  return straight;
}

bool Facts::synchronises(StmtId id, bool in_loop) const {
  const Stmt& s = p_[id];
  if (properties_of(s).synchronises || (in_loop && jumps(id))) return true;
  bool found = false;
  for_each_operand(p_, s, [&](ExprId e) { found = found || synchronises(e); });
  for_each_block(s, [&](Block b) {
    found =
        found || std::ranges::any_of(p_.items(b), [&](StmtId i) { return synchronises(i, false); });
  });
  return found;
}

}  // namespace vyre::codegen::c
