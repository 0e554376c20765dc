// SPDX-License-Identifier: Apache-2.0
// Parts of a block of many lanes that its lanes run one after the other, as blocks of one lane.
#include <utility>

#include "codegen/llvm/body/lane_code.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// By local: whether statements, or what is in them, speak of it and it is declared before them. The
// slot of any other may hold what another scope, or another version of this one, left there.
class TakenAlong {
 public:
  TakenAlong(const Program& p, std::span<const StmtId> items) : locals(p.locals.size()), p_(p) {
    for (const StmtId id : items) look(id);
    for (const LocalId id : declared_) locals[id.index()] = false;
  }
  std::vector<bool> locals;

 private:
  void look(StmtId id) {
    if (const auto* assign = std::get_if<Assign>(&p_[id])) locals[assign->local.index()] = true;
    if (const auto* let = std::get_if<Let>(&p_[id])) declared_.push_back(let->local);
    if (const auto* loop = std::get_if<For>(&p_[id])) declared_.push_back(loop->variable);
    for_each_operand(p_, p_[id], [&](ExprId e) { look(e); });
    for_each_block(p_[id], [&](Block b) {
      for (const StmtId inner : p_.items(b)) look(inner);
    });
  }
  void look(ExprId id) {
    if (const auto* ref = std::get_if<LocalRef>(&p_[id])) locals[ref->local.index()] = true;
    for_each_operand(p_, p_[id], [&](ExprId e) { look(e); });
  }
  const Program& p_;
  std::vector<LocalId> declared_;
};

}  // namespace

// What varies between the lanes becomes a scalar for the lane whose turn it is. Elements with a
// number that is not a constant are taken from memory; i1 has no address there and is kept as i8.
void LaneCode::emit_one_by_one(std::span<const StmtId> items, llvm::Value* lanes_in) {
  const Slots slots = frame().slots;
  const std::vector<bool> taken = TakenAlong(p(), items).locals;
  const BlockShape shape = options_.shape;
  struct Place {
    size_t slot = 0;
    llvm::Type* type = nullptr;     // of the value
    llvm::Type* element = nullptr;  // in memory
    llvm::Value* memory = nullptr;
  };
  std::vector<Place> places;
  for (size_t i = 0; i < slots.size(); ++i) {
    const Slot& s = slots[i];
    const bool varies = s.variable != nullptr ? s.varying : s.value.v != nullptr && s.value.varying;
    if (!taken[i] || !varies || (s.variable == nullptr && s.value.offset != nullptr)) continue;
    Place place{.slot = i, .type = type_of(*c().local_types[i], b_.getContext())};
    place.element = place.type->isIntegerTy(1) ? b_.getInt8Ty() : place.type;
    place.memory = new_variable(vector(place.element));
    llvm::Value* const all =
        s.variable != nullptr ? b_.CreateLoad(vector(place.type), s.variable) : s.value.v;
    b_.CreateStore(b_.CreateZExtOrBitCast(all, vector(place.element)), place.memory);
    places.push_back(place);
  }

  const uint64_t trips = trips_;
  trips_ *= lanes();
  for_each_lane(lanes_in, [&](llvm::Value* lane) {
    llvm::Value* const mask = std::exchange(mask_, nullptr);
    const Divergence* const divergence = frame().d;
    std::vector<SplitLoop*> splits = std::exchange(splits_, {});
    const bool jumps = std::exchange(options_.jumps_over_accesses, true);
    Slots& mine = frame().slots;
    for (size_t i = 0; i < slots.size(); ++i) {
      const Val& v = slots[i].value;
      if (taken[i] && slots[i].variable == nullptr && v.offset != nullptr)
        mine[i].value = {b_.CreateAdd(b_.CreateAdd(env_.start(), v.offset), lane), false, nullptr};
    }
    const auto element = [&](const Place& place) {
      return b_.CreateGEP(place.element, place.memory, lane);
    };
    for (const Place& place : places) {
      llvm::Value* const v =
          b_.CreateTruncOrBitCast(b_.CreateLoad(place.element, element(place)), place.type);
      Slot& s = mine[place.slot];
      s.varying = false;
      if (s.variable == nullptr) {
        s.value = {v, false, nullptr};
        continue;
      }
      s.variable = new_variable(place.type);
      b_.CreateStore(v, s.variable);
    }
    env_.enter_lane(lane);
    if (!one_lane_) one_lane_.emplace(*frame().c, BlockShape{}, Divergence::Options{});
    frame().d = &*one_lane_;
    options_.shape = {};
    math_.set_lanes(1);

    for (const StmtId id : items) emit_stmt(id);

    math_.set_lanes(shape.lanes);
    options_.shape = shape;
    frame().d = divergence;
    env_.leave_lane();
    for (const Place& place : places) {
      const Slot& s = mine[place.slot];
      if (s.variable == nullptr) continue;
      llvm::Value* const now = b_.CreateLoad(place.type, s.variable);
      b_.CreateStore(b_.CreateZExtOrBitCast(now, place.element), element(place));
    }
    frame().slots = slots;
    options_.jumps_over_accesses = jumps;
    splits_ = std::move(splits);
    mask_ = mask;
  });
  trips_ = trips;
  for (const Place& place : places) {
    llvm::Value* const variable = slots[place.slot].variable;
    if (variable == nullptr) continue;
    llvm::Value* const all = b_.CreateLoad(vector(place.element), place.memory);
    b_.CreateStore(b_.CreateTruncOrBitCast(all, vector(place.type)), variable);
  }
}

}  // namespace vyre::codegen
