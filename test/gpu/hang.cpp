// SPDX-License-Identifier: Apache-2.0
// Kernels written by hand that never end and poll nothing. Each runs in a process of its own, which
// has to get Timeout, lose the device, say so quickly from then on, and end; the next process has
// to find the GPU as if nothing had been.
#include <array>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "device/gpu_kernel.hpp"
#include "gpu/soak.hpp"

namespace vyre::soak {
namespace {

using namespace std::chrono_literals;
using device::Backend;
using device::Completion;

constexpr double kSecond = 1000;
constexpr auto kLimit = 500ms;
constexpr auto kSlow = 4s;

// Stores to its only buffer, for ever or for a time, and looks at nothing.
std::string ptx_of(bool ends) {
  const size_t bytes = sizeof(device::GpuArgs) + sizeof(device::KernelBinding);
  return fmt::format(R"(.version 6.3
.target sm_75
.address_size 64
.visible .entry vyre_entry_0(.param .align 8 .b8 p[{}])
{{
  .reg .pred %p;
  .reg .b32 %i;
  .reg .b64 %to, %begin, %now;
  ld.param.u64 %to, [p+{}];
  cvta.to.global.u64 %to, %to;
  mov.u32 %i, 0;
  mov.u64 %begin, %globaltimer;
again:
  add.u32 %i, %i, 1;
  st.volatile.global.u32 [%to], %i;
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %p, %now, {};
  @%p bra again;
  ret;
}}
)",
                     bytes, sizeof(device::GpuArgs) + offsetof(device::KernelBinding, address),
                     ends ? uint64_t{std::chrono::nanoseconds(kSlow).count()} : ~uint64_t{0});
}

// The device with such a kernel.
struct Hang {
  Device device;
  device::LoadedArtifact code;
  device::Buffer buffer;
  device::Region argument;
  device::Step step;

  Hang(const std::string& id, bool ends)
      : device(must(Device::open(id, {.cache_directory = {}}), "opening the device")) {
    device::Artifact artifact;
    artifact.format = device::Format::Ptx;
    const std::string text = ptx_of(ends);
    artifact.code.resize(text.size());
    std::memcpy(artifact.code.data(), text.data(), text.size());
    artifact.entries.resize(1);
    artifact.entries[0].name = "hang, segment 0";
    artifact.entries[0].bindings = {{.name = "a", .written = true}};
    code = must(backend().load(artifact), "loading a kernel");
    buffer = must(backend().allocate(4096), "allocating");
    argument = buffer.whole();
    step = device::Launch{.pipeline = code.handle(),
                          .arguments = {&argument, 1},
                          .workgroup = {1, 1, 1},
                          .grid = {1, 1, 1}};
  }
  [[nodiscard]] Backend& backend() const { return device.backend(); }
};

void expect_lost(const Hang& hang, const Result<Completion>& done, double late) {
  hold(!done.has_value(), "the kernel came to an end");
  hold(done.error().code == ErrorCode::Timeout, to_string(done.error()));
  hold(done.error().message.contains("the kernel of `hang, segment 0`"), done.error().message);
  hold(late >= 0 && late < kSecond, fmt::format("Timeout came {:.0f} ms after the limit", late));
  hold(hang.device.is_lost(), "the device is not lost");
  const Clock::time_point start = Clock::now();
  const auto more = hang.backend().allocate(16);
  hold(!more && more.error().code == ErrorCode::DeviceLost, "a lost device gives memory");
  const auto back = hang.device.recover();
  hold(!back && back.error().code == ErrorCode::DeviceLost, "the device comes back");
  hold(back.error().message.contains("Fix: restart the process"), back.error().message);
  hold(ms_since(start) < kSecond, fmt::format("later calls took {:.0f} ms", ms_since(start)));
  fmt::print("Timeout {:.0f} ms after the limit", late);
}

double late_of(Clock::time_point limit) {
  return std::chrono::duration<double, std::milli>(Clock::now() - limit).count();
}

void hang_with_deadline(const std::string& id) {
  const Hang hang(id, false);
  const Clock::time_point limit = Clock::now() + kLimit;
  const auto done = hang.backend().run({.steps = {&hang.step, 1}, .deadline = limit});
  expect_lost(hang, done, late_of(limit));
}

void hang_with_cancel(const std::string& id) {
  const Hang hang(id, false);
  std::atomic<bool> cancel = false;
  const auto ticket =
      must(hang.backend().submit({.steps = {&hang.step, 1}, .cancel = &cancel}), "submitting");
  std::this_thread::sleep_for(kLimit);
  const Clock::time_point limit = Clock::now();
  cancel = true;
  const auto done = hang.backend().wait(ticket);
  expect_lost(hang, done, late_of(limit));
}

// More calls behind it than the driver takes.
void hang_with_many_steps(const std::string& id) {
  const Hang hang(id, false);
  std::vector<device::Step> steps(5000, device::Fill{.to = {hang.argument.buffer, 64, 64}});
  steps[0] = hang.step;
  const Clock::time_point limit = Clock::now() + kLimit;
  const auto done = hang.backend().run({.steps = steps, .deadline = limit});
  expect_lost(hang, done, late_of(limit));
}

// Code is loaded and memory is freed while it runs: the driver would not return.
void hang_while_loading(const std::string& id) {
  const Hang hang(id, false);
  const auto program = must(
      parse_checked("program other {\n  workgroup 64;\n  out a : u32[64];\n  a[gid.x] = 3;\n}\n"),
      "a program");
  auto pinned = must(hang.backend().allocate(4096, device::Memory::Staging), "allocating");
  const Clock::time_point limit = Clock::now() + kLimit;
  const auto ticket =
      must(hang.backend().submit({.steps = {&hang.step, 1}, .deadline = limit}), "submitting");
  std::jthread other([&] {
    std::this_thread::sleep_for(50ms);
    pinned.free();
    std::ignore = hang.device.compile(check::CheckedProgram(program));
  });
  const auto done = hang.backend().wait(ticket);
  const double late = late_of(limit);
  other.join();
  expect_lost(hang, done, late);
}

// A kernel that ends late: the device comes back then.
void hang_and_come_back(const std::string& id) {
  const Hang hang(id, true);
  const Clock::time_point start = Clock::now();
  const auto done = hang.backend().run({.steps = {&hang.step, 1}, .deadline = start + kLimit});
  expect_lost(hang, done, late_of(start + kLimit));
  std::this_thread::sleep_until(start + kSlow + 500ms);
  must(hang.device.recover(), "recovering when the kernel has ended");
  const Rounds fine(hang.device, Form::Loop, Rounds::Extra::None);
  must(fine.run({.grid = 2, .rounds = 3}), "a dispatch after recovery");
  fmt::print(", came back");
}

void work_as_ever(const std::string& id) {
  const Device device = must(Device::open(id, {.cache_directory = {}}), "opening the device");
  const Rounds fine(device, Form::Loop, Rounds::Extra::None);
  must(fine.run({.grid = 2, .rounds = 3}), "a dispatch in the next process");
}

struct Child {
  const char* name;
  void (*run)(const std::string& id);
};
constexpr std::array kChildren = {
    Child{"deadline", hang_with_deadline},
    Child{"cancel", hang_with_cancel},
    Child{"many_steps", hang_with_many_steps},
    Child{"loading", hang_while_loading},
    Child{"comes_back", hang_and_come_back},
    Child{"fresh", work_as_ever},
    Child{"marks", leave_marks},
    Child{"loss", lose_and_come_back},
};

}  // namespace

