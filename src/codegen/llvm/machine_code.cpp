// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/machine_code.hpp"

#include <mutex>
#include <new>

#include <fmt/format.h>
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
#include <llvm/Transforms/Scalar/Scalarizer.h>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

#include "codegen/llvm/nan_bits.hpp"
#include "codegen/llvm/narrow_lanes.hpp"
#include "codegen/llvm/wrapping_tests.hpp"

namespace vyre::codegen {

namespace {

Error failed(ErrorCode code, std::string message) {
  return {.code = code, .message = std::move(message), .context = {}, .at = {}, .diagnostics = {}};
}

// Where LLVM would end the process.
struct Refused {
  std::string reason;
};

void refuse(void*, const char* reason, bool) {
  throw Refused{reason};
}
void refuse_memory(void*, const char*, bool) {
  throw std::bad_alloc();
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
// LLVM puts together what a thread accesses in a row. Nothing may follow the last two passes,
// which instcombine would undo.
constexpr const char* kThreadPasses =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,infer-alignment,"
    "vyre-take-apart,instcombine<no-verify-fixpoint>,vyre-nan-bits,loop-mssa(loop-rotate,licm),"
    "simplifycfg,gvn<no-pre>,instcombine<no-verify-fixpoint>,loop(loop-unroll-full),sroa,"
    "early-cse<memssa>,loop-unroll<O3>,simplifycfg,early-cse<memssa>,correlated-propagation,"
    "infer-alignment,dse,adce,simplifycfg,vyre-sign-bits,vyre-wrapping-tests)";

void optimise(llvm::Module& module, llvm::TargetMachine& machine, const char* pipeline) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerPipelineParsingCallback([](llvm::StringRef name,
                                             llvm::FunctionPassManager& passes,
                                             llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
    if (name == NarrowLanes::kName) {
      passes.addPass(NarrowLanes());
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
    if (name == WrappingTests::kName) {
      passes.addPass(WrappingTests());
      return true;
    }
    if (name != "vyre-take-apart") return false;
    llvm::ScalarizerPassOptions options;
    options.ScalarizeLoadStore = true;
    passes.addPass(llvm::ScalarizerPass(options));
    return true;
  });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, pipeline))
    throw Refused{llvm::toString(std::move(error))};
  passes.run(module, modules);
}

void collect(const llvm::DiagnosticInfo* info, void* text) {
  if (info->getSeverity() != llvm::DS_Error) return;
  std::string& said = *static_cast<std::string*>(text);
  llvm::raw_string_ostream out(said);
  llvm::DiagnosticPrinterRawOStream printer(out);
  info->print(printer);
}

Result<std::vector<std::byte>> generate(const Machine& machine, Output output,
                                        const std::function<Result<void>(llvm::Module&)>& fill) {
  std::string reason;
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(machine.triple, reason);
  if (target == nullptr)
    return std::unexpected(
        failed(ErrorCode::CompileFailed,
               fmt::format("LLVM makes no code for {}: {}. Fix: use another device", machine.triple,
                           reason)));
  const std::unique_ptr<llvm::TargetMachine> made(target->createTargetMachine(
      machine.triple, machine.cpu, machine.features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Default));
  llvm::LLVMContext context;
  std::string said;
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* info, void* text) { collect(info, text); }, &said);
  llvm::Module module("vyre", context);
  module.setTargetTriple(machine.triple);
  module.setDataLayout(made->createDataLayout());
  if (auto ok = fill(module); !ok) return std::unexpected(ok.error());
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", machine.cpu);
    function.addFnAttr("target-features", machine.features);
    if (machine.wide_vectors) function.addFnAttr("prefer-vector-width", "512");
  }
  std::string broken;
  llvm::raw_string_ostream broken_out(broken);
  if (llvm::verifyModule(module, &broken_out))
    return std::unexpected(failed(
        ErrorCode::Internal, fmt::format("the code generator made invalid LLVM IR: {}. Fix: report "
                                         "this as a bug of Vyre",
                                         broken)));
  optimise(module, *made, machine.lanes_are_threads ? kThreadPasses : kPasses);

  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream out(bytes);
  if (output == Output::Ir) {
    module.print(out, nullptr);
  } else {
    llvm::legacy::PassManager passes;
    const auto type = output == Output::Object ? llvm::CodeGenFileType::ObjectFile
                                               : llvm::CodeGenFileType::AssemblyFile;
    if (made->addPassesToEmitFile(passes, out, nullptr, type))
      throw Refused{"the target writes no such file"};
    passes.run(module);
  }
  if (!said.empty()) throw Refused{said};
  const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
  return std::vector<std::byte>(first, first + bytes.size());
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
  try {
    return generate(machine, output, fill);
  } catch (const Refused& refused) {
    return std::unexpected(failed(
        ErrorCode::CompileFailed,
        fmt::format("LLVM refuses to make code for {}: {}. Fix: report this as a bug of Vyre; "
                    "another device may run the program",
                    machine.triple, refused.reason)));
  }
}

}  // namespace vyre::codegen
