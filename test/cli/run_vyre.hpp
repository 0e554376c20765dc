// SPDX-License-Identifier: Apache-2.0
// Runs the built `vyre` as a user would and hands back all that a user can see.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace vyre::test {

using Json = nlohmann::ordered_json;

struct Outcome {
  int exit_code = -1;  // -1 if a signal ended it
  int signal = 0;
  std::string out;
  std::string err;

  [[nodiscard]] Json json() const;  // of `out`; a parse error is a JSON value that says so
};

struct Surroundings {
  std::string input{};                     // stdin
  std::vector<std::string> environment{};  // "NAME=value", added to a small fixed environment
  std::string stdout_path{};               // instead of being captured
  bool close_stdout = false;
  bool terminal = false;  // stdout and stderr are one terminal, seen in Outcome::out
};

Outcome run_program(const std::string& program, std::vector<std::string> arguments,
                    const Surroundings& around = {});
Outcome run_vyre(std::vector<std::string> arguments, const Surroundings& around = {});

// Starts vyre with an open stdin so that it waits, lets `act` do something to the process, and
// collects what became of it.
Outcome run_waiting(std::vector<std::string> arguments, const std::function<void(int pid)>& act);

// Starts vyre and sends it Ctrl-C after a while.
Outcome run_interrupted(std::vector<std::string> arguments, int after_ms,
                        const Surroundings& around = {});

// Writes to a reader that has gone away.
Outcome run_into_broken_pipe(std::vector<std::string> arguments);

bool is_installed(const std::string& program);

// A directory of its own, gone at the end of the test.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  [[nodiscard]] std::string path(std::string_view name) const;
  // Writes the file; its path.
  [[nodiscard]] std::string write(std::string_view name, std::string_view content) const;
  [[nodiscard]] std::string read(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::string root_;
};

// Programs that most tests need.
inline constexpr std::string_view kGood = R"(// doubles every element
program double_all {
  workgroup 64;
  in a : u32[];
  out b : u32[] @count(len(a));

  region main {
    let i = gid.x;
    if i < len(b) {
      b[i] = a[i] * 2;
    }
  }
}
)";

// V020 on line 6, found with the text; V033 on line 7, found by the checker.
inline constexpr std::string_view kBad = R"(program bad {
  workgroup 64;
  out b : u32[4];

  region main {
    b[0] = missing;
    if 1u32 {
      b[1] = 1;
    }
  }
}
)";

// V090 on line 6.
inline constexpr std::string_view kWarned = R"(program warned {
  workgroup 64;
  out b : u32[4];

  region main {
    let unused = gid.x;
    b[0] = 1;
  }
}
)";

}  // namespace vyre::test
