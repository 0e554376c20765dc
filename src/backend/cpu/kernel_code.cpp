// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernel_code.hpp"

#include <cstring>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace vyre::backend::cpu {

using device::Entry;
using device::KernelInfo;

namespace {

std::unexpected<Error> failed(const Entry& entry, std::string_view what) {
  return std::unexpected(
      Error{.code = ErrorCode::CompileFailed,
            .message = fmt::format("the object code of `{}` cannot be used: it {}. Fix: clear the "
                                   "cache and compile again; if that does not help, report this "
                                   "as a bug",
                                   entry.name, what),
            .context = {},
            .at = {},
            .diagnostics = {}});
}

Result<Kernel> kernel_of(const LoadedObject& object, const device::Artifact& artifact, size_t index,
                         const KernelInfo& info) {
  const Entry& entry = artifact.entries[index];
  if (entry.barriers_inside)
    return failed(entry, "has barriers over the grid, which this device does not keep");
  constexpr uint64_t kMostScratch = uint64_t{1} << 32;
  if (info.scratch_bytes > kMostScratch) return failed(entry, "asks for too much scratch memory");
  Kernel kernel{.info = info,
                .number = static_cast<uint32_t>(index),
                .entry = entry,
                .explain = artifact.explain,
                .arguments = device::kernel_arguments(entry)};
  const auto function = object.symbol(fmt::format("vyre_entry_{}", index));
  if (!function || !function->executable || function->bytes == 0)
    return failed(entry, fmt::format("does not define vyre_entry_{}", index));
  kernel.run = reinterpret_cast<device::KernelFn>(function->address);
  if ((info.flags & KernelInfo::kHasFinish) == 0) return kernel;
  const auto finish = object.symbol(fmt::format("vyre_finish_{}", index));
  if (!finish || !finish->executable || finish->bytes == 0)
    return failed(entry, fmt::format("does not define vyre_finish_{}", index));
  kernel.finish = reinterpret_cast<device::KernelFinishFn>(finish->address);
  return kernel;
}

}  // namespace

Result<KernelCode> load_kernels(const device::Artifact& artifact) {
  VYRE_TRY_ASSIGN(auto object, LoadedObject::load(artifact.code));
  KernelCode code{.object = std::move(object), .kernels = {}};
  const auto infos = code.object.symbol("vyre_info");
  for (size_t i = 0; i < artifact.entries.size(); ++i) {
    if (!infos || infos->bytes / sizeof(KernelInfo) <= i)
      return failed(artifact.entries[i], fmt::format("has no vyre_info for entry {}", i));
    KernelInfo info;
    std::memcpy(&info, infos->address + i * sizeof(KernelInfo), sizeof(KernelInfo));
    VYRE_TRY_ASSIGN(auto kernel, kernel_of(code.object, artifact, i, info));
    code.kernels.push_back(std::move(kernel));
  }
  return code;
}

}  // namespace vyre::backend::cpu
