// SPDX-License-Identifier: Apache-2.0
// Masks: code that only some lanes of a block are meant for, and lanes that leave it.
#pragma once

#include "codegen/llvm/body/emitter.hpp"

namespace vyre::codegen {

class MaskEmitter : Emitter {
 public:
  MaskEmitter(BodyContext& context, Emitters& emitters) : Emitter(context, emitters) {}

  // Runs `body` under the mask if it has a lane; returns the mask afterwards.
  llvm::Value* under_mask(llvm::Value* mask, llvm::function_ref<void()> body);
  // Runs `body(lane number)` for each lane of the mask; an exit in the middle is not possible.
  void for_each_lane(llvm::Value* mask, llvm::function_ref<void(llvm::Value*)> body);
  // The lanes of the mask end.
  void end_lanes();
  // The mask that was `before`, without lanes that have ended since.
  void resume_live(llvm::Value* before);

  // Lanes may leave the block, and not come to its end.
  [[nodiscard]] bool jumps_out(ir::Block block) const;
  // Lanes may end in it, and not only leave it.
  [[nodiscard]] bool can_end(ir::Block block) const;

 private:
  [[nodiscard]] bool calls_ending(ir::ExprId id) const;
};

}  // namespace vyre::codegen
