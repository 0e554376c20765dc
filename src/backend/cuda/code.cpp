// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/code.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "device/gpu_kernel.hpp"

namespace vyre::backend::cuda {

using namespace device;

namespace {

// More dynamic shared memory than this has to be requested.
constexpr uint64_t kPlainSharedBytes = 48U << 10;

Error compile_failed(std::string message) {
  return {.code = ErrorCode::CompileFailed,
          .message = std::move(message),
          .context = {},
          .at = {},
          .diagnostics = {}};
}

// What the driver's compiler writes about its work, and its result.
class Linker {
 public:
  explicit Linker(const Gpu& gpu) : gpu_(gpu) {}
  Linker(const Linker&) = delete;
  Linker& operator=(const Linker&) = delete;
  ~Linker() {
    if (link_ != nullptr) std::ignore = gpu_.driver.link_destroy(link_);
  }

  Result<std::vector<std::byte>> run(std::span<const std::byte> ptx) {
    std::array options = {kJitInfoLog, kJitInfoLogBytes, kJitErrorLog, kJitErrorLogBytes,
                          kJitSplitCompile};
    std::array<void*, 5> values = {info_.data(), number(info_.size()), errors_.data(),
                                   number(errors_.size()), number(0)};
    Outcome made = gpu_.driver.link_create(options.size(), options.data(), values.data(), &link_);
    // An older driver does not know the last one.
    if (made.status == status::kInvalidValue)
      made = gpu_.driver.link_create(options.size() - 1, options.data(), values.data(), &link_);
    if (!made.ok()) return failed(made);
    // The text ends with a zero, which is no part of the artifact.
    std::string text(reinterpret_cast<const char*>(ptx.data()), ptx.size());
    if (const Outcome got = gpu_.driver.link_add(link_, kJitInputPtx, text.data(), text.size() + 1,
                                                 "vyre", 0, nullptr, nullptr);
        !got.ok())
      return failed(got);
    void* cubin = nullptr;
    size_t bytes = 0;
    if (const Outcome got = gpu_.driver.link_complete(link_, &cubin, &bytes); !got.ok())
      return failed(got);
    std::vector<std::byte> code(bytes);
    if (bytes != 0) std::memcpy(code.data(), cubin, bytes);
    return code;
  }

 private:
  // The driver takes numbers in place of pointers.
  static void* number(uint64_t value) {
    return reinterpret_cast<void*>(value);  // NOLINT(performance-no-int-to-ptr)
  }

  std::unexpected<Error> failed(const Outcome& outcome) const {
    Error why = gpu_.failed(outcome, "compiling PTX");
    // Without a log it is the driver that fails, not the text.
    if (errors_[0] != 0) {
      why.code = is_sticky(outcome.status) ? ErrorCode::DeviceLost : ErrorCode::CompileFailed;
      why.context.push_back(fmt::format("the driver's compiler says: {}{}{}", errors_.data(),
                                        info_[0] != 0 ? "\n" : "", info_.data()));
    }
    return std::unexpected(std::move(why));
  }

