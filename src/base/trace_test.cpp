// SPDX-License-Identifier: Apache-2.0
// D-OBS.2
#include "vyre/base/trace.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <set>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace vyre {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Json> with_phase(const Json& document, std::string_view phase) {
  std::vector<Json> events;
  for (const Json& event : document.at("traceEvents"))
    if (event.at("ph") == phase) events.push_back(event);
  return events;
}

std::vector<Json> spans_of(const Trace& trace) {
  return with_phase(Json::parse(trace.write_json()), "X");
}

Json only_span(const Trace& trace) {
  const std::vector<Json> spans = spans_of(trace);
  return spans.size() == 1 ? spans.front() : Json::object();
}

std::vector<std::string> names_of(const std::vector<Json>& events) {
  std::vector<std::string> names;
  names.reserve(events.size());
  for (const Json& event : events) names.push_back(event.at("name"));
  return names;
}

// "" when no row has that number.
std::string row_name(const Trace& trace, const Json& tid) {
  for (const Json& event : with_phase(Json::parse(trace.write_json()), "M"))
    if (event.at("name") == "thread_name" && event.at("tid") == tid) return event["args"]["name"];
  return "";
}

TEST(Trace, ADocumentWithoutEventsIsWhole) {
  const Json document = Json::parse(Trace().write_json());
  ASSERT_EQ(document["traceEvents"].size(), 1U);
  EXPECT_EQ(document["traceEvents"][0],
            Json::parse(R"({"name":"process_name","ph":"M","pid":1,"tid":0,
                            "args":{"name":"vyre"}})"));
  EXPECT_EQ(document["displayTimeUnit"], "ns");
  EXPECT_EQ(document["otherData"]["events"], 0);
  EXPECT_EQ(document["otherData"]["dropped_events"], 0);
}

TEST(Trace, AnEventKeepsItsNanoseconds) {
  Trace trace;
  trace.add({.name = "k",
             .category = TraceCategory::Launch,
             .start_ns = 12'345'678'901'007,
             .duration_ns = 1'040,
             .args = {{"lanes", uint64_t{64}}, {"region", "main/loop"}}});
  const std::string text = trace.write_json();
  EXPECT_THAT(text, HasSubstr("\"ts\":12345678901.007,\"dur\":1.040,"));
  const Json span = only_span(trace);
  EXPECT_EQ(span["name"], "k");
  EXPECT_EQ(span["cat"], "launch");
  EXPECT_EQ(span["pid"], 1);
  EXPECT_EQ(span["tid"], 1);
  EXPECT_DOUBLE_EQ(span["dur"].get<double>(), 1.04);
  EXPECT_EQ(span["args"].dump(), R"({"lanes":64,"region":"main/loop"})");
}

TEST(Trace, NumbersAreWholeToTheLastBit) {
  Trace trace;
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  trace.add({.name = "x", .start_ns = kMax, .args = {{"n", kMax}}});
  const std::string text = trace.write_json();
  EXPECT_THAT(text, HasSubstr("\"ts\":18446744073709551.615,\"dur\":0.000"));
  EXPECT_EQ(only_span(trace)["args"]["n"].get<uint64_t>(), kMax);
}

TEST(Trace, EveryCategoryHasItsName) {
  Trace trace;
  std::set<std::string> wanted;
#define VYRE_ROW(id, text)                                 \
  trace.add({.name = #id, .category = TraceCategory::id}); \
  wanted.insert(text);
  VYRE_TRACE_CATEGORIES(VYRE_ROW)
#undef VYRE_ROW
  std::set<std::string> found;
  for (const Json& span : spans_of(trace)) found.insert(span.at("cat"));
  EXPECT_EQ(found, wanted);
  for (const char* name : {"parse", "check", "plan", "compile", "cache", "upload", "launch",
                           "barrier", "segment", "readback"})
    EXPECT_TRUE(found.contains(name)) << name;
}

TEST(Trace, AnyTextIsValidJson) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string name = "quote \" backslash \\ line\nend é 漢 \U0001F600";
  Trace trace;
  trace.add({.name = name, .args = {{all, all}}});
  trace.add({.name = "on a track", .track = all});
  const std::vector<Json> spans = spans_of(trace);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[1]["name"], name);
  const std::string key = spans[1]["args"].items().begin().key();
  EXPECT_TRUE(key.starts_with(all.substr(0, 128))) << key;
  EXPECT_THAT(key, HasSubstr("\uFFFD"));
  EXPECT_EQ(spans[1]["args"][key], key);
  EXPECT_EQ(row_name(trace, spans[0]["tid"]), key);
  EXPECT_EQ(trace.write_json().find('\0'), std::string::npos);
}

