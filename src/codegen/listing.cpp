// SPDX-License-Identifier: Apache-2.0
#include "codegen/listing.hpp"

#include <fmt/format.h>

#include "codegen/llvm/cpu.hpp"
#include "codegen/llvm/nvptx.hpp"

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

namespace {

Result<std::string> text_of(const Result<std::vector<std::byte>>& code) {
  if (!code) return std::unexpected(code.error());
  return std::string(reinterpret_cast<const char*>(code->data()), code->size());
}

}  // namespace

Result<std::string> list_code(Listing listing, const Target& target, const plan::Plan& plan) {
  if (target.format == device::Format::Object &&
      (listing == Listing::Llvm || listing == Listing::Asm)) {
    const auto code = host_code(
        plan, target.checked, listing == Listing::Llvm ? HostListing::Llvm : HostListing::Assembly);
    return text_of(code);
  }
  if (target.format == device::Format::Ptx && (listing == Listing::Llvm || listing == Listing::Ptx))
    return text_of(nvptx_code(plan, ptx_target(target),
                              listing == Listing::Llvm ? NvptxListing::Llvm : NvptxListing::Ptx));
  const std::string_view fix =
      target.format == device::Format::Program
          ? "`vyre plan FILE --device ID --segments` shows the programs that it gets"
      : target.format == device::Format::Object ? "ask for llvm or asm"
      : target.format == device::Format::Ptx
          ? "ask for llvm or ptx; a cubin is made by the driver of a GPU: --device cuda"
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
