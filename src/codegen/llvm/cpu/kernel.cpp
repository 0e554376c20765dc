// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/cpu/kernel.hpp"

#include <cstddef>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/match.hpp"
#include "codegen/llvm/body/lane_cost.hpp"
#include "codegen/llvm/cpu/blocks.hpp"
#include "codegen/llvm/cpu/buffer_use.hpp"
#include "codegen/llvm/cpu/demanded_lanes.hpp"
#include "codegen/llvm/cpu/privatised_reductions.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;
using device::KernelArgs;
using device::KernelBinding;
using device::KernelStop;
using device::KernelWorker;
using plan::Hidden;

namespace {

// Memory of a plan that one worker keeps for the workgroup it runs.
struct HiddenRow {
  MemoryRef memory;  // without address
  uint64_t at = 0;
  uint64_t other = 0;  // the second half
  uint64_t bytes = 0;
  bool two_halves = false;
};

constexpr uint64_t kLine = 64;
uint64_t round_up(uint64_t n, uint64_t to = kLine) {
  return (n + to - 1) / to * to;
}

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const KernelSource& source, const HostTarget& target)
      : module_(module),
        context_(module.getContext()),
        b_(context_),
        segment_(source.segment),
        program_(segment_.program),
        phases_(source.phases),
        sizes_(source.sizes),
        number_(source.number),
        target_(target),
        uses_(buffer_uses(segment_.program)) {}

  device::KernelInfo run() {
    begin();
    for (size_t i = 0; i < phases_.count(); ++i) prepare_phase(i);
    lay_out_scratch();
    group_bytes_ = scratch_bytes_;
    std::optional<PrivatisedReductions> copies;
    if (!target_.checked) copies.emplace(program_, uses_, scratch_bytes_);
    if (copies && copies->empty()) copies.reset();
    if (copies) copies->enter(b_, memories_, grid_, scratch_, worker_);
    groups();
    b_.SetInsertPoint(exit_);
    b_.CreateRetVoid();
    device::KernelInfo info;
    if (copies) {
      info.flags |= device::KernelInfo::kHasFinish;
      copies->finish(b_, module_, number_, target_.half_conversions);
    }
    if (phases_.cut() == nullptr && plans_[0].needed.one && plans_[0].merges)
      info.flags |= device::KernelInfo::kOneGroup;
    // Phases in a loop are counted once.
    if (cost_guessed_ || loops_ != 0) info.flags |= device::KernelInfo::kCostGuessed;
    info.scratch_bytes = scratch_bytes_;
    info.cost = static_cast<uint32_t>(std::clamp(group_cost() / lanes_per_group(), 1.0, 1e9));
    return info;
  }

 private:
  struct Phase {
    const check::CheckedProgram* program = nullptr;
    BlockShape shape;
    std::vector<bool> serialised;
    std::optional<Divergence> divergence;
    bool merges = false;  // lanes of several workgroups may be one row
    DemandedLanes needed;
    double cost = 1;
  };

  // ---- the function

  void begin() {
    llvm::Type* const ptr = b_.getPtrTy();
    llvm::Type* const word = b_.getInt64Ty();
    llvm::FunctionType* const type =
        llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, word, word}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       fmt::format("vyre_entry_{}", number_), module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    for (unsigned i = 0; i < 2; ++i) function_->addParamAttr(i, llvm::Attribute::NonNull);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
    exit_ = llvm::BasicBlock::Create(context_, "exit", function_);
    args_ = function_->getArg(0);
    worker_ = function_->getArg(1);
    for (uint32_t axis = 0; axis < 3; ++axis)
      grid_[axis] = invariant(b_.getInt32Ty(), args_, offsetof(KernelArgs, grid) + 4 * axis);
    scratch_ = invariant(ptr, worker_, offsetof(KernelWorker, scratch));
    work_left_ = b_.CreateAlloca(b_.getInt32Ty());
    b_.CreateStore(b_.getInt32(kUnitsPerPoll), work_left_);

    llvm::MDBuilder md(context_);
    domain_ = md.createAnonymousAliasScopeDomain();
    const auto& buffers = program_.program.buffers;
    for (uint32_t i = 0; i < buffers.size(); ++i) {
      MemoryRef m;
      m.element = buffers[i].element;
      const uint64_t at = sizeof(KernelArgs) + i * sizeof(KernelBinding);
      m.address = invariant(ptr, args_, at + offsetof(KernelBinding, address));
      if (buffers[i].kind != BufferKind::Shared) {
        auto* const load = llvm::cast<llvm::LoadInst>(m.address);
        const uint64_t alignment = std::max<uint64_t>(program_.buffers[i].align, 256);
        load->setMetadata(
            llvm::LLVMContext::MD_align,
            llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(
                                            llvm::ConstantInt::get(b_.getInt64Ty(), alignment))));
      }
      m.length = invariant(b_.getInt32Ty(), args_, at + offsetof(KernelBinding, length));
      m.invariant = is_read_only(buffers[i].kind);
      memories_.push_back(m);
    }
  }

  llvm::Value* invariant(llvm::Type* type, llvm::Value* base, uint64_t offset) {
    return invariant_load(b_, type, base, offset);
  }
  llvm::Value* address(llvm::Value* base, uint64_t offset) {
    return byte_address(b_, base, offset);
  }

  // By buffer of the phase.
  [[nodiscard]] std::vector<bool> own_memory(size_t phase) const {
    std::vector<bool> own;
    const auto& buffers = program_.program.buffers;
    const auto shared = [&](uint32_t i) { return buffers[i].kind == BufferKind::Shared; };
    if (phases_.cut() == nullptr)
      for (uint32_t i = 0; i < buffers.size(); ++i) own.push_back(shared(i));
    else
      for (const plan::Argument& a : phases_.cut()->segments[phase].arguments)
        own.push_back(a.kind != plan::Argument::Kind::Source || shared(a.index));
    return own;
  }

  [[nodiscard]] std::vector<BufferUse> uses_in(size_t phase) const {
    if (phases_.cut() == nullptr) return uses_;
    std::vector<BufferUse> uses;
    for (const plan::Argument& a : phases_.cut()->segments[phase].arguments)
      uses.push_back(a.kind == plan::Argument::Kind::Source ? uses_[a.index] : BufferUse{});
    return uses;
  }

  void prepare_phase(size_t i) {
    Phase phase;
    phase.program = &phases_.program(i);
    if (!target_.checked) phase.needed = demanded_lanes(*phase.program);
    if (!phase.needed.one) {
      // Only subgroups have to be vectors.
      const bool one_lane = target_.checked || target_.effort != Effort::Full;
      PhaseShape chosen = choose_shape(
          *phase.program, own_memory(i), uses_in(i),
          {.one_lane = one_lane, .wide_vectors = target_.wide_vectors, .lanes = target_.lanes});
      phase.shape = chosen.block;
      phase.serialised = std::move(chosen.serialised);
    }
    phase.divergence.emplace(*phase.program, phase.shape,
                             Divergence::Options{.accesses_end = target_.checked});
    // Workgroups lie side by side along x.
    phase.merges = phases_.cut() == nullptr && !phase.shape.packed && phase.shape.axis == 0 &&
                   may_merge(*phase.program);
    const Cost cost = estimated_cost(*phase.program, phase.shape.lanes);
    phase.cost = cost.lane;
    cost_guessed_ = cost_guessed_ || cost.guessed;
    if (phase.needed.one) phase.cost /= lanes_per_group();
    plans_.push_back(std::move(phase));
  }

  // ---- scratch: shared memory and what lives across workgroup barriers

  void lay_out_scratch() {
    const auto take = [&](uint64_t bytes, uint64_t alignment = kLine) {
      const uint64_t at = round_up(scratch_bytes_, alignment);
      scratch_bytes_ = at + round_up(bytes);
      return at;
    };
    const auto& buffers = program_.program.buffers;
    shared_at_.resize(buffers.size());
    kept_ = memories_;
    for (uint32_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].kind != BufferKind::Shared) continue;
      MemoryRef& m = memories_[i];
      shared_at_[i] = take(shared_bytes(i), std::max<uint64_t>(program_.buffers[i].align, kLine));
      m.address = address(scratch_, shared_at_[i]);
      m.length = b_.getInt32(*program_.buffers[i].constant_count);
      m.own = true;
      m.invariant = false;
    }
    if (const plan::Plan* cut = phases_.cut()) {
      const uint64_t lanes = lanes_per_group();
      for (const Hidden& h : cut->hidden) {
        const uint64_t count =
            h.extent == Hidden::Extent::PerLane ? uint64_t{h.count} * lanes : h.count;
        HiddenRow row;
        row.bytes = count * bytes_of(h.element);
        row.at = take(row.bytes);
        if (h.two_halves) row.other = take(row.bytes);
        row.memory.element = h.element;
        row.memory.length = b_.getInt32(static_cast<uint32_t>(count));
        row.memory.own = true;
        row.two_halves = h.two_halves;
        hidden_.push_back(row);
      }
      half_ = b_.CreateAlloca(b_.getInt1Ty());
    }
    // A scope for each piece of memory; the halves of a frame change places and share one.
    llvm::MDBuilder md(context_);
    std::vector<llvm::Metadata*> scopes;
    for (size_t i = 0; i < memories_.size() + hidden_.size(); ++i)
      scopes.push_back(md.createAnonymousAliasScope(domain_));
    const auto give = [&](MemoryRef& m, size_t own) {
      m.scope = llvm::MDNode::get(context_, {scopes[own]});
      std::vector<llvm::Metadata*> others = scopes;
      others.erase(others.begin() + static_cast<ptrdiff_t>(own));
      m.others = llvm::MDNode::get(context_, others);
    };
    for (size_t i = 0; i < memories_.size(); ++i) give(memories_[i], i);
    for (size_t i = 0; i < hidden_.size(); ++i) give(hidden_[i].memory, memories_.size() + i);
  }

  [[nodiscard]] uint64_t shared_bytes(uint32_t buffer) const {
    return uint64_t{*program_.buffers[buffer].constant_count} *
           bytes_of(program_.program.buffers[buffer].element);
  }
  [[nodiscard]] uint32_t lanes_per_group() const {
    return program_.workgroup[0] * program_.workgroup[1] * program_.workgroup[2];
  }

  // ---- workgroups

  void groups() {
    llvm::Type* const word = b_.getInt64Ty();
    group_ = b_.CreateAlloca(word);
    llvm::Value* const first = function_->getArg(2);
    llvm::Value* const end = b_.CreateAdd(first, function_->getArg(3), "", true, true);
    b_.CreateStore(first, group_);
    llvm::BasicBlock* const head = block("groups");
    llvm::BasicBlock* const body = block("group");
    group_done_ = block("group_done");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::Value* const g = b_.CreateLoad(word, group_);
    b_.CreateCondBr(b_.CreateICmpULT(g, end), body, exit_);
    b_.SetInsertPoint(body);

    llvm::Value* const gx = b_.CreateZExt(grid_[0], word);
    llvm::Value* const gy = b_.CreateZExt(grid_[1], word);
    llvm::Value* const wx = b_.CreateURem(g, gx);
    llvm::Value* const row = b_.CreateUDiv(g, gx);
    ids_.wid = {b_.CreateTrunc(wx, b_.getInt32Ty()),
                b_.CreateTrunc(b_.CreateURem(row, gy), b_.getInt32Ty()),
                b_.CreateTrunc(b_.CreateUDiv(row, gy), b_.getInt32Ty())};
    ids_.row_of_groups = b_.CreateTrunc(b_.CreateMul(row, gx), b_.getInt32Ty());
    llvm::Value* run = llvm::ConstantInt::get(word, 1);
    if (phases_.cut() == nullptr && plans_[0].merges) {
      run = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateSub(gx, wx),
                                     b_.CreateSub(end, g));
      // Not so many that they could not be stopped.
      const double most = std::max(1.0, kRunCost / group_cost());
      run = b_.CreateBinaryIntrinsic(
          llvm::Intrinsic::umin, run,
          llvm::ConstantInt::get(word, static_cast<uint64_t>(std::min(most, 1e9))));
    }
    if (target_.poison && group_bytes_ != 0)
      b_.CreateMemSet(scratch_, b_.getInt8(static_cast<uint8_t>(*target_.poison)), group_bytes_,
                      llvm::Align(kLine));
    start_shared(g);
    if (phases_.cut() == nullptr) {
      emit_phase(0, wx, run, memories_);
      b_.CreateBr(group_done_);
    } else {
      start_hidden();
      steps(phases_.cut()->steps);
      if (b_.GetInsertBlock()->getTerminator() == nullptr) b_.CreateBr(group_done_);
    }
    b_.SetInsertPoint(group_done_);
    if (phases_.cut() != nullptr) report_trap(g);
    end_shared(g);
    poll(kNoSite, units(phases_.cut() == nullptr && plans_[0].merges ? kRunCost : group_cost()));
    b_.CreateStore(b_.CreateAdd(g, run, "", true, true), group_);
    b_.CreateBr(head);
  }

  // Of a workgroup, in about a nanosecond.
  [[nodiscard]] double group_cost() const {
    double cost = 0;
    for (const Phase& phase : plans_) cost += phase.cost;
    return cost * lanes_per_group();
  }
  // Of work_left_, which stand for an iteration of a loop each.
  static uint32_t units(double cost) {
    return static_cast<uint32_t>(std::clamp(cost / 4, 1.0, double{kUnitsPerPoll}));
  }

  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(context_, name, b_.GetInsertBlock()->getParent());
  }

  llvm::Value* kept_area(const plan::SharedUse& use, llvm::Value* group) {
    llvm::Value* const offset = b_.CreateMul(
        group, llvm::ConstantInt::get(b_.getInt64Ty(), shared_bytes(use.buffer.value)));
    return b_.CreateGEP(b_.getInt8Ty(), kept_[use.buffer.index()].address, offset);
  }

  void start_shared(llvm::Value* group) {
    const auto& buffers = program_.program.buffers;
    for (uint32_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].kind != BufferKind::Shared) continue;
      const plan::SharedUse* restored = nullptr;
      for (const plan::SharedUse& use : segment_.shared)
        if (use.buffer.value == i && use.restore) restored = &use;
      const llvm::Align line(kLine);
      if (restored != nullptr)
        b_.CreateMemCpy(memories_[i].address, line, kept_area(*restored, group), llvm::Align(1),
                        shared_bytes(i));
      else if (!overwritten_first(i))
        b_.CreateMemSet(memories_[i].address, b_.getInt8(0), shared_bytes(i), line);
    }
  }

  [[nodiscard]] bool overwritten_first(uint32_t shared) const {
    const plan::Plan* const cut = phases_.cut();
    if (cut == nullptr || target_.checked || cut->steps.empty()) return false;
    const auto* const first = std::get_if<plan::LaunchStep>(&cut->steps.front().node);
    if (first == nullptr) return false;
    const plan::Segment& phase = cut->segments[first->segment];
    for (uint32_t i = 0; i < phase.arguments.size(); ++i)
      if (phase.arguments[i].kind == plan::Argument::Kind::Source &&
          phase.arguments[i].index == shared)
        return overwrites(phase.program, BufferId{i});
    return false;
  }

  void end_shared(llvm::Value* group) {
    for (const plan::SharedUse& use : segment_.shared)
      if (use.save)
        b_.CreateMemCpy(kept_area(use, group), llvm::Align(1),
                        memories_[use.buffer.index()].address, llvm::Align(kLine),
                        shared_bytes(use.buffer.value));
  }

  // ---- a segment that is cut

  llvm::Value* hidden_address(const HiddenRow& row, bool out) {
    if (!row.two_halves) return address(scratch_, row.at);
    llvm::Value* const half = b_.CreateLoad(b_.getInt1Ty(), half_);
    llvm::Value* const a = address(scratch_, row.at);
    llvm::Value* const b = address(scratch_, row.other);
    return out ? b_.CreateSelect(half, a, b) : b_.CreateSelect(half, b, a);
  }
  llvm::Value* control_word(uint32_t word) {
    const uint32_t row = *phases_.cut()->find_hidden(Hidden::Kind::Control);
    return address(scratch_, hidden_[row].at + uint64_t{4} * word);
  }

  // What is read before it is written.
  void start_hidden() {
    b_.CreateStore(b_.getFalse(), half_);
    const plan::Plan& cut = *phases_.cut();
    for (size_t i = 0; i < hidden_.size(); ++i)
      if (cut.hidden[i].kind == Hidden::Kind::Mask)
        b_.CreateMemSet(address(scratch_, hidden_[i].at), b_.getInt8(0), hidden_[i].bytes,
                        llvm::Align(kLine));
    b_.CreateStore(b_.getInt32(plan::kNoLane), control_word(plan::ControlWords::kStop));
  }

  llvm::Value* frame_word(uint32_t word) {
    const uint32_t row = *phases_.cut()->find_hidden(Hidden::Kind::Frame);
    return b_.CreateLoad(b_.getInt32Ty(),
                         address(hidden_address(hidden_[row], false), uint64_t{4} * word));
  }
  llvm::Value* is_set(uint32_t word) { return b_.CreateICmpNE(frame_word(word), b_.getInt32(0)); }

  void steps(const plan::Steps& list) {
    for (const plan::Step& step : list) {
      if (b_.GetInsertBlock()->getTerminator() != nullptr) return;
      match(
          step.node, [&](const plan::LaunchStep& x) { launch(x.segment); },
          [](const plan::PhaseStep&) {},
          [&](const plan::BranchStep& x) {
            llvm::BasicBlock* const yes = block("branch_then");
            llvm::BasicBlock* const no = block("branch_else");
            llvm::BasicBlock* const after = block("branch_after");
            b_.CreateCondBr(is_set(x.word), yes, no);
            b_.SetInsertPoint(yes);
            steps(x.then_steps);
            b_.CreateBr(after);
            b_.SetInsertPoint(no);
            steps(x.else_steps);
            b_.CreateBr(after);
            b_.SetInsertPoint(after);
          },
          [&](const plan::LoopStep& x) {
            const uint32_t number = loops_++;
            llvm::BasicBlock* const head = block("loop");
            llvm::BasicBlock* const body = block("loop_body");
            llvm::BasicBlock* const after = block("loop_after");
            b_.CreateBr(head);
            b_.SetInsertPoint(head);
            steps(x.condition);
            b_.CreateCondBr(is_set(x.word), body, after);
            b_.SetInsertPoint(body);
            steps(x.body);
            poll(kLoopSites + number);
            b_.CreateBr(head);
            b_.SetInsertPoint(after);
          },
          [](const plan::FixpointStep&) { VYRE_CHECK(!"a fixpoint is of the grid"); },
          [](const plan::ResumeStep&) { VYRE_CHECK(!"a resume is of the grid"); },
          [](const plan::CollectiveStep&) { VYRE_CHECK(!"a collective is of the grid"); },
          [&](const plan::CopyStep& x) { copy(x); },
          [](const plan::SwapStep&) { VYRE_CHECK(!"a swap is of the grid"); });
    }
  }

  void launch(uint32_t index) {
    const plan::Segment& phase = phases_.cut()->segments[index];
    std::vector<MemoryRef> memories;
    for (size_t i = 0; i < phase.arguments.size(); ++i) {
      const plan::Argument& a = phase.arguments[i];
      MemoryRef m;
      if (a.kind == plan::Argument::Kind::Source) {
        m = memories_[a.index];
      } else {
        m = hidden_[a.index].memory;
        const bool out = a.kind == plan::Argument::Kind::HiddenOut;
        m.address = hidden_address(hidden_[a.index], out);
        m.phase_invariant = hidden_[a.index].two_halves && !out;
      }
      memories.push_back(m);
    }
    llvm::Value* const live = control_word(plan::ControlWords::kLive);
    if (phase.reports_live) b_.CreateStore(b_.getInt32(0), live);
    const auto emit = [&] {
      emit_phase(index, b_.CreateZExt(ids_.wid[0], b_.getInt64Ty()),
                 llvm::ConstantInt::get(b_.getInt64Ty(), 1), memories);
    };
    if (target_.effort == Effort::Full) {
      emit();
    } else {
      // What takes LLVM longer than in proportion to a function does so for one phase only.
      const OutOfLine function =
          make_out_of_line(b_, fmt::format("vyre_phase_{}_{}", number_, index), {}, nullptr,
                           [&](llvm::Function&) -> llvm::Value* {
                             emit();
                             return nullptr;
                           });
      call_out_of_line(b_, function, {});
    }
    if (phase.reports_live) {
      llvm::BasicBlock* const on = block("live");
      b_.CreateCondBr(b_.CreateICmpNE(b_.CreateLoad(b_.getInt32Ty(), live), b_.getInt32(0)), on,
                      group_done_);
      b_.SetInsertPoint(on);
    }
    if (phase.swaps_frame)
      b_.CreateStore(b_.CreateNot(b_.CreateLoad(b_.getInt1Ty(), half_)), half_);
  }

  // The value as a signed 128-bit number: sums of two cannot overflow.
  llvm::Value* frame_number(uint32_t word, Type type) {
    llvm::Type* const wide = b_.getInt128Ty();
    llvm::Value* v = frame_word(word);
    if (bits_of(type) == 64) {
      llvm::Type* const t = b_.getInt64Ty();
      v = b_.CreateOr(b_.CreateZExt(v, t),
                      b_.CreateShl(b_.CreateZExt(frame_word(word + 1), t), 32));
    }
    return is_signed(type) ? b_.CreateSExt(v, wide) : b_.CreateZExt(v, wide);
  }

  // Elements that the source does not have are zeros, those that the destination does not have are
  // dropped.
  void copy(const plan::CopyStep& x) {
    llvm::Type* const wide = b_.getInt128Ty();
    const auto number = [&](int64_t n) { return llvm::ConstantInt::getSigned(wide, n); };
    const MemoryRef& to = memories_[x.dst.index()];
    const MemoryRef& from = memories_[x.src.index()];
    llvm::Value* const dst = frame_number(x.dst_word, x.dst_type);
    llvm::Value* const src = frame_number(x.src_word, x.src_type);
    llvm::Value* const count = b_.CreateBinaryIntrinsic(
        llvm::Intrinsic::smax, frame_number(x.count_word, x.count_type), number(0));
    llvm::Value* const to_length = b_.CreateZExt(to.length, wide);
    llvm::Value* const from_length = b_.CreateZExt(from.length, wide);
    if (target_.checked) check_copy(dst, src, count, to_length, from_length);
    llvm::Value* const first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, dst, number(0));
    llvm::Value* const last =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(dst, count), to_length);
    const uint32_t size = bytes_of(to.element);
    llvm::Type* const element = b_.getIntNTy(size * 8);
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const each = block("copy");
    llvm::BasicBlock* const after = block("copied");
    b_.CreateCondBr(b_.CreateICmpSLT(first, last), each, after);
    b_.SetInsertPoint(each);
    llvm::PHINode* const k = b_.CreatePHI(wide, 2);
    k->addIncoming(number(0), before);
    llvm::Value* e = b_.CreateAdd(first, k);
    // Within one buffer: what is still to be read is not written over.
    if (x.dst == x.src)
      e = b_.CreateSelect(b_.CreateICmpSGT(dst, src),
                          b_.CreateSub(b_.CreateSub(last, number(1)), k), e);
    llvm::Value* const s = b_.CreateAdd(src, b_.CreateSub(e, dst));
    llvm::Value* const inside = b_.CreateICmpULT(s, from_length);
    const auto at = [&](const MemoryRef& m, llvm::Value* index) {
      return b_.CreateGEP(element, m.address, b_.CreateTrunc(index, b_.getInt64Ty()));
    };
    llvm::Value* const read = b_.CreateSelect(inside, at(from, s), zero_global(module_));
    b_.CreateAlignedStore(b_.CreateAlignedLoad(element, read, llvm::Align(size)), at(to, e),
                          llvm::Align(size));
    llvm::Value* const next = b_.CreateAdd(k, number(1));
    k->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(b_.CreateAdd(first, next), last), each, after);
    b_.SetInsertPoint(after);
  }

  // Checked mode: every live lane of the workgroup stops, and the smallest of them says why.
  void check_copy(llvm::Value* dst, llvm::Value* src, llvm::Value* count, llvm::Value* to_length,
                  llvm::Value* from_length) {
    const uint32_t number = copies_++;
    for (const bool source : {true, false}) {
      llvm::Value* const length = source ? from_length : to_length;
      const OutsideCopy found = outside_copy(b_, source ? src : dst, count, length);
      llvm::BasicBlock* const stop = block("copy_outside");
      llvm::BasicBlock* const fine = block("copy_inside");
      b_.CreateCondBr(found.outside, stop, fine);
      b_.SetInsertPoint(stop);
      llvm::Value* const lane = b_.CreateAdd(group_lane_base(), first_live_lane());
      record(KernelStop::Kind::OutOfBounds, kCopySites + 2 * number + (source ? 0 : 1), lane,
             b_.CreateTrunc(length, b_.getInt32Ty()), found.index);
      b_.CreateBr(group_done_);
      b_.SetInsertPoint(fine);
    }
  }

  llvm::Value* group_lane_base() {
    return b_.CreateMul(b_.CreateTrunc(b_.CreateLoad(b_.getInt64Ty(), group_), b_.getInt32Ty()),
                        b_.getInt32(lanes_per_group()));
  }

  // In checked mode there is always a mask, and a lane is live where a copy starts.
  llvm::Value* first_live_lane() {
    const uint32_t row = *phases_.cut()->find_hidden(Hidden::Kind::Mask);
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const test = block("look");
    llvm::BasicBlock* const found = block("found");
    b_.CreateBr(test);
    b_.SetInsertPoint(test);
    llvm::PHINode* const lane = b_.CreatePHI(b_.getInt32Ty(), 2);
    lane->addIncoming(b_.getInt32(0), before);
    llvm::Value* const state = b_.CreateLoad(
        b_.getInt32Ty(), b_.CreateGEP(b_.getInt32Ty(), address(scratch_, hidden_[row].at), lane));
    llvm::Value* const next = b_.CreateAdd(lane, b_.getInt32(1));
    lane->addIncoming(next, test);
    llvm::Value* const stop = b_.CreateOr(b_.CreateICmpEQ(state, b_.getInt32(plan::kLive)),
                                          b_.CreateICmpEQ(next, b_.getInt32(lanes_per_group())));
    b_.CreateCondBr(stop, found, test);
    b_.SetInsertPoint(found);
    return lane;
  }

  // The smallest lane of the workgroup that trapped.
  void report_trap(llvm::Value* group) {
    const plan::Plan& cut = *phases_.cut();
    const auto value_row = cut.find_hidden(Hidden::Kind::ReportValue);
    const auto site_row = cut.find_hidden(Hidden::Kind::ReportSite);
    if (!value_row || !site_row) return;
    llvm::Value* const lane =
        b_.CreateLoad(b_.getInt32Ty(), control_word(plan::ControlWords::kStop));
    llvm::BasicBlock* const trapped = block("trapped");
    llvm::BasicBlock* const after = block("not_trapped");
    b_.CreateCondBr(b_.CreateICmpNE(lane, b_.getInt32(plan::kNoLane)), trapped, after);
    b_.SetInsertPoint(trapped);
    const auto of_lane = [&](uint32_t row) {
      return b_.CreateLoad(b_.getInt32Ty(),
                           b_.CreateGEP(b_.getInt32Ty(), address(scratch_, hidden_[row].at),
                                        b_.CreateZExt(lane, b_.getInt64Ty())));
    };
    llvm::Value* const global = b_.CreateAdd(
        b_.CreateMul(b_.CreateTrunc(group, b_.getInt32Ty()), b_.getInt32(lanes_per_group())), lane);
    record(KernelStop::Kind::Trap, of_lane(*site_row), global, of_lane(*value_row),
           llvm::ConstantInt::get(b_.getInt64Ty(), 0));
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  // ---- phases

  void emit_phase(size_t index, llvm::Value* wx, llvm::Value* run,
                  const std::vector<MemoryRef>& memories) {
    const Phase& phase = plans_[index];
    std::function<void()> block_done;
    if (const double cost = phase.cost * phase.shape.lanes; cost > kLongBlock)
      block_done = [this, cost] { poll(kNoSite, units(cost)); };
    const BlockKernel kernel{
        .memories = &memories,
        .ids = ids_,
        .grid = grid_,
        .merges = phase.merges,
        .trapped =
            [&, index](SiteRef site, llvm::Value* lane, llvm::Value* value) {
              record(KernelStop::Kind::Trap, b_.getInt32(phases_.site(index, site)), lane, value,
                     llvm::ConstantInt::get(b_.getInt64Ty(), 0));
            },
        .out_of_bounds =
            [&, index](SiteRef site, const MemoryRef& m, llvm::Value* lane, llvm::Value* i) {
              record(KernelStop::Kind::OutOfBounds, b_.getInt32(phases_.site(index, site)), lane,
                     m.length, i, m.argument);
            },
        .poll = [&, index](SiteRef site,
                           llvm::Value* weight) { poll(phases_.site(index, site), weight); },
        .iterations_left =
            [&](uint32_t weight_bits) {
              llvm::Value* const left = b_.CreateLoad(b_.getInt32Ty(), work_left_);
              return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax,
                                              b_.CreateLShr(left, weight_bits), b_.getInt32(1));
            },
        .streams = [&](BufferId id) -> llvm::Value* {
          // What a workgroup has for itself is small, and read soon.
          if (memories[id.index()].own) return nullptr;
          switch (phase.program->program[id].locality) {
            case Locality::Streaming: return b_.getTrue();
            case Locality::Temporal: return nullptr;
            case Locality::None:
            case Locality::Random: break;
          }
          return streams(id);
        },
        .block_done = block_done,
    };
    emit_blocks(b_, kernel, *phase.program, *phase.divergence,
                {.shape = phase.shape,
                 .checked = target_.checked,
                 .half_conversions = target_.half_conversions,
                 .cheap_masks = target_.cheap_masks,
                 .test = phase.needed.test,
                 .jumps_over_accesses = phase.shape.lanes == 1,
                 .splits_loops = target_.effort == Effort::Full,
                 .shared_lines = true,
                 .fences_releases = streams_on_request(),
                 .approximations = kHostApproximations,
                 .ulp_budget = target_.ulp_budget,
                 .serialised = phase.serialised.empty() ? nullptr : &phase.serialised,
                 .size = sizes_.empty() ? nullptr : &sizes_[index]},
                wx, run, phase.needed.one);
  }

  // Stores past the caches may be seen late, which a release must not be. Where no declaration
  // requested them, no other lane of the launch reads what they write (BufferUse::stored_once).
  [[nodiscard]] bool streams_on_request() const {
    return std::ranges::any_of(program_.program.buffers, [](const Buffer& b) {
      return b.locality == Locality::Streaming && !is_read_only(b.kind) &&
             b.kind != BufferKind::Shared;
    });
  }

  // What is too large for the caches and will not be read again in this dispatch may be
  // written past them: whether it is that large.
  llvm::Value* streams(BufferId id) {
    if (!target_.runs_once || phases_.cut() != nullptr || !uses_[id.index()].stored_once)
      return nullptr;
    const MemoryRef& m = memories_[id.index()];
    llvm::Type* const word = b_.getInt64Ty();
    llvm::Value* const bytes = b_.CreateMul(b_.CreateZExt(m.length, word),
                                            llvm::ConstantInt::get(word, bytes_of(m.element)));
    return b_.CreateICmpUGT(bytes, invariant(word, args_, offsetof(KernelArgs, stream_bytes)));
  }

  // ---- reports to the worker

  void record(KernelStop::Kind kind, uint32_t site, llvm::Value* lane, llvm::Value* value,
              llvm::Value* index) {
    record(kind, b_.getInt32(site), lane, value, index);
  }
  void record(KernelStop::Kind kind, llvm::Value* site, llvm::Value* lane, llvm::Value* value,
              llvm::Value* index, uint16_t memory = 0) {
    const uint64_t at = offsetof(KernelWorker, stop);
    llvm::Value* const lowest = address(worker_, at + offsetof(KernelStop, lane));
    llvm::BasicBlock* const write = block("stop");
    llvm::BasicBlock* const after = block("stop_after");
    b_.CreateCondBr(b_.CreateICmpULT(lane, b_.CreateLoad(b_.getInt32Ty(), lowest)), write, after);
    b_.SetInsertPoint(write);
    b_.CreateStore(b_.getInt16(static_cast<uint16_t>(kind)),
                   address(worker_, at + offsetof(KernelStop, kind)));
    b_.CreateStore(b_.getInt16(memory), address(worker_, at + offsetof(KernelStop, memory)));
    b_.CreateStore(site, address(worker_, at + offsetof(KernelStop, site)));
    b_.CreateStore(lane, lowest);
    b_.CreateStore(value, address(worker_, at + offsetof(KernelStop, value)));
    b_.CreateStore(index, address(worker_, at + offsetof(KernelStop, index)));
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  void poll(uint32_t site, uint32_t by = 1) { poll(site, b_.getInt32(by)); }
  void poll(uint32_t site, llvm::Value* by) {
    llvm::Type* const word = b_.getInt32Ty();
    llvm::Value* const left = b_.CreateSub(b_.CreateLoad(word, work_left_), by);
    b_.CreateStore(left, work_left_);
    llvm::BasicBlock* const due = block("ask");
    llvm::BasicBlock* const on = block("on");
    llvm::MDBuilder md(context_);
    b_.CreateCondBr(b_.CreateICmpSLE(left, b_.getInt32(0)), due, on,
                    md.createBranchWeights(1, kUnitsPerPoll));
    b_.SetInsertPoint(due);
    b_.CreateStore(b_.getInt32(kUnitsPerPoll), work_left_);
    llvm::FunctionType* const type = llvm::FunctionType::get(word, {b_.getPtrTy(), word}, false);
    llvm::Value* const function =
        b_.CreateLoad(b_.getPtrTy(), address(worker_, offsetof(KernelWorker, poll)));
    llvm::Value* const give_up = b_.CreateCall(type, function, {worker_, b_.getInt32(site)});
    b_.CreateCondBr(b_.CreateICmpNE(give_up, b_.getInt32(0)), exit_, on);
    b_.SetInsertPoint(on);
  }

  static constexpr uint32_t kUnitsPerPoll = 1U << 14;
  static constexpr double kRunCost = 1U << 18;    // of workgroups in one row
  static constexpr double kLongBlock = 1U << 10;  // of a block that polls on its own

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  Builder b_;
  const plan::Segment& segment_;
  const check::CheckedProgram& program_;
  const Phases& phases_;
  std::span<const CodeSize> sizes_;  // by phase
  uint32_t number_;
  HostTarget target_;
  std::vector<BufferUse> uses_;

  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* exit_ = nullptr;
  llvm::BasicBlock* group_done_ = nullptr;
  llvm::Value* args_ = nullptr;
  llvm::Value* worker_ = nullptr;
  llvm::Value* scratch_ = nullptr;
  llvm::Value* work_left_ = nullptr;
  llvm::Value* group_ = nullptr;
  llvm::Value* half_ = nullptr;
  std::array<llvm::Value*, 3> grid_ = {};
  GroupIds ids_;
  llvm::MDNode* domain_ = nullptr;
  std::vector<MemoryRef> memories_;  // by buffer of the segment; shared ones in scratch
  std::vector<MemoryRef> kept_;      // as bound: where shared memory is kept
  std::vector<uint64_t> shared_at_;
  std::vector<HiddenRow> hidden_;
  std::vector<Phase> plans_;
  uint64_t scratch_bytes_ = 0;
  uint64_t group_bytes_ = 0;  // of these, what a workgroup begins anew
  uint32_t copies_ = 0;
  uint32_t loops_ = 0;
  bool cost_guessed_ = false;
};

}  // namespace

device::KernelInfo emit_kernel(llvm::Module& module, const KernelSource& source,
                               const HostTarget& target) {
  return KernelEmitter(module, source, target).run();
}

}  // namespace vyre::codegen
