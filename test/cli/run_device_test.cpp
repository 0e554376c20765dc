// SPDX-License-Identifier: Apache-2.0
// `vyre run` on devices: which one, what it costs, what is told about it.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

// The sum of all elements, seen by every lane after a barrier over the grid.
constexpr std::string_view kTotal = R"(program total {
  workgroup 4;
  over len(a);
  in a : u32[];
  out b : u32[] @count(len(a));
  out sum : u32[1];

  region add {
    atomic_add(sum[0], a[gid.x]);
  }
  barrier grid;
  region tell {
    b[gid.x] = a[gid.x] + atomic_load(sum[0]);
  }
}
)";

class RunDevice : public ::testing::Test {
 protected:
  Outcome run(std::vector<std::string> arguments, const Surroundings& around = {}) const {
    arguments.insert(arguments.begin(), {"run", total_, "--in", "a=iota(12)"});
    return run_vyre(std::move(arguments), around);
  }
  [[nodiscard]] Json trace(std::string_view name) const {
    return Json::parse(folder_.read(name), nullptr, false);
  }
  static std::vector<std::string> categories(const Json& trace) {
    std::vector<std::string> found;
    for (const Json& event : trace["traceEvents"])
      if (event.contains("cat")) found.push_back(event["cat"]);
    return found;
  }

  Folder folder_;
  std::string total_ = folder_.write("total.vyre", kTotal);
};

// D-REG.6: nothing usable: a CPU only where it is allowed, and the oracle does not count.
TEST_F(RunDevice, DReg6NothingUsable) {
  const Outcome outcome = run({"--json", "--no-fallback"});
  if (outcome.exit_code == 0) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("no usable GPU dispatch backend is available ("));
  EXPECT_THAT(outcome.err, HasSubstr("cpu: "));
  EXPECT_THAT(outcome.err, HasSubstr("the reference backend is conformance infrastructure only"));
  const Json error = outcome.json()["error"];
  EXPECT_EQ(error["code"], 1014);
  EXPECT_EQ(error["exit_code"], 4);
}

// D-REG.4: without a GPU the CPU is taken where that is allowed, and the tool says so.
TEST_F(RunDevice, WithoutAGpuTheCpu) {
  const Surroundings none{.environment = {"VYRE_CUDA_LIBRARY=/nonexistent/libcuda.so"}};
  const Outcome outcome = run({"--json"}, none);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["device"], "cpu");
  EXPECT_THAT(outcome.err, AllOf(StartsWith("vyre: no usable GPU ("), HasSubstr("runs on cpu\n")));
  EXPECT_EQ(outcome.json()["route"], "resident");
  EXPECT_EQ(run({}, none).out, run({"--device", "reference"}).out);
  // Who asks for it needs no explanation.
  EXPECT_EQ(run({"--device", "cpu"}).err, "");
}

// D-REG.4: a GPU is taken before the CPU, and then there is nothing to say about it.
TEST_F(RunDevice, DReg4WithAGpuTheGpu) {
  const Surroundings fake{.environment = {"VYRE_CUDA_LIBRARY=" VYRE_FAKE_CUDA}};
  const Outcome outcome = run({"--json"}, fake);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["device"], "cuda");
  EXPECT_THAT(outcome.err, Not(HasSubstr("no usable GPU")));
}

// D-REG.4: the choice is traced with all that was looked at, also the one that was not made.
TEST_F(RunDevice, DReg4TheChoiceIsTraced) {
  const auto selection = [&](std::vector<std::string> more, const Surroundings& around) {
    more.insert(more.begin(), {"--trace", folder_.path("trace.json"), "--json"});
    (void)run(std::move(more), around);
    std::string text;
    const Json document = trace("trace.json");
    for (const Json& event : document["traceEvents"])
      if (event.value("cat", "") == "select") text = event["args"].value("selection", "");
    return text;
  };
  const Surroundings none{.environment = {"VYRE_CUDA_LIBRARY=/nonexistent/libcuda.so"}};
  const Surroundings fake{.environment = {"VYRE_CUDA_LIBRARY=" VYRE_FAKE_CUDA}};
  EXPECT_THAT(selection({}, none), AllOf(StartsWith("chosen: cpu\n"), HasSubstr("\n  cuda: gpu `"),
                                         HasSubstr("not taken: "), HasSubstr("\n  cpu: cpu `")));
  EXPECT_THAT(selection({"--no-fallback"}, none),
              AllOf(StartsWith("no device was chosen\n"), HasSubstr("\n  cuda: gpu `"),
                    HasSubstr("not taken: a CPU, which is not allowed here\n")));
  EXPECT_THAT(selection({}, fake), AllOf(StartsWith("chosen: cuda\n  cuda: gpu `Fake GPU`, score "),
                                         HasSubstr("\n  cpu: cpu `"), Not(HasSubstr("not taken"))));
}

