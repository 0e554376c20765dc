// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/machine_code.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>

#include <fmt/format.h>
#include <llvm-c/Core.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

#include "base/errors.hpp"
#include "base/stop.hpp"
#include "codegen/in_process.hpp"
#include "codegen/llvm/nan_bits.hpp"
#include "codegen/llvm/narrow_lanes.hpp"
#include "codegen/llvm/streaming.hpp"
#include "codegen/llvm/wrapping_tests.hpp"

namespace vyre::codegen {

namespace {

// Where LLVM would end the process.
struct Refused {
  std::string reason;
};

// Found before LLVM's first pass, so that no frame of LLVM is left.
struct TooHeavy {};

FailureHooks failure_hooks;
std::atomic<bool> interrupted = false;
constinit thread_local bool inside = false;
constinit thread_local uint64_t weight_limit = 0;

void refuse(void*, const char* reason, bool) {
  if (failure_hooks.refused != nullptr) failure_hooks.refused(reason);
  throw Refused{reason};
}
void refuse_memory(void*, const char*, bool) {
  if (failure_hooks.no_memory != nullptr) failure_hooks.no_memory();
  throw std::bad_alloc();
}

// Everything of LLVM that one compilation makes.
struct Work {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string said;  // by LLVM's diagnostics
  llvm::LLVMContext context;
  llvm::Module module{"vyre", context};
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::ModulePassManager passes;
  llvm::legacy::PassManager emitters;
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream out{bytes};
  Work* next = nullptr;
};

// Reachable for ever, so that no leak checker reports it.
void abandon(std::unique_ptr<Work> work) {
  static std::mutex mutex;
  static Work* all = nullptr;
  interrupted = true;
  const std::scoped_lock lock(mutex);
  work->next = all;
  all = work.release();
}

void start_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    llvm::install_fatal_error_handler(refuse, nullptr);
    llvm::install_bad_alloc_error_handler(refuse_memory, nullptr);
  });
}

// Short: lane blocks leave nothing to vectorise, and the structure of the source is that of the
// code. Loops of the source keep their order of operations.
constexpr const char* kPasses =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "vyre-narrow-lanes,vyre-nan-bits,loop-mssa(loop-rotate,licm),simplifycfg,gvn<no-pre>,"
    "instcombine<no-verify-fixpoint>,loop(loop-unroll-full),sroa,early-cse<memssa>,infer-alignment,"
    "dse,adce,simplifycfg)";

// The same for lanes that are threads: several of them in one are vectors only until what they do
// is known to lie side by side; then it is taken apart, what two lanes load is loaded once, and
// LLVM combines what a thread accesses in a row. Nothing may follow the last three passes,
// which instcombine would undo.
constexpr const char* kThreadPasses =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,infer-alignment,"
    "vyre-take-apart,instcombine<no-verify-fixpoint>,vyre-nan-bits,loop-mssa(loop-rotate,licm),"
    "simplifycfg,gvn<no-pre>,instcombine<no-verify-fixpoint>,loop(loop-unroll-full),sroa,"
    "early-cse<memssa>,loop-unroll<O3>,simplifycfg,early-cse<memssa>,correlated-propagation,"
    "infer-alignment,dse,adce,simplifycfg,vyre-sign-bits,vyre-wrapping-tests,vyre-streaming)";

// For the largest modules. What PTX needs to mean the same is done for it as well.
constexpr const char* kCheapPasses = "function(vyre-promote)";
constexpr const char* kCheapThreadPasses =
    "function(vyre-promote,vyre-sign-bits,vyre-wrapping-tests,vyre-streaming)";

// Variables to registers. LLVM searches all blocks after each of them, so they
// stay in memory where both are many.
struct Promote : llvm::PassInfoMixin<Promote> {
  static constexpr const char* kName = "vyre-promote";
  static constexpr uint64_t kMostVisits = uint64_t{1} << 22;

  static llvm::PreservedAnalyses run(llvm::Function& function,
                                     llvm::FunctionAnalysisManager& analyses) {
    const auto variables = llvm::count_if(function.getEntryBlock(), [](const llvm::Instruction& i) {
      return llvm::isa<llvm::AllocaInst>(i);
    });
    if (static_cast<uint64_t>(variables) * function.size() > kMostVisits)
      return llvm::PreservedAnalyses::all();
    return llvm::SROAPass(llvm::SROAOptions::PreserveCFG).run(function, analyses);
  }
};

