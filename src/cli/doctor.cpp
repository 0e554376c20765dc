// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/utf8.hpp"
#include "cli/commands.hpp"
#include "cli/devices.hpp"
#include "cli/version.hpp"
#include "pipeline/compile_child.hpp"
#include "vyre/oracle/oracle.hpp"
#include "vyre/text/text.hpp"

namespace vyre::cli {
namespace {

// Every lane hands a value to another one of its workgroup, and all of them see the sum.
constexpr std::string_view kSelfTest = R"(program self_test {
  workgroup 32;
  over len(a);
  in a : u32[];
  out sum : u32[1];
  out b : u32[] @count(len(a));
  shared s : u32[32];

  s[lid.x] = a[gid.x] * 2654435761;
  barrier workgroup;
  let x = s[31 - lid.x] >> 8;
  atomic_add(sum[0], x);
  barrier grid;
  b[gid.x] = x ^ atomic_load(sum[0]);
}
)";
constexpr size_t kLanes = 256;

Result<check::CheckedProgram> self_test_program() {
  text::Parsed parsed = text::parse(kSelfTest, "self-test");
  return check::check_valid(std::move(parsed.program));
}

std::string difference(const check::CheckedProgram& program,
                       std::span<const std::span<const std::byte>> expected,
                       const run::Outputs& got) {
  size_t slot = 0;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    if (!program.buffers[i].output_slot) continue;
    const auto [want, is] = std::ranges::mismatch(expected[slot], got[slot]);
    if (want != expected[slot].end() || is != got[slot].end())
      return fmt::format("byte {} of `{}` is not what the reference interpreter says",
                         want - expected[slot].begin(), program.program.buffers[i].name);
    ++slot;
  }
  return "";
}

Result<std::string> compare(const run::Device& device, std::chrono::nanoseconds limit) {
  VYRE_TRY_ASSIGN(auto program, self_test_program());
  const auto checked = std::make_shared<const check::CheckedProgram>(std::move(program));
  std::vector<uint32_t> a(kLanes);
  std::iota(a.begin(), a.end(), 1U);
  const std::span<const std::byte> input = std::as_bytes(std::span(a));
  VYRE_TRY_ASSIGN(const auto expected, oracle::run(*checked, {&input, 1}));
  // A busy machine may take long to compile what a device then runs at once.
  constexpr std::chrono::seconds kCompiling{30};
  VYRE_TRY_ASSIGN(auto compiled, device.compile(checked, {.timeout = kCompiling}));
  VYRE_TRY_ASSIGN(const auto result,
                  compiled.pipeline.dispatch({run::Argument(input)}, {.timeout = limit}));
  return difference(*checked, expected.outputs(*checked), result.outputs);
}

struct System {
  std::string os;
  std::string machine;
  std::string cpu = "unknown";
  unsigned threads = std::thread::hardware_concurrency();
  uint64_t memory_bytes = 0;
};

System this_system() {
  System system;
  utsname name{};
  if (::uname(&name) == 0) {
    system.os = fmt::format("{} {}", name.sysname, name.release);
    system.machine = name.machine;
  }
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) {
      system.cpu = line.substr(line.find(": ") + 2);
      break;
    }
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page > 0)
    system.memory_bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
  return system;
}

class Doctor {
 public:
  explicit Doctor(App& app) : app_(app) {}

  int run() {
    put_version(json_["vyre"]);
    json_["vyre"]["compiler_build_id"] = pipeline::compiler_build_id();
    text_ = version_line();
    text_ += fmt::format("code {}\n", pipeline::compiler_build_id());
    show_system();
    text_ += "\ndevices\n";
    json_["devices"] = Json::array();
    for (const SeenDevice& seen : see_devices(device::registry(), "")) show_device(seen);
    show_compiler();
    show_cache();
    text_ += fmt::format("\n{} of {} self-tests passed\n", tests_ - failed_, tests_);
    if (app_.json) {
      Json document = app_.document(failed_ == 0);
      document.update(json_);
      app_.put_document(document);
    } else {
      app_.put(text_);
    }
    return failed_ == 0 ? kExitOk : kExitMismatch;
  }

 private:
  void show_system() {
    const System system = this_system();
    text_ += fmt::format("{}, {}\n{}, {} threads, {} MiB of memory\n", system.os, system.machine,
                         system.cpu, system.threads, system.memory_bytes >> 20);
    Json& json = json_["system"];
    json["os"] = system.os;
    json["machine"] = system.machine;
    json["cpu"] = system.cpu;
    json["threads"] = system.threads;
    json["memory_bytes"] = system.memory_bytes;
  }

