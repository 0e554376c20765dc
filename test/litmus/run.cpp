// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <fmt/format.h>

#include "litmus/litmus.hpp"

namespace vyre::litmus {

namespace {

constexpr uint32_t kInstances = 2048;  // of one dispatch
constexpr uint32_t kLanes = 32;        // of a block: instances that one thread executes together
constexpr uint32_t kBlocks = kInstances / kLanes;
constexpr uint32_t kStride = 16;  // words: each location has a cache line of its own

uint32_t threads_per_group(const Test& test) {
  return test.layout == Layout::Workgroup || test.threads > 2 ? 2 : 1;
}
uint32_t groups_per_block(const Test& test) {
  return test.layout == Layout::Workgroup ? 1 : 2;
}

std::string expand(std::string_view code, const Test& test) {
  const bool bytes = test.layout == Layout::Bytes;
  std::string text;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i] != '@') {
      text += code[i];
      continue;
    }
    switch (const char what = code[++i]) {
      case 'x': text += bytes ? "x[64 * i + role]" : "x[16 * i]"; break;
      case 'y':
      case 'z': text += fmt::format("{}[16 * i]", what); break;
      case 'D': text += "for d in 0 .. delay { sink = sink * 1664525 + 1013904223; }"; break;
      default: text += fmt::format("r[4 * i + {}]", what);
    }
  }
  return text;
}

std::string body_text(const Test& test, const Code& code) {
  if (code.threads.empty()) return expand(code.body, test);
  std::string text;
  for (size_t t = 0; t < code.threads.size(); ++t)
    text += fmt::format("  if role == {} {{ {} }}\n", t, expand(code.threads[t], test));
  return text;
}

std::vector<uint32_t> zeros(size_t words) {
  return std::vector<uint32_t>(words);
}

uint32_t word(const std::vector<std::byte>& bytes, size_t index) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + 4 * index, 4);
  return value;
}

}  // namespace

std::string program_text(const Test& test, const Code& code) {
  const uint32_t per_group = threads_per_group(test);
  const uint32_t groups = groups_per_block(test);
  return fmt::format(
      R"(program litmus {{
  workgroup {lanes};
  over {total};
  inout x : {type}[];
  inout y : u32[];
  inout z : u32[];
  inout r : u32[];
  inout start : u32[];
  in seed : u32[];
  shared s : u32[64];
  let block = wid.x % {blocks};
  let i = {block_lanes} * block + lid.x % {block_lanes};
  let role = {per_group} * (wid.x / {blocks}) + lid.x / {block_lanes};
  let delay = (block * 5 + seed[0]) % 24;
  var sink = gid.x;
  if lid.x == 0 {{
    atomic_add(start[block], 1);
    for t in 0 .. 2000 {{
      if atomic_load(start[block]) >= {groups} {{ break; }}
    }}
  }}
  barrier workgroup;
{body}
  if sink == 3141592653 {{ start[0] = sink; }}
}})",
      fmt::arg("lanes", kLanes * per_group), fmt::arg("total", kInstances * per_group * groups),
      fmt::arg("type", test.layout == Layout::Bytes ? "u8" : "u32"), fmt::arg("blocks", kBlocks),
      fmt::arg("block_lanes", kLanes), fmt::arg("per_group", per_group), fmt::arg("groups", groups),
      fmt::arg("body", body_text(test, code)));
}

Result<Run> run(const Device& device, const Test& test, const Code& code, uint64_t rounds,
                bool until_seen) {
  auto checked = parse_checked(program_text(test, code), fmt::format("{}.vyre", test.name));
  if (!checked) return std::unexpected(checked.error());
  const auto compiled = device.compile(std::move(*checked));
  if (!compiled) return std::unexpected(compiled.error());
  const auto locations = zeros(size_t{kInstances} * kStride);
  const auto results = zeros(size_t{4} * kInstances);
  const auto starts = zeros(kBlocks);
  Run done;
  Outputs outputs;
  for (uint32_t seed = 0; done.instances < rounds && !(until_seen && done.forbidden != 0); ++seed) {
    const std::array<uint32_t, 1> seeds = {seed * 7};
    const Argument inputs[] = {locations, locations, locations, results, starts, seeds};
    const auto report = compiled->pipeline.dispatch_into({.inputs = inputs}, outputs);
    if (!report) return std::unexpected(report.error());
    for (size_t i = 0; i < kInstances; ++i) {
      const Outcome outcome = {.r = {word(outputs[3], 4 * i), word(outputs[3], 4 * i + 1),
                                     word(outputs[3], 4 * i + 2), word(outputs[3], 4 * i + 3)},
                               .x = word(outputs[0], kStride * i),
                               .y = word(outputs[1], kStride * i),
                               .z = word(outputs[2], kStride * i)};
      if (!test.is_forbidden(outcome)) continue;
      if (done.forbidden++ == 0) done.example = outcome;
    }
    done.instances += kInstances;
  }
  return done;
}

}  // namespace vyre::litmus
