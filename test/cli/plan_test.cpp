// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// A loop with a barrier, a fixpoint, shared memory, and a value of each kind across the cuts.
constexpr std::string_view kMixed = R"(program mixed {
  workgroup 4;
  over len(a);
  in     n    : u32[1];
  inout  a    : u32[];
  out    o    : u32[] @count(len(a));
  shared tile : u32[4];

  let i = gid.x;
  let x = a[i];
  tile[lid.x] = x;
  region spread {
    for k in 0 .. n[0] {
      a[i] += k;
      barrier grid;
    }
  }
  region settle {
    fixpoint max 10 over (a) {
      atomic_max(a[(i + 1) % len(a)], 1);
    }
  }
  region finish {
    o[i] = x + i + tile[lid.x];
  }
}
)";

// A uniform branch, a collective and a resume, each a step of its own.
constexpr std::string_view kEvents = R"(program events {
  workgroup 4;
  in    n : u32[1];
  inout a : u32[8];
  inout b : u32[8];
  region main {
    if n[0] == 1 {
      a[gid.x] = 1;
      barrier grid;
      b[7 - gid.x] = a[gid.x];
    }
    all_gather(a, b);
    if b[gid.x] == 9 {
      trap(7, gid.x);
    }
    resume(7);
    a[gid.x] = b[gid.x];
  }
}
)";

class Plan : public testing::Test {
 protected:
  [[nodiscard]] Outcome plan(std::vector<std::string> options,
                             std::string_view program = kMixed) const {
    options.insert(options.begin(), {"plan", folder_.write("program.vyre", program)});
    return run_vyre(std::move(options));
  }
  [[nodiscard]] Json json(std::vector<std::string> options,
                          std::string_view program = kMixed) const {
    options.emplace_back("--json");
    return plan(std::move(options), program).json();
  }
  Folder folder_;
};

// The parts of `text` in this order.
void expect_in_order(const std::string& text, const std::vector<std::string>& parts) {
  size_t at = 0;
  for (const std::string& part : parts) {
    const size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << "no \"" << part << "\" in\n" << text.substr(at);
    at = found + part.size();
  }
}

// Runs of blanks as one, so that tests do not depend on column widths.
std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' || !out.ends_with(' ')) out += c;
  return out;
}

TEST_F(Plan, TextShowsAll) {
  const Outcome outcome = plan({"--in", "a=iota(8)"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  expect_in_order(squeezed(outcome.out),
                  {"program mixed:",
                   "route resident: the device has no barrier over the grid",
                   "6 segments, 3 grid barriers to cut at",
                   "buffers\n",
                   "n in u32 1 read 0 - 0 given",
                   "a inout u32 8 read write 1 0 1 given",
                   "o out u32 8 read write - 1 2 overwritten",
                   "tile shared u32 4 workgroup - - - zeros",
                   "workgroup 4 x 1 x 1 (4 lanes)",
                   "grid 2 x 1 x 1 (2 workgroups, 8 lanes)",
                   "steps\n segment 0\n loop at 13:5\n segment 1\n while `again` (frame word",
                   "segment 2\n",
                   "fixpoint over a at 19:5\n until nothing changes, at most",
                   "segment 0\n lines 9 to 13\n regions main, spread\n ends with the statement",
                   "shared `tile` is saved",
                   "value type level is in why",
                   "i u32 lane recomputed - a function of ids",
                   "x u32 lane saved slot 0 reads `a`, which may have changed since",
                   "again bool grid saved frame word",
                   "the plan decides on it",
                   "ends with a grid barrier at 15:7",
                   "x u32 lane kept slot 0",
                   "ends with the end of the program",
                   "shared `tile` is restored",
                   "hidden buffers\n",
                   "slot_0 slot 1 x u32 lane 4",
                   "saved_tile shared memory 4 x u32 workgroup 16",
                   "scratch\n",
                   "per lane 4 bytes",
                   "per workgroup 16 bytes",
                   "snapshots 0 bytes",
                   "total ",
                   "fixpoints\n",
                   "19:5 a tracked only atomic_max writes it"});
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("program mixed_0")));
}

