// SPDX-License-Identifier: Apache-2.0
#include "plan/printed_test.hpp"

#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/match.hpp"
#include "vyre/text/text.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

std::string indented(const std::string& text, size_t by) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    out += line.empty() ? "\n" : std::string(by, ' ') + line + '\n';
  return out;
}

// What the printer writes for these statements, as if they stood at the start of a line.
std::string print_statements(const Program& p, const StmtList& items) {
  Program copy = p;
  copy.body = {};
  const std::string empty = text::print(copy);
  copy.body = copy.add_block(items);
  const std::string full = text::print(copy);
  // Both end with the brace of the program; an empty line stands after the declarations.
  std::istringstream body(full.substr(empty.size() - 2, full.size() - empty.size()));
  std::string out;
  for (std::string line; std::getline(body, line);)
    if (!line.empty()) out += line.substr(2) + '\n';
  return out;
}

// The passes that come before, as make_plan() runs them.
struct Prepared {
  Prepared(std::string_view source, Scope scope) : draft(draft_of(source)), cuts{scope, false} {
    Draft& d = *draft;
    inline_calls(d, {});
    if (scope == Scope::Grid) find_fixpoint_modes(d, false);
    Hidden words;
    words.name = "control";
    const BufferId control = d.add_hidden(std::move(words));
    const auto mark = [&](uint32_t row) {
      return d.atomic(AtomicOp::Store, Memory::of(control),
                      d.number(ControlWords::kFirstChanged + row), d.number(1));
    };
    if (scope == Scope::Grid) track_writes(d, mark);
  }
  std::unique_ptr<Draft> draft;
  CutPoints cuts;
};

class TreePrinter {
 public:
  TreePrinter(const Draft& d, const Tree& tree) : d_(d), tree_(tree) {}

  std::string run() {
    nodes(tree_.nodes, 0);
    std::string recomputed;
    for (uint32_t i = 0; i < tree_.recomputed.size(); ++i)
      if (tree_.recomputed[i] && lives(i)) recomputed += ' ' + d_.p.locals[i].name;
    if (!recomputed.empty()) line(0, "recomputed:" + recomputed);
    for (const auto& [tag, set] : tree_.live_at_resume)
      line(0, fmt::format("live after resume({}):{}", d_.source_tag(tag), names(set)));
    for (const auto& [trap, set] : tree_.park)
      line(0, fmt::format("parked at trap({}) of line {}:{}",
                          d_.source_tag(std::get<Trap>(d_.p[StmtId{trap}]).tag),
                          d_.p.position_of(StmtId{trap}).line, names(set)));
    return out_;
  }

 private:
  void line(size_t depth, const std::string& text) {
    out_ += std::string(depth * 2, ' ') + text + '\n';
  }
  [[nodiscard]] bool lives(uint32_t local) const {
    bool found = false;
    for (const Piece& piece : tree_.pieces) found = found || piece.live_out.contains(local);
    return found;
  }
  [[nodiscard]] std::string names(const LiveSet& set) const {
    std::string text;
    const auto locals = static_cast<uint32_t>(d_.p.locals.size());
    set.for_each([&](uint32_t i) {
      text += ' ' + (i < locals ? d_.p.locals[i].name : d_.p.buffers[i - locals].name);
    });
    return text;
  }
  [[nodiscard]] std::string name(LocalId id) const { return d_.p[id].name; }

  void piece(uint32_t number, size_t depth) {
    const Piece& x = tree_.pieces[number];
    line(depth,
         fmt::format("piece {}{}{}{}", number, x.ends_phase ? ", ends a phase" : "",
                     x.ended_out ? ", lanes may be gone" : "",
                     x.open.empty() ? "" : fmt::format(", open {}", fmt::join(x.open, " "))));
    if (!x.items.empty()) line(depth, "  in:" + names(x.live_in));
    StmtList items;
    for (const Piece::Item& item : x.items) items.push_back(item.stmt);
    out_ += indented(print_statements(d_.p, items), depth * 2 + 2);
    if (!x.items.empty()) line(depth, "  out:" + names(x.live_out));
    shared(x, depth);
  }
  void shared(const Piece& x, size_t depth) {
    std::string restore;
    std::string save;
    const auto locals = static_cast<uint32_t>(d_.p.locals.size());
    for (uint32_t b = 0; b < d_.p.buffers.size(); ++b) {
      const uint32_t n = locals + b;
      if (x.maybe_in.contains(n) && (x.live_in.contains(n) || x.live_out.contains(n)))
        restore += ' ' + d_.p.buffers[b].name;
      if (x.maybe_out.contains(n) && x.live_out.contains(n)) save += ' ' + d_.p.buffers[b].name;
    }
    if (!restore.empty()) line(depth, "  restore:" + restore);
    if (!save.empty()) line(depth, "  save:" + save);
  }

