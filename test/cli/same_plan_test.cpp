// SPDX-License-Identifier: Apache-2.0
// `vyre plan`, `vyre compile` and `vyre run` of one dispatch on one device: one strategy, one plan
// (D-GRID.13). The conformance suite asks the same of every case of its own, in one process.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/dispatch.hpp"
#include "cli/run_vyre.hpp"
#include "vyre/plan/tuning.hpp"
#include "vyre/run/device.hpp"

namespace vyre::test {
namespace {

struct Dispatch {
  std::string file;
  std::vector<std::string> inputs;  // --in and --grid of the run line
};

std::vector<Dispatch> examples() {
  std::vector<Dispatch> all;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(VYRE_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".vyre") continue;
    Dispatch one{.file = entry.path().string(), .inputs = {}};
    std::ifstream lines(one.file);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("// run:")) continue;
      std::istringstream words(line.substr(7));
      for (std::string option, value; words >> option >> value;)
        if (option == "--in" || option == "--grid")
          one.inputs.insert(one.inputs.end(), {option, value});
    }
    all.push_back(std::move(one));
  }
  return all;
}

struct Reported {
  Json strategy = {}, why = {}, plan = {};
  bool estimated = false;
  bool tuned = false;
  bool from_cache = false;
  friend bool operator==(const Reported& a, const Reported& b) {
    return a.strategy == b.strategy && a.why == b.why && a.plan == b.plan &&
           a.estimated == b.estimated && a.tuned == b.tuned;
  }
  friend void PrintTo(const Reported& reported, std::ostream* to) {
    *to << reported.strategy << " " << reported.plan << " because " << reported.why
        << (reported.estimated ? " (estimated)" : "") << (reported.tuned ? " (tuned)" : "");
  }
};

class Commands {
 public:
  Commands(std::string device, std::string fake, const std::string& cache)
      : device_(std::move(device)),
        around_{.environment = {"VYRE_CACHE_DIR=" + cache, "VYRE_CUDA_LIBRARY=" + fake}} {}

