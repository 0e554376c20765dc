// SPDX-License-Identifier: Apache-2.0
// The form in which the oracle runs a program: the statements and expressions one after the other
// as instructions on numbered slots. A lane is then a program counter and an array of slots, so it
// can stop anywhere and go on later.
//
// This is a change of notation and nothing else: no instruction is left out, moved, merged or
// specialised.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/scalar.hpp"
#include "vyre/check/check.hpp"

namespace vyre::oracle {

using Slot = uint32_t;  // of 8 bytes, in the frame of a lane
using Pc = uint32_t;

enum class Op : uint8_t {
  Step,        // a statement (or another iteration of a loop) begins: a = StmtId
  Scalar,      // dst = fn(a, b, c)
  Constant,    // dst = imm
  Copy,        // dst = a
  Builtin,     // dst = builtin `a`, axis b
  Length,      // dst = number of elements of memory
  AxisLength,  // dst = length of axis imm of memory
  AxisStep,    // dst = element so far (a), then index b on axis imm of memory; kOutsideAxis stays
  Load,        // dst = memory[a]
  Store,       // memory[a] = b
  Atomic,      // dst = old value of memory[a]; operands b, c
  ZeroArray,   // private array at dst, a slots
  Jump,        // to target
  JumpIf,      // to target if a
  JumpUnless,
  ForNext,    // a += step (slot c) and to target, unless that reaches b
  ForLast,    // a = the last value of a .. b in steps of slot c
  ForPrev,    // a -= step (slot c) and to target, unless a is b
  Call,       // to target; the return address goes to slot dst
  Return,     // to the address in slot a
  Retire,     // unless a: this lane takes no part in subgroup operations any more
  End,        // this lane ends
  Trap,       // a = value, b = tag, c = target if there is a resume, else kNoTarget
  Print,      // a = row of Code::prints
  Assert,     // the lane ends unless b, in checked mode; a = row of Code::prints
  CopyAsync,  // a = row of Code::copies
  // Where lanes synchronise. A lane stops there until all live lanes of the scope have arrived.
  Barrier,        // scope
  Subgroup,       // dst = operation `c` of a, lane operand b
  Wait,           // tag b
  FixpointEnter,  // a = most passes, b = row of Code::fixpoints
  FixpointPass,   // b = row; back to target unless it is done
  Resume,         // tag b
  Collective,     // a = row of Code::collectives
  Swap,           // a, b = memory rows
};

inline constexpr uint32_t kNoTarget = ~uint32_t{0};

// Row of Code::memories, or with kParam set the slot of a buffer parameter that holds such a row.
using MemoryRow = uint32_t;
inline constexpr MemoryRow kParam = uint32_t{1} << 31;

struct Instr {
  Op op = Op::End;
  ir::Type type = ir::Type::U32;  // of the index, the loop variable or the operands
  ir::Scope scope = ir::Scope::Workgroup;
  uint8_t what = 0;   // AtomicOp, SubgroupOp; of a Load: 1 where it neither stops nor races
  uint8_t order = 0;  // MemoryOrder
  Slot dst = 0;
  uint32_t a = 0, b = 0, c = 0;
  MemoryRow memory = 0;
  Pc target = 0;
  union {
    ir::ScalarFn fn;
    uint64_t imm;
  };
  Instr() : imm(0) {}
};

struct MemoryInfo {
  enum class Kind : uint8_t { Buffer, Shared, Table, Array };
  Kind kind = Kind::Buffer;
  ir::Type element = ir::Type::U32;
  ir::Memory memory;    // what it is in the program
  uint64_t count = 0;   // not for Buffer
  uint64_t offset = 0;  // Shared: bytes into the workgroup's memory. Table: into Code::tables.
                        // Array: slot.
  std::vector<uint64_t> axes = {};  // not for Buffer; empty without a shape
};

struct CopyInfo {
  ir::StmtId stmt;
  uint16_t tag = 0;
  MemoryRow dst = 0, src = 0;
  Slot dst_index = 0, src_index = 0, count = 0;
  ir::Type dst_type = ir::Type::U32, src_type = ir::Type::U32, count_type = ir::Type::U32;
};

struct FixpointInfo {
  std::vector<MemoryRow> buffers;
};

struct CollectiveInfo {
  ir::StmtId stmt;
  ir::CollectiveOp op = ir::CollectiveOp::AllReduce;
  MemoryRow src = 0, dst = 0;
};

// A print() or assert().
struct PrintInfo {
  ir::StmtId stmt;
  std::vector<Slot> slots;
  std::vector<ir::Type> types;
};

struct Code {
  std::vector<Instr> instrs;
  std::vector<ir::StmtId> stmts;  // by Pc: the statement it belongs to
  std::vector<ir::ExprId> exprs;  // by Pc: the expression, if it is an access
  std::vector<MemoryInfo> memories;
  std::vector<std::byte> tables;
  std::vector<CopyInfo> copies;
  std::vector<FixpointInfo> fixpoints;
  std::vector<CollectiveInfo> collectives;
  std::vector<PrintInfo> prints;
  uint32_t print_words = 0;                   // check::print_record_words()
  std::vector<Pc> unconditional_collectives;  // outside branches, loops and functions, in order
  uint32_t frame_slots = 0;
  uint64_t shared_bytes = 0;
  bool ordered_atomics = false;  // some atomic is not relaxed
};

// `live`: a local of the program; a lane in which it is false takes no part in subgroup operations.
Code compile(const check::CheckedProgram& checked, ir::LocalId live = {});

}  // namespace vyre::oracle
