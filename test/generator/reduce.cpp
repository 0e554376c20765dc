// SPDX-License-Identifier: Apache-2.0
// Delta debugging on the tree of statements and expressions. A candidate is a changed copy of the
// program; nodes that are cut off stay behind unused until the printed text is read again.
#include "generator/reduce.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "generator/reduce_tree.hpp"
#include "vyre/check/check.hpp"
#include "vyre/text/text.hpp"

namespace vyre::generator {

using namespace ir;

namespace {

using Clock = std::chrono::steady_clock;

class Reducer {
 public:
  Reducer(const Generated& from, const std::function<bool(const Generated&)>& still_fails,
          const ReduceOptions& options)
      : best_(from), still_fails_(still_fails), end_(Clock::now() + options.most) {}

  Generated run() {
    for (bool better = true; better && !over();) {
      better = false;
      better |= remove_statements();
      better |= unwrap_statements();
      better |= remove_pair();
      better |= keep_effects();
      better |= shorten_lists();
      better |= remove_unused();
      better |= shrink_grid();
      better |= simplify_expressions();
      better |= shrink_inputs();
    }
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool over() const { return Clock::now() > end_; }

  // Keeps the candidate if it is valid and still fails.
  bool accept(Generated candidate) {
    if (over()) return false;
    check::Checked checked = check::check(candidate.program);
    if (!checked.program) return false;
    const std::vector<std::span<const std::byte>> inputs(candidate.inputs.begin(),
                                                         candidate.inputs.end());
    if (!check::resolve_launch(*checked.program, {.inputs = inputs, .grid = candidate.grid}))
      return false;
    text::Parsed parsed = text::parse(text::print(candidate.program), "reduced.vyre");
    if (parsed.diagnostics.has_errors()) return false;
    candidate.program = std::move(parsed.program);
    candidate.planted.reset();
    if (!still_fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  // ---- statements

  bool remove_statements() {
    bool better = false;
    for (size_t n = 0; n < places_of(best_.program).size() && !over(); ++n) {
      const auto place = [&] { return places_of(best_.program)[n]; };
      size_t size = best_.program.items(block_at(best_.program, place())).size();
      for (size_t chunk = size; chunk != 0; chunk /= 2) {
        for (size_t at = size; at-- > 0;) {
          if (at % chunk != 0 || n >= places_of(best_.program).size()) continue;
          Generated candidate = best_;
          Block& block = block_at(candidate.program, place());
          const auto items = candidate.program.items(block);
          size = items.size();
          if (at >= size) continue;
          std::vector<StmtId> left(items.begin(), items.end());
          const auto first = left.begin() + static_cast<ptrdiff_t>(at);
          left.erase(first, first + static_cast<ptrdiff_t>(std::min(chunk, size - at)));
          block = candidate.program.add_block(left);
          better |= accept(std::move(candidate));
        }
      }
    }
    return better;
  }

  // Statements that only stand together: all of a tag, and any two of a short list (a declaration
  // and its use).
  bool remove_pair() {
    bool better = false;
    std::vector<uint32_t> tags;
    const auto tag_of = [](const Stmt& st) -> std::optional<uint32_t> {
      if (const auto* s = std::get_if<AsyncCopy>(&st)) return s->tag;
      if (const auto* s = std::get_if<Wait>(&st)) return s->tag;
      if (const auto* s = std::get_if<Trap>(&st)) return s->tag + 0x1'0000U;
      if (const auto* s = std::get_if<Resume>(&st)) return s->tag + 0x1'0000U;
      return std::nullopt;
    };
    each_statement(best_.program, [&](StmtId id) {
      if (const auto tag = tag_of(best_.program[id])) tags.push_back(*tag);
    });
    for (const uint32_t tag : tags)
      better |= remove_where([&](const Program& p, StmtId id) { return tag_of(p[id]) == tag; });
    for (size_t n = 0; n < places_of(best_.program).size() && !over(); ++n) {
      const auto items = [&] {
        const auto all = places_of(best_.program);
        return n < all.size() ? best_.program.items(block_at(best_.program, all[n]))
                              : std::span<const StmtId>();
      };
      constexpr size_t kShort = 20;
      for (size_t j = items().size(); j-- > 1 && items().size() <= kShort;)
        for (size_t i = j; i-- > 0 && j < items().size();) {
          const StmtId first = items()[i];
          const StmtId second = items()[j];
          better |=
              remove_where([&](const Program&, StmtId id) { return id == first || id == second; });
        }
    }
    return better;
  }

  template <class Chosen>
  bool remove_where(const Chosen& chosen) {
    Generated candidate = best_;
    bool changed = false;
    for (const Place& place : places_of(best_.program)) {
      const auto items = candidate.program.items(block_at(candidate.program, place));
      std::vector<StmtId> left(items.begin(), items.end());
      std::erase_if(left, [&](StmtId id) { return chosen(candidate.program, id); });
      if (left.size() == items.size()) continue;
      changed = true;
      const Block block = candidate.program.add_block(left);
      block_at(candidate.program, place) = block;
    }
    return changed && accept(std::move(candidate));
  }

  // What may stand for a statement: the statements of one of its blocks.
  static std::vector<std::vector<StmtId>> insides(Program& p, StmtId id) {
    std::vector<std::vector<StmtId>> all;
    const Stmt st = p[id];
    for_each_block(st, [&](Block inner) {
      const auto items = p.items(inner);
      all.emplace_back(items.begin(), items.end());
    });
    if (const auto* loop = std::get_if<For>(&st)) {
      // Once, with the first value.
      p.locals[loop->variable.index()].kind = Local::Kind::Let;
      all[0].insert(all[0].begin(), p.add(Stmt(Let{loop->variable, loop->first})));
    }
    return all;
  }

  bool unwrap_statements() {
    bool better = false;
    for (size_t n = 0; n < places_of(best_.program).size() && !over(); ++n) {
      for (size_t at = 0; n < places_of(best_.program).size(); ++at) {
        const Place place = places_of(best_.program)[n];
        const auto items = best_.program.items(block_at(best_.program, place));
        if (at >= items.size()) break;
        int blocks = 0;
        for_each_block(best_.program[items[at]], [&](Block) { ++blocks; });
        for (int which = 0; which < blocks; ++which) {
          Generated candidate = best_;
          const auto old = candidate.program.items(block_at(candidate.program, place));
          std::vector<StmtId> left(old.begin(), old.end());
          auto inside = insides(candidate.program, left[at])[static_cast<size_t>(which)];
          // Only regions and meetings of the grid stand at the top; others need a region.
          if (place.kind == Place::Kind::Body && !top_level_stands(candidate.program, inside)) {
            if (std::holds_alternative<Region>(candidate.program[left[at]])) continue;
            const Block wrapped = candidate.program.add_block(inside);
            inside = {candidate.program.add(Region{"main", wrapped})};
          }
          left.erase(left.begin() + static_cast<ptrdiff_t>(at));
          left.insert(left.begin() + static_cast<ptrdiff_t>(at), inside.begin(), inside.end());
          block_at(candidate.program, place) = candidate.program.add_block(left);
          if (!accept(std::move(candidate))) continue;
          better = true;
          break;
        }
      }
    }
    return better;
  }

  // A fixpoint over fewer buffers.
  bool shorten_lists() {
    std::vector<StmtId> all;
    each_statement(best_.program, [&](StmtId id) {
      if (std::holds_alternative<Fixpoint>(best_.program[id])) all.push_back(id);
    });
    for (size_t n = 0; n < all.size(); ++n) {
      const auto listed = best_.program.memories(std::get<Fixpoint>(best_.program[all[n]]).buffers);
      for (size_t i = 0; i < listed.size() && listed.size() > 1; ++i) {
        Generated candidate = best_;
        std::vector<Memory> left(listed.begin(), listed.end());
        left.erase(left.begin() + static_cast<ptrdiff_t>(i));
        const Range range = candidate.program.add_memories(left);
        std::get<Fixpoint>(candidate.program.stmts[all[n].index()]).buffers = range;
        if (accept(std::move(candidate))) return true;
      }
    }
    return false;
  }

  // A statement becomes an atomic or a call in it.
  bool keep_effects() {
    bool better = false;
    std::vector<StmtId> all;
    each_statement(best_.program, [&](StmtId id) { all.push_back(id); });
    for (size_t n = 0; n < all.size() && !over(); ++n) {
      if (std::holds_alternative<Eval>(best_.program[all[n]])) continue;
      std::vector<ExprId> effects;
      const std::function<void(ExprId)> walk = [&](ExprId id) {
        const Expr& e = best_.program[id];
        if (std::holds_alternative<Atomic>(e) || std::holds_alternative<Call>(e))
          effects.push_back(id);
        for_each_operand(best_.program, e, walk);
      };
      for_each_operand(best_.program, best_.program[all[n]], walk);
      for (const ExprId id : effects) {
        Generated candidate = best_;
        candidate.program.stmts[all[n].index()] = Eval{id};
        if (!accept(std::move(candidate))) continue;
        better = true;
        all.clear();
        each_statement(best_.program, [&](StmtId left) { all.push_back(left); });
        break;
      }
    }
    return better;
  }

  // ---- expressions

  static bool is_literal(const Expr& e) {
    return std::holds_alternative<IntLiteral>(e) || std::holds_alternative<FloatLiteral>(e) ||
           std::holds_alternative<BoolLiteral>(e);
  }

  static std::vector<Expr> simpler(const Program& p, ExprId id, Type type,
                                   const check::CheckedProgram& checked) {
    std::vector<Expr> all;
    const Expr& e = p[id];
    const auto leaf = [&](uint64_t n) -> Expr {
      if (type == Type::Bool) return BoolLiteral{n != 0};
      if (is_float(type)) return FloatLiteral{n == 0 ? "" : "1", n == 0 ? 0 : 1, false, type};
      return IntLiteral{n, false, type};
    };
    if (std::holds_alternative<BoolLiteral>(e) || std::holds_alternative<FloatLiteral>(e))
      return all;
    if (const auto* whole = std::get_if<IntLiteral>(&e)) {
      if (whole->magnitude > 1)
        all.push_back(IntLiteral{whole->magnitude / 2, false, whole->suffix});
      if (whole->magnitude > 1) all.push_back(IntLiteral{1, false, whole->suffix});
      return all;
    }
    all.push_back(leaf(0));
    all.push_back(leaf(1));
    for_each_operand(p, e, [&](ExprId operand) {
      if (checked.expr_types[operand.index()] == type) all.push_back(p[operand]);
    });
    if (type == Type::U32 && !std::holds_alternative<BuiltinRef>(e))
      all.push_back(BuiltinRef{Builtin::Gid, 0});
    // Operands of other types, too; a cast itself has none but its own.
    if (!std::holds_alternative<Cast>(e))
      for_each_operand(p, e, [&](ExprId operand) {
        const auto from = checked.expr_types[operand.index()];
        if (from && *from != type && !is_literal(p[operand])) all.push_back(Cast{type, operand});
      });
    return all;
  }

  bool simplify_expressions() {
    bool better = false;
    check::Checked checked = check::check(best_.program);
    if (!checked.program) return false;
    std::vector<ExprId> all = live_expressions(best_.program);
    for (size_t n = 0; n < all.size() && !over(); ++n) {
      const auto type = checked.program->expr_types[all[n].index()];
      if (!type) continue;
      for (Expr& e : simpler(best_.program, all[n], *type, *checked.program)) {
        Generated candidate = best_;
        // A copy of an operand takes its place: the operand itself is then nobody's.
        candidate.program.exprs[all[n].index()] = std::move(e);
        if (!accept(std::move(candidate))) continue;
        better = true;
        checked = check::check(best_.program);
        all = live_expressions(best_.program);
        break;
      }
    }
    return better;
  }

  // ---- declarations

  bool remove_unused() {
    bool better = false;
    for (size_t i = best_.program.fns.size(); i-- > 0;) better |= drop_fn(i);
    for (size_t i = best_.program.consts.size(); i-- > 0;) better |= drop_const(i);
    for (size_t i = best_.program.buffers.size(); i-- > 0;) better |= drop_buffer(i);
    for (size_t i = best_.program.require_list.size(); i-- > 0;) {
      Generated candidate = best_;
      candidate.program.require_list.erase(candidate.program.require_list.begin() +
                                           static_cast<ptrdiff_t>(i));
      better |= accept(std::move(candidate));
    }
    for (size_t i = 0; i < best_.program.buffers.size(); ++i) {
      Generated candidate = best_;
      Buffer& b = candidate.program.buffers[i];
      b.binding = b.align = b.range_first = b.range_last = {};
      b.locality = Locality::None;
      b.coalesce_axis.reset();
      if (!(candidate.program == best_.program)) better |= accept(std::move(candidate));
    }
    return better;
  }

  // The program has been read anew, so that every node in it is alive: a mention is a use.
  bool drop_memory(Generated& candidate, Memory::Kind kind, size_t index) {
    bool used = false;
    each_memory(candidate.program, [&](Memory& m) {
      if (m.kind != kind || !m.valid()) return;
      if (m.index == index) used = true;
      if (m.index > index) --m.index;
    });
    return !used;
  }

  bool drop_buffer(size_t i) {
    Generated candidate = best_;
    Program& p = candidate.program;
    if (!drop_memory(candidate, Memory::Kind::Buffer, i)) return false;
    const Buffer& b = p.buffers[i];
    const auto given = [](const Buffer& x) {
      return x.kind == BufferKind::In || x.kind == BufferKind::Uniform ||
             x.kind == BufferKind::Persistent || (x.kind == BufferKind::InOut && !x.live_out);
    };
    if (given(b)) {
      const auto before =
          std::count_if(p.buffers.begin(), p.buffers.begin() + static_cast<ptrdiff_t>(i), given);
      candidate.inputs.erase(candidate.inputs.begin() + before);
    }
    for (Require& r : p.require_list)
      if (r.buffers_before > i) --r.buffers_before;
    p.buffers.erase(p.buffers.begin() + static_cast<ptrdiff_t>(i));
    p.positions = {};
    return accept(std::move(candidate));
  }

  bool drop_const(size_t i) {
    Generated candidate = best_;
    Program& p = candidate.program;
    if (!drop_memory(candidate, Memory::Kind::Table, i)) return false;
    for (Expr& e : p.exprs)
      if (auto* ref = std::get_if<ConstRef>(&e)) {
        if (ref->constant.index() == i) return false;
        if (ref->constant.index() > i) --ref->constant.value;
      }
    p.consts.erase(p.consts.begin() + static_cast<ptrdiff_t>(i));
    p.positions = {};
    return accept(std::move(candidate));
  }

  bool drop_fn(size_t i) {
    Generated candidate = best_;
    Program& p = candidate.program;
    for (Expr& e : p.exprs)
      if (auto* call = std::get_if<Call>(&e)) {
        if (call->fn.index() == i) return false;
        if (call->fn.index() > i) --call->fn.value;
      }
    p.fns.erase(p.fns.begin() + static_cast<ptrdiff_t>(i));
    p.positions = {};
    return accept(std::move(candidate));
  }

  // ---- the launch

  bool shrink_grid() {
    bool better = false;
    if (best_.program.over[0].valid()) {
      Generated candidate = best_;
      candidate.program.over = {};
      better |= accept(std::move(candidate));
    }
    const auto smaller = [&](uint32_t now, const auto& set) {
      for (const uint32_t next : {1U, 2U, now / 2, now - 1}) {
        if (next == 0 || next >= now) continue;
        Generated candidate = best_;
        if (!set(candidate, next)) return;
        if (accept(std::move(candidate))) {
          better = true;
          return;
        }
      }
    };
    for (size_t axis = 0; axis < 3; ++axis) {
      if (!best_.program.over[0].valid())
        smaller(best_.grid[axis], [&](Generated& g, uint32_t n) {
          g.grid[axis] = n;
          return true;
        });
      const ExprId size = best_.program.workgroup[axis];
      if (!size.valid()) continue;
      const auto* whole = std::get_if<IntLiteral>(&best_.program[size]);
      if (whole == nullptr) continue;
      smaller(static_cast<uint32_t>(whole->magnitude), [&](Generated& g, uint32_t n) {
        g.program.exprs[g.program.workgroup[axis].index()] = IntLiteral{n, false, std::nullopt};
        return true;
      });
    }
    return better;
  }

  bool shrink_inputs() {
    bool better = false;
    for (size_t i = 0; i < best_.inputs.size() && !over(); ++i) {
      if (std::ranges::any_of(best_.inputs[i], [](std::byte b) { return b != std::byte{0}; })) {
        Generated candidate = best_;
        std::ranges::fill(candidate.inputs[i], std::byte{0});
        better |= accept(std::move(candidate));
      }
      for (const size_t divisor : {size_t{0}, size_t{2}}) {
        const size_t size = divisor == 0 ? 0 : best_.inputs[i].size() / 16 * 8;
        if (size >= best_.inputs[i].size()) continue;
        Generated candidate = best_;
        candidate.inputs[i].resize(size);
        better |= accept(std::move(candidate));
      }
    }
    return better;
  }

  Generated best_;
  const std::function<bool(const Generated&)>& still_fails_;
  Clock::time_point end_;
};

}  // namespace

Generated reduce(const Generated& from, const std::function<bool(const Generated&)>& still_fails,
                 const ReduceOptions& options) {
  return Reducer(from, still_fails, options).run();
}

}  // namespace vyre::generator
