// SPDX-License-Identifier: Apache-2.0
#include "plan/crossings.hpp"

#include <fmt/format.h>

#include "base/match.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

// The part of a value that cannot be computed again, or nothing.
std::string obstacle(const Draft& d, const Tree& tree, ExprId value) {
  std::string why;
  for_each_expr(d.p, value, [&](ExprId e) {
    if (!why.empty()) return;
    why = match(
        d.p[e],
        [&](const LocalRef& x) {
          return tree.recomputed[x.local.index()]
                     ? std::string()
                     : fmt::format("depends on `{}`, which is saved", d.p[x.local].name);
        },
        [](const BuiltinRef& x) {
          return is_call(x.builtin) ? std::string("asks for the result of a fixpoint")
                                    : std::string();
        },
        [&](const Load& x) {
          if (x.memory.kind == Memory::Kind::Table) return std::string();
          if (x.memory.kind == Memory::Kind::Local)
            return fmt::format("reads the private array `{}`", d.p[x.memory.local()].name);
          const Buffer& b = d.p[x.memory.buffer()];
          if (b.kind == BufferKind::In || b.kind == BufferKind::Uniform) return std::string();
          return fmt::format("reads `{}`, which may have changed since", b.name);
        },
        [](const Atomic& x) { return fmt::format("is the result of {}", ir::name_of(x.op)); },
        [](const Subgroup& x) { return fmt::format("is the result of {}", ir::name_of(x.op)); },
        [](const UniformLoad&) { return std::string("was read between two barriers"); },
        [&](const Call& x) { return fmt::format("calls `{}`", d.p[x.fn].name); },
        [](const IntrinsicCall& x) {
          return x.op >= Intrinsic::Exp
                     ? fmt::format("{} costs more to compute again than to load", ir::name_of(x.op))
                     : std::string();
        },
        [](const auto&) { return std::string(); });
  });
  return why.empty() ? "costs more to compute again than to load" : why;
}

}  // namespace

std::vector<Crossing> describe_crossings(const Draft& d, const Tree& tree, const Piece& piece,
                                         const Homes& homes, bool swaps_frame,
                                         bool swaps_group_frame) {
  std::vector<Crossing> list;
  piece.live_out.for_each([&](uint32_t i) {
    if (i >= tree.recomputed.size()) return;
    const LocalId local{i};
    Crossing crossing;
    crossing.name = d.p[local].name;
    crossing.type = d.type_of(local);
    crossing.elements = d.c.array_counts[i];
    crossing.level = d.level_of(local);
    crossing.declared = d.p.position_of(local);
    if (tree.recomputed[i]) {
      crossing.how = Crossing::How::Recomputed;
      crossing.why = "a function of ids, literals and buffers that nobody writes";
      list.push_back(std::move(crossing));
      return;
    }
    bool written = piece.defined.contains(i);
    if (const auto slot = homes.slot.find(i); slot != homes.slot.end()) {
      crossing.where = fmt::format("slot {}", slot->second);
    } else if (const auto word = homes.frame.find(i); word != homes.frame.end()) {
      crossing.where = fmt::format("frame word {}", word->second);
      written = swaps_frame;
    } else {
      crossing.where = fmt::format("workgroup frame {}", homes.group_frame.at(i));
      written = swaps_group_frame;
    }
    crossing.how = written ? Crossing::How::Saved : Crossing::How::Kept;
    if (tree.words.contains(i))
      crossing.why = "the plan decides on it";
    else if (crossing.elements != 0)
      crossing.why = "a private array";
    else if (tree.values[i].valid())
      crossing.why = obstacle(d, tree, tree.values[i]);
    else
      crossing.why = "a variable";
    list.push_back(std::move(crossing));
  });
  return list;
}

}  // namespace vyre::plan
