// SPDX-License-Identifier: Apache-2.0
#include "codegen/c/segment.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "base/match.hpp"
#include "codegen/c/functions.hpp"
#include "codegen/c/words.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen::c {

using namespace ir;
using plan::ControlWords;
using plan::Hidden;

namespace {

// Lanes of a workgroup wait for each other somewhere.
bool has_workgroup_barrier(const Program& p) {
  const auto synchronises = [](const auto& node) {
    return properties_of(node).synchronises == Scope::Workgroup;
  };
  return std::ranges::any_of(p.stmts, synchronises) || std::ranges::any_of(p.exprs, synchronises);
}

class SegmentPrinter {
 public:
  SegmentPrinter(const plan::Segment& segment, uint32_t number, const Options& options,
                 Library& library, Sites& sites)
      : segment_(segment),
        c_(segment.program),
        p_(c_.program),
        number_(number),
        options_(options),
        library_(library),
        sites_(sites) {}

  Result<SegmentText> print() {
    if (has_workgroup_barrier(p_)) {
      VYRE_TRY_ASSIGN(auto cut, plan::cut_workgroup(c_, options_.checked));
      cut_ = std::move(cut);
    }
    lay_out();
    title();
    if (cut_)
      print_cut();
    else
      print_whole();
    return SegmentText{.code = out_.take(), .scratch_bytes = scratch_};
  }

 private:
  struct Row {
    uint64_t at = 0;
    uint64_t other = 0;  // the second half
    uint64_t bytes = 0;
    uint64_t count = 0;
  };

  [[nodiscard]] Unit unit(const check::CheckedProgram& program, const Facts& facts,
                          std::string name) {
    return {.c = program,
            .facts = facts,
            .name = std::move(name),
            .library = library_,
            .sites = sites_,
            .subgroup_size = options_.subgroup_size,
            .checked = options_.checked};
  }
  [[nodiscard]] uint64_t lanes() const {
    return uint64_t{c_.workgroup[0]} * c_.workgroup[1] * c_.workgroup[2];
  }

  void title() {
    std::string regions;
    for (const std::string& region : segment_.regions)
      regions += (regions.empty() ? "" : ", ") + region;
    out_.line("// ---- segment {}{}{}, {} lanes in a workgroup", number_,
              regions.empty() ? "" : ": ", regions, lanes());
    out_.blank();
  }

  // ---- scratch memory: what a workgroup shares, and what lives across its barriers

  static constexpr uint64_t kLine = 64;
  void lay_out() {
    const auto take = [&](uint64_t bytes, uint64_t alignment = kLine) {
      const uint64_t at = (scratch_ + alignment - 1) / alignment * alignment;
      scratch_ = at + (bytes + kLine - 1) / kLine * kLine;
      return at;
    };
    shared_at_.resize(p_.buffers.size());
    for (uint32_t i = 0; i < p_.buffers.size(); ++i)
      if (is_shared(i))
        shared_at_[i] = take(shared_bytes(i), std::max<uint64_t>(c_.buffers[i].align, kLine));
    if (!cut_) return;
    for (const Hidden& h : cut_->hidden) {
      Row row;
      row.count = h.extent == Hidden::Extent::PerLane ? h.count * lanes() : h.count;
      row.bytes = row.count * bytes_of(h.element);
      row.at = take(row.bytes);
      if (h.two_halves) row.other = take(row.bytes);
      rows_.push_back(row);
    }
  }
  [[nodiscard]] bool is_shared(uint32_t buffer) const {
    return p_.buffers[buffer].kind == BufferKind::Shared;
  }
  [[nodiscard]] uint64_t shared_bytes(uint32_t buffer) const {
    return uint64_t{*c_.buffers[buffer].constant_count} * bytes_of(p_.buffers[buffer].element);
  }

  // Members of a struct that has the buffers of the segment.
  void fill_buffers() {
    for (uint32_t i = 0; i < p_.buffers.size(); ++i) {
      const std::string name = buffer_name(p_, BufferId{i});
      const std::string length = length_name(p_, BufferId{i});
      if (is_shared(i))
        out_.line(".{} = ({} *)(worker->scratch + {}), .{} = {},", name,
                  element_type(p_.buffers[i].element), shared_at_[i], length,
                  *c_.buffers[i].constant_count);
      else
        out_.line(".{} = args->bindings[{}].address, .{} = args->bindings[{}].length,", name, i,
                  length, i);
    }
  }

