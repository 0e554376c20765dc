// SPDX-License-Identifier: Apache-2.0
// Loads and stores. Out of bounds is defined, so every access without a proof is tested: in one
// lane by choosing another address, in a block once for all lanes where they lie side by side, else
// lane by lane in a mask.
#pragma once

#include <map>
#include <utility>

#include "codegen/llvm/body/emitter.hpp"

namespace vyre::codegen {

class MemoryEmitter : Emitter {
 public:
  MemoryEmitter(BodyContext& context, Emitters& emitters) : Emitter(context, emitters) {}

  MemoryRef memory(ir::Memory m);
  Val load(ir::Memory m, ir::ExprId index, SiteRef site, bool proved);
  Val load_at(const MemoryRef& m, Val index, ir::Type index_type, SiteRef site, bool proved);
  void store_at(const MemoryRef& m, ir::Memory source, Val index, ir::Type index_type, Val v,
                SiteRef site, bool proved);

  // ---- for atomics, which access memory in their own way

  llvm::Value* wide_index(llvm::Value* index, ir::Type type);
  llvm::Value* element_address(const MemoryRef& m, llvm::Value* wide);
  // Lanes that may access: the mask without those that are out of bounds. Checked mode: these stop.
  // Null: all.
  llvm::Value* allowed(const MemoryRef& m, const Val& index, ir::Type index_type, SiteRef site,
                       bool proved);
  // Scalars: whether the access may happen; null: it may. Checked mode: otherwise the lane stops.
  llvm::Value* allowed_scalar(const MemoryRef& m, const Val& index, ir::Type index_type,
                              SiteRef site, bool proved);
  // Where the row of an access starts that all lanes take part in and that needs no test here; null
  // if there is no such guard.
  llvm::Value* unmasked_row(const MemoryRef& m, const Val& index, ir::Type index_type,
                            llvm::Value* address, bool proved);
  // `access` if `inside` holds, else zero of what it gives.
  llvm::Value* jumped_over(llvm::Value* inside, llvm::function_ref<llvm::Value*()> access);
  [[nodiscard]] llvm::Align align_of(const MemoryRef& m) const;
  // Scopes and invariance, as metadata of an access.
  template <class Instruction>
  Instruction* mark(const MemoryRef& m, Instruction* access) {
    describe_access(m, *access);
    return access;
  }

 private:
  MemoryRef table(ir::ConstId id);
  MemoryRef new_table(ir::ConstId id);
  void describe_access(const MemoryRef& m, llvm::Instruction& access);
  llvm::Value* finish_load(const MemoryRef& m, llvm::Value* raw);

  llvm::Value* in_bounds(const MemoryRef& m, const Val& index, ir::Type index_type);
  void stop_lanes(llvm::Value* lanes, SiteRef site, const MemoryRef& m, const Val& index,
                  ir::Type index_type);
  // A row of lanes that starts there, as an unsigned number of 64 bits.
  llvm::Value* whole_row_inside(const MemoryRef& m, llvm::Value* wide_first, ir::Type index_type);
  llvm::Value* ragged_start(llvm::Value* first, llvm::Value* offset);

  Val load_scalar(const MemoryRef& m, const Val& index, ir::Type index_type, SiteRef site,
                  bool proved);
  Val load_per_lane(const MemoryRef& m, const Val& index, ir::Type index_type, SiteRef site,
                    bool proved);
  Val load_contiguous(const MemoryRef& m, const Val& index, ir::Type index_type, SiteRef site,
                      bool proved);
  // Reads a row early that will be used later.
  void prefetch(const MemoryRef& m, const Val& index, llvm::Value* address);
  llvm::Value* gather_narrow(const MemoryRef& m, llvm::Value* index, llvm::Value* lanes_in);
  llvm::Value* lane_part(const MemoryRef& m, llvm::Value* index, ir::Type index_type);

  void store_scalar(const MemoryRef& m, const Val& index, ir::Type index_type, const Val& v,
                    SiteRef site, bool proved);
  void store_per_lane(const MemoryRef& m, const Val& index, ir::Type index_type, const Val& v,
                      SiteRef site, bool proved);
  void store_uniform(const MemoryRef& m, const Val& index, ir::Type index_type, const Val& v,
                     SiteRef site, bool proved);
  llvm::Value* changes_element(const MemoryRef& m, const Val& index, llvm::Value* inside,
                               llvm::Value* address, llvm::Value* raw);
  void store_contiguous(const MemoryRef& m, ir::Memory source, const Val& index,
                        ir::Type index_type, llvm::Value* raw, SiteRef site, bool proved);
  llvm::Value* sink_address();

  std::map<std::pair<const void*, uint32_t>, MemoryRef> tables_;  // by program and constant
};

}  // namespace vyre::codegen
