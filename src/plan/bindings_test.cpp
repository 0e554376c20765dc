// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/bindings.hpp"

#include <cstring>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/program_test.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::plan {
namespace {

using check::Role;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

check::CheckedProgram with_buffers(std::string_view buffers, std::string_view statements = "") {
  return check::checked("program t { workgroup 8; over 8; " + std::string(buffers) +
                        std::string(statements) + " }");
}

BindingPlan planned(std::string_view buffers) {
  auto plan = plan_bindings(with_buffers(buffers));
  EXPECT_TRUE(plan.has_value()) << to_string(plan.error());
  return plan.value_or(BindingPlan{});
}

template <class Range, class Fn>
auto mapped(const Range& range, Fn fn) {
  std::vector<decltype(fn(*range.begin()))> all;
  all.reserve(range.size());
  for (const auto& item : range) all.push_back(fn(item));
  return all;
}

// "name:binding" of every binding, in the plan's order.
std::vector<std::string> numbers(const BindingPlan& plan) {
  return mapped(plan.bindings,
                [](const Binding& b) { return b.name + ":" + std::to_string(b.binding); });
}

std::vector<std::string> names(const BindingPlan& plan, const std::vector<uint32_t>& slots) {
  return mapped(slots, [&](uint32_t slot) { return plan.bindings.at(slot).name; });
}

// One buffer of each kind, and outputs that are given a size in other ways.
constexpr std::string_view kEveryKind =
    "in a : u32[]; uniform u : u32[4]; inout b : u32[]; inout live : u32[8] @live_out;"
    "out o : u32[8]; writeonly w : u32[8]; shared s : f32[16]; persistent p : u32[];"
    "out sized : u64[] @count(len(a));";

TEST(Bindings, Roles) {  // D-BIND.1
  const BindingPlan plan = planned(kEveryKind);
  const auto roles =
      mapped(plan.bindings, [](const Binding& b) { return std::pair(b.name, b.role); });
  EXPECT_THAT(roles,
              ElementsAre(std::pair("a", Role::Input), std::pair("u", Role::Uniform),
                          std::pair("b", Role::InputOutput), std::pair("live", Role::Output),
                          std::pair("o", Role::Output), std::pair("w", Role::Output),
                          std::pair("p", Role::Persistent), std::pair("sized", Role::Output)));
  EXPECT_THAT(names(plan, plan.input_slots), ElementsAre("a", "u", "b", "p"));
  EXPECT_THAT(names(plan, plan.output_slots), ElementsAre("b", "live", "o", "w", "sized"));
  ASSERT_EQ(plan.shared.size(), 1U);
  EXPECT_EQ(plan.shared[0], (SharedBuffer{.name = "s",
                                          .buffer_index = ir::BufferId{6},
                                          .element_size = 4,
                                          .preferred_alignment = 4,
                                          .element_count = 16,
                                          .byte_len = 64}));
}

TEST(Bindings, AccessOfEachKind) {  // D-BIND.6
  const auto accesses =
      mapped(planned(kEveryKind).bindings, [](const Binding& b) { return b.access; });
  EXPECT_THAT(accesses, ElementsAre(Access::ReadOnly, Access::ReadOnly, Access::ReadWrite,
                                    Access::ReadWrite, Access::ReadWrite, Access::WriteOnly,
                                    Access::ReadWrite, Access::ReadWrite));
}

// D-BIND.1: the oracle takes and gives bytes by the very slots of the plan.
TEST(Bindings, OracleUsesTheSameSlots) {
  const check::CheckedProgram checked = with_buffers(
      "out last : u32[1] @binding(9); in a : u32[] @binding(8); inout b : u32[] @binding(0);"
      "uniform u : u32[1] @binding(1); out first : u32[1];",
      "if gid.x == 0 { last[0] = a[0]; first[0] = u[0]; b[0] = b[0] + 5; }");
  const auto plan = plan_bindings(checked);
  ASSERT_TRUE(plan.has_value()) << to_string(plan.error());

  // Each input holds the number of its binding, so that a slot mixed up shows in the outputs.
  const auto words =
      mapped(plan->input_slots, [&](uint32_t slot) { return plan->bindings[slot].binding; });
  const auto inputs = mapped(words, [](const uint32_t& word) -> std::span<const std::byte> {
    return std::as_bytes(std::span(&word, 1));
  });
  const auto outcome = oracle::run(checked, inputs);
  ASSERT_TRUE(outcome.has_value()) << to_string(outcome.error());

  const auto outputs = outcome->outputs(checked);
  ASSERT_EQ(outputs.size(), plan->output_slots.size());
  std::vector<std::pair<std::string, uint32_t>> got;
  for (size_t i = 0; i < outputs.size(); ++i) {
    uint32_t word = 0;
    ASSERT_EQ(outputs[i].size(), sizeof(word));
    std::memcpy(&word, outputs[i].data(), sizeof(word));
    got.emplace_back(plan->bindings[plan->output_slots[i]].name, word);
  }
  EXPECT_THAT(got, ElementsAre(std::pair("last", 8U), std::pair("b", 5U), std::pair("first", 1U)));
}

// D-BIND.2: bindings by number, slots by declaration.
TEST(Bindings, Order) {
  const BindingPlan plan = planned(
      "in a : u32[] @binding(9); inout b : u64[16] @binding(8); out c : u8[4] @binding(0);"
      "in d : f32[] @binding(1);");
  EXPECT_THAT(numbers(plan), ElementsAre("c:0", "d:1", "b:8", "a:9"));
  EXPECT_THAT(plan.input_slots, ElementsAre(3, 2, 1));
  EXPECT_THAT(plan.output_slots, ElementsAre(2, 0));
  EXPECT_THAT(plan.shared, IsEmpty());
  EXPECT_EQ(plan.bindings[2], (Binding{.name = "b",
                                       .binding = 8,
                                       .buffer_index = ir::BufferId{1},
                                       .role = Role::InputOutput,
                                       .access = Access::ReadWrite,
                                       .element_size = 8,
                                       .preferred_alignment = 8,
                                       .element_count = 16,
                                       .static_byte_len = 128,
                                       .input_index = 1,
                                       .output_index = 0}));
  EXPECT_EQ(plan.bindings[0].input_index, std::nullopt);
  EXPECT_EQ(plan.bindings[0].output_index, 1U);
  EXPECT_EQ(plan.bindings[3].input_index, 0U);
  EXPECT_EQ(plan.bindings[3].output_index, std::nullopt);
}

// D-BIND.2: whatever the order, each slot leads to the binding that names it.
TEST(Bindings, SlotsAndIndicesAgree) {
  const BindingPlan plan = planned(kEveryKind);
  for (uint32_t i = 0; i < plan.input_slots.size(); ++i)
    EXPECT_EQ(plan.bindings[plan.input_slots[i]].input_index, i);
  for (uint32_t i = 0; i < plan.output_slots.size(); ++i)
    EXPECT_EQ(plan.bindings[plan.output_slots[i]].output_index, i);
}

TEST(Bindings, NoBuffers) {
  const BindingPlan plan = planned("");
  EXPECT_EQ(plan, BindingPlan{});
  EXPECT_THAT(descriptor_slots(plan), IsEmpty());
}

// D-BIND.3: sized at run time and empty are different.
TEST(Bindings, StaticLength) {
  const BindingPlan plan = planned(
      "in run_time : u32[]; in empty : u32[0]; in known : u16[3];"
      "out sized : u32[] @count(len(run_time));");
  EXPECT_EQ(plan.bindings[0].static_byte_len, std::nullopt);
  EXPECT_EQ(plan.bindings[1].static_byte_len, 0U);
  EXPECT_EQ(plan.bindings[2].static_byte_len, 6U);
  EXPECT_EQ(plan.bindings[3].static_byte_len, std::nullopt);
  EXPECT_EQ(plan.bindings[0].element_count, 0U);
  EXPECT_EQ(plan.bindings[1].element_count, 0U);
  EXPECT_EQ(plan.bindings[2].element_count, 3U);
  EXPECT_EQ(plan.bindings[3].element_count, 0U);

  EXPECT_EQ(planned("in large : u64[4294967295];").bindings[0].static_byte_len, 34'359'738'360U);
}

TEST(Bindings, StaticLengthOverflow) {  // D-BIND.3
  EXPECT_EQ(static_byte_len(0, 8), 0U);
  EXPECT_EQ(static_byte_len(UINT64_MAX / 8, 8), UINT64_MAX - 7);
  const auto overflow = static_byte_len(UINT64_MAX / 8 + 1, 8);
  ASSERT_FALSE(overflow.has_value());
  EXPECT_EQ(overflow.error().code, ErrorCode::InvalidProgram);
  EXPECT_THAT(overflow.error().message, HasSubstr("2305843009213693952 elements of 8 bytes"));
  EXPECT_THAT(overflow.error().message, HasSubstr("Fix:"));
}

TEST(Bindings, ElementCount) {  // D-BIND.3
  EXPECT_EQ(element_count(0, 4), 0U);
  EXPECT_EQ(element_count(64, 4), 16U);
  EXPECT_EQ(element_count(UINT32_MAX, 1), UINT32_MAX);
  EXPECT_EQ(element_count(uint64_t{UINT32_MAX} * 8, 8), UINT32_MAX);

  // 2^32 elements would be 0 in 32 bits.
  for (const uint64_t count : {uint64_t{1} << 32, (uint64_t{1} << 32) + 1, uint64_t{1} << 60}) {
    const auto large = element_count(count * 8, 8);
    ASSERT_FALSE(large.has_value()) << count;
    EXPECT_EQ(large.error().code, ErrorCode::LimitExceeded);
    EXPECT_THAT(large.error().message, HasSubstr(std::to_string(count) + " elements"));
    EXPECT_THAT(large.error().message, HasSubstr("Fix:"));
  }

  const auto part = element_count(7, 4);
  ASSERT_FALSE(part.has_value());
  EXPECT_EQ(part.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(part.error().message, HasSubstr("7 bytes is not a multiple of its element size (4)"));
  EXPECT_THAT(part.error().message, HasSubstr("Fix:"));
}

TEST(Bindings, Alignment) {  // D-BIND.4
  EXPECT_EQ(preferred_alignment(64, 4), 64U);
  EXPECT_EQ(preferred_alignment(0, 4), 4U);
  EXPECT_EQ(preferred_alignment(0, 12), 16U);
  EXPECT_EQ(preferred_alignment(1, 8), 8U);
  EXPECT_EQ(preferred_alignment(8, 8), 8U);
  EXPECT_EQ(preferred_alignment(uint64_t{1} << 31, 4), uint32_t{1} << 31);
  for (const uint64_t hint : {uint64_t{48}, uint64_t{3}, uint64_t{1} << 32}) {
    const auto refused = preferred_alignment(hint, 4);
    ASSERT_FALSE(refused.has_value()) << hint;
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidProgram);
    EXPECT_THAT(refused.error().message, HasSubstr("preferred_alignment=" + std::to_string(hint)));
    EXPECT_THAT(refused.error().message, HasSubstr("Fix:"));
  }

  const BindingPlan plan = planned("in a : u32[] @align(64); in b : u32[]; shared s : u8[3];");
  EXPECT_EQ(plan.bindings[0].preferred_alignment, 64U);
  EXPECT_EQ(plan.bindings[1].preferred_alignment, 4U);
  EXPECT_EQ(plan.shared[0].preferred_alignment, 1U);
}

// D-BIND.4: the checker says it of a text, the plan of facts that nobody checked.
TEST(Bindings, BadAlignment) {
  text::Parsed parsed = text::parse("program t { workgroup 8; in a : u32[] @align(48); }", "t");
  const auto refused = check::check_valid(std::move(parsed.program));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidProgram);
  ASSERT_FALSE(refused.error().diagnostics.empty());
  EXPECT_THAT(refused.error().diagnostics[0].message, HasSubstr("preferred_alignment=48"));

  check::CheckedProgram checked = with_buffers("in a : u32[]; in b : u32[];");
  checked.buffers[1].align = 48;
  const auto plan = plan_bindings(checked);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::InvalidProgram);
  EXPECT_THAT(plan.error().message, HasSubstr("preferred_alignment=48"));
  EXPECT_THAT(plan.error().context, ElementsAre("while binding `b`"));
  EXPECT_TRUE(plan.error().at.known());
}

