// SPDX-License-Identifier: Apache-2.0
// Constants, the workgroup header, buffers with their attributes, and the slots that callers see.
#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "check/constants.hpp"
#include "check/typer.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::check {

using namespace ir;

namespace {

class Declarations {
 public:
  explicit Declarations(State& s) : s_(s), p_(s.p), typer_(s) {}

  void run() {
    storage_types();
    constants();
    workgroup();
    s_.facts.buffers.resize(p_.buffers.size());
    for (size_t i = 0; i < p_.buffers.size(); ++i) buffer(BufferId{static_cast<uint32_t>(i)});
    bindings();
    slots();
    if (const auto items = p_.items(p_.body); !top_level_stands(p_, items))
      s_.d.add(
          Code::RegionRule, p_.position(p_.positions.program),
          fmt::format("the top level of `{}` is not a top-level Region-wrapped Program", p_.name),
          "wrap loose top-level statements in one `region main { … }`");
  }

 private:
  // Texts never get this far with a storage type outside a buffer; other programs may.
  void storage_types() {
    const auto value_type = [&](auto at, Type type, const std::string& name) {
      if (is_storage(type))
        s_.report(
            Code::StorageTypeAsValue, at,
            fmt::format("`{}` is {}, which exists in buffers only", name, vyre::ir::name_of(type)),
            fmt::format("use {}", vyre::ir::name_of(widened(type))));
    };
    for (uint32_t i = 0; i < p_.consts.size(); ++i)
      value_type(ConstId{i}, p_.consts[i].type, p_.consts[i].name);
    for (uint32_t i = 0; i < p_.fns.size(); ++i)
      if (p_.fns[i].result) value_type(FnId{i}, *p_.fns[i].result, p_.fns[i].name);
    for (uint32_t i = 0; i < p_.locals.size(); ++i)
      if (p_.locals[i].type && p_.locals[i].kind != Local::Kind::BufferParam)
        value_type(LocalId{i}, *p_.locals[i].type, p_.locals[i].name);
  }

  // Constants may use each other in any order, so they are settled once all that they use are.
  void constants() {
    const size_t count = p_.consts.size();
    s_.facts.constants.resize(count);
    std::vector<std::vector<uint32_t>> users(count);
    std::vector<uint32_t> waiting(count);
    for (uint32_t i = 0; i < count; ++i)
      for (ExprId value : p_.values(p_.consts[i].values))
        each_constant_used(value, [&](uint32_t used) {
          users[used].push_back(i);
          ++waiting[i];
        });
    std::vector<uint32_t> ready;
    for (uint32_t i = 0; i < count; ++i)
      if (waiting[i] == 0) ready.push_back(i);
    for (size_t next = 0; next < ready.size(); ++next) {
      settle(ConstId{ready[next]});
      for (uint32_t user : users[ready[next]])
        if (--waiting[user] == 0) ready.push_back(user);
    }
    if (ready.size() == count) return;
    const uint32_t stuck = static_cast<uint32_t>(
        std::find_if(waiting.begin(), waiting.end(), [](uint32_t n) { return n != 0; }) -
        waiting.begin());
    s_.report(Code::NotConstant, ConstId{stuck},
              fmt::format("the constant `{}` depends on itself", p_.consts[stuck].name),
              "break the circle: give one of the constants a value of its own");
  }

  template <class Visit>
  void each_constant_used(ExprId id, const Visit& visit) {
    const Expr& e = p_[id];
    if (const auto* ref = std::get_if<ConstRef>(&e)) visit(ref->constant.value);
    if (const auto* load = std::get_if<Load>(&e);
        load != nullptr && load->memory.kind == Memory::Kind::Table)
      visit(load->memory.index);
    for_each_operand(p_, e, [&](ExprId child) { each_constant_used(child, visit); });
  }

  void settle(ConstId id) {
    const Const& c = p_[id];
    auto& values = s_.facts.constants[id.index()];
    values.reserve(c.values.count);
    for (ExprId value : p_.values(c.values)) {
      typer_.require(value, c.type, quoted(c.name));
      const auto known = constant(value, quoted(c.name));
      values.push_back(known && known->type == c.type ? *known : Constant{c.type, 0});
    }
  }

  // The value, or a report that it is not constant; none without a report if its type is already
  // wrong.
  std::optional<Constant> constant(ExprId id, const std::string& what) {
    if (!s_.facts.expr_types[id.index()]) return std::nullopt;
    auto value = evaluate(p_, s_.facts, id);
    if (!value && !blocked_by_error(id))
      s_.report(Code::NotConstant, id, fmt::format("the value of {} is not constant", what),
                "use literals, constants, operators and exactly defined functions only");
    return value;
  }

