// SPDX-License-Identifier: Apache-2.0
// The program that most checks run.
#include <algorithm>
#include <array>
#include <span>

#include "gpu/soak.hpp"

namespace vyre::soak {

namespace {

// A round writes one half of `slots` and looks at it after the barrier, so one barrier separates
// readers from the writers of the next round. Who writes and who reads what changes from round to
// round: words of every workgroup come to every workgroup.
constexpr std::string_view kLoop = R"(program rounds {
  workgroup 256;
  uniform setup : u32[3];              // rounds; slow unless; what a busy lane looks for
  in      traps : u32[];
  inout   slots : u32[];
  out     done  : u32[4];              // wrong words, workgroups at the end, rounds, of busy lanes

  fn word(group : u32, turn : u32) -> u32 {
    return group * 2654435761 + turn * 40503;
  }
  let n = num_workgroups.x;
  var bad = 0;
  var spun = 0;
  for k in 0 .. setup[0] {
$EXTRA
    if lid.x == (k & 255) {
      slots[(k & 1) * n + wid.x] = word(wid.x, k);
    }
    barrier grid;
    let other = (wid.x + lid.x + k) % n;
    if slots[(k & 1) * n + other] != word(other, k) {
      bad += 1;
    }
  }
  atomic_add(done[0], bad);
  atomic_add(done[3], spun);
  if lid.x == 0 {
    atomic_add(done[1], 1);
    done[2] = setup[0] + select(gid.x == 0xFFFFFFFF, traps[0], 0);
  }
}
)";

constexpr std::string_view kPasses = R"(program passes {
  workgroup 256;
  uniform setup : u32[3];
  in      traps : u32[];
  inout   slots : u32[];
  out     done  : u32[4];
  out     level : u32[1];

  fn word(group : u32, turn : u32) -> u32 {
    return group * 2654435761 + turn * 40503;
  }
  let n = num_workgroups.x;
  var bad = 0;
  var spun = 0;
  var k = 0;
  fixpoint max setup[0] over (level) {
    let other = (wid.x + lid.x + k) % n;
    if k != 0 && slots[(k - 1 & 1) * n + other] != word(other, k - 1) {
      bad += 1;
    }
$EXTRA
    if lid.x == (k & 255) {
      slots[(k & 1) * n + wid.x] = word(wid.x, k);
    }
    if lid.x == 0 && wid.x == k % n {
      atomic_max(level[0], k + 1);
    }
    k += 1;
  }
  atomic_add(done[0], bad);
  atomic_add(done[3], spun);
  if lid.x == 0 {
    atomic_add(done[1], 1);
    done[2] = fixpoint_passes() + select(gid.x == 0xFFFFFFFF, traps[0], 0);
  }
}
)";

// The low 8 bits take all values in turn, so a lane is busy for up to 256 steps, or for ever.
constexpr std::string_view kSlow = R"(    if (k & setup[1]) == 0 && wid.x == k * 7919 % n {
      var x = k * 977 + lid.x;
      while (x & 255) != setup[2] {
        x = x * 1664525 + 1013904223;
      }
      spun += x >> 8;
    })";

constexpr std::string_view kTraps = R"(
    if traps[gid.x] == k + 1 {
      trap(7, k);
    })";

constexpr uint32_t kFound = 123;
constexpr uint32_t kNever = 256;  // no 8 bits are this
// What takes so long is a fault that should be told, not waited for.
constexpr std::chrono::seconds kHangs{30};

std::string program(Form form, Rounds::Extra extra) {
  std::string text(form == Form::Loop ? kLoop : kPasses);
  std::string in;
  if (extra != Rounds::Extra::None) in += kSlow;
  if (extra == Rounds::Extra::Traps) in += kTraps;
  constexpr std::string_view kPlace = "$EXTRA";
  return text.replace(text.find(kPlace), kPlace.size(), in);
}

// The inputs of a run, which have to outlive the call.
struct Inputs {
  std::array<uint32_t, 3> setup;
  Words traps;
  Words slots;
  std::array<Argument, 3> arguments;

  explicit Inputs(const Rounds::Run& run)
      : setup{run.rounds, run.slow_unless, run.stuck ? kNever : kFound},
        traps(run.traps.empty() ? Words{0} : run.traps),
        slots(size_t{2} * run.grid),
        arguments{setup, traps, slots} {}
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
};

}  // namespace

uint32_t Soak::up_to(uint32_t most) {
  const uint32_t shift = std::uniform_int_distribution<uint32_t>(0, 6)(random);
  return std::uniform_int_distribution<uint32_t>(0, most)(random) >> shift;
}

std::string_view name_of(Form form) {
  return form == Form::Loop ? "loop" : "fixpoint";
}

Pipeline compile(const Device& device, const std::string& text) {
  return must(device.compile(must(parse_checked(text), "a program")), "compiling").pipeline;
}

Rounds::Rounds(const Device& device, Form form, Extra extra)
    : pipeline_(compile(device, program(form, extra))),
      cooperative_(device.info().capabilities.cooperative_grid_barrier) {}

Result<Report> Rounds::run(const Run& run, const DispatchConfig& over) const {
  auto pending = start(run, over);
  if (!pending) return std::unexpected(pending.error());
  auto result = pending->wait();
  if (!result) return std::unexpected(result.error());
  judge(run, result->outputs);
  return std::move(result->report);
}

Result<Pending> Rounds::start(const Run& run, const DispatchConfig& over) const {
  DispatchConfig config = over;
  config.grid = check::Axes{run.grid, 1, 1};
  if (cooperative_) config.cooperative = Cooperative::Require;
  if (!config.timeout) config.timeout = kHangs;
  const Inputs inputs(run);
  return pipeline_.dispatch_async({.inputs = inputs.arguments}, config);
}

void Rounds::judge(const Run& run, const Outputs& outputs) {
  const auto slots = to_vector<uint32_t>(outputs[0]);
  const auto done = to_vector<uint32_t>(outputs[1]);
  hold(done[0] == 0, fmt::format("{} words were not what was published", done[0]));
  hold(done[1] == run.grid, fmt::format("{} of {} workgroups came to the end", done[1], run.grid));
  hold(done[2] == run.rounds, fmt::format("{} of {} rounds", done[2], run.rounds));
  for (uint32_t round = run.rounds - std::min(run.rounds, 2U); round < run.rounds; ++round)
    for (uint32_t group = 0; group < run.grid; ++group)
      hold(slots[(round & 1) * run.grid + group] == group * 2654435761U + round * 40503U,
           fmt::format("the word of workgroup {} in round {} is another", group, round));
}

uint32_t Rounds::most_resident(const Soak& soak) const {
  if (soak.smoke || !cooperative_) return 5;
  uint32_t fits = 1;
  for (uint32_t step = 1U << 15; step != 0; step /= 2) {
    auto ran = run({.grid = fits + step});
    if (ran) fits += step;
    hold(ran || ran.error().code == ErrorCode::CooperativeResidencyExceeded,
         ran ? "" : to_string(ran.error()));
  }
  return fits;
}

std::vector<uint32_t> Rounds::grids(const Soak& soak) const {
  if (soak.smoke) return {1, 3};
  return {1, 132, most_resident(soak)};
}

}  // namespace vyre::soak
