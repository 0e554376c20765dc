// SPDX-License-Identifier: Apache-2.0
// What the tests of examples/ share: a program with the inputs of its `// run:` line, and a
// comparison of all that it gives back with what plain C++ computes, under several schedules.
#pragma once

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/oracle/oracle.hpp"

namespace vyre::test {

// The contents of buffers by name.
class Values {
 public:
  using Bytes = std::vector<std::byte>;

  template <class T>
  Values& set(const std::string& name, const std::vector<T>& elements) {
    Bytes& bytes = buffers_[name];
    bytes.resize(elements.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
    return *this;
  }
  Values& set(const std::string& name, const std::vector<uint32_t>& elements) {
    return set<uint32_t>(name, elements);
  }
  void set_bytes(const std::string& name, Bytes bytes) { buffers_[name] = std::move(bytes); }

  template <class T = uint32_t>
  [[nodiscard]] std::vector<T> get(const std::string& name) const {
    const Bytes& bytes = buffers_.at(name);
    std::vector<T> elements(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
  }
  [[nodiscard]] const Bytes* find(const std::string& name) const {
    const auto at = buffers_.find(name);
    return at == buffers_.end() ? nullptr : &at->second;
  }

 private:
  std::map<std::string, Bytes> buffers_;
};

std::filesystem::path examples_dir();
// Names of the files without ending, sorted.
std::vector<std::string> example_names();
std::string example_text(const std::string& name);

struct Example {
  std::string name;
  check::CheckedProgram checked;

  // Valid programs only; anything else fails the test and throws.
  explicit Example(const std::string& name);

  // The words after `// run:`, of which there must be one line.
  [[nodiscard]] std::vector<std::string> run_words() const;
  [[nodiscard]] Values run_inputs() const;

  [[nodiscard]] Result<oracle::Outcome> run(const Values& in,
                                            const oracle::Options& options = {}) const;
  // By name, as a caller gets them: without what @range leaves out.
  [[nodiscard]] Values outputs(const oracle::Outcome& outcome) const;
};

// What a program should give for these inputs: every output that is not empty.
using Expected = std::function<Values(const Values& in)>;

enum class RunLine : uint8_t {
  AllSchedules,
  InOrder,  // forward and reversed only, where the picture is large
};

// Runs the example on the inputs of its `// run:` line and on `more`, forward, reversed and in
// random order and with small subgroups, and compares all outputs exactly. With `more` it also
// looks for races.
void expect_example(const std::string& name, const Expected& expected,
                    const std::vector<Values>& more, RunLine run_line = RunLine::AllSchedules);

// `count` numbers from low to high - 1, the same in every run.
std::vector<uint32_t> some_numbers(size_t count, uint32_t low, uint32_t high, uint32_t seed = 1);
// `count` floats from -1 to 1.
std::vector<float> some_floats(size_t count, uint32_t seed = 1);

}  // namespace vyre::test
