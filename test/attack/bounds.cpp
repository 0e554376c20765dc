// SPDX-License-Identifier: Apache-2.0
// Accesses out of bounds by indices from an input, which no proof can know, in every kind of memory
// and for every type: a load gives 0, a store nothing, and the bytes around stay.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "attack/attack.hpp"
#include "plan/compare.hpp"
#include "vyre/text/text.hpp"

namespace vyre::attack {
namespace {

using Random = std::mt19937_64;

struct Types {
  std::string given, stored, wide;
};

const char* any_index(Random& random) {
  return std::array{"i", "i + 1", "i - 1", "i * 3", "i >> 1", "at[gid.x ^ 1]"}[random() % 6];
}

// A statement that the order of lanes cannot matter for: nobody reads what is counted, and `kept`
// is written only where there is nothing.
std::string access(const Types& types, Random& random) {
  const char* const index = any_index(random);
  const auto load = [&](const char* name) {
    return fmt::format("  x = x * 31 + ({}[{}] as u32);\n", name, index);
  };
  switch (random() % 9) {
    case 0: return load("a");
    case 1: return load("small");
    case 2: return load("kept");
    case 3: return load("T");
    case 4: return fmt::format("  atomic_add(counts[{}], 1);\n", index);
    case 5: return fmt::format("  atomic_add(s[{}], x);\n", index);
    case 6:
      return fmt::format("  if i >= 1000000 {{\n    kept[i] = (x & 7) as {};\n  }}\n", types.wide);
    case 7: return "  x ^= len(a) + len(kept);\n";
    default:
      return fmt::format(
          "  p[{0}] = (x & 15) as {1};\n  x += (p[{2}] as u32) + (p[i & 3] as u32);\n", index,
          types.wide, any_index(random));
  }
}

std::string bounds_program(Random& random) {
  constexpr std::array<const char*, 6> kTypes = {"u32", "i32", "f32", "u64", "i64", "f64"};
  constexpr std::array<const char*, 6> kStored = {"u8", "i8", "u16", "i16", "f16", "bf16"};
  const Types types{kTypes[random() % 6], kStored[random() % 6], kTypes[random() % 6]};
  std::string text = fmt::format(
      "program bounds {{\n  workgroup {};\n  in at : u32[];\n  in a : {}[];\n  in small : {}[];\n"
      "  inout counts : u32[];\n  inout kept : {}[];\n  out o : u32[] @count(len(at));\n"
      "  shared s : u32[{}];\n  const T : u32[] = {{ 3, 1, 4, 1, 5 }};\n"
      "  let i = at[gid.x];\n  var x = gid.x;\n  var p : {}[{}];\n",
      32 << random() % 2, types.given, types.stored, types.wide, 1 + random() % 64, types.wide,
      1 + random() % 9);
  for (int k = 0; k < 8; ++k) text += access(types, random);
  // Every memory is used.
  text += fmt::format(
      "  atomic_add(counts[i], 1);\n  atomic_max(s[i], 0);\n  p[0] = 1 as {};\n"
      "  x += (a[i] as u32) + (small[i] as u32) + T[i] + (p[i] as u32) + (kept[i] as u32);\n"
      "  o[gid.x] = x;\n}}\n",
      types.wide);
  return text;
}

std::vector<std::byte> words(const std::vector<uint32_t>& list) {
  std::vector<std::byte> bytes(4 * list.size());
  std::memcpy(bytes.data(), list.data(), bytes.size());
  return bytes;
}

std::vector<std::vector<std::byte>> bounds_inputs(Random& random) {
  const auto lanes = static_cast<uint32_t>(1 + random() % 150);
  const auto size = static_cast<uint32_t>(random() % 40);
  const std::array<uint32_t, 12> ends = {0,           size - 1,    size,        size + 1,
                                         0x7FFF'FFFF, 0x8000'0000, 0xFFFF'FFFF, 0xFFFF'FFFE,
                                         0x4000'0000, 0x2000'0000, 0xFFFF'0000, 1'000'001};
  std::vector<uint32_t> at(lanes);
  for (uint32_t& one : at)
    one = random() % 3 == 0 ? static_cast<uint32_t>(random() % 64) : ends[random() % ends.size()];
  const auto bytes = [&](size_t element) {
    std::vector<std::byte> all(element * size);
    // Small numbers in every type: what is read in bounds survives the cast to u32.
    for (size_t i = 0; i < all.size(); i += element)
      all[i] = static_cast<std::byte>(random() % 100);
    return all;
  };
  return {words(at), bytes(8), bytes(2), words(std::vector<uint32_t>(size, 7)), bytes(8)};
}

}  // namespace

Finding bounds(uint64_t seed, const Settings& settings) {
  Random random(seed);
  const std::string text = bounds_program(random);
  text::Parsed parsed = text::parse(text, "bounds.vyre");
  check::Checked result = check::check(std::move(parsed.program));
  if (parsed.diagnostics.has_errors() || !result.program)
    return {.fault = "the attack's own program is not valid:\n" + text};
  const check::CheckedProgram& checked = *result.program;
  auto inputs = bounds_inputs(random);
  // Whole elements of each type.
  for (size_t b = 0; b < checked.program.buffers.size(); ++b)
    if (const auto slot = checked.buffers[b].input_slot) {
      const size_t element = bytes_of(checked.program.buffers[b].element);
      inputs[*slot].resize(inputs[*slot].size() / element * element);
    }
  const uint32_t lanes = static_cast<uint32_t>(inputs[0].size() / 4);
  const check::Axes grid = {(lanes + checked.workgroup[0] - 1) / checked.workgroup[0], 1, 1};
  const auto fault =
      plan_test::find_fault(checked, inputs, grid, plan_test::device_ways(settings.device));
  if (!fault) return {.fault = "", .cases = 2};
  return {.fault = fmt::format("{}: {}\n{}", to_string(fault->way), fault->what, text)};
}

}  // namespace vyre::attack
