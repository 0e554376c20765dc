// SPDX-License-Identifier: Apache-2.0
// G6: from a text to the first result, when nothing has been compiled before. G7: the same with
// code that is already there, in a new process. What counts begins when the context is made; the
// process that measures says how long it took.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rows.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace vyre::bench {
namespace {

constexpr uint32_t kColdSamples = 7;  // of processes, which take half a second each

// A program with two inputs `a` and `b` and one result of the same length.
struct Cold {
  const char* name;  // of the kernel, kernels/<name>.cu
  const char* what;
  const char* program;
  uint32_t n;
  size_t count;  // elements
  bool sized;    // ours gets n as `size`
  uint32_t grid[2], block[2];
};
constexpr Cold kCold[] = {
    {"scale_add",
     "a*2+b, 256 lanes",
     "bench/cpu/programs/scale_add.vyre",
     256,
     256,
     false,
     {1, 1},
     {256, 1}},
    {"matmul",
     "tiled matrix product, n = 32",
     "bench/cpu/programs/matmul.vyre",
     32,
     1024,
     true,
     {2, 2},
     {16, 16}},
};

struct Data {
  std::vector<std::byte> a, b;
  explicit Data(const Cold& cold) {
    const auto fill = [&](std::vector<std::byte>& to, uint32_t seed) {
      const auto put = [&](const auto& values) {
        const auto bytes = as_bytes(values);
        to.assign(bytes.begin(), bytes.end());
      };
      if (cold.sized)
        put(random_floats(cold.count, seed));
      else
        put(random_words(cold.count, seed));
    };
    fill(a, 31);
    fill(b, 32);
  }
};

// What a run took, and what came out, shortened to a number that goes through a pipe.
struct Outcome {
  double ns = 0;
  uint64_t result = 0;
  CacheHit cache_hit = CacheHit::Unknown;
};
uint64_t digest(std::span<const std::byte> bytes) {
  uint64_t hash = 0xCBF2'9CE4'8422'2325;
  for (const std::byte b : bytes) hash = (hash ^ std::to_integer<uint64_t>(b)) * 0x100'0000'01B3;
  return hash;
}

// The text under another name each time: a program that the process has not seen.
std::string text_of(const Cold& cold) {
  static uint32_t next = 0;
  std::string text = source_text(cold.program);
  const std::string head = std::string("program ") + cold.name;
  return text.replace(text.find(head), head.size(), head + "_" + std::to_string(next++));
}

// From the text to bytes on the host.
Outcome ours_on(const Device& device, const Cold& cold) {
  const Data data(cold);
  const std::string text = text_of(cold);
  const double start = now_ns();
  const CompileResult compiled = must(device.compile(must(parse_checked(text, cold.program))));
  const std::vector<uint32_t> size = {cold.n};
  const std::vector<std::byte> zeros(data.a.size());
  std::vector<Argument> inputs;
  if (cold.sized) inputs.emplace_back(size);
  inputs.insert(inputs.end(), {Argument(data.a), Argument(data.b), Argument(zeros)});
  const DispatchResult done = must(compiled.pipeline.dispatch({.inputs = inputs}));
  const double taken = now_ns() - start;
  return {taken, digest(done.outputs[0]), compiled.cache_hit};
}

VyreCudaPeers::Call call_of(const Cold& cold, const Data& data, std::vector<std::byte>& o) {
  o.resize(data.a.size());
  return {cold.name,
          data.a.data(),
          data.b.data(),
          o.data(),
          o.size(),
          cold.n,
          {cold.grid[0], cold.grid[1]},
          {cold.block[0], cold.block[1]}};
}

const VyreCudaPeers& peers_or_fail() {
  const char* why = nullptr;
  const VyreCudaPeers* const peers = cuda_peers(&why);
  if (peers == nullptr) throw Failed(why);
  return *peers;
}
std::string kernel_text(const Cold& cold) {
  return source_text(std::string("bench/cuda/kernels/") + cold.name + ".cu");
}

Outcome nvrtc_once(const Cold& cold, bool binary) {
  const VyreCudaPeers& peers = peers_or_fail();
  const Data data(cold);
  const std::string text = kernel_text(cold);
  peers.make_context();
  if (const char* const why = peers.why_no_compiler()) throw Failed(why);
  std::vector<std::byte> o;
  const VyreCudaPeers::Call call = call_of(cold, data, o);
  const double start = now_ns();
  char* code = nullptr;
  if (peers.compile(text.c_str(), binary ? 1 : 0, &code) == 0)
    throw Failed("NVRTC does not compile it");
  peers.run_code(code, &call);
  const double taken = now_ns() - start;
  peers.drop(code);
  return {.ns = taken, .result = digest(o)};
}

// A file with a CUDA binary.
Outcome binary_once(const Cold& cold, const std::string& path) {
  const VyreCudaPeers& peers = peers_or_fail();
  const Data data(cold);
  peers.make_context();
  std::vector<std::byte> o;
  const VyreCudaPeers::Call call = call_of(cold, data, o);
  const double start = now_ns();
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> code{std::istreambuf_iterator<char>(file), {}};
  peers.run_code(code.data(), &call);
  const double taken = now_ns() - start;
  return {.ns = taken, .result = digest(o)};
}

// ---- processes

// Starts this program again and reads what it measured.
Outcome child_once(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"/proc/self/exe", kChildFlag};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  arguments.reserve(all.size() + 1);
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) throw Failed("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t process = 0;
  const int code =
      posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char part[256];
  if (code == 0)
    for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;)
      text.append(part, static_cast<size_t>(got));
  close(ends[0]);
  if (code != 0) throw Failed("cannot start this program again");
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  Outcome outcome;
  int hit = 0;
  if (status != 0 || std::sscanf(text.c_str(), "%lf %lu %d", &outcome.ns, &outcome.result, &hit) !=
                         3)  // NOLINT(cert-err34-c)
    throw Failed("the process that measures failed: " + text);
  outcome.cache_hit = hit != 0 ? CacheHit::Yes : CacheHit::No;
  return outcome;
}

