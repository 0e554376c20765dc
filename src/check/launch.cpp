// SPDX-License-Identifier: Apache-2.0
#include "vyre/check/launch.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "base/match.hpp"
#include "check/constants.hpp"
#include "ir/scalar.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::check {

using namespace ir;

namespace {

using Wide = __int128;

std::string plural(uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

Error failure(ErrorCode code, Position at, std::string message, std::string_view fix) {
  return Error{.code = code,
               .message = fmt::format("{}. Fix: {}", message, fix),
               .context = {},
               .at = std::move(at),
               .diagnostics = {}};
}

bool in_range(Type type, Wide value) {
  const uint32_t width = bits_of(type);
  const Wide low = is_signed(type) ? -(Wide{1} << (width - 1)) : 0;
  const Wide high = (Wide{1} << (width - (is_signed(type) ? 1 : 0))) - 1;
  return value >= low && value <= high;
}

// A workgroup size may be changed only where no statement observes it.
std::optional<std::string> why_workgroup_is_fixed(const Program& p) {
  for (const Buffer& b : p.buffers)
    if (b.kind == BufferKind::Shared) return fmt::format("the shared buffer `{}`", b.name);
  for (const Stmt& s : p.stmts) {
    const auto* barrier = std::get_if<Barrier>(&s);
    if (barrier != nullptr && barrier->scope == Scope::Workgroup) return "a workgroup barrier";
    if (std::holds_alternative<AsyncCopy>(s)) return "an async copy";
  }
  for (const Expr& e : p.exprs) {
    const auto* load = std::get_if<UniformLoad>(&e);
    if (load != nullptr && load->scope == Scope::Workgroup) return "workgroup_load";
    const auto* builtin = std::get_if<BuiltinRef>(&e);
    if (builtin != nullptr &&
        (builtin->builtin == Builtin::Lid || builtin->builtin == Builtin::Wid))
      return fmt::format("`{}`", name_of(builtin->builtin));
  }
  return std::nullopt;
}

class Resolver {
 public:
  Resolver(const CheckedProgram& checked, const LaunchRequest& request)
      : c_(checked), p_(checked.program), request_(request) {}

  Result<Launch> run() {
    VYRE_TRY(take_inputs());
    size_t next_require = 0;
    for (size_t i = 0; i <= p_.buffers.size(); ++i) {
      for (; next_require < p_.require_list.size() &&
             p_.require_list[next_require].buffers_before <= i;
           ++next_require)
        VYRE_TRY(require(next_require));
      if (i == p_.buffers.size()) continue;
      VYRE_TRY(set_shape(BufferId{static_cast<uint32_t>(i)}));
      if (!p_.buffers[i].size.valid()) continue;
      const Buffer& buffer = p_.buffers[i];
      VYRE_TRY_ASSIGN(auto count, size_of(buffer.size, fmt::format("@count of `{}`", buffer.name),
                                          kMaxElements));
      launch_.counts[i] = count;
    }
    VYRE_TRY(compare_swapped());
    VYRE_TRY(set_workgroup());
    VYRE_TRY(set_grid());
    return std::move(launch_);
  }

 private:
  using Done = Result<void>;

  Done take_inputs() {
    launch_.counts.assign(p_.buffers.size(), 0);
    launch_.axes.assign(p_.buffers.size(), {});
    size_t expected = 0;
    for (const BufferFacts& facts : c_.buffers) expected += facts.input_slot ? 1 : 0;
    if (request_.inputs.size() != expected)
      return std::unexpected(failure(
          ErrorCode::InvalidArgument, {},
          fmt::format("dispatch expected {} for program `{}`, received {}",
                      plural(expected, "input buffer"), p_.name, request_.inputs.size()),
          "give one for each `in`, `uniform`, `inout` and `persistent` buffer, in the order of "
          "declaration"));
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      const BufferFacts& facts = c_.buffers[i];
      if (facts.constant_count) launch_.counts[i] = *facts.constant_count;
      if (!facts.input_slot) continue;
      VYRE_TRY(take(BufferId{static_cast<uint32_t>(i)}, request_.inputs[*facts.input_slot]));
    }
    return {};
  }

  // Also of swaps that no lane will come to: which ones do is known to the lanes only.
  Done compare_swapped() {
    for (const SwapFact& swap : c_.swaps) {
      const uint64_t a = launch_.counts[swap.a.index()];
      const uint64_t b = launch_.counts[swap.b.index()];
      if (a == b) continue;
      return std::unexpected(
          failure(ErrorCode::InvalidArgument, p_.position_of(swap.at),
                  fmt::format("`swap` exchanges `{}` ({}) with `{}` ({})", p_[swap.a].name,
                              plural(a, "element"), p_[swap.b].name, plural(b, "element")),
                  "give both buffers the same number of elements"));
    }
    return {};
  }

  Done take(BufferId id, std::span<const std::byte> bytes) {
    const Buffer& buffer = p_[id];
    const BufferFacts& facts = c_.buffers[id.index()];
    const uint32_t size = bytes_of(buffer.element);
    const auto refuse = [&](ErrorCode code, std::string message, std::string_view fix) {
      return std::unexpected(failure(code, p_.position_of(id), std::move(message), fix));
    };
    if (bytes.size() % size != 0)
      return refuse(
          ErrorCode::InvalidArgument,
          fmt::format("input `{}` has {}, which is not a multiple of {} (one {})", buffer.name,
                      plural(bytes.size(), "byte"), size, name_of(buffer.element)),
          "give whole elements");
    const uint64_t count = bytes.size() / size;
    if (facts.constant_count && count != *facts.constant_count)
      return refuse(ErrorCode::InvalidArgument,
                    fmt::format("input `{}` expected {} bytes ({}), received {} ({})", buffer.name,
                                uint64_t{*facts.constant_count} * size,
                                plural(*facts.constant_count, "element"), bytes.size(), count),
                    "give as many elements as the program declares");
    if (count > kMaxElements)
      return refuse(ErrorCode::LimitExceeded,
                    fmt::format("input `{}` has {}, more than {}", buffer.name,
                                plural(count, "element"), kMaxElements),
                    "split the data over several dispatches");
    if (buffer.kind == BufferKind::Uniform && bytes.size() > kMaxUniformBytes)
      return refuse(ErrorCode::LimitExceeded,
                    fmt::format("the uniform buffer `{}` has {} bytes, more than {}", buffer.name,
                                bytes.size(), kMaxUniformBytes),
                    "declare it as `in`");
    launch_.counts[id.index()] = count;
    return {};
  }

  // What stands in the brackets, unless it is one constant: the lengths of the axes, and the count
  // or what the caller's count must be.
  Done set_shape(BufferId id) {
    const Buffer& buffer = p_[id];
    const BufferFacts& facts = c_.buffers[id.index()];
    if (buffer.axes.empty() && !facts.host_shape) return {};
    std::vector<uint64_t> axes;
    const std::span<const ExprId> lengths =
        buffer.axes.empty() ? std::span(&buffer.count, 1) : p_.values(buffer.axes);
    Wide product = 1;
    std::string shape;
    for (const ExprId length : lengths) {
      in_shape_ = true;
      const auto size = size_of(length, fmt::format("a length of `{}`", buffer.name), kMaxElements);
      in_shape_ = false;
      VYRE_TRY_ASSIGN(const auto elements, size);
      axes.push_back(elements);
      shape += fmt::format("{}{}", shape.empty() ? "" : " x ", elements);
      product = std::min(product * static_cast<Wide>(elements), Wide{1} << 64);
    }
    // A product of 0 has no elements, however long the other axes are.
    if (std::ranges::find(axes, 0U) != axes.end()) product = 0;
    if (product > static_cast<Wide>(kMaxElements))
      return std::unexpected(failure(
          ErrorCode::LimitExceeded, p_.position_of(id),
          fmt::format("`{}` of {} has more than {} elements", buffer.name, shape, kMaxElements),
          "split the work over several dispatches"));
    const auto count = static_cast<uint64_t>(product);
    const uint64_t given = launch_.counts[id.index()];
    if (facts.input_slot && given != count)
      return std::unexpected(failure(
          ErrorCode::InvalidArgument, p_.position_of(id),
          axes.size() == 1 ? fmt::format("input `{}` expected {}, received {}", buffer.name,
                                         plural(count, "element"), given)
                           : fmt::format("input `{}` expected {} ({}), received {}", buffer.name,
                                         plural(count, "element"), shape, given),
          "give as many elements as the program declares"));
    launch_.counts[id.index()] = count;
    if (axes.size() > 1) launch_.axes[id.index()] = std::move(axes);
    return {};
  }

  Done require(size_t index) {
    const Require& r = p_.require_list[index];
    const Result<Constant> value = evaluate(r.condition);
    if (!value) return std::unexpected(value.error());
    if (value->bits != 0) return {};
    return std::unexpected(failure(
        ErrorCode::InvalidArgument, p_.position(p_.loc_of_require(index)),
        fmt::format("the program requires: {}", r.message), "give inputs that meet the condition"));
  }

  Done set_workgroup() {
    launch_.workgroup = c_.workgroup;
    if (!request_.workgroup) return {};
    const auto refuse = [&](std::string message, std::string_view fix) {
      return std::unexpected(failure(ErrorCode::InvalidArgument,
                                     p_.position(p_.positions.workgroup), std::move(message), fix));
    };
    if (const auto reason = why_workgroup_is_fixed(p_))
      return refuse(fmt::format("the workgroup size of `{}` cannot be changed, because of {}",
                                p_.name, *reason),
                    "leave it as the program says");
    uint64_t lanes = 1;
    for (const uint32_t axis : *request_.workgroup) {
      if (axis == 0) return refuse("a workgroup axis is 0", "use at least 1 on each axis");
      lanes *= axis;
      if (lanes > kMaxLanes)
        return refuse(fmt::format("a workgroup of more than {} lanes", kMaxLanes),
                      "use smaller workgroups");
    }
    launch_.workgroup = *request_.workgroup;
    return {};
  }

  Done set_grid() {
    std::array<uint64_t, 3> groups = {1, 1, 1};
    const size_t axes = Program::axes(p_.over);
    if (request_.grid) {
      std::copy(request_.grid->begin(), request_.grid->end(), groups.begin());
    } else if (axes != 0) {
      for (size_t i = 0; i < axes; ++i) {
        VYRE_TRY_ASSIGN(const auto n, size_of(p_.over[i], "`over`", ~uint64_t{0}));
        groups[i] = n / launch_.workgroup[i] + (n % launch_.workgroup[i] != 0 ? 1 : 0);
      }
    } else if (c_.workgroup_axes > 1) {
      return std::unexpected(failure(
          ErrorCode::InvalidArgument, p_.position(p_.positions.workgroup),
          fmt::format("program `{}` has a workgroup of {} axes and nothing says how large the grid "
                      "is",
                      p_.name, c_.workgroup_axes),
          "add `over` to the program, or give the grid with the dispatch"));
    } else {
      const uint64_t n = std::max<uint64_t>(largest_buffer(), 1);
      groups[0] = (n + launch_.workgroup[0] - 1) / launch_.workgroup[0];
    }
    return limit_grid(groups);
  }

  Done limit_grid(const std::array<uint64_t, 3>& groups) {
    const auto too_large = [&](std::string message) {
      return std::unexpected(failure(ErrorCode::LimitExceeded, p_.position(p_.positions.over),
                                     std::move(message), "split the work over several dispatches"));
    };
    if (std::ranges::find(groups, 0U) != groups.end()) {
      launch_.grid = {0, 0, 0};
      return {};
    }
    uint64_t lanes = launch_.lanes_per_workgroup();
    for (size_t i = 0; i < 3; ++i) {
      if (groups[i] > kMaxWorkgroupsPerAxis)
        return too_large(fmt::format("the grid has {} workgroups on axis {}, more than {}",
                                     groups[i], "xyz"[i], kMaxWorkgroupsPerAxis));
      lanes *= groups[i];  // below 2^63: the product so far is at most kMaxLanes
      if (lanes > kMaxLanes)
        return too_large(fmt::format(
            "a grid of {} x {} x {} workgroups of {} has more than {} lanes", groups[0], groups[1],
            groups[2], plural(launch_.lanes_per_workgroup(), "lane"), kMaxLanes));
      launch_.grid[i] = static_cast<uint32_t>(groups[i]);
    }
    return {};
  }

  [[nodiscard]] uint64_t largest_buffer() const {
    std::optional<uint64_t> written;
    uint64_t any = 0;
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      const BufferKind kind = p_.buffers[i].kind;
      if (kind == BufferKind::Shared || kind == BufferKind::Scratch) continue;
      any = std::max(any, launch_.counts[i]);
      if (kind == BufferKind::Out || kind == BufferKind::WriteOnly || kind == BufferKind::InOut)
        written = std::max(written.value_or(0), launch_.counts[i]);
    }
    return written.value_or(any);
  }

