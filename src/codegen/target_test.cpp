// SPDX-License-Identifier: Apache-2.0
#include "codegen/target.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/codegen.hpp"
#include "device/kernel.hpp"
#include "vyre/text/text.hpp"

namespace vyre::codegen {
namespace {

using device::Format;
using testing::ElementsAreArray;
using testing::HasSubstr;

plan::Plan plan_of(const std::string& source) {
  text::Parsed parsed = text::parse(source, "p.vyre");
  const auto checked = check::check_valid(std::move(parsed.program));
  EXPECT_TRUE(checked) << (checked ? "" : to_string(checked.error()));
  if (!checked) return {};
  auto plan = plan::make_plan(*checked, {.variant = {.route = plan::Route::Resident}});
  EXPECT_TRUE(plan) << (plan ? "" : to_string(plan.error()));
  return plan ? std::move(*plan) : plan::Plan();
}

const char* const kSource = R"(program p {
  workgroup 64;
  inout b : u32[];
  shared s : u32[64];
  s[lid.x] = b[gid.x];
  barrier;
  b[gid.x] = s[63 - lid.x];
}
)";

// Each descriptor is whole: readers of the table test for null only.
TEST(Targets, AreWhole) {
  std::set<Format> formats;
  for (const TargetDescriptor* const target : targets()) {
    SCOPED_TRACE(name_of(target->format));
    EXPECT_TRUE(formats.insert(target->format).second) << "two targets with one format";
    EXPECT_EQ(find_target(target->format), target);
    EXPECT_NE(target->can_emit, nullptr);
    EXPECT_NE(target->emit, nullptr);
    EXPECT_FALSE(target->other_listing.empty());
    EXPECT_EQ(target->explain == nullptr, target->is_interpreted);
    EXPECT_EQ(target->architecture_capabilities == nullptr, target->default_architecture.empty());
    std::set<std::string_view> names;
    for (const Listing& listing : target->listings) {
      EXPECT_TRUE(names.insert(listing.name).second) << listing.name;
      EXPECT_NE(listing.print, nullptr);
    }
  }
  EXPECT_NE(architecture_target().architecture_capabilities, nullptr);
}

// Every target makes its code and its listings of a plan that it says it can emit, and the same
// code again.
TEST(Targets, EmitWhatTheyCan) {
  const plan::Plan plan = plan_of(kSource);
  for (const TargetDescriptor* const target : targets()) {
    SCOPED_TRACE(name_of(target->format));
    const Target made_for{.format = target->format, .subgroup_size = 32};
    EXPECT_FALSE(target->can_emit(made_for, plan));
    const auto code = emit(made_for, plan);
    ASSERT_TRUE(code) << to_string(code.error());
    EXPECT_FALSE(code->empty());
    EXPECT_EQ(*code, emit(made_for, plan).value());
    for (const Listing& listing : target->listings) {
      const auto text = list_code(listing.name, made_for, plan);
      ASSERT_TRUE(text) << to_string(text.error());
      EXPECT_FALSE(text->empty());
    }
    EXPECT_EQ(entries_of(plan, "p", made_for).size(), plan.segments.size());
  }
}

TEST(Targets, RefusalsSayWhatToDo) {
  const plan::Plan plan = plan_of(kSource);
  const auto none = emit({.format = Format::Spirv}, plan);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(none.error().message, HasSubstr("no code generator for format `spirv`"));
  for (const TargetDescriptor* const target : targets()) {
    const auto listed = list_code("spirv", {.format = target->format}, plan);
    ASSERT_FALSE(listed);
    EXPECT_EQ(listed.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(listed.error().message, HasSubstr(std::string(target->other_listing)));
  }
  const Target unknown{.format = Format::Ptx, .architecture = "sm_1"};
  for (const auto& refused : {emit(unknown, plan), list_code("ptx", unknown, plan)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("architecture `sm_1`"));
  }
}

// The order of the words is that of `vyre compile --help`.
TEST(Targets, ListingNames) {
  EXPECT_THAT(listing_names(), ElementsAreArray({"llvm", "asm", "ptx", "c", "spirv", "cubin"}));
}

// What people get of a device that does not load it.
TEST(Targets, ListingsForEveryDevice) {
  EXPECT_EQ(listing_format("c", Format::Object), Format::C);
  EXPECT_EQ(listing_format("c", Format::Ptx), Format::C);
  EXPECT_EQ(listing_format("ptx", Format::Object), Format::Object);
  EXPECT_EQ(listing_device("c"), "cpu");
  EXPECT_EQ(listing_device("llvm"), "");
}

TEST(Targets, FirstOfTheFormatsOfADevice) {
  EXPECT_EQ(choose_format({Format::Cubin, Format::Ptx}, "d").value(), Format::Ptx);
  EXPECT_EQ(choose_format({Format::Ptx, Format::Object}, "d").value(), Format::Object);
  EXPECT_EQ(choose_format({Format::Object, Format::Program}, "d").value(), Format::Program);
  EXPECT_TRUE(is_interpreted(Format::Program));
  EXPECT_FALSE(is_interpreted(Format::Object));
  EXPECT_FALSE(is_interpreted(Format::Spirv));
  const auto none = choose_format({Format::Spirv, Format::Cubin}, "d");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace vyre::codegen
