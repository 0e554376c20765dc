// SPDX-License-Identifier: Apache-2.0
// D-PIPE.9: every f32 argument of every maths function that a budget makes inexact on this device,
// against the strict function on the same device. Instructions of a GPU have only a bound that its
// maker documents; this is where it is measured.
#include <array>
#include <charconv>

#include "gpu/soak.hpp"

namespace vyre::soak {
namespace {

constexpr std::array kFunctions = {"exp",  "exp2", "log",  "log2", "sin",  "cos",   "tan",  "asin",
                                   "acos", "atan", "sinh", "cosh", "tanh", "rsqrt", "recip"};

// f of as many numbers as there are lanes, by their bits from base[0] on.
std::string of_numbers(std::string_view function, uint32_t count) {
  return fmt::format(
      "program numbers {{\n  workgroup 256;\n  uniform base : u32[1];\n  out y : f32[{1}];\n"
      "  over {1};\n  y[gid.x] = {0}(bitcast<f32>(base[0] + gid.x));\n}}\n",
      function, count);
}

// The largest number of floats between two results, and one number for which it is that. -0 is +0;
// two NaNs are the same, and one is as far from a number as can be.
constexpr std::string_view kCompare = R"(program compare {
  workgroup 256;
  uniform base : u32[1];
  in a : f32[];
  in b : f32[];
  inout worst : u32[2];
  over len(a);
  fn place(x : f32) -> u32 {
    let bits = bitcast<u32>(x);
    return select(bits < 0x80000000, bits + 0x80000000, 0 - bits);
  }
  let x = a[gid.x];
  let y = b[gid.x];
  var steps = abs_diff(place(x), place(y));
  if is_nan(x) || is_nan(y) {
    steps = select(is_nan(x) && is_nan(y), 0, 0xffffffff);
  }
  if steps > 0 && atomic_max(worst[0], steps) < steps {
    atomic_store(worst[1], base[0] + gid.x);
  }
}
)";

uint32_t effective_budget(const CompileResult& compiled) {
  uint32_t ulps = ~0U;
  for (const auto& [name, value] : compiled.manifest.dispatch_policy)
    if (name == "ulp_budget") std::from_chars(value.data(), value.data() + value.size(), ulps);
  return ulps;
}

CompileResult compile_with(const Soak& soak, const std::string& text, uint32_t budget) {
  return must(soak.device.compile(must(parse_checked(text, "approximations.vyre"), "parsing"),
                                  {.ulp_budget = budget}),
              "compiling");
}

// Of each budget up to the one with which all of the function's approximations are permitted.
std::string check_function(Soak& soak, std::string_view function) {
  const uint32_t count = soak.smoke ? 1U << 16 : 1U << 24;
  const uint64_t all = uint64_t{1} << 32;
  const uint64_t pieces = soak.smoke ? 16 : all / count;
  const std::string text = of_numbers(function, count);
  const CompileResult relaxed = compile_with(soak, text, 1'000'000);
  const uint32_t ulps = effective_budget(relaxed);
  if (ulps == 0) return {};
  const Pipeline strict = compile_with(soak, text, 0).pipeline;
  const Pipeline compare = compile(soak.device, std::string(kCompare));
  const Buffer a = must(soak.device.allocate(uint64_t{4} * count), "allocating");
  const Buffer b = must(soak.device.allocate(uint64_t{4} * count), "allocating");
  const Buffer worst = must(soak.device.upload(as_bytes(Words(2))), "uploading");
  for (uint64_t piece = 0; piece < pieces; ++piece) {
    const Words base = {static_cast<uint32_t>(piece * (all / pieces))};
    const std::array<Argument, 1> inputs = {as_bytes(base)};
    const std::array<const Buffer*, 1> to_a = {&a};
    const std::array<const Buffer*, 1> to_b = {&b};
    must(strict.dispatch({.inputs = inputs, .outputs = to_a}), "the strict function");
    must(relaxed.pipeline.dispatch({.inputs = inputs, .outputs = to_b}), "the approximation");
    const std::array<Argument, 4> both = {as_bytes(base), a, b, worst};
    must(compare.dispatch({.inputs = both}), "comparing");
  }
  const Words found = to_vector<uint32_t>(must(soak.device.read(worst), "reading"));
  hold(found[0] <= ulps, fmt::format("{} of {:#010x} is {} numbers from the strict result, and {} "
                                     "are promised",
                                     function, found[1], found[0], ulps));
  return fmt::format("{} {} of {}", function, found[0], ulps);
}

}  // namespace

void check_approximations(Soak& soak) {
  for (const std::string_view function : kFunctions) {
    const std::string found = check_function(soak, function);
    if (!found.empty()) soak.note += (soak.note.empty() ? "ULP: " : ", ") + found;
  }
  hold(!soak.note.empty(), "no function has an approximation");
}

}  // namespace vyre::soak