  [[nodiscard]] Reported reported(const std::string& command, const Dispatch& one,
                                  const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {command, one.file, "--device", device_, "--json"};
    arguments.insert(arguments.end(), one.inputs.begin(), one.inputs.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_vyre(arguments, around_);
    const Json json = outcome.json();
    EXPECT_EQ(outcome.exit_code, 0) << command << " " << one.file << "\n" << outcome.err;
    if (outcome.exit_code != 0) return {};
    return {.strategy = json.at("strategy"),
            .why = json.at("why"),
            .plan = json.at("plan_digest"),
            .estimated = json.value("estimated", false),
            .tuned = json.at("tuned").get<bool>(),
            .from_cache = json.value("cache_hit", false)};
  }

 private:
  std::string device_;
  Surroundings around_;
};

void expect_one_plan(const Commands& commands, const std::vector<std::string>& listing) {
  size_t programs = 0;
  for (const Dispatch& one : examples()) {
    SCOPED_TRACE(one.file);
    ++programs;
    const Reported plan = commands.reported("plan", one);
    EXPECT_FALSE(plan.estimated);
    const Reported run = commands.reported("run", one);
    EXPECT_EQ(run, plan);
    const Reported again = commands.reported("run", one);
    EXPECT_EQ(again, plan);
    EXPECT_TRUE(again.from_cache);
    if (!listing.empty()) {
      EXPECT_EQ(commands.reported("compile", one, listing), plan);
    }
  }
  EXPECT_GE(programs, 25U);
}

TEST(SamePlan, OnTheReference) {
  const Folder cache;
  expect_one_plan(Commands("reference", "/nonexistent/libcuda.so", cache.path("cache")), {});
}

TEST(SamePlan, OnTheCpu) {
  const Folder cache;
  expect_one_plan(Commands("cpu", "/nonexistent/libcuda.so", cache.path("cache")),
                  {"--emit", "llvm"});
}

// A record of measurements, as `vyre tune` would leave it for the dispatch.
void store_record(const run::Device& device, const Dispatch& one,
                  const std::function<plan::RouteVariant(bool barriers)>& variant_of) {
  cli::App app;
  cli::DispatchOptions options;
  options.file = one.file;
  for (size_t i = 0; i < one.inputs.size(); i += 2) {
    if (one.inputs[i] == "--in") options.in.push_back(one.inputs[i + 1]);
    if (one.inputs[i] == "--grid") options.grid = one.inputs[i + 1];
  }
  const auto prepared = cli::prepare(app, options);
  ASSERT_TRUE(prepared);
  const auto launch = check::resolve_launch(
      prepared->checked, {.inputs = prepared->input_views(), .grid = prepared->grid});
  ASSERT_TRUE(launch);
  pipeline::Compiler& compiler = device.compiler();
  const pipeline::Source source =
      pipeline::make_source(std::make_shared<const check::CheckedProgram>(prepared->checked));
  compiler.store_tuning(
      compiler.tuning_key({.source = source,
                           .policy = {},
                           .shape = plan::shape_class_of(prepared->checked, *launch)}),
      {.adopted = variant_of(plan::contains_grid_barrier(prepared->checked)),
       .default_ns = 2000,
       .adopted_ns = 1000,
       .runs = 29,
       .candidates = 1},
      "test");
}

// The same for one tuning record: all commands use it.
void expect_one_tuned_plan(const Commands& commands, const run::Device& device,
                           const std::vector<std::string>& listing,
                           const std::function<plan::RouteVariant(bool barriers)>& variant_of) {
  for (const Dispatch& one : examples()) {
    SCOPED_TRACE(one.file);
    const Reported before = commands.reported("plan", one);
    EXPECT_FALSE(before.tuned);
    store_record(device, one, variant_of);
    const Reported plan = commands.reported("plan", one);
    EXPECT_TRUE(plan.tuned);
    EXPECT_NE(plan.strategy, before.strategy);
    EXPECT_EQ(commands.reported("run", one), plan);
    EXPECT_EQ(commands.reported("run", one), plan);
    EXPECT_EQ(commands.reported("compile", one, listing), plan);
    Reported without = commands.reported("run", one, {"--tune", "off"});
    EXPECT_EQ(without, before);
  }
}

TEST(SamePlan, WithARecordOnTheCpu) {
  const Folder cache;
  const auto device = run::Device::open("cpu", {.cache_directory = cache.path("cache")});
  ASSERT_TRUE(device);
  expect_one_tuned_plan(Commands("cpu", "/nonexistent/libcuda.so", cache.path("cache")), *device,
                        {"--emit", "llvm"}, [](bool barriers) {
                          return plan::RouteVariant{
                              .route = barriers ? plan::Route::Resident : plan::Route::Native,
                              .lanes = 8};
                        });
}

TEST(SamePlan, WithARecordOnTheFakeGpu) {
  const Folder cache;
  ::setenv("VYRE_CUDA_LIBRARY", VYRE_FAKE_CUDA, 1);
  const auto device = run::Device::open("cuda", {.cache_directory = cache.path("cache")});
  ASSERT_TRUE(device) << to_string(device.error());
  expect_one_tuned_plan(Commands("cuda", VYRE_FAKE_CUDA, cache.path("cache")), *device,
                        {"--emit", "ptx"}, [](bool barriers) {
                          return barriers
                                     ? plan::RouteVariant{.route = plan::Route::Resident}
                                     : plan::RouteVariant{.route = plan::Route::Native, .lanes = 2};
                        });
}

// A driver that answers as a GPU does and runs nothing decides, loads and launches all the same.
TEST(SamePlan, OnTheFakeGpu) {
  const Folder cache;
  expect_one_plan(Commands("cuda", VYRE_FAKE_CUDA, cache.path("cache")), {"--emit", "ptx"});
}

}  // namespace
}  // namespace vyre::test