TEST(Trace, OuterSpansComeBeforeInnerOnes) {
  Trace trace;
  trace.add({.name = "inner", .start_ns = 10, .duration_ns = 5});
  trace.add({.name = "middle", .start_ns = 10, .duration_ns = 20});
  trace.add({.name = "outer", .start_ns = 10, .duration_ns = 20});
  trace.add({.name = "first", .start_ns = 9, .duration_ns = 100});
  EXPECT_THAT(names_of(spans_of(trace)), ElementsAre("first", "outer", "middle", "inner"));
}

TEST(Trace, TracksAreRowsOfTheirOwnAfterTheThreads) {
  Trace trace;
  trace.add({.name = "a", .start_ns = 1, .track = "reference queue 0"});
  trace.add({.name = "b", .start_ns = 2});
  trace.add({.name = "c", .start_ns = 3, .track = "reference queue 1"});
  trace.add({.name = "d", .start_ns = 4, .track = "reference queue 0"});
  const std::vector<Json> spans = spans_of(trace);
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[0]["tid"], spans[3]["tid"]);
  std::set<int> tids;
  for (const Json& span : spans) tids.insert(span["tid"].get<int>());
  EXPECT_THAT(tids, ElementsAre(1, 2, 3));
  EXPECT_EQ(row_name(trace, spans[0]["tid"]), "reference queue 0");
  EXPECT_EQ(row_name(trace, spans[1]["tid"]), "thread 1");
  EXPECT_EQ(row_name(trace, spans[2]["tid"]), "reference queue 1");

  std::map<int, int> place;
  for (const Json& event : with_phase(Json::parse(trace.write_json()), "M"))
    if (event["name"] == "thread_sort_index") place[event["tid"]] = event["args"]["sort_index"];
  ASSERT_EQ(place.size(), 3U);
  EXPECT_LT(place[spans[1]["tid"]], place[spans[0]["tid"]]);
  EXPECT_LT(place[spans[0]["tid"]], place[spans[2]["tid"]]);
}

TEST(Trace, ABoundAndWhatItCost) {
  Trace trace(3);
  for (uint64_t i = 0; i < 5; ++i)
    trace.add({.name = std::to_string(i), .start_ns = i, .track = "t" + std::to_string(i)});
  EXPECT_EQ(trace.size(), 3U);
  EXPECT_EQ(trace.dropped(), 2U);
  EXPECT_THAT(names_of(spans_of(trace)), ElementsAre("0", "1", "2"));
  const Json document = Json::parse(trace.write_json());
  EXPECT_EQ(document["otherData"]["events"], 3);
  EXPECT_EQ(document["otherData"]["dropped_events"], 2);
  EXPECT_EQ(with_phase(document, "M").size(), 1U + 2 * 3) << "dropped events make no rows";
}

TEST(Trace, TimesBeforeTheTraceAreItsStart) {
  const auto before = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const Trace trace;
  EXPECT_EQ(trace.ns_at(before), 0U);
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(trace.ns_at(now + std::chrono::nanoseconds(17)), trace.ns_at(now) + 17);
}

TEST(TraceSpan, ScopesNestByTheirTimes) {
  Trace trace;
  {
    const TraceSpan outer(&trace, TraceCategory::Dispatch, "outer");
    for (const char* name : {"first", "second"}) {
      const TraceSpan inner(&trace, TraceCategory::Launch, name);
    }
  }
  const std::vector<Json> spans = spans_of(trace);
  ASSERT_THAT(names_of(spans), ElementsAre("outer", "first", "second"));
  const auto ns = [](const Json& number) { return std::llround(number.get<double>() * 1000); };
  const auto start = [&](size_t i) { return ns(spans[i]["ts"]); };
  const auto end = [&](size_t i) { return start(i) + ns(spans[i]["dur"]); };
  EXPECT_LE(start(0), start(1));
  EXPECT_LE(end(1), start(2));
  EXPECT_LE(end(2), end(0));
}

