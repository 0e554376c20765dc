// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nvptx.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>
#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "base/check.hpp"
#include "codegen/llvm/lane_code.hpp"
#include "codegen/llvm/machine_code.hpp"
#include "device/kernel.hpp"

namespace vyre::codegen {

using namespace ir;
using device::KernelArgs;
using device::KernelBinding;
namespace in = llvm::Intrinsic;

namespace {

constexpr unsigned kGlobalSpace = 1;
constexpr unsigned kSharedSpace = 3;
// Shared memory is zeroed in rows of this many bytes; a buffer starts with one.
constexpr uint64_t kRow = 16;
// Named by the language's rules, not by a warp: a subgroup is that many lanes in their order.
constexpr uint32_t kSubgroupLanes = 32;

class NvptxKernel : public Environment {
 public:
  NvptxKernel(llvm::Module& module, const plan::Segment& segment, uint32_t number,
              const Machine& machine)
      : module_(module),
        context_(module.getContext()),
        b_(context_),
        segment_(segment),
        program_(segment.program),
        number_(number),
        machine_(machine) {}

  void run() {
    declare();
    bind_buffers();
    start_shared();
    const BlockShape one_lane;
    const Divergence divergence(program_, one_lane, {});
    LaneCode code(b_, *this, program_, divergence,
                  {.shape = one_lane,
                   .half_conversions = machine_.half_conversions,
                   .jumps_over_accesses = true});
    code.emit(nullptr);
    if (b_.GetInsertBlock()->getTerminator() == nullptr) b_.CreateBr(exit_);
    b_.SetInsertPoint(exit_);
    save_shared();
    b_.CreateRetVoid();
    keep_subnormals_in_atomics();
  }

  // ---- Environment

  Val builtin(Builtin builtin, uint32_t axis) override {
    switch (builtin) {
      case Builtin::Gid:
        return plain(b_.CreateAdd(b_.CreateMul(group_id(axis), size_of(axis)), thread_id(axis)));
      case Builtin::Lid: return plain(thread_id(axis));
      case Builtin::Wid: return plain(group_id(axis));
      case Builtin::NumWorkgroups: return plain(grid_[axis]);
      case Builtin::WorkgroupSize: return plain(size_of(axis));
      case Builtin::SubgroupSize: return plain(b_.getInt32(kSubgroupLanes));
      case Builtin::SubgroupLane:
        return plain(b_.CreateAnd(lane_in_group(), b_.getInt32(kSubgroupLanes - 1)));
      case Builtin::SubgroupId:
        return plain(b_.CreateUDiv(lane_in_group(), b_.getInt32(kSubgroupLanes)));
      // Where the program has a fixpoint these are words that the plan keeps.
      case Builtin::FixpointPasses: return plain(b_.getInt32(0));
      case Builtin::FixpointConverged: return plain(b_.getFalse());
    }
    return {};
  }
  MemoryRef buffer(BufferId id) override { return memories_[id.index()]; }
  Val global_lane() override {
    return plain(
        b_.CreateAdd(b_.CreateMul(linear_group(), b_.getInt32(threads())), lane_in_group()));
  }
  void trapped(SiteRef, llvm::Value*, llvm::Value*) override { VYRE_CHECK(!"a trap is refused"); }
  void out_of_bounds(SiteRef, const MemoryRef&, llvm::Value*, llvm::Value*) override {
    VYRE_CHECK(!"checked mode is refused");
  }
  // Nobody can ask a kernel to stop.
  void poll(SiteRef, uint32_t) override {}
  llvm::BasicBlock* lane_end() override { return exit_; }
  // Only blocks of several lanes ask for these.
  llvm::Value* start() override { return b_.getInt32(0); }
  bool ensure_below(llvm::Value*, llvm::Value*, bool) override { return false; }
  bool ensure_at_least(llvm::Value*, llvm::Value*) override { return false; }
  llvm::Value* wide_start() override { return b_.CreateZExt(start(), b_.getInt64Ty()); }
  bool streams(BufferId, llvm::Value*) override { return false; }
  void only_lanes(llvm::Value*, llvm::Value*, bool) override {}
  void workgroup_barrier() override { b_.CreateIntrinsic(in::nvvm_barrier0, {}, {}); }

 private:
  static Val plain(llvm::Value* v) { return {v, false}; }

