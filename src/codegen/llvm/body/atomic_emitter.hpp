// SPDX-License-Identifier: Apache-2.0
// Atomics. Memory that no other thread sees (shared memory of a workgroup, which one thread runs)
// needs plain operations only. Lanes of a block are serialised, unless their results are unused and
// their operands can be combined first.
#pragma once

#include "codegen/llvm/body/emitter.hpp"

namespace vyre::codegen {

class AtomicEmitter : Emitter {
 public:
  AtomicEmitter(BodyContext& context, Emitters& emitters) : Emitter(context, emitters) {}

  Val atomic(ir::ExprId id, const ir::Atomic& e, bool used);

 private:
  // An operation with its operands, as the lanes of the block come to it.
  struct Operation {
    const ir::Atomic& e;
    MemoryRef m = {};
    Val index = {};
    std::array<Val, 2> args = {};
    ir::Type index_type = ir::Type::U32;
    SiteRef site = {};
    bool proved = false;
    bool used = false;
  };
  Val of_block(const Operation& o);
  // All lanes come to one element and one operation does for them; nothing if it does not.
  std::optional<Val> to_one_element(const Operation& o);
  // An aligned row, read whole; null if it is not one.
  llvm::Value* load_row(const Operation& o);
  Val serialised(const Operation& o, llvm::Value* lanes_in);
  // One operation, if `may` (null: yes).
  llvm::Value* guarded(const Operation& o, llvm::Value* may, llvm::Value* index, llvm::Value* a,
                       llvm::Value* b);
  llvm::Value* scalar(const MemoryRef& m, const ir::Atomic& e, llvm::Value* address, llvm::Value* a,
                      llvm::Value* b);
  llvm::Value* unshared(const MemoryRef& m, const ir::Atomic& e, llvm::Value* address,
                        llvm::Value* a, llvm::Value* b);
  void store(const MemoryRef& m, const ir::Atomic& e, llvm::Value* address, llvm::Value* a);
  llvm::Value* as_bits(llvm::Value* v);
  llvm::Value* replaces(ir::AtomicOp op, ir::Type type, llvm::Value* old, llvm::Value* given);
  llvm::Value* order_floats(const MemoryRef& m, const ir::Atomic& e, llvm::Value* address,
                            llvm::Value* a);
  llvm::Value* read_modify_write(const MemoryRef& m, const ir::Atomic& e, llvm::Value* address,
                                 llvm::Value* a);
  llvm::Value* combine(const MemoryRef& m, const ir::Atomic& e, llvm::Value* wide, llvm::Value* a);
  // Of all lanes, in the worker's private copy if there is one.
  void combine_lanes(const Operation& o, llvm::Value* lanes_in);
  llvm::Value* reduced(ir::AtomicOp op, ir::Type type, llvm::Value* values);
  // Elements with a number that is not a constant are taken from memory; null: all lanes have the
  // same.
  llvm::Value* in_memory(const Val& v);
  llvm::Value* of_lane(const Val& v, llvm::Value* place, llvm::Value* lane);
};

}  // namespace vyre::codegen