  // ---- host expressions

  Result<uint64_t> size_of(ExprId id, std::string_view what, uint64_t limit) {
    const Result<Constant> value = evaluate(id);
    if (!value) return std::unexpected(value.error());
    const Wide size = integer_value(value->type, value->bits);
    if (size < 0)
      return std::unexpected(failure(ErrorCode::InvalidArgument, p_.position_of(id),
                                     fmt::format("{} is {}", what, static_cast<int64_t>(size)),
                                     "a size cannot be negative"));
    if (size > static_cast<Wide>(limit))
      return std::unexpected(
          failure(ErrorCode::LimitExceeded, p_.position_of(id),
                  fmt::format("{} is {}, more than {}", what, static_cast<uint64_t>(size), limit),
                  "split the work over several dispatches"));
    return static_cast<uint64_t>(size);
  }

  std::unexpected<Error> overflow(ExprId id, Type type) {
    return std::unexpected(
        failure(ErrorCode::LimitExceeded, p_.position_of(id),
                fmt::format("this host expression does not fit its type {}", name_of(type)),
                "give smaller inputs, or compute it in a wider type"));
  }

  // The checker made sure that the expression holds only what is handled here.
  Result<Constant> evaluate(ExprId id) {
    const Type type = *c_.expr_types[id.index()];
    using R = Result<Constant>;
    const auto other = [&]() -> R {
      const std::optional<Constant> constant = check::evaluate(p_, c_, id);
      VYRE_CHECK(constant.has_value());
      return *constant;
    };
    return match(
        p_[id], [&](const IntLiteral&) { return other(); },
        [&](const FloatLiteral&) { return other(); }, [&](const BoolLiteral&) { return other(); },
        [&](const ConstRef&) { return other(); }, [&](const LocalRef&) { return other(); },
        [&](const BuiltinRef&) { return other(); }, [&](const Atomic&) { return other(); },
        [&](const Subgroup&) { return other(); }, [&](const UniformLoad&) { return other(); },
        [&](const Call&) { return other(); }, [&](const Poison&) { return other(); },
        [&](const AxisIndex&) { return other(); },
        [&](const AxisLen& e) -> R {
          const size_t buffer = e.memory.buffer().index();
          const auto& axes = launch_.axes[buffer];
          return Constant{type, axes.empty() ? launch_.counts[buffer] : axes[e.axis]};
        },
        [&](const Len& e) -> R {
          return Constant{type, launch_.counts[e.memory.buffer().index()]};
        },
        [&](const Load& e) -> R {
          return e.memory.kind == Memory::Kind::Table ? other() : uniform(e, type);
        },
        [&](const Unary& e) { return unary(id, e, type); },
        [&](const Binary& e) { return binary(id, e); },
        [&](const Cast& e) -> R {
          const R value = evaluate(e.operand);
          return value ? R(convert(*value, e.type)) : value;
        },
        [&](const Bitcast& e) -> R {
          const R value = evaluate(e.operand);
          return value ? R(Constant{e.type, value->bits}) : value;
        },
        [&](const IntrinsicCall& e) { return function(e); });
  }

