// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/private_memory.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace vyre::codegen {

using namespace ir;

namespace {

// A thread of a GPU has 512 KiB of memory for itself; on a processor a subgroup, whose lanes are
// always a block, has a few MiB.
constexpr uint64_t kMostLaneArrays = uint64_t{1} << 17;
constexpr uint64_t kHuge = uint64_t{1} << 40;

class Arrays {
 public:
  explicit Arrays(const check::CheckedProgram& checked)
      : c_(checked), p_(checked.program), functions_(p_.fns.size()) {}

  uint64_t of(Block block) {
    uint64_t bytes = 0;
    for (const StmtId id : p_.items(block)) {
      const Stmt& s = p_[id];
      if (const auto* array = std::get_if<DeclareArray>(&s))
        bytes += uint64_t{c_.array_counts[array->local.index()]} *
                 bytes_of(*c_.local_types[array->local.index()]);
      for_each_operand(p_, s, [&](ExprId e) { bytes += of(e); });
      for_each_block(s, [&](Block b) { bytes += of(b); });
      bytes = std::min(bytes, kHuge);
    }
    return bytes;
  }

 private:
  uint64_t of(ExprId id) {
    uint64_t bytes = 0;
    if (const auto* call = std::get_if<Call>(&p_[id])) {
      std::optional<uint64_t>& known = functions_[call->fn.index()];
      if (!known) known = of(p_[call->fn].body);
      bytes = *known;
    }
    for_each_operand(p_, p_[id], [&](ExprId e) { bytes += of(e); });
    return std::min(bytes, kHuge);
  }

  const check::CheckedProgram& c_;
  const Program& p_;
  std::vector<std::optional<uint64_t>> functions_;
};

}  // namespace

uint64_t private_bytes(const check::CheckedProgram& program) {
  return Arrays(program).of(program.program.body);
}

std::optional<Error> private_refusal(const check::CheckedProgram& program) {
  const uint64_t bytes = private_bytes(program);
  if (bytes <= kMostLaneArrays) return std::nullopt;
  return Error{.code = ErrorCode::LimitExceeded,
               .message = fmt::format(
                   "a lane has private arrays of {} bytes, more than it can have ({}). Fix: use "
                   "fewer or smaller arrays, or one of them again",
                   bytes, kMostLaneArrays),
               .context = {},
               .at = {},
               .diagnostics = {}};
}

}  // namespace vyre::codegen
