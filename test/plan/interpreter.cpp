// SPDX-License-Identifier: Apache-2.0
#include "plan/interpreter.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <regex>

#include <fmt/format.h>

#include "base/match.hpp"
#include "generator/schedules.hpp"
#include "ir/scalar.hpp"
#include "oracle/machine.hpp"

namespace vyre::plan_test {

using namespace plan;
using ir::BufferId;
using ir::BufferKind;
using Bytes = std::vector<std::byte>;

namespace {

Error internal(std::string message) {
  return {.code = ErrorCode::Internal,
          .message = std::move(message),
          .context = {},
          .at = {},
          .diagnostics = {}};
}

uint32_t word_at(const Bytes& bytes, size_t word) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + word * 4, 4);
  return value;
}
void set_word(Bytes& bytes, size_t word, uint32_t value) {
  std::memcpy(bytes.data() + word * 4, &value, 4);
}

oracle::Options oracle_options(const RunOptions& options) {
  oracle::Options o;
  o.schedule = options.schedule;
  o.seed = options.seed;
  o.subgroup_size = options.subgroup_size;
  o.checked = options.checked;
  o.timeout = options.timeout;
  return o;
}

class Handler : public oracle::HandlerBuffers {
 public:
  Handler(const ir::Program& program, std::vector<Bytes>& buffers)
      : program_(program), buffers_(buffers) {}
  Result<void> operator()(std::span<const oracle::TrapReport> reports) {
    return generator::handle_resume(program_, reports, *this);
  }

 private:
  [[nodiscard]] std::span<const std::byte> read(BufferId buffer) const override {
    return buffers_[buffer.index()];
  }
  std::span<std::byte> write(BufferId buffer) override {
    const BufferKind kind = program_[buffer].kind;
    if (kind != BufferKind::InOut && kind != BufferKind::Out && kind != BufferKind::Persistent)
      return {};
    return buffers_[buffer.index()];
  }
  const ir::Program& program_;
  std::vector<Bytes>& buffers_;
};

Result<check::Launch> resolve(const check::CheckedProgram& source, std::span<const Bytes> inputs,
                              const RunOptions& options) {
  const std::vector<std::span<const std::byte>> spans(inputs.begin(), inputs.end());
  return check::resolve_launch(
      source, {.inputs = spans, .grid = options.grid, .workgroup = options.workgroup});
}

std::vector<Bytes> make_buffers(const check::CheckedProgram& source, const check::Launch& launch,
                                std::span<const Bytes> inputs) {
  std::vector<Bytes> buffers(source.program.buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (source.program.buffers[i].kind == BufferKind::Shared) continue;
    if (const auto slot = source.buffers[i].input_slot)
      buffers[i] = inputs[*slot];
    else
      buffers[i].resize(launch.counts[i] * bytes_of(source.program.buffers[i].element));
  }
  return buffers;
}

// The memory that a plan hides, with the half of each that is read.
class HiddenMemory {
 public:
  HiddenMemory(const Plan& plan, const std::function<uint64_t(const Hidden&)>& bytes)
      : plan_(plan) {
    for (const Hidden& hidden : plan.hidden) {
      const Bytes zeros(bytes(hidden));
      rows_.push_back({zeros, hidden.two_halves ? zeros : Bytes()});
      half_.push_back(0);
    }
  }
  Bytes& row(uint32_t row) { return rows_[row][half_[row]]; }
  Bytes& of(const Argument& argument) {
    const uint32_t half = half_[argument.index];
    return rows_[argument.index][argument.kind == Argument::Kind::HiddenOut ? 1 - half : half];
  }
  Bytes* find(Hidden::Kind kind) {
    const auto row = plan_.find_hidden(kind);
    return row ? &this->row(*row) : nullptr;
  }
  void swap(Hidden::Kind kind) {
    for (uint32_t i = 0; i < rows_.size(); ++i)
      if (plan_.hidden[i].kind == kind) half_[i] = 1 - half_[i];
  }

 private:
  const Plan& plan_;
  std::vector<std::array<Bytes, 2>> rows_;
  std::vector<uint32_t> half_;
};

