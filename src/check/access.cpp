// SPDX-License-Identifier: Apache-2.0
// Which kinds of buffers may be read, written and updated atomically. Functions take buffers as
// parameters, so each access is judged once per call with other buffers, with the actual buffer in
// place of the parameter.
#include <map>
#include <set>

#include <fmt/core.h>

#include "base/stop.hpp"
#include "check/state.hpp"

namespace vyre::check {

using namespace ir;

namespace {

bool readable(BufferKind kind) {
  return kind != BufferKind::WriteOnly;
}
bool writable(BufferKind kind) {
  return kind != BufferKind::In && kind != BufferKind::Uniform;
}
bool atomic_kind(BufferKind kind) {
  return writable(kind) && kind != BufferKind::WriteOnly;
}

class Access {
 public:
  explicit Access(State& s) : s_(s), p_(s.p) {}

  void run() {
    block(p_.body);
    // A function without calls is checked with its parameters as they are: element types only.
    for (uint32_t i = 0; i < p_.fns.size(); ++i)
      if (!called_.contains(i)) block(p_.fns[i].body);
  }

 private:
  // The buffer behind a memory in this call; none for tables, arrays and unbound parameters.
  BufferId actual(Memory m) const {
    if (m.kind == Memory::Kind::Buffer) return m.buffer();
    if (m.kind == Memory::Kind::Table) return {};
    const auto it = bound_.find(m.index);
    return it == bound_.end() ? BufferId{} : it->second;
  }

  bool is_buffer(Memory m) const {
    return m.kind == Memory::Kind::Buffer ||
           (m.kind == Memory::Kind::Local && p_[m.local()].kind == Local::Kind::BufferParam);
  }

  template <class AnyId>
  void complain(Code code, AnyId at, Memory m, std::string message, std::string fix) {
    if (!reported_.insert({p_.loc(at).value, static_cast<uint32_t>(code)}).second &&
        p_.loc(at).valid())
      return;
    Diagnostic& d = s_.report(code, at, std::move(message), std::move(fix));
    const BufferId id = actual(m);
    if (id.valid())
      d.notes.push_back(s_.note(id, fmt::format("`{}` is declared here", p_[id].name)));
    for (auto call = calls_.rbegin(); call != calls_.rend(); ++call)
      d.notes.push_back(s_.note(*call, "in this call"));
  }

  template <class AnyId>
  void read(AnyId at, Memory m) {
    const BufferId id = actual(m);
    if (id.valid() && !readable(p_[id].kind))
      complain(Code::AccessNotAllowed, at, m,
               fmt::format("`{}` is writeonly and cannot be read", p_[id].name),
               fmt::format("declare it as `out {}`", p_[id].name));
  }

  template <class AnyId>
  void write(AnyId at, Memory m) {
    const BufferId id = actual(m);
    if (id.valid() && !writable(p_[id].kind))
      complain(Code::AccessNotAllowed, at, m,
               fmt::format("`{}` is `{}` and cannot be written", p_[id].name, name_of(p_[id].kind)),
               fmt::format("declare it as `inout {}`", p_[id].name));
  }

  void atomic(ExprId at, const Atomic& e) {
    const BufferId id = actual(e.memory);
    if (!is_buffer(e.memory)) {
      complain(
          Code::AtomicNotAllowed, at, e.memory,
          fmt::format("`{}` is not a buffer, so no other lane can see it", name_of(p_, e.memory)),
          "use plain loads and stores");
    } else if (id.valid() && !atomic_kind(p_[id].kind)) {
      complain(Code::AtomicNotAllowed, at, e.memory,
               fmt::format("`{}` is `{}` and cannot be used by atomics", p_[id].name,
                           name_of(p_[id].kind)),
               "use an inout, out, shared or persistent buffer");
    }
  }

