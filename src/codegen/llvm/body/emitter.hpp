// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/llvm/body/body_context.hpp"

namespace vyre::codegen {

struct Emitters;  // emitters.hpp

// What each emitter of a body has: the context that all share, and the others. They write at the
// insertion point of the context's builder.
class Emitter {
 protected:
  Emitter(BodyContext& context, Emitters& emitters)
      : x_(context), e_(emitters), b_(context.builder), math_(context.math) {}

  BodyContext& x_;
  Emitters& e_;
  Builder& b_;
  Arithmetic& math_;
};

}  // namespace vyre::codegen
