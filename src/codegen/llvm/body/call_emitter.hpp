// SPDX-License-Identifier: Apache-2.0
// Calls, inlined or not. Of functions that are not, one is made for each function, block of lanes
// and memories that it is called with; all lanes that a call is for come as a mask. What a function
// does to lanes other than to give them a value (they stop, or the whole launch is given up) is in
// memory of the kernel, or a jump out of the function.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "codegen/llvm/body/emitter.hpp"
#include "codegen/llvm/body/out_of_line.hpp"

namespace vyre::codegen {

class CallEmitter : Emitter {
 public:
  CallEmitter(BodyContext& context, Emitters& emitters) : Emitter(context, emitters) {}

  Val call(const ir::Call& e);
  Val maths(ir::Intrinsic op, ir::Type type, std::span<const Val> args);

 private:
  struct Callee {
    std::string name;
    std::vector<llvm::Type*> parameters = {};
    llvm::Type* result = nullptr;
  };
  // A function that was made: what it stands for, the block of lanes and the memories it is for.
  struct CallKey {
    uint32_t fn = 0;
    uint32_t lanes = 1;
    std::vector<const void*> values = {};
    friend auto operator<=>(const CallKey&, const CallKey&) = default;
  };

  Slots slots_of(const check::CheckedProgram& program, ir::FnId fn);
  Val inline_body(Frame frame, ir::FnId fn);
  Val call_function(const ir::Call& e);
  // By an instruction of the device, lane by lane.
  Val instruction(ir::Intrinsic op, std::span<const Val> args, bool varying);
  Val call_maths(Frame frame, ir::FnId fn, std::span<const Val> args, bool varying);
  // Emits what `body` does as a function, in which nothing is known of what is around the call.
  OutOfLine make_function(const Callee& callee, llvm::function_ref<Val(llvm::Function&)> body);

  std::map<CallKey, OutOfLine> functions_;
  std::map<std::pair<const void*, uint32_t>, std::pair<size_t, size_t>> fn_locals_;
};

}  // namespace vyre::codegen
