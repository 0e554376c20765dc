// SPDX-License-Identifier: Apache-2.0
#include "plan/printed_test.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "plan/dump.hpp"
#include "vyre/text/text.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

// The passes that come before, as make_plan() runs them.
struct Prepared {
  Draft draft;
  CutPoints cuts;
};

Prepared prepared(std::string_view source, Scope scope) {
  Draft d = inline_calls(draft_of(source), {});
  if (scope == Scope::Grid) d = find_fixpoint_modes(std::move(d), false);
  Hidden words;
  words.name = "control";
  const BufferId control = d.add_hidden(std::move(words));
  const auto mark = [&](Draft& draft, uint32_t row) {
    return draft.atomic(AtomicOp::Store, Memory::of(control),
                        draft.number(ControlWords::kFirstChanged + row), draft.number(1));
  };
  if (scope == Scope::Grid) d = track_writes(std::move(d), mark);
  return {std::move(d), {scope, false}};
}

struct Analysed {
  Draft draft;
  CutPoints cuts;
  Tree tree;
};

Analysed analysed(std::string_view source, Scope scope) {
  auto [draft, cuts] = prepared(source, scope);
  Draft d = normalise(std::move(draft), cuts);
  Tree tree = cut(d, cuts);
  tree = analyse(d, std::move(tree), false);
  return {std::move(d), cuts, std::move(tree)};
}

}  // namespace

void expect_golden(std::string_view name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(VYRE_SOURCE_DIR) / "test/golden/plan" /
                                     (std::string(name) + ".expected");
  if (const char* regenerate = std::getenv("VYRE_REGEN");
      regenerate != nullptr && std::string_view(regenerate) == "1")
    std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  const std::string expected(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text, expected) << path << ": run with VYRE_REGEN=1 if the change is meant";
}

check::CheckedProgram checked_text(std::string_view source) {
  text::Parsed parsed = text::parse(source, "test.vyre");
  EXPECT_EQ(render_text(parsed.diagnostics, {}), "");
  const bool read = !parsed.diagnostics.has_errors();
  check::Checked checked = check::check(std::move(parsed.program), !read);
  if (!checked.program) {
    if (read) ADD_FAILURE() << render_text(checked.diagnostics, {});
    return *check::check_valid(text::parse("program p { workgroup 1; }", "").program);
  }
  return std::move(*checked.program);
}

Draft draft_of(std::string_view source) {
  return Draft(checked_text(source));
}

std::string body_of(const Draft& d) {
  const auto items = d.p.items(d.p.body);
  return dump_statements(d.p, StmtList(items.begin(), items.end()), text::print);
}

std::string inlined(std::string_view source, bool effects) {
  return body_of(inline_calls(draft_of(source), {.effects = effects}));
}

std::string fixpoint_modes(std::string_view source, bool checked) {
  const Draft d = find_fixpoint_modes(inline_calls(draft_of(source), {.effects = true}), checked);
  std::vector<std::string> lines;
  for (const FixpointInfo& info : d.fixpoints)
    for (const FixpointBuffer& b : info.buffers)
      lines.push_back(fmt::format("{}: {}: {}", d.p[b.buffer].name, name_of(b.mode), b.why));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string tracked(std::string_view source) {
  return body_of(prepared(source, Scope::Grid).draft);
}

std::string normalised(std::string_view source, Scope scope) {
  auto [draft, cuts] = prepared(source, scope);
  return body_of(normalise(std::move(draft), cuts));
}

std::string tree_of(std::string_view source, Scope scope) {
  const Analysed x = analysed(source, scope);
  return dump_tree(x.draft, x.tree, text::print);
}

std::string storage_of(std::string_view source, Scope scope) {
  const Analysed x = analysed(source, scope);
  return dump_storage(x.draft, assign_storage(x.draft, x.tree, x.cuts));
}

std::string print_plan(const Plan& plan, const Program& source) {
  return dump_plan(plan, source, text::print);
}

std::string planned(std::string_view source, const PlanOptions& options) {
  const check::CheckedProgram checked = checked_text(source);
  const auto plan = make_plan(checked, options);
  if (!plan) return to_string(plan.error());
  return print_plan(*plan, checked.program);
}

std::string workgroup_phases(std::string_view source) {
  const check::CheckedProgram checked = checked_text(source);
  return print_plan(*cut_workgroup(checked), checked.program);
}

}  // namespace vyre::plan