  void open_entry() {
    out_.open(
        "void vyre_entry_{}(const struct vyre_args *args, struct vyre_worker *worker, "
        "uint64_t first_group,",
        number_);
    out_.line("             uint64_t count) {{");
    out_.line("struct vyre_group group = vyre_start(args, worker), *const g = &group;");
  }
  void open_workgroup() {
    out_.open("for (uint64_t n = first_group; n < first_group + count; ++n) {{");
    out_.line("vyre_enter_workgroup(g, n, {});", number(lanes()));
    if (options_.poison && scratch_ != 0)
      out_.line("memset(worker->scratch, {}, {});", static_cast<uint8_t>(*options_.poison),
                scratch_);
    for (uint32_t i = 0; i < p_.buffers.size(); ++i) {
      if (!is_shared(i)) continue;
      const auto restored = std::ranges::find_if(
          segment_.shared, [&](const auto& use) { return use.buffer.value == i && use.restore; });
      const std::string to = fmt::format("worker->scratch + {}", shared_at_[i]);
      if (restored != segment_.shared.end())
        out_.line("memcpy({}, {}, {});", to, kept(i), shared_bytes(i));
      else
        out_.line("memset({}, 0, {});", to, shared_bytes(i));
    }
  }
  void close_workgroup() {
    for (const plan::SharedUse& use : segment_.shared)
      if (use.save)
        out_.line("memcpy({}, worker->scratch + {}, {});", kept(use.buffer.value),
                  shared_at_[use.buffer.index()], shared_bytes(use.buffer.value));
    out_.line("if (vyre_tick(g, {:#x}u, {})) return;", kNoSite, lanes());
    out_.close();
    out_.close();
    out_.blank();
  }
  // Where the workgroup's shared memory is between launches.
  [[nodiscard]] std::string kept(uint32_t buffer) const {
    return fmt::format("(unsigned char *)args->bindings[{}].address + n * {}", buffer,
                       shared_bytes(buffer));
  }

  // ---- a segment without barriers

  void print_whole() {
    const Facts facts(c_, options_.checked);
    const Unit whole = unit(c_, facts, fmt::format("{}", number_));
    print_memory(whole, out_);
    print_functions(whole, out_);
    open_entry();
    out_.open("const struct buffers_{} buffers = {{", whole.name);
    fill_buffers();
    if (p_.buffers.empty()) out_.line("0");
    out_.close("};");
    open_workgroup();
    print_lane_loop(whole, out_);
    close_workgroup();
  }

  // ---- a segment with barriers: phases, and the steps between them

  [[nodiscard]] std::string hidden_name(uint32_t row) const {
    return identifier(cut_->hidden[row].name, 'h', row);
  }
  [[nodiscard]] std::string hidden(uint32_t row, bool out) const {
    const std::string name = "s->" + hidden_name(row);
    if (!cut_->hidden[row].two_halves) return name;
    return fmt::format("{}[s->half{}]", name, out ? " ^ 1" : "");
  }
  [[nodiscard]] std::string control(uint32_t word) const {
    return fmt::format("{}[{}]", hidden(*cut_->find_hidden(Hidden::Kind::Control), false), word);
  }
  [[nodiscard]] std::string frame_word(uint32_t word) const {
    return fmt::format("{}[{}]", hidden(*cut_->find_hidden(Hidden::Kind::Frame), false), word);
  }

  void print_cut() {
    for (uint32_t i = 0; i < cut_->segments.size(); ++i) {
      const check::CheckedProgram& phase = cut_->segments[i].program;
      facts_.emplace_back(phase, options_.checked);
      const Unit of = unit(phase, facts_.back(), fmt::format("{}_{}", number_, i));
      print_memory(of, out_);
      print_functions(of, out_);
    }
    print_state();
    out_.line("// The phases of a workgroup, in their order.");
    out_.open("static void steps_{0}(struct vyre_group *g, struct state_{0} *s) {{", number_);
    steps(cut_->steps);
    out_.close();
    out_.blank();
    open_entry();
    print_start_of_state();
    open_workgroup();
    for (uint32_t i = 0; i < rows_.size(); ++i)
      if (cut_->hidden[i].kind == Hidden::Kind::Mask)
        out_.line("memset(worker->scratch + {}, 0, {});", rows_[i].at, rows_[i].bytes);
    out_.line("s->half = 0;");
    out_.line("{} = UINT32_MAX;", control(ControlWords::kStop));
    out_.line("steps_{}(g, s);", number_);
    out_.line("if (g->gave_up) return;");
    report_trap();
    close_workgroup();
  }

