// SPDX-License-Identifier: Apache-2.0
#include "examples/example.hpp"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/input.hpp"
#include "cli/values.hpp"

namespace vyre::test {
namespace {

constexpr std::string_view kRunMark = "// run: ";

std::string path_of(const std::string& name) {
  return (examples_dir() / (name + ".vyre")).string();
}

// "" if both are the same.
std::string difference(const cli::ArrayView& got, const cli::ArrayView& wanted) {
  if (got.count() != wanted.count())
    return fmt::format("{} has {} elements instead of {}", got.name, got.count(), wanted.count());
  for (uint64_t i = 0; i < got.count(); ++i) {
    const size_t size = ir::bytes_of(got.element);
    if (std::ranges::equal(got.bytes.subspan(i * size, size), wanted.bytes.subspan(i * size, size)))
      continue;
    return fmt::format("{}[{}] is {} instead of {}", got.name, i,
                       cli::element_text(got.element, got.bytes, i),
                       cli::element_text(wanted.element, wanted.bytes, i));
  }
  return "";
}

void expect_outputs(const Example& example, const oracle::Outcome& outcome, const Values& wanted) {
  const Values outputs = example.outputs(outcome);
  for (const ir::Buffer& buffer : example.checked.program.buffers) {
    const Values::Bytes* got = outputs.find(buffer.name);
    if (got == nullptr) continue;
    const Values::Bytes* want = wanted.find(buffer.name);
    if (want == nullptr) {
      EXPECT_TRUE(got->empty()) << buffer.name << " is returned, but the test does not expect it";
      continue;
    }
    EXPECT_EQ(difference({buffer.name, buffer.element, *got, {}},
                         {buffer.name, buffer.element, *want, {}}),
              "");
  }
}

void expect_run(const Example& example, const Values& in, const Values& wanted,
                const oracle::Options& options) {
  SCOPED_TRACE(fmt::format("schedule {}, subgroups of {}{}", oracle::name_of(options.schedule),
                           options.subgroup_size, options.races ? ", looking for races" : ""));
  const auto outcome = example.run(in, options);
  ASSERT_TRUE(outcome.has_value()) << to_string(outcome.error());
  expect_outputs(example, *outcome, wanted);
  for (const oracle::Race& race : outcome->races) ADD_FAILURE() << to_string(race);
}

}  // namespace

std::filesystem::path examples_dir() {
  return std::filesystem::path(VYRE_SOURCE_DIR) / "examples";
}

std::vector<std::string> example_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(examples_dir()))
    if (entry.path().extension() == ".vyre") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::string example_text(const std::string& name) {
  std::ifstream file(path_of(name), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Example::Example(const std::string& name) : name(name) {
  auto file = cli::check_program_file(path_of(name));
  if (!file || !file->program)
    throw std::runtime_error(name + ": " + (file ? "invalid" : file.error().message));
  checked = std::move(*file->program);
}

std::vector<std::string> Example::run_words() const {
  std::istringstream text(example_text(name));
  std::vector<std::string> words;
  int lines = 0;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(kRunMark)) continue;
    ++lines;
    std::istringstream rest(line.substr(kRunMark.size()));
    for (std::string word; rest >> word;) words.push_back(word);
  }
  EXPECT_EQ(lines, 1) << name << " needs one line that begins with `" << kRunMark << "`";
  return words;
}

Values Example::run_inputs() const {
  Values in;
  const std::vector<std::string> words = run_words();
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "--in") continue;
    const auto given = cli::parse_assignment("--in", words[i + 1]);
    if (!given) throw std::runtime_error(name + ": " + given.error().message);
    for (size_t b = 0; b < checked.buffers.size(); ++b) {
      const ir::Buffer& buffer = checked.program.buffers[b];
      if (buffer.name != given->name) continue;
      auto bytes = cli::read_value({.name = buffer.name,
                                    .element = buffer.element,
                                    .count = checked.buffers[b].constant_count,
                                    .scalar = buffer.scalar},
                                   given->value, {});
      if (!bytes) throw std::runtime_error(name + ": " + bytes.error().message);
      in.set_bytes(buffer.name, std::move(*bytes));
    }
  }
  return in;
}

Result<oracle::Outcome> Example::run(const Values& in, const oracle::Options& options) const {
  std::vector<std::span<const std::byte>> slots;
  for (size_t b = 0; b < checked.buffers.size(); ++b) {
    const auto slot = checked.buffers[b].input_slot;
    if (!slot) continue;
    const Values::Bytes* bytes = in.find(checked.program.buffers[b].name);
    if (bytes == nullptr)
      throw std::runtime_error(name + ": no input " + checked.program.buffers[b].name);
    slots.resize(std::max<size_t>(slots.size(), *slot + 1));
    slots[*slot] = *bytes;
  }
  return oracle::run(checked, slots, options);
}

Values Example::outputs(const oracle::Outcome& outcome) const {
  const auto slots = outcome.outputs(checked);
  Values values;
  for (size_t b = 0; b < checked.buffers.size(); ++b) {
    const auto slot = checked.buffers[b].output_slot;
    if (slot)
      values.set_bytes(checked.program.buffers[b].name,
                       Values::Bytes(slots[*slot].begin(), slots[*slot].end()));
  }
  return values;
}

void expect_example(const std::string& name, const Expected& expected,
                    const std::vector<Values>& more, RunLine run_line) {
  using oracle::Schedule;
  const Example example(name);
  {
    SCOPED_TRACE(name + ", inputs of its run line");
    const Values in = example.run_inputs();
    const Values wanted = expected(in);
    expect_run(example, in, wanted, {});
    expect_run(example, in, wanted, {.schedule = Schedule::Reversed});
    if (run_line == RunLine::AllSchedules)
      expect_run(example, in, wanted, {.schedule = Schedule::Random, .seed = 1});
  }
  for (size_t i = 0; i < more.size(); ++i) {
    SCOPED_TRACE(fmt::format("{}, more inputs {}", name, i));
    const Values wanted = expected(more[i]);
    for (const bool races : {false, true}) {
      expect_run(example, more[i], wanted, {.races = races});
      expect_run(example, more[i], wanted,
                 {.schedule = Schedule::Reversed, .subgroup_size = 4, .races = races});
      expect_run(example, more[i], wanted,
                 {.schedule = Schedule::Random, .seed = 2, .subgroup_size = 1, .races = races});
    }
  }
}

std::vector<uint32_t> some_numbers(size_t count, uint32_t low, uint32_t high, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> numbers(count);
  for (uint32_t& number : numbers) number = low + random() % (high - low);
  return numbers;
}

std::vector<float> some_floats(size_t count, uint32_t seed) {
  std::vector<float> floats;
  for (const uint32_t number : some_numbers(count, 0, 1U << 25, seed))
    floats.push_back(static_cast<float>(static_cast<int32_t>(number) - (1 << 24)) / (1 << 24));
  return floats;
}

}  // namespace vyre::test
