// SPDX-License-Identifier: Apache-2.0
#include "plan/dump.hpp"

#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/match.hpp"

namespace vyre::plan {

using namespace ir;

// What the printer writes for these statements, as if they stood at the start of a line.
std::string dump_statements(const Program& p, const StmtList& items, const PrintProgram& print) {
  Program copy = p;
  copy.body = {};
  const std::string empty = print(copy);
  copy.body = copy.add_block(items);
  const std::string full = print(copy);
  // Both end with the brace of the program; an empty line stands after the declarations.
  std::istringstream body(full.substr(empty.size() - 2, full.size() - empty.size()));
  std::string out;
  for (std::string line; std::getline(body, line);)
    if (!line.empty()) out += line.substr(2) + '\n';
  return out;
}

namespace {

std::string indented(const std::string& text, size_t by) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    out += line.empty() ? "\n" : std::string(by, ' ') + line + '\n';
  return out;
}

class TreePrinter {
 public:
  TreePrinter(const Draft& d, const Tree& tree, const PrintProgram& print)
      : d_(d), tree_(tree), print_(print) {}

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
    for (const RawSegment& raw : tree_.segments) found = found || raw.live_out.contains(local);
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

  void segment(uint32_t number, size_t depth) {
    const RawSegment& x = tree_.segments[number];
    line(depth,
         fmt::format("segment {}{}{}{}", number, x.ends_phase ? ", ends a phase" : "",
                     x.ended_out ? ", lanes may be gone" : "",
                     x.open.empty() ? "" : fmt::format(", open {}", fmt::join(x.open, " "))));
    const bool analysed = !(x.live_in == LiveSet());
    if (analysed && !x.items.empty()) line(depth, "  in:" + names(x.live_in));
    StmtList items;
    for (const RawSegment::Item& item : x.items) items.push_back(item.stmt);
    out_ += indented(dump_statements(d_.p, items, print_), depth * 2 + 2);
    if (!analysed) return;
    if (!x.items.empty()) line(depth, "  out:" + names(x.live_out));
    shared(x, depth);
  }
  void shared(const RawSegment& x, size_t depth) {
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
          n.node, [&](const SegmentNode& x) { segment(x.segment, depth); },
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
          },
          [&](const SwapNode& x) {
            const auto& s = std::get<ir::Swap>(d_.p[x.stmt]);
            line(depth,
                 fmt::format("swap {} {}", d_.p[s.a.buffer()].name, d_.p[s.b.buffer()].name));
          });
  }

  const Draft& d_;
  const Tree& tree_;
  const PrintProgram& print_;
  std::string out_;
};

std::string extent(const Hidden& h, const Program& source) {
  std::string text;
  switch (h.extent) {
    case Hidden::Extent::Once: break;
    case Hidden::Extent::PerWorkgroup: text = " per workgroup"; break;
    case Hidden::Extent::PerLane: text = " per lane"; break;
    case Hidden::Extent::LikeBuffer: text = " like " + source[h.like].name; break;
  }
  return text + (h.two_halves ? ", two halves" : "");
}

std::string line_of(const Hidden& h, const Program& source) {
  return fmt::format("{} {}: {} {}{}\n", name_of(h.kind), h.name, h.count, ir::name_of(h.element),
                     extent(h, source));
}

class PlanPrinter {
 public:
  PlanPrinter(const Plan& plan, const Program& source, const PrintProgram& print)
      : plan_(plan), source_(source), print_(print) {}

  std::string run() {
    steps(plan_.steps, 0);
    for (const Hidden& h : plan_.hidden) out_ += line_of(h, source_);
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
          },
          [&](const SwapStep& x) {
            line(depth, fmt::format("swap {} {}", source_[x.a].name, source_[x.b].name));
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
      notes += fmt::format(", at most {} iterations", s.unrolled_iterations);
    line(0, fmt::format("segment {}{}", number, notes));
    for (const SharedUse& use : s.shared)
      line(0, fmt::format("  {}{}{} {}", use.restore ? "restore" : "",
                          use.restore && use.save ? ", " : "", use.save ? "save" : "",
                          s.program.program[use.buffer].name));
    out_ += indented(print_(s.program.program), 2);
  }

  const Plan& plan_;
  const Program& source_;
  const PrintProgram& print_;
  std::string out_;
};

}  // namespace

std::string dump_tree(const Draft& d, const Tree& tree, const PrintProgram& print) {
  return TreePrinter(d, tree, print).run();
}

std::string dump_storage(const Draft& d, const Storage& storage) {
  std::string text;
  for (uint32_t i = 0; i < d.p.locals.size(); ++i) {
    const std::string& name = d.p.locals[i].name;
    if (const auto at = storage.frame.find(i); at != storage.frame.end())
      text += fmt::format("{}: frame {}\n", name, at->second);
    if (const auto at = storage.group_frame.find(i); at != storage.group_frame.end())
      text += fmt::format("{}: workgroup frame {}\n", name, at->second);
    if (const auto at = storage.slot.find(i); at != storage.slot.end())
      text += fmt::format("{}: slot {}\n", name, at->second);
  }
  for (size_t i = 0; i < storage.slots.size(); ++i)
    text += fmt::format(
        "slot {}: {}{}\n", i, ir::name_of(storage.slots[i].type),
        storage.slots[i].elements == 0 ? "" : fmt::format("[{}]", storage.slots[i].elements));
  text += fmt::format("frame words {}, workgroup frame rows {}\n", storage.frame_words,
                      storage.group_rows.size());
  return text;
}

std::string dump_plan(const Plan& plan, const Program& source, const PrintProgram& print) {
  return PlanPrinter(plan, source, print).run();
}

std::string dump(const AfterPass& after, const PrintProgram& print) {
  const Lowering& l = after.lowering;
  if (after.segment != nullptr && l.plan.segments.size() > after.number)
    return print(l.plan.segments[after.number].program.program);
  if (after.segment != nullptr) return dump_statements(l.d.p, after.segment->all(), print);
  if (!l.plan.steps.empty()) return dump_plan(l.plan, l.d.p, print);
  if (l.tree.nodes.empty()) return print(l.d.p);
  std::string text = dump_tree(l.d, l.tree, print);
  if (l.storage) text += dump_storage(l.d, *l.storage);
  if (l.hidden.control.valid())
    for (const Hidden& h : l.d.hidden) text += line_of(h, l.d.p);
  return text;
}

}  // namespace vyre::plan