// D-BIND.6: counts, names, hints and shared memory do not matter for a layout.
TEST(Bindings, SharedLayout) {
  const BindingPlan sixteen = planned("in a : u32[16]; out o : u32[16];");
  EXPECT_TRUE(share_layout(sixteen, planned("in a : u32[64]; out o : u32[64];")));
  EXPECT_TRUE(share_layout(sixteen, planned("in x : u32[] @align(64); out y : f32[1];")));
  EXPECT_TRUE(share_layout(sixteen, planned("in a : u32[16]; shared s : u32[8]; out o : u32[1];")));
  EXPECT_TRUE(
      share_layout(sixteen, planned("out o : u32[16] @binding(1); in a : u32[16] @binding(0);")));
}

TEST(Bindings, OtherLayout) {  // D-BIND.6
  const BindingPlan two = planned("in a : u32[16]; out o : u32[16];");
  for (const std::string_view other :
       {"in a : u32[16]; in b : u32[16]; out o : u32[16];",  // three bindings
        "in a : u32[16];",                                   // one
        "in a : u32[16]; out o : u32[16] @binding(2);",      // another number
        "in a : u32[16]; inout o : u32[16];",                // another role
        "in a : u32[16]; writeonly o : u32[16];",            // another access
        "in a : u32[16]; out o : u64[16];",                  // another element size
        "uniform a : u32[16]; out o : u32[16];",             // another class
        "in a : u32[16] @binding(1); out o : u32[16] @binding(0);"})
    EXPECT_FALSE(share_layout(two, planned(other))) << other;
}

