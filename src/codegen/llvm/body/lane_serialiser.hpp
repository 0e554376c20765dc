// SPDX-License-Identifier: Apache-2.0
// Lane serialisation: parts of a block of many lanes that its lanes run one after the other, as
// blocks of one lane.
#pragma once

#include <span>

#include "codegen/llvm/body/emitter.hpp"

namespace vyre::codegen {

class LaneSerialiser : Emitter {
 public:
  LaneSerialiser(BodyContext& context, Emitters& emitters) : Emitter(context, emitters) {}

  void emit(std::span<const ir::StmtId> items, llvm::Value* lanes_in);

 private:
  // A local that varies between the lanes, in memory.
  struct Place {
    size_t slot = 0;
    llvm::Type* type = nullptr;     // of the value
    llvm::Type* element = nullptr;  // in memory
    llvm::Value* memory = nullptr;
  };
  std::vector<Place> spill(const Slots& slots, const std::vector<bool>& used);
  void emit_lane(std::span<const ir::StmtId> items, const Slots& slots,
                 const std::vector<bool>& used, const std::vector<Place>& places,
                 llvm::Value* lane);
  llvm::Value* element(const Place& place, llvm::Value* lane);

  std::optional<Divergence> one_lane_;
};

}  // namespace vyre::codegen