  // ---- the function

  void declare() {
    const uint64_t bytes =
        sizeof(KernelArgs) + program_.program.buffers.size() * sizeof(KernelBinding);
    llvm::Type* const block = llvm::ArrayType::get(b_.getInt64Ty(), bytes / 8);
    llvm::FunctionType* const type =
        llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       fmt::format("vyre_entry_{}", number_), module_);
    function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addFnAttr(llvm::Attribute::Convergent);
    function_->addParamAttr(0, llvm::Attribute::getWithByValType(context_, block));
    function_->addParamAttr(0, llvm::Attribute::getWithAlignment(context_, llvm::Align(8)));
    annotate("kernel", 1);
    for (uint32_t axis = 0; axis < 3; ++axis)
      annotate(std::array{"reqntidx", "reqntidy", "reqntidz"}[axis], program_.workgroup[axis]);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
    exit_ = llvm::BasicBlock::Create(context_, "exit", function_);
    for (uint32_t axis = 0; axis < 3; ++axis)
      grid_[axis] = parameter(b_.getInt32Ty(), offsetof(KernelArgs, grid) + 4 * axis);
  }

  void annotate(const char* what, uint32_t value) {
    module_.getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(
            context_,
            {llvm::ConstantAsMetadata::get(function_), llvm::MDString::get(context_, what),
             llvm::ConstantAsMetadata::get(b_.getInt32(value))}));
  }

