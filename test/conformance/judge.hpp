// SPDX-License-Identifier: Apache-2.0
// A case on a device, through the driver as a user would go, held against the oracle.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/case.hpp"
#include "vyre/check/check.hpp"
#include "vyre/run/device.hpp"

namespace vyre::conformance {

// A device of the registry that runs programs.
struct Subject {
  std::string id;
  std::string backend;
  bool oracle = false;
  // The first of an oracle, and whatever is none; with VYRE_CONFORMANCE_ALL in the environment all.
  bool every_case = false;
  std::string unusable;  // why; empty: it can be opened, and code can be made for it
  // Instead of from the registry.
  std::function<Result<std::shared_ptr<device::Backend>>()> open = {};
};
std::vector<Subject> subjects();
// Opened once, without a disk cache.
Result<run::Device> open_subject(const Subject& subject);

enum class Verdict : uint8_t { Pass, Unavailable, Unsupported, ExpectedFailure, Fail };
struct Judgement {
  Verdict verdict = Verdict::Pass;
  std::string text;  // the reason, or what differs
};
Judgement judge(const Case& one, const Subject& subject);
// Without expectations.
Judgement judge_on(const Case& one, const run::Device& device);
// Whether a case has one outcome whatever the order of lanes is, as it must to be compared: on the
// oracle in several orders, looking for races.
Judgement judge_case(const Case& one);
// What becomes of a case that passed or failed on a backend from which failure is expected.
Judgement expect_failure(const Case& one, std::string_view backend, Judgement judgement);

// With VYRE_CONFORMANCE_TUNE in the environment each case and each random program also runs with
// every strategy that the tuner tries (D-MODE.3).
bool tries_strategies();

inline constexpr std::chrono::seconds kCaseTimeout{60};

// A case that is ready to run. An Error says what is wrong with the case itself.
struct Prepared {
  check::CheckedProgram checked;
  std::vector<Bytes> inputs;  // by input slot
  std::optional<check::Axes> grid, workgroup;
};
Result<Prepared> prepare(const Case& one);

}  // namespace vyre::conformance