  Result<Constant> uniform(const Load& e, Type type) {
    const Result<Constant> index = evaluate(e.index);
    if (!index) return index;
    const BufferId buffer = e.memory.buffer();
    const Wide at = integer_value(index->type, index->bits);
    const bool there = at >= 0 && at < static_cast<Wide>(launch_.counts[buffer.index()]);
    // Devices evaluate shapes, too, where an access out of bounds may be an error.
    if (!there && in_shape_)
      return std::unexpected(failure(
          ErrorCode::InvalidArgument, p_.position_of(buffer),
          fmt::format("a shape reads element {} of `{}`, which has {}", static_cast<int64_t>(at),
                      p_[buffer].name, plural(launch_.counts[buffer.index()], "element")),
          "give enough elements"));
    if (!there) return Constant{type, 0};
    const Type element = p_[buffer].element;
    const std::span<const std::byte> bytes =
        request_.inputs[*c_.buffers[buffer.index()].input_slot];
    return Constant{
        type, load_element(element, bytes.data() + static_cast<size_t>(at) * bytes_of(element))};
  }

  Result<Constant> unary(ExprId id, const Unary& e, Type type) {
    const Result<Constant> value = evaluate(e.operand);
    if (!value) return value;
    if (e.op == UnaryOp::Neg && is_integer(type) &&
        !in_range(type, -integer_value(type, value->bits)))
      return overflow(id, type);
    return *fold(e.op, *value);
  }