TEST_F(Plan, SegmentProgramsOnRequest) {
  const std::string text = plan({"--segments"}).out;
  EXPECT_THAT(text, HasSubstr("program mixed_0 {"));
  EXPECT_THAT(text, HasSubstr("program mixed_5 {"));
}

TEST_F(Plan, TerminalsGetBoldHeadings) {
  const std::string path = folder_.write("good.vyre", kMixed);
  EXPECT_THAT(run_vyre({"plan", path, "--color", "always"}).out, HasSubstr("\x1b[1msteps\x1b[0m"));
  EXPECT_EQ(run_vyre({"plan", path, "--color", "always", "-o", folder_.path("out")}).out, "");
  EXPECT_THAT(folder_.read("out"), Not(HasSubstr("\x1b")));
}

TEST_F(Plan, MissingInputsAreNamedNotRefused) {
  const Outcome outcome = plan({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("not known: needs --in a, or --grid"));
  EXPECT_THAT(squeezed(outcome.out), HasSubstr("total ? needs --in a, or --grid"));
  const Json document = json({});
  EXPECT_TRUE(document["grid"].is_null());
  EXPECT_TRUE(document["scratch"]["total"].is_null());
  EXPECT_EQ(document["grid_missing"], "needs --in a, or --grid");
  // The grid says enough without the data.
  const Json sized = json({"--grid", "2"});
  EXPECT_EQ(sized["grid"], Json::array({2, 1, 1}));
  EXPECT_EQ(sized["scratch"]["total"], json({"--in", "a=iota(8)"})["scratch"]["total"]);
}

TEST_F(Plan, ASnapshotIsAsLargeAsItsBuffer) {
  constexpr std::string_view kSnapshot = R"(program snapshot {
  workgroup 4;
  inout a : u32[];
  require len(a) > 1, "two at least";
  region main {
    fixpoint max 10 over (a) {
      atomic_xor(a[gid.x / 2], 0);
    }
  }
}
)";
  EXPECT_THAT(squeezed(plan({"--grid", "2"}, kSnapshot).out), HasSubstr("total ? needs --in a\n"));
  const Json document = json({"--grid", "2", "--in", "a=zeros(8)"}, kSnapshot);
  EXPECT_EQ(document["scratch"]["snapshots"], 32);
  EXPECT_EQ(document["fixpoints"][0]["buffers"][0]["mode"], "snapshot");
  // What is given is still held to the program.
  const Outcome outcome = plan({"--in", "a=[1]"}, kSnapshot);
  EXPECT_EQ(outcome.exit_code, 11);
  EXPECT_THAT(outcome.err, HasSubstr("two at least"));
}

TEST_F(Plan, JsonHasTheFields) {
  const Json document = json({"--in", "a=iota(8)"});
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["command"], "plan");
  EXPECT_EQ(document["ok"], true);
  EXPECT_EQ(document["program"], "mixed");
  EXPECT_EQ(document["route"], "resident");
  EXPECT_EQ(document["grid_barriers"], 3);
  EXPECT_EQ(document["inputs"], Json::array({"n", "a"}));
  EXPECT_EQ(document["outputs"], Json::array({"a", "o"}));
  EXPECT_EQ(document["buffers"][3]["binding"], Json());
  EXPECT_EQ(document["buffers"][1]["begins"], "given");
  EXPECT_EQ(document["buffers"][2]["begins"], "overwritten");
  EXPECT_EQ(json({"--in", "a=iota(8)", "--checked"})["buffers"][2]["begins"], "zeros");
  EXPECT_EQ(json({"--in", "a=iota(8)", "--grid", "1"})["buffers"][2]["begins"], "zeros");
  EXPECT_EQ(json({})["buffers"][2]["begins"], Json());
  EXPECT_EQ(document["workgroup"], Json::array({4, 1, 1}));
  ASSERT_EQ(document["segments"].size(), 6U);
  const Json& first = document["segments"][0];
  EXPECT_EQ(first["regions"], Json::array({"main", "spread"}));
  EXPECT_EQ(first["first_line"], 9);
  EXPECT_EQ(first["shared"][0]["saved"], true);
  EXPECT_EQ(first["live_across"][1]["name"], "x");
  EXPECT_EQ(first["live_across"][1]["how"], "saved");
  EXPECT_EQ(first["live_across"][1]["where"], "slot 0");
  EXPECT_EQ(first["live_across"][1]["line"], 10);
  EXPECT_THAT(first["program"].get<std::string>(), HasSubstr("program mixed_0 {"));
  const Json& loop = document["steps"][1];
  EXPECT_EQ(loop["kind"], "loop");
  EXPECT_EQ(loop["condition"][0]["segment"], 1);
  EXPECT_EQ(loop["body"][0]["kind"], "launch");
  EXPECT_EQ(document["steps"][3]["kind"], "fixpoint");
  EXPECT_EQ(document["steps"][3]["body"][0]["segment"], 4);
  EXPECT_EQ(document["fixpoints"][0]["buffers"][0]["mode"], "tracked");
}