const char* passes_for(const Machine& machine) {
  if (machine.cheap_passes) return machine.lanes_are_threads ? kCheapThreadPasses : kCheapPasses;
  return machine.lanes_are_threads ? kThreadPasses : kPasses;
}

void optimise(Work& work, const char* pipeline) {
  // Passes that are left out leave a valid module, which is then not used.
  work.callbacks.registerShouldRunOptionalPassCallback(
      [](llvm::StringRef, llvm::Any) { return !stop_requested(); });
  llvm::PassBuilder builder(work.machine.get(), llvm::PipelineTuningOptions(), std::nullopt,
                            &work.callbacks);
  builder.registerPipelineParsingCallback([](llvm::StringRef name,
                                             llvm::FunctionPassManager& passes,
                                             llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
    if (name == NarrowLanes::kName) {
      passes.addPass(NarrowLanes());
      return true;
    }
    if (name == WrappingTests::kName) {
      passes.addPass(WrappingTests());
      return true;
    }
    if (name == StreamingAccesses::kName) {
      passes.addPass(StreamingAccesses());
      return true;
    }
    if (name == SignBits::kName) {
      passes.addPass(SignBits());
      return true;
    }
    if (name == NanBits::kName) {
      passes.addPass(NanBits());
      return true;
    }
    if (name == Promote::kName) {
      passes.addPass(Promote());
      return true;
    }
    if (name != "vyre-take-apart") return false;
    llvm::ScalarizerPassOptions options;
    options.ScalarizeLoadStore = true;
    passes.addPass(llvm::ScalarizerPass(options));
    return true;
  });
  builder.registerModuleAnalyses(work.modules);
  builder.registerCGSCCAnalyses(work.components);
  builder.registerFunctionAnalyses(work.functions);
  builder.registerLoopAnalyses(work.loops);
  builder.crossRegisterProxies(work.loops, work.functions, work.components, work.modules);
  if (llvm::Error error = builder.parsePassPipeline(work.passes, pipeline))
    throw Refused{llvm::toString(std::move(error))};
  work.passes.run(work.module, work.modules);
  // What is known of values would be kept up to date while code is selected, unused.
  work.modules.clear();
  work.components.clear();
  work.functions.clear();
  work.loops.clear();
}

// What the module costs to optimise and select: instructions, by the registers that their values
// take, and by element where an operation is done for one after the other.
uint64_t weight_of(const llvm::Module& module) {
  constexpr uint64_t kRegisterBits = 256;
  uint64_t weight = 0;
  for (const llvm::Function& function : module)
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& i : block) {
        const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(i.getType());
        if (vector == nullptr) {
          ++weight;
          continue;
        }
        const unsigned code = i.getOpcode();
        const bool by_element = code == llvm::Instruction::UDiv ||
                                code == llvm::Instruction::SDiv ||
                                code == llvm::Instruction::URem || code == llvm::Instruction::SRem;
        const uint64_t bits = uint64_t{vector->getNumElements()} * vector->getScalarSizeInBits();
        weight +=
            by_element ? 4 * vector->getNumElements() : std::max<uint64_t>(1, bits / kRegisterBits);
      }
  return weight;
}

void collect(const llvm::DiagnosticInfo* info, void* text) {
  if (info->getSeverity() != llvm::DS_Error) return;
  std::string& said = *static_cast<std::string*>(text);
  llvm::raw_string_ostream out(said);
  llvm::DiagnosticPrinterRawOStream printer(out);
  info->print(printer);
}

