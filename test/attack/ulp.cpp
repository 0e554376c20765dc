// SPDX-License-Identifier: Apache-2.0
// ulp_budget: every maths function of the language on random arguments, in code of several shapes,
// with random budgets. No result is further from the strict one than the budget, and what has no
// approximation within it is the strict one.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "attack/attack.hpp"
#include "ir/maths.hpp"
#include "ir/maths_error_test.hpp"
#include "plan/driver.hpp"
#include "vyre/text/text.hpp"

namespace vyre::attack {
namespace {

using Random = std::mt19937_64;

constexpr std::array kFunctions = {"exp",  "exp2", "log",  "log2", "sin",  "cos",   "tan",  "asin",
                                   "acos", "atan", "sinh", "cosh", "tanh", "rsqrt", "recip"};

// y[i] = f(x[i]), in one of the ways in which code for it is made.
std::string statement(size_t k, Random& random) {
  const std::string call = fmt::format("{}(x[i])", kFunctions[k]);
  switch (random() % 5) {
    case 0: return fmt::format("  y{}[i] = {};\n", k, call);
    case 1:  // lanes apart
      return fmt::format("  if bits > 0x40000000 {{ y{0}[i] = {1}; }} else {{ y{0}[i] = {1}; }}\n",
                         k, call);
    case 2: return fmt::format("  y{}[i] = f{}(x[i]);\n", k, k);
    case 3:  // a loop that lanes leave one after the other
      return fmt::format("  for n in 0 .. (bits & 3) + 1 {{ y{}[i] = {}; }}\n", k, call);
    default:  // one lane at a time
      return fmt::format("  if atomic_add(count[0], 1) >= 0 {{ y{}[i] = {}; }}\n", k, call);
  }
}

std::string program_text(Random& random) {
  std::string text = fmt::format(
      "program ulp {{\n  workgroup {};\n  over len(x);\n  in x : f32[];\n"
      "  inout count : u32[1];\n",
      32 << random() % 4);
  for (size_t k = 0; k < kFunctions.size(); ++k)
    text += fmt::format(
        "  out y{} : f32[] @count(len(x));\n  fn f{}(a : f32) -> f32 {{ return {}(a); }}\n", k, k,
        kFunctions[k]);
  text += "  let i = gid.x;\n  let bits = bitcast<u32>(x[i]);\n";
  for (size_t k = 0; k < kFunctions.size(); ++k) text += statement(k, random);
  return text + "}\n";
}

// Half of them any bits, half of a size at which functions do something.
std::vector<float> arguments(Random& random) {
  std::vector<float> x(1 + random() % 700);
  for (float& one : x) {
    const auto bits = static_cast<uint32_t>(random());
    one = std::bit_cast<float>(
        random() % 2 == 0 ? bits : (bits & 0x807f'ffff) | ((110 + bits % 29) << 23));
  }
  return x;
}

uint32_t effective_budget(const pipeline::Manifest& manifest) {
  for (const auto& [name, value] : manifest.dispatch_policy)
    if (name == "ulp_budget") return static_cast<uint32_t>(std::stoul(value));
  return ~0U;
}

}  // namespace

Finding ulp(uint64_t seed, const Settings& settings) {
  Random random(seed);
  const std::string text = program_text(random);
  text::Parsed parsed = text::parse(text, "ulp.vyre");
  if (parsed.diagnostics.has_errors())
    return {.fault = "the attack's own program is wrong:\n" + text};
  constexpr std::array<uint32_t, 6> kBudgets = {0, 1, 2, 3, 4, 1000};
  const uint32_t budget = kBudgets[random() % kBudgets.size()];
  const run::Device& device = plan_test::open_device(settings.device);
  const auto fault = [&](const std::string& what) {
    return Finding{.fault = fmt::format("budget {}: {}\n{}", budget, what, text)};
  };
  run::DispatchConfig config{.ulp_budget = budget};
  if (random() % 4 == 0) config.profile = "latency";
  const auto compiled = device.compile(std::move(parsed.program), config);
  if (!compiled) return fault(to_string(compiled.error()));
  const uint32_t used = effective_budget(compiled->manifest);
  if (used > budget) return fault(fmt::format("the code has a budget of {}", used));

  const std::vector<float> x = arguments(random);
  const auto done =
      compiled->pipeline.dispatch({std::as_bytes(std::span(x)), std::vector<uint32_t>{0}});
  if (!done) return fault(to_string(done.error()));
  bool differs = false;
  for (size_t k = 0; k < kFunctions.size(); ++k) {
    const auto op = ir::intrinsic_from_name(kFunctions[k]);
    const ir::MathsF32 strict = ir::native_maths_f32(*op);
    for (size_t i = 0; i < x.size(); ++i) {
      float found = 0;
      std::memcpy(&found, done->outputs[k + 1].data() + i * sizeof(float), sizeof(float));
      const float expected = strict(x[i], 0);
      const uint32_t steps = test::steps_between(found, expected);
      if (steps > used)
        return fault(fmt::format("{}({}) = {}, strict {}: {} numbers between", kFunctions[k], x[i],
                                 found, expected, steps));
      differs = differs || steps != 0;
    }
  }
  // Then sin has an approximation, which is not always the strict value.
  if (used >= 2 && x.size() >= 300 && !differs) return fault("all results are strict");
  return {.fault = "", .cases = x.size() * kFunctions.size()};
}

}  // namespace vyre::attack
