// SPDX-License-Identifier: Apache-2.0
// What the checker accepts, every backend compiles. Text of random programs is changed token by
// token until the checker accepts what came of it.
#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attack/attack.hpp"
#include "codegen/codegen.hpp"
#include "generator/generator.hpp"
#include "plan/driver.hpp"
#include "vyre/pipeline/compiler.hpp"
#include "vyre/text/text.hpp"

namespace vyre::attack {
namespace {

using Random = std::mt19937_64;

std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens;
  const auto kind = [](char c) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '@') return 0;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) return 1;
    return std::string_view("+-*/%&|^<>=!.").contains(c) ? 2 : 3;
  };
  for (const char c : text)
    if (!tokens.empty() && kind(c) != 3 && kind(tokens.back().back()) == kind(c))
      tokens.back() += c;
    else
      tokens.emplace_back(1, c);
  return tokens;
}

bool is_word(const std::string& token) {
  return std::isalpha(static_cast<unsigned char>(token[0])) != 0;
}
bool is_number(const std::string& token) {
  return std::isdigit(static_cast<unsigned char>(token[0])) != 0;
}

const std::string& any(const std::vector<std::string>& list, Random& random) {
  return list[random() % list.size()];
}

const std::vector<std::string>& numbers() {
  static const std::vector<std::string> kNumbers = {
      "0",          "1",   "2",   "3",  "31",         "32",         "64",   "255",  "4294967295",
      "2147483647", "0.0", "1.5", "-1", "0x80000000", "4294967294", "1e30", "7i32", "9u64"};
  return kNumbers;
}
const std::vector<std::string>& operators() {
  static const std::vector<std::string> kOperators = {
      "+",  "-", "*",  "/",  "%",  "&",  "|",  "^",  "<<",
      ">>", "<", "<=", "==", "!=", "&&", "||", "+=", "="};
  return kOperators;
}
const std::vector<std::string>& types() {
  static const std::vector<std::string> kTypes = {"u32", "i32", "f32",  "u64", "i64", "f64",
                                                  "u8",  "f16", "bf16", "i16", "bool"};
  return kTypes;
}

bool names_type(const std::string& token) {
  return std::ranges::find(types(), token) != types().end();
}

// One change at one place. Lines are statements, as the printer writes them.
void change(std::vector<std::string>& tokens, Random& random) {
  const size_t at = random() % tokens.size();
  std::string& token = tokens[at];
  if (is_number(token)) {
    token = any(numbers(), random);
  } else if (names_type(token)) {
    token = any(types(), random);
  } else if (is_word(token)) {
    // Another word of the program.
    for (int i = 0; i < 20; ++i) {
      const std::string& other = any(tokens, random);
      if (is_word(other) && other != token) {
        token = std::string(other);
        return;
      }
    }
  } else if (std::ranges::find(operators(), token) != operators().end()) {
    token = any(operators(), random);
  } else if (token.contains('\n')) {
    // A line gone, or twice.
    const auto end =
        std::find_if(tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1, tokens.end(),
                     [](const std::string& t) { return t.contains('\n'); });
    const std::vector<std::string> line(tokens.begin() + static_cast<std::ptrdiff_t>(at), end);
    if (random() % 2 == 0)
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at), end);
    else
      tokens.insert(end, line.begin(), line.end());
  }
}

std::optional<check::CheckedProgram> read(const std::string& text) {
  text::Parsed parsed = text::parse(text, "changed.vyre");
  if (parsed.diagnostics.has_errors()) return std::nullopt;
  return check::check(std::move(parsed.program)).program;
}

// Refusals that name a limit or something a device lacks are answers, too.
bool is_refusal(const Error& error) {
  return error.code == ErrorCode::LimitExceeded || error.code == ErrorCode::Unsupported ||
         error.code == ErrorCode::Timeout;
}

std::string compile_for_ptx(const check::CheckedProgram& checked) {
  const codegen::TargetDescriptor& ptx = codegen::architecture_target();
  const device::Capabilities can = ptx.architecture_capabilities();
  device::BackendInfo info;
  info.id = ptx.default_architecture;
  info.capabilities = can;
  if (auto ok = pipeline::check_device_limits(checked, {}, info); !ok)
    return is_refusal(ok.error()) ? "" : to_string(ok.error());
  pipeline::Policy policy;
  if (const auto strategy = plan::decide(checked, nullptr, {.capabilities = can}, {}))
    policy.variant = strategy->variant;
  const auto plan = pipeline::make_plan(checked, policy, can);
  if (!plan) return is_refusal(plan.error()) ? "" : to_string(plan.error());
  const codegen::Target target{.format = ptx.format,
                               .subgroup_size = can.subgroup_size,
                               .checked = false,
                               .architecture = std::string(ptx.default_architecture)};
  const auto code = codegen::emit(target, *plan);
  return code || is_refusal(code.error()) ? "" : to_string(code.error());
}

}  // namespace

Finding accepted(uint64_t seed, const Settings& settings) {
  Random random(seed);
  generator::GeneratorOptions options;
  options.size = settings.size != 0 ? settings.size : 14;
  for (uint64_t attempt = 0; attempt < 400; ++attempt) {
    // A new program now and then: some have hardly a place for a change.
    const generator::Generated g = generator::generate(seed + (attempt / 40 << 40), options);
    std::vector<std::string> tokens = tokens_of(text::print(g.program));
    for (uint64_t i = 0; i < 1 + random() % 4; ++i) change(tokens, random);
    std::string text;
    for (const std::string& token : tokens) text += token;
    const auto checked = read(text);
    if (!checked || checked->program == g.program) continue;
    const auto compiled =
        plan_test::open_device(settings.device).compile(check::CheckedProgram(*checked));
    if (!compiled && !is_refusal(compiled.error()))
      return {.fault =
                  fmt::format("{}: {}\n{}", settings.device, to_string(compiled.error()), text)};
    if (const std::string what = compile_for_ptx(*checked); !what.empty())
      return {.fault = fmt::format("PTX: {}\n{}", what, text)};
    return {};
  }
  return {.fault = "no change was accepted; the attack shows nothing", .cases = 0};
}

}  // namespace vyre::attack