  Result<Constant> binary(ExprId id, const Binary& e) {
    const Result<Constant> left = evaluate(e.left);
    if (!left) return left;
    if (is_lazy(e.op) && (left->bits != 0) == (e.op == BinaryOp::LogicalOr)) return left;
    const Result<Constant> right = evaluate(e.right);
    if (!right) return right;
    const Type type = left->type;
    if (is_integer(type)) {
      const Wide x = integer_value(type, left->bits);
      const Wide y = integer_value(right->type, right->bits);
      Wide exact = 0;
      // No product of two 64-bit values passes 128 bits but for the largest unsigned ones; those
      // are far out of range either way.
      switch (e.op) {
        case BinaryOp::Add: exact = x + y; break;
        case BinaryOp::Sub: exact = x - y; break;
        case BinaryOp::Mul:
          if (__builtin_mul_overflow(x, y, &exact)) return overflow(id, type);
          break;
        case BinaryOp::Div: exact = y == 0 ? x : x / y; break;
        case BinaryOp::Shl: exact = x * (Wide{1} << (right->bits & (bits_of(type) - 1))); break;
        case BinaryOp::LogicalOr:
        case BinaryOp::LogicalAnd:
        case BinaryOp::Eq:
        case BinaryOp::Ne:
        case BinaryOp::Lt:
        case BinaryOp::Le:
        case BinaryOp::Gt:
        case BinaryOp::Ge:
        case BinaryOp::Or:
        case BinaryOp::Xor:
        case BinaryOp::And:
        case BinaryOp::Shr:
        case BinaryOp::Rem: break;
      }
      if (!in_range(type, exact)) return overflow(id, type);
    }
    return *fold(e.op, *left, *right);
  }