TEST_F(RunDevice, UnknownDevices) {
  const Outcome none = run({"--device", "nonesuch"});
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_THAT(none.err, HasSubstr("backend `nonesuch` is not linked into this binary"));
  const Outcome beyond = run({"--device", "reference:9"});
  EXPECT_EQ(beyond.exit_code, 4);
  EXPECT_THAT(beyond.err, HasSubstr("there is no `reference:9`"));
  EXPECT_EQ(run({"--device", "reference:x"}).exit_code, 11);
  // Nothing is read before that.
  EXPECT_EQ(run_vyre({"run", "nothing.vyre", "--device", "nonesuch"}).exit_code, 4);
}

// D-GRID.2: every route gives the same bytes, and says which it was.
TEST_F(RunDevice, EveryRouteOfTheReference) {
  const std::string expected = run({"--device", "reference"}).out;
  EXPECT_THAT(expected, HasSubstr("[66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77]"));
  const std::pair<const char*, const char*> routes[] = {
      {"reference", "native"},     {"reference:1", "native"},   {"reference:2", "persistent"},
      {"reference:3", "resident"}, {"reference:4", "resident"}, {"reference:5", "host"}};
  for (const auto& [device, route] : routes) {
    EXPECT_EQ(run({"--device", device}).out, expected) << device;
    const Json json = run({"--device", device, "--json"}).json();
    EXPECT_EQ(json["device"], device);
    EXPECT_EQ(json["route"], route) << device;
    EXPECT_EQ(json["grid"], Json::array({3, 1, 1}));
    EXPECT_EQ(json["workgroup"], Json::array({4, 1, 1}));
    EXPECT_GE(json["launches"], 1) << device;
    EXPECT_EQ(json["outputs"][1]["values"], Json::array({66}));
  }
  const Json split = run({"--device", "reference:3", "--json"}).json();
  EXPECT_EQ(split["segments"], 2);
  EXPECT_EQ(split["launches"], 2);
}