// Frames: all lanes that write a uniform value have to agree on it.
std::vector<bool> agreed_buffers(const Plan& plan, const Segment& segment) {
  std::vector<bool> agreed;
  for (const Argument& a : segment.arguments)
    agreed.push_back(
        a.kind == Argument::Kind::HiddenOut &&
        (plan.hidden[a.index].kind == Hidden::Kind::Frame || !segment.carries_group_frame));
  return agreed;
}

check::Launch launch_of(const check::Launch& source, const ir::Program& program,
                        const std::vector<Bytes>& buffers) {
  check::Launch launch = source;
  launch.counts.clear();
  for (size_t i = 0; i < buffers.size(); ++i)
    launch.counts.push_back(buffers[i].size() / bytes_of(program.buffers[i].element));
  return launch;
}

// ---- one workgroup, cut at its own barriers

class GroupRun {
 public:
  struct Shared {
    const Plan& plan;
    std::map<uint32_t, oracle::Code>& codes;  // by segment
    const RunOptions& options;
    const check::Launch& launch;
  };
  // `buffers`: by BufferId of the program that was cut; shared ones hold this workgroup's memory.
  GroupRun(const Shared& shared, uint64_t group, std::vector<Bytes>& buffers)
      : s_(shared), group_(group), buffers_(buffers), hidden_(s_.plan, [&](const Hidden& h) {
          const uint64_t lanes =
              h.extent == Hidden::Extent::PerLane ? s_.launch.lanes_per_workgroup() : 1;
          return uint64_t{h.count} * lanes * bytes_of(h.element);
        }) {
    set_word(*hidden_.find(Hidden::Kind::Control), ControlWords::kStop, kNoLane);
  }

  // False: no lane of the workgroup is left.
  Result<bool> run() { return steps(s_.plan.steps); }
  [[nodiscard]] uint32_t stopped() {
    return word_at(*hidden_.find(Hidden::Kind::Control), ControlWords::kStop);
  }
  std::pair<uint32_t, uint32_t> report(uint32_t lane) {
    return {word_at(*hidden_.find(Hidden::Kind::ReportValue), lane),
            word_at(*hidden_.find(Hidden::Kind::ReportSite), lane)};
  }

 private:
  Result<bool> steps(const Steps& list) {
    for (const Step& step : list) {
      const Result<bool> more = match(
          step.node, [&](const LaunchStep& x) { return launch(x.segment); },
          [](const PhaseStep&) -> Result<bool> { return true; },
          [&](const BranchStep& x) {
            return steps(frame(x.word) != 0 ? x.then_steps : x.else_steps);
          },
          [&](const LoopStep& x) -> Result<bool> {
            for (;;) {
              if (auto on = steps(x.condition); !on || !*on) return on;
              if (frame(x.word) == 0) return true;
              if (auto on = steps(x.body); !on || !*on) return on;
            }
          },
          [](const FixpointStep&) -> Result<bool> { return std::unexpected(internal("fixpoint")); },
          [](const ResumeStep&) -> Result<bool> { return std::unexpected(internal("resume")); },
          [](const CollectiveStep&) -> Result<bool> {
            return std::unexpected(internal("collective"));
          },
          [](const SwapStep&) -> Result<bool> { return std::unexpected(internal("swap")); },
          [&](const CopyStep& x) -> Result<bool> {
            copy(x);
            return true;
          });
      if (!more || !*more) return more;
    }
    return true;
  }

  uint32_t frame(uint32_t word) { return word_at(*hidden_.find(Hidden::Kind::Frame), word); }
  __int128 number(uint32_t word, ir::Type type) {
    uint64_t bits = frame(word);
    if (bits_of(type) == 64) bits |= uint64_t{frame(word + 1)} << 32;
    return ir::integer_value(type, bits);
  }

