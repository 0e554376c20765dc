// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class CacheWhy : public testing::Test {
 protected:
  Outcome on_cache(std::vector<std::string> arguments) const {
    return run_vyre(std::move(arguments),
                    {.environment = {"VYRE_CACHE_DIR=" + folder_.path("cache")}});
  }
  Json why(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"cache", "why", program_, "--json"});
    return on_cache(std::move(more)).json();
  }
  void compile(const std::string& file, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", file, "--device", "reference:3"});
    ASSERT_EQ(on_cache(std::move(more)).exit_code, 0);
  }
  static std::string text(uint32_t stored) {
    return "program p { workgroup 4; out o : u32[4]; o[gid.x] = " + std::to_string(stored) +
           "; }\n";
  }

  Folder folder_;
  std::string program_ = folder_.write("p.vyre", text(1));
};

// D-PIPE.4: every reason for a miss, and the hit.
TEST_F(CacheWhy, DPipe4Reasons) {
  const std::vector<std::string> there = {"--device", "reference:3"};
  EXPECT_EQ(why(there)["miss"], "empty");
  EXPECT_TRUE(folder_.names() == std::vector<std::string>{"p.vyre"});  // a look makes nothing
  compile(folder_.write("other.vyre", text(2)));
  EXPECT_EQ(why(there)["miss"], "program");
  EXPECT_EQ(why({"--device", "reference:5"})["miss"], "absent");
  compile(program_);
  const Json hit = why(there);
  EXPECT_EQ(hit["hit"], true);
  EXPECT_TRUE(hit["miss"].is_null());
  EXPECT_EQ(hit["device"], "reference:3");
  for (const char* part : {"program", "policy", "runtime"})
    EXPECT_EQ(hit[part].get<std::string>().size(), 64U) << part;
  const Json checked = why({"--device", "reference:3", "--checked"});
  EXPECT_EQ(checked["hit"], false);
  EXPECT_EQ(checked["miss"], "policy");
  EXPECT_EQ(checked["options"]["checked"], "true");
  EXPECT_EQ(why({"--device", "reference:3", "--workgroup", "2"})["miss"], "policy");
  EXPECT_EQ(why({"--device", "reference:5"})["miss"], "device/runtime");
  compile(program_, {"--checked"});
  EXPECT_EQ(why({"--device", "reference:3", "--checked"})["hit"], true);
}

TEST_F(CacheWhy, Text) {
  compile(program_);
  const Outcome hit = on_cache({"cache", "why", program_, "--device", "reference:3"});
  EXPECT_EQ(hit.exit_code, 0);
  EXPECT_THAT(hit.out, AllOf(StartsWith("hit\ndevice     reference:3\nprogram    "),
                             HasSubstr("\npolicy     "), HasSubstr("route native"),
                             HasSubstr("\nruntime    ")));
  EXPECT_THAT(on_cache({"cache", "why", program_, "--device", "reference:5"}).out,
              StartsWith("miss: device/runtime (it was compiled for another device"));
  const Outcome off = run_vyre({"cache", "why", program_, "--device", "reference"});
  EXPECT_THAT(off.out, AllOf(StartsWith("miss: empty"), HasSubstr("\ncache      off: ")));
  EXPECT_THAT(run_vyre({"cache", "why", program_, "--device", "reference:3", "--dir",
                        folder_.path("cache")})
                  .out,
              StartsWith("hit\n"));
}

TEST_F(CacheWhy, Misuse) {
  EXPECT_EQ(on_cache({"cache", "why"}).exit_code, 2);
  EXPECT_EQ(on_cache({"cache", "stat", program_}).exit_code, 2);
  EXPECT_EQ(on_cache({"cache", "stat", "--checked"}).exit_code, 2);
  EXPECT_EQ(on_cache({"cache", "why", program_, "--device", "nonesuch"}).exit_code, 4);
  EXPECT_EQ(on_cache({"cache", "why", "nothing.vyre", "--device", "reference"}).exit_code, 11);
}

}  // namespace
}  // namespace vyre::test