TEST_F(RunDevice, TheNullDeviceRunsNothing) {
  const Outcome outcome = run({"--device", "null", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["device"], "null");
  EXPECT_TRUE(outcome.json()["device_ns"].is_null());
}

TEST_F(RunDevice, OptionsOfTheReferenceOnly) {
  for (const char* device : {"reference", "reference:2", "reference:3"}) {
    const Outcome outcome =
        run({"--device", device, "--schedule", "random", "--seed", "7", "--subgroup-size", "8"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("[66]"));
  }
  for (const char* device : {"null", "auto"}) {
    const Outcome schedule = run({"--device", device, "--schedule", "forward"});
    EXPECT_EQ(schedule.exit_code, 2);
    EXPECT_THAT(schedule.err,
                AllOf(HasSubstr("--schedule is an option of the reference interpreter"),
                      HasSubstr("Fix: add --device reference")));
    EXPECT_EQ(run({"--device", device, "--subgroup-size", "8"}).exit_code, 2);
  }
  EXPECT_EQ(run({"--device", "null", "--seed", "3"}).exit_code, 0);  // also of inputs
}

TEST_F(RunDevice, PersistentBuffers) {
  const std::string program =
      folder_.write("p.vyre",
                    "program p { workgroup 4; persistent c : u32[4]; out o : u32[4]; "
                    "c[gid.x] += 1; o[gid.x] = c[gid.x]; }\n");
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", program, "--in", "c=[5,6,7,8]"});
    return run_vyre(std::move(more));
  };
  for (const char* device : {"reference", "reference:3"}) {
    const Outcome outcome = with({"--device", device});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out,
                AllOf(StartsWith("o : u32[4]"), HasSubstr("[6, 7, 8, 9]"), Not(HasSubstr("c : "))));
  }
  // Every run is a real one.
  EXPECT_THAT(with({"--device", "reference", "--repeat", "3"}).out, HasSubstr("[8, 9, 10, 11]"));
  const Outcome refused = with({"--device", "reference:5"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, HasSubstr("keeps no buffers between dispatches"));
}

TEST_F(RunDevice, TimesGoToStderr) {
  const Outcome once = run({"--device", "reference:3", "--time"});
  EXPECT_EQ(once.out, run({"--device", "reference:3"}).out);
  EXPECT_THAT(once.err, AllOf(StartsWith("device reference:3, route resident, 2 launches\nwall "),
                              HasSubstr("\ndevice  "), HasSubstr("\nenqueue             -\n"),
                              HasSubstr("\nwait                -\n")));
  EXPECT_THAT(run({"--device", "null", "--time"}).err, HasSubstr("\ndevice              -\n"));
  const Outcome many = run({"--device", "reference", "--time", "--repeat", "3"});
  EXPECT_THAT(many.err, AllOf(HasSubstr("min       median          max\nwall "),
                              HasSubstr("the last of 3:\n")));
}

// D-RES.6
TEST_F(RunDevice, TimesOfSegmentsRegionsAndFixpoints) {
  const Outcome split = run({"--device", "reference:3", "--time"});
  EXPECT_THAT(split.err, AllOf(ContainsRegex("\nsegment  launches +device\n0 add +1 +[0-9.]+ .s\n"
                                             "1 tell +1 +[0-9.]+ .s\n"),
                               ContainsRegex("\nregion  launches +device\nadd +1 +[0-9.]+ .s\n"
                                             "tell +1 +[0-9.]+ .s\n$"),
                               Not(HasSubstr("fixpoint"))));
  // One launch holds both, so there are only bounds.
  EXPECT_THAT(run({"--device", "reference:1", "--time"}).err,
              AllOf(ContainsRegex("\n0 add, tell +1 +[0-9.]+ .s\n"),
                    ContainsRegex("\nadd +1 +up to [0-9.]+ .s\ntell +1 +up to [0-9.]+ .s\n")));
  EXPECT_FALSE(run({"--device", "reference:3", "--json"}).json().contains("breakdown"));

  const std::string loop = folder_.write("loop.vyre", R"(program loop {
  workgroup 1;
  over 1;
  inout d : u32[1];
  region before { d[0] = d[0] + 1; }
  fixpoint max 10 over (d) { region pass { d[0] = min(d[0] + 1, 4); } }
}
)");
  const std::vector<std::string> arguments = {"run",      loop,          "--in",   "d=zeros(1)",
                                              "--device", "reference:3", "--time", "--json"};
  const Outcome outcome = run_vyre(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, ContainsRegex("\nfixpoint  passes  launches +device\n"
                                         "line 6 +4 +4 +[0-9.]+ .s\n$"));
  const Json breakdown = outcome.json()["breakdown"];
  ASSERT_EQ(breakdown["segments"].size(), 2U);
  EXPECT_EQ(breakdown["segments"][1]["regions"], Json::array({"pass"}));
  EXPECT_EQ(breakdown["segments"][1]["launches"], 4);
  ASSERT_EQ(breakdown["regions"].size(), 2U);
  EXPECT_EQ(breakdown["regions"][1]["name"], "pass");
  EXPECT_EQ(breakdown["regions"][1]["device_ns"], breakdown["segments"][1]["device_ns"]);
  EXPECT_EQ(breakdown["regions"][1]["shared_launches"], 0);
  ASSERT_EQ(breakdown["fixpoints"].size(), 1U);
  EXPECT_EQ(breakdown["fixpoints"][0]["line"], 6);
  EXPECT_EQ(breakdown["fixpoints"][0]["passes"], 4);
  EXPECT_GT(breakdown["fixpoints"][0]["device_ns"], 0);
}

// D-PIPE.7: n dispatches are n executions.
TEST_F(RunDevice, Repeat) {
  const std::string metrics = folder_.path("metrics");
  const Outcome outcome =
      run({"--device", "reference:3", "--repeat", "4", "--json", "--metrics", metrics});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = outcome.json();
  EXPECT_EQ(json["repeats"], 4);
  EXPECT_LE(json["wall_ns_of_all"]["min"], json["wall_ns_of_all"]["median"]);
  EXPECT_LE(json["wall_ns_of_all"]["median"], json["wall_ns_of_all"]["max"]);
  EXPECT_TRUE(json["device_ns_of_all"].contains("median"));
  EXPECT_THAT(folder_.read("metrics"),
              AllOf(HasSubstr("vyre_dispatches_total{device=\"reference:3\"} 4\n"),
                    HasSubstr("vyre_launches_total{device=\"reference:3\"} 8\n")));
  const Outcome zero = run({"--device", "reference", "--repeat", "0"});
  EXPECT_EQ(zero.exit_code, 2);
  EXPECT_THAT(zero.err, HasSubstr("--repeat takes how often to run"));
}

