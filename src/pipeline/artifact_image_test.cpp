// SPDX-License-Identifier: Apache-2.0
#include "pipeline/artifact_image.hpp"

#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>

#include "codegen/codegen.hpp"
#include "vyre/pipeline/compiler.hpp"
#include "vyre/text/text.hpp"

namespace vyre::pipeline {
namespace {

using Bytes = std::vector<std::byte>;
using plan::Route;
using plan::Schedule;

constexpr Route kRoutes[] = {Route::Native, Route::Persistent, Route::Resident, Route::Host};

// Every kind of step, and hidden memory of every extent.
constexpr std::string_view kEverything = R"(program p {
  workgroup 4;
  over len(d);
  inout d : u32[];
  inout total : u32[1];
  shared s : u32[4];
  var x = d[gid.x];
  s[lid.x] = x;
  barrier grid;
  if grid_load(total[0]) == 3 { d[gid.x] += 1; barrier grid; x += d[0]; } else { x += 2; }
  while grid_load(total[0]) < 5 { barrier grid; if gid.x == 0 { total[0] += 1; } barrier grid; }
  fixpoint max 10 over (d) { region grow { d[gid.x] = min(d[gid.x] + s[lid.x], 7); } }
  if d[gid.x] == 2 { trap(1, d[gid.x]); }
  resume(1);
  all_reduce(total, add);
  d[gid.x] = x + fixpoint_passes();
})";

std::optional<check::CheckedProgram> checked_of(std::string_view text) {
  text::Parsed parsed = text::parse(text, "p.vyre");
  if (parsed.diagnostics.has_errors()) return std::nullopt;
  return check::check(std::move(parsed.program)).program;
}

struct Sample {
  device::Format format = device::Format::Object;
  Bytes code = Bytes(100, std::byte{0x90});
  std::vector<device::Entry> entries;
  Schedule schedule;
  size_t buffers = 0;
  Digest plan = {};

  [[nodiscard]] Bytes bytes() const {
    return encode(
        {.format = format, .code = code, .entries = entries, .schedule = schedule, .plan = plan});
  }
};

Sample sample_of(const check::CheckedProgram& program, const plan::Plan& plan) {
  const codegen::Target target{.format = device::Format::Ptx, .subgroup_size = 32};
  return {.entries = codegen::entries_of(plan, program.program.name, target),
          .schedule = plan::schedule_of(plan),
          .buffers = program.program.buffers.size(),
          .plan = plan_digest(plan)};
}

Sample everything() {
  const auto program = checked_of(kEverything);
  EXPECT_TRUE(program);
  return sample_of(*program, *plan::make_plan(*program, {.variant = {.route = Route::Resident}}));
}

// Whatever is accepted is one artifact and no other.
bool is_refused_or_exact(const Bytes& bytes, size_t buffers) {
  const auto decoded = decode_artifact(bytes, buffers);
  return !decoded || encode({.format = decoded->format,
                             .code = decoded->code,
                             .entries = decoded->entries,
                             .schedule = decoded->schedule,
                             .plan = decoded->plan}) == bytes;
}

TEST(ArtifactImage, ComesBack) {
  const Sample sample = everything();
  const Bytes bytes = sample.bytes();
  const auto decoded = decode_artifact(bytes, sample.buffers);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->format, sample.format);
  EXPECT_EQ(decoded->code, sample.code);
  EXPECT_EQ(decoded->entries, sample.entries);
  EXPECT_EQ(decoded->plan, sample.plan);
  EXPECT_EQ(decoded->schedule.segments.size(), sample.schedule.segments.size());
  EXPECT_EQ(decoded->schedule.sites.size(), sample.schedule.sites.size());
  EXPECT_TRUE(is_refused_or_exact(bytes, sample.buffers));
}