  void uniform_load(ExprId at, const UniformLoad& e) {
    const bool grid = e.scope == Scope::Grid;
    const std::string_view what = grid ? "grid_load" : "workgroup_load";
    if (!is_buffer(e.memory)) {
      complain(Code::AccessNotAllowed, at, e.memory,
               fmt::format("`{}` reads buffers, and `{}` is none", what, name_of(p_, e.memory)),
               "read it directly");
      return;
    }
    const BufferId id = actual(e.memory);
    if (grid && id.valid() && p_[id].kind == BufferKind::Shared)
      complain(Code::AccessNotAllowed, at, e.memory,
               fmt::format("`{}` is shared: each workgroup has its own, so there is no one element "
                           "to load for the grid",
                           p_[id].name),
               "use `workgroup_load`");
    read(at, e.memory);
  }

  void expr(ExprId id) {
    const Expr& e = p_[id];
    for_each_operand(p_, e, [&](ExprId child) { expr(child); });
    if (const auto* load = std::get_if<Load>(&e))
      read(id, load->memory);
    else if (const auto* a = std::get_if<Atomic>(&e))
      atomic(id, *a);
    else if (const auto* u = std::get_if<UniformLoad>(&e))
      uniform_load(id, *u);
    else if (std::holds_alternative<Call>(e))
      pending_.push_back(id);
  }

  // Calls are walked after the expression that holds them, so that recursion stays as shallow as
  // the blocks.
  void walk_calls(size_t mark) {
    for (size_t i = mark; i < pending_.size(); ++i)
      call(pending_[i], std::get<Call>(p_[pending_[i]]));
    pending_.resize(mark);
  }

  void call(ExprId id, const Call& e) {
    called_.insert(e.fn.value);
    const Fn& fn = p_[e.fn];
    const auto params = p_.params(fn.params);
    const auto args = p_.arguments(e.args);
    std::vector<uint32_t> key = {e.fn.value};
    std::map<uint32_t, BufferId> bound;
    for (size_t i = 0; i < std::min(params.size(), args.size()); ++i) {
      const Memory* m = std::get_if<Memory>(&args[i]);
      if (m == nullptr || p_[params[i]].kind != Local::Kind::BufferParam) continue;
      bound[params[i].value] = actual(*m);
      key.push_back(actual(*m).value);
    }
    if (!seen_.insert(std::move(key)).second) return;
    std::swap(bound, bound_);
    calls_.push_back(id);
    block(fn.body);
    calls_.pop_back();
    std::swap(bound, bound_);
  }

  void block(Block b) {
    for (StmtId id : p_.items(b)) {
      poll_stop();
      const Stmt& st = p_[id];
      const size_t mark = pending_.size();
      for_each_operand(p_, st, [&](ExprId child) { expr(child); });
      walk_calls(mark);
      if (const auto* store = std::get_if<Store>(&st)) {
        write(id, store->memory);
        if (store->op) read(id, store->memory);
      } else if (const auto* fix = std::get_if<Fixpoint>(&st)) {
        fixpoint(id, *fix);
      } else if (const auto* copy = std::get_if<AsyncCopy>(&st)) {
        async(id, *copy);
      } else if (const auto* c = std::get_if<Collective>(&st)) {
        collective(id, *c);
      } else if (const auto* x = std::get_if<Swap>(&st)) {
        swap(id, *x);
      }
      for_each_block(st, [&](Block inner) { block(inner); });
    }
  }

  void fixpoint(StmtId id, const Fixpoint& st) {
    std::set<uint32_t> listed;
    for (Memory m : p_.memories(st.buffers)) {
      const BufferId buffer = actual(m);
      if (!is_buffer(m)) {
        complain(
            Code::BadFixpointList, id, m,
            fmt::format("`{}` is not a buffer, so a `fixpoint` cannot watch it", name_of(p_, m)),
            "list inout, out, writeonly or persistent buffers");
      } else if (buffer.valid() &&
                 (!writable(p_[buffer].kind) || p_[buffer].kind == BufferKind::Shared)) {
        complain(Code::BadFixpointList, id, m,
                 fmt::format("`{}` is `{}`, so a `fixpoint` cannot watch it", p_[buffer].name,
                             name_of(p_[buffer].kind)),
                 "list inout, out, writeonly or persistent buffers");
      } else if (buffer.valid() && !listed.insert(buffer.value).second) {
        complain(Code::BadFixpointList, id, m, fmt::format("`{}` is listed twice", p_[buffer].name),
                 "list each buffer once");
      }
    }
  }

