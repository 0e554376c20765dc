// SPDX-License-Identifier: Apache-2.0
// Names: each is writable in the text form, none hides another that is visible, and every use
// stands where the declaration can be seen. Consts, functions and buffers are visible in the whole
// program (functions see no buffers), locals from their declaration to the end of their block.
#include <array>
#include <unordered_map>

#include <fmt/core.h>

#include "check/state.hpp"
#include "ir/properties.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::check {

using namespace ir;

namespace {

class Names {
 public:
  explicit Names(State& s)
      : s_(s), p_(s.p), visible_(p_.locals.size()), declared_(p_.locals.size()) {}

  void run() {
    name_rules(p_.name, p_.position(p_.positions.program));
    for (size_t i = 0; i < p_.consts.size(); ++i) {
      const ConstId id{static_cast<uint32_t>(i)};
      declare(p_.consts[i].name, p_.position_of(id));
    }
    for (size_t i = 0; i < p_.fns.size(); ++i) {
      const FnId id{static_cast<uint32_t>(i)};
      declare(p_.fns[i].name, p_.position_of(id));
      if (const auto op = intrinsic_from_name(p_.fns[i].name))
        hiding_[static_cast<size_t>(*op)] = id;
    }
    const size_t global_end = undo_.size();
    in_fn_ = true;
    for (size_t i = 0; i < p_.fns.size(); ++i) {
      const size_t mark = undo_.size();
      for (LocalId param : p_.params(p_.fns[i].params)) declare(param);
      block(p_.fns[i].body);
      leave(mark);
    }
    // Buffers last: functions do not see them, so a parameter may carry a buffer's name.
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      const BufferId id{static_cast<uint32_t>(i)};
      declare(p_.buffers[i].name, p_.position_of(id));
    }
    in_fn_ = false;
    block(p_.body);
    leave(global_end);
    // Constant and host expressions see no locals.
    for_each_header_expr(p_, [&](ExprId id) { expr(id); });
  }

 private:
  // The parser applies these to a text; they are for programs that come from elsewhere.
  void name_rules(const std::string& name, const Position& at) {
    if (s_.text_had_errors) return;
    if (name.size() > kMaxNameBytes) {
      s_.d.add(Code::NameTooLong, at,
               fmt::format("the name `{}…` has {} bytes", name.substr(0, 32), name.size()),
               fmt::format("use at most {} bytes", kMaxNameBytes));
    } else if (!is_identifier(name)) {
      s_.d.add(Code::InvalidName, at, fmt::format("`{}` is not a name", name),
               "use letters, digits and underscores, not starting with a digit");
    } else if (is_reserved(name)) {
      s_.d.add(Code::ReservedName, at, fmt::format("`{}` is a word of the language", name),
               fmt::format("choose another name, for example `{}_`", name));
    }
  }

  void declare(const std::string& name, const Position& at) {
    name_rules(name, at);
    const auto [it, fresh] = scope_.emplace(name, at);
    if (!fresh) {
      Diagnostic& dup =
          s_.d.add(Code::DuplicateName, at, fmt::format("`{}` is already declared", name),
                   "choose another name: no name may hide one that is visible");
      dup.notes.push_back({it->second, fmt::format("`{}` is declared here", name)});
      return;
    }
    undo_.push_back({name, {}});
  }

  void declare(LocalId id) {
    if (declared_[id.index()]) {
      s_.report(Code::DuplicateName, id,
                fmt::format("`{}` is declared by two statements", p_[id].name),
                "declare each local once");
      return;
    }
    declared_[id.index()] = true;
    const size_t before = undo_.size();
    declare(p_[id].name, p_.position_of(id));
    visible_[id.index()] = true;
    if (undo_.size() == before)
      undo_.push_back({std::string(), id});
    else
      undo_.back().local = id;
    if (p_[id].count.valid()) expr(p_[id].count);
    for (const ExprId value : p_.values(p_[id].values)) expr(value);
    for (ExprId length : p_.values(p_[id].axes)) expr(length);
  }

  void leave(size_t mark) {
    while (undo_.size() > mark) {
      if (!undo_.back().name.empty()) scope_.erase(undo_.back().name);
      if (undo_.back().local.valid()) visible_[undo_.back().local.index()] = false;
      undo_.pop_back();
    }
  }