  llvm::LoadInst* parameter(llvm::Type* type, uint64_t offset) {
    llvm::LoadInst* const load = b_.CreateLoad(
        type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), function_->getArg(0), offset));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return load;
  }

  // ---- ids

  // A special register with its range, so that what is computed from it is known to stay small.
  llvm::Value* special(in::ID id, uint32_t below) {
    if (below == 1) return b_.getInt32(0);
    llvm::CallInst* const call = b_.CreateIntrinsic(id, {}, {});
    llvm::MDBuilder md(context_);
    call->setMetadata(llvm::LLVMContext::MD_range,
                      md.createRange(llvm::APInt(32, 0), llvm::APInt(32, below)));
    return call;
  }
  llvm::Value* thread_id(uint32_t axis) {
    constexpr std::array kIds = {in::nvvm_read_ptx_sreg_tid_x, in::nvvm_read_ptx_sreg_tid_y,
                                 in::nvvm_read_ptx_sreg_tid_z};
    return special(kIds[axis], program_.workgroup[axis]);
  }
  llvm::Value* group_id(uint32_t axis) {
    constexpr std::array kIds = {in::nvvm_read_ptx_sreg_ctaid_x, in::nvvm_read_ptx_sreg_ctaid_y,
                                 in::nvvm_read_ptx_sreg_ctaid_z};
    return special(kIds[axis], axis == 0 ? 0x7FFF'FFFF : 0xFFFF);
  }
  llvm::Value* size_of(uint32_t axis) { return b_.getInt32(program_.workgroup[axis]); }
  [[nodiscard]] uint32_t threads() const {
    return program_.workgroup[0] * program_.workgroup[1] * program_.workgroup[2];
  }
  llvm::Value* lane_in_group() {
    llvm::Value* const row = b_.CreateAdd(b_.CreateMul(thread_id(2), size_of(1)), thread_id(1));
    return b_.CreateAdd(b_.CreateMul(row, size_of(0)), thread_id(0));
  }

  llvm::Value* linear_group() {
    llvm::Value* const row = b_.CreateAdd(b_.CreateMul(group_id(2), grid_[1]), group_id(1));
    return b_.CreateAdd(b_.CreateMul(row, grid_[0]), group_id(0));
  }

  // ---- memory

  void bind_buffers() {
    const auto& buffers = program_.program.buffers;
    std::vector<uint64_t> shared_at(buffers.size());
    for (uint32_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].kind != BufferKind::Shared) continue;
      shared_at[i] = shared_bytes_;
      shared_bytes_ += rows_of(i) * kRow;
    }
    if (shared_bytes_ != 0) {
      llvm::Type* const type = llvm::ArrayType::get(b_.getInt8Ty(), shared_bytes_);
      // The module owns it.
      shared_ = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage,
                                         llvm::UndefValue::get(type),
                                         fmt::format("vyre_shared_{}", number_), nullptr,
                                         llvm::GlobalValue::NotThreadLocal, kSharedSpace);
      shared_->setAlignment(llvm::Align(kRow));
    }
    for (uint32_t i = 0; i < buffers.size(); ++i) {
      MemoryRef m;
      m.element = buffers[i].element;
      if (buffers[i].kind == BufferKind::Shared) {
        m.address = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), shared_, shared_at[i]);
        m.length = b_.getInt32(*program_.buffers[i].constant_count);
      } else {
        m.address = bound_address(i);
        m.length = parameter(b_.getInt32Ty(), binding(i) + offsetof(KernelBinding, length));
        m.invariant = buffers[i].kind == BufferKind::In || buffers[i].kind == BufferKind::Uniform;
      }
      memories_.push_back(m);
    }
    give_scopes();
  }

  // Buffers do not overlap. As metadata of accesses and not as `noalias` of parameters, with which
  // LLVM moves accesses across barriers.
  void give_scopes() {
    llvm::MDBuilder md(context_);
    llvm::MDNode* const domain = md.createAnonymousAliasScopeDomain();
    std::vector<llvm::Metadata*> scopes;
    for (size_t i = 0; i < memories_.size(); ++i)
      scopes.push_back(md.createAnonymousAliasScope(domain));
    for (size_t i = 0; i < memories_.size(); ++i) {
      memories_[i].scope = llvm::MDNode::get(context_, {scopes[i]});
      std::vector<llvm::Metadata*> others = scopes;
      others.erase(others.begin() + static_cast<ptrdiff_t>(i));
      memories_[i].others = llvm::MDNode::get(context_, others);
    }
  }

  static uint64_t binding(uint32_t buffer) {
    return sizeof(KernelArgs) + buffer * sizeof(KernelBinding);
  }
  llvm::Value* bound_address(uint32_t buffer) {
    llvm::LoadInst* const address =
        parameter(b_.getPtrTy(kGlobalSpace), binding(buffer) + offsetof(KernelBinding, address));
    address->setMetadata(
        llvm::LLVMContext::MD_align,
        llvm::MDNode::get(
            context_, llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(b_.getInt64Ty(), 256))));
    return address;
  }
  [[nodiscard]] uint32_t count_of(uint32_t buffer) const {
    return *program_.buffers[buffer].constant_count;
  }
  [[nodiscard]] uint32_t rows_of(uint32_t buffer) const {
    const uint64_t bytes =
        uint64_t{count_of(buffer)} * bytes_of(program_.program.buffers[buffer].element);
    return static_cast<uint32_t>((bytes + kRow - 1) / kRow);
  }

  // ---- shared memory at the edges of the kernel

  // Runs `body` for 0 <= at < count, dealt to the threads of the block (i64).
  void deal(uint32_t count, llvm::function_ref<void(llvm::Value* at)> body) {
    llvm::BasicBlock* const from = b_.GetInsertBlock();
    llvm::BasicBlock* const trip = llvm::BasicBlock::Create(context_, "deal", function_);
    llvm::BasicBlock* const after = llvm::BasicBlock::Create(context_, "dealt", function_);
    llvm::Value* const first = lane_in_group();
    b_.CreateCondBr(b_.CreateICmpULT(first, b_.getInt32(count)), trip, after);
    b_.SetInsertPoint(trip);
    llvm::PHINode* const at = b_.CreatePHI(b_.getInt32Ty(), 2);
    at->addIncoming(first, from);
    body(b_.CreateZExt(at, b_.getInt64Ty()));
    llvm::Value* const next = b_.CreateAdd(at, b_.getInt32(threads()), "", true, true);
    at->addIncoming(next, trip);
    b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt32(count)), trip, after);
    b_.SetInsertPoint(after);
  }

  [[nodiscard]] const plan::SharedUse* use_of(uint32_t buffer) const {
    for (const plan::SharedUse& use : segment_.shared)
      if (use.buffer.value == buffer) return &use;
    return nullptr;
  }

  // Between shared memory and where workgroups keep it from launch to launch, element by element.
  void copy_shared(uint32_t buffer, bool save) {
    llvm::Type* const type = element_type(program_.program.buffers[buffer].element, context_);
    llvm::Value* const group =
        b_.CreateMul(b_.CreateZExt(linear_group(), b_.getInt64Ty()),
                     llvm::ConstantInt::get(b_.getInt64Ty(), count_of(buffer)));
    llvm::Value* const kept = b_.CreateGEP(type, bound_address(buffer), group);
    deal(count_of(buffer), [&](llvm::Value* at) {
      llvm::Value* const inside = b_.CreateGEP(type, memories_[buffer].address, at);
      llvm::Value* const outside = b_.CreateGEP(type, kept, at);
      b_.CreateStore(b_.CreateLoad(type, save ? inside : outside), save ? outside : inside);
    });
  }

  // By all threads, of which none has ended yet.
  void start_shared() {
    if (shared_ == nullptr) return;
    llvm::Type* const row = llvm::FixedVectorType::get(b_.getInt32Ty(), kRow / 4);
    for (uint32_t i = 0; i < memories_.size(); ++i) {
      if (program_.program.buffers[i].kind != BufferKind::Shared) continue;
      if (const plan::SharedUse* const use = use_of(i); use != nullptr && use->restore) {
        copy_shared(i, false);
        continue;
      }
      deal(rows_of(i), [&](llvm::Value* at) {
        b_.CreateAlignedStore(llvm::Constant::getNullValue(row),
                              b_.CreateGEP(row, memories_[i].address, at), llvm::Align(kRow));
      });
    }
    workgroup_barrier();
  }

  // Threads that end early come here, too; then no other barrier is on their way.
  void save_shared() {
    bool waited = false;
    for (const plan::SharedUse& use : segment_.shared) {
      if (!use.save) continue;
      if (!std::exchange(waited, true)) workgroup_barrier();
      copy_shared(use.buffer.value, true);
    }
  }

  // The instruction that adds f32 in global memory takes subnormal numbers for zero, so it is done
  // with an addition of its own and exchanges; that for shared memory keeps them.
  void keep_subnormals_in_atomics() {
    std::vector<llvm::AtomicRMWInst*> found;
    for (llvm::BasicBlock& block : *function_)
      for (llvm::Instruction& i : block)
        if (auto* const a = llvm::dyn_cast<llvm::AtomicRMWInst>(&i);
            a != nullptr && a->getOperation() == llvm::AtomicRMWInst::FAdd &&
            a->getPointerAddressSpace() == kGlobalSpace)
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

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  Builder b_;
  const plan::Segment& segment_;
  const check::CheckedProgram& program_;
  uint32_t number_;
  const Machine& machine_;

  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* exit_ = nullptr;
  llvm::GlobalVariable* shared_ = nullptr;
  uint64_t shared_bytes_ = 0;
  std::array<llvm::Value*, 3> grid_ = {};
  std::vector<MemoryRef> memories_;  // by buffer
};

