// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nvptx/kernel.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>
#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/llvm/body/lane_cost.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;
using device::GpuArgs;
using device::KernelBinding;
namespace in = llvm::Intrinsic;

ThreadUse thread_use(const check::CheckedProgram& program, bool accesses_end) {
  const Program& p = program.program;
  ThreadUse use;
  use.ends = accesses_end;
  std::vector<bool> of_function(p.stmts.size());
  const auto mark = [&](auto&& self, Block body) -> void {
    for (const StmtId id : p.items(body)) {
      of_function[id.index()] = true;
      for_each_block(p[id], [&](Block inner) { self(self, inner); });
    }
  };
  for (const Fn& fn : p.fns) mark(mark, fn.body);
  const auto note = [&](std::optional<Scope> scope) {
    if (scope) (*scope == Scope::Subgroup ? use.subgroups : use.waits) = true;
  };
  for (size_t i = 0; i < p.stmts.size(); ++i) {
    const StmtProperties row = properties_of(p.stmts[i]);
    const bool from_function = row.exit == Exit::Return && of_function[i];
    use.ends = use.ends || (row.may_end_lane && !from_function);
    use.copies = use.copies || std::holds_alternative<AsyncCopy>(p.stmts[i]);
    note(row.synchronises);
  }
  for (const Expr& e : p.exprs) note(properties_of(e).synchronises);
  return use;
}

namespace {

// The driver's linker takes more registers than it has to, and blocks that wait for each other lose
// more by it than they win. Programs that do keep much in registers are left alone.
bool needs_few_registers(const Program& program) {
  constexpr size_t kFewLocals = 32;
  const bool arrays = std::ranges::any_of(
      program.stmts, [](const Stmt& s) { return std::holds_alternative<DeclareArray>(s); });
  return !arrays && program.locals.size() <= kFewLocals;
}

// Blocks of so many threads that a multiprocessor has places for.
uint32_t most_blocks(std::string_view architecture, uint32_t threads) {
  const bool half = architecture == "sm_75";
  const bool large = architecture == "sm_80" || architecture == "sm_90";
  const uint32_t warps = half ? 32 : (large ? 64 : 48);
  const uint32_t blocks = large ? 32 : (half ? 16 : (architecture == "sm_89" ? 24 : 16));
  const uint32_t of_block = (threads + kPtxSubgroupLanes - 1) / kPtxSubgroupLanes;
  return std::clamp(warps / of_block, 1U, blocks);
}

}  // namespace

NvptxKernel::NvptxKernel(llvm::Module& module, const plan::Plan& plan, uint32_t number,
                         const Machine& machine, const Options& options)
    : module_(module),
      context_(module.getContext()),
      b_(context_),
      segment_(plan.segments[number]),
      program_(segment_.program),
      number_(number),
      machine_(machine),
      checked_(options.checked),
      poison_(options.poison),
      size_(options.size),
      use_(thread_use(program_, checked_)),
      shape_(thread_shape(program_, checked_)),
      votes_(plan, segment_) {}

void NvptxKernel::run() {
  declare();
  if (!is_launchable(segment_)) {
    b_.CreateRetVoid();
    for (llvm::BasicBlock* const unused : {exit_, leave_}) unused->eraseFromParent();
    return;
  }
  bind_buffers();
  // Of a launch that was given up some blocks may not have begun. To ask is a trip to memory, which
  // is not waited for before a barrier that waits much longer.
  if (const Cost cost = estimated_cost(program_, 1); cost.guessed || cost.lane > kLongLane) {
    if (segment_.barriers_inside && meets_at_top())
      cancel_at_start_ = cancel_word();
    else
      ask_first();
  }
  if (several()) {
    emit_several();
  } else {
    start_shared();
    emit_lanes(1);
  }
  b_.SetInsertPoint(exit_);
  save_shared();
  b_.CreateBr(leave_);
  b_.SetInsertPoint(leave_);
  b_.CreateRetVoid();
  keep_subnormals_in_atomics();
}

