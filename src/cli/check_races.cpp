// SPDX-License-Identifier: Apache-2.0
// check --races: the program under several schedules of the reference interpreter.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/commands.hpp"

namespace vyre::cli {
namespace {

std::vector<oracle::Options> schedules(uint64_t seed) {
  std::vector<oracle::Options> all(2);
  all[0].schedule = oracle::Schedule::Forward;
  all[1].schedule = oracle::Schedule::Reversed;
  for (uint64_t i = 0; i < 4; ++i) {
    oracle::Options options;
    options.schedule = oracle::Schedule::Random;
    options.seed = seed * 4 + i;
    all.push_back(options);
  }
  return all;
}

std::string describe(const oracle::Race::Side& side) {
  return fmt::format("{} by lane {}", name_of(side.access), side.lane);
}

Finding finding_of(const oracle::Race& race) {
  const bool copy = race.first.access >= oracle::Race::Access::CopyRead ||
                    race.second.access >= oracle::Race::Access::CopyRead;
  return {.label = "race",
          .at = race.second.at,
          .message = fmt::format("{}`{}`[{}]: {}", race.shared ? "shared " : "", race.memory,
                                 race.element, describe(race.second)),
          .fix = copy ? "wait for the copy before its data is used or its source is written"
                      : "put a barrier between the two, make both atomic, or let each lane use "
                        "elements of its own",
          .notes = {{race.first.at,
                     fmt::format("nothing orders it with this {}", describe(race.first))}}};
}

Json json_of(const oracle::Race::Side& side) {
  Json json;
  json["access"] = name_of(side.access);
  json["lane"] = side.lane;
  json["line"] = side.at.line;
  json["column"] = side.at.column;
  return json;
}

Json json_of(const oracle::Race& race) {
  Json json;
  json["memory"] = race.memory;
  json["shared"] = race.shared;
  json["element"] = race.element;
  json["first"] = json_of(race.first);
  json["second"] = json_of(race.second);
  json["times"] = race.times;
  return json;
}

using Place = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, std::string>;

// The same pair of places found under two schedules is one race.
Place place_of(const oracle::Race& race) {
  std::pair a(race.first.at.line, race.first.at.column);
  std::pair b(race.second.at.line, race.second.at.column);
  if (b < a) std::swap(a, b);
  return {a.first, a.second, b.first, b.second, race.memory};
}

std::optional<Failure> misuse(const CheckOptions& options) {
  if (options.files.size() != 1)
    return Failure{kExitUsage, "--races takes one program", "check the programs one by one"};
  if (!options.sarif.empty() || options.warnings_as_errors || options.bounds)
    return Failure{kExitUsage, "--races goes with none of --sarif, --warnings-as-errors, --bounds",
                   "run `vyre check` once with and once without --races"};
  return std::nullopt;
}

}  // namespace

int run_check_races(App& app, const CheckOptions& options) {
  if (const auto failure = misuse(options)) return app.fail(*failure);
  DispatchOptions dispatch = options.dispatch;
  dispatch.file = options.files.front();
  const auto prepared = prepare(app, dispatch);
  if (!prepared) return prepared.error();

  std::vector<oracle::Race> races;
  std::set<Place> seen;
  uint64_t not_listed = 0;
  std::optional<std::vector<std::vector<std::byte>>> first_result;  // by output slot
  bool same_result = true;
  const InterruptGuard interrupt;
  ProgressBar bar(prepared->checked.program.name);
  const auto all = schedules(dispatch.seed);
  for (oracle::Options run : all) {
    run.races = true;
    run.grid = prepared->grid;
    run.workgroup = prepared->workgroup;
    run.timeout = prepared->timeout;
    run.cancel = &InterruptGuard::interrupted();
    run.on_progress = [&](const oracle::Progress& p) { bar.show(p); };
    auto outcome = oracle::run(prepared->checked, prepared->input_views(), run);
    if (!outcome) bar.clear();
    if (!outcome && InterruptGuard::interrupted()) return kExitInterrupted;
    if (!outcome) return fail(app, *prepared, outcome.error());
    for (oracle::Race& race : outcome->races)
      if (seen.insert(place_of(race)).second) races.push_back(std::move(race));
    not_listed = std::max(not_listed, outcome->races_not_listed);
    std::vector<std::vector<std::byte>> result;
    for (const std::span<const std::byte> output : outcome->outputs(prepared->checked))
      result.emplace_back(output.begin(), output.end());
    if (first_result) same_result = same_result && *first_result == result;
    first_result = std::move(result);
  }
  bar.clear();

  if (app.json) {
    Json document = app.document(races.empty());
    document["file"] = prepared->name;
    document["schedules"] = all.size();
    document["races"] = Json::array();
    for (const oracle::Race& race : races) document["races"].push_back(json_of(race));
    document["not_listed"] = not_listed;
    document["same_result"] = same_result;
    app.put_document(document);
  } else {
    std::vector<Finding> findings;
    findings.reserve(races.size());
    for (const oracle::Race& race : races) findings.push_back(finding_of(race));
    App::talk(
        render_findings(findings, prepared->sources(), {.color = app.colored(STDERR_FILENO)}));
    if (not_listed != 0) App::talk(fmt::format("{} more not shown\n", not_listed));
    if (races.empty())
      app.put(fmt::format("{}: no race under {} schedules{}\n", prepared->name, all.size(),
                          same_result ? ", all with the same result"
                                      : "; the result depends on the order of atomics"));
    else
      App::talk(fmt::format("\n{} race{} under {} schedules\n", races.size(),
                            races.size() == 1 ? "" : "s", all.size()));
  }
  return races.empty() ? kExitOk : kExitMismatch;
}

}  // namespace vyre::cli
