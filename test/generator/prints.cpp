// SPDX-License-Identifier: Apache-2.0
// Prints between the statements of a program that exists. They show what does not depend on the
// order of lanes by itself: ids, loop variables, and elements of inputs.
#include <random>
#include <string>
#include <vector>

#include "generator/generator.hpp"
#include "ir/properties.hpp"

namespace vyre::generator {

using namespace ir;

namespace {

class PrintAdder {
 public:
  PrintAdder(Program& p, uint64_t seed) : p_(p), random_(seed) {}

  void run() {
    for (Fn& fn : p_.fns) fn.body = block(fn.body, true);
    in_body_ = true;
    p_.body = block(p_.body, false);
  }

 private:
  static constexpr uint32_t kOneIn = 5;
  static constexpr uint32_t kMostArguments = 3;

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  // `inner`: at the top level stand regions and barriers alone.
  Block block(Block b, bool inner) {
    const auto items = p_.items(b);
    const std::vector<StmtId> given(items.begin(), items.end());
    std::vector<StmtId> list;
    for (const StmtId id : given) {
      if (inner && below(kOneIn) == 0) list.push_back(print());
      Stmt stmt = p_[id];
      const auto* loop = std::get_if<For>(&stmt);
      if (loop != nullptr) variables_.push_back(loop->variable);
      replace_blocks(stmt, [&](Block child) { return block(child, true); });
      if (std::holds_alternative<For>(stmt)) variables_.pop_back();
      p_.stmts[id.index()] = std::move(stmt);
      list.push_back(id);
    }
    if (inner && below(kOneIn) == 0) list.push_back(print());
    return p_.add_block(list);
  }

  StmtId print() {
    std::string format = "p" + std::to_string(prints_++);
    std::vector<ExprId> args;
    const uint32_t count = below(kMostArguments + 1);
    for (uint32_t i = 0; i < count; ++i) {
      format += i == 0 ? ": {}" : ", {}";
      args.push_back(argument());
    }
    return p_.add(Stmt{Print{std::move(format), p_.add_values(args)}});
  }

  ExprId id(Builtin builtin) { return p_.add(Expr{BuiltinRef{builtin, 0}}); }

  ExprId argument() {
    std::vector<BufferId> inputs;
    for (uint32_t i = 0; in_body_ && i < p_.buffers.size(); ++i)
      if (is_read_only(p_.buffers[i].kind) && !p_.buffers[i].scalar) inputs.push_back(BufferId{i});
    switch (below(5)) {
      case 0: return id(Builtin::Lid);
      case 1: return id(Builtin::Wid);
      case 2:
        if (!variables_.empty())
          return p_.add(
              Expr{LocalRef{variables_[below(static_cast<uint32_t>(variables_.size()))]}});
        break;
      case 3:
        if (!inputs.empty())
          return p_.add(Expr{Load{Memory::of(inputs[below(static_cast<uint32_t>(inputs.size()))]),
                                  id(Builtin::Gid)}});
        break;
      default: break;
    }
    return id(Builtin::Gid);
  }

  Program& p_;
  std::mt19937_64 random_;
  std::vector<LocalId> variables_;  // of the loops around
  bool in_body_ = false;
  uint32_t prints_ = 0;
};

}  // namespace

void add_prints(Program& program, uint64_t seed) {
  PrintAdder(program, seed).run();
}

}  // namespace vyre::generator
