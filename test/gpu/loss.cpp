// SPDX-License-Identifier: Apache-2.0
// Losing a GPU for real, and what comes after it (D-LIFE.3): kernels written by hand break their
// context, and the device has to say so, refuse everything of that life after recover(), and give
// the same bytes again. In a process of its own, since not every driver gets over it.
#include <array>
#include <cstring>

#include "device/gpu_kernel.hpp"
#include "gpu/soak.hpp"

namespace vyre::soak {
namespace {

struct Break {
  const char* name;
  const char* instructions;
};
constexpr std::array kBreaks = {
    Break{"a store to nowhere",
          "mov.b32 %one, 1; mov.b64 %to, 64; st.volatile.global.u32 [%to], %one;"},
    Break{"a trap", "trap;"},
};

device::Artifact artifact_of(const Break& kind) {
  const std::string text = fmt::format(
      ".version 6.3\n.target sm_75\n.address_size 64\n"
      ".visible .entry vyre_entry_0(.param .align 8 .b8 p[{}])\n"
      "{{\n  .reg .b32 %one;\n  .reg .b64 %to;\n  {}\n  ret;\n}}\n",
      sizeof(device::GpuArgs) + sizeof(device::KernelBinding), kind.instructions);
  device::Artifact artifact;
  artifact.format = device::Format::Ptx;
  artifact.code.resize(text.size());
  std::memcpy(artifact.code.data(), text.data(), text.size());
  artifact.entries.resize(1);
  artifact.entries[0].name = "breaks, segment 0";
  artifact.entries[0].bindings = {{.name = "a", .written = true}};
  return artifact;
}

// Every lane sees what all others have published, twice.
constexpr const char* kMix = R"(program mix {
  workgroup 64;
  over len(a);
  inout a : u32[];
  let i = gid.x * 7 + 3;
  a[gid.x] = a[gid.x] * 2654435761 + i;
  barrier grid;
  let x = a[(gid.x + len(a) / 2 + 1) % len(a)];
  barrier grid;
  a[gid.x] = a[gid.x] ^ (x >> 3);
}
)";

// What works in one life of the device.
struct Life {
  Pipeline mix;
  Buffer kept;
  Words given;

  explicit Life(const Device& device) : mix(compile(device, kMix)), given(64 * 40) {
    for (uint32_t i = 0; i < given.size(); ++i) given[i] = i * i;
    kept = must(device.upload(std::as_bytes(std::span(given))), "uploading");
  }
  // Often enough that the device has begun to replay, on bytes of the host and on its own.
  [[nodiscard]] std::vector<std::byte> bytes(const Device& device) const {
    std::vector<std::byte> all;
    for (int i = 0; i < 4; ++i) {
      const auto result = must(mix.dispatch({given}), "a dispatch");
      all.insert(all.end(), result.outputs[0].begin(), result.outputs[0].end());
      must(mix.dispatch({kept}), "a dispatch on a buffer");
    }
    const auto resident = must(device.read(kept), "reading");
    all.insert(all.end(), resident.begin(), resident.end());
    return all;
  }
};

template <class T>
std::string error_text(const Result<T>& result, ErrorCode code, const std::string& what) {
  hold(!result.has_value(), what + " works");
  const std::string text = to_string(result.error());
  hold(result.error().code == code, fmt::format("{}: {}", what, text));
  return text;
}

// The kernel is under way when a program comes behind it, which then says what it was doing.
void lose(const Device& device, const Life& life, const Break& kind) {
  device::Backend& backend = device.backend();
  const auto code = must(backend.load(artifact_of(kind)), "loading the kernel");
  const device::Region region = life.kept.whole();
  const device::Step step = device::Launch{.pipeline = code.handle(),
                                           .arguments = {&region, 1},
                                           .workgroup = {1, 1, 1},
                                           .grid = {1, 1, 1}};
  const auto ticket = must(backend.submit({.steps = {&step, 1}}), "submitting");
  const std::string first =
      error_text(life.mix.dispatch({life.given}), ErrorCode::DeviceLost, "a dispatch behind it");
  hold(device.is_lost(), "the device is not lost");
  hold(first.contains("program `mix`") && first.contains("segment "), first);
  error_text(backend.wait(ticket), ErrorCode::DeviceLost, "the kernel");
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 100; ++i) {
    hold(error_text(life.mix.dispatch({life.given}), ErrorCode::DeviceLost, "a later dispatch") ==
             first,
         "a later dispatch has another error");
    hold(error_text(device.allocate(16), ErrorCode::DeviceLost, "allocating") == first,
         "allocating has another error");
    hold(error_text(device.read(life.kept), ErrorCode::DeviceLost, "reading") == first,
         "reading has another error");
  }
  hold(ms_since(start) < 100, fmt::format("300 later calls took {:.0f} ms", ms_since(start)));
}

}  // namespace

// For a process of its own.
void lose_and_come_back(const std::string& id) {
  const Device device = must(Device::open(id, {.cache_directory = {}}), "opening the device");
  Life life(device);
  const auto expected = life.bytes(device);
  uint32_t losses = 0;
  for (int round = 0; round < 2; ++round)
    for (const Break& kind : kBreaks) {
      lose(device, life, kind);
      const Clock::time_point start = Clock::now();
      must(device.recover(), fmt::format("recovering after {}", kind.name));
      ++losses;
      fmt::print("{}{}: back in {:.0f} ms", losses == 1 ? "" : "; ", kind.name, ms_since(start));
      hold(!device.is_lost(), "the device is still lost");
      error_text(life.mix.dispatch({life.given}), ErrorCode::StaleHandle, "an old pipeline");
      error_text(device.read(life.kept), ErrorCode::StaleHandle, "an old buffer");
      life = Life(device);
      hold(life.bytes(device) == expected, fmt::format("other bytes after {}", kind.name));
      hold(device.telemetry().device_lost == losses && device.telemetry().recoveries == losses,
           "losses or recoveries are not counted");
    }
  const Rounds fine(device, Form::Loop, Rounds::Extra::None);
  must(fine.run({.grid = 2, .rounds = 3}), "barriers after recovery");
}

void check_loss(Soak& soak) {
  const device::BackendInfo& info = soak.device.info();
  if (info.kind != device::Kind::Gpu) {
    soak.note = "only a GPU can be lost";
    return;
  }
  // A GPU that cannot be lost here has to get a way to.
  hold(info.capabilities.formats.contains(device::Format::Ptx),
       fmt::format("no kernel is known that breaks the context of device `{}`", info.id));
  const auto [code, text] = run_child(info.id, "loss");
  hold(code == 8, fmt::format("exit code {}: {}", code, text));
  soak.note = text;
  const auto [fresh, said] = run_child(info.id, "fresh");
  hold(fresh == 8, "the process after it: " + said);
}

}  // namespace vyre::soak
