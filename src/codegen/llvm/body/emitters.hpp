// SPDX-License-Identifier: Apache-2.0
// All emitters of a body, which call each other.
#pragma once

#include "codegen/llvm/body/atomic_emitter.hpp"
#include "codegen/llvm/body/call_emitter.hpp"
#include "codegen/llvm/body/lane_serialiser.hpp"
#include "codegen/llvm/body/loop_emitter.hpp"
#include "codegen/llvm/body/loop_nest_emitter.hpp"
#include "codegen/llvm/body/loop_splitter.hpp"
#include "codegen/llvm/body/mask_emitter.hpp"
#include "codegen/llvm/body/memory_emitter.hpp"
#include "codegen/llvm/body/statement_emitter.hpp"
#include "codegen/llvm/body/subgroup_emitter.hpp"
#include "codegen/llvm/body/thread_subgroup_emitter.hpp"
#include "codegen/llvm/body/value_emitter.hpp"

namespace vyre::codegen {

struct Emitters {
  explicit Emitters(BodyContext& x)
      : statements(x, *this),
        masks(x, *this),
        serialiser(x, *this),
        loops(x, *this),
        nests(x, *this),
        splitter(x, *this),
        values(x, *this),
        calls(x, *this),
        memory(x, *this),
        atomics(x, *this),
        subgroups(x, *this),
        thread_subgroups(x, *this) {}
  Emitters(const Emitters&) = delete;
  Emitters& operator=(const Emitters&) = delete;

  StatementEmitter statements;
  MaskEmitter masks;
  LaneSerialiser serialiser;
  LoopEmitter loops;
  LoopNestEmitter nests;
  LoopSplitter splitter;
  ValueEmitter values;
  CallEmitter calls;
  MemoryEmitter memory;
  AtomicEmitter atomics;
  SubgroupEmitter subgroups;
  ThreadSubgroupEmitter thread_subgroups;
};

}  // namespace vyre::codegen
