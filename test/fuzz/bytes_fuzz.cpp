// SPDX-License-Identifier: Apache-2.0
// Any bytes: decoding never crashes and accepts exactly what encoding gives; what it accepts can be
// checked, and what is valid can be printed and read back. Each input is tried as it is and with
// its header mended, so that mutations which change the length reach the sections behind it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "ir/binary_format.hpp"
#include "vyre/check/check.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

using namespace vyre;

namespace {

void judge(std::span<const std::byte> bytes) {
  auto decoded = ir::decode(bytes);
  if (!decoded) {
    VYRE_CHECK(!decoded.error().diagnostics.empty());
    return;
  }
  const auto again = ir::encode(*decoded);
  VYRE_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  const check::Checked checked = check::check(std::move(*decoded));
  if (!checked.program) return;
  const std::string printed = text::print(checked.program->program);
  const text::Parsed parsed = text::parse(printed, "printed.vyre");
  VYRE_CHECK(!parsed.diagnostics.has_errors());
  VYRE_CHECK(ir::encode(parsed.program) == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  judge(bytes);
  using namespace ir::binary;
  if (size < kHeaderBytes || size > kMaxBytes) return 0;
  std::vector<std::byte> mended(bytes.begin(), bytes.end());
  std::memcpy(mended.data(), kMagic.data(), kMagic.size());
  for (uint32_t version = kFirstVersion; version <= ir::kBinaryVersion; ++version) {
    const uint32_t words[] = {version, static_cast<uint32_t>(size)};
    for (size_t i = 0; i < 8; ++i)
      mended[kMagic.size() + i] = static_cast<std::byte>(words[i / 4] >> (8 * (i % 4)));
    judge(mended);
  }
  return 0;
}
