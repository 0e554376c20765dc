// SPDX-License-Identifier: Apache-2.0
// Every field of DispatchConfig changes a dispatch: what it does, its code or its report. A row
// compares a dispatch with and without one; a field without a row does not compile.
#include <array>
#include <atomic>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "driver/observe.hpp"

namespace vyre::driver_test {
namespace {

using backend::NullCall;
using run::Argument;
using run::DispatchConfig;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::string_view kOne = R"(program p {
  workgroup 4;
  inout a : u32[8];
  a[gid.x] = a[gid.x] + 1;
})";
constexpr std::string_view kState = R"(program p {
  workgroup 4;
  over 1;
  inout a : u32[4];
  let x = a[gid.x];
  a[gid.x] = 0;
  barrier grid;
  a[gid.x] = a[(gid.x + 1) % 4] + x;
})";
constexpr std::string_view kTraps = R"(program p {
  workgroup 1;
  over 1;
  inout a : u32[1];
  trap(1, a[0]);
  resume(1);
  a[0] = a[0] + 1;
})";

std::string seen(std::string_view text, const Words& input, const DispatchConfig& config) {
  return observe_by_interpreter({.text = text, .inputs = {input}, .config = config});
}
std::string of_eight(const DispatchConfig& config) {
  return seen(kOne, {1, 2, 3, 4, 5, 6, 7, 8}, config);
}

// Named in the manifest and a part of the key, so that its code is another one.
std::string code_of(const DispatchConfig& config) {
  const auto device = run::Device::open("cpu", {.cache_directory = {}});
  const auto compiled = device->compile(
      program_of("program p { workgroup 64; inout x : f32[]; x[gid.x] = recip(x[gid.x]); }"),
      config);
  if (!compiled) return to_string(compiled.error());
  std::string text = compiled->manifest.variants.at(0).artifact_digest;
  for (const auto& [name, value] : compiled->manifest.dispatch_policy)
    text += fmt::format(", {} = {}", name, value);
  return text;
}

std::string grid_from(bool with) {
  const auto device = run::Device::open("reference:3", {.cache_directory = {}});
  const auto grid = device->upload(bytes_of(Words{1, 1, 1}));
  DispatchConfig config;
  if (with) config.grid_from = run::GridFrom{.buffer = &*grid};
  return observe(*device, {.text = kOne, .inputs = {Words(8, 1)}, .config = config});
}

std::string untrusted(bool with) {
  static const std::string kLong = [] {
    std::string text = "program p { workgroup 1; over 1; inout a : u32[1];\n";
    for (int i = 0; i < 20'100; ++i) text += "a[0] = 1;\n";
    return text + "}";
  }();
  DispatchConfig config;
  if (with) config.untrusted = true;
  return observe(backend::NullOptions(), {.text = kLong, .inputs = {{0}}, .config = config});
}

std::string trap_handler(bool with) {
  DispatchConfig config;
  if (with)
    config.trap_handler = std::make_shared<const TrapHandler>(
        [](std::span<const TrapReport>, HandlerBuffers& buffers) -> Result<void> {
          buffers.write(ir::BufferId{0})[0] = std::byte{9};
          return {};
        });
  return seen(kTraps, {5}, config);
}

constexpr std::string_view kPrints = R"(program p {
  workgroup 4;
  over 4; inout a : u32[4]; print("line {}", gid.x);
})";

