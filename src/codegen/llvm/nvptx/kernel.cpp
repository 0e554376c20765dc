// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nvptx/kernel.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/llvm/body/lane_cost.hpp"
#include "codegen/llvm/streaming.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;
using device::GpuArgs;
using device::KernelBinding;
namespace in = llvm::Intrinsic;

namespace {

// Lanes that take longer poll before they begin; in about a nanosecond of a processor.
constexpr double kLongLane = 1000;

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

void NvptxKernel::run() {
  declare();
  if (!is_launchable(k_.segment)) {
    b_.CreateRetVoid();
    for (llvm::BasicBlock* const unused : {k_.exit, k_.leave}) unused->eraseFromParent();
    return;
  }
  bind_buffers();
  // Of a launch that was given up some blocks may not have begun. To poll is an access to memory,
  // which is not waited for before a barrier that waits much longer.
  if (const Cost cost = estimated_cost(k_.program, 1); cost.guessed || cost.lane > kLongLane) {
    if (k_.segment.barriers_inside && grid_barriers_.is_first_at_top())
      grid_barriers_.load_cancel_word();
    else
      stops_.poll_at_start();
  }
  if (k_.is_coarsened()) {
    emit_coarsened();
  } else {
    shared_memory_.start();
    lowering_.emit_lanes(1, nullptr, k_.exit);
  }
  b_.SetInsertPoint(k_.exit);
  shared_memory_.save();
  b_.CreateBr(k_.leave);
  b_.SetInsertPoint(k_.leave);
  b_.CreateRetVoid();
  keep_subnormals_in_atomics();
}

// All lanes of the thread at once if they are inside of everything, otherwise serialised: one test
// for all accesses, and the code for the ends is small.
void NvptxKernel::emit_coarsened() {
  llvm::Type* const wide = b_.getInt64Ty();
  const auto number = [&](uint64_t n) { return b_.getInt64(n); };
  // Blocks are counted along x; the last one may go past the end of the grid, and of 32 bits.
  llvm::Value* const block_x = b_.CreateZExt(k_.group_id(0), wide);
  llvm::Value* const thread =
      b_.CreateAdd(b_.CreateMul(block_x, number(k_.threads()), "", true, true),
                   b_.CreateZExt(k_.lane_in_group(), wide), "", true, true);
  llvm::Value* const first = b_.CreateMul(thread, number(k_.shape.lanes), "", true, true);
  llvm::Value* const end = b_.CreateMul(b_.CreateZExt(k_.grid[0], wide),
                                        number(k_.program.workgroup[0]), "", true, true);
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  // Rows of a plate may start anywhere. Accesses of sixteen bytes may not: where they would be
  // that, the code is there a second time, for the others.
  std::vector<NvptxLowering::Version> versions = {lowering_.emit_version(first, before, true)};
  if (versions[0].guards.has_facts())
    versions.push_back(lowering_.emit_version(first, before, false));
  llvm::BasicBlock* const serialised = k_.block("one_by_one");
  b_.SetInsertPoint(before);
  llvm::MDBuilder md(context_);
  for (const NvptxLowering::Version& version : versions) {
    llvm::BasicBlock* const otherwise =
        &version == &versions.back() ? serialised : k_.block("not_aligned");
    const BoundsGuards::Range range = version.guards.range(b_, end);
    b_.CreateCondBr(BoundsGuards::inside(b_, range, first, k_.shape.lanes), version.start,
                    otherwise, md.createBranchWeights(1000, 1));
    b_.SetInsertPoint(otherwise);
  }
  emit_serialised(first, end);
}

void NvptxKernel::emit_serialised(llvm::Value* first, llvm::Value* end) {
  llvm::Type* const wide = b_.getInt64Ty();
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  llvm::BasicBlock* const lane = k_.block("lane");
  llvm::BasicBlock* const next = k_.block("next_lane");
  llvm::Value* const last = b_.CreateBinaryIntrinsic(
      in::umin, b_.CreateAdd(first, b_.getInt64(k_.shape.lanes), "", true, true), end);
  b_.CreateCondBr(b_.CreateICmpULT(first, last), lane, k_.exit);
  b_.SetInsertPoint(lane);
  llvm::PHINode* const at = b_.CreatePHI(wide, 2);
  at->addIncoming(first, before);
  lowering_.emit_lanes(1, at, next);
  b_.SetInsertPoint(next);
  llvm::Value* const following = b_.CreateAdd(at, b_.getInt64(1), "", true, true);
  at->addIncoming(following, next);
  llvm::Instruction* const again =
      b_.CreateCondBr(b_.CreateICmpULT(following, last), lane, k_.exit);
  // Few come here, and the driver takes longer for longer code.
  llvm::MDNode* const rolled =
      llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.unroll.disable")});
  llvm::MDNode* const loop = llvm::MDNode::getDistinct(context_, {nullptr, rolled});
  loop->replaceOperandWith(0, loop);
  again->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

void NvptxKernel::declare() {
  const uint64_t bytes =
      sizeof(GpuArgs) + k_.program.program.buffers.size() * sizeof(KernelBinding);
  llvm::Type* const arguments = llvm::ArrayType::get(b_.getInt64Ty(), bytes / 8);
  llvm::FunctionType* const type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
  k_.function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       fmt::format("vyre_entry_{}", k_.number), k_.module);
  k_.function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  k_.function->addFnAttr(llvm::Attribute::NoUnwind);
  k_.function->addFnAttr(llvm::Attribute::Convergent);
  k_.function->addParamAttr(0, llvm::Attribute::getWithByValType(context_, arguments));
  k_.function->addParamAttr(0, llvm::Attribute::getWithAlignment(context_, llvm::Align(8)));
  annotate("kernel", 1);
  annotate("reqntidx", k_.threads());
  annotate("reqntidy", 1);
  annotate("reqntidz", 1);
  if ((k_.segment.barriers_inside || k_.use.waits) && needs_few_registers(k_.program.program))
    annotate("minctasm", most_blocks(k_.machine.cpu, k_.threads()));
  b_.SetInsertPoint(k_.block("entry"));
  k_.exit = k_.block("exit");
  k_.leave = k_.block("leave");
  for (uint32_t axis = 0; axis < 3; ++axis)
    k_.grid[axis] =
        k_.parameter(b_.getInt32Ty(), offsetof(GpuArgs, grid) + sizeof(uint32_t) * axis);
  k_.control = k_.parameter(b_.getPtrTy(kPtxGlobalSpace), offsetof(GpuArgs, control));
  find_ids();
  stops_.declare();
  grid_barriers_.declare();
}

void NvptxKernel::annotate(const char* what, uint32_t value) {
  k_.module.getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(
          context_,
          {llvm::ConstantAsMetadata::get(k_.function), llvm::MDString::get(context_, what),
           llvm::ConstantAsMetadata::get(b_.getInt32(value))}));
}