  Result<Constant> function(const IntrinsicCall& e) {
    std::array<Constant, 3> args;
    const size_t count = static_cast<size_t>(arity_of(e.op));
    for (size_t i = 0; i < count; ++i) {
      const Result<Constant> value = evaluate(e.args[i]);
      if (!value) return value;
      args[i] = *value;
    }
    const std::optional<Constant> value = fold(e.op, std::span(args).first(count));
    VYRE_CHECK(value.has_value());
    return *value;
  }

  const CheckedProgram& c_;
  const Program& p_;
  const LaunchRequest& request_;
  Launch launch_;
  bool in_shape_ = false;
};

}  // namespace

Result<Launch> resolve_launch(const CheckedProgram& checked, const LaunchRequest& request) {
  return Resolver(checked, request).run();
}

std::span<const std::byte> returned_bytes(const CheckedProgram& checked, BufferId buffer,
                                          std::span<const std::byte> contents) {
  const ByteRange range = returned_range(checked, buffer, contents.size());
  return contents.subspan(range.offset, range.bytes);
}

ByteRange returned_range(const CheckedProgram& checked, BufferId buffer, uint64_t bytes) {
  const auto& range = checked.buffers[buffer.index()].range_bytes;
  if (!range) return {0, bytes};
  const uint64_t first = std::min(range->first, bytes);
  return {first, std::clamp(range->second, first, bytes) - first};
}

std::vector<bool> read_by_host(const CheckedProgram& checked) {
  const Program& p = checked.program;
  std::vector<bool> read(p.buffers.size());
  const auto visit = [&](const auto& self, ExprId id) -> void {
    if (!id.valid()) return;
    if (const auto* load = std::get_if<Load>(&p[id]))
      if (load->memory.kind == Memory::Kind::Buffer) read[load->memory.buffer().index()] = true;
    for_each_operand(p, p[id], [&](ExprId operand) { self(self, operand); });
  };
  for (size_t i = 0; i < Program::axes(p.over); ++i) visit(visit, p.over[i]);
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    const Buffer& buffer = p.buffers[i];
    visit(visit, buffer.size);
    if (!checked.buffers[i].host_shape) continue;
    visit(visit, buffer.count);
    for (const ExprId length : p.values(buffer.axes)) visit(visit, length);
  }
  for (const Require& require : p.require_list) visit(visit, require.condition);
  return read;
}

}  // namespace vyre::check
