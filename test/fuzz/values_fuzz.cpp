// SPDX-License-Identifier: Apache-2.0
// Any data for a buffer: reading it never crashes and allocates no more than the input is worth,
// and what is accepted comes back from each form it is written in. The first byte chooses the form,
// the second the element type, the third the number of elements that a generator has to make.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <zlib.h>

#include "base/check.hpp"
#include "cli/values_forms.hpp"
#include "cli/values_number.hpp"

namespace vyre::cli {
namespace {

ValueResult read(int form, const ValueSpec& spec, std::span<const std::byte> data) {
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  switch (form) {
    case 0: return from_npy(spec, "f.npy", {data.begin(), data.end()});
    case 1: return from_csv(spec, "f.csv", text);
    case 2: return from_png(spec, "f.png", data);
    case 3: return from_literal(spec, "[" + std::string(text));
    case 4:
      if (is_generated(text)) return from_generator(spec, text, {});
      break;
    default: break;
  }
  return from_raw(spec, "f.bin", {data.begin(), data.end()});
}

// NaNs lose their bits in text, and bools that are neither 0 nor 1 become 1.
bool survives_text(ir::Type element, uint64_t bits) {
  if (element == ir::Type::Bool) return bits <= 1;
  return !is_float_element(element) || float_value(element, bits) == float_value(element, bits);
}

void judge(const ValueSpec& spec, const ValueBytes& bytes) {
  const ArrayView array{spec.name, spec.element, bytes, {}};
  const ValueSpec exact{spec.name, spec.element, array.count()};
  VYRE_CHECK(bytes.size() % ir::bytes_of(spec.element) == 0);
  if (spec.count) VYRE_CHECK(array.count() == *spec.count);
  const auto from_text = from_csv(exact, "again.csv", to_csv(array));
  VYRE_CHECK(from_text);
  bool plain = true;
  for (uint64_t i = 0; i < array.count(); ++i) {
    const uint64_t bits = load_element(spec.element, bytes, i);
    if (survives_text(spec.element, bits))
      VYRE_CHECK(load_element(spec.element, *from_text, i) == bits);
    plain = plain && (spec.element != ir::Type::Bool || bits <= 1);
  }
  const std::string file = to_npy(array);
  const auto npy = std::as_bytes(std::span(file));
  const auto from_file = from_npy(exact, "again.npy", {npy.begin(), npy.end()});
  VYRE_CHECK(from_file);
  if (plain) VYRE_CHECK(*from_file == bytes);
  VYRE_CHECK(!preview(array).empty());

  if (array.count() == 0 || (spec.element != ir::Type::U8 && spec.element != ir::Type::U32)) return;
  ArrayView row = array;
  row.shape = Shape{1, array.count()};
  const auto picture = to_png(row);
  VYRE_CHECK(picture);
  VYRE_CHECK(from_png(exact, "again.png", std::as_bytes(std::span(*picture))) == bytes);
}

// A checksum hides everything behind a changed chunk; with it mended, changes reach the decoder.
void mend_png(ValueBytes& file) {
  constexpr size_t kMark = 8;
  constexpr size_t kAround = 12;  // length, type, checksum
  for (size_t at = kMark; file.size() >= at + kAround;) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | std::to_integer<size_t>(file[at + i]);
    if (length > file.size() - at - kAround) return;
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(file.data() + at + 4),
                           static_cast<uInt>(length + 4));
    for (size_t i = 0; i < 4; ++i)
      file[at + 8 + length + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
    at += kAround + length;
  }
}

void try_one(int form, const ValueSpec& spec, std::span<const std::byte> data) {
  const auto result = read(form, spec, data);
  // A picture can unpack to a lot; writing all of that several times would test nothing new.
  constexpr size_t kJudged = size_t{64} << 10;
  if (!result) {
    VYRE_CHECK(!result.error().message.empty());
    VYRE_CHECK(!result.error().fix.empty());
  } else if (result->size() <= kJudged) {
    judge(spec, *result);
  }
}

void try_input(std::span<const std::byte> input) {
  if (input.size() < 3) return;
  const int form = std::to_integer<int>(input[0]) % 6;
  ValueSpec spec{"a", static_cast<ir::Type>(std::to_integer<int>(input[1]) % ir::kTypeCount), {}};
  // Only a generator makes much of little.
  if (form == 4) spec.count = std::to_integer<uint64_t>(input[2]);
  const auto bytes = input.subspan(3);
  try_one(form, spec, bytes);
  if (form != 2) return;
  ValueBytes mended(bytes.begin(), bytes.end());
  mend_png(mended);
  try_one(form, spec, mended);
}

}  // namespace
}  // namespace vyre::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vyre::cli::try_input(std::as_bytes(std::span(data, size)));
  return 0;
}
