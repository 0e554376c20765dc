// SPDX-License-Identifier: Apache-2.0
// A program while the passes of the planner work on it.
//
// The passes add nodes and build new blocks; what they leave alone they use again, so a statement
// that no pass touches keeps its id. Facts (types, levels) grow along with the nodes: a pass knows
// what it makes, and nothing is inferred a second time. Every local has a name of its own, since a
// cut moves declarations between blocks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/stop.hpp"
#include "vyre/check/check.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::plan {

using check::Level;
using StmtList = std::vector<ir::StmtId>;

// The data of a Draft, which moves as it is.
struct DraftData {
  explicit DraftData(const check::CheckedProgram& checked) : c(checked) {}

  check::CheckedProgram c;

  // ---- hidden buffers
  std::vector<Hidden> hidden;
  std::vector<Argument> arguments;            // by BufferId
  std::map<uint32_t, ir::BufferId> out_half;  // by number of the hidden buffer

  // ---- what one pass hands to another, by StmtId
  struct LoopForm {
    uint32_t condition_items = 0;  // of the body; then comes `if !word { break; }`
    ir::LocalId word;
  };
  std::unordered_map<uint32_t, LoopForm> loop_forms;       // loops with a cut inside
  std::unordered_map<uint32_t, ir::LocalId> branch_words;  // ifs with a cut inside, fixpoints
  std::unordered_map<uint32_t, uint32_t> fixpoint_rows;    // into `fixpoints`
  std::vector<FixpointInfo> fixpoints;

  bool checked = false;  // any access may stop a lane
  // By LocalId: as the source calls it.
  std::vector<std::string> source_names;
  // Locals that every segment sets up for itself.
  std::unordered_set<uint32_t> ambient;
  // A trap with this tag stops the dispatch because of a fixpoint of at most 0 passes. All live
  // lanes of the grid take it at once.
  std::optional<uint16_t> zero_passes_tag;
  // A trap with this tag is an assert that failed, and its value the row in Outline::asserts.
  std::optional<uint16_t> assert_tag;

  // ---- what the inliner settles
  // Inlining a function twice doubles its resumes, so each copy has a number of its own as tag.
  std::map<uint16_t, uint16_t> source_tags;  // only those that differ
  std::unordered_set<uint32_t>
      unconditional_collectives;  // StmtIds outside branches, loops and functions
};

// What is known of its nodes.
class DraftFacts : public DraftData {
 public:
  explicit DraftFacts(const check::CheckedProgram& checked) : DraftData(checked), p(c.program) {}
  DraftFacts(const DraftFacts&) = delete;
  DraftFacts& operator=(const DraftFacts&) = delete;
  DraftFacts(DraftFacts&& other) noexcept;
  DraftFacts& operator=(DraftFacts&& other) noexcept;
  ~DraftFacts() = default;

  ir::Program& p;  // c.program

  [[nodiscard]] ir::Type type_of(ir::ExprId id) const { return *c.expr_types[id.index()]; }
  [[nodiscard]] ir::Type type_of(ir::LocalId id) const { return *c.local_types[id.index()]; }
  [[nodiscard]] Level level_of(ir::LocalId id) const { return c.local_levels[id.index()]; }
  [[nodiscard]] Level level_of(ir::ExprId id) const;
  [[nodiscard]] Level level_of(ir::Memory m) const;
  [[nodiscard]] Level level_of(const ir::Call& e) const;
  [[nodiscard]] ir::Type element_of(ir::Memory memory) const;
  [[nodiscard]] bool is_shared(ir::Memory memory) const {
    return memory.kind == ir::Memory::Kind::Buffer &&
           p[memory.buffer()].kind == ir::BufferKind::Shared;
  }
  [[nodiscard]] uint32_t lanes_per_group() const {
    return c.workgroup[0] * c.workgroup[1] * c.workgroup[2];
  }
  // In the order of for_each_operand.
  [[nodiscard]] std::vector<ir::ExprId> operands(ir::ExprId id) const;
  [[nodiscard]] std::vector<ir::ExprId> operands(ir::StmtId id) const;
  [[nodiscard]] bool ends_lane(ir::StmtId id) const;
  [[nodiscard]] uint16_t source_tag(uint16_t tag) const {
    const auto it = source_tags.find(tag);
    return it == source_tags.end() ? tag : it->second;
  }
  // A snapshot of a buffer, to be added.
  [[nodiscard]] Hidden snapshot_of(ir::BufferId buffer) const;

 private:
  [[nodiscard]] Level result_level(ir::FnId id) const;

  // By buffer parameter, while the level of a call is found: what it stands for.
  mutable std::map<uint32_t, Level> bound_;
};

// Adds nodes, with their facts.
class Draft : public DraftFacts {
 public:
  explicit Draft(const check::CheckedProgram& checked);

  ir::ExprId expr(ir::Expr e, ir::Type type, ir::LocId loc = {});
  ir::ExprId call_expr(ir::Expr e, std::optional<ir::Type> type, ir::LocId loc);
  ir::StmtId stmt(ir::Stmt s, ir::LocId loc = {}, Level flow = Level::Lane);
  ir::LocalId local(ir::Local::Kind kind, std::string_view name, ir::Type type, Level level);
  // Another local of the same kind; of a parameter a `let`.
  ir::LocalId copy_of(ir::LocalId id);

