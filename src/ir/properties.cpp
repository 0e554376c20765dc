// SPDX-License-Identifier: Apache-2.0
#include "ir/properties.hpp"

namespace vyre::ir {

std::optional<Scope> uniform_over(Builtin builtin) {
  switch (builtin) {
    case Builtin::Gid:
    case Builtin::Lid:
    case Builtin::SubgroupLane: return std::nullopt;
    case Builtin::SubgroupId: return Scope::Subgroup;
    case Builtin::Wid: return Scope::Workgroup;
    case Builtin::NumWorkgroups:
    case Builtin::WorkgroupSize:
    case Builtin::SubgroupSize:
    case Builtin::FixpointPasses:
    case Builtin::FixpointConverged: return Scope::Grid;
  }
  return std::nullopt;
}

std::optional<Scope> uniform_over(SubgroupOp op) {
  switch (op) {
    case SubgroupOp::Ballot:
    case SubgroupOp::Broadcast:
    case SubgroupOp::Add:
    case SubgroupOp::Mul:
    case SubgroupOp::Min:
    case SubgroupOp::Max:
    case SubgroupOp::And:
    case SubgroupOp::Or:
    case SubgroupOp::Xor:
    case SubgroupOp::Any:
    case SubgroupOp::All: return Scope::Subgroup;
    case SubgroupOp::Shuffle:
    case SubgroupOp::ShuffleXor:
    case SubgroupOp::ShuffleUp:
    case SubgroupOp::ShuffleDown:
    case SubgroupOp::ExclusiveAdd:
    case SubgroupOp::InclusiveAdd: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace vyre::ir