TEST_F(Plan, TheTotalIsTheSumOfTheHiddenBuffers) {
  for (const char* route : {"native", "persistent", "resident", "host"}) {
    const Json document = json({"--in", "a=iota(8)", "--route", route});
    EXPECT_EQ(document["route"], route);
    uint64_t sum = 0;
    for (const Json& row : document["hidden"]) {
      const uint64_t times = row["per"] == "lane" ? 8 : row["per"] == "workgroup" ? 2 : 1;
      sum += times * row["bytes"].get<uint64_t>();
    }
    EXPECT_EQ(document["scratch"]["total"], sum) << route;
  }
}

TEST_F(Plan, TheRouteIsChosenFromTheDevice) {
  const auto route = [&](std::vector<std::string> options) {
    const Json document = json(std::move(options));
    return document["route"].get<std::string>() + ": " + document["why"].get<std::string>();
  };
  EXPECT_THAT(route({"--grid", "2"}), HasSubstr("resident: "));
  const auto on = [&](const char* device) { return route({"--grid", "2", "--device", device}); };
  EXPECT_THAT(on("reference"), HasSubstr("native: the device runs the source as it is"));
  EXPECT_THAT(on("reference:1"),
              HasSubstr("native: all 2 workgroups fit on the device at once (any number can)"));
  EXPECT_THAT(on("reference:3"), HasSubstr("resident: "));
  EXPECT_THAT(on("reference:5"), HasSubstr("host: "));
  EXPECT_THAT(route({"--grid", "3", "--device", "reference:2", "--resident", "2"}),
              HasSubstr("persistent: 3 workgroups, but 2"));
  EXPECT_THAT(route({"--device", "reference:2", "--checked"}), HasSubstr("resident: checked mode"));
  EXPECT_THAT(route({"--device", "reference", "--route", "host"}), HasSubstr("host: asked for"));
  EXPECT_THAT(route({"--grid", "2", "--resident", "2"}), HasSubstr("native: all 2 workgroups fit"));
  EXPECT_THAT(route({"--grid", "3", "--resident", "2"}),
              HasSubstr("persistent: 3 workgroups, but 2"));
  EXPECT_THAT(route({"--resident", "2"}), HasSubstr("persistent: takes any grid"));
  EXPECT_THAT(route({"--resident", "2", "--checked"}), HasSubstr("resident: checked mode"));
  EXPECT_THAT(route({"--route", "host"}), HasSubstr("host: asked for with --route"));
  EXPECT_THAT(plan({"--route", "native"}).out,
              HasSubstr("1 segment, 3 grid barriers inside the launches"));
}

TEST_F(Plan, BranchesCollectivesAndResumes) {
  const Outcome outcome = plan({}, kEvents);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_in_order(
      squeezed(outcome.out),
      {"steps\n", "if `taken` (frame word", "segment", "all_gather(a, b) at 12:5",
       "resume of trap 7 by the host at 16:5", "resumes\n tag 7 at 16:5", "traps\n tag 7 at 14:7"});
  const Json document = json({}, kEvents);
  EXPECT_EQ(document["resumes"][0]["tag"], 7);
}

