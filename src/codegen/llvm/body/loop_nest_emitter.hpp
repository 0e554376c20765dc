// SPDX-License-Identifier: Apache-2.0
// Loops as nests, for threads: an inner loop of some iterations that only the loop itself counts,
// and one around it that polls whether to go on. LLVM unrolls the inner one.
//
// The target counts the work since the last poll. It is reported at the end of each run of the
// inner loop, and where iterations end early: by a condition, a break, or a return. A loop that
// ends before it has polled leaves that to the ones around it, and these poll after each iteration.
#pragma once

#include "codegen/llvm/body/loop_emitter.hpp"

namespace vyre::codegen {

class LoopNestEmitter : Emitter {
 public:
  LoopNestEmitter(BodyContext& context, Emitters& emitters) : Emitter(context, emitters) {}

  void emit_for(const ForLoop& loop);
  void emit_while(const ir::While& s, ir::StmtId id);
  // Reports the iterations of a loop that are not counted as work yet; nothing if it is no nest.
  void flush_count(const Loop& loop);

 private:
  struct Nest {
    llvm::BasicBlock* before = nullptr;
    Loop loop;
  };
  Nest start();
  void poll(const Nest& nest, ir::StmtId id);
  void set_weight(const Nest& nest, uint64_t weight);
};

}  // namespace vyre::codegen
