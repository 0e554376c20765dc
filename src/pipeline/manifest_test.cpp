// SPDX-License-Identifier: Apache-2.0
// D-PIPE.3
#include "vyre/pipeline/manifest.hpp"

#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "vyre/plan/plan.hpp"

namespace vyre::pipeline {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Manifest sample() {
  return {.backend_id = "cuda",
          .backend_version = "12.8",
          .pipeline_id = "cuda:0123abcd",
          .program_digest = std::string(64, 'a'),
          .dispatch_policy = {{"ulp_budget", "0"}, {"checked", "false"}, {"a \"key\"", "é\n"}},
          .device_signature = "NVIDIA H200 sm_90 driver 570",
          .compiler_build_id = "vyre-0.1.0 llvm-19",
          .variants = {{.route = "native",
                        .checked = true,
                        .workgroup = {64, 2, 1},
                        .entries = {"main", "main_1"},
                        .artifact_digest = std::string(63, '0') + "f"},
                       {.artifact_digest = std::string(64, '9')}},
          .cache_hit = CacheHit::Yes};
}

std::string message_of(std::string_view text) {
  const Result<Manifest> result = manifest_from_json(text);
  if (result) return "accepted";
  EXPECT_EQ(result.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(result.error().message, HasSubstr(". Fix: "));
  EXPECT_THAT(result.error().context, ElementsAre("while reading a manifest"));
  return result.error().message;
}

// What is said about the sample after a change.
std::string changed(const std::function<void(Json&)>& change) {
  Json json = Json::parse(to_json(sample()));
  change(json);
  return message_of(json.dump());
}

TEST(Manifest, TheWholeText) {
  Manifest manifest = sample();
  manifest.dispatch_policy = {{"b", "1"}, {"a", "2"}};
  manifest.variants.resize(1);
  EXPECT_EQ(to_json(manifest), R"({
  "schema": 1,
  "backend_id": "cuda",
  "backend_version": "12.8",
  "pipeline_id": "cuda:0123abcd",
  "program_digest": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  "dispatch_policy": {
    "b": "1",
    "a": "2"
  },
  "device_signature": "NVIDIA H200 sm_90 driver 570",
  "compiler_build_id": "vyre-0.1.0 llvm-19",
  "variants": [
    {
      "route": "native",
      "checked": true,
      "workgroup": [
        64,
        2,
        1
      ],
      "entries": [
        "main",
        "main_1"
      ],
      "artifact_digest": "000000000000000000000000000000000000000000000000000000000000000f"
    }
  ],
  "cache_hit": "yes"
})");
}

TEST(Manifest, ThereAndBack) {
  for (const CacheHit hit : {CacheHit::No, CacheHit::Yes, CacheHit::Unknown}) {
    Manifest manifest = sample();
    manifest.cache_hit = hit;
    const Result<Manifest> back = manifest_from_json(to_json(manifest));
    ASSERT_TRUE(back) << to_string(back.error());
    EXPECT_EQ(*back, manifest);
    EXPECT_EQ(to_json(*back), to_json(manifest));
  }
  Manifest empty = sample();
  empty.dispatch_policy.clear();
  empty.variants.clear();
  EXPECT_EQ(manifest_from_json(to_json(empty)), empty);
}

TEST(Manifest, EveryFieldIsInTheText) {
  const std::vector<std::function<void(Manifest&)>> changes = {
      [](Manifest& m) { m.backend_id = "c", m.pipeline_id = "c:0123abcd"; },
      [](Manifest& m) { m.backend_version += "x"; },
      [](Manifest& m) { m.pipeline_id += "x"; },
      [](Manifest& m) { m.program_digest[5] = 'b'; },
      [](Manifest& m) { m.dispatch_policy[1].second = "true"; },
      [](Manifest& m) { std::swap(m.dispatch_policy[0], m.dispatch_policy[1]); },
      [](Manifest& m) { m.device_signature += "x"; },
      [](Manifest& m) { m.compiler_build_id += "x"; },
      [](Manifest& m) { m.variants[1].route = "host"; },
      [](Manifest& m) { m.variants[1].checked = true; },
      [](Manifest& m) { m.variants[0].workgroup[2] = 4294967295U; },
      [](Manifest& m) { m.variants[0].entries.pop_back(); },
      [](Manifest& m) { m.variants[1].artifact_digest[63] = '0'; },
      [](Manifest& m) { m.cache_hit = CacheHit::No; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Manifest manifest = sample();
    changes[i](manifest);
    EXPECT_NE(to_json(manifest), to_json(sample())) << i;
    const Result<Manifest> back = manifest_from_json(to_json(manifest));
    ASSERT_TRUE(back) << i << ": " << to_string(back.error());
    EXPECT_EQ(*back, manifest) << i;
  }
}

TEST(Manifest, EveryRouteHasItsPlace) {
  std::vector<std::string> routes = {"whole"};
  for (const plan::Route route :
       {plan::Route::Native, plan::Route::Persistent, plan::Route::Resident, plan::Route::Host})
    routes.emplace_back(plan::name_of(route));
  for (const std::string& route : routes) {
    Manifest manifest = sample();
    manifest.variants[0].route = route;
    EXPECT_EQ(manifest_from_json(to_json(manifest)), manifest) << route;
  }
}

TEST(Manifest, BytesThatAreNotUtf8AreReplaced) {
  Manifest manifest = sample();
  manifest.device_signature = "GPU \xFF";
  const Result<Manifest> back = manifest_from_json(to_json(manifest));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->device_signature, "GPU \uFFFD");
}

TEST(ManifestDeathTest, AnOptionTwiceIsABug) {
  Manifest manifest = sample();
  manifest.dispatch_policy.push_back(manifest.dispatch_policy[0]);
  EXPECT_DEATH((void)to_json(manifest), "internal bug");
}

TEST(ManifestRefusals, NotJson) {
  EXPECT_THAT(message_of(""), HasSubstr("is not JSON"));
  EXPECT_THAT(message_of("{"), HasSubstr("is not JSON (byte 2)"));
  EXPECT_THAT(message_of(to_json(sample()) + "x"), HasSubstr("is not JSON"));
  EXPECT_THAT(message_of("\"\xFF\""), HasSubstr("is not JSON"));
  EXPECT_THAT(message_of("[1e999]"), HasSubstr("number"));
  EXPECT_THAT(message_of(std::string(kMaxManifestBytes + 1, ' ')), HasSubstr("1048577 bytes"));
  EXPECT_THAT(message_of(std::string(kMaxManifestBytes, '[')), HasSubstr("is not JSON"));
  const std::string deep(kMaxManifestBytes / 2, '[');
  EXPECT_THAT(message_of(deep + std::string(deep.size(), ']')), HasSubstr("is not an object"));
  for (const char* text : {"null", "1", "\"x\"", "[]"})
    EXPECT_THAT(message_of(text), HasSubstr("the manifest is not an object")) << text;
}

TEST(ManifestRefusals, AnotherSchema) {
  for (const Json& schema : {Json(2), Json(0), Json(-1), Json(1.0), Json("1"), Json(true), Json()})
    EXPECT_THAT(changed([&](Json& json) { json["schema"] = schema; }), HasSubstr("schema is not 1"))
        << schema;
  EXPECT_THAT(message_of(R"({"schema": 2, "other": true})"), HasSubstr("schema is not 1"));
}

TEST(ManifestRefusals, FieldsThatAreMissingUnknownMovedOrRepeated) {
  const Json whole = Json::parse(to_json(sample()));
  for (const auto& [key, value] : whole.items()) {
    EXPECT_THAT(
        changed([&](Json& json) { json.erase(key); }),
        AllOf(HasSubstr("the manifest has"), HasSubstr("in this order: schema, backend_id")))
        << key;
    // At the end instead, which changes nothing for the last.
    const std::string moved = changed([&](Json& json) {
      json.erase(key);
      json[key] = value;
    });
    EXPECT_THAT(moved, key == "cache_hit" ? HasSubstr("accepted") : HasSubstr("out of order"))
        << key;
    // A second field of the same name.
    std::string twice = whole.dump();
    twice.back() = ',';
    twice += Json(key).dump() + ":" + value.dump() + "}";
    EXPECT_THAT(message_of(twice), HasSubstr("two fields `" + key + "`"));
  }
  EXPECT_THAT(changed([](Json& json) { json["more"] = 1; }), HasSubstr("unknown field `more`"));
  EXPECT_THAT(changed([](Json& json) { json.erase("cache_hit"); }),
              HasSubstr("has no field `cache_hit`"));
  EXPECT_THAT(changed([](Json& json) { json["variants"][1]["x"] = 1; }),
              HasSubstr("variants[1] has the unknown field `x`"));
  EXPECT_THAT(changed([](Json& json) { json["variants"][1].erase("artifact_digest"); }),
              HasSubstr("variants[1] has no field `artifact_digest`"));
  std::string text = to_json(sample());
  text.replace(text.find("\"checked\": \"false\""), 9, "\"ulp_budget\"");
  EXPECT_THAT(message_of(text), HasSubstr("two fields `ulp_budget`"));
}

TEST(ManifestRefusals, ValuesOfAnotherKind) {
  for (const char* key : {"backend_id", "backend_version", "pipeline_id", "program_digest",
                          "device_signature", "compiler_build_id", "cache_hit"})
    EXPECT_THAT(changed([&](Json& json) { json[key] = 1; }),
                HasSubstr(std::string(key) + " is not a string"));
  EXPECT_THAT(changed([](Json& json) { json["dispatch_policy"] = Json::array(); }),
              HasSubstr("dispatch_policy is not an object"));
  EXPECT_THAT(changed([](Json& json) { json["dispatch_policy"]["checked"] = false; }),
              HasSubstr("dispatch_policy field `checked` is not a string"));
  EXPECT_THAT(changed([](Json& json) { json["variants"] = Json::object(); }),
              HasSubstr("variants is not an array"));
  EXPECT_THAT(changed([](Json& json) { json["variants"][0] = 1; }),
              HasSubstr("variants[0] is not an object"));
  EXPECT_THAT(changed([](Json& json) { json["variants"][0]["checked"] = 1; }),
              HasSubstr("variants[0].checked is not a bool"));
  EXPECT_THAT(changed([](Json& json) { json["variants"][0]["entries"] = "main"; }),
              HasSubstr("variants[0].entries is not an array"));
  EXPECT_THAT(changed([](Json& json) { json["variants"][0]["entries"][1] = Json(); }),
              HasSubstr("variants[0].entries[1] is not a string"));
}

TEST(ManifestRefusals, ValuesOutOfRange) {
  const std::string hex(64, 'a');
  for (const std::string& digest : {std::string(), hex.substr(1), hex + "a", std::string(64, 'A'),
                                    std::string(64, 'g'), hex.substr(1) + " "}) {
    EXPECT_THAT(changed([&](Json& json) { json["program_digest"] = digest; }),
                HasSubstr("program_digest is not a digest"));
    EXPECT_THAT(changed([&](Json& json) { json["variants"][1]["artifact_digest"] = digest; }),
                HasSubstr("variants[1].artifact_digest is not a digest"));
  }
  for (const char* id : {"", "cuda", "cud:1", "cudax:1", "Cuda:1"})
    EXPECT_THAT(changed([&](Json& json) { json["pipeline_id"] = id; }),
                HasSubstr("not one of the backend `cuda`"))
        << id;
  EXPECT_THAT(changed([](Json& json) { json["variants"][0]["route"] = "scenic"; }),
              HasSubstr("variants[0].route is no route (`scenic`)"));
  EXPECT_THAT(changed([](Json& json) { json["cache_hit"] = "maybe"; }), HasSubstr("`maybe`"));
  for (const char* size : {"[]", "[1,1]", "[1,1,1,1]", "[0,1,1]", "[1,-1,1]", "[1,1,4294967296]",
                           "[1.0,1,1]", "[\"1\",1,1]", "{}", "64"})
    EXPECT_THAT(changed([&](Json& json) { json["variants"][0]["workgroup"] = Json::parse(size); }),
                HasSubstr("variants[0].workgroup is no workgroup size"))
        << size;
}

// A byte changed anywhere: refused, or read as what it then says.
TEST(ManifestRefusals, DamageIsNeverTakenForSomethingElse) {
  const std::string text = to_json(sample());
  std::mt19937 random(11);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(random() % 256);
    const Result<Manifest> result = manifest_from_json(damaged);
    if (!result) {
      EXPECT_THAT(result.error().message, HasSubstr("Fix: "));
      continue;
    }
    EXPECT_EQ(Json::parse(to_json(*result)).dump(), Json::parse(damaged).dump()) << i;
  }
}

}  // namespace
}  // namespace vyre::pipeline
