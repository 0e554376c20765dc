// SPDX-License-Identifier: Apache-2.0
#include "codegen/listing.hpp"

#include <fmt/format.h>

#include "codegen/llvm/cpu.hpp"

namespace vyre::codegen {

std::string_view name_of(Listing listing) {
  switch (listing) {
    case Listing::Llvm: return "llvm";
    case Listing::Asm: return "asm";
    case Listing::Ptx: return "ptx";
    case Listing::Spirv: return "spirv";
    case Listing::Cubin: return "cubin";
  }
  return "?";
}

Result<std::string> list_code(Listing listing, const Target& target, const plan::Plan& plan) {
  if (target.format == device::Format::Object &&
      (listing == Listing::Llvm || listing == Listing::Asm)) {
    const auto code = host_code(
        plan, target.checked, listing == Listing::Llvm ? HostListing::Llvm : HostListing::Assembly);
    if (!code) return std::unexpected(code.error());
    return std::string(reinterpret_cast<const char*>(code->data()), code->size());
  }
  const std::string_view fix =
      target.format == device::Format::Program
          ? "`vyre plan FILE --device ID --segments` shows the programs that it gets"
      : target.format == device::Format::Object
          ? "ask for llvm or asm"
          : "use a build with the code generator of this device, or another device";
  return std::unexpected(Error{
      .code = ErrorCode::Unsupported,
      .message = fmt::format("the device takes code as `{}`, which has no listing as {}. Fix: {}",
                             device::name_of(target.format), name_of(listing), fix),
      .context = {},
      .at = {},
      .diagnostics = {}});
}

}  // namespace vyre::codegen
