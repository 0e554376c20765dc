// SPDX-License-Identifier: Apache-2.0
// Subgroup operations of lanes that are threads: values go from lane to lane as words. Lanes that
// have ended, or never were, give no value; where there may be such lanes, each lane collects the
// values of all and computes what the whole subgroup would have.
#pragma once

#include "codegen/llvm/body/emitter.hpp"

namespace vyre::codegen {

class ThreadSubgroupEmitter : Emitter {
 public:
  ThreadSubgroupEmitter(BodyContext& context, Emitters& emitters) : Emitter(context, emitters) {}

  Val subgroup(const ir::Subgroup& e);

 private:
  llvm::Value* word_of_lane(llvm::Value* v, llvm::Value* lane);
  llvm::Value* over_all(ir::SubgroupOp op, ir::Type type, llvm::Value* v);
  llvm::Value* over_present(ir::SubgroupOp op, ir::Type type, llvm::Value* v, llvm::Value* present);
};

}  // namespace vyre::codegen
