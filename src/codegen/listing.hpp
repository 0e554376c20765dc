// SPDX-License-Identifier: Apache-2.0
// The code of a plan in a form for people: what a device gets, or a stage on the way to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "codegen/codegen.hpp"

namespace vyre::codegen {

enum class Listing : uint8_t { Llvm, Asm, Ptx, Spirv, Cubin };
inline constexpr int kListingCount = 5;
std::string_view name_of(Listing listing);  // "llvm"

// Text, but for Cubin. Unsupported if code of this format has no such form.
Result<std::string> list_code(Listing listing, const Target& target, const plan::Plan& plan);

}  // namespace vyre::codegen