  ir::ExprId ref(ir::LocalId id);
  ir::ExprId number(uint64_t value, ir::Type type = ir::Type::U32);
  ir::ExprId boolean(bool value);
  ir::ExprId zero(ir::Type type);
  ir::ExprId binary(ir::BinaryOp op, ir::ExprId left, ir::ExprId right);
  ir::ExprId negate(ir::ExprId condition);  // !condition
  ir::ExprId cast(ir::Type type, ir::ExprId operand);
  ir::ExprId builtin(ir::Builtin builtin, uint32_t axis = 0);
  ir::ExprId length(ir::Memory memory);
  ir::ExprId load(ir::Memory memory, ir::ExprId index, bool proved = false);

  ir::StmtId let(ir::LocalId local, ir::ExprId value);
  ir::StmtId assign(ir::LocalId local, ir::ExprId value);
  ir::StmtId store(ir::Memory memory, ir::ExprId index, ir::ExprId value);
  ir::StmtId atomic(ir::AtomicOp op, ir::Memory memory, ir::ExprId index, ir::ExprId value);
  ir::StmtId when(ir::ExprId condition, const StmtList& then, const StmtList& otherwise = {});
  ir::StmtId barrier(ir::Scope scope);
  ir::Block block(const StmtList& items) { return p.add_block(items); }
  // A new immutable local that holds the value; the statement goes to `out`.
  ir::LocalId capture(ir::ExprId value, std::string_view name, Level level, StmtList& out);

  // A copy with other operands, in the order of for_each_operand.
  ir::ExprId with_operands(ir::ExprId id, const std::vector<ir::ExprId>& operands);
  ir::StmtId with_operands(ir::StmtId id, const std::vector<ir::ExprId>& operands);
  // The same statement with other blocks.
  ir::StmtId with_blocks(ir::StmtId id, const std::vector<StmtList>& blocks);
  // The same with what `make` makes of each block; itself, if it has none.
  template <class Make>
  ir::StmtId map_blocks(ir::StmtId id, const Make& make) {
    const ir::Stmt s = p[id];  // `make` may add others
    std::vector<StmtList> blocks;
    ir::for_each_block(s, [&](ir::Block b) { blocks.push_back(make(b)); });
    return blocks.empty() ? id : with_blocks(id, blocks);
  }
  // A deep copy: expressions are trees, so using one twice needs a second one.
  ir::ExprId clone(ir::ExprId id);

  // One row of `hidden` and its buffer; with two halves the second one is `out_half`.
  ir::BufferId add_hidden(Hidden hidden, ir::BufferKind kind = ir::BufferKind::InOut);
  uint16_t fresh_tag();
  std::string fresh_name(std::string_view wish);

 private:
  void keep_facts(ir::StmtId from, ir::StmtId to);

  // Names and tags that are taken.
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, uint32_t> next_suffix_;
  std::unordered_set<uint16_t> tags_;
};

// ---- expressions and statements of several nodes

ir::ExprId as_bits(Draft& d, ir::ExprId value);  // of a 32- or 64-bit value as u32 or u64
ir::ExprId from_bits(Draft& d, ir::ExprId bits, ir::Type type);
// Values as 32-bit words: one or two of them.
uint32_t words_of(ir::Type type);
ir::ExprId word_of(Draft& d, ir::ExprId value, uint32_t word);
ir::ExprId from_words(Draft& d, const std::function<ir::ExprId(uint32_t)>& word, ir::Type type);
// Where a loop over next .. end goes from `next`, which is before the end.
ir::ExprId advanced(Draft& d, ir::LocalId next, ir::LocalId end, uint64_t step);
// The number of this lane in the grid or in its workgroup, of its workgroup, of all lanes.
ir::ExprId lane_id(Draft& d);
ir::ExprId lane_in_group(Draft& d);
ir::ExprId group_id(Draft& d);
ir::ExprId group_count(Draft& d);
ir::ExprId lane_count(Draft& d);
// `for` all elements of a private array.
ir::StmtId over_array(Draft& d, ir::LocalId array,
                      const std::function<StmtList(ir::LocalId)>& each);

// Everything below a statement or expression, itself included.
template <class Visit>
void for_each_stmt(const ir::Program& p, ir::StmtId id, const Visit& visit) {
  poll_stop();
  visit(id);
  ir::for_each_block(p[id], [&](ir::Block b) {
    for (const ir::StmtId inner : p.items(b)) for_each_stmt(p, inner, visit);
  });
}
template <class Visit>
void for_each_expr(const ir::Program& p, ir::ExprId id, const Visit& visit) {
  visit(id);
  ir::for_each_operand(p, p[id], [&](ir::ExprId e) { for_each_expr(p, e, visit); });
}
// Expressions of all statements below, in source order.
template <class Visit>
void for_each_expr_below(const ir::Program& p, ir::StmtId id, const Visit& visit) {
  for_each_stmt(p, id, [&](ir::StmtId s) {
    ir::for_each_operand(p, p[s], [&](ir::ExprId e) { for_each_expr(p, e, visit); });
  });
}
bool any_expr_below(const ir::Program& p, ir::StmtId id, auto&& what) {
  bool found = false;
  for_each_expr_below(p, id, [&](ir::ExprId e) { found = found || what(e); });
  return found;
}
bool any_stmt_below(const ir::Program& p, ir::StmtId id, auto&& what) {
  bool found = false;
  for_each_stmt(p, id, [&](ir::StmtId s) { found = found || what(s); });
  return found;
}

// True if the value cannot change while other statements run in between: no memory that anyone
// writes, no effect.
bool is_stable(const Draft& d, ir::ExprId id);

}  // namespace vyre::plan
