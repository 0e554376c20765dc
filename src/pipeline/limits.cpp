// SPDX-License-Identifier: Apache-2.0
// What a device cannot do is refused before code is generated, with the name of the feature or the
// two numbers.
#include <string>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "ir/maths.hpp"
#include "vyre/pipeline/compiler.hpp"

namespace vyre::pipeline {

using namespace ir;

namespace {

std::unexpected<Error> limit(std::string_view what, uint64_t value, uint64_t most,
                             const device::BackendInfo& info, std::string_view fix) {
  return std::unexpected(error(ErrorCode::LimitExceeded,
                               fmt::format("{} ({}) is more than device `{}` allows ({}). Fix: {}",
                                           what, value, info.id, most, fix)));
}

// The first feature that the program needs and the device lacks.
class Features {
 public:
  Features(const check::CheckedProgram& checked, const device::BackendInfo& info)
      : c_(checked), can_(info.capabilities), info_(info) {}

  Result<void> run() {
    for (uint32_t i = 0; i < c_.program.buffers.size(); ++i)
      of_buffer(c_.program.buffers[i], c_.program.position_of(BufferId{i}));
    for (uint32_t i = 0; i < c_.program.exprs.size(); ++i) of_expr(ExprId{i});
    for (uint32_t i = 0; i < c_.program.stmts.size(); ++i) of_stmt(StmtId{i});
    if (!missing_) return {};
    return std::unexpected(*missing_);
  }

 private:
  void need(bool can, std::string_view feature, const Position& at) {
    if (can || missing_) return;
    missing_ = error(ErrorCode::Unsupported,
                     fmt::format("the program needs {}, which device `{}` does not have. Fix: use "
                                 "another device, or avoid it in the program",
                                 feature, info_.id),
                     at);
  }

  void of_buffer(const Buffer& buffer, const Position& at) {
    of_type(buffer.element, at);
    // What is stored there is rounded; loads are exact.
    const bool written = buffer.kind != BufferKind::In && buffer.kind != BufferKind::Uniform;
    if (written && (buffer.element == Type::F16 || buffer.element == Type::BF16)) of_conversion(at);
  }
  void of_conversion(const Position& at) {
    need(can_.exact_conversions, "exact conversions of numbers (exact_conversions)", at);
  }

  void of_type(Type type, const Position& at) {
    switch (type) {
      case Type::U64:
      case Type::I64: need(can_.i64, "64-bit integers (i64)", at); break;
      case Type::F64: need(can_.f64, "f64", at); break;
      case Type::F16: need(can_.f16_storage, "f16 in buffers (f16_storage)", at); break;
      case Type::BF16: need(can_.bf16_storage, "bf16 in buffers (bf16_storage)", at); break;
      case Type::U8:
      case Type::I8: need(can_.storage_8bit, "8-bit integers in buffers (storage_8bit)", at); break;
      case Type::U16:
      case Type::I16:
        need(can_.storage_16bit, "16-bit integers in buffers (storage_16bit)", at);
        break;
      case Type::Bool:
      case Type::U32:
      case Type::I32:
      case Type::F32: break;
    }
  }

  void of_expr(ExprId id) {
    const auto& type = c_.expr_types[id.index()];
    if (!type) return;  // no value, or not part of the program
    const Position at = c_.program.position_of(id);
    of_type(*type, at);
    if (const auto* subgroup = std::get_if<Subgroup>(&c_.program[id])) {
      need(can_.subgroup_ops, "subgroup operations (subgroup_ops)", at);
      if (*type == Type::F32 && arity_of(subgroup->op) == 1)  // the others move bits
        of_f32(at);
      if (arity_of(subgroup->op) == 2)
        need(can_.subgroup_shuffle, "subgroup shuffles (subgroup_shuffle)", at);
    }
    if (const auto* atomic = std::get_if<Atomic>(&c_.program[id])) {
      if (bits_of(*type) == 64)
        need(can_.i64_atomics, "64-bit atomic operations (i64_atomics)", at);
      if (*type == Type::F32 && atomic->op == AtomicOp::Add)
        need(can_.f32_atomic_add, "atomic addition of f32 (f32_atomic_add)", at);
      if (*type == Type::F32 && atomic->op == AtomicOp::Add) of_f32(at);
    }
    if (const auto* binary = std::get_if<Binary>(&c_.program[id])) of_arithmetic(*binary, at);
    if (const auto* call = std::get_if<IntrinsicCall>(&c_.program[id]))
      of_intrinsic(call->op, *type, at);
    if (const auto* cast = std::get_if<Cast>(&c_.program[id])) {
      const auto& from = c_.expr_types[cast->operand.index()];
      if (from && *from != *type && (is_float(*from) || is_float(*type))) of_conversion(at);
    }
  }

  void of_stmt(StmtId id) {
    const Position at = c_.program.position_of(id);
    const auto of_update = [&](const std::optional<BinaryOp>& op, ExprId value) {
      const auto& type = c_.expr_types[value.index()];
      if (op && type) of_arithmetic(*op, *type, at);
    };
    if (const auto* assign = std::get_if<Assign>(&c_.program[id]))
      of_update(assign->op, assign->value);
    if (const auto* store = std::get_if<Store>(&c_.program[id])) of_update(store->op, store->value);
    if (const auto* trap = std::get_if<Trap>(&c_.program[id]))
      need(!c_.expr_types[trap->value.index()] || can_.trap_propagation,
           "traps that reach the host (trap_propagation)", at);
  }