  void show_device(const SeenDevice& seen) {
    const device::DeviceFacts& facts = seen.facts;
    Json json;
    json["id"] = facts.id;
    json["backend"] = seen.row->id;
    json["kind"] = name_of(seen.row->kind);
    json["name"] = facts.profile.name.empty() ? Json() : Json(facts.profile.name);
    json["usable"] = facts.unusable.empty();
    json["reason"] = facts.unusable.empty() ? Json() : Json(facts.unusable);
    json["version"] = nullptr;
    json["self_test"] = nullptr;
    text_ += base::printable_text(fmt::format("  {}: {}{}{}", facts.id, name_of(seen.row->kind),
                                              facts.profile.name.empty() ? "" : ", ",
                                              facts.profile.name)) +
             "\n";
    const bool runs = seen.row->kind != device::Kind::Null &&
                      (seen.row->dispatches || seen.row->kind == device::Kind::Oracle);
    if (!facts.unusable.empty())
      line(fmt::format("not usable: {}", facts.unusable));
    else if (!runs)
      line("runs nothing, so there is no self-test");
    else
      test(facts.id, json);
    json_["devices"].push_back(std::move(json));
  }

  void test(const std::string& id, Json& json) {
    SelfTest result;
    // What is on disk is no test of the device.
    const auto device = run::Device::open(id, {.cache_directory = {}});
    if (device) {
      json["version"] = device->info().version;
      result = self_test(*device);
    } else {
      result.message = to_string(device.error());
    }
    ++tests_;
    if (!result.ok) ++failed_;
    Json& row = json["self_test"];
    row["ok"] = result.ok;
    row["message"] = result.ok ? Json() : Json(result.message);
    row["ns"] = result.ns;
    line(result.ok ? fmt::format("self-test passed in {:.1f} ms, version {}",
                                 static_cast<double>(result.ns) / 1e6, device->info().version)
                   : fmt::format("self-test FAILED: {}", result.message));
  }

  // Who compiles large programs.
  void show_compiler() {
    const pipeline::CompilerFile compiler = pipeline::find_compiler();
    text_ += "\ncompiler\n";
    if (!compiler.path.empty())
      line(fmt::format("large programs are compiled by {}", compiler.path.string()));
    else if (compiler.in_process)
      line(fmt::format("{} is {}: large programs are compiled in the process, without limits",
                       pipeline::kCompilerVariable, pipeline::kInProcess));
    else
      line(fmt::format("{} is not installed: large programs are refused", pipeline::kCompilerName));
    json_["compiler"]["path"] = compiler.path.empty() ? Json() : Json(compiler.path.string());
    json_["compiler"]["in_process"] = compiler.in_process;
  }

  void show_cache() {
    const auto directory = pipeline::DiskCache::default_directory();
    const pipeline::CacheStat stat =
        pipeline::DiskCache::open({.directory = directory, .create = false}).stat();
    text_ += "\ncache\n";
    line(fmt::format("directory {}", directory.empty() ? "none" : directory.string()));
    line(fmt::format("state {}{}{}", name_of(stat.state), stat.reason.empty() ? "" : ": ",
                     stat.reason));
    line(fmt::format("{} entries, {} bytes", stat.entries, stat.bytes));
    Json& json = json_["cache"];
    json["directory"] = directory.empty() ? Json() : Json(directory.string());
    json["state"] = name_of(stat.state);
    json["reason"] = stat.reason.empty() ? Json() : Json(stat.reason);
    json["entries"] = stat.entries;
    json["bytes"] = stat.bytes;
  }

  void line(const std::string& text) { text_ += "    " + base::printable_text(text) + "\n"; }

  App& app_;
  std::string text_;
  Json json_;
  uint32_t tests_ = 0;
  uint32_t failed_ = 0;
};

}  // namespace

SelfTest self_test(const run::Device& device, std::chrono::nanoseconds limit) {
  const auto start = std::chrono::steady_clock::now();
  const Result<std::string> difference = compare(device, limit);
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
  SelfTest result;
  result.ns = static_cast<uint64_t>(took.count());
  result.ok = difference && difference->empty();
  if (!result.ok) result.message = difference ? *difference : to_string(difference.error());
  return result;
}

int run_doctor(App& app) {
  return Doctor(app).run();
}

}  // namespace vyre::cli