  void copy(const CopyStep& x) {
    const __int128 dst = number(x.dst_word, x.dst_type);
    const __int128 src = number(x.src_word, x.src_type);
    const __int128 count = number(x.count_word, x.count_type);
    Bytes& to = buffers_[x.dst.index()];
    const Bytes from = buffers_[x.src.index()];
    const uint32_t size = bytes_of(s_.plan.segments.empty() ? ir::Type::U32 : element(x.dst));
    const auto last = static_cast<__int128>(to.size() / size);
    for (__int128 e = std::max<__int128>(dst, 0); e < std::min(last, dst + count); ++e) {
      const __int128 element = src + (e - dst);
      std::byte* const at = to.data() + static_cast<size_t>(e) * size;
      if (element < 0 || element >= static_cast<__int128>(from.size() / size))
        std::memset(at, 0, size);
      else
        std::memcpy(at, from.data() + static_cast<size_t>(element) * size, size);
    }
  }
  [[nodiscard]] ir::Type element(BufferId id) const { return elements_[id.index()]; }

  Result<bool> launch(uint32_t index) {
    const Segment& segment = s_.plan.segments[index];
    auto code = s_.codes.find(index);
    if (code == s_.codes.end())
      code = s_.codes.emplace(index, oracle::compile(segment.program)).first;
    std::vector<Bytes> memory(segment.arguments.size());
    const auto place = [&](size_t i) -> Bytes& {
      const Argument& a = segment.arguments[i];
      return a.kind == Argument::Kind::Source ? buffers_[a.index] : hidden_.of(a);
    };
    set_word(*hidden_.find(Hidden::Kind::Control), ControlWords::kLive, 0);
    for (size_t i = 0; i < memory.size(); ++i) memory[i].swap(place(i));
    const check::Launch launch = launch_of(s_.launch, segment.program.program, memory);
    const oracle::Options options = oracle_options(s_.options);
    oracle::Slice slice;
    slice.first = group_;
    slice.count = 1;
    slice.agreed = agreed_buffers(s_.plan, segment);
    oracle::Machine machine(segment.program, code->second, launch, options,
                            {memory.begin(), memory.end()}, slice);
    const Result<void> done = machine.run_pass();
    for (size_t i = 0; i < memory.size(); ++i) memory[i].swap(place(i));
    if (!done) return std::unexpected(done.error());
    if (machine.disagreements() != 0)
      return std::unexpected(internal("lanes of a workgroup disagree about a uniform value"));
    const bool live = !segment.reports_live ||
                      word_at(*hidden_.find(Hidden::Kind::Control), ControlWords::kLive) != 0;
    if (segment.swaps_frame && live) hidden_.swap(Hidden::Kind::Frame);
    return live;
  }

  const Shared& s_;
  uint64_t group_;
  std::vector<Bytes>& buffers_;
  HiddenMemory hidden_;

 public:
  std::vector<ir::Type> elements_;  // by BufferId of the program that was cut
};

// ---- the whole grid

class GridRun {
 public:
  GridRun(const check::CheckedProgram& source, const Plan& plan, const check::Launch& launch,
          const RunOptions& options, Ran& ran)
      : source_(source),
        plan_(plan),
        launch_(launch),
        options_(options),
        ran_(ran),
        hidden_(plan, [&](const Hidden& h) { return bytes_of_hidden(h); }),
        codes_(plan.segments.size()),
        group_plans_(plan.segments.size()) {
    if (!plan.whole) set_word(control(), ControlWords::kStop, kNoLane);
  }

  void run() {
    if (launch_.workgroups() == 0) return;
    if (steps(plan_.steps) != Signal::Stop && !plan_.whole) check_stop();
  }

 private:
  enum class Signal : uint8_t { Go, Stop, Skip, End };

  uint64_t bytes_of_hidden(const Hidden& h) const {
    const uint64_t size = bytes_of(h.element);
    switch (h.extent) {
      case Hidden::Extent::Once: return h.count * size;
      case Hidden::Extent::PerWorkgroup: return launch_.workgroups() * h.count * size;
      case Hidden::Extent::PerLane:
        return launch_.workgroups() * launch_.lanes_per_workgroup() * h.count * size;
      case Hidden::Extent::LikeBuffer: return launch_.counts[h.like.index()] * size;
    }
    return 0;
  }
  Bytes& control() { return *hidden_.find(Hidden::Kind::Control); }
  uint32_t frame(uint32_t word) { return word_at(*hidden_.find(Hidden::Kind::Frame), word); }