std::pair<int, std::string> run_child(const std::string& id, const std::string& what) {
  std::array<char, PATH_MAX> self = {};
  hold(::readlink("/proc/self/exe", self.data(), self.size() - 1) > 0, "no /proc/self/exe");
  const std::string command =
      fmt::format("timeout -s KILL 60 '{}' --device '{}' --child {} 2>&1", self.data(), id, what);
  FILE* const pipe = ::popen(command.c_str(), "r");  // NOLINT(cert-env33-c)
  hold(pipe != nullptr, "no child process");
  std::string text;
  std::array<char, 4096> part = {};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) text += part.data();
  const int status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

int run_child_of_check(const std::string& id, const std::string& kind) {
  // Both ways to end a process: the tool's, and the one through everybody's destructors.
  const size_t colon = kind.find(':');
  for (const Child& child : kChildren) {
    if (kind.substr(0, colon) != child.name) continue;
    try {
      child.run(id);
    } catch (const std::exception& e) {
      fmt::print("{}", e.what());
      std::fflush(stdout);
      ::_exit(1);
    }
    std::fflush(stdout);
    if (colon != std::string::npos) ::_exit(8);
    return 8;
  }
  return 2;
}

void check_hang(Soak& soak) {
  if (!soak.device.info().capabilities.formats.contains(device::Format::Ptx)) {
    soak.note = "the device takes no PTX";
    return;
  }
  if (soak.smoke) {
    soak.note = "left out of a short run";
    return;
  }
  const std::string id = soak.device.info().id;
  double longest = 0;
  for (const std::string what :
       {"deadline:_exit", "deadline", "cancel", "many_steps", "loading", "comes_back"}) {
    const Clock::time_point start = Clock::now();
    const auto [code, text] = run_child(id, what);
    hold(code == 8, fmt::format("{}: exit code {}: {}", what, code, text));
    const double took = ms_since(start);
    longest = std::max(longest, took);
    soak.note += fmt::format("{}{}: {}, {:.1f} s", soak.note.empty() ? "" : "; ", what, text,
                             took / kSecond);
    const auto [fresh, said] = run_child(id, "fresh");
    hold(fresh == 8, fmt::format("the process after {}: {}", what, said));
  }
  hold(longest < 20 * kSecond, fmt::format("a process took {:.0f} ms to end", longest));
}

}  // namespace vyre::soak