// The lines of the report, and how many there were none for.
std::string lines_of(const DispatchConfig& config) {
  const auto device = run::Device::open("reference", {.cache_directory = {}});
  const auto compiled = device->compile(program_of(kPrints));
  if (!compiled) return to_string(compiled.error());
  const auto result = compiled->pipeline.dispatch({Words(4, 1)}, config);
  if (!result) return to_string(result.error());
  std::string text;
  for (const PrintLine& line : result->report.printed.lines) text += line.text + ", ";
  return text + fmt::format("{} dropped", result->report.printed.dropped);
}
// A line of this program takes four words.
std::string print_bytes(bool with) {
  DispatchConfig config = {.print = true};
  if (with) config.print_bytes = 40;
  return lines_of(config);
}
std::string print_to(bool with) {
  std::string seen_lines = "nothing handed over";
  DispatchConfig config = {.print = true};
  if (with)
    config.print_to = std::make_shared<const run::PrintFunction>([&](const PrintReport& printed) {
      seen_lines = fmt::format("{} lines handed over", printed.lines.size());
    });
  lines_of(config);
  return seen_lines;
}

// Of the second dispatch: the first finds out what there is to try.
std::string tune(bool with) {
  const auto device =
      run::Device::over(backend::open_null({.resident_groups = 2}), {.cache_directory = {}});
  DispatchConfig config = {.grid = {{8, 1, 1}}};
  if (with) config.tune = run::Tune::On;
  const auto compiled = device.compile(program_of(kState), config);
  if (!compiled) return to_string(compiled.error());
  std::string text;
  for (int i = 0; i < 2; ++i) {
    const auto result = compiled->pipeline.dispatch({Words(4, 1)});
    text = result ? result->report.trial : to_string(result.error());
  }
  return text;
}

std::string timing(bool with) {
  const auto device = run::Device::open("reference:3", {.cache_directory = {}});
  DispatchConfig config;
  if (with) config.timing = run::Timing::Segments;
  const auto compiled = device->compile(program_of(kState), config);
  if (!compiled) return to_string(compiled.error());
  const auto result = compiled->pipeline.dispatch({Words(4, 1)});
  if (!result) return to_string(result.error());
  return fmt::format("times of {} segments", result->report.breakdown.segments.size());
}

std::string queue(bool with) {
  const auto backend = backend::open_null();
  const auto device = run::Device::over(backend, {.cache_directory = {}});
  DispatchConfig config;
  if (with) config.queue = 5;
  std::string text = observe(device, {.text = kOne, .inputs = {Words(8, 1)}, .config = config});
  for (const NullCall& call : backend->record())
    if (call.kind == NullCall::Kind::Submit) text += fmt::format(", in queue {}", call.offset);
  return text;
}

// Two ranks, the other of which has 100 everywhere.
class TwoRanks final : public device::Communicator {
 public:
  [[nodiscard]] uint32_t rank() const override { return 0; }
  [[nodiscard]] uint32_t size() const override { return 2; }
  Result<void> exchange(const device::Exchange& exchange) override {
    for (size_t at = 0; at < exchange.dst.size(); at += 4) {
      exchange.dst[at] = static_cast<std::byte>(std::to_integer<int>(exchange.dst[at]) + 100);
    }
    return {};
  }
};

std::string communicator(bool with) {
  TwoRanks ranks;
  DispatchConfig config;
  if (with) config.communicator = &ranks;
  return seen("program p { workgroup 4; over 1; inout a : u32[4]; all_reduce(a, add); }",
              {1, 2, 3, 4}, config);
}

std::string progress(bool with) {
  std::atomic<uint64_t> calls = 0;
  DispatchConfig config;
  if (with)
    config.progress =
        std::make_shared<const run::ProgressFunction>([&](uint64_t, uint64_t) { ++calls; });
  std::string text = seen(R"(program p {
    workgroup 1;
    over 64;
    inout a : u32[64];
    var i = 0;
    while i < 20000 { a[gid.x] = a[gid.x] + 1; i = i + 1; }
  })",
                          Words(64, 0), config);
  return fmt::format("{} calls; {}", calls == 0 ? "no" : "some", text);
}

struct Row {
  const char* name;
  std::string (*query)(bool with);
  const char* shows;
};

// Of a dispatch whose config has one field, or none.
#define VYRE_SET(how, field, ...)         \
  [](bool with) {                         \
    DispatchConfig config;                \
    if (with) config.field = __VA_ARGS__; \
    return how(config);                   \
  }

