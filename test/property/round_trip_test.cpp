// SPDX-License-Identifier: Apache-2.0
// What must hold for every program: text and bytes hold all of it.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "base/sanitizers.hpp"
#include "property/program_gen.hpp"
#include "property/random.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

namespace vyre::property {
namespace {

using namespace ir;

// RapidCheck runs 100 cases. The sanitizers make each some ten times slower.
constexpr int kProgramsPerCase = base::kSanitized ? 20 : 100;

// Seeds over all 64 bits, whatever the size RapidCheck has grown to.
rc::Gen<uint64_t> any_seed() {
  return rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<uint64_t>()));
}

std::string shown(uint64_t seed, const std::string& text) {
  return "random_program(" + std::to_string(seed) + "):\n" + text;
}

std::string diagnostics_of(const Diagnostics& diagnostics, const std::string& text) {
  return render_text(diagnostics, {{"p", text}});
}

void check_text(uint64_t seed, const Program& program) {
  const std::string text = text::print(program);
  const text::Parsed parsed = text::parse(text, "p");
  if (parsed.diagnostics.has_errors())
    RC_FAIL(shown(seed, text) + diagnostics_of(parsed.diagnostics, text));
  if (!(parsed.program == program))
    RC_FAIL(shown(seed, text) + "is read as\n" + text::print(parsed.program));
  if (text::print(parsed.program) != text)
    RC_FAIL(shown(seed, text) + "is not printed the same again");
  const text::Formatted formatted = text::format(text, "p");
  if (formatted.text != text)
    RC_FAIL(shown(seed, text) + "is formatted as\n" + formatted.text.value_or("(nothing)"));
}

void check_bytes(uint64_t seed, const Program& program) {
  const std::vector<std::byte> bytes = encode(program);
  const Result<Program> decoded = decode(bytes);
  if (!decoded) RC_FAIL(shown(seed, text::print(program)) + to_string(decoded.error()));
  RC_ASSERT(is_encoded(bytes));
  if (!(*decoded == program) || encode(*decoded) != bytes)
    RC_FAIL(shown(seed, text::print(program)) + "is decoded as\n" + text::print(*decoded));
}

void check_digest(uint64_t seed, const Program& program) {
  Program other = program;
  RC_ASSERT(digest_of(other) == digest_of(program));
  mutate(other, seed);
  if (digest_of(other) == digest_of(program))
    RC_FAIL(shown(seed, text::print(program)) + "has the digest of\n" + text::print(other));
}

void check_json(uint64_t seed, const Program& program) {
  const std::string json = text::to_json(program);
  if (!nlohmann::json::accept(json))
    RC_FAIL(shown(seed, text::print(program)) + "gives bad JSON\n" + json);
}

RC_GTEST_PROP(RoundTrip, EveryProgram, ()) {
  const uint64_t first = *any_seed();
  for (uint64_t seed = first; seed != first + kProgramsPerCase; ++seed) {
    const Program program = random_program(seed);
    check_text(seed, program);
    check_bytes(seed, program);
    check_digest(seed, program);
    check_json(seed, program);
  }
}

// Altered bytes are refused, or they are the canonical bytes of another program that has all its
// forms.
RC_GTEST_PROP(RoundTrip, AlteredBytes, ()) {
  const uint64_t seed = *any_seed();
  Random rnd(seed);
  const std::vector<std::byte> bytes = encode(random_program(seed));
  for (int i = 0; i < 200; ++i) {
    std::vector<std::byte> altered = bytes;
    for (uint64_t n = 1 + rnd.below(3); n > 0; --n)
      altered[rnd.below(altered.size())] =
          static_cast<std::byte>(rnd.one_in(2) ? rnd.below(24) : rnd.below(256));
    const Result<Program> decoded = decode(altered);
    if (!decoded) continue;
    if (encode(*decoded) != altered)
      RC_FAIL(shown(seed, text::print(*decoded)) + "has other bytes");
    RC_ASSERT(!text::print(*decoded).empty());
  }
}

// Few but large and deep ones.
RC_GTEST_PROP(RoundTrip, LargePrograms, ()) {
  const uint64_t seed = *any_seed();
  const Program program =
      random_program(seed, {.statements = 300, .block_depth = 64, .expr_depth = 20});
  check_text(seed, program);
  check_bytes(seed, program);
}

TEST(ProgramGenerator, IsDeterministic) {
  for (uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_EQ(digest_of(random_program(seed)), digest_of(random_program(seed))) << seed;
  EXPECT_NE(digest_of(random_program(1)), digest_of(random_program(2)));
  // The same on every machine and compiler; changes only with the generator or the format.
  EXPECT_EQ(digest_of(random_program(7)).hex(),
            "7ce86f1cfb4bfecbf65ca2b2827fbea3a2817f637a11cf3c0d885e64ccd8e934");
}

// Every alternative of the variants, so that a new node cannot be forgotten here.
TEST(ProgramGenerator, MakesEveryKindOfNode) {
  std::vector<size_t> exprs(std::variant_size_v<Expr>), stmts(std::variant_size_v<Stmt>);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Program program = random_program(seed);
    for (const Expr& expr : program.exprs) ++exprs[expr.index()];
    for (const Stmt& stmt : program.stmts) ++stmts[stmt.index()];
  }
  for (size_t i = 0; i < exprs.size(); ++i)
    EXPECT_EQ(exprs[i] == 0, i == Expr(Poison{}).index()) << "expression " << i;
  for (size_t i = 0; i < stmts.size(); ++i) EXPECT_NE(stmts[i], 0u) << "statement " << i;
}

}  // namespace
}  // namespace vyre::property
