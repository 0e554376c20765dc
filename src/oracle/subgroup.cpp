// SPDX-License-Identifier: Apache-2.0
// Subgroup operations: all values of the live lanes at once.
#include <array>

#include "oracle/machine.hpp"

namespace vyre::oracle {

using namespace ir;

namespace {

constexpr uint32_t kMost = 32;

// A value of each lane of the subgroup, or none where the lane is missing or not live.
using Values = std::array<std::optional<uint64_t>, kMost>;

// As a butterfly: the partner is lane xor 1, 2, 4 and so on. A missing lane is the identity, which
// is the same as leaving it out.
std::optional<uint64_t> reduced(ScalarFn fn, Values values, uint32_t size) {
  for (uint32_t distance = 1; distance < size; distance *= 2) {
    const Values before = values;
    for (uint32_t l = 0; l < size; ++l) {
      const std::optional<uint64_t>& other = before[l ^ distance];
      if (!other) continue;
      // The lower lane is the left operand on both sides, so that all lanes agree.
      const bool low = (l & distance) == 0;
      if (!before[l])
        values[l] = other;
      else
        values[l] = low ? fn(*before[l], *other, 0) : fn(*other, *before[l], 0);
    }
  }
  return values[0];
}

// Each lane adds the value 1, 2, 4 ... lanes below it.
Values scanned(ScalarFn add, Values values, uint32_t size) {
  for (uint32_t distance = 1; distance < size; distance *= 2) {
    const Values before = values;
    for (uint32_t l = distance; l < size; ++l) {
      const std::optional<uint64_t>& other = before[l - distance];
      if (!other) continue;
      values[l] = before[l] ? add(*other, *before[l], 0) : *other;
    }
  }
  return values;
}

// The sum of nothing: -0.0 is what changes no float when added.
uint64_t empty_sum(Type type) {
  if (type == Type::F32) return uint64_t{1} << 31;
  if (type == Type::F64) return uint64_t{1} << 63;
  return 0;
}

}  // namespace

void Machine::subgroup_operation(Group& group, uint32_t subgroup, const Instr& instr) {
  const uint32_t size = options_.subgroup_size;
  const uint32_t first = subgroup * size;
  const auto op = static_cast<SubgroupOp>(instr.what);
  Values in;
  std::array<uint64_t, kMost> operand = {};
  for (uint32_t l = 0; l < size && first + l < group.lanes.size(); ++l) {
    if (group.lanes[first + l].state != LaneState::AtSubgroup) continue;
    const uint64_t* frame = frame_of(group, first + l);
    in[l] = frame[instr.a];
    operand[l] = frame[instr.b];
  }
  const auto from = [&](uint64_t lane) { return lane < size ? in[lane].value_or(0) : 0; };
  const auto reduce = [&](ScalarFn fn) { return reduced(fn, in, size).value_or(0); };
  uint64_t whole = 0;  // the operations that give all lanes the same
  Values scan;
  switch (op) {
    case SubgroupOp::Ballot:
      for (uint32_t l = 0; l < size; ++l) whole |= from(l) << l;
      break;
    case SubgroupOp::Any:
    case SubgroupOp::All:
      whole = op == SubgroupOp::All ? 1 : 0;
      for (uint32_t l = 0; l < size; ++l)
        if (in[l]) whole = op == SubgroupOp::All ? whole & *in[l] : whole | *in[l];
      break;
    case SubgroupOp::Add: whole = reduce(scalar_fn(BinaryOp::Add, instr.type)); break;
    case SubgroupOp::Mul: whole = reduce(scalar_fn(BinaryOp::Mul, instr.type)); break;
    case SubgroupOp::Min: whole = reduce(scalar_fn(Intrinsic::Min, instr.type)); break;
    case SubgroupOp::Max: whole = reduce(scalar_fn(Intrinsic::Max, instr.type)); break;
    case SubgroupOp::And: whole = reduce(scalar_fn(BinaryOp::And, instr.type)); break;
    case SubgroupOp::Or: whole = reduce(scalar_fn(BinaryOp::Or, instr.type)); break;
    case SubgroupOp::Xor: whole = reduce(scalar_fn(BinaryOp::Xor, instr.type)); break;
    case SubgroupOp::ExclusiveAdd:
    case SubgroupOp::InclusiveAdd:
      scan = scanned(scalar_fn(BinaryOp::Add, instr.type), in, size);
      break;
    case SubgroupOp::Shuffle:
    case SubgroupOp::ShuffleXor:
    case SubgroupOp::ShuffleUp:
    case SubgroupOp::ShuffleDown:
    case SubgroupOp::Broadcast: break;
  }
  for (uint32_t l = 0; l < size; ++l) {
    if (!in[l]) continue;
    uint64_t result = whole;
    switch (op) {
      case SubgroupOp::Shuffle:
      case SubgroupOp::Broadcast: result = from(operand[l]); break;
      case SubgroupOp::ShuffleXor: result = from(l ^ operand[l]); break;
      case SubgroupOp::ShuffleUp: result = operand[l] <= l ? from(l - operand[l]) : 0; break;
      case SubgroupOp::ShuffleDown: result = operand[l] < size ? from(l + operand[l]) : 0; break;
      case SubgroupOp::InclusiveAdd: result = *scan[l]; break;
      case SubgroupOp::ExclusiveAdd:
        result = l == 0 ? empty_sum(instr.type) : scan[l - 1].value_or(empty_sum(instr.type));
        break;
      default: break;
    }
    frame_of(group, first + l)[instr.dst] = result;
  }
}

}  // namespace vyre::oracle