  // True if some part has no type or no value because of a mistake: that was reported.
  bool blocked_by_error(ExprId id) {
    if (!s_.facts.expr_types[id.index()]) return true;
    if (const auto* ref = std::get_if<ConstRef>(&p_[id]))
      return s_.facts.constants[ref->constant.index()].empty();
    if (std::holds_alternative<IntLiteral>(p_[id]) || std::holds_alternative<FloatLiteral>(p_[id]))
      return !literal_in_type(p_[id], *s_.facts.expr_types[id.index()]);
    bool blocked = false;
    for_each_operand(p_, p_[id],
                     [&](ExprId child) { blocked = blocked || blocked_by_error(child); });
    return blocked;
  }

  // A whole number that is not negative; reports otherwise.
  std::optional<uint64_t> whole(ExprId id, const std::string& what, Code code, std::string fix) {
    if (!typer_.require_integer(id, what)) return std::nullopt;
    const auto value = constant(id, what);
    if (!value) return std::nullopt;
    if (is_signed(value->type) && as_signed(*value) < 0) {
      s_.report(code, id, fmt::format("{} is {}", what, as_signed(*value)), std::move(fix));
      return std::nullopt;
    }
    return value->bits;
  }

  void workgroup() {
    const size_t axes = Program::axes(p_.workgroup);
    s_.facts.workgroup_axes = static_cast<uint32_t>(std::max<size_t>(axes, 1));
    uint64_t lanes = 1;
    for (size_t i = 0; i < axes; ++i) {
      const auto size = whole(p_.workgroup[i], "the workgroup size", Code::WorkgroupHeader,
                              "use at least 1 on each axis");
      if (!size) continue;
      lanes = *size > UINT32_MAX ? UINT64_MAX : lanes * *size;
      if (*size == 0 || lanes > UINT32_MAX) {
        s_.report(Code::WorkgroupHeader, p_.workgroup[i],
                  *size == 0 ? std::string("the workgroup size is 0 on an axis")
                             : fmt::format("a workgroup of more than {} lanes", UINT32_MAX),
                  "use at least 1 on each axis, and no more lanes than a device has (often 1024)");
        return;
      }
      s_.facts.workgroup[i] = static_cast<uint32_t>(*size);
    }
    // The parser says so for a text; this is for programs that come from elsewhere.
    if (axes == 0 && !s_.text_had_errors)
      s_.d.add(Code::WorkgroupHeader, p_.position(p_.positions.program),
               fmt::format("`{}` has no workgroup size", p_.name), "add `workgroup 256;`");
  }

  void misplaced(BufferId id, std::string_view attribute, std::string_view why, std::string fix) {
    s_.report(Code::BadAttribute, id, fmt::format("`@{}` on `{}`: {}", attribute, p_[id].name, why),
              std::move(fix));
  }

  void buffer(BufferId id) {
    const Buffer& b = p_[id];
    BufferFacts& facts = s_.facts.buffers[id.index()];
    const bool output = b.kind == BufferKind::Out || b.kind == BufferKind::WriteOnly ||
                        b.kind == BufferKind::Scratch || b.live_out;
    const bool counted = b.count.valid() || !b.axes.empty();
    facts.role = role_of(b);
    count(id);
    if (b.live_out && b.kind != BufferKind::InOut)
      misplaced(id, "live_out", "only an inout can be returned without being given",
                "declare it as inout, or remove @live_out");
    if (b.size.valid() && !output)
      misplaced(id, "count", "the caller gives this buffer and so its size", "remove @count");
    else if (b.size.valid() && counted)
      misplaced(id, "count", "it already has a constant count",
                "keep either the count in brackets or @count");
    else if (output && !b.size.valid() && !counted)
      s_.report(Code::OutputSizeUnknown, id,
                fmt::format("nothing says how many elements `{}` has", b.name),
                fmt::format("write a constant count, `{} : {}[1024]`, or `@count(len(…))`", b.name,
                            vyre::ir::name_of(b.element)));
    align(id);
    range(id);
    if (b.binding.valid() && b.kind == BufferKind::Shared)
      misplaced(id, "binding", "shared memory has no binding", "remove @binding");
  }

