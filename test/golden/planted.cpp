// SPDX-License-Identifier: Apache-2.0
#include "golden/planted.hpp"

#include <array>
#include <string>
#include <utility>

#include "golden/golden.hpp"
#include "vyre/vyre.hpp"

namespace vyre::golden {
namespace {

constexpr std::string_view kTick = "program tick { workgroup 1; inout n : u32[1]; n[0] += 1; }";
Program tick() {
  return parse(kTick, "tick").program;
}

template <class T>
Diagnostics diagnostics_of(const Result<T>& result) {
  Diagnostics list;
  if (result) return list;
  for (const Diagnostic& d : result.error().diagnostics)
    list.add(d.code, d.at, d.message, d.fix).notes = d.notes;
  return list;
}

Diagnostics checked(Program program) {
  return check::check(std::move(program)).diagnostics;
}

Diagnostics built(ProgramBuilder& p) {
  Result<Program> program = p.finish();
  if (!program) return diagnostics_of(program);
  return checked(std::move(*program));
}

// ---- the C++ blocks of the pages, word for word between the marks ----

Diagnostics v015_wrong() {
  const std::string_view text = kTick;
  // page V015 wrong
  vyre::Program p = vyre::parse(text, "tick.vyre").program;
  const auto& main = std::get<vyre::ir::Region>(p[p.items(p.body).front()]);
  p.body = main.body;  // the store now stands at the top level
  // end
  return checked(std::move(p));
}

Diagnostics v027_wrong() {
  // page V027 wrong
  vyre::ProgramBuilder p("count");
  p.workgroup(64u);
  auto hits = p.inout<vyre::u32>("hits per lane");
  hits[vyre::gid.x] += 1u;
  // end
  return built(p);
}

Diagnostics v027_right() {
  // page V027 right
  vyre::ProgramBuilder p("count");
  p.workgroup(64u);
  auto hits = p.inout<vyre::u32>("hits_per_lane");
  hits[vyre::gid.x] += 1u;
  // end
  return built(p);
}

Diagnostics v086_right() {
  const Program program = tick();
  // page V086 right
  const std::vector<std::byte> bytes = vyre::encode(program);
  const vyre::Result<vyre::Program> again = vyre::decode(bytes);
  // end
  return diagnostics_of(again);
}

Diagnostics v087_wrong() {
  const Program program = tick();
  // page V087 wrong
  std::vector<std::byte> bytes = vyre::encode(program);
  bytes.resize(bytes.size() - 1);  // as after a broken download
  const vyre::Result<vyre::Program> again = vyre::decode(bytes);
  // end
  return diagnostics_of(again);
}

Diagnostics v087_right() {
  const Program program = tick();
  // page V087 right
  const std::vector<std::byte> bytes = vyre::encode(program);
  const vyre::Result<vyre::Program> again = vyre::decode(bytes);
  // end
  return diagnostics_of(again);
}

Diagnostics v088_wrong() {
  // page V088 wrong
  vyre::ProgramBuilder p("pack");
  p.workgroup(64u);
  auto x = p.in<vyre::u32>("x");
  auto y = p.inout<vyre::u32>("y");
  auto used = p.inout<vyre::u32>("used");
  auto slot = vyre::atomic_add(used[0], 1u);
  y[slot] = x[slot];
  // end
  return built(p);
}

Diagnostics v088_right() {
  // page V088 right
  vyre::ProgramBuilder p("pack");
  p.workgroup(64u);
  auto x = p.in<vyre::u32>("x");
  auto y = p.inout<vyre::u32>("y");
  auto used = p.inout<vyre::u32>("used");
  auto slot = vyre::let("slot", vyre::atomic_add(used[0], 1u));
  y[slot] = x[slot];
  // end
  return built(p);
}

// ---- more planted errors ----

Diagnostics text_too_long() {
  return judge(std::string(text::kMaxTextBytes + 1, ' '), "long.vyre").diagnostics;
}

Diagnostics too_many_statements_in_the_text() {
  std::string text = "program many { workgroup 1; inout n : u32[1];\n";
  for (int i = 0; i < 100'001; ++i) text += "n[0] = 1;\n";
  return judge(text + "}\n", "many.vyre").diagnostics;
}

Diagnostics in_a_comment(std::string_view bytes) {
  return judge("// " + std::string(bytes) + "\n" + std::string(kTick), "tick.vyre").diagnostics;
}
Diagnostics broken_utf8() {
  return in_a_comment("caf\xe9");
}
Diagnostics cut_off_utf8() {
  return in_a_comment("\xe2\x82");
}
Diagnostics control_character() {
  return in_a_comment("\x1b[31mred");
}
Diagnostics delete_character() {
  return in_a_comment("\x7f");
}
Diagnostics zero_byte() {
  return judge(std::string(kTick) + std::string(1, '\0'), "tick.vyre").diagnostics;
}

Diagnostics builder_without_workgroup() {
  ProgramBuilder p("halve");
  p.inout<f32>("x")[gid.x] *= 0.5f;
  return built(p);
}

Diagnostics not_a_program() {
  const std::string image = "\x89PNG\r\n\x1a\n and so on";
  return diagnostics_of(decode(std::as_bytes(std::span(image))));
}

Diagnostics another_version() {
  std::vector<std::byte> bytes = encode(tick());
  // The version follows the mark at the start; no version has this number.
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> altered = bytes;
    altered[i] = std::byte{0xEE};
    const Diagnostics found = diagnostics_of(decode(altered));
    if (ir::is_encoded(altered) && found.list().size() == 1 &&
        found.list().front().code == Code::NotAProgramFile)
      return found;
  }
  return {};
}

Diagnostics bytes_left_over() {
  std::vector<std::byte> bytes = encode(tick());
  bytes.push_back(std::byte{0});
  return diagnostics_of(decode(bytes));
}

Diagnostics value_of_a_finished_builder() {
  ProgramBuilder first("first");
  first.workgroup(64u);
  auto x = first.inout<u32>("x");
  x[gid.x] = 1u;
  (void)first.finish();
  ProgramBuilder second("second");
  second.workgroup(64u);
  x[gid.x] = 2u;
  return built(second);
}

// Programs made by hand may be any nonsense; the checker says so and goes no further.
Diagnostics expression_with_two_parents() {
  Program p = tick();
  for (ir::Stmt& st : p.stmts)
    if (auto* store = std::get_if<ir::Store>(&st)) store->value = store->index;
  return checked(std::move(p));
}

Diagnostics buffer_that_does_not_exist() {
  Program p = tick();
  p.buffers.clear();
  return checked(std::move(p));
}

Diagnostics statement_with_two_parents() {
  Program p = tick();
  for (ir::Stmt& st : p.stmts) {
    auto* region = std::get_if<ir::Region>(&st);
    if (region == nullptr) continue;
    const ir::StmtId store = p.items(region->body).front();
    region->body = p.add_block(std::array{store, store});
  }
  return checked(std::move(p));
}

Diagnostics list_past_its_end() {
  Program p = tick();
  p.body.count += 1000;
  return checked(std::move(p));
}

}  // namespace

bool is_retired(Code code) {
  return code == Code::MathNeedsF32;
}

std::vector<PageSnippet> page_snippets() {
  return {
      {Code::RegionRule, false, v015_wrong},     {Code::InvalidName, false, v027_wrong},
      {Code::InvalidName, true, v027_right},     {Code::NotAProgramFile, true, v086_right},
      {Code::MalformedBytes, false, v087_wrong}, {Code::MalformedBytes, true, v087_right},
      {Code::BuilderMisuse, false, v088_wrong},  {Code::BuilderMisuse, true, v088_right},
  };
}

// Settings come from outside the text.
Diagnostics setting_without_a_name() {
  return text::parse(
             "program p { workgroup 1; const Size : u32 = 4; inout n : u32[1]; n[0] += Size; }",
             "set", {{}, {{"Sise", "8"}}})
      .diagnostics;
}
Diagnostics setting_of_another_type() {
  return text::parse(
             "program p { workgroup 1; const Size : u32 = 4; inout n : u32[1]; n[0] += Size; }",
             "set", {{}, {{"Size", "1.5"}}})
      .diagnostics;
}
Diagnostics setting_of_no_type() {
  return text::parse("program p<type K = u32> { workgroup 1; inout n : K[1]; n[0] += 1 as K; }",
                     "set", {{}, {{"K", "float"}}})
      .diagnostics;
}
// A reader of modules that finds a link out of the folder.
Diagnostics module_behind_a_link() {
  return text::parse("use \"a.vyre\";\nprogram p { workgroup 1; inout n : u32[1]; n[0] += 1; }",
                     "link",
                     {[](std::string_view) -> text::ModuleText {
                        return {text::ModuleText::Status::Outside, ""};
                      },
                      {}})
      .diagnostics;
}

std::vector<Planted> planted_in_code() {
  return {
      {Code::BadSetting, "unknown_name", setting_without_a_name},
      {Code::BadSetting, "another_type", setting_of_another_type},
      {Code::BadSetting, "no_type", setting_of_no_type},
      {Code::ModuleOutside, "behind_a_link", module_behind_a_link},
      {Code::BadCharacter, "broken_utf8", broken_utf8},
      {Code::BadCharacter, "cut_off_utf8", cut_off_utf8},
      {Code::BadCharacter, "control_character", control_character},
      {Code::BadCharacter, "delete_character", delete_character},
      {Code::BadCharacter, "zero_byte", zero_byte},
      {Code::TextTooLong, "text_over_16_mib", text_too_long},
      {Code::TooManyStatements, "in_the_text", too_many_statements_in_the_text},
      {Code::WorkgroupHeader, "builder_without_workgroup", builder_without_workgroup},
      {Code::RegionRule, "store_at_the_top_level", v015_wrong},
      {Code::InvalidName, "builder_name_with_spaces", v027_wrong},
      {Code::NotAProgramFile, "an_image", not_a_program},
      {Code::NotAProgramFile, "another_version", another_version},
      {Code::MalformedBytes, "cut_off", v087_wrong},
      {Code::MalformedBytes, "left_over", bytes_left_over},
      {Code::BuilderMisuse, "atomic_used_twice", v088_wrong},
      {Code::BuilderMisuse, "finished_builder", value_of_a_finished_builder},
      {Code::BuilderMisuse, "expression_with_two_parents", expression_with_two_parents},
      {Code::BuilderMisuse, "buffer_that_does_not_exist", buffer_that_does_not_exist},
      {Code::BuilderMisuse, "statement_with_two_parents", statement_with_two_parents},
      {Code::BuilderMisuse, "list_past_its_end", list_past_its_end},
  };
}

}  // namespace vyre::golden
