// SPDX-License-Identifier: Apache-2.0
// Any text: parsing, checking and formatting never crash, and what parses without an error survives
// printing, formatting and encoding unchanged. What stands behind a line `//// NAME` is the module
// NAME, as `use "NAME";` finds it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "vyre/check/check.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

using namespace vyre;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view source = all.substr(0, all.find("//// "));
  text::ParseOptions options;
  options.read_module = [all](std::string_view path) -> text::ModuleText {
    const std::string mark = "//// " + std::string(path) + "\n";
    const size_t at = all.find(mark);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = all.substr(at + mark.size());
    return {text::ModuleText::Status::Found, std::string(rest.substr(0, rest.find("//// ")))};
  };
  text::Parsed parsed = text::parse(source, "fuzz.vyre", options);
  const bool broken = parsed.diagnostics.has_errors();

  const text::Formatted formatted = text::format(source, "fuzz.vyre");
  if (formatted.text) {
    const text::Formatted again = text::format(*formatted.text, "fuzz.vyre");
    VYRE_CHECK(again.text && *again.text == *formatted.text);
  }
  if (!broken) {
    VYRE_CHECK(formatted.text);
    const std::string printed = text::print(parsed.program);
    const text::Parsed reparsed = text::parse(printed, "printed.vyre");
    VYRE_CHECK(!reparsed.diagnostics.has_errors());
    const auto bytes = ir::encode(parsed.program);
    VYRE_CHECK(bytes == ir::encode(reparsed.program));
    VYRE_CHECK(bytes ==
               ir::encode(text::parse(*formatted.text, "formatted.vyre", options).program));
    const auto decoded = ir::decode(bytes);
    VYRE_CHECK(decoded && ir::encode(*decoded) == bytes);
    VYRE_CHECK(!text::to_json(parsed.program).empty());
  }
  const check::Checked checked = check::check(std::move(parsed.program), broken);
  VYRE_CHECK(checked.program.has_value() == (!broken && !checked.diagnostics.has_errors()));
  (void)render_text(checked.diagnostics, {{"fuzz.vyre", source}});
  return 0;
}