  // What is computed is the same on all devices, so one that rounds in another way does not do.
  void of_arithmetic(const Binary& binary, const Position& at) {
    const auto& type = c_.expr_types[binary.left.index()];
    if (type) of_arithmetic(binary.op, *type, at);
  }
  void of_arithmetic(BinaryOp op, Type type, const Position& at) {
    if (!is_float(type)) return;
    if (op == BinaryOp::Div) need(can_.exact_division, "exact division (exact_division)", at);
    if (type == Type::F32) of_f32(at);
  }
  void of_f32(const Position& at) {
    need(can_.strict_f32, "f32 arithmetic as it is written (strict_f32)", at);
    need(can_.f32_subnormals, "f32 arithmetic with subnormal numbers (f32_subnormals)", at);
  }
  void of_intrinsic(Intrinsic op, Type type, const Position& at) {
    if (op == Intrinsic::MulHi) need(can_.mul_hi, "the high half of products (mul_hi)", at);
    if (!is_float(type)) return;
    if (op == Intrinsic::Sqrt) need(can_.exact_sqrt, "exact square roots (exact_sqrt)", at);
    // The functions of ir/maths.hpp are made of it.
    const bool fma = op == Intrinsic::Fma || is_maths(op);
    if (fma) need(can_.exact_fma, "fused multiplication and addition (exact_fma)", at);
    if (type == Type::F32 && (fma || op == Intrinsic::Sqrt)) of_f32(at);
  }

  const check::CheckedProgram& c_;
  const device::Capabilities& can_;
  const device::BackendInfo& info_;
  std::optional<Error> missing_;
};

Result<void> check_alignment(const check::CheckedProgram& program, BufferId id,
                             const device::BackendInfo& info) {
  const Buffer& buffer = program.program[id];
  const uint64_t most =
      buffer.kind == BufferKind::Shared ? device::kMostSharedAlignment : device::kMostAlignment;
  if (program.buffers[id.index()].align <= most) return {};
  return limit(fmt::format("the @align of `{}`", buffer.name), program.buffers[id.index()].align,
               most, info, "use a smaller alignment");
}

Result<void> check_grid(const check::Axes& grid, const device::BackendInfo& info) {
  for (size_t axis = 0; axis < grid.size(); ++axis)
    if (grid[axis] > info.capabilities.max_workgroups[axis])
      return limit(fmt::format("axis {} of the grid in workgroups", "xyz"[axis]), grid[axis],
                   info.capabilities.max_workgroups[axis], info,
                   "use a smaller grid or larger workgroups");
  return {};
}

}  // namespace

Result<void> check_device_limits(const check::CheckedProgram& program,
                                 const std::optional<check::Axes>& workgroup,
                                 const device::BackendInfo& info,
                                 const std::optional<check::Axes>& grid) {
  const device::Capabilities& can = info.capabilities;
  const check::Axes size = workgroup.value_or(program.workgroup);
  uint64_t lanes = 1;
  for (size_t axis = 0; axis < size.size(); ++axis)
    if (size[axis] == 0)
      return std::unexpected(
          error(ErrorCode::InvalidArgument,
                fmt::format("axis {} of the workgroup is 0. Fix: use at least 1", "xyz"[axis])));
  for (size_t axis = 0; axis < size.size(); ++axis) {
    if (size[axis] > can.max_workgroup_size[axis])
      return limit(fmt::format("axis {} of the workgroup", "xyz"[axis]), size[axis],
                   can.max_workgroup_size[axis], info, "use a smaller workgroup");
    lanes *= size[axis];  // each is at most 1024 by the language's rules, or was just checked
    if (lanes > can.max_invocations_per_workgroup)
      return limit("the number of lanes of a workgroup", lanes, can.max_invocations_per_workgroup,
                   info, "use a smaller workgroup");
  }
  if (grid) VYRE_TRY(check_grid(*grid, info));
  uint64_t shared = 0;
  uint64_t bindings = 0;
  for (uint32_t i = 0; i < program.buffers.size(); ++i) {
    VYRE_TRY(check_alignment(program, BufferId{i}, info));
    if (program.program.buffers[i].kind == BufferKind::Shared)
      shared += uint64_t{program.buffers[i].constant_count.value_or(0)} *
                bytes_of(program.program.buffers[i].element);
    else
      ++bindings;
  }
  if (shared > can.shared_bytes)
    return limit("the shared memory of a workgroup in bytes", shared, can.shared_bytes, info,
                 "use smaller shared buffers");
  if (bindings > can.max_bindings)
    return limit("the number of buffers", bindings, can.max_bindings, info, "use fewer buffers");
  return Features(program, info).run();
}

Result<void> check_grid_limits(const check::Launch& launch, const device::BackendInfo& info) {
  return check_grid(launch.grid, info);
}

}  // namespace vyre::pipeline