// D-OBS.5: the metrics of the backend, in both formats, and where they go.
TEST_F(RunDevice, DObs5Metrics) {
  const std::string page = folder_.path("metrics");
  const std::string json = folder_.path("metrics.json");
  const Outcome plain = run({"--device", "reference:3"});
  EXPECT_EQ(run({"--device", "reference:3", "--metrics", page}).out, plain.out);
  EXPECT_THAT(folder_.read("metrics"),
              AllOf(HasSubstr("\n# TYPE vyre_backend_memory_peak_bytes gauge\n"
                              "vyre_backend_memory_peak_bytes{device=\"reference:3\"} "),
                    HasSubstr("\nvyre_backend_load_ns_total{device=\"reference:3\"} ")));
  EXPECT_EQ(run({"--device", "reference:3", "--metrics", json}).out, plain.out);
  const Json document = Json::parse(folder_.read("metrics.json"), nullptr, false);
  EXPECT_EQ(document["kind"], "telemetry");
  EXPECT_EQ(document["device"], "reference:3");
  EXPECT_EQ(document["counters"]["dispatches"], 1);
  EXPECT_GT(document["backend"]["gauges"]["memory_peak_bytes"], 0);
  EXPECT_GT(document["backend"]["counters"]["load_ns"], 0);
  const Outcome both = run({"--device", "reference:3", "--metrics", "-"});
  EXPECT_EQ(both.exit_code, 0);
  EXPECT_THAT(both.out, AllOf(StartsWith(plain.out + "# HELP vyre_dispatches_total "),
                              HasSubstr("\nvyre_dispatches_total{device=\"reference:3\"} 1\n")));
  EXPECT_FALSE(std::filesystem::exists("-"));
  const Outcome refused = run({"--device", "reference:3", "--metrics", "-", "--json"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--json and --metrics - both claim stdout"));
}

// D-OBS.2: where the time goes, from the text to the bytes that come back.
TEST_F(RunDevice, DObs2Trace) {
  const std::string file = folder_.path("trace.json");
  ASSERT_EQ(run({"--device", "reference:3", "--trace", file}).exit_code, 0);
  const Json document = trace("trace.json");
  EXPECT_THAT(categories(document),
              IsSupersetOf({"parse", "check", "select", "plan", "compile", "dispatch", "upload",
                            "launch", "barrier", "readback"}));
  std::vector<std::string> launches;
  for (const Json& event : document["traceEvents"])
    if (event.value("cat", "") == "launch") launches.push_back(event["name"]);
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_THAT(launches[1], AllOf(HasSubstr("total"), HasSubstr("segment 1")));
}

TEST_F(RunDevice, DObs2TraceOfARunThatFails) {
  const std::string bad =
      folder_.write("bad.vyre", "program p { workgroup 4; out o : u32[3]; o[gid.x] = 1; }\n");
  const std::string file = folder_.path("trace.json");
  EXPECT_EQ(run_vyre({"run", bad, "--device", "reference", "--checked", "--trace", file}).exit_code,
            10);
  EXPECT_THAT(categories(trace("trace.json")), Contains("dispatch"));
  const std::string invalid = folder_.write("invalid.vyre", kBad);
  EXPECT_EQ(run_vyre({"run", invalid, "--device", "reference", "--trace", file}).exit_code, 3);
  EXPECT_THAT(categories(trace("trace.json")), Contains("parse"));
  EXPECT_THAT(categories(trace("trace.json")), Not(Contains("dispatch")));
  EXPECT_EQ(run({"--device", "reference", "--trace", folder_.path("no/such/folder")}).exit_code,
            11);
  const Outcome same = run({"--device", "reference", "--trace", total_});
  EXPECT_EQ(same.exit_code, 2);
  EXPECT_THAT(same.err, HasSubstr("--trace would overwrite the program"));
}

// D-GRID.8: errors say where they happened.
TEST_F(RunDevice, ErrorsHaveContext) {
  const std::string trap = folder_.write(
      "trap.vyre",
      "program p {\n  workgroup 4;\n  out o : u32[4];\n  o[gid.x] = 1;\n  barrier grid;\n"
      "  trap(5, o[0]);\n}\n");
  const Outcome outcome = run_vyre({"run", trap, "--device", "reference:3", "--json"});
  EXPECT_EQ(outcome.exit_code, 10);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("trap.vyre:6:3: error[Trapped 1011]"), HasSubstr("segment 1 of 2"),
                    HasSubstr("while running program `p` on device `reference:3`")));
  EXPECT_EQ(outcome.json()["error"]["context"][0], "segment 1 of 2");
}

// D-PIPE.4: cold a miss, then a hit; without a cache neither.
TEST_F(RunDevice, DPipe4TheCache) {
  const Surroundings around{.environment = {"VYRE_CACHE_DIR=" + folder_.path("cache")}};
  const auto hit = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--device", "reference:3", "--json"});
    return run(std::move(more), around).json()["cache_hit"];
  };
  EXPECT_EQ(hit({"--no-cache"}), nullptr);
  EXPECT_THAT(folder_.names(), Not(Contains("cache")));
  EXPECT_EQ(hit({}), false);
  EXPECT_EQ(hit({}), true);
  EXPECT_EQ(hit({"--checked"}), false);
  EXPECT_EQ(hit({"--no-cache"}), nullptr);
  EXPECT_EQ(run({"--device", "reference:3", "--json"}).json()["cache_hit"], nullptr);
}

}  // namespace
}  // namespace vyre::test
