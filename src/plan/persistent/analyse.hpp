// SPDX-License-Identifier: Apache-2.0
// What the body of a segment is like that becomes a persistent kernel: its phases between barriers
// of the grid, the control flow around them, and where its locals are stored.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ir/properties.hpp"
#include "plan/draft.hpp"

namespace vyre::plan::persistent {

using Locals = std::set<uint32_t>;  // by LocalId

// Whether the value of a node is the same in all virtual workgroups of a block, if its operands
// are. `of_local`, `of_memory` and `of_call` answer for a local, a memory and a function that it
// names.
template <class OfLocal, class OfMemory, class OfCall>
bool is_same_in_workgroups(const ir::Program& p, const ir::Expr& e, const OfLocal& of_local,
                           const OfMemory& of_memory, const OfCall& of_call) {
  bool same = false;
  switch (ir::properties_of(e).uniformity) {
    case ir::UniformityRule::Operands: return true;
    case ir::UniformityRule::Local:
      ir::for_each_local(e, [&](ir::LocalId local, ir::LocalAccess) { same = of_local(local); });
      return same;
    case ir::UniformityRule::Memory:
      ir::for_each_memory(p, e, [&](const ir::MemoryUse& use) { same = of_memory(use.memory); });
      return same;
    case ir::UniformityRule::Function: return of_call();
    // Of what is given, only the sizes of the launch are read without another barrier or lane.
    case ir::UniformityRule::Given: {
      const auto* ref = std::get_if<ir::BuiltinRef>(&e);
      return ref != nullptr && (ref->builtin == ir::Builtin::NumWorkgroups ||
                                ref->builtin == ir::Builtin::WorkgroupSize);
    }
  }
  return false;
}

// A statement around barriers, or a phase: all that stands between two of them.
struct Part {
  ir::StmtId stmt;     // not valid: a phase
  StmtList items;      // of a phase
  uint32_t phase = 0;  // its number
  std::vector<std::vector<Part>> blocks;
};

enum class StorageClass : uint8_t {
  Register,        // of one phase
  LoopVariable,    // of a loop around barriers
  Uniform,         // the same in all lanes: one for all virtual workgroups
  Rematerialised,  // computed again in every phase that reads it
  Slot,            // of each lane of each virtual workgroup
};

struct LocalUse {
  std::set<uint32_t> phases;  // that mention it; kAround: statements around barriers
  uint32_t lets = 0;
  uint32_t assigns = 0;
  bool divergent = false;  // written where not all lanes come
  ir::ExprId value;        // of its last `let`
  StorageClass storage = StorageClass::Register;
};
inline constexpr uint32_t kAround = ~uint32_t{0};

struct Analysis {
  std::vector<Part> parts;
  uint32_t phases = 0;
  bool synchronises_workgroup = false;  // or has shared memory
  bool synchronises_subgroup = false;
  bool refused = false;
  std::map<uint32_t, LocalUse> uses;  // by LocalId
  Locals invariant;                   // have one value for each iteration of a loop around barriers
  // Locals in slots that a phase gives a value to, and such of which it reads the one they have.
  struct Values {
    Locals set, read;
  };
  std::map<uint32_t, Values> values;      // by phase
  std::map<uint32_t, Locals> live_after;  // by phase
  Locals live_across;                     // live after some phase
  uint32_t words = 0;                     // of these
  bool has_arrays = false;                // among these
  uint32_t statements = 0;
};

// Whether lanes of the grid synchronise in the body.
bool has_grid_barrier(const Draft& d, const StmtList& body);
// Nothing: the body cannot be made persistent. `live`: the local that says which lanes are active.
// Invariants: every barrier of the grid is a Part with a statement, what such statements decide on
// is uniform over the grid, and each local has one storage class.
std::optional<Analysis> analyse(Draft& d, const StmtList& body, ir::LocalId live);

StorageClass storage_of(const Analysis& a, ir::LocalId local);

// Fills values, live_after and live_across.
void find_live(const Draft& d, Analysis& a);

// What statements do with locals from outside, and which shared memory they use.
struct Mentioned {
  struct Use {
    bool written = false;
    bool declared = false;
  };
  std::map<uint32_t, Use> locals;
  std::set<uint32_t> shared;
};
Mentioned mentioned_in(const Draft& d, std::span<const ir::StmtId> items);

}  // namespace vyre::plan::persistent