// A special register with its range, so that what is computed from it is known to stay small.
llvm::Value* NvptxKernel::special(in::ID id, uint32_t below) {
  if (below == 1) return b_.getInt32(0);
  llvm::CallInst* const call = b_.CreateIntrinsic(id, {}, {});
  llvm::MDBuilder md(context_);
  call->setMetadata(llvm::LLVMContext::MD_range,
                    md.createRange(llvm::APInt(32, 0), llvm::APInt(32, below)));
  return call;
}

// Once, at the start: what is computed from them is then known before everything else.
void NvptxKernel::find_ids() {
  constexpr std::array kIds = {in::nvvm_read_ptx_sreg_ctaid_x, in::nvvm_read_ptx_sreg_ctaid_y,
                               in::nvvm_read_ptx_sreg_ctaid_z};
  k_.thread = special(in::nvvm_read_ptx_sreg_tid_x, k_.threads());
  for (uint32_t axis = 0; axis < 3; ++axis)
    k_.group[axis] = b_.CreateAdd(
        special(kIds[axis], axis == 0 ? 0x7FFF'FFFF : 0xFFFF),
        k_.parameter(b_.getInt32Ty(), offsetof(GpuArgs, first) + sizeof(uint32_t) * axis));
}

void NvptxKernel::bind_buffers() {
  const auto& buffers = k_.program.program.buffers;
  // Its size is given with the launch. All kernels of a module mean the same name.
  llvm::Type* const bytes = llvm::ArrayType::get(b_.getInt8Ty(), 0);
  auto* const shared =
      llvm::cast<llvm::GlobalVariable>(k_.module.getOrInsertGlobal("vyre_shared", bytes, [&] {
        return new llvm::GlobalVariable(k_.module, bytes, false, llvm::GlobalValue::ExternalLinkage,
                                        nullptr, "vyre_shared", nullptr,
                                        llvm::GlobalValue::NotThreadLocal, kPtxSharedSpace);
      }));
  const SharedLayout layout = shared_layout(k_.program);
  const llvm::Align alignment(layout.alignment);
  shared->setAlignment(std::max(alignment, shared->getAlign().valueOrOne()));
  k_.shared = shared;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    MemoryRef m;
    m.element = buffers[i].element;
    if (buffers[i].kind == BufferKind::Shared) {
      m.address = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), k_.shared, layout.at[i]);
      m.length = b_.getInt32(k_.count_of(i));
    } else {
      m.address = k_.bound_address(i);
      m.length = k_.parameter(b_.getInt32Ty(), sizeof(GpuArgs) + i * sizeof(KernelBinding) +
                                                   offsetof(KernelBinding, length));
      m.invariant = is_read_only(buffers[i].kind);
    }
    k_.memories.push_back(m);
  }
  give_scopes();
}

