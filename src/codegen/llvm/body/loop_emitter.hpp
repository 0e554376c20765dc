// SPDX-License-Identifier: Apache-2.0
// Loops: as they are where all lanes take the same iterations, under masks of those that still do
// where they diverge.
#pragma once

#include "codegen/llvm/body/emitter.hpp"

namespace vyre::codegen {

// A loop over numbers, with its bounds as values.
struct ForLoop {
  const ir::For& s;
  ir::StmtId id;
  ir::Type type = ir::Type::U32;
  Val first = {}, last = {}, step = {};
  std::optional<uint64_t> trip_count{};
  bool polls = false;  // it may take too long to end by itself
};

class LoopEmitter : Emitter {
 public:
  LoopEmitter(BodyContext& context, Emitters& emitters) : Emitter(context, emitters) {}

  void emit_for(const ir::For& s, ir::StmtId id);
  void emit_while(const ir::While& s, ir::StmtId id);

  // ---- for the other kinds of loops

  // One iteration, which ends at the insertion point: where lanes go on with the next one.
  void emit_iteration(ir::Block body, llvm::BasicBlock* exit, bool divergent) {
    emit_iteration(body, Loop{.exit = exit}, divergent);
  }
  void emit_iteration(ir::Block body, Loop loop, bool divergent);
  // How much there was at some time: of the function, and of the program.
  struct Emitted {
    std::optional<uint64_t> instructions = {};
    uint64_t nodes = 0;
    uint64_t called = 0;
  };
  Emitted emitted();
  // Polls whether to go on, after an iteration that was emitted since then.
  void poll_iteration(ir::StmtId id, const Emitted& before);
  [[nodiscard]] uint64_t iteration_weight(const Emitted& before) const;
  // Loops so far that poll.
  [[nodiscard]] uint32_t polling() const { return polling_; }
  void note_polling() { ++polling_; }

 private:
  struct LoopLanes {
    llvm::Value* before = nullptr;
    llvm::Value* active = nullptr;  // variable
    bool ends = false;              // lanes may end in it
  };
  LoopLanes enter_divergent(llvm::Value* first_lanes, ir::Block body);
  void leave_divergent(const LoopLanes& lanes);
  Val less(const ForLoop& loop, const Val& a, const Val& b);
  llvm::Value* has_more(const ForLoop& loop, const Val& i);
  void emit_uniform_for(const ForLoop& loop);
  void emit_divergent_for(const ForLoop& loop);
  // The iterations that all lanes take; the rest is for the lanes that are returned, from the
  // values in `variable` on.
  llvm::Value* emit_convergent_iterations(const ForLoop& loop, llvm::Value* variable);
  [[nodiscard]] std::optional<uint64_t> constant_trip_count(const ir::For& s) const;
  [[nodiscard]] bool wraps_behind(const ForLoop& loop) const;

  uint32_t polling_ = 0;
  uint32_t counted_ = 0;  // how often instructions were
};

}  // namespace vyre::codegen