TEST(Bindings, RepeatedBuildsAreEqual) {  // D-BIND.6
  const BindingPlan once = planned(kEveryKind);
  const BindingPlan again = planned(kEveryKind);
  EXPECT_EQ(once, again);
  EXPECT_EQ(layout_fingerprint(once), layout_fingerprint(again));
  EXPECT_EQ(layout_fingerprint(once).hex().size(), 64U);
  EXPECT_EQ(descriptor_slots(once), descriptor_slots(again));
}

TEST(Bindings, Descriptors) {  // D-BIND.6
  using Class = DescriptorSlot::Class;
  const auto slots = descriptor_slots(planned(
      "in a : u32[] @binding(9); inout b : u64[16] @binding(8); writeonly c : u8[4] @binding(0);"
      "shared s : u32[8]; uniform d : f32[4] @binding(1);"));
  EXPECT_THAT(slots, ElementsAre(DescriptorSlot{0, 0, Class::Storage, false, 1},
                                 DescriptorSlot{0, 1, Class::Uniform, true, 4},
                                 DescriptorSlot{0, 8, Class::Storage, false, 8},
                                 DescriptorSlot{0, 9, Class::Storage, true, 4}));
  EXPECT_EQ(name_of(Class::Storage), "storage");
  EXPECT_EQ(name_of(Class::Uniform), "uniform");
}

}  // namespace
}  // namespace vyre::plan
