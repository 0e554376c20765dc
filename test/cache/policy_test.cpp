// SPDX-License-Identifier: Apache-2.0
// D-PIPE.9: the manifest's policy is what reached the code, no more and no less: every field of it
// changes code and key, and no other field of a config changes it.
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/cache_test.hpp"
#include "vyre/backend/cpu.hpp"
#include "vyre/pipeline/compiler.hpp"
#include "vyre/run/device.hpp"
#include "vyre/text/text.hpp"

namespace vyre::pipeline::test {
namespace {

using run::Device;
using run::DispatchConfig;
using testing::Contains;
using testing::Key;
using testing::Pair;

constexpr std::string_view kRecip = R"(program reciprocals {
  workgroup 64;
  over len(y);
  in x : f32[];
  out y : f32[] @count(len(x));
  y[gid.x] = recip(x[gid.x]) + x[gid.x + 1];
})";

constexpr std::string_view kPlain = R"(program sums {
  workgroup 64;
  over len(y);
  in x : f32[];
  out y : f32[] @count(len(x));
  y[gid.x] = x[gid.x] + exp(x[gid.x + 1]);
})";

ir::Program program_of(std::string_view text) {
  text::Parsed parsed = text::parse(text, "test.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors()) << render_text(parsed.diagnostics, {});
  return std::move(parsed.program);
}

class Policies : public testing::Test {
 protected:
  void SetUp() override {
    if (*backend::why_no_cpu() != 0) GTEST_SKIP() << backend::why_no_cpu();
    device_ = Device::over(*backend::open_cpu({.workers = 1}), {.cache_directory = {}});
  }
  run::CompileResult compiled(std::string_view text, const DispatchConfig& config = {}) const {
    auto result = device_->compile(program_of(text), config);
    EXPECT_TRUE(result) << to_string(result.error());
    return result ? std::move(*result) : run::CompileResult{};
  }
  Fields policy(const DispatchConfig& config, std::string_view text = kRecip) const {
    return compiled(text, config).manifest.dispatch_policy;
  }
  std::string code(const DispatchConfig& config, std::string_view text = kRecip) const {
    const auto manifest = compiled(text, config).manifest;
    return manifest.variants.empty() ? "" : manifest.variants[0].artifact_digest;
  }

  std::optional<Device> device_;
};

// A value that is not what the field has without one.
template <class T>
std::optional<T> other() {
  return std::nullopt;
}
template <>
std::optional<uint32_t> other() {
  return 3;
}
template <>
std::optional<uint64_t> other() {
  return uint64_t{1} << 30;
}
template <>
std::optional<bool> other() {
  return true;
}
template <>
std::optional<std::string> other() {
  return "latency";
}
template <>
std::optional<std::chrono::nanoseconds> other() {
  return std::chrono::hours(1);
}
template <>
std::optional<check::Axes> other() {
  return check::Axes{2, 1, 1};
}
template <>
std::optional<run::Choice> other() {
  return run::Choice::Disable;
}
template <>
std::optional<std::shared_ptr<const run::ProgressFunction>> other() {
  return std::make_shared<const run::ProgressFunction>([](uint64_t, uint64_t) {});
}

TEST_F(Policies, OnlyWhatReachesCodeIsListed) {
  const std::map<std::string, std::string, std::less<>> listed = {{"profile", "profile"},
                                                                  {"ulp_budget", "ulp_budget"},
                                                                  {"workgroup", "workgroup"},
                                                                  {"checked", "checked"}};
  const Fields plain = policy({});
  const std::string plain_code = code({});
  size_t walked = 0;
#define VYRE_TRY_FIELD(type, name)                                                               \
  if (const auto value = other<decltype(DispatchConfig::name)::value_type>()) {                  \
    SCOPED_TRACE(#name);                                                                         \
    DispatchConfig config;                                                                       \
    config.name = value;                                                                         \
    const Fields changed = policy(config);                                                       \
    ++walked;                                                                                    \
    if (listed.contains(#name)) {                                                                \
      EXPECT_NE(changed, plain);                                                                 \
      for (size_t i = 0; i < plain.size(); ++i)                                                  \
        EXPECT_EQ(changed[i] != plain[i], plain[i].first == listed.at(#name)) << plain[i].first; \
      EXPECT_NE(code(config), plain_code);                                                       \
    } else {                                                                                     \
      EXPECT_EQ(changed, plain);                                                                 \
      EXPECT_EQ(code(config), plain_code);                                                       \
    }                                                                                            \
  }
  VYRE_CONFIG_FIELDS(VYRE_TRY_FIELD)
#undef VYRE_TRY_FIELD
  EXPECT_GE(walked, 15U);
}

// The other half: each field of a policy is in its description, and so in the key.
TEST_F(Policies, EveryFieldIsPartOfTheKey) {
  const Source source = make_source(
      std::make_shared<const check::CheckedProgram>(*check::check_valid(program_of(kRecip))));
  const auto key = [&](const Policy& policy) {
    return make_key(source, policy, device_->info(), "build").policy;
  };
  std::vector<Policy> all(12);
  all[1].variant.route = plan::Route::Resident;
  all[2].variant.workgroups_per_block = 2;
  all[3].variant.unrolled_iterations = 2;
  all[4].variant.interleave = 2;
  all[5].variant.is_1d = !all[0].variant.is_1d;
  all[6].checked = true;
  all[7].workgroup = check::Axes{2, 1, 1};
  all[8].ulp_budget = 1;
  all[9].profile = Profile::Latency;
  all[10].variant.lanes = 8;
  all[11].print = true;
  EXPECT_EQ(describe(all[0]).size(), all.size() - 1);
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_NE(key(all[i]), key(all[j])) << i << " and " << j;
}

// A budget that no approximation of this program fits into is none: one key, one code.
TEST_F(Policies, ABudgetThatChangesNothingIsStrict) {
  const auto strict = compiled(kPlain);
  const auto relaxed = compiled(kPlain, {.ulp_budget = 4});
  EXPECT_THAT(relaxed.manifest.dispatch_policy, Contains(Pair("ulp_budget", "0")));
  EXPECT_EQ(relaxed.manifest.dispatch_policy, strict.manifest.dispatch_policy);
  EXPECT_EQ(relaxed.pipeline.id(), strict.pipeline.id());
  EXPECT_EQ(relaxed.cache_hit, CacheHit::Yes);
  // Of recip() one ULP is all that is used.
  EXPECT_THAT(policy({.ulp_budget = 1000}), Contains(Pair("ulp_budget", "1")));
  EXPECT_EQ(compiled(kRecip, {.ulp_budget = 1}).pipeline.id(),
            compiled(kRecip, {.ulp_budget = 1000}).pipeline.id());
}

std::vector<uint32_t> bits_of(const run::DispatchResult& result) {
  std::vector<uint32_t> bits(result.outputs[0].size() / 4);
  std::memcpy(bits.data(), result.outputs[0].data(), result.outputs[0].size());
  return bits;
}

// D-PIPE.7: the code of a call is that of its own budget and profile, whatever the one before had.
TEST_F(Policies, OfEachCall) {
  const auto pipeline = compiled(R"(program p { workgroup 64; over len(x); in x : f32[];
      out y : f32[] @count(len(x)); y[gid.x] = recip(x[gid.x]); })")
                            .pipeline;
  // 1 / x is subnormal, where the strict function rounds twice.
  std::vector<float> x;
  for (uint32_t i = 0; i < 4096; ++i) x.push_back(std::bit_cast<float>(0x7e80'0000U + i * 2039));
  const auto run = [&](const DispatchConfig& config) {
    auto done = pipeline.dispatch({std::as_bytes(std::span(x))}, config);
    EXPECT_TRUE(done) << to_string(done.error());
    return done ? bits_of(*done) : std::vector<uint32_t>();
  };
  const auto strict = run({});
  const auto relaxed = run({.ulp_budget = 1});
  EXPECT_NE(relaxed, strict);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(std::max(strict[i], relaxed[i]) - std::min(strict[i], relaxed[i]), 1U) << x[i];
    EXPECT_EQ(relaxed[i], std::bit_cast<uint32_t>(1 / x[i])) << x[i];
  }
  EXPECT_EQ(run({}), strict) << "the call after it is strict again";
  EXPECT_EQ(run({.profile = "latency"}), strict) << "cheap code gives the same bytes";
  EXPECT_EQ(run({.profile = "latency", .ulp_budget = 1}), relaxed);
  EXPECT_EQ(pipeline.manifest().variants.size(), 4U);
}

}  // namespace
}  // namespace vyre::pipeline::test
