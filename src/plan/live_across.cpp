// SPDX-License-Identifier: Apache-2.0
#include "plan/live_across.hpp"

#include <fmt/format.h>

#include "ir/maths.hpp"
#include "ir/properties.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

// Why a node cannot be computed again, given that its operands can, or nothing.
std::string obstacle(const Draft& d, const Tree& tree, const Expr& e) {
  if (const auto* x = std::get_if<LocalRef>(&e))
    return tree.recomputed[x->local.index()]
               ? std::string()
               : fmt::format("depends on `{}`, which is saved", d.p[x->local].name);
  switch (properties_of(e).rematerialise) {
    case Rematerialise::Always: {
      const auto* x = std::get_if<IntrinsicCall>(&e);
      return x != nullptr && is_maths(x->op)
                 ? fmt::format("{} costs more to compute again than to load", ir::name_of(x->op))
                 : std::string();
    }
    case Rematerialise::WhileMemoryUnchanged: {
      std::string why;
      for_each_memory(d.p, e, [&](const MemoryUse& use) {
        if (use.memory.kind == Memory::Kind::Local)
          why = fmt::format("reads the private array `{}`", d.p[use.memory.local()].name);
        else if (const Buffer& b = d.p[use.memory.buffer()]; !is_read_only(b.kind))
          why = fmt::format("reads `{}`, which may have changed since", b.name);
      });
      return why;
    }
    case Rematerialise::Never: break;
  }
  if (std::holds_alternative<BuiltinRef>(e)) return "asks for the result of a fixpoint";
  if (std::holds_alternative<UniformLoad>(e)) return "was read between two barriers";
  if (const auto* x = std::get_if<Atomic>(&e))
    return fmt::format("is the result of {}", ir::name_of(x->op));
  if (const auto* x = std::get_if<Subgroup>(&e))
    return fmt::format("is the result of {}", ir::name_of(x->op));
  if (const auto* x = std::get_if<Call>(&e)) return fmt::format("calls `{}`", d.p[x->fn].name);
  return "cannot be computed again";
}

// The part of a value that cannot be computed again.
std::string obstacle(const Draft& d, const Tree& tree, ExprId value) {
  std::string why;
  for_each_expr(d.p, value, [&](ExprId e) {
    if (why.empty()) why = obstacle(d, tree, d.p[e]);
  });
  return why.empty() ? "costs more to compute again than to load" : why;
}

}  // namespace

std::vector<LiveAcross> describe_live_across(const Draft& d, const Tree& tree,
                                             const RawSegment& raw, const Storage& storage,
                                             bool swaps_frame, bool swaps_group_frame) {
  std::vector<LiveAcross> list;
  raw.live_out.for_each([&](uint32_t i) {
    if (i >= tree.recomputed.size()) return;
    const LocalId local{i};
    LiveAcross live;
    live.name = d.p[local].name;
    live.type = d.type_of(local);
    live.elements = d.c.array_counts[i];
    live.level = d.level_of(local);
    live.declared = d.p.position_of(local);
    if (tree.recomputed[i]) {
      live.how = LiveAcross::How::Recomputed;
      live.why = "a function of ids, literals and buffers that nobody writes";
      list.push_back(std::move(live));
      return;
    }
    bool written = raw.defined.contains(i);
    if (const auto slot = storage.slot.find(i); slot != storage.slot.end()) {
      live.where = fmt::format("slot {}", slot->second);
    } else if (const auto word = storage.frame.find(i); word != storage.frame.end()) {
      live.where = fmt::format("frame word {}", word->second);
      written = swaps_frame;
    } else {
      live.where = fmt::format("workgroup frame {}", storage.group_frame.at(i));
      written = swaps_group_frame;
    }
    live.how = written ? LiveAcross::How::Saved : LiveAcross::How::Kept;
    if (tree.words.contains(i))
      live.why = "the plan decides on it";
    else if (live.elements != 0)
      live.why = "a private array";
    else if (tree.values[i].valid())
      live.why = obstacle(d, tree, tree.values[i]);
    else
      live.why = "a variable";
    list.push_back(std::move(live));
  });
  return list;
}

}  // namespace vyre::plan