  void async(StmtId id, const AsyncCopy& st) {
    for (Memory m : {st.dst, st.src})
      if (!is_buffer(m)) {
        complain(Code::BadAsyncCopy, id, m, fmt::format("`{}` is not a buffer", name_of(p_, m)),
                 "copy between buffers and shared memory");
        return;
      }
    write(id, st.dst);
    read(id, st.src);
    const BufferId dst = actual(st.dst);
    const BufferId src = actual(st.src);
    if (dst.valid() && src.valid() && p_[dst].kind == BufferKind::Shared &&
        p_[src].kind == BufferKind::Shared)
      complain(Code::BadAsyncCopy, id, st.dst,
               fmt::format("`{}` and `{}` are both shared", p_[dst].name, p_[src].name),
               "copy with a loop, or from or to a buffer that is not shared");
  }

  void collective(StmtId id, const Collective& st) {
    const auto member = [&](Memory m, bool reads, bool writes) {
      const BufferId buffer = actual(m);
      if (is_buffer(m) && !buffer.valid()) return;  // a parameter of a function without calls
      if (!is_buffer(m) || p_[buffer].kind == BufferKind::Shared ||
          (reads && !readable(p_[buffer].kind)) || (writes && !writable(p_[buffer].kind)))
        complain(Code::BadCollective, id, m,
                 fmt::format("`{}` cannot {} `{}`", name_of(st.op), writes ? "write" : "read",
                             buffer.valid() ? p_[buffer].name : name_of(p_, m)),
                 writes ? "use an inout, out or persistent buffer"
                        : "use an in, uniform, inout, out or persistent buffer");
    };
    if (st.dst.valid()) {
      member(st.src, true, false);
      member(st.dst, false, true);
      const BufferId src = actual(st.src);
      if (src.valid() && src == actual(st.dst))
        complain(Code::BadCollective, id, st.src,
                 fmt::format("`{}` is both source and destination", p_[src].name),
                 "use two buffers");
    } else {
      member(st.src, true, true);
    }
  }

  void swap(StmtId id, const Swap& st) {
    for (const Memory m : {st.a, st.b}) {
      const BufferId buffer = actual(m);
      if (!is_buffer(m)) {
        complain(Code::BadSwap, id, m,
                 fmt::format("`{}` is not a buffer, so its contents cannot be exchanged",
                             name_of(p_, m)),
                 "swap inout, out, scratch or persistent buffers");
        return;
      }
      if (!buffer.valid()) return;  // a parameter of a function without calls
      const BufferKind kind = p_[buffer].kind;
      if (!readable(kind) || !writable(kind) || kind == BufferKind::Shared) {
        complain(Code::BadSwap, id, m,
                 fmt::format("`{}` is `{}`, so its contents cannot be exchanged", p_[buffer].name,
                             name_of(kind)),
                 "swap inout, out, scratch or persistent buffers");
        return;
      }
    }
    const BufferId a = actual(st.a);
    const BufferId b = actual(st.b);
    if (a == b)
      complain(Code::BadSwap, id, st.a, fmt::format("`{}` is swapped with itself", p_[a].name),
               "swap two buffers");
    else
      s_.facts.swaps.push_back({a, b, id});
  }

  State& s_;
  const Program& p_;
  std::map<uint32_t, BufferId> bound_;  // buffer parameter (LocalId) -> buffer, in the current call
  std::set<std::vector<uint32_t>> seen_;  // function and buffers that were walked
  std::set<std::pair<uint32_t, uint32_t>> reported_;
  std::set<uint32_t> called_;
  std::vector<ExprId> calls_;    // around the current statement, outermost first
  std::vector<ExprId> pending_;  // found in the current statement, not walked yet
};

}  // namespace

void check_access(State& s) {
  Access(s).run();
}

}  // namespace vyre::check
