// SPDX-License-Identifier: Apache-2.0
#include "codegen/program_target.hpp"

#include <cstring>

#include "vyre/ir/binary.hpp"

namespace vyre::codegen {

namespace {

void append_u32(Code& out, uint32_t value) {
  const size_t at = out.size();
  out.resize(at + 4);
  std::memcpy(out.data() + at, &value, 4);
}

std::optional<Error> can_emit(const Target& /*target*/, const plan::Plan& /*plan*/) {
  return std::nullopt;
}

// The segments in their canonical form, and what stands beside them.
Result<Code> print(const Target& /*target*/, const plan::Plan& plan) {
  Code out;
  append_u32(out, static_cast<uint32_t>(plan.segments.size()));
  for (const plan::Segment& segment : plan.segments) {
    const Code program = ir::encode(segment.program.program);
    append_u32(out, static_cast<uint32_t>(program.size()));
    out.insert(out.end(), program.begin(), program.end());
    append_u32(out, segment.live.value);
    append_u32(out, static_cast<uint32_t>(segment.shared.size()));
    for (const plan::SharedUse& use : segment.shared) {
      append_u32(out, use.buffer.value);
      append_u32(out, (use.restore ? 1U : 0U) | (use.save ? 2U : 0U));
    }
  }
  return out;
}

}  // namespace

constinit const TargetDescriptor kProgramTarget = {
    .format = device::Format::Program,
    .can_emit = can_emit,
    .emit = print,
    .other_listing = "`vyre plan FILE --device ID --segments` shows the programs that it gets",
    .is_interpreted = true};

std::vector<std::shared_ptr<const device::InterpretedProgram>> programs_of(
    const std::shared_ptr<const plan::Plan>& plan) {
  std::vector<std::shared_ptr<const device::InterpretedProgram>> programs;
  for (const plan::Segment& segment : plan->segments) {
    auto program = std::make_shared<device::InterpretedProgram>();
    program->program = std::shared_ptr<const check::CheckedProgram>(plan, &segment.program);
    program->live = segment.live;
    // Lanes that write a value of all of them have to agree on it.
    for (const plan::Argument& a : segment.arguments)
      program->agreed.push_back(a.kind == plan::Argument::Kind::HiddenOut &&
                                (plan->hidden[a.index].kind == plan::Hidden::Kind::Frame ||
                                 !segment.carries_group_frame));
    programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace vyre::codegen