// At the insertion point, which comes to nowhere.
void NvptxKernel::emit_lanes(uint32_t lanes) {
  lanes_ = lanes;
  const BlockShape shape{.lanes = lanes};
  const Divergence divergence(program_, shape, {.accesses_end = checked_});
  BodyEmitter code(b_, {.target = *this, .rows = *this, .threads = this}, program_, divergence,
                   {.shape = shape,
                    .checked = checked_,
                    .half_conversions = machine_.half_conversions,
                    .jumps_over_accesses = true,
                    .nests_loops = true,
                    .lanes_are_threads = lanes == 1,
                    .size = size_});
  code.emit(nullptr);
  if (b_.GetInsertBlock()->getTerminator() == nullptr) b_.CreateBr(lane_end_);
}

// Code for all lanes of a thread, and what it relies on.
struct NvptxKernel::Version {
  llvm::BasicBlock* start = nullptr;
  BoundsGuards guards;
};

NvptxKernel::Version NvptxKernel::together(llvm::Value* first, llvm::BasicBlock* before,
                                           bool aligned) {
  Hoister hoister(before, *function_);
  hoister_ = &hoister;
  guards_.clear();
  aligned_ = aligned;
  llvm::BasicBlock* const start = block("together");
  b_.SetInsertPoint(start);
  wide_start_ = first;
  start_ = b_.CreateTrunc(first, b_.getInt32Ty());
  emit_lanes(shape_.lanes);
  hoister_ = nullptr;
  aligned_ = false;
  return {start, guards_};
}

// A row starts at a multiple of the thread's lanes and a constant, and neighbours at the same one:
// LLVM sees what they share and what is aligned.
llvm::Value* NvptxKernel::row_offset(llvm::Value* offset) {
  llvm::Type* const wide = b_.getInt64Ty();
  llvm::Value* const plain = b_.CreateSExt(offset, wide);
  if (!aligned_ || llvm::isa<llvm::Constant>(offset)) return plain;
  int64_t constant = 0;
  llvm::Value* row = offset;
  while (const auto* op = llvm::dyn_cast<llvm::BinaryOperator>(row)) {
    const auto* const k = llvm::dyn_cast<llvm::ConstantInt>(op->getOperand(1));
    if (k == nullptr) break;
    if (op->getOpcode() == llvm::Instruction::Add)
      constant += k->getSExtValue();
    else if (op->getOpcode() == llvm::Instruction::Sub)
      constant -= k->getSExtValue();
    else
      break;
    row = op->getOperand(0);
  }
  llvm::Value* const wide_row = b_.CreateSExt(row, wide);
  llvm::Value* const start = b_.CreateAnd(wide_row, b_.getInt64(~uint64_t{shape_.lanes - 1}));
  llvm::Value* const sum = b_.CreateAdd(start, llvm::ConstantInt::getSigned(wide, constant));
  return guards_.fact(*hoister_, b_.CreateICmpEQ(sum, plain)) ? sum : plain;
}