// Buffers do not overlap. As metadata of accesses and not as `noalias` of parameters, with which
// LLVM moves accesses across barriers.
void NvptxKernel::give_scopes() {
  llvm::MDBuilder md(context_);
  llvm::MDNode* const domain = md.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes(k_.memories.size());
  for (size_t i = 0; i < scopes.size(); ++i) {
    const Buffer& buffer = k_.program.program.buffers[i];
    const bool streams =
        buffer.locality == Locality::Streaming && buffer.kind != BufferKind::Shared;
    scopes[i] = md.createAnonymousAliasScope(domain, streams ? kStreamingScope : "");
  }
  for (size_t i = 0; i < k_.memories.size(); ++i) {
    k_.memories[i].scope = llvm::MDNode::get(context_, {scopes[i]});
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    k_.memories[i].others = llvm::MDNode::get(context_, others);
  }
}

// The instruction that adds f32 in global memory takes subnormal numbers for zero, so it is done
// with an addition of its own and exchanges; that for shared memory keeps them.
void NvptxKernel::keep_subnormals_in_atomics() {
  std::vector<llvm::AtomicRMWInst*> found;
  for (llvm::BasicBlock& block : *k_.function)
    for (llvm::Instruction& i : block)
      if (auto* const a = llvm::dyn_cast<llvm::AtomicRMWInst>(&i);
          a != nullptr && a->getOperation() == llvm::AtomicRMWInst::FAdd &&
          a->getPointerAddressSpace() == kPtxGlobalSpace)
        found.push_back(a);
  for (llvm::AtomicRMWInst* const a : found)
    llvm::expandAtomicRMWToCmpXchg(
        a, [](llvm::IRBuilderBase& b, llvm::Value* address, llvm::Value* loaded, llvm::Value* sum,
              llvm::Align align, llvm::AtomicOrdering order, llvm::SyncScope::ID scope,
              llvm::Value*& success, llvm::Value*& seen) {
          llvm::Type* const real = sum->getType();
          llvm::Type* const bits = b.getIntNTy(real->getScalarSizeInBits());
          llvm::Value* const pair = b.CreateAtomicCmpXchg(
              address, b.CreateBitCast(loaded, bits), b.CreateBitCast(sum, bits), align, order,
              llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
          success = b.CreateExtractValue(pair, 1);
          seen = b.CreateBitCast(b.CreateExtractValue(pair, 0), real);
        });
}

}  // namespace vyre::codegen