  void nodes(const Nodes& list, size_t depth) {
    for (const Node& n : list)
      match(
          n.node, [&](const PieceNode& x) { piece(x.piece, depth); },
          [&](const BranchNode& x) {
            line(depth, "branch " + name(x.word));
            nodes(x.then_nodes, depth + 1);
            if (x.else_nodes.empty()) return;
            line(depth, "else");
            nodes(x.else_nodes, depth + 1);
          },
          [&](const LoopNode& x) {
            line(depth, "loop");
            nodes(x.condition, depth + 1);
            line(depth, "while " + name(x.word));
            nodes(x.body, depth + 1);
          },
          [&](const FixpointNode& x) {
            line(depth, x.most ? fmt::format("fixpoint {} at most {} times", x.row, *x.most)
                               : fmt::format("fixpoint {} at most {}", x.row, name(x.word)));
            nodes(x.body, depth + 1);
          },
          [&](const ResumeNode& x) { line(depth, fmt::format("resume {}", d_.source_tag(x.tag))); },
          [&](const CollectiveNode&) { line(depth, "collective"); },
          [&](const CopyNode& x) {
            line(depth, fmt::format("copy {} {} {}", name(x.dst), name(x.src), name(x.count)));
          });
  }

  const Draft& d_;
  const Tree& tree_;
  std::string out_;
};

class PlanPrinter {
 public:
  PlanPrinter(const Plan& plan, const Program& source) : plan_(plan), source_(source) {}

  std::string run() {
    steps(plan_.steps, 0);
    for (const Hidden& h : plan_.hidden)
      line(0, fmt::format("{} {}: {} {}{}", name_of(h.kind), h.name, h.count,
                          ir::name_of(h.element), extent(h)));
    for (size_t i = 0; i < plan_.sites.size(); ++i) {
      const Site& site = plan_.sites[i];
      line(0, fmt::format(
                  "site {}: {} at line {}", i,
                  site.zero_passes ? std::string("no passes") : fmt::format("trap({})", site.tag),
                  site.at.line));
    }
    for (size_t i = 0; i < plan_.segments.size(); ++i) segment(i);
    return out_;
  }

 private:
  void line(size_t depth, const std::string& text) {
    out_ += std::string(depth * 2, ' ') + text + '\n';
  }
  [[nodiscard]] std::string extent(const Hidden& h) const {
    std::string text;
    switch (h.extent) {
      case Hidden::Extent::Once: break;
      case Hidden::Extent::PerWorkgroup: text = " per workgroup"; break;
      case Hidden::Extent::PerLane: text = " per lane"; break;
      case Hidden::Extent::LikeBuffer: text = " like " + source_[h.like].name; break;
    }
    return text + (h.two_halves ? ", two halves" : "");
  }

  void steps(const Steps& list, size_t depth) {
    for (const Step& step : list)
      match(
          step.node, [&](const LaunchStep& x) { line(depth, fmt::format("launch {}", x.segment)); },
          [&](const PhaseStep&) { line(depth, "phase"); },
          [&](const BranchStep& x) {
            line(depth, fmt::format("branch on word {}", x.word));
            steps(x.then_steps, depth + 1);
            if (x.else_steps.empty()) return;
            line(depth, "else");
            steps(x.else_steps, depth + 1);
          },
          [&](const LoopStep& x) {
            line(depth, "loop");
            steps(x.condition, depth + 1);
            line(depth, fmt::format("while word {}", x.word));
            steps(x.body, depth + 1);
          },
          [&](const FixpointStep& x) {
            line(depth, x.most ? fmt::format("fixpoint {} at most {} times", x.fixpoint, *x.most)
                               : fmt::format("fixpoint {} at most word {}", x.fixpoint, x.word));
            steps(x.body, depth + 1);
          },
          [&](const ResumeStep& x) {
            line(depth, fmt::format("resume {} of tag {}", x.resume, plan_.resumes[x.resume].tag));
          },
          [&](const CollectiveStep& x) {
            line(depth, fmt::format("collective {}{}", ir::name_of(x.op),
                                    x.unconditional ? ", unconditional" : ""));
          },
          [&](const CopyStep& x) {
            line(depth, fmt::format("copy {} at word {} from {} at word {}, count word {}",
                                    source_[x.dst].name, x.dst_word, source_[x.src].name,
                                    x.src_word, x.count_word));
          });
  }