std::unexpected<Error> unsupported(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::Unsupported,
                               .message = std::move(message),
                               .context = {},
                               .at = {},
                               .diagnostics = {}});
}

// Those of LLVM 19 for which barriers do not wait for threads that have exited, and that ptxas
// still takes. A GPU runs code for all architectures before its own.
constexpr std::array<std::string_view, 6> kArchitectures = {"sm_75", "sm_80", "sm_86",
                                                            "sm_87", "sm_89", "sm_90"};

}  // namespace

Result<std::vector<std::byte>> nvptx_code(const plan::Plan& plan, const NvptxTarget& target,
                                          NvptxListing listing) {
  if (std::ranges::find(kArchitectures, target.architecture) == kArchitectures.end())
    return unsupported(
        fmt::format("no PTX is made for architecture `{}`. Fix: use one of {}; newer GPUs run code "
                    "for sm_90",
                    target.architecture, fmt::join(kArchitectures, ", ")));
  if (target.checked)
    return unsupported(
        "no PTX is made for checked mode. Fix: leave out --checked, or use another "
        "device");
  for (const plan::Segment& segment : plan.segments)
    if (auto refused = nvptx_refusal(segment)) return std::unexpected(std::move(*refused));
  const Machine machine = Machine::nvptx(target.architecture);
  return make_code(machine, listing == NvptxListing::Ptx ? Output::Assembly : Output::Ir,
                   [&](llvm::Module& module) -> Result<void> {
                     for (uint32_t i = 0; i < plan.segments.size(); ++i)
                       NvptxKernel(module, plan.segments[i], i, machine).run();
                     return {};
                   });
}

}  // namespace vyre::codegen
