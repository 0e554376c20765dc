// SPDX-License-Identifier: Apache-2.0
// The checker: a Program goes in; out come all diagnostics and, if there is no error, a
// CheckedProgram: the program with what was learnt about it kept beside it (types, constants,
// slots, uniformity, bounds).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vyre/base/diagnostic.hpp"
#include "vyre/base/result.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::check {

// A value known before the program runs. `bits` holds the bit pattern, zero-extended; bool is 0
// or 1.
struct Constant {
  ir::Type type = ir::Type::U32;
  uint64_t bits = 0;
  friend bool operator==(const Constant&, const Constant&) = default;
};

// The widest scope over which a value is the same, best first.
enum class Level : uint8_t { Grid, Workgroup, Subgroup, Lane };
std::string_view name_of(Level level);

enum class Role : uint8_t { Input, Output, InputOutput, Uniform, Shared, Persistent, Scratch };

// What is known of a buffer. Slots count in declaration order, bindings are the device's numbers.
struct BufferFacts {
  Role role = Role::Input;
  std::optional<uint32_t> binding;  // none for shared
  std::optional<uint32_t> constant_count;
  bool host_shape = false;  // the count or an axis is a host expression that is no constant
  uint32_t align = 0;       // @align, 0 if none
  std::optional<std::pair<uint64_t, uint64_t>> range_bytes;  // @range
  std::optional<uint32_t> input_slot;                        // the caller gives bytes here
  std::optional<uint32_t> output_slot;                       // the caller gets bytes here
};

// Why an access cannot leave its memory.
struct BoundsProof {
  enum class Kind : uint8_t {
    Range,     // the index lies in a fixed range below a fixed length
    Compared,  // a comparison with the length (a guard or a loop bound) that holds here
  };
  Kind kind = Kind::Range;
  std::string reason;  // for people: "`v` < len(visited) (line 12)"
};

// Two buffers that some call of the statement exchanges.
struct SwapFact {
  ir::BufferId a, b;
  ir::StmtId at;
};

struct CheckedProgram {
  ir::Program program;

  std::array<uint32_t, 3> workgroup = {1, 1, 1};
  uint32_t workgroup_axes = 1;
  std::vector<BufferFacts> buffers;              // by BufferId
  std::vector<std::vector<Constant>> constants;  // by ConstId; one entry unless it is a table
  std::vector<std::optional<ir::Type>>
      expr_types;  // by ExprId; none: no value, or not part of the program
  std::vector<std::optional<ir::Type>>
      local_types;                     // by LocalId; element type for arrays and buffer parameters
  std::vector<uint32_t> array_counts;  // by LocalId; 0 unless it is a private array
  std::vector<Level> local_levels;     // by LocalId; the worst over all calls of a function
  std::vector<Level> flow_levels;      // by StmtId: control flow that reaches it, likewise
  // Proofs for Load, Atomic and UniformLoad by ExprId, for Store by StmtId; -1: none.
  std::vector<BoundsProof> proofs;
  std::vector<int32_t> expr_proofs;
  std::vector<int32_t> stmt_proofs;
  std::vector<SwapFact> swaps;  // each pair of buffers once per statement
  // By StmtId: loops whose step is at least 1 whenever they have an iteration. Other loops stop
  // lanes at run time.
  std::vector<bool> positive_steps;
  // Of an AxisIndex, by ExprId: bit k is set if its index on axis k cannot leave the axis.
  std::vector<uint8_t> axis_proofs;
  uint32_t access_count = 0;  // accesses that could have a proof
  uint32_t statements_inlined = 0;
  bool has_grid_barrier =
      false;  // at any depth: barrier grid, grid_load, fixpoint, resume, collectives

  [[nodiscard]] const BoundsProof* proof(ir::ExprId id) const;
  [[nodiscard]] const BoundsProof* proof(ir::StmtId id) const;
};

struct Checked {
  std::optional<CheckedProgram> program;  // only without errors
  Diagnostics diagnostics;
};

// `text_had_errors`: the program is what a parser could save of a broken text; warnings are then
// left out, because what seems unused may only be unread, and no CheckedProgram is given.
Checked check(ir::Program program, bool text_had_errors = false);

// check() for callers that only go on with a valid program: InvalidProgram carrying the
// diagnostics.
Result<CheckedProgram> check_valid(ir::Program program);

// The value of a constant expression (literals, constants, operators, exactly defined functions)
// whose types the checker has settled; none if the expression is not constant.
std::optional<Constant> evaluate_constant(const CheckedProgram& checked, ir::ExprId expr);

// The bits of a literal in a type, rounded once; none if the type cannot hold it.
std::optional<Constant> literal_in_type(const ir::Expr& literal, ir::Type type);

}  // namespace vyre::check
