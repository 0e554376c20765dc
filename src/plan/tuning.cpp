// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/tuning.hpp"

#include <bit>
#include <string>

#include <fmt/format.h>

#include "vyre/ir/types.hpp"

namespace vyre::plan {

ShapeClass shape_class_of(const check::CheckedProgram& checked, const check::Launch& launch) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < launch.counts.size(); ++i) {
    const ir::Buffer& buffer = checked.program.buffers[i];
    if (buffer.kind != ir::BufferKind::Shared)
      bytes += launch.counts[i] * ir::bytes_of(buffer.element);
  }
  return {.workgroup = launch.workgroup,
          .is_1d = launch.grid[1] == 1 && launch.grid[2] == 1,
          .workgroups_log2 = static_cast<uint32_t>(std::bit_width(launch.workgroups())),
          .bytes_log2 = static_cast<uint32_t>(std::bit_width(bytes))};
}

namespace {

// The values of a number of bits.
std::string range_text(uint32_t bits) {
  if (bits < 2) return std::to_string(bits);
  const uint64_t first = uint64_t{1} << (bits - 1);
  return fmt::format("{} to {}", first, first + (first - 1));
}

}  // namespace

std::string to_string(const ShapeClass& shape) {
  return fmt::format("{} workgroups of {}x{}x{}, {} bytes", range_text(shape.workgroups_log2),
                     shape.workgroup[0], shape.workgroup[1], shape.workgroup[2],
                     range_text(shape.bytes_log2));
}

std::optional<TunedVariant> TuningRecord::request() const {
  if (!adopted) return std::nullopt;
  return TunedVariant{*adopted, fmt::format("measured on this device: {} ns instead of {} ns",
                                            adopted_ns, default_ns)};
}

std::string difference(const RouteVariant& variant, const RouteVariant& from) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
  };
  if (variant.route != from.route) add(fmt::format("route {}", name_of(variant.route)));
  if (variant.workgroups_per_block != from.workgroups_per_block &&
      variant.route == Route::Persistent)
    add(fmt::format("{} workgroup{} per block", variant.workgroups_per_block,
                    variant.workgroups_per_block == 1 ? "" : "s"));
  if (variant.interleave != from.interleave && variant.route == Route::Persistent)
    add(fmt::format("interleave {}", variant.interleave));
  if (variant.unrolled_iterations != from.unrolled_iterations && variant.route == Route::Persistent)
    add(variant.unrolled_iterations == 0
            ? std::string("state in memory")
            : fmt::format("{} unrolled iterations", variant.unrolled_iterations));
  if (variant.lanes != from.lanes)
    add(fmt::format("{} lane{} side by side", variant.lanes, variant.lanes == 1 ? "" : "s"));
  return text.empty() ? "default" : text;
}

}  // namespace vyre::plan