TEST_F(Plan, WithoutAGridBarrierThereIsOneLaunch) {
  const Outcome outcome = plan({}, kGood);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no grid barrier: one launch of the program itself"));
  EXPECT_THAT(outcome.out, HasSubstr("not known: needs --in a, or --grid"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("scratch")));
  for (const char* as : {"dot", "svg", "html"})
    EXPECT_EQ(plan({"--as", as, "--route", "host"}, kGood).exit_code, 0);
  EXPECT_EQ(json({}, kGood)["whole"], true);
}

TEST_F(Plan, AnEmptyGridRunsNothing) {
  const Outcome outcome = plan({"--grid", "0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("empty: nothing runs"));
}

// ---- forms

// Every tag is closed by its own, apart from those that HTML leaves open; what is not a tag holds
// no bare < or >. The first thing wrong, or nothing.
std::string unbalanced(std::string_view text) {
  constexpr std::array<std::string_view, 3> kVoid = {"meta", "br", "!DOCTYPE"};
  std::vector<std::string> open;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '&' && text.substr(at, 10).find(';') == std::string_view::npos)
      return "bare & at " + std::string(text.substr(at, 30));
    if (text[at] == '>' && (open.empty() || open.back() != "style"))
      return "bare > at " + std::string(text.substr(at, 30));
    if (text[at] != '<') continue;
    const size_t end = text.find('>', at);
    if (end == std::string_view::npos) return "an open tag";
    const std::string_view tag = text.substr(at + 1, end - at - 1);
    const std::string name(tag.substr(tag.starts_with('/') ? 1 : 0,
                                      tag.find_first_of(" /", 1) - (tag.starts_with('/') ? 1 : 0)));
    if (std::ranges::count(tag, '"') % 2 != 0) return "an odd quote in " + std::string(tag);
    at = end;
    if (tag.ends_with('/') || std::ranges::find(kVoid, name) != kVoid.end()) continue;
    if (!tag.starts_with('/')) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return fmt::format("</{}> closes {}", name, open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

TEST_F(Plan, SvgIsWellFormed) {
  for (const std::string_view program : {kMixed, kEvents, kGood}) {
    const Outcome outcome = plan({"--as", "svg"}, program);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    EXPECT_THAT(outcome.out, HasSubstr("viewBox=\"0 0 "));
    EXPECT_THAT(outcome.out, HasSubstr("prefers-color-scheme: dark"));
    EXPECT_THAT(outcome.out, HasSubstr(">segment 0</text>"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("<script")));
    EXPECT_THAT(outcome.out, Not(HasSubstr("href")));
    EXPECT_EQ(unbalanced(outcome.out), "");
  }
}

TEST_F(Plan, HtmlIsWellFormed) {
  for (const std::string_view program : {kMixed, kEvents, kGood}) {
    const Outcome outcome = plan({"--as", "html"}, program);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(unbalanced(outcome.out), "");
    EXPECT_THAT(outcome.out, HasSubstr("<a href=\"#segment-0\">"));
    EXPECT_THAT(outcome.out, HasSubstr("<details id=\"segment-0\""));
    EXPECT_THAT(outcome.out, HasSubstr("<span class=\"n\">1</span>"));
    // Nothing from elsewhere, nothing that runs; the namespace is a name, not a link.
    EXPECT_THAT(outcome.out, Not(HasSubstr("src=")));
    EXPECT_THAT(outcome.out, Not(HasSubstr("<link")));
    EXPECT_THAT(outcome.out, Not(HasSubstr("<script")));
    EXPECT_THAT(outcome.out, Not(HasSubstr("url(")));
  }
  EXPECT_THAT(plan({"--as", "html"}).out,
              HasSubstr("<span id=\"line-15\" class=\"barrier\"><span class=\"n\">15</span>"));
}

// Braces pair up and quotes close on their line.
TEST_F(Plan, DotIsWellFormed) {
  for (const std::string_view program : {kMixed, kEvents, kGood}) {
    const Outcome outcome = plan({"--as", "dot"}, program);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with("digraph \""));
    int depth = 0;
    std::istringstream stream(outcome.out);
    for (std::string line; std::getline(stream, line);) {
      bool quoted = false;
      for (size_t i = 0; i < line.size(); ++i) {
        if (quoted && line[i] == '\\')
          ++i;
        else if (line[i] == '"')
          quoted = !quoted;
        else if (!quoted && (line[i] == '{' || line[i] == '}'))
          depth += line[i] == '{' ? 1 : -1;
      }
      EXPECT_FALSE(quoted) << line;
      EXPECT_GE(depth, 0) << line;
    }
    EXPECT_EQ(depth, 0);
  }
  EXPECT_THAT(plan({"--as", "dot"}).out, HasSubstr("subgraph cluster_1 {"));
}

TEST_F(Plan, HostileTextIsEscaped) {
  std::string program(kMixed);
  program.insert(0, "// <script>alert(\"&\")</script>\n");
  const std::string path = folder_.write("a & <b> \"c\".vyre", program);
  const std::string page = run_vyre({"plan", path, "--as", "html"}).out;
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_THAT(page, HasSubstr("a &amp; &lt;b&gt; &quot;c&quot;.vyre"));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  const std::string escape = folder_.write("e\x1b[31m.vyre", kMixed);
  for (const char* as : {"text", "dot", "svg", "html"})
    EXPECT_THAT(run_vyre({"plan", escape, "--as", as}).out, Not(HasSubstr("\x1b"))) << as;
}

TEST_F(Plan, BytesHaveACanonicalSource) {
  const std::string path = folder_.write("mixed.vyre", kMixed);
  const std::string bytes =
      folder_.write("mixed.bytes", run_vyre({"print", path, "--as", "bytes"}).out);
  const Outcome outcome = run_vyre({"plan", bytes, "--as", "html"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("program mixed {"));
  EXPECT_EQ(unbalanced(outcome.out), "");
}

TEST_F(Plan, ToAFile) {
  const std::string path = folder_.write("mixed.vyre", kMixed);
  const Outcome outcome = run_vyre({"plan", path, "--as", "svg", "-o", folder_.path("mixed.svg")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const std::string svg = run_vyre({"plan", path, "--as", "svg"}).out;
  EXPECT_EQ(folder_.read("mixed.svg"), svg);
  const Json document = run_vyre({"plan", path, "--as", "svg", "--json"}).json();
  EXPECT_EQ(document["content"], svg);
  const Outcome over = run_vyre({"plan", path, "-o", path});
  EXPECT_EQ(over.exit_code, 2);
  EXPECT_EQ(folder_.read("mixed.vyre"), kMixed);
}

// ---- after passes

TEST_F(Plan, DumpAfterOnePass) {
  const Outcome outcome = plan({"--dump-after", "normalise", "--route", "resident"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("// After normalise: "));
  EXPECT_THAT(outcome.out, HasSubstr("let again : bool = next_k < end_k"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("// After cut")));
  const Outcome segments = plan({"--dump-after", "extract", "--route", "resident"});
  EXPECT_THAT(segments.out, HasSubstr("// After extract, segment 0: "));
  EXPECT_THAT(segments.out, HasSubstr("program mixed_1 {"));
}

TEST_F(Plan, DumpAfterAllPasses) {
  const auto runs = [&](const char* route) {
    std::vector<std::string> names;
    const Json document = json({"--dump-after", "all", "--route", route});
    for (const Json& dump : document["dumps"])
      if (dump["segment"].is_null() || dump["segment"] == 0) names.push_back(dump["pass"]);
    return names;
  };
  using testing::ElementsAre;
  EXPECT_THAT(runs("host"),
              ElementsAre("inline-calls", "lower-prints", "lower-axes", "guard-zero-passes",
                          "find-fixpoint-modes", "declare-control", "track-writes", "normalise",
                          "cut", "find-live-values", "assign-storage", "declare-hidden",
                          "save-and-restore", "number-lanes", "extract", "make-steps"));
  EXPECT_THAT(
      runs("persistent"),
      ElementsAre("inline-calls", "lower-prints", "lower-axes", "guard-zero-passes",
                  "find-fixpoint-modes", "declare-control", "declare-votes", "separate-effects",
                  "track-writes", "normalise", "cut", "find-live-values", "assign-storage",
                  "declare-hidden", "save-and-restore", "lower-fixpoints", "lower-ended-lanes",
                  "number-lanes", "make-persistent", "extract", "make-steps"));
  const Json native = json({"--dump-after", "all", "--route", "native"});
  for (const Json& dump : native["dumps"]) {
    EXPECT_NE(dump["text"], "") << dump["pass"];
    EXPECT_NE(dump["reason"], "") << dump["pass"];
  }
}

TEST_F(Plan, DumpAfterAPassThatDoesNotRun) {
  EXPECT_EQ(plan({"--dump-after", "make-persistent", "--route", "host"}).out,
            "// make-persistent does not run for the route host.\n");
  const Outcome whole =
      plan({"--dump-after", "all"}, "program p { workgroup 1; out a : u32[1]; a[0] = 1; }");
  EXPECT_EQ(whole.out, "// No pass runs: the program is launched as it is.\n");
  EXPECT_EQ(json({"--dump-after", "make-persistent", "--route", "host"})["dumps"], Json::array());
}

// ---- errors

TEST_F(Plan, Errors) {
  struct Case {
    std::vector<std::string> options;
    int exit_code;
    const char* message;
  };
  const std::vector<Case> cases = {
      {{"--route", "fast"}, 2, "'fast' is none of native, persistent, resident, host"},
      {{"--resident", "99999999999999999999999"}, 2, "1 to 4294967295"},
      {{"--as", "pdf"}, 2, "'pdf' is none of text, dot, svg, html"},
      {{"--device", "cuda:0"}, 4, "there is no device `cuda:0`"},
      {{"--resident", "many"}, 2, "--resident takes a whole number, not 'many'"},
      {{"--resident", "-1"}, 2, "workgroups fit on a device, 1 to 4294967295, not -1"},
      {{"--resident", "0"}, 2, "workgroups fit on a device, 1 to 4294967295, not 0"},
      {{"--resident", "4", "--device", "reference:3"}, 2, "device `reference:3` has none"},
      {{"--route", "native", "--checked"}, 4, "checked mode"},
      {{"--segments", "--as", "svg"}, 2, "--segments does not go with --as svg"},
      {{"--dump-after", "folding"}, 2, "there is no pass 'folding'"},
      {{"--dump-after", "folding"}, 2, "Fix: --dump-after takes one of inline-calls, "},
      {{"--dump-after", "cut", "--segments"}, 2, "--dump-after does not go with --segments"},
      {{"--dump-after", "cut", "--as", "svg"}, 2, "--dump-after does not go with --as svg"},
      {{"--grid", "0x"}, 2, "--grid takes one to three whole numbers"},
      {{"--workgroup", "8"}, 11, "cannot be changed, because of the shared buffer `tile`"},
      {{"--in", "b=[1]"}, 11, "has no input named `b`"},
      {{"--in", "n=[1,2]"}, 11, "n"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = plan(c.options);
    EXPECT_EQ(outcome.exit_code, c.exit_code) << c.options[1] << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(c.message));
    EXPECT_EQ(outcome.out, "");
    Json document = json(c.options);
    EXPECT_EQ(document["ok"], false);
    EXPECT_EQ(document["error"]["exit_code"], c.exit_code);
  }
}

TEST_F(Plan, AnInvalidProgramHasNoPlan) {
  const Outcome outcome = plan({}, kBad);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("V020"));
  EXPECT_EQ(outcome.out, "");
}

}  // namespace
}  // namespace vyre::test