// All lanes of the thread together if they are inside of everything, otherwise one after the other:
// one test for all accesses, and the code for the ends is small.
void NvptxKernel::emit_several() {
  llvm::Type* const wide = b_.getInt64Ty();
  const auto number = [&](uint64_t n) { return b_.getInt64(n); };
  // Blocks are counted along x; the last one may go past the end of the grid, and of 32 bits.
  llvm::Value* const block_x = b_.CreateZExt(group_id(0), wide);
  llvm::Value* const thread = b_.CreateAdd(b_.CreateMul(block_x, number(threads()), "", true, true),
                                           b_.CreateZExt(lane_in_group(), wide), "", true, true);
  llvm::Value* const first = b_.CreateMul(thread, number(shape_.lanes), "", true, true);
  llvm::Value* const end =
      b_.CreateMul(b_.CreateZExt(grid_[0], wide), number(program_.workgroup[0]), "", true, true);
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  // Rows of a plate may start anywhere. Accesses of sixteen bytes may not: where they would be
  // that, the code is there a second time, for the others.
  std::vector<Version> versions = {together(first, before, true)};
  if (versions[0].guards.has_facts()) versions.push_back(together(first, before, false));
  llvm::BasicBlock* const serialised = block("one_by_one");
  b_.SetInsertPoint(before);
  llvm::MDBuilder md(context_);
  for (const Version& version : versions) {
    llvm::BasicBlock* const otherwise =
        &version == &versions.back() ? serialised : block("not_aligned");
    const BoundsGuards::Range range = version.guards.range(b_, end);
    b_.CreateCondBr(BoundsGuards::inside(b_, range, first, shape_.lanes), version.start, otherwise,
                    md.createBranchWeights(1000, 1));
    b_.SetInsertPoint(otherwise);
  }

  llvm::BasicBlock* const lane = block("lane");
  llvm::BasicBlock* const next = block("next_lane");
  llvm::Value* const last = b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::umin, b_.CreateAdd(first, number(shape_.lanes), "", true, true), end);
  b_.CreateCondBr(b_.CreateICmpULT(first, last), lane, exit_);
  b_.SetInsertPoint(lane);
  llvm::PHINode* const at = b_.CreatePHI(wide, 2);
  at->addIncoming(first, serialised);
  wide_start_ = at;
  start_ = b_.CreateTrunc(at, b_.getInt32Ty());
  lane_end_ = next;
  emit_lanes(1);
  b_.SetInsertPoint(next);
  llvm::Value* const following = b_.CreateAdd(at, number(1), "", true, true);
  at->addIncoming(following, next);
  llvm::Instruction* const again = b_.CreateCondBr(b_.CreateICmpULT(following, last), lane, exit_);
  // Few come here, and the driver takes longer for longer code.
  llvm::MDNode* const rolled =
      llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.unroll.disable")});
  llvm::MDNode* const loop = llvm::MDNode::getDistinct(context_, {nullptr, rolled});
  loop->replaceOperandWith(0, loop);
  again->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

Val NvptxKernel::along_x() {
  if (lanes_ == 1) return {start_, false, nullptr};
  std::vector<uint32_t> numbers(lanes_);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return {b_.CreateAdd(b_.CreateVectorSplat(lanes_, start_),
                       llvm::ConstantDataVector::get(context_, numbers)),
          true, b_.getInt32(0)};
}

Val NvptxKernel::builtin(Builtin builtin, uint32_t axis) {
  switch (builtin) {
    case Builtin::Gid:
      if (several()) return axis == 0 ? along_x() : plain(group_id(axis));
      return plain(b_.CreateAdd(b_.CreateMul(group_id(axis), size_of(axis)), lane_along(axis)));
    case Builtin::Lid: return plain(lane_along(axis));
    case Builtin::Wid: return plain(group_id(axis));
    case Builtin::NumWorkgroups: return plain(grid_[axis]);
    case Builtin::WorkgroupSize: return plain(size_of(axis));
    case Builtin::SubgroupSize: return plain(b_.getInt32(kPtxSubgroupLanes));
    case Builtin::SubgroupLane:
      return plain(b_.CreateAnd(lane_in_group(), b_.getInt32(kPtxSubgroupLanes - 1)));
    case Builtin::SubgroupId:
      return plain(b_.CreateUDiv(lane_in_group(), b_.getInt32(kPtxSubgroupLanes)));
    // Where the program has a fixpoint these are words that the plan keeps.
    case Builtin::FixpointPasses: return plain(b_.getInt32(0));
    case Builtin::FixpointConverged: return plain(b_.getFalse());
  }
  return {};
}

// Of a thread with several lanes: the first of them.
Val NvptxKernel::global_lane() {
  if (several()) {
    llvm::Value* const row = b_.CreateAdd(b_.CreateMul(group_id(2), grid_[1]), group_id(1));
    return plain(b_.CreateAdd(b_.CreateMul(b_.CreateMul(row, grid_[0]), size_of(0)), start_));
  }
  return plain(b_.CreateAdd(b_.CreateMul(linear_group(), b_.getInt32(threads())), lane_in_group()));
}

// ---- the function