  const Gpu& gpu_;
  LinkHandle link_ = nullptr;
  std::array<char, 8192> info_ = {};
  std::array<char, 8192> errors_ = {};
};

Result<Module> load_module(const Gpu& gpu, std::span<const std::byte> cubin, bool cached) {
  ModuleHandle handle = nullptr;
  const Outcome got = gpu.driver.module_load(&handle, cubin.data());
  if (got.ok()) return Module(gpu, handle);
  if (cached && (got.status == status::kInvalidImage || got.status == status::kNoBinaryForGpu))
    return std::unexpected(compile_failed(
        fmt::format("the CUDA binary is none that device `{}` runs: {}. Fix: clear the cache "
                    "(`vyre cache clear`) and compile again",
                    gpu.info.id, describe(gpu.driver, got))));
  return std::unexpected(gpu.failed(got, "loading code"));
}

Result<Kernel> kernel_of(const Gpu& gpu, const Module& module, const Entry& entry, size_t index) {
  Kernel kernel{.entry = entry, .arguments = kernel_arguments(entry)};
  const auto doing = [&] { return fmt::format("loading the kernel of `{}`", entry.name); };
  const std::string name = fmt::format("vyre_entry_{}", index);
  if (const Outcome got =
          gpu.driver.module_function(&kernel.function, module.handle(), name.c_str());
      !got.ok())
    return std::unexpected(gpu.failed(got, doing()));
  const uint64_t shared = entry.shared_bytes;
  if (shared > gpu.info.capabilities.shared_bytes + kGpuSharedHeader)
    return std::unexpected(Error{
        .code = ErrorCode::LimitExceeded,
        .message = fmt::format("`{}` has {} bytes of shared memory, and device `{}` has {} for a "
                               "workgroup. Fix: use smaller shared buffers",
                               entry.name, shared - kGpuSharedHeader, gpu.info.id,
                               gpu.info.capabilities.shared_bytes),
        .context = {},
        .at = {},
        .diagnostics = {}});
  if (shared > kPlainSharedBytes)
    if (const Outcome got = gpu.driver.function_set_attribute(
            kernel.function, kFunctionMaxDynamicSharedBytes, static_cast<int>(shared));
        !got.ok())
      return std::unexpected(gpu.failed(got, doing()));
  int blocks = 0;
  if (const Outcome got =
          gpu.driver.occupancy(&blocks, kernel.function, static_cast<int>(entry.threads), shared);
      !got.ok())
    return std::unexpected(gpu.failed(got, doing()));
  kernel.resident_groups =
      static_cast<uint64_t>(std::max(blocks, 0)) * gpu.info.profile.compute_units;
  if (!entry.launchable) kernel.resident_groups = 0;
  return kernel;
}

// Threads go through vectors of 16 bytes, then through the bytes behind the last of them.
constexpr const char* kComparePtx = R"(.version 6.3
.target sm_75
.address_size 64

.visible .entry vyre_compare(.param .align 8 .b8 p_compare[40])
{
  .reg .pred %p;
  .reg .b32 %r<14>;
  .reg .b64 %a, %b, %vectors, %bytes, %differs, %first, %step, %i, %at, %x, %y;

  ld.param.u64 %a, [p_compare];
  ld.param.u64 %b, [p_compare+8];
  ld.param.u64 %vectors, [p_compare+16];
  ld.param.u64 %bytes, [p_compare+24];
  ld.param.u64 %differs, [p_compare+32];
  cvta.to.global.u64 %a, %a;
  cvta.to.global.u64 %b, %b;
  cvta.to.global.u64 %differs, %differs;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mul.wide.u32 %first, %r0, %r1;
  cvt.u64.u32 %i, %r2;
  add.u64 %first, %first, %i;
  mul.wide.u32 %step, %r3, %r1;
  mov.u32 %r13, 0;
  mov.u64 %i, %first;
vectors:
  setp.ge.u64 %p, %i, %vectors;
  @%p bra tail;
  shl.b64 %at, %i, 4;
  add.u64 %x, %a, %at;
  add.u64 %y, %b, %at;
  ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%x];
  ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%y];
  xor.b32 %r0, %r0, %r4;
  xor.b32 %r1, %r1, %r5;
  xor.b32 %r2, %r2, %r6;
  xor.b32 %r3, %r3, %r7;
  or.b32 %r0, %r0, %r1;
  or.b32 %r2, %r2, %r3;
  or.b32 %r13, %r13, %r0;
  or.b32 %r13, %r13, %r2;
  add.u64 %i, %i, %step;
  bra vectors;
tail:
  shl.b64 %i, %vectors, 4;
  add.u64 %i, %i, %first;
bytes:
  setp.ge.u64 %p, %i, %bytes;
  @%p bra done;
  add.u64 %x, %a, %i;
  add.u64 %y, %b, %i;
  ld.global.u8 %r0, [%x];
  ld.global.u8 %r4, [%y];
  xor.b32 %r0, %r0, %r4;
  or.b32 %r13, %r13, %r0;
  add.u64 %i, %i, %step;
  bra bytes;
done:
  setp.eq.u32 %p, %r13, 0;
  @%p bra end;
  mov.u32 %r0, 1;
  st.global.u32 [%differs], %r0;
end:
  ret;
}
)";