TEST(TraceSpan, MeasuresTheTimeBetweenItsEnds) {
  Trace trace;
  const uint64_t before = trace.now_ns();
  {
    TraceSpan span(&trace, TraceCategory::Plan, "sleep");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    span.end();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const Json span = only_span(trace);
  EXPECT_GE(span["dur"].get<double>(), 2000.0);
  EXPECT_LE(span["dur"].get<double>() * 1000, static_cast<double>(trace.now_ns() - before) - 2e7);
}

TEST(TraceSpan, EndsOnceAndThenTakesNoMore) {
  Trace trace;
  TraceSpan span(&trace, TraceCategory::Compile, "s");
  EXPECT_TRUE(span);
  span.arg("n", 1);
  span.arg("n", 2);
  span.arg("text", "a");
  span.end();
  EXPECT_FALSE(span);
  span.arg("late", 3);
  span.track("late");
  span.end();
  EXPECT_EQ(only_span(trace)["args"].dump(), R"({"n":2,"text":"a"})");
}

TEST(TraceSpan, MovingPassesTheSpanOn) {
  static_assert(!std::is_copy_constructible_v<TraceSpan>);
  static_assert(std::is_nothrow_move_constructible_v<TraceSpan>);
  static_assert(std::is_nothrow_move_assignable_v<TraceSpan>);
  Trace trace;
  TraceSpan target(&trace, TraceCategory::Other, "replaced");
  {
    TraceSpan source(&trace, TraceCategory::Other, "moved");
    target = std::move(source);
  }
  EXPECT_THAT(names_of(spans_of(trace)), ElementsAre("replaced"));
  const TraceSpan last = std::move(target);
  EXPECT_EQ(trace.size(), 1U);
  target = TraceSpan();
  EXPECT_EQ(trace.size(), 1U);
  target = TraceSpan(&trace, TraceCategory::Other, "new");
  target.end();
  EXPECT_THAT(names_of(spans_of(trace)), ElementsAre("replaced", "new"));
}

TEST(TraceSpan, NothingHappensWithoutATrace) {
  static_assert(sizeof(TraceSpan) == sizeof(void*));
  TraceSpan span(nullptr, TraceCategory::Parse, "nobody sees it");
  EXPECT_FALSE(span);
  span.arg("n", 1);
  span.arg("text", "a");
  span.track("t");
  span.end();
}

TEST(TraceSpan, ATrackTakesTheThreadsPlace) {
  Trace trace;
  {
    TraceSpan span(&trace, TraceCategory::Upload, "s");
    span.track("copy engine");
  }
  EXPECT_EQ(row_name(trace, only_span(trace)["tid"]), "copy engine");
}

TEST(TraceThreads, EachHasARowAndMayNameIt) {
  Trace trace;
  trace.name_thread("main");
  trace.add({.name = "here"});
  std::thread([&] {
    // The main thread lives, so this one cannot have its id.
    trace.name_thread("worker \"1\"");
    trace.add({.name = "there", .start_ns = 1});
  }).join();
  const std::vector<Json> spans = spans_of(trace);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0]["tid"], 1);
  EXPECT_EQ(spans[1]["tid"], 2);
  EXPECT_EQ(row_name(trace, 1), "main");
  EXPECT_EQ(row_name(trace, 2), "worker \"1\"");
}

TEST(TraceThreads, ASpanBelongsToTheThreadThatBeganIt) {
  Trace trace;
  trace.name_thread("main");
  TraceSpan span(&trace, TraceCategory::Dispatch, "moved away");
  std::thread([taken = std::move(span)]() mutable { taken.end(); }).join();
  EXPECT_EQ(row_name(trace, only_span(trace)["tid"]), "main");
}

TEST(TraceThreads, ManyWriteAtOnceAndNothingIsLost) {
  constexpr size_t kThreads = 4;
  constexpr size_t kSpans = 500;
  Trace trace(kThreads * kSpans - 100);
  std::atomic<size_t> ready = 0;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (size_t i = 0; i < kSpans; ++i) {
        TraceSpan span(&trace, TraceCategory::Launch, "s");
        span.arg("i", i);
        if (i % 100 == 0) (void)trace.write_json();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(trace.size(), kThreads * kSpans - 100);
  EXPECT_EQ(trace.dropped(), 100U);
  std::set<int> tids;
  for (const Json& span : spans_of(trace)) tids.insert(span["tid"].get<int>());
  EXPECT_THAT(tids, ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace vyre
