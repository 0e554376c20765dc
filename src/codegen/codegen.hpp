// SPDX-License-Identifier: Apache-2.0
// From a plan to what a device loads. The entries of an artifact follow the segments of the plan
// one to one and are plain data; the code is made per target (codegen/target.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/target.hpp"

namespace vyre::codegen {

// The format made for a device that takes these, best first.
Result<device::Format> choose_format(const device::FormatSet& formats, std::string_view device);

// What the code of a program could be made in another way for.
struct CodeChoices {
  uint32_t ulps = 0;  // the least budget that permits the approximations used under a given one
  bool has_cheap_code = false;
};
CodeChoices code_choices(device::Format format, const check::CheckedProgram& program,
                         uint32_t ulp_budget);

// The device of this format runs the programs of the plan themselves: programs_of().
bool is_interpreted(device::Format format);

// What a device needs to launch the code of a plan: the same whether the code is made now or
// comes from a cache.
std::vector<device::Entry> entries_of(const plan::Plan& plan, std::string_view program_name,
                                      const Target& target);

// What a stop means that code of this format reports, with its position in the source.
Error explain(const plan::Plan& plan, device::Format format, bool checked, uint32_t entry,
              const device::KernelStop& stop);

// CompileFailed; Unsupported for a target that no generator knows.
Result<Code> emit(const Target& target, const plan::Plan& plan);

// The words of `vyre compile --emit`: the listings of all targets, and the forms that only the
// driver of a device makes or that no target of this build has.
std::vector<std::string> listing_names();
// The target that prints a listing for a device of this format: that of the format, or one that
// has it for every device.
device::Format listing_format(std::string_view listing, device::Format format);
// The device that it is for if people name none; empty: they have to.
std::string_view listing_device(std::string_view listing);
// Unsupported if code of this format has no such listing.
Result<Code> list_code(std::string_view listing, const Target& target, const plan::Plan& plan);

}  // namespace vyre::codegen