  void print_state() {
    out_.line("// All memory of a workgroup: buffers, and what lives across its barriers.");
    out_.open("struct state_{} {{", number_);
    for (uint32_t i = 0; i < p_.buffers.size(); ++i)
      out_.line("{}{} *{}; uint32_t {};", is_read_only(p_.buffers[i].kind) ? "const " : "",
                element_type(p_.buffers[i].element), buffer_name(p_, BufferId{i}),
                length_name(p_, BufferId{i}));
    for (uint32_t i = 0; i < rows_.size(); ++i)
      out_.line("{} *{}{};  // {}", element_type(cut_->hidden[i].element), hidden_name(i),
                cut_->hidden[i].two_halves ? "[2]" : "", name_of(cut_->hidden[i].kind));
    out_.line("unsigned half;  // of what has two: phases read one and write the other");
    out_.close("};");
    out_.blank();
  }
  void print_start_of_state() {
    out_.open("struct state_{} state = {{", number_);
    fill_buffers();
    for (uint32_t i = 0; i < rows_.size(); ++i) {
      const std::string_view type = element_type(cut_->hidden[i].element);
      if (cut_->hidden[i].two_halves)
        out_.line(".{0} = {{({1} *)(worker->scratch + {2}), ({1} *)(worker->scratch + {3})}},",
                  hidden_name(i), type, rows_[i].at, rows_[i].other);
      else
        out_.line(".{} = ({} *)(worker->scratch + {}),", hidden_name(i), type, rows_[i].at);
    }
    out_.close("}, *const s = &state;");
  }

  void steps(const plan::Steps& list) {
    const auto grid = [] { VYRE_CHECK(!"of the grid"); };
    for (const plan::Step& step : list)
      match(
          step.node, [&](const plan::LaunchStep& x) { launch(x.segment); },
          [](const plan::PhaseStep&) {},
          [&](const plan::BranchStep& x) {
            out_.open("if ({} != 0) {{", frame_word(x.word));
            steps(x.then_steps);
            if (!x.else_steps.empty()) {
              out_.close("} else {");
              out_.reopen();
              steps(x.else_steps);
            }
            out_.close();
          },
          [&](const plan::LoopStep& x) {
            out_.open("for (;;) {{");
            steps(x.condition);
            out_.line("if ({} == 0) break;", frame_word(x.word));
            steps(x.body);
            out_.line("if (vyre_tick(g, {}, {})) return;", sites_.add({.at = x.at}), lanes());
            out_.close();
          },
          [&](const plan::FixpointStep&) { grid(); }, [&](const plan::ResumeStep&) { grid(); },
          [&](const plan::CollectiveStep&) { grid(); }, [&](const plan::CopyStep& x) { copy(x); },
          [&](const plan::SwapStep&) { grid(); });
  }

  void launch(uint32_t index) {
    const plan::Segment& phase = cut_->segments[index];
    const Program& p = phase.program.program;
    const Unit of = unit(phase.program, facts_[index], fmt::format("{}_{}", number_, index));
    if (phase.reports_live) out_.line("{} = 0;", control(ControlWords::kLive));
    out_.open("{{");
    out_.open("const struct buffers_{} buffers = {{", of.name);
    for (uint32_t i = 0; i < phase.arguments.size(); ++i) {
      const plan::Argument& a = phase.arguments[i];
      const std::string name = buffer_name(p, BufferId{i});
      const std::string length = length_name(p, BufferId{i});
      if (a.kind == plan::Argument::Kind::Source)
        out_.line(".{} = s->{}, .{} = s->{},", name, buffer_name(p_, BufferId{a.index}), length,
                  length_name(p_, BufferId{a.index}));
      else
        out_.line(".{} = {}, .{} = {},", name,
                  hidden(a.index, a.kind == plan::Argument::Kind::HiddenOut), length,
                  rows_[a.index].count);
    }
    if (phase.arguments.empty()) out_.line("0");
    out_.close("};");
    print_lane_loop(of, out_);
    out_.close();
    if (phase.reports_live) out_.line("if ({} == 0) return;", control(ControlWords::kLive));
    if (phase.swaps_frame) out_.line("s->half ^= 1;");
  }