  void use(LocalId id, Position at) {
    if (visible_[id.index()]) return;
    Diagnostic& d = s_.d.add(Code::UnknownName, std::move(at),
                             fmt::format("`{}` is used where it is not declared", p_[id].name),
                             "use a local only after its declaration and inside its block");
    d.notes.push_back(s_.note(id, "it is declared here"));
  }

  void memory(Memory m, const Position& at) {
    if (m.kind == Memory::Kind::Local) use(m.local(), at);
    if (m.kind == Memory::Kind::Buffer && in_fn_)
      s_.d.add(Code::BufferNotPassed, at,
               fmt::format("a function does not see the buffer `{}`", p_[m.buffer()].name),
               "pass it as a `buffer` parameter");
  }

  void expr(ExprId id) {
    const Expr& e = p_[id];
    const auto here = [&] { return p_.position_of(id); };
    for_each_local(e, [&](LocalId local, LocalAccess) { use(local, here()); });
    for_each_memory(p_, e, [&](const MemoryUse& x) { memory(x.memory, here()); });
    for_each_operand(p_, e, [&](ExprId child) { expr(child); });
    if (const auto* call = std::get_if<IntrinsicCall>(&e)) hidden_function(*call, here());
  }

  // In a text a function of the program is what the name means; the built-in one could not be
  // printed beside it.
  void hidden_function(const IntrinsicCall& call, const Position& at) {
    if (!is_second_edition(call.op)) return;
    const std::string_view name = name_of(call.op);
    const FnId hiding = hiding_[static_cast<size_t>(call.op)];
    if (!hiding.valid()) return;
    Diagnostic& d = s_.d.add(
        Code::DuplicateName, at,
        fmt::format("the built-in function `{}` is hidden by a function of the program", name),
        "give the function of the program another name");
    d.notes.push_back({p_.position_of(hiding), fmt::format("`{}` is declared here", name)});
  }

  void block(Block b) {
    const size_t mark = undo_.size();
    for (StmtId id : p_.items(b)) stmt(id);
    leave(mark);
  }

  void stmt(StmtId id) {
    const Stmt& st = p_[id];
    const auto here = [&] { return p_.position_of(id); };
    for_each_operand(p_, st, [&](ExprId child) { expr(child); });
    if (const auto* region = std::get_if<Region>(&st)) region_name(*region, here());
    if (const auto* loop = std::get_if<For>(&st); loop != nullptr && loop->reversed)
      word_rev(here());
    for_each_memory(p_, st, [&](const MemoryUse& x) { memory(x.memory, here()); });
    size_t mark = 0;
    bool iterates = false;
    for_each_local(st, [&](LocalId local, LocalAccess access) {
      if (access == LocalAccess::Assign) return use(local, here());
      iterates = access == LocalAccess::Iterate;
      mark = undo_.size();
      declare(local);
    });
    for_each_block(st, [&](Block b) { block(b); });
    if (iterates) leave(mark);
  }

  // A region's name may repeat and may be any identifier that is not a word of the language.
  void region_name(const Region& region, const Position& at) { name_rules(region.name, at); }

  // Where a `rev` is visible the text takes the word for that name.
  void word_rev(const Position& at) {
    const auto taken = scope_.find("rev");
    if (taken == scope_.end() || s_.text_had_errors) return;
    Diagnostic& d = s_.d.add(Code::ReservedName, at,
                             "a reversed loop stands where `rev` is the name of something else",
                             "choose another name than `rev`, for example `rev_`");
    d.notes.push_back({taken->second, "`rev` is declared here"});
  }

  struct Undo {
    std::string name;
    LocalId local;
  };
  State& s_;
  const Program& p_;
  std::unordered_map<std::string, Position> scope_;
  std::vector<Undo> undo_;
  std::vector<bool> visible_;
  std::vector<bool> declared_;
  std::array<FnId, kIntrinsicCount> hiding_;  // functions of the program with built-in names
  bool in_fn_ = false;
};

}  // namespace

void check_names(State& s) {
  Names(s).run();
}

}  // namespace vyre::check