std::string with_state(const DispatchConfig& config) {
  return seen(kState, {1, 2, 3, 4}, config);
}
std::string failing(const DispatchConfig& config) {
  return seen("program p { workgroup 1; over 1; inout a : u32[1]; trap(1, 7); }", {0}, config);
}
std::string outside(const DispatchConfig& config) {
  return seen("program p { workgroup 1; over 1; inout a : u32[1]; a[gid.x + 3] = 1; }", {0},
              config);
}
std::string settling(const DispatchConfig& config) {
  return seen("program p { workgroup 1; over 1; inout a : u32[1]; a[0] = min(a[0] + 1, 3); }", {0},
              config);
}
const std::atomic<bool> kCancelled = true;

// A budget of 4 is as much of it as the code has a use for. No device has `speculation` or
// `persistent_thread` yet, so what they do is to be refused by force.
constexpr Row kRows[] = {
    {"profile", VYRE_SET(code_of, profile, "latency"), "profile = latency"},
    {"ulp_budget", VYRE_SET(code_of, ulp_budget, 4), "ulp_budget = 1"},
    {"timeout", VYRE_SET(of_eight, timeout, 1ns), "Timeout"},
    {"label", VYRE_SET(failing, label, "nightly"), "`p` (nightly)"},
    {"max_state_bytes", VYRE_SET(with_state, max_state_bytes, 0), "LimitExceeded"},
    {"max_output_bytes", VYRE_SET(of_eight, max_output_bytes, 31), "LimitExceeded"},
    {"workgroup", VYRE_SET(of_eight, workgroup, check::Axes{2, 1, 1}), "workgroup 2x1x1"},
    {"grid", VYRE_SET(of_eight, grid, check::Axes{1, 1, 1}), "grid 1x1x1"},
    {"grid_from", grid_from, "02 00 00 00 01 00 00 00"},
    {"fixpoint_iterations", VYRE_SET(settling, fixpoint_iterations, 9), "iterations 4"},
    {"speculation", VYRE_SET(of_eight, speculation, run::Choice::Force), "Unsupported"},
    {"persistent_thread", VYRE_SET(of_eight, persistent_thread, run::Choice::Force), "Unsupported"},
    {"cooperative", VYRE_SET(with_state, cooperative, run::Cooperative::Require), "Unsupported"},
    {"tune", tune, "trial 1 of"},
    {"checked", VYRE_SET(outside, checked, true), "OutOfBounds"},
    {"untrusted", untrusted, "LimitExceeded"},
    {"timing", timing, "times of 2 segments"},
    {"trap_handler", trap_handler, "4 bytes: 0a"},
    {"queue", queue, "in queue 5"},
    {"communicator", communicator, "16 bytes: 65"},
    {"cancel", VYRE_SET(of_eight, cancel, &kCancelled), "cancelled"},
    {"progress", progress, "some calls"},
    {"print", VYRE_SET(lines_of, print, true), "line 3"},
    {"print_bytes", print_bytes, "2 dropped"},
    {"print_to", print_to, "4 lines handed over"},
};

#define VYRE_NAME(type, name) std::string_view(#name),
constexpr std::array kFields = {VYRE_CONFIG_FIELDS(VYRE_NAME)};
#undef VYRE_NAME
consteval bool is_complete() {
  if (std::size(kRows) != kFields.size()) return false;
  for (size_t i = 0; i < kFields.size(); ++i)
    if (kRows[i].name != kFields[i]) return false;
  return true;
}
static_assert(is_complete());

TEST(ConfigFields, EachChangesADispatch) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const std::string with = row.query(true);
    EXPECT_NE(with, row.query(false));
    EXPECT_THAT(with, HasSubstr(row.shows));
  }
}

}  // namespace
}  // namespace vyre::driver_test