  static Role role_of(const Buffer& b) {
    switch (b.kind) {
      case BufferKind::Shared: return Role::Shared;
      case BufferKind::Persistent: return Role::Persistent;
      case BufferKind::Scratch: return Role::Scratch;
      case BufferKind::Out:
      case BufferKind::WriteOnly: return Role::Output;
      case BufferKind::In: return Role::Input;
      case BufferKind::Uniform: return Role::Uniform;
      case BufferKind::InOut: return b.live_out ? Role::Output : Role::InputOutput;
    }
    return Role::Input;
  }

  void count(BufferId id) {
    const Buffer& b = p_[id];
    if (b.scalar) return scalar(id);
    if (!b.axes.empty()) return shape(id);
    if (!b.count.valid()) {
      if (b.kind == BufferKind::Shared)
        s_.report(Code::BadCount, id,
                  fmt::format("the shared buffer `{}` has no element count", b.name),
                  "write a constant count: all workgroups need the same");
      return;
    }
    const std::string what = fmt::format("the element count of `{}`", b.name);
    if (const auto n = length(b, b.count, what)) limit_count(id, b.count, what, *n);
  }

  // A constant length that is not negative. None without a report if it is a host expression, which
  // check_host_expressions() looks at.
  std::optional<uint64_t> length(const Buffer& b, ExprId id, const std::string& what) {
    const std::string fix = "use a count that is not negative";
    if (b.kind == BufferKind::Shared) return whole(id, what, Code::BadCount, fix);
    if (!typer_.require_integer(id, what)) return std::nullopt;
    if (evaluate(p_, s_.facts, id) || blocked_by_error(id))
      return s_.facts.expr_types[id.index()] && evaluate(p_, s_.facts, id)
                 ? not_negative(id, what, fix)
                 : std::nullopt;
    s_.facts.buffers[static_cast<size_t>(&b - p_.buffers.data())].host_shape = true;
    return std::nullopt;
  }

  std::optional<uint64_t> not_negative(ExprId id, const std::string& what, std::string fix) {
    const Constant value = *evaluate(p_, s_.facts, id);
    if (!is_signed(value.type) || as_signed(value) >= 0) return value.bits;
    s_.report(Code::BadCount, id, fmt::format("{} is {}", what, as_signed(value)), std::move(fix));
    return std::nullopt;
  }

  void limit_count(BufferId id, ExprId at, const std::string& what, uint64_t n) {
    const Buffer& b = p_[id];
    const uint64_t most =
        b.kind == BufferKind::Uniform ? kMaxUniformBytes / bytes_of(b.element) : UINT32_MAX;
    if (n <= most && (n != 0 || b.kind != BufferKind::Shared)) {
      s_.facts.buffers[id.index()].constant_count = static_cast<uint32_t>(n);
      return;
    }
    s_.report(
        Code::BadCount, at, fmt::format("{} is {}", what, n),
        b.kind == BufferKind::Uniform
            ? fmt::format("use at most {} elements ({} bytes), or an `in` buffer", most,
                          kMaxUniformBytes)
            : fmt::format("use {} to {} elements", b.kind == BufferKind::Shared ? 1 : 0, most));
  }

  void scalar(BufferId id) {
    const Buffer& b = p_[id];
    s_.facts.buffers[id.index()].constant_count = 1;
    if (b.kind != BufferKind::Uniform)
      s_.report(Code::BadScalar, id,
                fmt::format("`{}` is `{}` without brackets", b.name, vyre::ir::name_of(b.kind)),
                fmt::format("write `{}[]` for a buffer, or declare a scalar as `uniform`",
                            vyre::ir::name_of(b.element)));
    else if (b.count.valid() || !b.axes.empty())
      s_.report(Code::BadScalar, id, fmt::format("the scalar `{}` has a count", b.name),
                "remove the count");
  }

  void shape(BufferId id) {
    const Buffer& b = p_[id];
    const auto axes = p_.values(b.axes);
    if (axes.size() > kMaxAxes || axes.size() < 2) {
      s_.report(Code::BadShape, id, fmt::format("`{}` has {} axes", b.name, axes.size()),
                fmt::format("use at most {} axes", kMaxAxes));
      return;
    }
    uint64_t product = 1;
    bool constant = true;
    for (size_t k = 0; k < axes.size(); ++k) {
      const std::string what = fmt::format("axis {} of `{}`", k, b.name);
      const auto n = length(b, axes[k], what);
      constant = constant && n;
      if (!n) continue;
      if (*n > UINT32_MAX || (*n == 0 && b.kind == BufferKind::Shared)) {
        s_.report(
            Code::BadCount, axes[k], fmt::format("{} is {}", what, *n),
            fmt::format("use {} to {} elements", b.kind == BufferKind::Shared ? 1 : 0, UINT32_MAX));
        return;
      }
      if (__builtin_mul_overflow(product, *n, &product)) product = UINT64_MAX;
    }
    if (constant)
      limit_count(id, axes[0], fmt::format("the element count of `{}`", b.name), product);
  }

