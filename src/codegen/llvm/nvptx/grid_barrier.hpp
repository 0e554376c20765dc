// SPDX-License-Identifier: Apache-2.0
// Barriers of the grid. One thread of each block adds to a counter and waits until all have. The
// counter is never set back: what it was before a barrier is known to all, so that it may wrap.
//
// A kernel with votes has two counters, used alternately. Their lowest sixteen bits count blocks,
// the next ones those that vote with yes. When all have come to a barrier, no block adds to its
// counter before all have left the next one, so what one reads then is final, and the base of the
// barrier after that.
#pragma once

#include "codegen/llvm/nvptx/kernel_context.hpp"

namespace vyre::codegen {

class GridBarrierEmitter : KernelPart {
 public:
  explicit GridBarrierEmitter(KernelContext& context) : KernelPart(context) {}

  // At the start of the kernel.
  void declare();
  // Whether the first barrier stands in no loop and under no condition.
  [[nodiscard]] bool is_first_at_top() const;
  // The first barrier tests what the cancel word was at the insertion point.
  void load_cancel_word() { cancel_at_start_ = k_.cancel_word(); }

  // `at`: the statement, if it is one.
  void barrier(ir::StmtId at);
  // Votes: what a statement does, and what an expression is, that takes part in one.
  bool try_lower_statement(ir::StmtId id);
  llvm::Value* try_lower_expression(ir::ExprId id);

 private:
  // One barrier, as a block comes to it.
  struct Arrival {
    llvm::Value* counter = nullptr;  // its address
    llvm::Value* base = nullptr;     // what it was when all had left the barrier before
    llvm::Value* blocks = nullptr;
  };
  Arrival next_arrival();
  llvm::Value* all_arrived(const Arrival& arrival, llvm::Value* grown);
  llvm::Value* poll_counter(const Arrival& arrival);
  llvm::Function* wait_function();
  // By one thread of each block: what it reports to the others, at the insertion point; without
  // votes it goes to `join` unless the launch is given up.
  llvm::Value* wait_for_all(const Arrival& arrival, llvm::Value* mine, llvm::BasicBlock* join);

  llvm::Value* cancel_at_start_ = nullptr;
  // Variables. With votes, the two counters alternate.
  llvm::Type* count_type_ = nullptr;
  llvm::Value* base_ = nullptr;
  llvm::Value* next_base_ = nullptr;
  llvm::Value* counter_at_ = nullptr;
  std::vector<llvm::Value*> cast_;     // variables: this lane has, by vote
  std::vector<llvm::Value*> outcome_;  // variables
};

}  // namespace vyre::codegen
