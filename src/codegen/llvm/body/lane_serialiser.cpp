// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/lane_serialiser.hpp"

#include <utility>

#include "codegen/llvm/body/emitters.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// By local: whether statements, or what is in them, speak of it and it is declared before them. The
// slot of any other may hold what another scope, or another version of this one, left there.
class UsedLocals {
 public:
  UsedLocals(const Program& p, std::span<const StmtId> items) : locals(p.locals.size()), p_(p) {
    for (const StmtId id : items) visit(id);
    for (const LocalId id : declared_) locals[id.index()] = false;
  }
  std::vector<bool> locals;

 private:
  void visit(StmtId id) {
    if (const auto* assign = std::get_if<Assign>(&p_[id])) locals[assign->local.index()] = true;
    if (const auto* let = std::get_if<Let>(&p_[id])) declared_.push_back(let->local);
    if (const auto* loop = std::get_if<For>(&p_[id])) declared_.push_back(loop->variable);
    for_each_operand(p_, p_[id], [&](ExprId e) { visit(e); });
    for_each_block(p_[id], [&](Block b) {
      for (const StmtId inner : p_.items(b)) visit(inner);
    });
  }
  void visit(ExprId id) {
    if (const auto* ref = std::get_if<LocalRef>(&p_[id])) locals[ref->local.index()] = true;
    for_each_operand(p_, p_[id], [&](ExprId e) { visit(e); });
  }
  const Program& p_;
  std::vector<LocalId> declared_;
};

}  // namespace

// What varies between the lanes becomes a scalar for the lane that is run. Elements with a number
// that is not a constant are taken from memory; i1 has no address there and is kept as i8.
std::vector<LaneSerialiser::Place> LaneSerialiser::spill(const Slots& slots,
                                                         const std::vector<bool>& used) {
  std::vector<Place> places;
  for (size_t i = 0; i < slots.size(); ++i) {
    const Slot& s = slots[i];
    const bool varies = s.variable != nullptr ? s.varying : s.value.v != nullptr && s.value.varying;
    if (!used[i] || !varies || (s.variable == nullptr && s.value.offset != nullptr)) continue;
    Place place{.slot = i, .type = type_of(*x_.c().local_types[i], b_.getContext())};
    place.element = place.type->isIntegerTy(1) ? b_.getInt8Ty() : place.type;
    place.memory = x_.new_variable(x_.vector(place.element));
    llvm::Value* const all =
        s.variable != nullptr ? b_.CreateLoad(x_.vector(place.type), s.variable) : s.value.v;
    b_.CreateStore(b_.CreateZExtOrBitCast(all, x_.vector(place.element)), place.memory);
    places.push_back(place);
  }
  return places;
}

llvm::Value* LaneSerialiser::element(const Place& place, llvm::Value* lane) {
  return b_.CreateGEP(place.element, place.memory, lane);
}

void LaneSerialiser::emit_lane(std::span<const StmtId> items, const Slots& slots,
                               const std::vector<bool>& used, const std::vector<Place>& places,
                               llvm::Value* lane) {
  Slots& mine = x_.frame().slots;
  for (size_t i = 0; i < slots.size(); ++i) {
    const Val& v = slots[i].value;
    if (used[i] && slots[i].variable == nullptr && v.offset != nullptr)
      mine[i].value = {b_.CreateAdd(b_.CreateAdd(x_.rows.start(), v.offset), lane), false, nullptr};
  }
  for (const Place& place : places) {
    llvm::Value* const v =
        b_.CreateTruncOrBitCast(b_.CreateLoad(place.element, element(place, lane)), place.type);
    Slot& s = mine[place.slot];
    s.varying = false;
    if (s.variable == nullptr) {
      s.value = {v, false, nullptr};
      continue;
    }
    s.variable = x_.new_variable(place.type);
    b_.CreateStore(v, s.variable);
  }
  const BlockShape shape = std::exchange(x_.options.shape, {});
  x_.core().enter_lane(lane);
  if (!one_lane_) one_lane_.emplace(*x_.frame().c, BlockShape{}, Divergence::Options{});
  const Divergence* const divergence = std::exchange(x_.frame().d, &*one_lane_);
  math_.set_lanes(1);

  for (const StmtId id : items) e_.statements.emit_statement(id);

  math_.set_lanes(shape.lanes);
  x_.options.shape = shape;
  x_.frame().d = divergence;
  x_.core().leave_lane();
  for (const Place& place : places) {
    const Slot& s = mine[place.slot];
    if (s.variable == nullptr) continue;
    llvm::Value* const now = b_.CreateLoad(place.type, s.variable);
    b_.CreateStore(b_.CreateZExtOrBitCast(now, place.element), element(place, lane));
  }
  x_.frame().slots = slots;
}

void LaneSerialiser::emit(std::span<const StmtId> items, llvm::Value* lanes_in) {
  const Slots slots = x_.frame().slots;
  const std::vector<bool> used = UsedLocals(x_.p(), items).locals;
  const std::vector<Place> places = spill(slots, used);
  const uint64_t trip_count = x_.trip_count;
  x_.trip_count *= x_.lanes();
  e_.masks.for_each_lane(lanes_in, [&](llvm::Value* lane) {
    llvm::Value* const mask = std::exchange(x_.mask, nullptr);
    std::vector<SplitLoop*> splits = std::exchange(x_.splits, {});
    const bool jumps = std::exchange(x_.options.jumps_over_accesses, true);
    emit_lane(items, slots, used, places, lane);
    x_.options.jumps_over_accesses = jumps;
    x_.splits = std::move(splits);
    x_.mask = mask;
  });
  x_.trip_count = trip_count;
  for (const Place& place : places) {
    llvm::Value* const variable = slots[place.slot].variable;
    if (variable == nullptr) continue;
    llvm::Value* const all = b_.CreateLoad(x_.vector(place.element), place.memory);
    b_.CreateStore(b_.CreateTruncOrBitCast(all, x_.vector(place.type)), variable);
  }
}

}  // namespace vyre::codegen