  void align(BufferId id) {
    const Buffer& b = p_[id];
    if (!b.align.valid()) return;
    const auto n = whole(b.align, fmt::format("the alignment of `{}`", b.name), Code::BadAlignment,
                         "use 0 or a power of two");
    if (!n) return;
    if ((*n & (*n - 1)) != 0 || *n > (uint64_t{1} << 31)) {
      s_.report(Code::BadAlignment, b.align,
                fmt::format("`{}` has preferred_alignment={}", b.name, *n),
                "use 0 or a power of two");
      return;
    }
    s_.facts.buffers[id.index()].align = static_cast<uint32_t>(*n);
  }

  void range(BufferId id) {
    const Buffer& b = p_[id];
    if (!b.range_first.valid() || !b.range_last.valid()) return;
    const bool returned =
        b.kind == BufferKind::Out || b.kind == BufferKind::WriteOnly || b.kind == BufferKind::InOut;
    if (!returned) misplaced(id, "range", "only outputs are returned", "remove @range");
    const std::string what = fmt::format("the byte range of `{}`", b.name);
    const auto first =
        whole(b.range_first, what, Code::BadRange, "use byte offsets that are not negative");
    const auto last =
        whole(b.range_last, what, Code::BadRange, "use byte offsets that are not negative");
    if (!first || !last) return;
    const uint32_t size = bytes_of(b.element);
    if (*first % size != 0 || *last % size != 0 || *first > *last) {
      s_.report(Code::BadRange, b.range_first,
                fmt::format("the byte range of `{}` is {} .. {}", b.name, *first, *last),
                fmt::format("use multiples of the element size ({}), the first not above the last",
                            size));
      return;
    }
    s_.facts.buffers[id.index()].range_bytes = std::pair(*first, *last);
  }

  // Numbers that are written are kept; the others get the lowest free ones in declaration order.
  void bindings() {
    std::map<uint32_t, BufferId> taken;
    size_t bound = 0;
    for (uint32_t i = 0; i < p_.buffers.size(); ++i) {
      const Buffer& b = p_.buffers[i];
      if (b.kind == BufferKind::Shared) continue;
      if (++bound == kMaxBindings + 1)
        s_.report(Code::TooManyBindings, BufferId{i},
                  fmt::format("`{}` is the {}th buffer", b.name, bound),
                  fmt::format("use at most {} buffers that are not shared; join some of them",
                              kMaxBindings));
      if (!b.binding.valid()) continue;
      const auto n = whole(b.binding, fmt::format("the binding of `{}`", b.name),
                           Code::BindingTaken, "use a number from 0");
      if (!n) continue;
      if (*n >= UINT32_MAX) {
        s_.report(Code::BindingTaken, b.binding,
                  fmt::format("the binding of `{}` is {}", b.name, *n), "use a small number");
        continue;
      }
      const auto [it, fresh] = taken.emplace(static_cast<uint32_t>(*n), BufferId{i});
      if (!fresh)
        s_.report(
              Code::BindingTaken, b.binding,
              fmt::format("`{}` and `{}` both have binding {}", p_[it->second].name, b.name, *n),
              "give each buffer its own number, or none")
            .notes.push_back(
                s_.note(it->second, fmt::format("`{}` is declared here", p_[it->second].name)));
      else
        s_.facts.buffers[i].binding = it->first;
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < p_.buffers.size(); ++i) {
      if (p_.buffers[i].kind == BufferKind::Shared || p_.buffers[i].binding.valid()) continue;
      while (taken.contains(next)) ++next;
      s_.facts.buffers[i].binding = next++;
    }
  }

  void slots() {
    uint32_t inputs = 0;
    uint32_t outputs = 0;
    for (BufferFacts& facts : s_.facts.buffers) {
      if (facts.role == Role::Input || facts.role == Role::Uniform ||
          facts.role == Role::InputOutput || facts.role == Role::Persistent)
        facts.input_slot = inputs++;
      if (facts.role == Role::Output || facts.role == Role::InputOutput)
        facts.output_slot = outputs++;
    }
  }

  State& s_;
  const Program& p_;
  Typer typer_;
};

}  // namespace

void check_declarations(State& s) {
  Declarations(s).run();
}

}  // namespace vyre::check