// A folder that goes away with its contents.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vyre-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw Failed("cannot make a temporary folder");
    path = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

// ---- rows

// Both sides measure themselves: the clock goes by what they say.
struct TimedRuns {
  double ns = 0;
  uint64_t ours = 0;
};

Case timed_case(const std::shared_ptr<TimedRuns>& timed, const std::function<Outcome()>& once) {
  Case c{.ours = [timed, once] {
    const Outcome outcome = once();
    timed->ns += outcome.ns;
    timed->ours = outcome.result;
  }};
  c.clock = [timed] { return timed->ns; };
  c.one_call = true;
  return c;
}
void add_timed(Case& c, const std::shared_ptr<TimedRuns>& timed, std::string name,
               std::string variant, Goal goal, bool compiles,
               const std::function<Outcome()>& once) {
  const char* why = nullptr;
  const VyreCudaPeers* const peers = cuda_peers(&why);
  if (peers != nullptr && compiles) why = peers->why_no_compiler();
  Peer peer{.name = std::move(name), .variant = std::move(variant), .goal = goal};
  if (peers == nullptr || (compiles && why != nullptr)) {
    peer.unavailable = why;
  } else {
    auto theirs = std::make_shared<uint64_t>(0);
    peer.run = [timed, once, theirs] {
      const Outcome outcome = once();
      timed->ns += outcome.ns;
      *theirs = outcome.result;
    };
    peer.compare = [timed, theirs] {
      return Agreement{*theirs == timed->ours, *theirs == timed->ours ? "" : "results differ"};
    };
  }
  c.peers.push_back(std::move(peer));
}

}  // namespace

int run_child(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 2, argv + argc);
    if (words.size() < 3) throw Failed("a process that measures needs three words");
    const Cold& cold = kCold[std::stoul(words[1]) % std::size(kCold)];
    const auto ours = [&] {
      const Device device = must(Device::open(words[2], {.cache_directory = words.at(3)}));
      return ours_on(device, cold);
    };
    const Outcome outcome = words[0] == "ours"     ? ours()
                            : words[0] == "nvrtc"  ? nvrtc_once(cold, words[2] == "binary")
                            : words[0] == "binary" ? binary_once(cold, words[2])
                                                   : throw Failed("unknown: " + words[0]);
    std::printf("%.0f %lu %d\n", outcome.ns, outcome.result,
                outcome.cache_hit == CacheHit::Yes ? 1 : 0);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}

void cold_rows(Bench& bench) {
  const std::string id = bench.options().device;
  const Cold& small = kCold[0];
  bench.run("G6", std::string("cold, first in its process, ") + small.what, [&] {
    auto timed = std::make_shared<TimedRuns>();
    Case c = timed_case(timed, [id] { return child_once({"ours", "0", id, ""}); });
    c.repetitions = std::min(kColdSamples, bench.options().repetitions);
    for (const char* to : {"binary", "ptx"})
      add_timed(c, timed, "NVRTC", to, Goal::ratio(3), true,
                [to] { return child_once({"nvrtc", "0", to}); });
    add_absolute(c, Goal::at_most(24e6));
    return c;
  });
  for (const Cold& cold : kCold)
    bench.run("G6", std::string("cold, later in its process, ") + cold.what, [&] {
      auto timed = std::make_shared<TimedRuns>();
      Case c = timed_case(timed, [&cold, device = bench.device()] {
        const Outcome outcome = ours_on(device, cold);
        if (outcome.cache_hit == CacheHit::Yes) throw Failed("it was not cold");
        return outcome;
      });
      for (const bool binary : {true, false})
        add_timed(c, timed, "NVRTC", binary ? "binary" : "ptx", Goal::ratio(3), true,
                  [&cold, binary] { return nvrtc_once(cold, binary); });
      if (&cold == &small) add_absolute(c, Goal::at_most(15e6));
      return c;
    });
}

void cached_rows(Bench& bench) {
  const Cold& cold = kCold[0];
  bench.run("G7", std::string("cached, new process, ") + cold.what, [&] {
    auto folder = std::make_shared<Folder>();
    const std::string binary = folder->path / "kernel.cubin";
    const char* why = nullptr;
    if (const VyreCudaPeers* const peers = cuda_peers(&why);
        peers != nullptr && peers->why_no_compiler() == nullptr) {
      char* code = nullptr;
      const size_t bytes = peers->compile(kernel_text(cold).c_str(), 1, &code);
      std::ofstream(binary, std::ios::binary).write(code, static_cast<std::streamsize>(bytes));
      peers->drop(code);
    }
    const std::vector<std::string> words = {"ours", "0", bench.options().device,
                                            folder->path / "cache"};
    (void)child_once(words);  // fills the cache
    auto timed = std::make_shared<TimedRuns>();
    Case c = timed_case(timed, [words, folder] {
      const Outcome outcome = child_once(words);
      if (outcome.cache_hit != CacheHit::Yes) throw Failed("it was not in the cache");
      return outcome;
    });
    c.repetitions = std::min(kColdSamples, bench.options().repetitions);
    add_timed(c, timed, "cubin loaded by hand", "file, load, launch", Goal::over(5e5), true,
              [binary, folder] { return child_once({"binary", "0", binary}); });
    return c;
  });
}

}  // namespace vyre::bench