Result<std::vector<std::byte>> generate(Work& work, const Machine& machine, Output output,
                                        const std::function<Result<void>(llvm::Module&)>& fill) {
  std::string reason;
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(machine.triple, reason);
  if (target == nullptr)
    return std::unexpected(
        error(ErrorCode::CompileFailed,
              fmt::format("LLVM makes no code for {}: {}. Fix: use another device", machine.triple,
                          reason)));
  work.machine.reset(target->createTargetMachine(
      machine.triple, machine.cpu, machine.features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt,
      machine.cheap_passes ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default));
  work.context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* info, void* text) { collect(info, text); }, &work.said);
  llvm::Module& module = work.module;
  module.setTargetTriple(machine.triple);
  module.setDataLayout(work.machine->createDataLayout());
  VYRE_TRY(fill(module));
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", machine.cpu);
    function.addFnAttr("target-features", machine.features);
    if (machine.wide_vectors) function.addFnAttr("prefer-vector-width", "512");
  }
  poll_stop_now();
  if (weight_limit != 0)
    if (weight_of(module) > weight_limit) throw TooHeavy();
  std::string broken;
  llvm::raw_string_ostream broken_out(broken);
  if (llvm::verifyModule(module, &broken_out))
    return std::unexpected(error(
        ErrorCode::Internal, fmt::format("the code generator made invalid LLVM IR: {}. Fix: report "
                                         "this as a bug of Vyre",
                                         broken)));
  optimise(work, passes_for(machine));
  poll_stop_now();

  if (output == Output::Ir) {
    module.print(work.out, nullptr);
  } else {
    const auto type = output == Output::Object ? llvm::CodeGenFileType::ObjectFile
                                               : llvm::CodeGenFileType::AssemblyFile;
    if (work.machine->addPassesToEmitFile(work.emitters, work.out, nullptr, type))
      throw Refused{"the target writes no such file"};
    work.emitters.run(module);
  }
  if (!work.said.empty()) throw Refused{work.said};
  const auto* const first = reinterpret_cast<const std::byte*>(work.bytes.data());
  return std::vector<std::byte>(first, first + work.bytes.size());
}

}  // namespace

const Machine& Machine::host() {
  static const Machine kHost = [] {
    Machine host;
    host.triple = llvm::sys::getProcessTriple();
    host.cpu = llvm::sys::getHostCPUName().str();
    for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
      if (!host.features.empty()) host.features += ',';
      host.features += (feature.second ? "+" : "-") + feature.first().str();
      if (feature.first() == "f16c" && feature.second) host.half_conversions = true;
      if (feature.first() == "avx512bw" && feature.second) host.cheap_masks = true;
      if (feature.first() == "avx512f" && feature.second) host.wide_vectors = true;
    }
    return host;
  }();
  return kHost;
}

Machine Machine::nvptx(std::string_view architecture) {
  Machine machine;
  machine.triple = "nvptx64-nvidia-cuda";
  machine.cpu = std::string(architecture);
  machine.features = "+ptx63";
  machine.half_conversions = true;
  machine.lanes_are_threads = true;
  return machine;
}

Result<std::vector<std::byte>> make_code(const Machine& machine, Output output,
                                         const std::function<Result<void>(llvm::Module&)>& fill) {
  start_llvm();
  const struct Inside {
    Inside() { inside = true; }
    ~Inside() { inside = false; }
  } entered;
  auto work = std::make_unique<Work>();
  try {
    return generate(*work, machine, output, fill);
  } catch (const Refused& refused) {
    abandon(std::move(work));
    return std::unexpected(error(
        ErrorCode::CompileFailed,
        fmt::format("LLVM refuses to make code for {}: {}. Fix: report this as a bug of Vyre; "
                    "another device may run the program",
                    machine.triple, refused.reason)));
  } catch (const std::bad_alloc&) {
    abandon(std::move(work));
    throw;
  }
}

std::string llvm_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

bool llvm_was_interrupted() {
  return interrupted;
}

std::optional<Result<std::vector<std::byte>>> if_light(
    uint64_t most, const std::function<Result<std::vector<std::byte>>()>& make) {
  const struct Limit {
    explicit Limit(uint64_t limit) { weight_limit = limit; }
    ~Limit() { weight_limit = 0; }
  } limit(most);
  try {
    return make();
  } catch (const TooHeavy&) {
    return std::nullopt;
  }
}

bool in_llvm() {
  return inside;
}

void set_failure_hooks(const FailureHooks& hooks) {
  failure_hooks = hooks;
}

}  // namespace vyre::codegen
