// SPDX-License-Identifier: Apache-2.0
// The contract between code generation and the targets that it has. A target is one folder under
// src/codegen/ and one descriptor, which stands in the table of targets.cpp; nothing else names it:
// which format a device gets, its code, its entries, the meaning of its stops and the words of
// `vyre compile --emit` and `--arch` come from the descriptors.
//
// A target takes three steps, each a function of its own in the folder:
//   can_emit   refuses, before any work, programs that no code of this kind is made for
//   legalize   turns the plan into what the printer prints, with the limits that this has
//   print      writes the code
// All are pure: equal plans and targets give equal bytes, on every machine. They may run on several
// threads at once. A new target also needs its member of device::Format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/approximations.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/artifact.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

// What code is made for.
struct Target {
  device::Format format = device::Format::Program;
  uint32_t subgroup_size = 0;
  bool checked = false;  // accesses out of bounds stop a lane
  // BackendInfo::architecture. For Ptx: "sm_80"; for Object one of device/kernel.hpp, or nothing.
  std::string architecture = {};
  uint32_t ulp_budget = 0;  // of maths functions (approximations.hpp); 0: strict
  bool cheap = false;       // code that is made quickly and runs slower, if the target has it
  // For tests: what memory inside of kernels holds that need not be cleared.
  std::optional<std::byte> poison = {};
  uint32_t lanes = 0;  // plan::RouteVariant::lanes
};

using Code = std::vector<std::byte>;
using Printer = Result<Code> (*)(const Target& target, const plan::Plan& plan);

// A form of the code for people: what a device gets, or a stage on the way to it.
struct Listing {
  std::string_view name = {};  // of `--emit`; several targets may have the same
  Printer print = nullptr;     // text
};

struct TargetDescriptor {
  device::Format format = device::Format::Program;  // of what `emit` gives

  // Unsupported, with the first thing of the plan or the target that no code is made for; nothing
  // if there is none. Cheap: sizes are a matter of `emit`, which may say LimitExceeded.
  std::optional<Error> (*can_emit)(const Target& target, const plan::Plan& plan) = nullptr;
  // What a device of this format loads. Comes after can_emit(), as the listings do.
  Printer emit = nullptr;
  std::span<const Listing> listings = {};
  // Of maths functions, for programs whose caller allows an error.
  std::span<const Approximation> approximations = {};
  bool has_cheap_code = false;  // Target::cheap makes a difference
  // What to do instead, to people who ask for another listing: "ask for llvm or asm".
  std::string_view other_listing = {};

  // Adds what only this kind of code needs for its launch to the entry of a segment; null: nothing.
  void (*describe_entry)(const Target& target, const plan::Segment& segment,
                         device::Entry& entry) = nullptr;
  // What a stop means that this code reports, with its place in the source; null: it reports none.
  Error (*explain)(const plan::Plan& plan, uint32_t entry, bool checked,
                   const device::KernelStop& stop) = nullptr;

  // The device runs the programs of the plan themselves, and no compiler takes part.
  bool is_interpreted = false;
  // The code is text that a driver compiles, which nothing can stop.
  bool driver_compiles = false;

  // The device whose listings people get that name none; every other device has them as well,
  // whatever it loads. Empty: only devices of this format have them.
  std::string_view listed_for = {};

  // For code that can be made without a device, `--arch`: what it relies on there. Null: none.
  device::Capabilities (*architecture_capabilities)() = nullptr;
  std::string_view default_architecture = {};
};

// All targets of this build. A device that takes several formats gets the first of them.
std::span<const TargetDescriptor* const> targets();
// Null: no code of this format is made.
const TargetDescriptor* find_target(device::Format format);
// The target that `--arch` makes code for.
const TargetDescriptor& architecture_target();

}  // namespace vyre::codegen
