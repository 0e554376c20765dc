// SPDX-License-Identifier: Apache-2.0
// C7: from a text to the first result, when nothing has been compiled before. A new process each
// time, on every side.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.hpp"
#include "rows.hpp"
#include "sides.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace vyre::bench {
namespace {

// A folder that goes away with its contents.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vyre-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw Failed("cannot make a temporary folder");
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }
  // Another empty folder inside.
  std::string fresh() {
    const std::string made = *this / ("cache" + std::to_string(next_++));
    std::filesystem::create_directory(made);
    return made;
  }

 private:
  std::filesystem::path path_;
  uint32_t next_ = 0;
};

// Runs a program to its end; stdout is dropped. `environment` is added to ours.
void run_process(const std::vector<std::string>& words,
                 const std::vector<std::string>& environment = {}) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (const std::string& entry : environment)
    variables.push_back(const_cast<char*>(entry.c_str()));
  for (char** entry = environ; *entry != nullptr; ++entry) variables.push_back(*entry);
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  const int code =
      posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) throw Failed("cannot start " + words[0]);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Failed(words[0] + " failed with status " + std::to_string(status));
}

std::vector<uint8_t> file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class R>
void write_file(const std::string& path, const R& values) {
  const auto bytes = std::as_bytes(std::span(values));
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// A program with two inputs `a` and `b` and one result.
struct Cold {
  std::string what;
  std::string program;  // path of ours
  std::string kernel;   // kernels/<name>.cl, kernels/cold_<name>.c
  std::string result;   // its name
  uint32_t n;           // for the peers: elements, or rows of the matrices
  size_t count;         // elements of each buffer
  bool sized;           // ours gets n as `size`
  double limit_ns;
  Folder folder{};
  std::vector<uint8_t> a{}, b{}, called{};

  Cold(std::string what_, std::string program_, std::string kernel_, std::string result_,
       uint32_t n_, size_t count_, bool sized_, double limit)
      : what(std::move(what_)),
        program(std::move(program_)),
        kernel(std::move(kernel_)),
        result(std::move(result_)),
        n(n_),
        count(count_),
        sized(sized_),
        limit_ns(limit) {
    if (sized) {
      write_file(folder / "a.bin", random_floats(count, -1, 1, 41));
      write_file(folder / "b.bin", random_floats(count, -1, 1, 42));
    } else {
      write_file(folder / "a.bin", random_words(count, 41));
      write_file(folder / "b.bin", random_words(count, 42));
    }
    a = file_bytes(folder / "a.bin");
    b = file_bytes(folder / "b.bin");
  }
};

void add_absolute(Case& c, Goal goal) {
  c.peers.push_back(missing("-", goal, "-"));
}

void add_opencl(Case& c, const std::shared_ptr<Cold>& cold, const char* ours) {
#ifdef VYRE_BENCH_COLD_OPENCL
  c.peers.push_back({.name = "PoCL process, no cache",
                     .goal = Goal::ratio(30),
                     .run =
                         [cold] {
                           run_process({VYRE_BENCH_COLD_OPENCL, cold->kernel,
                                        std::to_string(cold->n), cold->folder / "a.bin",
                                        cold->folder / "b.bin", cold->folder / "opencl.bin"},
                                       {"POCL_CACHE_DIR=" + cold->folder.fresh()});
                         },
                     .compare =
                         [cold, ours] {
                           return equal_values<uint8_t>(file_bytes(cold->folder / ours),
                                                        file_bytes(cold->folder / "opencl.bin"));
                         }});
#else
  (void)cold;
  (void)ours;
  c.peers.push_back(missing("PoCL process, no cache", Goal::ratio(30),
                            "no OpenCL when the build was configured"));
#endif
}

// The compiler makes a library, which is loaded and called here: that this process is already there
// is to the peer's advantage.
void add_clang(Case& c, const std::shared_ptr<Cold>& cold, const char* ours) {
#ifdef VYRE_BENCH_CLANG_C
  c.peers.push_back(
      {.name = "clang -O3 process, dlopen",
       .goal = Goal::ratio(5),
       .run =
           [cold] {
             const std::string library = cold->folder.fresh() + "/peer.so";
             run_process({VYRE_BENCH_CLANG_C, "-O3", "-march=native", "-ffp-contract=off",
                          "-shared", "-fPIC", "-o", library,
                          VYRE_SOURCE_DIR "/bench/cpu/kernels/cold_" + cold->kernel + ".c"});
             void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
             if (loaded == nullptr) throw Failed("cannot load what clang made");
             using Function = void (*)(const void*, const void*, void*, uint32_t);
             const auto call = reinterpret_cast<Function>(dlsym(loaded, cold->kernel.c_str()));
             if (call == nullptr) throw Failed("cannot find what clang made");
             cold->called.assign(cold->a.size(), 0);
             call(cold->a.data(), cold->b.data(), cold->called.data(), cold->n);
             dlclose(loaded);
           },
       .compare =
           [cold, ours] {
             return equal_values<uint8_t>(file_bytes(cold->folder / ours), cold->called);
           }});
#else
  (void)cold;
  (void)ours;
  c.peers.push_back(missing("clang -O3 process, dlopen", Goal::ratio(5),
                            "no clang-19 when the build was configured"));
#endif
}

void process_row(Bench& bench, const std::shared_ptr<Cold>& cold) {
  bench.run("C7", "cold process, `vyre run --no-cache`, " + cold->what, [&] {
    std::vector<std::string> words = {VYRE_BINARY,
                                      "run",
                                      std::string(VYRE_SOURCE_DIR) + "/" + cold->program,
                                      "--device",
                                      bench.options().device,
                                      "--no-cache",
                                      "--in",
                                      "a=" + (cold->folder / "a.bin"),
                                      "--in",
                                      "b=" + (cold->folder / "b.bin"),
                                      "--in",
                                      cold->result + "=zeros(" + std::to_string(cold->count) + ")",
                                      "--out",
                                      cold->result + "=" + (cold->folder / "ours.bin")};
    if (cold->sized) {
      words.emplace_back("--in");
      words.push_back("size=[" + std::to_string(cold->n) + "]");
    }
    Case c{.ours = [words] { run_process(words); }, .one_call = true};
    add_opencl(c, cold, "ours.bin");
    add_clang(c, cold, "ours.bin");
    add_absolute(c, Goal::at_most(cold->limit_ns));
    return c;
  });
}

// A device opened anew has compiled nothing yet.
void in_process_row(Bench& bench, const std::shared_ptr<Cold>& cold) {
  bench.run("C7", "cold in a running process: open, compile, first result, " + cold->what, [&] {
    const std::string text = source_text(cold->program);
    const std::string id = bench.options().device;
    Case c{.ours =
               [cold, text, id] {
                 const Device device = must(Device::open(id, {.cache_directory = {}}));
                 const Pipeline pipeline =
                     must(device.compile(must(parse_checked(text, cold->program)))).pipeline;
                 const std::vector<uint32_t> size = {cold->n};
                 const std::vector<uint8_t> zeros(cold->a.size());
                 std::vector<Argument> inputs;
                 if (cold->sized) inputs.emplace_back(size);
                 inputs.insert(inputs.end(),
                               {Argument(cold->a), Argument(cold->b), Argument(zeros)});
                 (void)must(pipeline.dispatch({.inputs = inputs}));
               },
           .one_call = true};
    add_absolute(c, {});
    return c;
  });
}

}  // namespace

void cold_rows(Bench& bench) {
  const auto small = std::make_shared<Cold>("a*2+b, 256 lanes", "bench/cpu/programs/scale_add.vyre",
                                            "scale_add", "o", 256u, 256u, false, 12e6);
  const auto tiled =
      std::make_shared<Cold>("tiled matrix product, n = 32", "bench/cpu/programs/matmul.vyre",
                             "matmul", "c", 32u, 1024u, true, 25e6);
  for (const auto& cold : {small, tiled}) {
    process_row(bench, cold);
    in_process_row(bench, cold);
  }
}

}  // namespace vyre::bench
