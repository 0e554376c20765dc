// SPDX-License-Identifier: Apache-2.0
// A planted race is found, named by its buffer and lines, and nothing else is called a race.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "base/sanitizers.hpp"
#include "generator/schedules.hpp"
#include "vyre/text/text.hpp"

namespace vyre::generator {
namespace {

struct Tally {
  uint64_t planted = 0;
  uint64_t found = 0;
};

TEST(PlantedRaces, AreFound) {
  std::map<std::string, Tally> shapes;
  for (uint64_t seed = 0; seed < (base::kSanitized ? 50 : 500); ++seed) {
    const Generated generated = generate(seed, {.plant_race = true});
    ASSERT_TRUE(generated.planted.has_value());
    const Planted& planted = *generated.planted;
    const auto checked = check::check_valid(generated.program);
    ASSERT_TRUE(checked.has_value()) << "seed " << seed << ": " << to_string(checked.error());
    bool found = false;
    for (const oracle::Schedule schedule :
         {oracle::Schedule::Forward, oracle::Schedule::Reversed, oracle::Schedule::Random}) {
      const auto outcome = run(*checked, generated,
                               {.schedule = schedule,
                                .seed = seed,
                                .subgroup_size = planted.subgroup_size,
                                .races = true});
      ASSERT_TRUE(outcome.has_value()) << "seed " << seed << ": " << to_string(outcome.error());
      for (const oracle::Race& race : outcome->races) {
        EXPECT_EQ(race.memory, planted.buffer) << "seed " << seed << ": " << to_string(race);
        const auto [low, high] = std::minmax(race.first.at.line, race.second.at.line);
        // A statement may be printed on several lines.
        found = found || (race.memory == planted.buffer && low >= planted.first_line &&
                          high >= planted.second_line && high <= planted.second_line + 8);
      }
    }
    Tally& tally = shapes[planted.shape];
    ++tally.planted;
    if (found)
      ++tally.found;
    else
      ADD_FAILURE() << "seed " << seed << ": " << planted.shape << " on " << planted.buffer
                    << ", lines " << planted.first_line << " and " << planted.second_line << "\n"
                    << text::print(generated.program);
    if (HasFailure()) break;
  }
  for (const auto& [shape, tally] : shapes)
    std::printf("%-50s %4d of %4d found\n", shape.c_str(), static_cast<int>(tally.found),
                static_cast<int>(tally.planted));
  EXPECT_EQ(shapes.size(), 8U);
}

}  // namespace
}  // namespace vyre::generator