  void segment(size_t number) {
    const Segment& s = plan_.segments[number];
    std::string notes;
    if (s.ends_phase) notes += ", ends a phase";
    if (s.swaps_frame) notes += ", swaps the frame";
    if (s.swaps_group_frame) notes += ", swaps the workgroup frame";
    if (s.carries_group_frame) notes += ", carries it";
    if (s.reports_live) notes += ", reports live lanes";
    if (s.live.valid()) notes += ", live lanes in " + s.program.program[s.live].name;
    if (s.workgroups_per_block != 0)
      notes += fmt::format(", {} workgroups side by side", s.workgroups_per_block);
    if (s.unrolled_iterations != 0)
      notes += fmt::format(", at most {} turns", s.unrolled_iterations);
    line(0, fmt::format("segment {}{}", number, notes));
    for (const SharedUse& use : s.shared)
      line(0, fmt::format("  {}{}{} {}", use.restore ? "restore" : "",
                          use.restore && use.save ? ", " : "", use.save ? "save" : "",
                          s.program.program[use.buffer].name));
    out_ += indented(text::print(s.program.program), 2);
  }

  const Plan& plan_;
  const Program& source_;
  std::string out_;
};

}  // namespace

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

std::unique_ptr<Draft> draft_of(std::string_view source) {
  return std::make_unique<Draft>(checked_text(source));
}

std::string body_of(const Draft& d) {
  const auto items = d.p.items(d.p.body);
  return '\n' + print_statements(d.p, StmtList(items.begin(), items.end()));
}

std::string inlined(std::string_view source, bool effects) {
  const auto d = draft_of(source);
  inline_calls(*d, {.effects = effects});
  return body_of(*d);
}

std::string fixpoint_modes(std::string_view source, bool checked) {
  const auto d = draft_of(source);
  inline_calls(*d, {.effects = true});
  find_fixpoint_modes(*d, checked);
  std::vector<std::string> lines;
  for (const FixpointInfo& info : d->fixpoints)
    for (const FixpointBuffer& b : info.buffers)
      lines.push_back(fmt::format("{}: {}: {}", d->p[b.buffer].name, name_of(b.mode), b.why));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string tracked(std::string_view source) {
  return body_of(*Prepared(source, Scope::Grid).draft);
}

std::string normalised(std::string_view source, Scope scope) {
  const Prepared x(source, scope);
  normalise(*x.draft, x.cuts);
  return body_of(*x.draft);
}

std::string tree_of(std::string_view source, Scope scope) {
  const Prepared x(source, scope);
  normalise(*x.draft, x.cuts);
  Tree tree = cut(*x.draft, x.cuts);
  analyse(*x.draft, tree, false);
  return '\n' + TreePrinter(*x.draft, tree).run();
}

std::string homes_of(std::string_view source, Scope scope) {
  const Prepared x(source, scope);
  const Draft& d = *x.draft;
  normalise(*x.draft, x.cuts);
  Tree tree = cut(*x.draft, x.cuts);
  analyse(*x.draft, tree, false);
  const Homes homes = assign_homes(d, tree, x.cuts);
  std::string text = "\n";
  for (uint32_t i = 0; i < d.p.locals.size(); ++i) {
    const std::string& name = d.p.locals[i].name;
    if (const auto at = homes.frame.find(i); at != homes.frame.end())
      text += fmt::format("{}: frame {}\n", name, at->second);
    if (const auto at = homes.group_frame.find(i); at != homes.group_frame.end())
      text += fmt::format("{}: workgroup frame {}\n", name, at->second);
    if (const auto at = homes.slot.find(i); at != homes.slot.end())
      text += fmt::format("{}: slot {}\n", name, at->second);
  }
  for (size_t i = 0; i < homes.slots.size(); ++i)
    text += fmt::format(
        "slot {}: {}{}\n", i, ir::name_of(homes.slots[i].type),
        homes.slots[i].elements == 0 ? "" : fmt::format("[{}]", homes.slots[i].elements));
  text += fmt::format("frame words {}, workgroup frame rows {}\n", homes.frame_words,
                      homes.group_rows.size());
  return text;
}

std::string print_plan(const Plan& plan, const Program& source) {
  return PlanPrinter(plan, source).run();
}

std::string planned(std::string_view source, const PlanOptions& options) {
  const check::CheckedProgram checked = checked_text(source);
  const auto plan = make_plan(checked, options);
  if (!plan) return to_string(plan.error());
  return '\n' + print_plan(*plan, checked.program);
}

std::string workgroup_phases(std::string_view source) {
  const check::CheckedProgram checked = checked_text(source);
  return '\n' + print_plan(*cut_workgroup(checked), checked.program);
}

}  // namespace vyre::plan
