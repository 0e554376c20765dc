// SPDX-License-Identifier: Apache-2.0
// How many lanes a thread runs. Memory of a GPU is as fast as it can be only if threads have enough
// bytes on their way: sixteen each, in one access (measured: docs/performance/cuda.md). Where lanes
// do not wait for each other and access memory side by side, a thread runs several of them.
#include <algorithm>

#include "codegen/llvm/body/divergence.hpp"
#include "codegen/llvm/body/lane_cost.hpp"
#include "codegen/llvm/nvptx/kernel_context.hpp"
#include "codegen/llvm/nvptx/target.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

constexpr uint32_t kMostLanes = 4;
constexpr uint32_t kBytesPerThread = 16;
constexpr uint32_t kThreads = 256;

class Coarsening {
 public:
  explicit Coarsening(const check::CheckedProgram& program)
      : p_(program.program), d_(program, {.lanes = kMostLanes}, {}) {}

  uint32_t lanes() {
    if (!std::ranges::all_of(p_.stmts, [&](const Stmt& s) { return fits(s); })) return 1;
    for (uint32_t i = 0; i < p_.stmts.size(); ++i) {
      const bool loop = std::holds_alternative<For>(p_.stmts[i]);
      if (loop && d_.diverges(StmtId{i})) return 1;
      if (const auto* store = std::get_if<Store>(&p_.stmts[i])) {
        // To one element by all lanes: better left to these.
        if (!d_.varies(store->index)) return 1;
        note_access(store->memory, store->index);
      }
    }
    for (const Expr& e : p_.exprs) {
      if (std::holds_alternative<Atomic>(e) || std::holds_alternative<Call>(e)) return 1;
      if (const auto* load = std::get_if<Load>(&e)) note_access(load->memory, load->index);
    }
    if (!fits_ || largest_ == 0) return 1;
    return std::min(kMostLanes, kBytesPerThread / largest_);
  }

 private:
  static bool fits(const Stmt& s) {
    return !std::holds_alternative<While>(s) && !std::holds_alternative<DeclareArray>(s) &&
           !std::holds_alternative<Trap>(s) && !std::holds_alternative<Break>(s) &&
           !std::holds_alternative<Continue>(s);
  }

  [[nodiscard]] bool depends_on_data(ExprId id) const {
    if (std::holds_alternative<Load>(p_[id])) return true;
    bool inner = false;
    if (const auto* ref = std::get_if<LocalRef>(&p_[id])) {
      for (const Stmt& s : p_.stmts)
        if (const auto* let = std::get_if<Let>(&s); let != nullptr && let->local == ref->local)
          inner = inner || depends_on_data(let->value);
    }
    for_each_operand(p_, p_[id], [&](ExprId e) { inner = inner || depends_on_data(e); });
    return inner;
  }

  // Rows of lanes are what it is about; what all lanes share costs nothing, and what is gathered is
  // scattered anyway. But a thread that owned more than its sixteen bytes would be slower than one
  // lane.
  void note_access(Memory memory, ExprId index) {
    if (memory.kind != Memory::Kind::Buffer || !d_.varies(index)) {
      fits_ = fits_ && memory.kind != Memory::Kind::Local;
      return;
    }
    if (d_.counts_lanes(index))
      largest_ = std::max(largest_, bytes_of(p_[memory.buffer()].element));
    else
      fits_ = fits_ && depends_on_data(index) && bytes_of(p_[memory.buffer()].element) >= 4;
  }

  const Program& p_;
  Divergence d_;
  uint32_t largest_ = 0;  // bytes of elements that lanes have side by side
  bool fits_ = true;
};

}  // namespace

ThreadShape thread_shape(const check::CheckedProgram& program, bool checked, uint32_t wanted) {
  const auto& size = program.workgroup;
  ThreadShape one{.lanes = 1, .threads = size[0] * size[1] * size[2]};
  if (checked || wanted == 1 || size[1] != 1 || size[2] != 1 || !may_merge(program)) return one;
  const ThreadUse use = thread_use(program, checked);
  if (use.waits || use.subgroups || use.copies) return one;
  // Several versions of much code are too much, as lanes of vectors are on a processor.
  if (inlined_size(program).size > CodeBudget{}.vectors) return one;
  uint32_t lanes = Coarsening(program).lanes();
  if (wanted != 0) lanes = std::min(lanes, wanted);
  return lanes == 1 ? one : ThreadShape{.lanes = lanes, .threads = kThreads};
}

SharedLayout shared_layout(const check::CheckedProgram& program) {
  const auto up = [](uint64_t n, uint64_t to) { return (n + to - 1) / to * to; };
  const auto& buffers = program.program.buffers;
  SharedLayout layout{.at = std::vector<uint64_t>(buffers.size()),
                      .bytes = device::kGpuSharedHeader,
                      .alignment = device::kGpuSharedRow};
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].kind != ir::BufferKind::Shared) continue;
    const uint64_t own =
        uint64_t{*program.buffers[i].constant_count} * ir::bytes_of(buffers[i].element);
    const uint64_t alignment = std::max<uint64_t>(program.buffers[i].align, device::kGpuSharedRow);
    layout.alignment = std::max(layout.alignment, alignment);
    layout.at[i] = up(layout.bytes, alignment);
    layout.bytes = layout.at[i] + up(own, device::kGpuSharedRow);
  }
  return layout;
}

bool is_launchable(const plan::Segment& segment) {
  if (!segment.live.valid()) return true;
  const ir::Program& p = segment.program.program;
  return std::ranges::none_of(
             p.exprs, [](const ir::Expr& e) { return std::holds_alternative<ir::Subgroup>(e); }) &&
         std::ranges::none_of(p.stmts, [](const ir::Stmt& s) {
           const auto* barrier = std::get_if<ir::Barrier>(&s);
           return barrier != nullptr && barrier->scope == ir::Scope::Subgroup;
         });
}

}  // namespace vyre::codegen