constexpr uint32_t kCompareThreads = 256;
constexpr uint32_t kCompareVector = 16;
constexpr uint64_t kCompareBlocks = 1024;

}  // namespace

Module::~Module() {
  if (handle_ != nullptr) gpu_->deferred.module(handle_);
}

Result<std::vector<std::byte>> link_code(const Gpu& gpu, const Artifact& artifact) {
  if (artifact.format != Format::Ptx) return std::vector<std::byte>();
  const TimeCounter::Scope compiling(gpu.counters.jit);
  return Linker(gpu).run(artifact.code);
}

Result<Code> load_code(const Gpu& gpu, const Artifact& artifact,
                       std::span<const std::byte> linked) {
  const TimeCounter::Scope loading(gpu.counters.load);
  const bool cached = artifact.format == Format::Cubin;
  VYRE_TRY_ASSIGN(auto module, load_module(gpu, cached ? artifact.code : linked, cached));
  Code code{.module = std::move(module), .kernels = {}, .explain = artifact.explain};
  for (size_t i = 0; i < artifact.entries.size(); ++i) {
    VYRE_TRY_ASSIGN(auto kernel, kernel_of(gpu, code.module, artifact.entries[i], i));
    code.kernels.push_back(std::move(kernel));
  }
  return code;
}

Result<FunctionHandle> OwnKernel::function() {
  const std::scoped_lock lock(mutex_);
  if (function_ != nullptr) return function_;
  const TimeCounter::Scope compiling(gpu_.counters.jit);  // from PTX
  ModuleHandle handle = nullptr;
  if (const Outcome got = gpu_.driver.module_load(&handle, ptx_); !got.ok())
    return std::unexpected(gpu_.failed(got, "loading a kernel of the driver"));
  Module module(gpu_, handle);
  FunctionHandle function = nullptr;
  if (const Outcome got = gpu_.driver.module_function(&function, handle, name_); !got.ok())
    return std::unexpected(gpu_.failed(got, "loading a kernel of the driver"));
  module_ = std::move(module);
  function_ = function;
  return function_;
}

void OwnKernel::clear() noexcept {
  const std::scoped_lock lock(mutex_);
  function_ = nullptr;
  const Module old = std::move(module_);
}

CompareKernel::CompareKernel(const Gpu& gpu)
    : gpu_(gpu), kernel_(gpu, kComparePtx, "vyre_compare") {}

Result<void> CompareKernel::load() {
  VYRE_TRY(kernel_.function());
  return {};
}

Result<void> CompareKernel::launch(const CompareArgs& what, CommandSink& sink) {
  VYRE_TRY_ASSIGN(auto function, kernel_.function());
  CompareArgs args = what;
  args.vectors = args.a % kCompareVector == 0 && args.b % kCompareVector == 0
                     ? args.bytes / kCompareVector
                     : 0;
  const uint64_t iterations = std::max(args.vectors, args.bytes - args.vectors * kCompareVector);
  const auto blocks = static_cast<uint32_t>(
      std::min((iterations + kCompareThreads - 1) / kCompareThreads, kCompareBlocks));
  return gpu_.check(
      sink.launch({.function = function, .grid = {blocks, 1, 1}, .threads = kCompareThreads},
                  std::as_bytes(std::span(&args, 1))),
      "a comparison");
}

}  // namespace vyre::backend::cuda
