// SPDX-License-Identifier: Apache-2.0
// The state behind a ProgramBuilder: the Program so far, the blocks that are open, and the
// bookkeeping that keeps expressions trees, effects in order and locals in their scope. Public
// functions of the builder turn their arguments into calls of a Core; every mistake becomes a
// diagnostic here.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/ir/builder.hpp"

namespace vyre::build {

class Core {
 public:
  explicit Core(const Name& name);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // The builder that free functions act on. Without one the misuse of `function` is recorded for
  // the thread.
  static Core* current(std::string_view function, const Where& where);
  static Value poison();

  Diagnostic& report(Code code, const Where& where, std::string message, std::string fix);
  ir::LocId loc(const Where& where);
  [[nodiscard]] uint64_t owner() const { return owner_; }

  // ---- expressions ----

  // Takes a value as an operand of the node that is made next: the tree itself, or a copy if it has
  // a parent.
  ir::ExprId use(const Operand& operand);
  // Nothing if the operand is not given.
  ir::ExprId use_optional(const Operand& operand) {
    return operand.given() ? use(operand) : ir::ExprId{};
  }
  ir::Memory use(const MemoryRef& memory, const Where& where);
  // Where only a buffer will do, as a whole: no table and no array.
  ir::Memory use_buffer(const MemoryRef& memory, const Where& where, std::string_view user);
  // The node over what was used since the last one.
  Value make(ir::Expr expr, const Where& where, bool effect = false);
  // In place of a node that cannot be made, after something was used for it.
  Value dropped();
  Value decimal(std::string_view text, std::optional<ir::Type> suffix, const Where& where);

  // ---- statements ----

  // Appends the statement after those that pending effects become. Invalid if the program is too
  // large.
  ir::StmtId emit(ir::Stmt stmt, const Where& where);
  void assign(uint64_t owner, ir::LocalId local, std::optional<ir::BinaryOp> op,
              const Operand& value);
  ir::LocalId declare(ir::Local::Kind kind, const Name& name, std::optional<ir::Type> type,
                      const Where& where);
  [[nodiscard]] Value local_value(ir::LocalId id) const;
  // Runs the body with a new block open and returns the block. `variable` is visible in it.
  ir::Block block(const Where& where, const Body& body, ir::LocalId variable = {});
  // The same `depth` blocks further in, for the branches of an if.
  ir::Block block_at(uint32_t depth, const Where& where, const Body& body);
  // Whether a branch may follow `outer` now, whose last branch so far is `inner`.
  bool else_fits(uint64_t owner, ir::StmtId outer, ir::StmtId inner, const Where& where);
  // An `if` that is the only statement of the else block of `inner`.
  ir::StmtId add_else_if(ir::StmtId inner, ir::ExprId condition, const Where& where);
  bool tag_fits(int tag, const Where& where);

  // ---- declarations ----

  // False after finish(), with a report for the thread.
  bool is_open(std::string_view function, const Where& where) const;
  std::string checked_name(const Name& name, std::string_view what, bool may_be_empty);
  // Uses an operand outside any body; locals have no place there.
  ir::ExprId use_in_declaration(const Operand& operand, std::string_view what);
  Value call(uint64_t owner, ir::FnId fn, std::span<const Argument> args, const Where& where);
  ir::FnId function(const Name& name, const std::vector<ParamSpec>& params,
                    std::optional<ir::Type> result, const std::function<void(const Params&)>& body);
  void elements(ir::Buffer& buffer, const Attribute& attribute);
  void header(std::array<ir::ExprId, 3>& ids, ir::LocId& at, Code code, std::string_view what,
              std::initializer_list<Operand> operands);
  MemoryRef buffer(ir::BufferKind kind, const Name& name, ir::Type element,
                   std::span<const Attribute> attributes);

  Result<ir::Program> finish(const Where& where);

  ir::Program& program() { return program_; }

 private:
  enum class Use : uint8_t { Free, InExpression, Emitted };
  struct NodeInfo {
    uint32_t size = 1;
    uint32_t depth = 1;
    uint32_t scope = 0;  // innermost block whose locals it needs; 0: none
    bool effect = false;
    Use use = Use::Free;
    ir::LocId used_at;
  };
  // An expression with an effect that no statement has taken yet.
  struct Effect {
    ir::ExprId root;
    uint64_t oldest = 0, newest = 0;  // of the effects in it, numbered as they were made
  };
  struct OpenBlock {
    std::vector<ir::StmtId> items;
    std::vector<Effect> pending;
    uint32_t scope = 0;
    uint32_t depth = 0;
  };
  struct Scope {
    uint32_t frame = 0;  // 0: the main body
    bool open = true;
  };

  // Opens a block for its lifetime; a body that throws leaves no half-open block behind.
  class OpenScope {
   public:
    OpenScope(Core& core, uint32_t depth, uint32_t frame);
    ~OpenScope();
    OpenScope(const OpenScope&) = delete;
    OpenScope& operator=(const OpenScope&) = delete;
    ir::Block close();

   private:
    Core& core_;
    uint32_t outer_frame_;
    bool closed_ = false;
  };

  [[nodiscard]] bool nesting_fits(uint32_t depth, const Where& where);
  ir::Block run_block(uint32_t depth, const Where& where, const Body& body, ir::LocalId variable);
  bool owns(uint64_t owner, const Where& where, std::string_view what);
  bool scope_visible(uint32_t scope, const Where& where, std::string_view what);
  ir::ExprId add_node(ir::Expr expr, ir::LocId at, bool effect = false);
  ir::ExprId add_poison(ir::LocId at);
  ir::ExprId use_node(ir::ExprId id, const Where& where);
  bool suffix_fits(std::optional<ir::Type> suffix, bool is_decimal, const Where& where);
  ir::ExprId use_real(const detail::Handle& handle, const Where& where);
  ir::ExprId copy(ir::ExprId id);
  bool take_effect(ir::ExprId id, const Where& where);
  void flush_effects();
  void emit_effect(const Effect& effect);
  void check_effect_order();
  Diagnostic& report_at(Code code, ir::LocId at, std::string message, std::string fix);
  [[nodiscard]] bool grow(ir::LocId at);
  NodeInfo info_for(const ir::Expr& expr, bool effect) const;
  [[nodiscard]] uint32_t scope_of(ir::Memory memory) const;
  [[nodiscard]] std::string describe(ir::LocalId id) const;
  void attribute(ir::Buffer& buffer, const Attribute& attribute, uint32_t& seen);
  void name_locals();
  void wrap_top_level();

  ir::Program program_;
  Diagnostics diagnostics_;
  uint64_t owner_;
  std::vector<NodeInfo> info_;          // parallel to program_.exprs
  std::vector<uint32_t> local_scopes_;  // parallel to program_.locals
  std::vector<Scope> scopes_;           // by number of the block; 0 is unused
  std::vector<OpenBlock> blocks_;
  std::vector<Effect> taken_;  // effects in operands of the node or statement that is being made
  uint64_t effects_ = 0;
  size_t copied_ = 0;
  uint32_t frames_ = 0;
  uint32_t frame_ = 0;
  ir::ExprId poison_;
  ir::LocId last_loc_;
  ir::LocId deepest_;  // a block of the main body at the limit of nesting
  bool finished_ = false;
  bool too_large_ = false;
  bool left_by_exception_ = false;
};

}  // namespace vyre::build