  Signal fail(Error error) {
    ran_.error = std::move(error);
    return Signal::Stop;
  }

  // ---- the tree

  Signal steps(const Steps& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      Signal signal = step(list[i]);
      if (signal == Signal::Skip) {
        // No lane is live: go on at the resume they wait for, if it comes later in this list.
        size_t next = i + 1;
        while (next < list.size() && !is_target(list[next])) ++next;
        if (next == list.size()) next = i;
        for (size_t k = i + 1; k < next; ++k)
          if (take_part(list[k]) == Signal::Stop) return Signal::Stop;
        if (next == i) {
          for (size_t k = i + 1; k < list.size(); ++k)
            if (take_part(list[k]) == Signal::Stop) return Signal::Stop;
          return Signal::Skip;
        }
        i = next;
        signal = step(list[i]);
      }
      if (signal == Signal::End)
        for (size_t k = i + 1; k < list.size(); ++k)
          if (take_part(list[k]) == Signal::Stop) return Signal::Stop;
      if (signal != Signal::Go) return signal;
    }
    return Signal::Go;
  }

  [[nodiscard]] bool is_target(const Step& step) const {
    const auto* resume = std::get_if<ResumeStep>(&step.node);
    return resume != nullptr && resume->resume == skip_to_;
  }
  // Collectives that are sure to come take part without lanes.
  Signal take_part(const Step& step) {
    const auto* x = std::get_if<CollectiveStep>(&step.node);
    if (x == nullptr || !x->unconditional) return Signal::Go;
    ++ran_.phases;
    return collective(*x);
  }

  Signal step(const Step& step) {
    return match(
        step.node, [&](const LaunchStep& x) { return launch(x.segment); },
        [&](const PhaseStep&) {
          if (Signal s = check_stop(); s != Signal::Go) return s;
          ++ran_.phases;
          return Signal::Go;
        },
        [&](const BranchStep& x) {
          return steps(frame(x.word) != 0 ? x.then_steps : x.else_steps);
        },
        [&](const LoopStep& x) {
          for (;;) {
            if (Signal s = steps(x.condition); s != Signal::Go) return s;
            if (frame(x.word) == 0) return Signal::Go;
            if (Signal s = steps(x.body); s != Signal::Go) return s;
          }
        },
        [&](const FixpointStep& x) { return fixpoint(x); },
        [&](const ResumeStep& x) { return resume(x); },
        [&](const CollectiveStep& x) {
          if (Signal s = check_stop(); s != Signal::Go) return s;
          ++ran_.phases;
          return collective(x);
        },
        [&](const SwapStep& x) {
          ran_.buffers[x.a.index()].swap(ran_.buffers[x.b.index()]);
          return Signal::Go;
        },
        [&](const CopyStep&) { return fail(internal("a copy in the plan of a grid")); });
  }

  Signal fixpoint(const FixpointStep& x) {
    const FixpointInfo& info = plan_.fixpoints[x.fixpoint];
    const uint32_t most = x.most ? *x.most : frame(x.word);
    uint32_t passes = 0;
    bool changed = true;
    while (changed && passes < most) {
      for (const FixpointBuffer& b : info.buffers)
        if (b.snapshot) hidden_.row(*b.snapshot) = ran_.buffers[b.buffer.index()];
      set_word(control(), plan_.control.changed(x.fixpoint), 0);
      if (Signal s = steps(x.body); s != Signal::Go) return s;
      ++passes;
      changed = word_at(control(), plan_.control.changed(x.fixpoint)) != 0;
      for (const FixpointBuffer& b : info.buffers)
        if (b.snapshot) changed |= hidden_.row(*b.snapshot) != ran_.buffers[b.buffer.index()];
    }
    if (Bytes* result = hidden_.find(Hidden::Kind::Fixpoint)) {
      set_word(*result, 0, passes);
      set_word(*result, 1, changed ? 0 : 1);
    }
    ran_.fixpoints.push_back({passes, !changed});
    return Signal::Go;
  }

  Signal resume(const ResumeStep& x) {
    if (Signal s = check_stop(); s != Signal::Go) return s;
    ++ran_.phases;
    Bytes* const mask = hidden_.find(Hidden::Kind::Mask);
    std::vector<oracle::TrapReport> reports;
    for (uint32_t lane = 0; mask != nullptr && lane < mask->size() / 4; ++lane) {
      if (word_at(*mask, lane) != kParked + x.resume) continue;
      reports.push_back(report(lane));
      set_word(*mask, lane, kLive);
    }
    set_word(control(), plan_.control.parked(x.resume), 0);
    if (!reports.empty()) {
      if (auto ok = Handler(source_.program, ran_.buffers)(reports); !ok) return fail(ok.error());
    }
    ran_.resumed.insert(ran_.resumed.end(), reports.begin(), reports.end());
    return Signal::Go;
  }

  oracle::TrapReport report(uint32_t lane) {
    const Site& site = plan_.sites[word_at(*hidden_.find(Hidden::Kind::ReportSite), lane)];
    return {.tag = site.tag,
            .value = word_at(*hidden_.find(Hidden::Kind::ReportValue), lane),
            .lane = lane,
            .at = site.at};
  }

  Signal collective(const CollectiveStep& x) {
    if (x.op == ir::CollectiveOp::AllReduce || x.op == ir::CollectiveOp::Broadcast)
      return Signal::Go;
    Bytes& src = ran_.buffers[x.src.index()];
    Bytes& dst = ran_.buffers[x.dst.index()];
    const auto& p = source_.program;
    if (src.size() != dst.size())
      return fail(Error{
          .code = ErrorCode::InvalidArgument,
          .message = fmt::format(
              "{} on one rank copies `{}` ({} elements) to `{}` ({} elements). Fix: with R ranks "
              "the one is R times as long as the other",
              ir::name_of(x.op), p[x.src].name, launch_.counts[x.src.index()], p[x.dst].name,
              launch_.counts[x.dst.index()]),
          .context = {},
          .at = x.at,
          .diagnostics = {}});
    dst = src;
    return Signal::Go;
  }

  // ---- stops

  Signal stop_of_lane(uint32_t lane) {
    const Site& site = plan_.sites[word_at(*hidden_.find(Hidden::Kind::ReportSite), lane)];
    return fail(site.zero_passes ? oracle::zero_passes_error(lane, site.at)
                                 : oracle::trapped_error(report(lane)));
  }
  [[nodiscard]] bool has_stop() {
    return pending_ || (!plan_.whole && word_at(control(), ControlWords::kStop) != kNoLane);
  }
  // At the end of a phase: the smallest lane that stopped decides.
  Signal check_stop() {
    if (!has_stop()) return Signal::Go;
    const uint32_t trapped = word_at(control(), ControlWords::kStop);
    if (pending_ && pending_->first < trapped) return fail(pending_->second);
    return stop_of_lane(trapped);
  }

  // ---- launches

  Signal launch(uint32_t index) {
    const Segment& segment = plan_.segments[index];
    if (!plan_.whole) set_word(control(), ControlWords::kLive, 0);
    if (Bytes* votes = hidden_.find(Hidden::Kind::Votes)) std::ranges::fill(*votes, std::byte{0});
    if (Bytes* grid = hidden_.find(Hidden::Kind::Grid))
      for (uint32_t axis = 0; axis < 3; ++axis) set_word(*grid, axis, launch_.grid[axis]);
    if (++ran_.launches > options_.max_launches) return fail(internal("the plan does not end"));
    if (auto ok = execute(index); !ok) return fail(ok.error());
    if (plan_.whole) return pending_ ? fail(pending_->second) : Signal::Go;
    if (word_at(control(), ControlWords::kStopped) != 0) return check_stop();
    const bool live = !segment.reports_live || word_at(control(), ControlWords::kLive) != 0;
    std::optional<uint32_t> waiting;
    bool parked = false;
    for (uint32_t r = 0; r < plan_.resumes.size(); ++r) {
      if (word_at(control(), plan_.control.parked(r)) == 0) continue;
      parked = true;
      if (!waiting) waiting = r;
    }
    // A lane that wrote the other half has either gone on or begun to wait.
    const bool wrote = live || newly_parked(index);
    if (segment.swaps_frame && wrote) hidden_.swap(Hidden::Kind::Frame);
    if (segment.swaps_group_frame && wrote) hidden_.swap(Hidden::Kind::GroupFrame);
    if (segment.ends_phase)
      if (Signal s = check_stop(); s != Signal::Go) return s;
    if (!live) {
      if (Signal s = check_stop(); s != Signal::Go) return s;
      if (!parked) return Signal::End;
      skip_to_ = *waiting;
      return Signal::Skip;
    }
    if (segment.ends_phase) ++ran_.phases;
    return Signal::Go;
  }

  // Has a lane begun to wait since the last launch?
  bool newly_parked(uint32_t) {
    Bytes* const mask = hidden_.find(Hidden::Kind::Mask);
    if (mask == nullptr) return false;
    uint64_t parked = 0;
    for (size_t lane = 0; lane < mask->size() / 4; ++lane)
      parked += word_at(*mask, lane) >= kParked ? 1 : 0;
    return parked > parked_before_;
  }

  Result<void> execute(uint32_t index) {
    const Segment& segment = plan_.segments[index];
    if (Bytes* mask = hidden_.find(Hidden::Kind::Mask)) {
      parked_before_ = 0;
      for (size_t lane = 0; lane < mask->size() / 4; ++lane)
        parked_before_ += word_at(*mask, lane) >= kParked ? 1 : 0;
    }
    std::vector<Bytes> memory(segment.arguments.size());
    const ir::Program& program = segment.program.program;
    const auto place = [&](size_t i) -> Bytes& {
      const Argument& a = segment.arguments[i];
      return a.kind == Argument::Kind::Source ? ran_.buffers[a.index] : hidden_.of(a);
    };
    const bool host = plan_.route == Route::Host;
    for (size_t i = 0; i < memory.size(); ++i) {
      if (program.buffers[i].kind == BufferKind::Shared) continue;
      if (host)
        memory[i] = place(i);
      else
        memory[i].swap(place(i));
    }
    const check::Launch launch = launch_of(launch_, program, memory);
    const Result<void> done = options_.workgroup_phases ? run_phases(index, launch, memory)
                              : segment.workgroups_per_block != 0
                                  ? run_persistent(index, launch, memory)
                              : plan_.route == Route::Persistent
                                  ? run_blocks(index, launch, memory)
                                  : run_slice(index, launch, memory, 0, launch_.workgroups());
    for (size_t i = 0; i < memory.size(); ++i) {
      if (program.buffers[i].kind == BufferKind::Shared) continue;
      if (!host)
        memory[i].swap(place(i));
      else if (plan_.whole || program.buffers[i].kind == BufferKind::InOut)
        place(i) = std::move(memory[i]);
    }
    return done;
  }

  const oracle::Code& code(uint32_t index) {
    if (!codes_[index])
      codes_[index] = oracle::compile(plan_.segments[index].program, plan_.segments[index].live);
    return *codes_[index];
  }

  Result<void> run_slice(uint32_t index, const check::Launch& launch, std::vector<Bytes>& memory,
                         uint64_t first, uint64_t count) {
    const Segment& segment = plan_.segments[index];
    oracle::Slice slice;
    slice.first = first;
    slice.count = count;
    slice.agreed = agreed_buffers(plan_, segment);
    slice.all_arrive =
        (plan_.route == Route::Native && !plan_.whole) || segment.workgroups_per_block != 0;
    const oracle::Code& compiled = code(index);
    const auto area = [&](const SharedUse& use, uint64_t group) {
      const Hidden& h = plan_.hidden[use.hidden];
      const uint64_t size = uint64_t{h.count} * bytes_of(h.element);
      return std::span(hidden_.row(use.hidden)).subspan(group * size, size);
    };
    slice.on_start = [&](uint64_t group, std::span<std::byte> shared) {
      for (const SharedUse& use : segment.shared)
        if (use.restore)
          std::ranges::copy(area(use, group),
                            shared.begin() + static_cast<std::ptrdiff_t>(
                                                 compiled.memories[use.buffer.index()].offset));
    };
    slice.on_end = [&](uint64_t group, std::span<std::byte> shared) {
      for (const SharedUse& use : segment.shared)
        if (use.save) {
          const auto to = area(use, group);
          std::ranges::copy(shared.subspan(compiled.memories[use.buffer.index()].offset, to.size()),
                            to.begin());
        }
    };
    const oracle::Options options = oracle_options(options_);
    oracle::Machine machine(segment.program, compiled, launch, options,
                            {memory.begin(), memory.end()}, slice);
    const Result<void> done = machine.run_pass();
    if (machine.disagreements() != 0)
      return std::unexpected(internal("lanes disagree about a uniform value"));
    if (machine.missed_barriers() != 0)
      return std::unexpected(internal("a lane ends while others wait for it at a barrier"));
    if (done) return {};
    if (!machine.stopped()) return std::unexpected(done.error());
    note_stop(machine.stopped()->lane, done.error());
    return {};
  }
  // A lane stopped in a way the segment does not report itself.
  void note_stop(uint32_t lane, const Error& error) {
    if (!pending_ || lane < pending_->first) pending_ = {lane, error};
  }

  // All resident blocks at once, each of which takes turns at its workgroups by itself.
  Result<void> run_persistent(uint32_t index, check::Launch launch, std::vector<Bytes>& memory) {
    const Segment& segment = plan_.segments[index];
    const uint64_t resident =
        segment.unrolled_iterations == 0 ? options_.resident_blocks : ~uint64_t{0};
    const uint64_t blocks = blocks_of(segment, launch_.workgroups(), resident);
    if (blocks == 0) return std::unexpected(internal("too few workgroups for a block"));
    launch.grid = {static_cast<uint32_t>(blocks), 1, 1};
    launch.workgroup = segment.program.workgroup;
    return run_slice(index, launch, memory, 0, blocks);
  }

  // Some resident blocks, each of them all workgroups of its share one after the other, forward
  // and backward by turns.
  Result<void> run_blocks(uint32_t index, const check::Launch& launch, std::vector<Bytes>& memory) {
    const uint64_t groups = launch_.workgroups();
    const uint64_t blocks = std::min<uint64_t>(options_.resident_blocks, groups);
    const bool backward = ran_.launches % 2 == 0;
    for (uint64_t b = 0; b < blocks; ++b) {
      const uint64_t block = options_.schedule == oracle::Schedule::Reversed ? blocks - 1 - b : b;
      const uint64_t share = (groups - block + blocks - 1) / blocks;
      for (uint64_t k = 0; k < share; ++k) {
        const uint64_t group = block + (backward ? share - 1 - k : k) * blocks;
        if (auto ok = run_slice(index, launch, memory, group, 1); !ok) return ok;
      }
    }
    return {};
  }

  struct GroupPlan {
    Plan plan;
    std::map<uint32_t, oracle::Code> codes;
  };
  Result<void> run_phases(uint32_t index, const check::Launch& launch, std::vector<Bytes>& memory) {
    const Segment& segment = plan_.segments[index];
    if (!group_plans_[index])
      group_plans_[index].emplace(GroupPlan{*cut_workgroup(segment.program), {}});
    GroupPlan& cut = *group_plans_[index];
    const ir::Program& program = segment.program.program;
    const GroupRun::Shared shared{cut.plan, cut.codes, options_, launch};
    for (uint64_t n = 0; n < launch_.workgroups(); ++n) {
      const uint64_t group =
          options_.schedule == oracle::Schedule::Reversed ? launch_.workgroups() - 1 - n : n;
      for (size_t i = 0; i < memory.size(); ++i)
        if (program.buffers[i].kind == BufferKind::Shared)
          memory[i].assign(
              *segment.program.buffers[i].constant_count * bytes_of(program.buffers[i].element),
              std::byte{0});
      const auto area = [&](const SharedUse& use) {
        const uint64_t size = memory[use.buffer.index()].size();
        return std::span(hidden_.row(use.hidden)).subspan(group * size, size);
      };
      for (const SharedUse& use : segment.shared)
        if (use.restore) std::ranges::copy(area(use), memory[use.buffer.index()].begin());
      GroupRun run(shared, group, memory);
      for (const ir::Buffer& b : program.buffers) run.elements_.push_back(b.element);
      if (auto ok = run.run(); !ok) return std::unexpected(ok.error());
      if (const uint32_t lane = run.stopped(); lane != kNoLane) {
        const auto [value, site] = run.report(lane);
        const uint32_t global = static_cast<uint32_t>(group * launch.lanes_per_workgroup() + lane);
        note_stop(global, oracle::trapped_error({.tag = cut.plan.sites[site].tag,
                                                 .value = value,
                                                 .lane = global,
                                                 .at = cut.plan.sites[site].at}));
      }
      for (const SharedUse& use : segment.shared)
        if (use.save) std::ranges::copy(memory[use.buffer.index()], area(use).begin());
    }
    return {};
  }

  const check::CheckedProgram& source_;
  const Plan& plan_;
  const check::Launch& launch_;
  const RunOptions& options_;
  Ran& ran_;
  HiddenMemory hidden_;
  std::vector<std::optional<oracle::Code>> codes_;
  std::vector<std::optional<GroupPlan>> group_plans_;
  std::optional<std::pair<uint32_t, Error>> pending_;  // lane, what it stopped with
  uint64_t parked_before_ = 0;
  uint32_t skip_to_ = 0;
};

}  // namespace

