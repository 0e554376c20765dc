// SPDX-License-Identifier: Apache-2.0
#include "plan/spill.hpp"

#include <algorithm>

#include "ir/properties.hpp"
#include "plan/mutation.hpp"

namespace vyre::plan {

using namespace ir;

Spiller::Spiller(Draft& d, const Tree& tree, const CutPoints& cuts, const PlanOptions& options,
                 const Storage& storage, const HiddenBuffers& hidden)
    : d_(d),
      tree_(tree),
      cuts_(cuts),
      options_(options),
      storage_(storage),
      h_(hidden),
      locals_(static_cast<uint32_t>(d.p.locals.size())) {}

void Spiller::begin(const RawSegment& raw) {
  raw_ = &raw;
  uses_lane_ = uses_group_ = false;
  declared_.clear();
  early_.clear();
  swaps_frame_ = writes(storage_.frame);
  swaps_group_frame_ = writes(storage_.group_frame);
}

bool Spiller::writes(const std::map<uint32_t, uint32_t>& kept) const {
  return std::ranges::any_of(kept, [&](const auto& value) {
    return raw_->live_out.contains(value.first) && raw_->defined.contains(value.first) &&
           !tree_.recomputed[value.first];
  });
}

// ---- ids

ExprId Spiller::lane() {
  uses_lane_ = true;
  if (!lane_.valid()) lane_ = d_.local(Local::Kind::Let, "lane", Type::U32, Level::Lane);
  return d_.ref(lane_);
}

ExprId Spiller::group() {
  uses_group_ = true;
  if (!group_.valid()) group_ = d_.local(Local::Kind::Let, "group", Type::U32, Level::Workgroup);
  return d_.ref(group_);
}

StmtList Spiller::ids() {
  StmtList out;
  if (uses_group_) out.push_back(d_.let(group_, group_id(d_)));
  if (uses_lane_)
    out.push_back(d_.let(lane_, cuts_.scope == Scope::Grid ? lane_id(d_) : lane_in_group(d_)));
  return out;
}

// ---- where a value is

// `k * lanes + lane`: elements of one number lie side by side.
ExprId Spiller::slot_index(LocalId k) {
  if (cuts_.scope == Scope::Workgroup)
    return d_.binary(BinaryOp::Add,
                     d_.binary(BinaryOp::Mul, d_.ref(k), d_.number(d_.lanes_per_group())), lane());
  const Type type = options_.wide_index ? Type::U64 : Type::U32;
  return d_.binary(
      BinaryOp::Add,
      d_.binary(BinaryOp::Mul, d_.cast(type, d_.ref(k)), d_.cast(type, lane_count(d_))),
      d_.cast(type, lane()));
}

Spiller::Place Spiller::word_place(LocalId local, LocalId k, uint32_t w, bool next) {
  const uint32_t words = words_of(d_.type_of(local));
  const auto with_element = [&](uint32_t first) {
    if (!k.valid()) return d_.number(first + w);
    const ExprId scaled =
        words == 1 ? d_.ref(k) : d_.binary(BinaryOp::Mul, d_.ref(k), d_.number(words));
    return d_.binary(BinaryOp::Add, scaled, d_.number(first + w));
  };
  if (const auto place = storage_.frame.find(local.value); place != storage_.frame.end())
    return {next ? h_.next_frame : h_.frame, with_element(place->second)};
  const uint32_t row = storage_.group_frame.at(local.value);
  const BufferId buffer = next ? h_.next_group_frame[row] : h_.group_frame[row];
  const uint32_t count = storage_.group_rows[row];
  if (count == 1) return {buffer, group()};
  const Type type = options_.wide_index ? Type::U64 : Type::U32;
  return {buffer,
          d_.binary(BinaryOp::Add,
                    d_.binary(BinaryOp::Mul, d_.cast(type, group()), d_.number(count, type)),
                    d_.cast(type, with_element(0)))};
}

ExprId Spiller::load_words(LocalId local, LocalId k) {
  const auto word = [&](uint32_t w) {
    const auto [buffer, index] = word_place(local, k, w, false);
    return d_.load(Memory::of(buffer), index, true);
  };
  return from_words(d_, word, d_.type_of(local));
}

// All live lanes of the scope store the same.
void Spiller::store_words(LocalId local, LocalId k, StmtList& out) {
  for (uint32_t w = 0; w < words_of(d_.type_of(local)); ++w) {
    if (w == 1 && mutated(Mutation::SaveOnlyHalfOfWide)) break;
    const ExprId value = k.valid() ? d_.load(Memory::of(local), d_.ref(k), true) : d_.ref(local);
    const auto [buffer, index] = word_place(local, k, w, true);
    out.push_back(d_.atomic(AtomicOp::Store, Memory::of(buffer), index, word_of(d_, value, w)));
  }
}

// ---- the start

void Spiller::find_mentioned() {
  inside_.clear();
  mentioned_.clear();
  mentioned_set_.clear();
  const auto memory = [&](const MemoryUse& use) {
    if (use.memory.kind == Memory::Kind::Local) mentioned_.push_back(use.memory.local());
  };
  for (const RawSegment::Item& item : raw_->items) {
    for_each_stmt(d_.p, item.stmt, [&](StmtId s) {
      for_each_local(d_.p[s], [&](LocalId local, LocalAccess access) {
        if (access == LocalAccess::Assign)
          mentioned_.push_back(local);
        else
          inside_.insert(local.value);
      });
      for_each_memory(d_.p, d_.p[s], memory);
    });
    for_each_expr_below(d_.p, item.stmt, [&](ExprId e) {
      for_each_local(d_.p[e], [&](LocalId local, LocalAccess) { mentioned_.push_back(local); });
      for_each_memory(d_.p, d_.p[e], memory);
    });
  }
  for (const LocalId local : mentioned_) mentioned_set_.insert(local.value);
}

// What lives through the segment without being touched stays where it is, unless its frame changes
// sides.
bool Spiller::needs(uint32_t i) const {
  if (mentioned_set_.contains(i)) return true;
  if (tree_.recomputed[i] || !raw_->live_out.contains(i)) return false;
  return (swaps_frame_ && storage_.frame.contains(i)) ||
         (swaps_group_frame_ && storage_.group_frame.contains(i));
}

void Spiller::restore(StmtList& out) {
  find_mentioned();
  raw_->live_in.for_each([&](uint32_t i) {
    if (i < locals_ && needs(i)) restore(LocalId{i}, out);
  });
  declare_early(out);
}

void Spiller::restore(LocalId local, StmtList& out) {
  if (!declared_.insert(local.value).second) return;
  const uint32_t i = local.value;
  const auto declare = [&](ExprId value) {
    out.push_back(d_.stmt(Let{local, value}, d_.p.loc(local), d_.level_of(local)));
  };
  if (tree_.recomputed[i]) {
    const ExprId value = d_.clone(tree_.values[i]);
    std::vector<LocalId> needed;
    for_each_expr(d_.p, value, [&](ExprId e) {
      if (const auto* r = std::get_if<LocalRef>(&d_.p[e])) needed.push_back(r->local);
    });
    for (const LocalId other : needed) restore(other, out);
    declare(value);
    return;
  }
  const bool array = d_.c.array_counts[i] != 0;
  if (array) out.push_back(d_.stmt(DeclareArray{local}, d_.p.loc(local)));
  if (const auto slot = storage_.slot.find(i); slot != storage_.slot.end()) {
    const Memory memory = Memory::of(h_.slots[slot->second]);
    if (array)
      out.push_back(over_array(d_, local, [&](LocalId k) {
        return StmtList{
            d_.store(Memory::of(local), d_.ref(k), d_.load(memory, slot_index(k), true))};
      }));
    else
      declare(d_.load(memory, lane(), true));
    return;
  }
  if (array)
    out.push_back(over_array(d_, local, [&](LocalId k) {
      return StmtList{d_.store(Memory::of(local), d_.ref(k), load_words(local, k))};
    }));
  else
    declare(load_words(local, {}));
}

void Spiller::declare_for_all(LocalId local, StmtList& out) {
  if (!declared_.insert(local.value).second) return;
  if (d_.c.array_counts[local.index()] != 0) {
    out.push_back(d_.stmt(DeclareArray{local}, d_.p.loc(local)));
    return;
  }
  d_.p.locals[local.index()].kind = Local::Kind::Var;
  out.push_back(
      d_.stmt(Let{local, d_.zero(d_.type_of(local))}, d_.p.loc(local), d_.level_of(local)));
}

// Locals that were declared before this segment and get a new value here (or stand in statements
// that are never reached), and those that are declared inside a region and saved after it.
void Spiller::declare_early(StmtList& out) {
  for (const LocalId local : mentioned_)
    if (!inside_.contains(local.value) && !d_.ambient.contains(local.value))
      declare_for_all(local, out);
  for (const RawSegment::Item& item : raw_->items) {
    LocalId local;
    if (const auto* let = std::get_if<Let>(&d_.p[item.stmt])) local = let->local;
    if (const auto* array = std::get_if<DeclareArray>(&d_.p[item.stmt])) local = array->local;
    if (!local.valid() || !raw_->live_out.contains(local.value) || tree_.recomputed[local.index()])
      continue;
    if (item.region == 0 && !cuts_.native) continue;
    early_.insert(local.value);
    declare_for_all(local, out);
  }
}

// ---- the end

void Spiller::save(const LiveSet& values, StmtList& out) {
  uint32_t dropped = 0;
  values.for_each([&](uint32_t i) {
    if (i >= locals_ || tree_.recomputed[i]) return;
    // What lives after this place and neither comes into the segment nor begins in it has no value
    // here: every lane ends before it gets here, so nothing is stored.
    if (!raw_->live_in.contains(i) && !raw_->defined.contains(i)) return;
    const LocalId local{i};
    if (const auto slot = storage_.slot.find(i); slot != storage_.slot.end()) {
      // What this segment does not change is in its slot already.
      if (raw_->defined.contains(i)) save_to_slot(local, h_.slots[slot->second], dropped, out);
      return;
    }
    if (!(storage_.frame.contains(i) ? swaps_frame_ : swaps_group_frame_)) return;
    StmtList stores;
    if (d_.c.array_counts[i] != 0)
      stores.push_back(over_array(d_, local, [&](LocalId k) {
        StmtList each;
        store_words(local, k, each);
        return each;
      }));
    else
      store_words(local, {}, stores);
    if (mutated(Mutation::FrameByFirstLane) && storage_.frame.contains(i))
      stores = {d_.when(d_.binary(BinaryOp::Eq, lane(), d_.number(0)), stores)};
    out.insert(out.end(), stores.begin(), stores.end());
  });
}

void Spiller::save_to_slot(LocalId local, BufferId slot, uint32_t& dropped, StmtList& out) {
  const Memory memory = Memory::of(slot);
  if (d_.c.array_counts[local.index()] == 0) {
    if (mutated(Mutation::DropSavedValue) && dropped++ == 0) return;
    out.push_back(d_.store(memory, lane(), d_.ref(local)));
    return;
  }
  if (mutated(Mutation::DropArray)) return;
  out.push_back(over_array(d_, local, [&](LocalId k) {
    return StmtList{d_.store(memory, slot_index(k), d_.load(Memory::of(local), d_.ref(k), true))};
  }));
}

void Spiller::carry_group_frame(StmtList& out) {
  StmtList copies;
  for (const auto& place : storage_.group_frame) {
    const uint32_t i = place.first;
    const LocalId local{i};
    const auto copy = [&](LocalId k, StmtList& list) {
      for (uint32_t w = 0; w < words_of(d_.type_of(local)); ++w) {
        const auto [from, index] = word_place(local, k, w, false);
        const auto [to, next_index] = word_place(local, k, w, true);
        list.push_back(d_.atomic(AtomicOp::Store, Memory::of(to), next_index,
                                 d_.load(Memory::of(from), index, true)));
      }
    };
    if (d_.c.array_counts[i] == 0) {
      copy({}, copies);
      continue;
    }
    copies.push_back(over_array(d_, local, [&](LocalId k) {
      StmtList each;
      copy(k, each);
      return each;
    }));
  }
  out.push_back(d_.when(d_.binary(BinaryOp::Eq, lane_in_group(d_), d_.number(0)), copies));
  out.push_back(d_.barrier(Scope::Workgroup));
}

}  // namespace vyre::plan