// All programs of the repository, on every route that takes them.
TEST(ArtifactImage, EveryProgramComesBack) {
  size_t count = 0;
  for (const char* folder : {"/examples", "/test/golden/valid", "/test/conformance"})
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(VYRE_SOURCE_DIR + std::string(folder))) {
      if (file.path().extension() != ".vyre") continue;
      std::ifstream in(file.path());
      const auto program = checked_of(std::string(std::istreambuf_iterator<char>(in), {}));
      if (!program) continue;
      for (const Route route : kRoutes)
        for (const bool checked : {false, true}) {
          const auto plan = plan::make_plan(
              *program,
              {.variant = {.route = route, .workgroups_per_block = 2, .unrolled_iterations = 4},
               .checked = checked});
          if (!plan) continue;
          const Sample sample = sample_of(*program, *plan);
          const Bytes bytes = sample.bytes();
          const auto decoded = decode_artifact(bytes, sample.buffers);
          ASSERT_TRUE(decoded) << file.path() << " " << name_of(route);
          ASSERT_EQ(decoded->entries, sample.entries) << file.path();
          ASSERT_TRUE(is_refused_or_exact(bytes, sample.buffers)) << file.path();
          ++count;
        }
    }
  EXPECT_GT(count, 100U);
}

// Programs that differ in their layout only have one image.
TEST(ArtifactImage, HasNoPositions) {
  const auto image = [](const std::string& text) {
    const auto program = checked_of(text);
    return sample_of(*program, *plan::make_plan(*program, {.variant = {.route = Route::Resident}}))
        .bytes();
  };
  const std::string text(kEverything);
  EXPECT_EQ(image(text), image("\n\n   " + text));
}

TEST(ArtifactImage, EveryByteMayBeAnything) {
  const Sample sample = everything();
  const Bytes good = sample.bytes();
  size_t refused = 0;
  for (size_t at = 0; at < good.size(); ++at)
    for (const int flip : {0x01, 0x02, 0x80, 0xFF}) {
      Bytes bytes = good;
      bytes[at] ^= static_cast<std::byte>(flip);
      ASSERT_TRUE(is_refused_or_exact(bytes, sample.buffers)) << at;
      refused += decode_artifact(bytes, sample.buffers) ? 0 : 1;
    }
  EXPECT_GT(refused, good.size());
}

TEST(ArtifactImage, AnyLengthMayBeCut) {
  const Sample sample = everything();
  const Bytes good = sample.bytes();
  for (size_t size = 0; size < good.size(); ++size)
    ASSERT_FALSE(decode_artifact(std::span(good).first(size), sample.buffers)) << size;
  Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_artifact(longer, sample.buffers));
}

TEST(ArtifactImage, GarbageIsNothing) {
  std::mt19937_64 random(7);
  const Sample sample = everything();
  const Bytes good = sample.bytes();
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes(random() % 300);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 4);
    ASSERT_TRUE(is_refused_or_exact(bytes, 3));
    // A piece of garbage in the middle of what was good.
    bytes = good;
    const size_t at = random() % bytes.size();
    const size_t end = std::min(bytes.size(), at + 1 + random() % 16);
    for (size_t k = at; k < end; ++k) bytes[k] = static_cast<std::byte>(random());
    ASSERT_TRUE(is_refused_or_exact(bytes, sample.buffers));
  }
}

plan::Hidden& row(Schedule& s, plan::Hidden::Kind kind) {
  return s.hidden[*s.find_hidden(kind)];
}

