// SPDX-License-Identifier: Apache-2.0
// vyre_generate: random programs on the command line. Prints them, runs them under several
// schedules, reduces what fails.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/values.hpp"
#include "generator/generator.hpp"
#include "generator/reduce.hpp"
#include "generator/schedules.hpp"
#include "vyre/text/text.hpp"

namespace vyre::generator {
namespace {

struct Arguments {
  uint64_t seed = 1;
  uint64_t count = 1;
  uint32_t size = GeneratorOptions().size;
  bool print = false;
  bool check_schedules = false;
  bool reduce = false;
  bool plant_race = false;
  std::vector<std::string> without;
  std::string dump;
  ScheduleOptions schedules;
};

// The same program again: everything but the seed and what is done with it.
std::string arguments_text(const Arguments& a) {
  std::string text;
  if (a.size != GeneratorOptions().size) text += fmt::format(" --size {}", a.size);
  if (a.plant_race) text += " --plant-race";
  for (const std::string& name : a.without) text += " --without " + name;
  if (a.schedules.random != ScheduleOptions().random)
    text += fmt::format(" --random {}", a.schedules.random);
  if (a.schedules.subgroup_size != ScheduleOptions().subgroup_size)
    text += fmt::format(" --subgroup-size {}", a.schedules.subgroup_size);
  return text;
}

// The command that runs the program on its inputs. With a folder the inputs are files there, else
// they are written out.
std::string run_command(const Generated& g, const std::string& folder) {
  const auto file = [&](const std::string& name) {
    return folder.empty() ? name : folder + "/" + name;
  };
  std::string text = fmt::format("vyre run {} --device reference --grid {},{},{}",
                                 file("generated.vyre"), g.grid[0], g.grid[1], g.grid[2]);
  check::Checked checked = check::check(g.program);
  if (!checked.program) return text;
  for (size_t i = 0; i < g.program.buffers.size(); ++i) {
    const auto slot = checked.program->buffers[i].input_slot;
    if (!slot) continue;
    const ir::Buffer& b = g.program.buffers[i];
    const std::vector<std::byte>& bytes = g.inputs[*slot];
    if (!folder.empty()) {
      text += fmt::format(" --in {}={}", b.name, file(b.name + ".bin"));
      continue;
    }
    std::vector<std::string> values;
    for (size_t k = 0; k * ir::bytes_of(b.element) < bytes.size(); ++k)
      values.push_back(cli::element_text(b.element, bytes, k));
    text += fmt::format(" --in '{}=[{}]'", b.name, fmt::join(values, ","));
  }
  return text;
}

void write(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void show(const Generated& g, const Arguments& a) {
  const std::string text = text::print(g.program);
  if (!a.dump.empty()) {
    const std::filesystem::path folder = a.dump;
    std::filesystem::create_directories(folder);
    write(folder / "generated.vyre", text);
    check::Checked checked = check::check(g.program);
    for (size_t i = 0; checked.program && i < g.program.buffers.size(); ++i)
      if (const auto slot = checked.program->buffers[i].input_slot) {
        const std::vector<std::byte>& bytes = g.inputs[*slot];
        write(folder / (g.program.buffers[i].name + ".bin"),
              {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      }
  }
  fmt::print("{}\n// {}\n", text, run_command(g, a.dump));
  if (g.planted)
    fmt::print("// planted: {} on {}, lines {} and {}\n", g.planted->shape, g.planted->buffer,
               g.planted->first_line, g.planted->second_line);
}

GeneratorOptions options_of(const Arguments& a) {
  GeneratorOptions options;
  options.size = a.size;
  options.plant_race = a.plant_race;
  for (const std::string& name : a.without) *find_switch(options, name) = false;
  return options;
}

int run(const Arguments& a) {
  const GeneratorOptions options = options_of(a);
  uint64_t faults = 0;
  uint64_t failed = 0;
  uint64_t statements = 0;
  for (uint64_t seed = a.seed; seed < a.seed + a.count; ++seed) {
    const Generated generated = generate(seed, options);
    if (a.print || (!a.check_schedules && !a.reduce)) show(generated, a);
    if (!a.check_schedules && !a.reduce) continue;
    const ScheduleReport report = check_schedules(generated, a.schedules);
    failed += report.failed ? 1 : 0;
    statements += report.statements;
    if (report.fault == Fault::None) continue;
    ++faults;
    fmt::print("seed {}: {}\n", seed, report.message);
    fmt::print("  reproduce: vyre_generate --seed {} --check-schedules{}\n", seed,
               arguments_text(a));
    fmt::print("  reduce:    vyre_generate --seed {} --reduce{}\n", seed, arguments_text(a));
    std::fflush(stdout);
    if (!a.reduce) continue;
    const Generated small = generator::reduce(generated, [&](const Generated& g) {
      return check_schedules(g, a.schedules).fault == report.fault;
    });
    fmt::print("reduced to {} statements: {}\n", statement_count(small.program),
               check_schedules(small, a.schedules).message);
    show(small, a);
  }
  if (a.check_schedules || a.reduce)
    fmt::print(
        "{} programs, {} faults; {} dispatches failed as they should, {} lane statements each\n",
        a.count, faults, failed, statements / std::max<uint64_t>(a.count, 1));
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vyre::generator

int main(int argc, char** argv) {
  using namespace vyre::generator;
  Arguments a;
  CLI::App app("Random valid, race-free programs");
  app.add_option("--seed", a.seed, "the first seed");
  app.add_option("--count", a.count, "how many seeds from there");
  app.add_option("--size", a.size, "about how many statements");
  app.add_flag("--print", a.print, "the text, and a command that runs it");
  app.add_flag("--check-schedules", a.check_schedules,
               "run under forward, reversed and random schedules, looking for races");
  app.add_flag("--reduce", a.reduce, "and make what fails small");
  app.add_flag("--plant-race", a.plant_race, "with one race each");
  app.add_option("--without", a.without, "switch something off")
      ->check([](const std::string& name) {
        GeneratorOptions options;
        return find_switch(options, name) != nullptr
                   ? std::string()
                   : fmt::format("one of {}", fmt::join(switch_names(), " "));
      });
  app.add_option("--random", a.schedules.random, "how many random schedules");
  app.add_option("--subgroup-size", a.schedules.subgroup_size, "1, 4, 8, 16 or 32");
  app.add_option("--dump", a.dump, "write text and inputs to this folder");
  CLI11_PARSE(app, argc, argv);
  return run(a);
}
