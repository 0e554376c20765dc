// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "base/match.hpp"
#include "ir/binary_format.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::ir {

namespace {

using namespace binary;

class Encoder {
 public:
  explicit Encoder(const Program& program)
      : program_(program), local_numbers_(program.locals.size(), Id<void>::kNone) {}

  std::vector<std::byte> run() {
    for (const uint8_t byte : kMagic) u8(byte);
    const size_t version_at = out_.size();
    u32(0);
    const size_t length_at = out_.size();
    u32(0);
    section(Section::Declarations, [&] { declarations(); });
    section(Section::Header, [&] { header(); });
    section(Section::Functions, [&] {
      for (const Fn& fn : program_.fns) function(fn);
    });
    section(Section::Body, [&] {
      declared_ = 0;
      block(program_.body);
    });
    patch_u32(version_at, version_);
    patch_u32(length_at, out_.size());
    return std::move(out_);
  }

 private:
  // Called where something is written that the versions before do not have.
  void needs(uint32_t version) { version_ = std::max(version_, version); }

  // ---- primitive values ----

  void u8(uint8_t value) { out_.push_back(static_cast<std::byte>(value)); }
  void u32(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) u8(static_cast<uint8_t>(value >> shift));
  }
  void patch_u32(size_t at, size_t value) {
    VYRE_CHECK(value <= UINT32_MAX);
    for (size_t i = 0; i < 4; ++i) out_[at + i] = static_cast<std::byte>(value >> (8 * i));
  }
  void varint(uint64_t value) {
    while (value >= 0x80) {
      u8(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    u8(static_cast<uint8_t>(value));
  }
  void zigzag(int64_t value) {
    varint((static_cast<uint64_t>(value) << 1) ^ (value < 0 ? UINT64_MAX : 0));
  }
  void string(std::string_view text) {
    varint(text.size());
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    out_.insert(out_.end(), first, first + text.size());
  }
  template <class Enum>
  void tag(Enum value) {
    u8(static_cast<uint8_t>(value));
  }
  // 0 is "absent", so present values are one higher.
  template <class Enum>
  void optional_tag(const std::optional<Enum>& value) {
    u8(value ? static_cast<uint8_t>(static_cast<uint8_t>(*value) + 1) : uint8_t{0});
  }
  static uint8_t literal_flags(bool negative, const std::optional<Type>& suffix) {
    const int type = suffix ? static_cast<int>(*suffix) + 1 : 0;
    return static_cast<uint8_t>(type << 1 | (negative ? 1 : 0));
  }

  template <class Write>
  void section(Section id, Write&& write) {
    tag(id);
    const size_t length_at = out_.size();
    u32(0);
    write();
    patch_u32(length_at, out_.size() - length_at - 4);
  }

  // ---- declarations ----

  void declarations() {
    string(program_.name);
    varint(program_.consts.size());
    for (const Const& constant : program_.consts) {
      string(constant.name);
      tag(constant.type);
      u8(constant.table ? 1 : 0);
    }
    varint(program_.buffers.size());
    for (const Buffer& buffer : program_.buffers) {
      string(buffer.name);
      if (buffer.kind == BufferKind::Scratch) needs(2);
      const bool more = more_parts(buffer) != 0;
      if (more) needs(2);
      u8(static_cast<uint8_t>(static_cast<uint8_t>(buffer.kind) | (more ? kHasMoreParts : 0)));
      tag(buffer.element);
    }
    varint(program_.fns.size());
    for (const Fn& fn : program_.fns) string(fn.name);
  }

  void header() {
    axes(program_.workgroup);
    axes(program_.over);
    for (const Const& constant : program_.consts) {
      const auto values = program_.values(constant.values);
      if (constant.table) varint(values.size());
      VYRE_CHECK(constant.table || values.size() == 1);
      for (const ExprId value : values) expr(value);
    }
    for (const Buffer& buffer : program_.buffers) buffer_parts(buffer);
    varint(program_.require_list.size());
    for (const Require& require : program_.require_list) {
      varint(require.buffers_before);
      string(require.message);
      expr(require.condition);
    }
  }

  void axes(const std::array<ExprId, 3>& ids) {
    const size_t count = Program::axes(ids);
    u8(static_cast<uint8_t>(count));
    for (size_t i = 0; i < count; ++i) expr(ids[i]);
  }

  static uint8_t more_parts(const Buffer& b) {
    return static_cast<uint8_t>((b.scalar ? kIsScalar : 0) | (b.axes.empty() ? 0 : kHasAxes));
  }

  void buffer_parts(const Buffer& b) {
    const bool has_range = b.range_first.valid();
    VYRE_CHECK(has_range == b.range_last.valid());
    const int parts = (b.count.valid() ? kHasCount : 0) | (b.binding.valid() ? kHasBinding : 0) |
                      (b.align.valid() ? kHasAlign : 0) | (b.size.valid() ? kHasSize : 0) |
                      (has_range ? kHasRange : 0) | (b.live_out ? kIsLiveOut : 0) |
                      (b.locality != Locality::None ? kHasLocality : 0) |
                      (b.coalesce_axis ? kHasCoalesce : 0);
    u8(static_cast<uint8_t>(parts));
    if (more_parts(b) != 0) u8(more_parts(b));
    shape(b.axes);
    for (const ExprId id : {b.count, b.binding, b.align, b.size, b.range_first, b.range_last})
      if (id.valid()) expr(id);
    if (b.locality != Locality::None) tag(b.locality);
    if (b.coalesce_axis) u8(*b.coalesce_axis);
  }

  // Nothing without axes.
  void shape(Range range) {
    if (range.empty()) return;
    u8(static_cast<uint8_t>(range.count));
    for (const ExprId length : program_.values(range)) expr(length);
  }

  void function(const Fn& fn) {
    declared_ = 0;
    const auto params = program_.params(fn.params);
    varint(params.size());
    for (const LocalId id : params) {
      const Local& param = program_[id];
      VYRE_CHECK(param.kind == Local::Kind::Param || param.kind == Local::Kind::BufferParam);
      VYRE_CHECK(param.type.has_value());
      const bool shaped = param.rank > 1;
      if (shaped) needs(2);
      tag(param.kind == Local::Kind::Param ? ParamCode::Value
          : shaped                         ? ParamCode::Shaped
                                           : ParamCode::Buffer);
      string(param.name);
      tag(*param.type);
      if (shaped) u8(param.rank);
      declare(id);
    }
    optional_tag(fn.result);
    block(fn.body);
  }

  // ---- references ----

  void declare(LocalId id) {
    VYRE_CHECK(local_numbers_[id.index()] == Id<void>::kNone);
    local_numbers_[id.index()] = declared_++;
  }
  // A local outside its scope, in a program that no check has seen, gets a number that no decoder
  // takes.
  void local(LocalId id) { varint(local_numbers_[id.index()]); }
  void memory(Memory m) {
    VYRE_CHECK(m.valid());
    tag(m.kind);
    if (m.kind == Memory::Kind::Local)
      local(m.local());
    else
      varint(m.index);
  }

  // ---- expressions: tag and own fields, then the operands in order of evaluation ----

  // A stack of its own instead of recursion: programs made by hand may be deeper than the limits
  // allow.
  void expr(ExprId root) {
    const size_t floor = pending_exprs_.size();
    pending_exprs_.push_back(root);
    while (pending_exprs_.size() > floor) {
      const ExprId id = pending_exprs_.back();
      pending_exprs_.pop_back();
      VYRE_CHECK(id.valid());
      const Expr& node = program_[id];
      expr_fields(node);
      const size_t first = pending_exprs_.size();
      for_each_operand(program_, node, [&](ExprId operand) { pending_exprs_.push_back(operand); });
      std::reverse(pending_exprs_.begin() + static_cast<std::ptrdiff_t>(first),
                   pending_exprs_.end());
    }
  }

  void expr_fields(const Expr& node) {
    match(
        node, [&](const IntLiteral& e) { int_literal(e); },
        [&](const FloatLiteral& e) { float_literal(e); },
        [&](const BoolLiteral& e) {
          tag(ExprCode::BoolLiteral);
          u8(e.value ? 1 : 0);
        },
        [&](const LocalRef& e) {
          tag(ExprCode::LocalRef);
          local(e.local);
        },
        [&](const ConstRef& e) {
          tag(ExprCode::ConstRef);
          varint(e.constant.value);
        },
        [&](const BuiltinRef& e) {
          tag(ExprCode::BuiltinRef);
          tag(e.builtin);
          if (has_axis(e.builtin)) u8(e.axis);
        },
        [&](const Len& e) {
          tag(ExprCode::Len);
          memory(e.memory);
        },
        [&](const Load& e) {
          tag(ExprCode::Load);
          memory(e.memory);
        },
        [&](const Unary& e) {
          tag(ExprCode::Unary);
          tag(e.op);
        },
        [&](const Binary& e) {
          tag(ExprCode::Binary);
          tag(e.op);
        },
        [&](const Cast& e) {
          tag(ExprCode::Cast);
          tag(e.type);
        },
        [&](const Bitcast& e) {
          tag(ExprCode::Bitcast);
          tag(e.type);
        },
        [&](const IntrinsicCall& e) {
          if (is_second_edition(e.op)) needs(2);
          tag(ExprCode::IntrinsicCall);
          tag(e.op);
        },
        [&](const Atomic& e) {
          tag(ExprCode::Atomic);
          tag(e.op);
          tag(e.order);
          memory(e.memory);
        },
        [&](const Subgroup& e) {
          VYRE_CHECK(e.lane.valid() == (arity_of(e.op) == 2));
          tag(ExprCode::Subgroup);
          tag(e.op);
        },
        [&](const UniformLoad& e) {
          tag(ExprCode::UniformLoad);
          tag(e.scope);
          memory(e.memory);
        },
        [&](const Call& e) { call_fields(e); },
        [&](const Poison&) { VYRE_CHECK(!"a program with Poison has no binary form"); },
        [&](const AxisIndex& e) { axis_index(e); },
        [&](const AxisLen& e) {
          needs(2);
          tag(ExprCode::AxisLen);
          memory(e.memory);
          u8(e.axis);
        });
  }

  void int_literal(const IntLiteral& e) {
    tag(ExprCode::IntLiteral);
    u8(literal_flags(e.negative, e.suffix));
    varint(e.magnitude);
  }

  void float_literal(const FloatLiteral& e) {
    tag(ExprCode::FloatLiteral);
    u8(literal_flags(e.negative, e.suffix));
    zigzag(e.exponent);
    string(e.digits);
  }

  void axis_index(const AxisIndex& e) {
    needs(2);
    tag(ExprCode::AxisIndex);
    memory(e.memory);
    // Only plans have lengths, and nothing decodes those.
    u8(static_cast<uint8_t>(e.indices.count | (e.lengths.empty() ? 0U : 0x80U)));
  }

  void call_fields(const Call& e) {
    tag(ExprCode::Call);
    varint(e.fn.value);
    varint(e.args.count);
    for (const Arg& arg : program_.arguments(e.args))
      match(
          arg, [&](ExprId) { tag(ArgCode::Value); },
          [&](const Memory& m) {
            tag(ArgCode::Memory);
            memory(m);
          });
  }

  // ---- statements: tag, own fields and expressions, then the blocks ----

  struct OpenBlock {
    Block block;
    uint32_t next = 0;
    bool counted = false;
  };

  void block(Block root) {
    const size_t floor = open_blocks_.size();
    open_blocks_.push_back({root});
    while (open_blocks_.size() > floor) {
      OpenBlock& top = open_blocks_.back();
      if (!std::exchange(top.counted, true)) varint(top.block.count);
      if (top.next == top.block.count) {
        open_blocks_.pop_back();
        continue;
      }
      const Stmt& node = program_[program_.items(top.block)[top.next++]];
      stmt_fields(node);
      const size_t first = open_blocks_.size();
      for_each_block(node, [&](Block child) { open_blocks_.push_back({child}); });
      std::reverse(open_blocks_.begin() + static_cast<std::ptrdiff_t>(first), open_blocks_.end());
    }
  }

  void stmt_fields(const Stmt& node) {
    match(
        node, [&](const Let& s) { let_fields(s); }, [&](const DeclareArray& s) { array_fields(s); },
        [&](const Assign& s) {
          tag(StmtCode::Assign);
          local(s.local);
          optional_tag(s.op);
          expr(s.value);
        },
        [&](const Store& s) {
          tag(StmtCode::Store);
          memory(s.memory);
          optional_tag(s.op);
          expr(s.index);
          expr(s.value);
        },
        [&](const Eval& s) { tag_and_expr(StmtCode::Eval, s.value); },
        [&](const If& s) { tag_and_expr(StmtCode::If, s.condition); },
        [&](const For& s) { for_fields(s); },
        [&](const While& s) { tag_and_expr(StmtCode::While, s.condition); },
        [&](const Break&) { tag(StmtCode::Break); },
        [&](const Continue&) { tag(StmtCode::Continue); },
        [&](const Return& s) {
          tag(StmtCode::Return);
          u8(s.value.valid() ? 1 : 0);
          if (s.value.valid()) expr(s.value);
        },
        [&](const Nested&) { tag(StmtCode::Nested); },
        [&](const Region& s) {
          tag(StmtCode::Region);
          string(s.name);
        },
        [&](const Barrier& s) {
          tag(StmtCode::Barrier);
          tag(s.scope);
        },
        [&](const Fixpoint& s) {
          tag(StmtCode::Fixpoint);
          varint(s.buffers.count);
          for (const Memory m : program_.memories(s.buffers)) memory(m);
          expr(s.max_passes);
        },
        [&](const AsyncCopy& s) {
          tag(StmtCode::AsyncCopy);
          varint(s.tag);
          memory(s.dst);
          memory(s.src);
          expr(s.dst_index);
          expr(s.src_index);
          expr(s.count);
        },
        [&](const Wait& s) { tag_and_number(StmtCode::Wait, s.tag); },
        [&](const Trap& s) {
          tag(StmtCode::Trap);
          varint(s.tag);
          expr(s.value);
        },
        [&](const Resume& s) { tag_and_number(StmtCode::Resume, s.tag); },
        [&](const Collective& s) { collective_fields(s); }, [&](const Swap& s) { swap_fields(s); },
        [&](const Print& s) { print_fields(StmtCode::Print, {}, s.format, s.args); },
        [&](const Assert& s) { print_fields(StmtCode::Assert, s.condition, s.format, s.args); });
  }

  void tag_and_number(StmtCode id, uint16_t number) {
    tag(id);
    varint(number);
  }
  void tag_and_expr(StmtCode id, ExprId value) {
    tag(id);
    expr(value);
  }

  void print_fields(StmtCode code, ExprId condition, const std::string& format, Range args) {
    needs(2);
    tag(code);
    if (condition.valid()) expr(condition);
    string(format);
    varint(args.count);
    for (const ExprId arg : program_.values(args)) expr(arg);
  }

  void let_fields(const Let& s) {
    const Local& target = program_[s.local];
    VYRE_CHECK(target.kind == Local::Kind::Let || target.kind == Local::Kind::Var);
    tag(target.kind == Local::Kind::Let ? StmtCode::Let : StmtCode::Var);
    string(target.name);
    optional_tag(target.type);
    expr(s.value);
    declare(s.local);
  }

  void array_fields(const DeclareArray& s) {
    const Local& array = program_[s.local];
    VYRE_CHECK(array.kind == Local::Kind::Array && array.type);
    const bool shaped = !array.axes.empty();
    tag(shaped                 ? StmtCode::DeclareShaped
        : array.values.empty() ? StmtCode::DeclareArray
                               : StmtCode::DeclareArrayWith);
    string(array.name);
    tag(*array.type);
    if (shaped)
      shape(array.axes);
    else
      expr(array.count);
    if (shaped || !array.values.empty()) {
      needs(2);
      varint(array.values.count);
      for (const ExprId value : program_.values(array.values)) expr(value);
    }
    declare(s.local);
  }

  void for_fields(const For& s) {
    const Local& variable = program_[s.variable];
    VYRE_CHECK(variable.kind == Local::Kind::For);
    tag(StmtCode::For);
    string(variable.name);
    if (s.reversed) needs(2);
    u8(static_cast<uint8_t>((s.step.valid() ? kHasStep : 0) | (s.unroll ? kIsUnrolled : 0) |
                            (s.reversed ? kIsReversed : 0)));
    expr(s.first);
    expr(s.last);
    if (s.step.valid()) expr(s.step);
    declare(s.variable);
  }

  void swap_fields(const Swap& s) {
    needs(2);
    tag(StmtCode::Swap);
    memory(s.a);
    memory(s.b);
  }

  void collective_fields(const Collective& s) {
    tag(StmtCode::Collective);
    tag(s.op);
    memory(s.src);
    if (s.op == CollectiveOp::AllGather || s.op == CollectiveOp::ReduceScatter) memory(s.dst);
    if (s.op == CollectiveOp::AllReduce || s.op == CollectiveOp::ReduceScatter) tag(s.reduce);
    u8(s.group.valid() ? 1 : 0);
    if (s.op == CollectiveOp::Broadcast) expr(s.root);
    if (s.group.valid()) expr(s.group);
  }

  const Program& program_;
  std::vector<std::byte> out_;
  uint32_t version_ = kFirstVersion;
  std::vector<uint32_t> local_numbers_;
  uint32_t declared_ = 0;  // locals of the function or main body at hand
  std::vector<ExprId> pending_exprs_;
  std::vector<OpenBlock> open_blocks_;
};

}  // namespace

std::vector<std::byte> encode(const Program& program) {
  return Encoder(program).run();
}

Digest digest_of(const Program& program) {
  return vyre::digest_of(encode(program));
}

}  // namespace vyre::ir
