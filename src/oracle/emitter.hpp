// SPDX-License-Identifier: Apache-2.0
// The lower half of compile(): memories get rows, values get slots, instructions are appended.
#pragma once

#include <algorithm>
#include <vector>

#include "base/check.hpp"
#include "oracle/code.hpp"

namespace vyre::oracle {

class Emitter {
 protected:
  explicit Emitter(const check::CheckedProgram& checked)
      : c_(checked),
        p_(checked.program),
        slots_(p_.locals.size(), 0),
        arrays_(p_.locals.size(), 0) {}

  struct CallSite {
    ir::FnId fn;
    Slot boundary = 0;
  };
  // What the body of the program or of a function needs of a frame.
  struct Body {
    uint32_t slots = 0;
    std::vector<CallSite> calls;
  };

  // ---- memories

  void declare_memories() {
    for (uint32_t i = 0; i < p_.buffers.size(); ++i) {
      const ir::Buffer& b = p_.buffers[i];
      MemoryInfo info{.element = b.element, .memory = ir::Memory::of(ir::BufferId{i})};
      if (b.kind == ir::BufferKind::Shared) {
        info.kind = MemoryInfo::Kind::Shared;
        info.count = *c_.buffers[i].constant_count;
        info.axes = constant_axes(b.axes);
        info.offset = code_.shared_bytes;
        code_.shared_bytes += (info.count * ir::bytes_of(b.element) + 7) / 8 * 8;
      }
      code_.memories.push_back(info);
    }
    first_table_ = static_cast<uint32_t>(code_.memories.size());
    for (uint32_t i = 0; i < p_.consts.size(); ++i) {
      MemoryInfo info{.kind = MemoryInfo::Kind::Table,
                      .element = p_.consts[i].type,
                      .memory = ir::Memory::of(ir::ConstId{i}),
                      .count = c_.constants[i].size(),
                      .offset = code_.tables.size()};
      const uint32_t size = ir::bytes_of(info.element);
      code_.tables.resize(code_.tables.size() + info.count * size);
      for (size_t k = 0; k < info.count; ++k)
        ir::store_element(info.element, code_.tables.data() + info.offset + k * size,
                          c_.constants[i][k].bits);
      code_.memories.push_back(info);
    }
  }

  [[nodiscard]] std::vector<uint64_t> constant_axes(ir::Range axes) const {
    std::vector<uint64_t> lengths;
    for (const ir::ExprId length : p_.values(axes))
      lengths.push_back(check::evaluate_constant(c_, length)->bits);
    return lengths;
  }

  [[nodiscard]] MemoryRow row_of(ir::Memory m) const {
    switch (m.kind) {
      case ir::Memory::Kind::Buffer: return m.index;
      case ir::Memory::Kind::Table: return first_table_ + m.index;
      case ir::Memory::Kind::Local:
        return p_[m.local()].kind == ir::Local::Kind::Array ? arrays_[m.index]
                                                            : kParam | slots_[m.index];
    }
    return 0;
  }

  [[nodiscard]] ir::Type element_of(ir::Memory m) const {
    switch (m.kind) {
      case ir::Memory::Kind::Buffer: return p_[m.buffer()].element;
      case ir::Memory::Kind::Table: return p_[m.table()].type;
      case ir::Memory::Kind::Local: return *c_.local_types[m.index];
    }
    return ir::Type::U32;
  }

  // ---- emitting

  [[nodiscard]] Pc here() const { return static_cast<Pc>(code_.instrs.size()); }

  Instr& emit(Op op, ir::ExprId expr = {}) {
    Instr instr;
    instr.op = op;
    code_.instrs.push_back(instr);
    code_.stmts.push_back(stmt_);
    code_.exprs.push_back(expr);
    return code_.instrs.back();
  }
  void step() { emit(Op::Step).a = stmt_.value; }
  Pc emit_jump(Op op, Slot condition = 0) {
    emit(op).a = condition;
    return here() - 1;
  }
  void land(Pc jump) { code_.instrs[jump].target = here(); }

  Slot new_slots(uint32_t n = 1) {
    const Slot slot = next_;
    next_ += n;
    body_.slots = std::max(body_.slots, next_);
    return slot;
  }

  Slot scalar(ir::ScalarFn fn, Slot a, Slot b = 0, Slot c = 0) {
    VYRE_CHECK(fn != nullptr);
    const Slot dst = new_slots();
    Instr& i = emit(Op::Scalar);
    i.dst = dst;
    i.a = a;
    i.b = b;
    i.c = c;
    i.fn = fn;
    return dst;
  }
  void copy(Slot dst, Slot src) {
    Instr& i = emit(Op::Copy);
    i.dst = dst;
    i.a = src;
  }
  Slot constant(uint64_t bits) {
    const Slot dst = new_slots();
    Instr& i = emit(Op::Constant);
    i.dst = dst;
    i.imm = bits;
    return dst;
  }
  void barrier(ir::Scope scope) { emit(Op::Barrier).scope = scope; }

  const check::CheckedProgram& c_;
  const ir::Program& p_;
  Code code_;
  uint32_t first_table_ = 0;
  std::vector<Slot> slots_;        // by LocalId, in the frame of its function
  std::vector<MemoryRow> arrays_;  // by LocalId
  Body body_;                      // the one being compiled
  Slot next_ = 0;                  // the first slot that is free
  ir::StmtId stmt_;
};

}  // namespace vyre::oracle