Ran run_source(const check::CheckedProgram& source, std::span<const Bytes> inputs,
               const RunOptions& options) {
  Ran ran;
  const auto launch = resolve(source, inputs, options);
  if (!launch) {
    ran.error = launch.error();
    return ran;
  }
  ran.buffers = make_buffers(source, *launch, inputs);
  oracle::Options o = oracle_options(options);
  Handler handler(source.program, ran.buffers);
  o.on_resume = [&](std::span<const oracle::TrapReport> reports, oracle::HandlerBuffers&) {
    return handler(reports);
  };
  const oracle::Code code = oracle::compile(source);
  oracle::Machine machine(source, code, *launch, o, {ran.buffers.begin(), ran.buffers.end()});
  if (auto ok = machine.run_pass(); !ok) ran.error = ok.error();
  oracle::Outcome totals = machine.take_totals();
  ran.resumed = std::move(totals.resumed);
  ran.fixpoints = std::move(totals.fixpoints);
  ran.phases = totals.phases;
  return ran;
}

Ran interpret(const check::CheckedProgram& source, const Plan& plan, std::span<const Bytes> inputs,
              const RunOptions& options) {
  Ran ran;
  ran.counted = std::ranges::none_of(plan.segments, &Segment::barriers_inside);
  const auto launch = resolve(source, inputs, options);
  if (!launch) {
    ran.error = launch.error();
    return ran;
  }
  ran.buffers = make_buffers(source, *launch, inputs);
  GridRun(source, plan, *launch, options, ran).run();
  return ran;
}

std::string difference(const ir::Program& program, const Ran& source, const Ran& plan,
                       bool unknown_buffers) {
  // Two locals of one name that meet in a segment are called x and x_2 there.
  const auto said = [](const Ran& r) {
    return !r.error ? std::string("it succeeds")
                    : fmt::format("{} (line {})",
                                  std::regex_replace(to_string(*r.error),
                                                     std::regex("`(\\w+?)_\\d+`"), "`$1`"),
                                  r.error->at.line);
  };
  if (said(source) != said(plan)) return said(source) + " / " + said(plan);
  if (unknown_buffers) return "";
  oracle::Outcome a;
  oracle::Outcome b;
  a.buffers = source.buffers;
  b.buffers = plan.buffers;
  a.resumed = source.resumed;
  b.resumed = plan.resumed;
  if (plan.counted) {
    a.phases = source.phases;
    b.phases = plan.phases;
    a.fixpoints = source.fixpoints;
    b.fixpoints = plan.fixpoints;
  }
  return generator::difference(program, std::move(a), std::move(b));
}

}  // namespace vyre::plan_test
