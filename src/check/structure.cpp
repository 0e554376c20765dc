// SPDX-License-Identifier: Apache-2.0
// Before anything walks the program: ids point at something, nodes form trees, and nothing is too
// deep for the recursion of the later passes. Parser, builder and decoder keep all of this; a
// Program made by hand may not.
#include <fmt/core.h>

#include "check/state.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::check {

using namespace ir;

namespace {

class Structure {
 public:
  explicit Structure(State& s)
      : s_(s), p_(s.p), expr_seen_(p_.exprs.size()), stmt_seen_(p_.stmts.size()) {}

  bool run() {
    for (const Const& c : p_.consts) {
      if (!in(c.values, p_.expr_lists.size())) return false;
      if (c.values.empty() || (!c.table && c.values.count != 1)) fail("a constant without a value");
    }
    for (const Buffer& b : p_.buffers)
      if (!in(b.axes, p_.expr_lists.size())) return false;
    for_each_header_expr(p_, [&](ExprId id) { expr(id); });
    for (const Local& l : p_.locals) {
      if (l.count.valid()) expr(l.count);
      for (const Range list : {l.values, l.axes}) {
        if (!in(list, p_.expr_lists.size())) return false;
        for (const ExprId value : p_.values(list)) expr(value);
      }
      if (l.rank == 0 || l.rank > kMaxAxes) fail("a buffer parameter without axes");
    }
    for (const Fn& f : p_.fns) {
      if (!in(f.params, p_.param_lists.size())) return false;
      for (LocalId id : p_.params(f.params)) local(id);
      blocks_ = 1;  // a function body counts as a block, the braces of the program do not
      block(f.body);
    }
    blocks_ = 0;
    block(p_.body);
    return ok_;
  }

 private:
  void fail(std::string what) {
    if (!ok_) return;
    ok_ = false;
    s_.d.add(Code::BuilderMisuse, p_.position(p_.positions.program),
             "the program is not well formed: " + what,
             "make programs with the parser, the builder or decode(), which keep them well formed");
  }

  bool in(Range range, size_t size) {
    const bool fits = range.first <= size && range.count <= size - range.first;
    if (!fits) fail("a list reaches past its end");
    return fits;
  }

  void local(LocalId id) {
    if (id.index() >= p_.locals.size()) fail("a local that does not exist");
  }

  void memory(Memory m) {
    switch (m.kind) {
      case Memory::Kind::Buffer:
        if (m.index >= p_.buffers.size()) fail("a buffer that does not exist");
        return;
      case Memory::Kind::Table:
        if (m.index >= p_.consts.size() || !p_.consts[m.index].table)
          fail("a table that does not exist");
        return;
      case Memory::Kind::Local:
        if (m.index >= p_.locals.size() || (p_.locals[m.index].kind != Local::Kind::Array &&
                                            p_.locals[m.index].kind != Local::Kind::BufferParam))
          fail("a private array that does not exist");
        return;
    }
  }