void NvptxKernel::declare() {
  const uint64_t bytes = sizeof(GpuArgs) + program_.program.buffers.size() * sizeof(KernelBinding);
  llvm::Type* const arguments = llvm::ArrayType::get(b_.getInt64Ty(), bytes / 8);
  llvm::FunctionType* const type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                     fmt::format("vyre_entry_{}", number_), module_);
  function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr(llvm::Attribute::Convergent);
  function_->addParamAttr(0, llvm::Attribute::getWithByValType(context_, arguments));
  function_->addParamAttr(0, llvm::Attribute::getWithAlignment(context_, llvm::Align(8)));
  annotate("kernel", 1);
  annotate("reqntidx", threads());
  annotate("reqntidy", 1);
  annotate("reqntidz", 1);
  if ((segment_.barriers_inside || use_.waits) && needs_few_registers(program_.program))
    annotate("minctasm", most_blocks(machine_.cpu, threads()));
  b_.SetInsertPoint(block("entry"));
  exit_ = block("exit");
  leave_ = block("leave");
  lane_end_ = exit_;
  for (uint32_t axis = 0; axis < 3; ++axis)
    grid_[axis] = parameter(b_.getInt32Ty(), offsetof(GpuArgs, grid) + sizeof(uint32_t) * axis);
  control_ = parameter(b_.getPtrTy(kPtxGlobalSpace), offsetof(GpuArgs, control));
  find_ids();
  polls_left_ = b_.CreateAlloca(b_.getInt32Ty());
  b_.CreateStore(b_.getInt32(kTripsPerPoll), polls_left_);
  declare_meetings();
}

llvm::BasicBlock* NvptxKernel::block(const char* name) {
  llvm::BasicBlock* const here = b_.GetInsertBlock();  // null: the kernel begins
  return llvm::BasicBlock::Create(context_, name, here != nullptr ? here->getParent() : function_);
}

void NvptxKernel::annotate(const char* what, uint32_t value) {
  module_.getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(
          context_, {llvm::ConstantAsMetadata::get(function_), llvm::MDString::get(context_, what),
                     llvm::ConstantAsMetadata::get(b_.getInt32(value))}));
}

llvm::Value* NvptxKernel::parameter(llvm::Type* type, uint64_t offset) {
  return invariant_load(b_, type, function_->getArg(0), offset);
}

// ---- ids

// A special register with its range, so that what is computed from it is known to stay small.
llvm::Value* NvptxKernel::special(in::ID id, uint32_t below) {
  if (below == 1) return b_.getInt32(0);
  llvm::CallInst* const call = b_.CreateIntrinsic(id, {}, {});
  llvm::MDBuilder md(context_);
  call->setMetadata(llvm::LLVMContext::MD_range,
                    md.createRange(llvm::APInt(32, 0), llvm::APInt(32, below)));
  return call;
}

llvm::Value* NvptxKernel::lane_along(uint32_t axis) {
  const auto& size = program_.workgroup;
  if (size[axis] == 1) return b_.getInt32(0);
  llvm::Value* lane = lane_in_group();
  uint32_t before = 1;
  for (uint32_t i = 0; i < axis; ++i) before *= size[i];
  if (before != 1) lane = b_.CreateUDiv(lane, b_.getInt32(before));
  if (before * size[axis] != threads()) lane = b_.CreateURem(lane, size_of(axis));
  return lane;
}

// Once, at the start: what is computed from them is then known before everything else.
void NvptxKernel::find_ids() {
  constexpr std::array kIds = {in::nvvm_read_ptx_sreg_ctaid_x, in::nvvm_read_ptx_sreg_ctaid_y,
                               in::nvvm_read_ptx_sreg_ctaid_z};
  thread_ = special(in::nvvm_read_ptx_sreg_tid_x, threads());
  for (uint32_t axis = 0; axis < 3; ++axis)
    group_[axis] = b_.CreateAdd(
        special(kIds[axis], axis == 0 ? 0x7FFF'FFFF : 0xFFFF),
        parameter(b_.getInt32Ty(), offsetof(GpuArgs, first) + sizeof(uint32_t) * axis));
}

llvm::Value* NvptxKernel::linear_group() {
  llvm::Value* const row = b_.CreateAdd(b_.CreateMul(group_id(2), grid_[1]), group_id(1));
  return b_.CreateAdd(b_.CreateMul(row, grid_[0]), group_id(0));
}

// ---- memory

void NvptxKernel::bind_buffers() {
  const auto& buffers = program_.program.buffers;
  // Its size is given with the launch. All kernels of a module mean the same name.
  llvm::Type* const bytes = llvm::ArrayType::get(b_.getInt8Ty(), 0);
  shared_ = module_.getOrInsertGlobal("vyre_shared", bytes, [&] {
    auto* const global = llvm::cast<llvm::GlobalVariable>(new llvm::GlobalVariable(
        module_, bytes, false, llvm::GlobalValue::ExternalLinkage, nullptr, "vyre_shared", nullptr,
        llvm::GlobalValue::NotThreadLocal, kPtxSharedSpace));
    global->setAlignment(llvm::Align(device::kGpuSharedRow));
    return global;
  });
  uint64_t at = device::kGpuSharedHeader;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    MemoryRef m;
    m.element = buffers[i].element;
    if (buffers[i].kind == BufferKind::Shared) {
      m.address = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), shared_, at);
      m.length = b_.getInt32(count_of(i));
      at += rows_of(i) * device::kGpuSharedRow;
    } else {
      m.address = bound_address(i);
      m.length = parameter(b_.getInt32Ty(), sizeof(GpuArgs) + i * sizeof(KernelBinding) +
                                                offsetof(KernelBinding, length));
      m.invariant = is_read_only(buffers[i].kind);
    }
    memories_.push_back(m);
  }
  give_scopes();
}

