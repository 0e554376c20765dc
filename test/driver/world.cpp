// SPDX-License-Identifier: Apache-2.0
#include "driver/world.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "backend/reference/launch.hpp"
#include "vyre/text/text.hpp"

namespace vyre::driver_test {

namespace {

constexpr std::string_view kScale = R"(program scale {
  workgroup 4;
  over len(a);
  in  k : u32[1];
  in  a : u32[];
  out b : u32[] @count(len(a));
  if gid.x < len(a) {
    b[gid.x] = a[gid.x] * k[0];
  }
})";

constexpr std::string_view kAdd = R"(program add {
  workgroup 4;
  over len(a);
  in  a : u32[];
  in  b : u32[];
  out c : u32[] @count(len(a));
  if gid.x < len(a) {
    c[gid.x] = a[gid.x] + b[gid.x];
  }
})";

constexpr std::string_view kSplit = R"(program split {
  workgroup 4;
  over len(d);
  in    k : u32[1];
  inout d : u32[];
  out   e : u32[] @count(len(d));
  let old = d[gid.x];
  d[gid.x] = old + k[0];
  barrier grid;
  let next = d[(gid.x + 1) % len(d)];
  barrier grid;
  d[gid.x] = next * 2;
  e[gid.x] = old + next;
})";

constexpr std::string_view kLoop = R"(program loop {
  workgroup 4;
  over len(d);
  in    n : u32[1];
  inout d : u32[];
  for i in 0 .. n[0] {
    let next = d[(gid.x + 1) % len(d)];
    barrier grid;
    d[gid.x] = next + i;
    barrier grid;
  }
})";

constexpr std::string_view kSettle = R"(program settle {
  workgroup 4;
  over len(d);
  inout d : u32[];
  out   o : u32[1];
  fixpoint max 20 over (d) {
    d[gid.x] = min(d[gid.x] + 1, 5);
  }
  if gid.x == 0 {
    o[0] = fixpoint_passes() * 10 + (fixpoint_converged() as u32);
  }
})";

constexpr std::string_view kSaturate = R"(program saturate {
  workgroup 4;
  over len(d);
  inout d : u32[];
  d[gid.x] = min(d[gid.x] + 1, 3);
  barrier grid;
  d[gid.x] = max(d[gid.x], d[(gid.x + 1) % len(d)]);
})";

constexpr std::string_view kKeep = R"(program keep {
  workgroup 4;
  over 4;
  persistent p : u32[4];
  out o : u32[4];
  p[gid.x] += 1;
  o[gid.x] = p[gid.x] * 10;
})";

constexpr std::string_view kResumed = R"(program asks {
  workgroup 4;
  over len(d);
  inout d : u32[];
  if d[gid.x] == 2 {
    trap(1, d[gid.x]);
  }
  d[gid.x] += 10;
  resume(1);
  d[gid.x] += 100;
})";

}  // namespace

Program program_of(std::string_view text) {
  auto parsed = text::parse(text, "test.vyre");
  auto checked = check::check_valid(std::move(parsed.program));
  if (!parsed.diagnostics.has_errors() && checked)
    return std::make_shared<const check::CheckedProgram>(std::move(*checked));
  std::fputs(render_text(parsed.diagnostics, {}).c_str(), stderr);
  if (!checked) std::fputs(to_string(checked.error()).c_str(), stderr);
  std::abort();
}

const Programs& programs() {
  static const Programs* const all = new Programs{
      .scale = program_of(kScale),
      .add = program_of(kAdd),
      .split = program_of(kSplit),
      .loop = program_of(kLoop),
      .settle = program_of(kSettle),
      .saturate = program_of(kSaturate),
      .keep = program_of(kKeep),
      .resumed = program_of(kResumed),
  };
  return *all;
}

Result<void> interpret(const backend::NullLaunch& launch) {
  const backend::Kernel kernel{
      .entry = launch.entry,
      .source = launch.program,
      .code = oracle::compile(*launch.program->program, launch.program->live)};
  const device::Submission none;
  const backend::ReferenceOptions options;
  device::Completion unused;
  return backend::run_launch({.kernel = kernel,
                              .launch = launch.launch,
                              .grid = launch.grid,
                              .arguments = {launch.arguments.begin(), launch.arguments.end()},
                              .submission = none,
                              .options = options},
                             unused);
}

namespace {

std::shared_ptr<backend::NullBackend> open(const WorldOptions& options) {
  backend::NullOptions null;
  device::Capabilities& can = null.info.capabilities;
  can.cooperative_grid_barrier = options.barriers;
  can.resident_buffers = options.resident;
  can.device_loops = options.loops;
  can.indirect = options.indirect;
  null.resident_groups = options.blocks;
  null.record = options.record;
  null.on_launch = interpret;
  return backend::open_null(std::move(null));
}

}  // namespace

World::World(const WorldOptions& options)
    : backend(open(options)), device(run::Device::over(backend, options.device)) {}

Bytes bytes_of(std::span<const uint32_t> words) {
  const auto bytes = std::as_bytes(words);
  return {bytes.begin(), bytes.end()};
}

std::span<const uint32_t> count_to(uint32_t n) {
  static const std::array<uint32_t, 1024> kWords = [] {
    std::array<uint32_t, 1024> words;
    std::iota(words.begin(), words.end(), 1U);
    return words;
  }();
  return std::span(kWords).first(n);
}

}  // namespace vyre::driver_test
