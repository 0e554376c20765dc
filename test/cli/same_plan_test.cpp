// SPDX-License-Identifier: Apache-2.0
// `vyre plan`, `vyre compile` and `vyre run` of one dispatch on one device: one strategy, one plan
// (D-GRID.13). The conformance suite asks the same of every case of its own, in one process.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

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
  bool from_cache = false;
  friend bool operator==(const Reported& a, const Reported& b) {
    return a.strategy == b.strategy && a.why == b.why && a.plan == b.plan &&
           a.estimated == b.estimated;
  }
  friend void PrintTo(const Reported& reported, std::ostream* to) {
    *to << reported.strategy << " " << reported.plan << " because " << reported.why
        << (reported.estimated ? " (estimated)" : "");
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

// A driver that answers as a GPU does and runs nothing decides, loads and launches all the same.
TEST(SamePlan, OnTheFakeGpu) {
  const Folder cache;
  expect_one_plan(Commands("cuda", VYRE_FAKE_CUDA, cache.path("cache")), {"--emit", "ptx"});
}

}  // namespace
}  // namespace vyre::test
