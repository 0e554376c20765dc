// SPDX-License-Identifier: Apache-2.0
// Every attribute of a buffer declaration changes a dispatch: what it does, its code or its report.
// A row compares a program with and without one; a member without a row does not compile.
#include <array>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "driver/observe.hpp"
#include "vyre/plan/bindings.hpp"

namespace vyre::driver_test {
namespace {

using testing::HasSubstr;

// Slots, roles and what the device gets addresses for; then the dispatch.
std::string seen(std::string_view declarations, std::string_view body,
                 const std::vector<Words>& inputs) {
  const std::string text =
      fmt::format("program p {{ workgroup 4; over 1; {} {} }}", declarations, body);
  const auto device = run::Device::open("reference:3", {.cache_directory = {}});
  const auto compiled = device->compile(program_of(text));
  if (!compiled) return to_string(compiled.error());
  std::string all;
  for (const plan::Binding& b : compiled->pipeline.bindings().bindings)
    all +=
        fmt::format("{} at {}: role {}, access {}, align {}, input {}, output {}; ", b.name,
                    b.binding, static_cast<int>(b.role), static_cast<int>(b.access),
                    b.preferred_alignment, b.input_index.value_or(99), b.output_index.value_or(99));
  return all + observe(*device, {.text = text, .inputs = inputs});
}

std::string declared(std::string_view declaration) {
  return seen(declaration, "a[gid.x] = a[gid.x] / 2 + 1;", {{8, 4, 2, 0xFFFF'FFFE}});
}
std::string returned(std::string_view declaration) {
  return seen(declaration, "o[gid.x] = gid.x;", {});
}

// Of the cores, which takes no part of the declaration but what decides about it. Lanes that are
// neighbours along y are neighbours in memory.
std::string code_for(std::string_view declaration, std::string_view workgroup = "16, 16") {
  const std::string text = fmt::format(
      "program p {{ workgroup {}; in x : f32[]; {} let i = {}; "
      "y[i] = x[i] * 2.0 + y[i]; }}",
      workgroup, declaration, workgroup == "256" ? "gid.x" : "gid.x * 64 + gid.y");
  const auto device = run::Device::open("cpu", {.cache_directory = {}});
  const auto compiled = device->compile(program_of(text));
  if (!compiled) return to_string(compiled.error());
  return "code " + compiled->manifest.variants.at(0).artifact_digest;
}

// One buffer of each kind, beside an output.
std::string of_kind(ir::BufferKind kind) {
  constexpr std::string_view kRead = "o[gid.x] = b[gid.x];";
  constexpr std::string_view kWrite = "b[gid.x] = 7; o[gid.x] = b[gid.x];";
  const std::string text = fmt::format("{} b : u32[4]; out o : u32[4];", name_of(kind));
  const std::vector<Words> given = {{1, 2, 3, 4}};
  switch (kind) {
    case ir::BufferKind::In:
    case ir::BufferKind::Uniform: return seen(text, kRead, given);
    case ir::BufferKind::InOut:
    case ir::BufferKind::Persistent: return seen(text, kWrite, given);
    case ir::BufferKind::Out:
    case ir::BufferKind::Scratch:
    case ir::BufferKind::Shared: return seen(text, kWrite, {});
    case ir::BufferKind::WriteOnly: return seen(text, "b[gid.x] = 7; o[gid.x] = 7;", {});
  }
  return {};
}

struct Row {
  std::string_view member;  // of ir::Buffer
  std::string (*query)(bool with);
  std::string_view shows;
};

constexpr Row kRows[] = {
    {"name",
     [](bool with) {
       return seen(with ? "in named : u32[4]; out o : u32[4];" : "in a : u32[4]; out o : u32[4];",
                   "o[gid.x] = gid.x;", {{1}});
     },
     "named"},
    {"kind",
     [](bool with) { return of_kind(with ? ir::BufferKind::Persistent : ir::BufferKind::InOut); },
     "`b` is persistent"},
    {"element",
     [](bool with) { return declared(with ? "inout a : i32[4];" : "inout a : u32[4];"); },
     "00 00 00 00"},
    {"count", [](bool with) { return returned(with ? "out o : u32[5];" : "out o : u32[4];"); },
     "20 bytes"},
    {"axes",
     [](bool with) {
       return seen(with ? "inout a : u32[2, 2];" : "inout a : u32[4];", "a[gid.x] = len(a, 0);",
                   {{1, 1, 1, 1}});
     },
     "16 bytes: 02 00 00 00 02"},
    {"scalar",
     [](bool with) {
       return seen(with ? "uniform n : u32; out o : u32[4];" : "uniform n : u32[]; out o : u32[4];",
                   "o[gid.x] = gid.x;", {{1, 1}});
     },
     "expected 4 bytes"},
    {"binding",
     [](bool with) {
       return declared(with ? "inout a : u32[4] @binding(3);" : "inout a : u32[4];");
     },
     "a at 3"},
    {"align",
     [](bool with) {
       return declared(with ? "inout a : u32[4] @align(64);" : "inout a : u32[4];");
     },
     "align 64"},
    {"size",
     [](bool with) {
       return returned(with ? "out o : u32[] @count(6);" : "out o : u32[] @count(4);");
     },
     "24 bytes"},
    {"range_first",
     [](bool with) {
       return returned(with ? "out o : u32[4] @range(4 .. 16);"
                            : "out o : u32[4] @range(0 .. 16);");
     },
     "12 bytes: 01 00 00 00"},
    {"range_last",
     [](bool with) {
       return returned(with ? "out o : u32[4] @range(0 .. 8);" : "out o : u32[4] @range(0 .. 16);");
     },
     "8 bytes: 00 00 00 00 01 00 00 00"},
    {"live_out",
     [](bool with) {
       return seen(with ? "inout o : u32[4] @live_out;" : "inout o : u32[4];",
                   "o[gid.x] = o[gid.x] + 1;", {});
     },
     "16 bytes: 01"},
    {"locality",
     [](bool with) {
       return code_for(with ? "inout y : f32[] @locality(streaming);" : "inout y : f32[];", "256");
     },
     "code "},
    {"coalesce_axis",
     [](bool with) {
       return code_for(with ? "inout y : f32[] @coalesce(y);" : "inout y : f32[];");
     },
     "code "},
};

// The members, in their order: one that is missing here does not compile.
#define VYRE_MEMBERS(X)                                                                      \
  X(name), X(kind), X(element), X(count), X(axes), X(scalar), X(binding), X(align), X(size), \
      X(range_first), X(range_last), X(live_out), X(locality), X(coalesce_axis)
#define VYRE_AS_IS(member) member
#define VYRE_NAME(member) std::string_view(#member)
[[maybe_unused]] void all_members(const ir::Buffer& buffer) {
  [[maybe_unused]] const auto& [VYRE_MEMBERS(VYRE_AS_IS)] = buffer;
}
consteval bool is_complete() {
  constexpr std::array kMembers = {VYRE_MEMBERS(VYRE_NAME)};
  if (std::size(kRows) != kMembers.size()) return false;
  for (size_t i = 0; i < kMembers.size(); ++i)
    if (kRows[i].member != kMembers[i]) return false;
  return true;
}
static_assert(is_complete());

TEST(BufferFields, EachChangesADispatch) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.member);
    const std::string with = row.query(true);
    EXPECT_NE(with, row.query(false));
    EXPECT_THAT(with, HasSubstr(row.shows));
  }
}

// The rows of hints compare digests of code: those of equal code are equal.
TEST(BufferFields, WhatDecidesNothingLeavesTheCodeAlone) {
  EXPECT_EQ(code_for("inout y : f32[] @binding(7);"), code_for("inout y : f32[];"));
  EXPECT_EQ(code_for("inout y : f32[] @locality(random);"), code_for("inout y : f32[];"));
}

TEST(BufferFields, EveryKindIsItsOwn) {
  std::set<std::string> all;
  for (int kind = 0; kind < ir::kBufferKindCount; ++kind)
    EXPECT_TRUE(all.insert(of_kind(static_cast<ir::BufferKind>(kind))).second)
        << name_of(static_cast<ir::BufferKind>(kind));
}

}  // namespace
}  // namespace vyre::driver_test
