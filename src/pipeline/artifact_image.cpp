// SPDX-License-Identifier: Apache-2.0
#include "pipeline/artifact_image.hpp"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <string>
#include <utility>

#include "base/match.hpp"
#include "pipeline/check_schedule.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/ir/types.hpp"

namespace vyre::pipeline {

namespace {

using device::Entry;
using device::EntryBinding;
using plan::Hidden;

// Blocks of a program are nested at most ir::kMaxNesting deep; a tree of steps is hardly deeper.
constexpr uint32_t kMostDepth = 512;

class ImageWriter {
 public:
  static constexpr bool kReads = false;

  template <std::unsigned_integral T>
  void number(T value) {
    for (size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  void flag(bool value) { number(static_cast<uint8_t>(value)); }
  template <class E>
  void one_of(E value, int /*count*/) {
    number(static_cast<uint8_t>(std::to_underlying(value)));
  }
  void text(const std::string& value) {
    number(uint64_t{value.size()});
    const auto bytes = std::as_bytes(std::span(value));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void data(std::span<const std::byte> value) {
    number(uint64_t{value.size()});
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  template <class T, class Each>
  void list(std::vector<T>& values, Each each) {
    number(uint64_t{values.size()});
    for (T& value : values) each(value);
  }
  void fail() {}
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Past the end, or after anything that is not as it should be, all reads give zeros.
class ImageReader {
 public:
  static constexpr bool kReads = true;

  explicit ImageReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <std::unsigned_integral T>
  void number(T& value) {
    value = 0;
    if (left_.size() < sizeof(T)) return fail();
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) bits |= std::to_integer<uint64_t>(left_[i]) << (8 * i);
    value = static_cast<T>(bits);
    left_ = left_.subspan(sizeof(T));
  }
  void flag(bool& value) {
    uint8_t byte = 0;
    number(byte);
    value = byte == 1;
    if (byte > 1) fail();
  }
  template <class E>
  void one_of(E& value, int count) {
    uint8_t byte = 0;
    number(byte);
    if (byte >= count) return fail();
    value = static_cast<E>(byte);
  }
  void text(std::string& value) {
    const std::span<const std::byte> bytes = sized();
    value.resize(bytes.size());
    if (!bytes.empty()) std::memcpy(value.data(), bytes.data(), bytes.size());
  }
  void data(std::vector<std::byte>& value) {
    const std::span<const std::byte> bytes = sized();
    value.assign(bytes.begin(), bytes.end());
  }
  // Grows as elements are read, so that a length costs no more memory than there are bytes.
  template <class T, class Each>
  void list(std::vector<T>& values, Each each) {
    uint64_t count = 0;
    number(count);
    if (count > left_.size()) return fail();
    values.clear();
    for (uint64_t i = 0; i < count && ok_; ++i) each(values.emplace_back());
  }
  void fail() {
    ok_ = false;
    left_ = {};
  }
  [[nodiscard]] bool at_end() const { return ok_ && left_.empty(); }

 private:
  std::span<const std::byte> sized() {
    uint64_t count = 0;
    number(count);
    if (count > left_.size()) {
      fail();
      return {};
    }
    const auto bytes = left_.first(count);
    left_ = left_.subspan(count);
    return bytes;
  }

  std::span<const std::byte> left_;
  bool ok_ = true;
};

// ---- the fields, in one order for both ways

template <class A>
void visit(A& a, std::optional<uint32_t>& x) {
  bool has = x.has_value();
  a.flag(has);
  if (!has) return x.reset();
  if (!x) x = 0;
  a.number(*x);
}

template <class A, class Tag>
void visit(A& a, Id<Tag>& x) {
  a.number(x.value);
}

template <class A>
void visit(A& a, EntryBinding& x) {
  a.text(x.name);
  a.number(x.element_bytes);
  visit(a, x.count);
  a.flag(x.written);
  a.flag(x.shared);
  a.flag(x.restore);
  a.flag(x.save);
}

template <class A>
void visit(A& a, Entry& x) {
  a.text(x.name);
  a.list(x.bindings, [&](EntryBinding& binding) { visit(a, binding); });
  a.list(x.regions, [&](std::string& region) { a.text(region); });
  for (uint32_t& axis : x.workgroup) a.number(axis);
  a.flag(x.barriers_inside);
  a.flag(x.whole);
  a.flag(x.can_trap);
  a.number(x.lanes_per_thread);
  a.number(x.threads);
  a.number(x.shared_bytes);
  a.flag(x.launchable);
}

template <class A>
void visit(A& a, plan::SegmentLaunch& x) {
  a.list(x.arguments, [&](plan::Argument& argument) {
    a.one_of(argument.kind, 3);
    a.number(argument.index);
  });
  a.list(x.shared, [&](plan::SharedUse& use) {
    visit(a, use.buffer);
    a.number(use.hidden);
    a.flag(use.restore);
    a.flag(use.save);
  });
  a.flag(x.swaps_frame);
  a.flag(x.swaps_group_frame);
  a.flag(x.carries_group_frame);
  a.flag(x.reports_live);
  a.flag(x.ends_phase);
  a.flag(x.barriers_inside);
  a.number(x.workgroups_per_block);
  a.number(x.unrolled_iterations);
}

template <class A>
void visit(A& a, Hidden& x) {
  a.one_of(x.kind, 14);
  a.text(x.name);
  a.one_of(x.element, ir::kTypeCount);
  a.one_of(x.extent, 4);
  a.number(x.count);
  visit(a, x.like);
  a.flag(x.two_halves);
}

template <class A>
void visit(A& a, plan::FixpointInfo& x) {
  a.list(x.buffers, [&](plan::FixpointBuffer& buffer) {
    visit(a, buffer.buffer);
    a.one_of(buffer.mode, 3);
    visit(a, buffer.snapshot);
  });
}

using StepNode = decltype(plan::Step::node);

template <size_t... I>
bool choose_step(StepNode& node, size_t kind, std::index_sequence<I...> /*kinds*/) {
  return ((kind == I && (node.template emplace<I>(), true)) || ...);
}

template <class A>
void visit(A& a, plan::Steps& steps, uint32_t depth);

template <class A>
void visit(A& a, plan::Step& step, uint32_t depth) {
  auto kind = static_cast<uint8_t>(step.node.index());
  a.number(kind);
  if constexpr (A::kReads)
    if (!choose_step(step.node, kind, std::make_index_sequence<std::variant_size_v<StepNode>>()))
      return a.fail();
  match(
      step.node, [&](plan::LaunchStep& x) { a.number(x.segment); }, [](plan::PhaseStep&) {},
      [&](plan::BranchStep& x) {
        a.number(x.word);
        visit(a, x.then_steps, depth + 1);
        visit(a, x.else_steps, depth + 1);
      },
      [&](plan::LoopStep& x) {
        visit(a, x.condition, depth + 1);
        a.number(x.word);
        visit(a, x.body, depth + 1);
      },
      [&](plan::FixpointStep& x) {
        a.number(x.fixpoint);
        visit(a, x.most);
        a.number(x.word);
        visit(a, x.body, depth + 1);
      },
      [&](plan::ResumeStep& x) { a.number(x.resume); },
      [&](plan::CollectiveStep& x) {
        a.one_of(x.op, 4);
        a.one_of(x.reduce, 6);
        a.number(x.root);
        a.number(x.group);
        visit(a, x.src);
        visit(a, x.dst);
        a.flag(x.unconditional);
      },
      // The driver executes plans of the grid, which have no copies of workgroups.
      [&](plan::CopyStep&) { a.fail(); },
      [&](plan::SwapStep& x) {
        visit(a, x.a);
        visit(a, x.b);
      });
}

template <class A>
void visit(A& a, plan::Steps& steps, uint32_t depth) {
  if (depth > kMostDepth) return a.fail();
  a.list(steps, [&](plan::Step& step) { visit(a, step, depth); });
}

template <class A>
void visit(A& a, plan::Schedule& x) {
  a.one_of(x.scope, 3);
  a.one_of(x.route, 4);
  a.text(x.not_persistent);
  a.flag(x.whole);
  visit(a, x.steps, 0);
  a.list(x.segments, [&](plan::SegmentLaunch& segment) { visit(a, segment); });
  a.list(x.hidden, [&](Hidden& hidden) { visit(a, hidden); });
  a.number(x.control.fixpoints);
  a.number(x.control.resumes);
  a.list(x.fixpoints, [&](plan::FixpointInfo& fixpoint) { visit(a, fixpoint); });
  a.list(x.resumes, [&](plan::ResumeInfo& resume) { a.number(resume.tag); });
  a.list(x.sites, [&](plan::Site& site) {
    a.number(site.tag);
    a.flag(site.zero_passes);
    a.flag(site.assertion);
  });
  const auto printed = [&](plan::PrintSite& site) {
    a.text(site.format);
    a.list(site.types, [&](ir::Type& type) { a.one_of(type, ir::kTypeCount); });
  };
  a.list(x.prints, printed);
  a.list(x.asserts, printed);
  a.number(x.print_words);
  a.number(x.frame_words);
  a.number(x.group_frame_words);
  a.number(x.barriers);
  a.flag(x.wide_index);
}

template <class A>
void visit(A& a, Digest& x) {
  for (uint8_t& byte : x.bytes) a.number(byte);
}

}  // namespace

Digest plan_digest(const plan::Plan& plan) {
  ImageWriter out;
  plan::Schedule schedule = plan::schedule_of(plan);
  visit(out, schedule);
  for (const plan::Segment& segment : plan.segments) {
    Digest program = ir::digest_of(segment.program.program);
    visit(out, program);
    out.number(segment.live.value);
  }
  return vyre::digest_of(out.take());
}

std::vector<std::byte> encode(const ArtifactImage& image) {
  ImageWriter out;
  out.one_of(image.format, device::kFormatCount);
  // The writer reads what it visits.
  auto& entries = const_cast<std::vector<Entry>&>(image.entries);
  out.list(entries, [&](Entry& entry) { visit(out, entry); });
  visit(out, const_cast<plan::Schedule&>(image.schedule));
  visit(out, const_cast<Digest&>(image.plan));
  out.data(image.code);
  return out.take();
}

std::optional<DecodedArtifact> decode_artifact(std::span<const std::byte> bytes, size_t buffers) {
  ImageReader in(bytes);
  DecodedArtifact image;
  in.one_of(image.format, device::kFormatCount);
  in.list(image.entries, [&](Entry& entry) { visit(in, entry); });
  visit(in, image.schedule);
  visit(in, image.plan);
  in.data(image.code);
  if (!in.at_end() || !is_consistent(image.schedule, image.entries, buffers)) return std::nullopt;
  return image;
}

}  // namespace vyre::pipeline
