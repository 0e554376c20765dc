// SPDX-License-Identifier: Apache-2.0
// Statements but loops.
#pragma once

#include "codegen/llvm/body/emitter.hpp"

namespace vyre::codegen {

class StatementEmitter : Emitter {
 public:
  StatementEmitter(BodyContext& context, Emitters& emitters);

  // All statements of the program, for lanes that have not ended.
  void emit_program();
  void emit_block(ir::Block block);
  void emit_statement(ir::StmtId id);

 private:
  void emit_top(std::vector<ir::StmtId> items, size_t first);
  void emit_let(const ir::Let& s);
  void emit_array(const ir::DeclareArray& s);
  void emit_assign(const ir::Assign& s);
  void emit_store(const ir::Store& s, ir::StmtId id);
  void emit_if(const ir::If& s, ir::StmtId id);
  void demand_lanes(const ir::If& s);
  void emit_uniform_if(llvm::Value* condition, const ir::If& s);
  void emit_divergent_if(Val condition, const ir::If& s);
  void emit_loop(const ir::For& s, ir::StmtId id);
  void emit_loop(const ir::While& s, ir::StmtId id);
  void emit_break();
  void emit_continue();
  void emit_return(const ir::Return& s);
  void emit_trap(const ir::Trap& s, ir::StmtId id);
  void emit_barrier(const ir::Barrier& s, ir::StmtId id);
  void emit_copy(const ir::AsyncCopy& s, ir::StmtId id);
  // Its lanes run it one after the other.
  [[nodiscard]] bool is_serialised(ir::StmtId id) const;

  std::vector<bool> assigned_;  // by local of the program: variables that are not only declared
};

}  // namespace vyre::codegen
