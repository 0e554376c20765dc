// SPDX-License-Identifier: Apache-2.0
// Host expressions: over, @count and require are evaluated before the launch, from literals,
// constants, lengths and uniform values at constant indices.
#include <algorithm>

#include <fmt/core.h>

#include "check/constants.hpp"
#include "check/typer.hpp"

namespace vyre::check {

using namespace ir;

namespace {

class HostExpressions {
 public:
  explicit HostExpressions(State& s) : s_(s), p_(s.p), typer_(s) {}

  void run() {
    size_t next_require = 0;
    const auto requires_up_to = [&](size_t buffers) {
      for (; next_require < p_.require_list.size() &&
             p_.require_list[next_require].buffers_before <= buffers;
           ++next_require) {
        const Require& r = p_.require_list[next_require];
        known_ = r.buffers_before;
        typer_.require_bool(r.condition, "the condition of `require`");
        host(r.condition, "`require`", true);
      }
    };
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      requires_up_to(i);
      known_ = i;  // its own length is not known yet
      if (s_.facts.buffers[i].host_shape) shape(p_.buffers[i]);
      if (!p_.buffers[i].size.valid()) continue;
      if (typer_.require_integer(p_.buffers[i].size, "the size in @count"))
        host(p_.buffers[i].size, "`@count`", true);
    }
    requires_up_to(p_.buffers.size());
    over();
  }

 private:
  // What stands in the brackets; its type is settled.
  void shape(const Buffer& b) {
    const auto length = [&](ExprId id) {
      if (s_.facts.expr_types[id.index()])
        host(id, fmt::format("the length of `{}`", b.name), true);
    };
    if (b.count.valid()) length(b.count);
    for (const ExprId axis : p_.values(b.axes)) length(axis);
  }

  void over() {
    const size_t axes = Program::axes(p_.over);
    for (size_t i = 0; i < axes; ++i)
      if (typer_.require_integer(p_.over[i], "the size in `over`"))
        host(p_.over[i], "`over`", false);
    if (axes != 0 && axes < s_.facts.workgroup_axes)
      s_.d.add(Code::OverHeader, p_.position(p_.positions.over),
               fmt::format("`over` has {} {} for a workgroup of {}", axes,
                           axes == 1 ? "axis" : "axes", s_.facts.workgroup_axes),
               "give `over` one size for each axis of the workgroup");
  }

  void reject(ExprId id, std::string_view where, std::string_view what) {
    s_.report(Code::NotAHostExpression, id,
              fmt::format("{} is not known before the launch, so {} cannot use it", what, where),
              "use literals, constants, len, uniform buffers at constant indices, operators, min, "
              "max, select");
  }

  void host(ExprId id, std::string_view where, bool in_order) {
    const Expr& e = p_[id];
    const auto children = [&] {
      for_each_operand(p_, e, [&](ExprId child) { host(child, where, in_order); });
    };
    match(
        e, [](const IntLiteral&) {}, [](const FloatLiteral&) {}, [](const BoolLiteral&) {},
        [](const ConstRef&) {}, [](const Poison&) {},
        [&](const AxisIndex&) { reject(id, where, "an element"); },
        [&](const AxisLen& x) { axis_length(id, x, where, in_order); },
        [&](const LocalRef& x) {
          reject(id, where, fmt::format("the local `{}`", p_[x.local].name));
        },
        [&](const BuiltinRef& x) {
          reject(id, where, fmt::format("`{}`", vyre::ir::name_of(x.builtin)));
        },
        [&](const Len& x) { length(id, x, where, in_order); },
        [&](const Load& x) { load(id, x, where); }, [&](const Unary&) { children(); },
        [&](const Binary&) { children(); }, [&](const Cast&) { children(); },
        [&](const Bitcast&) { children(); },
        [&](const IntrinsicCall& x) {
          if (x.op != Intrinsic::Min && x.op != Intrinsic::Max && x.op != Intrinsic::Select)
            reject(id, where, fmt::format("`{}`", vyre::ir::name_of(x.op)));
          else
            children();
        },
        [&](const Atomic&) { reject(id, where, "an atomic operation"); },
        [&](const Subgroup&) { reject(id, where, "a subgroup operation"); },
        [&](const UniformLoad&) { reject(id, where, "a load from the device"); },
        [&](const Call&) { reject(id, where, "a function call"); });
  }

  void length(ExprId id, const Len& e, std::string_view where, bool in_order) {
    const BufferId buffer = e.memory.buffer();
    if (!buffer.valid() || !in_order || buffer.index() < known_) return;
    const check::BufferFacts& facts = s_.facts.buffers[buffer.index()];
    if (facts.host_shape && !facts.input_slot) return too_early(id, buffer, where);
    if (p_[buffer].size.valid())
      s_.report(Code::CountUsedTooEarly, id,
                fmt::format(
                    "the length of `{}` comes from a @count that is evaluated later than this {}",
                    p_[buffer].name, where),
                fmt::format("move it after the declaration of `{}`, or use what its @count uses",
                            p_[buffer].name))
          .notes.push_back(s_.note(buffer, fmt::format("`{}` is declared here", p_[buffer].name)));
  }

  void axis_length(ExprId id, const AxisLen& e, std::string_view where, bool in_order) {
    const BufferId buffer = e.memory.buffer();
    if (buffer.valid() && in_order && buffer.index() >= known_) too_early(id, buffer, where);
  }

  void too_early(ExprId id, BufferId buffer, std::string_view where) {
    s_.report(Code::CountUsedTooEarly, id,
              fmt::format("the length of `{}` is evaluated later than {}", p_[buffer].name, where),
              fmt::format("move it after the declaration of `{}`, or use what its length uses",
                          p_[buffer].name))
        .notes.push_back(s_.note(buffer, fmt::format("`{}` is declared here", p_[buffer].name)));
  }

  void load(ExprId id, const Load& e, std::string_view where) {
    const BufferId buffer = e.memory.buffer();
    const bool table = e.memory.kind == Memory::Kind::Table;
    if (!table && (!buffer.valid() || p_[buffer].kind != BufferKind::Uniform)) {
      reject(id, where, fmt::format("an element of `{}`", name_of(p_, e.memory)));
      return;
    }
    if (s_.facts.expr_types[e.index.index()] && !evaluate(p_, s_.facts, e.index))
      s_.report(Code::NotAHostExpression, e.index,
                fmt::format("the index of `{}` is not constant", name_of(p_, e.memory)),
                "use a constant index");
  }

  State& s_;
  const Program& p_;
  Typer typer_;
  size_t known_ = 0;  // buffers whose @count has been evaluated at this point
};

}  // namespace

void check_host_expressions(State& s) {
  HostExpressions(s).run();
}

}  // namespace vyre::check