  // A number of the frame: its bits, extended to 64, and whether it is negative.
  struct FrameNumber {
    std::string bits, negative;
  };
  FrameNumber frame_number(std::string_view name, uint32_t word, Type type) {
    const std::string low = frame_word(word);
    const std::string bits = bits_of(type) == 64
                                 ? fmt::format("{} | (uint64_t){} << 32", low, frame_word(word + 1))
                             : is_signed(type) ? fmt::format("(uint64_t)(int32_t){}", low)
                                               : low;
    out_.line("uint64_t {} = {};", name, bits);
    return {std::string(name),
            is_signed(type) ? fmt::format("(int64_t){} < 0", name) : std::string("false")};
  }

  void copy(const plan::CopyStep& x) {
    out_.open("{{  // asynchronous copy");
    const FrameNumber to = frame_number("to", x.dst_word, x.dst_type);
    const FrameNumber from = frame_number("from", x.src_word, x.src_type);
    const FrameNumber count = frame_number("elements", x.count_word, x.count_type);
    if (count.negative != "false") out_.line("if ({}) elements = 0;", count.negative);
    if (options_.checked) {
      check_copy(x.src, from, x.src_type, x.at);
      check_copy(x.dst, to, x.dst_type, x.at);
    }
    out_.line("{}((unsigned char *)s->{}, s->{}, to, {},", library_.copy(), buffer_name(p_, x.dst),
              length_name(p_, x.dst), to.negative);
    out_.line("    (const unsigned char *)s->{}, s->{}, from, {}, elements, {});",
              buffer_name(p_, x.src), length_name(p_, x.src), from.negative,
              bytes_of(p_[x.dst].element));
    out_.close();
  }

  // Every live lane of the workgroup stops, and the smallest of them says why.
  void check_copy(BufferId buffer, const FrameNumber& index, Type type, const Position& at) {
    const uint32_t site = sites_.add({.at = at, .memory = p_[buffer].name, .index_type = type});
    const std::string mask = hidden(*cut_->find_hidden(Hidden::Kind::Mask), false);
    out_.open("if ({}(&{}, {}, elements, s->{})) {{", library_.outside_copy(), index.bits,
              index.negative, length_name(p_, buffer));
    out_.line("uint32_t lane = 0;");
    out_.line("while (lane + 1 < {} && {}[lane] != {}) ++lane;", lanes(), mask, plan::kLive);
    out_.line("vyre_stop_lane(g, {}, {}, g->first_lane + lane, s->{}, {}, 0);",
              static_cast<int>(device::KernelStop::Kind::OutOfBounds), site,
              length_name(p_, buffer), index.bits);
    out_.line("return;");
    out_.close();
  }

  // The smallest lane of the workgroup that trapped says where in a word of its own.
  void report_trap() {
    const auto value = cut_->find_hidden(Hidden::Kind::ReportValue);
    const auto where = cut_->find_hidden(Hidden::Kind::ReportSite);
    if (!value || !where) return;
    const auto first = static_cast<uint32_t>(sites_.count());
    for (const plan::Site& site : cut_->sites) sites_.add({.at = site.at, .tag = site.tag});
    out_.open("if ({} != UINT32_MAX) {{", control(ControlWords::kStop));
    out_.line("const uint32_t lane = {};", control(ControlWords::kStop));
    out_.line("vyre_stop_lane(g, {}, {} + {}[lane], g->first_lane + lane, {}[lane], 0, 0);",
              static_cast<int>(device::KernelStop::Kind::Trap), first, hidden(*where, false),
              hidden(*value, false));
    out_.close();
  }

  const plan::Segment& segment_;
  const check::CheckedProgram& c_;
  const Program& p_;
  uint32_t number_;
  Options options_;
  Library& library_;
  Sites& sites_;
  Writer out_;
  std::optional<plan::Plan> cut_;
  std::vector<Facts> facts_;  // by phase
  std::vector<uint64_t> shared_at_;
  std::vector<Row> rows_;  // by row of cut_->hidden
  uint64_t scratch_ = 0;
};

}  // namespace

Result<SegmentText> print_segment(const plan::Segment& segment, uint32_t number,
                                  const Options& options, Library& library, Sites& sites) {
  return SegmentPrinter(segment, number, options, library, sites).print();
}

}  // namespace vyre::codegen::c
