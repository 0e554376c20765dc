// SPDX-License-Identifier: Apache-2.0
// Memory as the code of a body sees it, and places of the source that a stop can name.
#pragma once

#include <algorithm>

#include "codegen/llvm/body/values.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::codegen {

inline constexpr uint32_t kCopyBanks = 4;
// A worker's private copy of a buffer into which a launch only ever combines values, in some banks
// so that updates of one element do not wait for each other again and again.
struct PrivateCopy {
  llvm::Value* use = nullptr;  // i1: whether the copy is there
  llvm::Value* address = nullptr;
  llvm::Value* bank_mask = nullptr;    // of lane numbers, i64
  llvm::Value* bank_stride = nullptr;  // elements, i64
};

// Memory that can be indexed.
struct MemoryRef {
  ir::Type element = ir::Type::U32;
  llvm::Value* address = nullptr;
  llvm::Value* length = nullptr;  // elements, i32
  bool invariant = false;         // not written while the kernel runs
  bool phase_invariant = false;   // not written in this phase
  bool own = false;               // no other thread sees it: atomics need not be atomic
  bool per_lane = false;          // elements are vectors, one part for each lane
  const PrivateCopy* copy = nullptr;
  uint16_t argument = 0;  // what a parameter stands for, see argument_number()
  llvm::MDNode* scope = nullptr;
  llvm::MDNode* others = nullptr;  // the scopes of all other memories
};

// Buffers and tables of a program, as what a parameter of a function can stand for; 0 is none.
inline constexpr uint16_t kTableArguments = 0x8000;
uint16_t argument_number(ir::Memory memory);

// What changes nothing as the operand of an atomic operation, of a scalar or vector type; null if
// there is no such operand.
llvm::Constant* neutral_operand(ir::AtomicOp op, ir::Type type, llvm::Type* shape);

// A place in the source that a stop can name.
struct SiteRef {
  ir::ExprId expr;
  ir::StmtId stmt;
};

// An asynchronous copy, as every lane of the workgroup comes to it.
struct CopyOperands {
  ir::Memory dst_memory, src_memory;
  MemoryRef dst, src;
  llvm::Value* dst_index = nullptr;
  llvm::Value* src_index = nullptr;
  llvm::Value* count = nullptr;
  ir::Type dst_type = ir::Type::U32, src_type = ir::Type::U32, count_type = ir::Type::U32;
};

// Checked mode: whether a copy of some elements leaves a memory (numbers of one wide type), and the
// index (i64) that says so.
struct OutsideCopy {
  llvm::Value* outside = nullptr;
  llvm::Value* index = nullptr;
};
OutsideCopy outside_copy(Builder& builder, llvm::Value* first, llvm::Value* count,
                         llvm::Value* length);

inline uint64_t row_align(ir::Type element, uint32_t lanes) {
  return std::min<uint64_t>(64, uint64_t{lanes} * ir::bytes_of(element));
}

// Metadata of loads that can be done before the lanes of a phase start, and give the same there.
inline constexpr const char* kPhaseInvariant = "vyre.steady";

// A global constant with a name of its own, at a multiple of 64.
llvm::GlobalVariable* new_constant(llvm::Module& module, const std::string& name,
                                   llvm::Constant* value);
// Eight bytes of zeros, to load instead of what is not there.
llvm::Value* zero_global(llvm::Module& module);

}  // namespace vyre::codegen