// Buffers do not overlap. As metadata of accesses and not as `noalias` of parameters, with which
// LLVM moves accesses across barriers.
void NvptxKernel::give_scopes() {
  llvm::MDBuilder md(context_);
  llvm::MDNode* const domain = md.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes(memories_.size());
  for (llvm::Metadata*& scope : scopes) scope = md.createAnonymousAliasScope(domain);
  for (size_t i = 0; i < memories_.size(); ++i) {
    memories_[i].scope = llvm::MDNode::get(context_, {scopes[i]});
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    memories_[i].others = llvm::MDNode::get(context_, others);
  }
}

llvm::Value* NvptxKernel::bound_address(uint32_t buffer) {
  auto* const address = llvm::cast<llvm::LoadInst>(parameter(
      b_.getPtrTy(kPtxGlobalSpace),
      sizeof(GpuArgs) + buffer * sizeof(KernelBinding) + offsetof(KernelBinding, address)));
  address->setMetadata(
      llvm::LLVMContext::MD_align,
      llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt64(256))));
  return address;
}

uint32_t NvptxKernel::rows_of(uint32_t buffer) const {
  const uint64_t bytes =
      uint64_t{count_of(buffer)} * bytes_of(program_.program.buffers[buffer].element);
  return static_cast<uint32_t>((bytes + device::kGpuSharedRow - 1) / device::kGpuSharedRow);
}

// The instruction that adds f32 in global memory takes subnormal numbers for zero, so it is done
// with an addition of its own and exchanges; that for shared memory keeps them.
void NvptxKernel::keep_subnormals_in_atomics() {
  std::vector<llvm::AtomicRMWInst*> found;
  for (llvm::BasicBlock& block : *function_)
    for (llvm::Instruction& i : block)
      if (auto* const a = llvm::dyn_cast<llvm::AtomicRMWInst>(&i);
          a != nullptr && a->getOperation() == llvm::AtomicRMWInst::FAdd &&
          a->getPointerAddressSpace() == kPtxGlobalSpace)
        found.push_back(a);
  for (llvm::AtomicRMWInst* const a : found)
    llvm::expandAtomicRMWToCmpXchg(
        a, [](llvm::IRBuilderBase& b, llvm::Value* address, llvm::Value* loaded,
              llvm::Value* wanted, llvm::Align align, llvm::AtomicOrdering order,
              llvm::SyncScope::ID scope, llvm::Value*& success, llvm::Value*& seen) {
          llvm::Type* const real = wanted->getType();
          llvm::Type* const bits = b.getIntNTy(real->getScalarSizeInBits());
          llvm::Value* const pair = b.CreateAtomicCmpXchg(
              address, b.CreateBitCast(loaded, bits), b.CreateBitCast(wanted, bits), align, order,
              llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
          success = b.CreateExtractValue(pair, 1);
          seen = b.CreateBitCast(b.CreateExtractValue(pair, 0), real);
        });
}

}  // namespace vyre::codegen
