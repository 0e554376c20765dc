// SPDX-License-Identifier: Apache-2.0
#include "check/prints.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/properties.hpp"

namespace vyre::check {

using namespace ir;

namespace {

bool is_dropped(const Stmt& stmt, const PrintsKept& kept) {
  return (std::holds_alternative<Print>(stmt) && !kept.prints) ||
         (std::holds_alternative<Assert>(stmt) && !kept.asserts);
}

bool is_kept(const Stmt& stmt, const PrintsKept& kept) {
  return (std::holds_alternative<Print>(stmt) && kept.prints) ||
         (std::holds_alternative<Assert>(stmt) && kept.asserts);
}

template <class Visit>
void for_each_stmt_in(const Program& p, Block block, const Visit& visit) {
  for (const StmtId id : p.items(block)) {
    visit(p[id]);
    for_each_block(p[id], [&](Block inner) { for_each_stmt_in(p, inner, visit); });
  }
}

template <class Visit>
void for_each_stmt_of(const Program& p, const Visit& visit) {
  for_each_stmt_in(p, p.body, visit);
  for (const Fn& fn : p.fns) for_each_stmt_in(p, fn.body, visit);
}

// Most programs have none, also none that nothing refers to.
bool may_have_any(const Program& p) {
  return std::ranges::any_of(p.stmts, [](const Stmt& s) {
    return std::holds_alternative<Print>(s) || std::holds_alternative<Assert>(s);
  });
}

class Dropper {
 public:
  Dropper(CheckedProgram& c, const PrintsKept& kept) : c_(c), p_(c.program), kept_(kept) {}

  void run() {
    p_.body = block(p_.body);
    for (Fn& fn : p_.fns) fn.body = block(fn.body);
  }

 private:
  Block block(Block b) {
    const auto items = p_.items(b);
    const std::vector<StmtId> given(items.begin(), items.end());
    std::vector<StmtId> left;
    for (const StmtId id : given) {
      if (is_dropped(p_[id], kept_)) {
        forget(id);
        continue;
      }
      Stmt stmt = p_[id];
      replace_blocks(stmt, [&](Block inner) { return block(inner); });
      p_.stmts[id.index()] = std::move(stmt);
      left.push_back(id);
    }
    return left.size() == given.size() ? b : p_.add_block(left);
  }

  // Nothing refers to it any more; a pass that looks at all nodes must not find anything in it.
  void forget(StmtId id) {
    std::vector<ExprId> operands;
    for_each_operand(p_, p_[id], [&](ExprId e) { operands.push_back(e); });
    for (const ExprId e : operands) forget(e);
    p_.stmts[id.index()] = Nested{};
  }
  void forget(ExprId id) {
    std::vector<ExprId> operands;
    for_each_operand(p_, p_[id], [&](ExprId e) { operands.push_back(e); });
    for (const ExprId e : operands) forget(e);
    p_.exprs[id.index()] = BoolLiteral{};
    c_.expr_types[id.index()] = Type::Bool;
    c_.expr_proofs[id.index()] = -1;
  }

  CheckedProgram& c_;
  Program& p_;
  const PrintsKept& kept_;
};

}  // namespace

bool has_dropped(const CheckedProgram& checked, const PrintsKept& kept) {
  if (!may_have_any(checked.program)) return false;
  bool found = false;
  for_each_stmt_of(checked.program, [&](const Stmt& s) { found |= is_dropped(s, kept); });
  return found;
}

bool has_kept(const CheckedProgram& checked, const PrintsKept& kept) {
  if (!may_have_any(checked.program)) return false;
  bool found = false;
  for_each_stmt_of(checked.program, [&](const Stmt& s) { found |= is_kept(s, kept); });
  return found;
}

CheckedProgram without_dropped(CheckedProgram checked, const PrintsKept& kept) {
  Dropper(checked, kept).run();
  return checked;
}

std::shared_ptr<const CheckedProgram> kept_program(std::shared_ptr<const CheckedProgram> checked,
                                                   const PrintsKept& kept) {
  if (!has_dropped(*checked, kept)) return checked;
  return std::make_shared<const CheckedProgram>(without_dropped(*checked, kept));
}

uint32_t print_words(const CheckedProgram& checked, Range args) {
  uint32_t words = 0;
  for (const ExprId arg : checked.program.values(args))
    words += print_words(*checked.expr_types[arg.index()]);
  return words;
}

uint32_t print_record_words(const CheckedProgram& checked) {
  uint32_t words = 0;
  if (!may_have_any(checked.program)) return words;
  for_each_stmt_of(checked.program, [&](const Stmt& s) {
    if (const auto* print = std::get_if<Print>(&s))
      words = std::max(words, kPrintRecordHead + print_words(checked, print->args));
  });
  return words;
}

}  // namespace vyre::check