  void expr(ExprId id) {
    if (!ok_) return;
    if (id.index() >= p_.exprs.size()) return fail("an expression that does not exist");
    if (expr_seen_[id.index()]) return fail("an expression with two parents");
    expr_seen_[id.index()] = true;
    if (++depth_ > kMaxExprDepth) {
      ok_ = false;
      s_.report(Code::ExpressionTooDeep, id,
                fmt::format("the expression is more than {} nodes deep", kMaxExprDepth),
                "give parts of it a name with let");
      return;
    }
    const Expr& e = p_[id];
    match(
        e, [](const IntLiteral&) {}, [](const FloatLiteral&) {}, [](const BoolLiteral&) {},
        [&](const LocalRef& x) { local(x.local); },
        [&](const ConstRef& x) {
          if (x.constant.index() >= p_.consts.size()) fail("a constant that does not exist");
        },
        [](const BuiltinRef&) {}, [&](const Len& x) { memory(x.memory); },
        [&](const Load& x) { memory(x.memory); }, [](const Unary&) {}, [](const Binary&) {},
        [](const Cast&) {}, [](const Bitcast&) {}, [](const IntrinsicCall&) {},
        [&](const Atomic& x) { memory(x.memory); },
        [&](const Subgroup& x) {
          if (x.lane.valid() != (arity_of(x.op) == 2))
            fail("a subgroup operation with the wrong number of operands");
        },
        [&](const UniformLoad& x) { memory(x.memory); },
        [&](const Call& x) {
          if (x.fn.index() >= p_.fns.size()) return fail("a function that does not exist");
          if (!in(x.args, p_.args.size())) return;
          for (const Arg& arg : p_.arguments(x.args))
            if (const Memory* m = std::get_if<Memory>(&arg)) memory(*m);
        },
        [](const Poison&) {},
        [&](const AxisIndex& x) {
          memory(x.memory);
          in(x.indices, p_.expr_lists.size());
        },
        [&](const AxisLen& x) { memory(x.memory); });
    if (ok_) for_each_operand(p_, e, [&](ExprId child) { expr(child); });
    --depth_;
  }

  void block(Block b) {
    if (!ok_ || !in(b, p_.block_items.size())) return;
    // Where the parser refused a block, an empty one may be left at the limit.
    if (++blocks_ > kMaxNesting + 1 + (s_.text_had_errors ? 2 : 0)) {
      ok_ = false;
      const auto items = p_.items(b);
      s_.d.add(Code::NestingTooDeep, items.empty() ? Position{} : p_.position_of(items.front()),
               fmt::format("blocks are nested more than {} deep", kMaxNesting),
               "move inner blocks to a function");
      return;
    }
    for (StmtId id : p_.items(b)) stmt(id);
    --blocks_;
  }

  void stmt(StmtId id) {
    if (!ok_) return;
    if (id.index() >= p_.stmts.size()) return fail("a statement that does not exist");
    if (stmt_seen_[id.index()]) return fail("a statement with two parents");
    stmt_seen_[id.index()] = true;
    const Stmt& st = p_[id];
    if (const auto* x = std::get_if<Let>(&st)) local(x->local);
    if (const auto* x = std::get_if<DeclareArray>(&st)) memory(Memory::of(x->local));
    if (const auto* x = std::get_if<Assign>(&st)) local(x->local);
    if (const auto* x = std::get_if<For>(&st)) local(x->variable);
    if (const auto* x = std::get_if<Store>(&st)) memory(x->memory);
    if (const auto* x = std::get_if<AsyncCopy>(&st)) {
      memory(x->dst);
      memory(x->src);
    }
    if (const auto* x = std::get_if<Fixpoint>(&st); x && in(x->buffers, p_.memory_lists.size()))
      for (Memory m : p_.memories(x->buffers)) memory(m);
    if (const auto* x = std::get_if<Collective>(&st)) {
      memory(x->src);
      if (x->dst.valid()) memory(x->dst);
    }
    if (const auto* x = std::get_if<Swap>(&st)) {
      memory(x->a);
      memory(x->b);
    }
    if (const auto* x = std::get_if<Print>(&st); x && !in(x->args, p_.expr_lists.size())) return;
    if (const auto* x = std::get_if<Assert>(&st); x && !in(x->args, p_.expr_lists.size())) return;
    if (!ok_) return;
    for_each_operand(p_, st, [&](ExprId child) { expr(child); });
    for_each_block(st, [&](Block b) { block(b); });
  }

  State& s_;
  const Program& p_;
  std::vector<bool> expr_seen_;
  std::vector<bool> stmt_seen_;
  uint32_t depth_ = 0;
  uint32_t blocks_ = 0;
  bool ok_ = true;
};

}  // namespace

bool check_structure(State& s) {
  return Structure(s).run();
}

}  // namespace vyre::check
