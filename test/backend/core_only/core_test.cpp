// SPDX-License-Identifier: Apache-2.0
// The core alone: this program has no backend linked but null and reference.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/device/registry.hpp"

namespace vyre::test {
namespace {

using namespace device;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// D-REG.1, D-REG.2
TEST(Core, RegistersNullAndReferenceAndNothingElse) {
  std::vector<std::string> ids;
  for (const BackendDescriptor& row : registry().registered_backends()) {
    ids.push_back(row.id);
    EXPECT_THAT(row.site, HasSubstr("src/backend/" + row.id + "/"));
    for (const DeviceFacts& device : row.enumerate()) {
      EXPECT_THAT(device.unusable, IsEmpty()) << device.id;
      const auto opened = registry().acquire(device.id);
      ASSERT_TRUE(opened) << to_string(opened.error());
      EXPECT_EQ((*opened)->info().id, device.id);
    }
  }
  EXPECT_THAT(ids, ElementsAre("reference", "null"));
}

// D-REG.1: nothing of the others is linked, nor what they need.
TEST(Core, IsLinkedWithoutTheOthers) {
  std::ifstream file("/proc/self/maps");
  std::stringstream maps;
  maps << file.rdbuf();
  ASSERT_THAT(maps.str(), HasSubstr("vyre_core_tests"));
  EXPECT_THAT(maps.str(), Not(HasSubstr("libLLVM")));
  EXPECT_THAT(maps.str(), Not(HasSubstr("libcuda")));
}

// D-REG.3
TEST(Core, NamesWhatIsLinked) {
  for (const char* id : {"cpu", "cuda", "cuda:1"}) {
    const auto none = registry().acquire(id);
    ASSERT_FALSE(none) << id;
    EXPECT_EQ(none.error().code, ErrorCode::Unavailable);
    EXPECT_THAT(none.error().message, HasSubstr("is not linked into this binary"));
    EXPECT_THAT(none.error().message, HasSubstr("(reference, null)"));
    EXPECT_FALSE(registry().backend_dispatches(id));
  }
}

// D-REG.4, D-REG.6: nobody gets them without asking for one.
TEST(Core, PrefersNothing) {
  Selection trace;
  const auto none = registry().acquire_preferred({.allow_cpu = true}, &trace);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(none.error().message,
              HasSubstr("(only reference oracle backend(s) were available: reference)"));
  EXPECT_THAT(trace.candidates, IsEmpty());
}

}  // namespace
}  // namespace vyre::test