// Each reference to something that is not there.
TEST(ArtifactImage, ReferencesLeadSomewhere) {
  using Kind = plan::Hidden::Kind;
  const std::vector<std::pair<const char*, std::function<void(Sample&)>>> kBreaks = {
      {"launch", [](Sample& s) { s.schedule.steps.push_back({plan::LaunchStep{99}}); }},
      {"branch", [](Sample& s) { s.schedule.steps.push_back({plan::BranchStep{99, {}, {}, {}}}); }},
      {"loop", [](Sample& s) { s.schedule.steps.push_back({plan::LoopStep{{}, 99, {}, {}}}); }},
      {"fixpoint",
       [](Sample& s) { s.schedule.steps.push_back({plan::FixpointStep{9, 1, 0, {}}}); }},
      {"fixpoint word",
       [](Sample& s) {
         s.schedule.steps.push_back({plan::FixpointStep{0, std::nullopt, 99, {}}});
       }},
      {"resume", [](Sample& s) { s.schedule.steps.push_back({plan::ResumeStep{9}}); }},
      {"collective",
       [](Sample& s) {
         plan::CollectiveStep step;
         step.src = ir::BufferId{99};
         s.schedule.steps.push_back({step});
       }},
      {"copy", [](Sample& s) { s.schedule.steps.push_back({plan::CopyStep{}}); }},
      {"swap",
       [](Sample& s) {
         s.schedule.steps.push_back({plan::SwapStep{ir::BufferId{0}, ir::BufferId{99}, {}}});
       }},
      {"swap with itself",
       [](Sample& s) {
         s.schedule.steps.push_back({plan::SwapStep{ir::BufferId{0}, ir::BufferId{0}, {}}});
       }},
      {"inside of a loop",
       [](Sample& s) {
         s.schedule.steps.push_back({plan::LoopStep{{}, 0, {{plan::LaunchStep{99}}}, {}}});
       }},
      {"source argument", [](Sample& s) { s.schedule.segments[0].arguments[0].index = 99; }},
      {"hidden argument",
       [](Sample& s) { s.schedule.segments[0].arguments[0] = {plan::Argument::Kind::Hidden, 99}; }},
      {"too few arguments", [](Sample& s) { s.schedule.segments[0].arguments.pop_back(); }},
      {"shared buffer",
       [](Sample& s) {
         s.schedule.segments[0].shared.push_back({ir::BufferId{99}, 0, true, true});
       }},
      {"shared row",
       [](Sample& s) {
         s.schedule.segments[0].shared.push_back({ir::BufferId{0}, 99, true, true});
       }},
      {"too few segments", [](Sample& s) { s.schedule.segments.pop_back(); }},
      {"too few entries", [](Sample& s) { s.entries.pop_back(); }},
      {"elements", [](Sample& s) { s.entries[0].bindings[0].element_bytes = 3; }},
      {"no elements", [](Sample& s) { s.entries[0].bindings[0].element_bytes = 0; }},
      {"workgroup", [](Sample& s) { s.entries[0].workgroup[1] = 0; }},
      {"threads", [](Sample& s) { s.entries[0].threads = 0; }},
      {"lanes", [](Sample& s) { s.entries[0].lanes_per_thread = 0; }},
      {"fixpoint buffer",
       [](Sample& s) { s.schedule.fixpoints[0].buffers[0].buffer = ir::BufferId{99}; }},
      {"snapshot", [](Sample& s) { s.schedule.fixpoints[0].buffers[0].snapshot = 99; }},
      {"control words", [](Sample& s) { row(s.schedule, Kind::Control).count = 1; }},
      {"count of fixpoints", [](Sample& s) { s.schedule.control.fixpoints = 9; }},
      {"count of resumes", [](Sample& s) { s.schedule.control.resumes = 9; }},
      {"frame", [](Sample& s) { row(s.schedule, Kind::Frame).count = 0; }},
      {"fixpoint words", [](Sample& s) { row(s.schedule, Kind::Fixpoint).count = 1; }},
      {"mask", [](Sample& s) { row(s.schedule, Kind::Mask).kind = Kind::Slot; }},
      {"like nothing",
       [](Sample& s) {
         s.schedule.hidden.push_back(
             {.extent = plan::Hidden::Extent::LikeBuffer, .like = ir::BufferId{99}});
       }},
  };
  for (const auto& [what, change] : kBreaks) {
    Sample sample = everything();
    ASSERT_TRUE(decode_artifact(sample.bytes(), sample.buffers));
    change(sample);
    EXPECT_FALSE(decode_artifact(sample.bytes(), sample.buffers)) << what;
  }
}

// Trees that are too deep for a stack.
TEST(ArtifactImage, TreesHaveALimitedDepth) {
  Sample deep = everything();
  plan::Steps steps;
  for (int i = 0; i < 2000; ++i) {
    plan::Steps outer;
    outer.push_back({plan::BranchStep{0, std::move(steps), {}, {}}});
    steps = std::move(outer);
  }
  deep.schedule.steps = std::move(steps);
  EXPECT_FALSE(decode_artifact(deep.bytes(), deep.buffers));
}

}  // namespace
}  // namespace vyre::pipeline
