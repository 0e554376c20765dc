// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/driver_api.hpp"

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/fork.hpp"

namespace vyre::backend::cuda {

namespace {

std::string last_problem() {
  const char* text = dlerror();
  return text != nullptr ? text : "the system does not say why";
}

template <class Function>
bool load(void* library, Function& function) {
  function.address = reinterpret_cast<decltype(function.address)>(dlsym(library, function.symbol));
  return function.address != nullptr;
}

using LoadedDriver = std::expected<std::unique_ptr<const Driver>, std::string>;

LoadedDriver load_driver(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return std::unexpected(fmt::format("the NVIDIA driver cannot be loaded: {}", last_problem()));
  auto driver = std::make_unique<Driver>();
  const char* missing = nullptr;
#define VYRE_LOAD(name, ...) \
  if (missing == nullptr && !load(library, driver->name)) missing = driver->name.symbol;
  VYRE_CUDA_FUNCTIONS(VYRE_LOAD)
#undef VYRE_LOAD
  if (missing == nullptr) return driver;
  dlclose(library);
  return std::unexpected(
      fmt::format("{} is too old for CUDA 12.0: it has no function {}", path, missing));
}

ErrorCode code_of(Status status) {
  if (is_sticky(status)) return ErrorCode::DeviceLost;
  switch (status) {
    case status::kOutOfMemory: return ErrorCode::DeviceOutOfMemory;
    case status::kCooperativeLaunchTooLarge: return ErrorCode::CooperativeResidencyExceeded;
    case status::kInvalidImage:
    case status::kNoBinaryForGpu:
    case status::kInvalidPtx:
    case status::kJitCompilerNotFound:
    case status::kUnsupportedPtxVersion:
    case status::kJitCompilationDisabled:
    case status::kInvalidSource:
    case status::kSymbolNotFound:
    case status::kNotFound: return ErrorCode::CompileFailed;
    case status::kNotInitialized:
    case status::kStubLibrary:
    case status::kDeviceUnavailable:
    case status::kNoDevice:
    case status::kInvalidDevice:
    case status::kSystemNotReady:
    case status::kSystemDriverMismatch:
    case status::kCompatNotSupported: return ErrorCode::Unavailable;
    case status::kInvalidValue:
    case status::kInvalidHandle: return ErrorCode::Internal;
    default: return ErrorCode::DispatchFailed;
  }
}

std::string_view fix_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::DeviceLost:
      return "recover() the device; if that fails, restart the process. A kernel that left its "
             "memory is a bug to report";
    case ErrorCode::DeviceOutOfMemory: return "free buffers, or use smaller ones";
    case ErrorCode::CooperativeResidencyExceeded:
      return "use a smaller grid, or let the driver cut the program";
    case ErrorCode::CompileFailed:
      return "update the NVIDIA driver; if that does not help, report this as a bug";
    case ErrorCode::Unavailable: return "look at what nvidia-smi says of the device";
    case ErrorCode::Internal: return "report this as a bug";
    default: return "run it again; if that does not help, look at what nvidia-smi says";
  }
}

}  // namespace

std::expected<const Driver*, std::string> find_driver() {
  static const uint32_t kForkEpoch = base::fork_epoch();
  if (base::is_forked_since(kForkEpoch))
    return std::unexpected(
        "the NVIDIA driver does not work in a child of the process that has "
        "loaded it; open the device in a process that was started anew");
  static std::mutex g_mutex;
  // Never destroyed: devices may be closed when the program ends.
  static auto& g_drivers = *new std::map<std::string, LoadedDriver>;
  const char* const other = std::getenv(kDriverVariable);
  const std::string path = other != nullptr && *other != 0 ? other : kDriverLibrary;
  const std::scoped_lock lock(g_mutex);
  auto found = g_drivers.find(path);
  if (found == g_drivers.end()) found = g_drivers.emplace(path, load_driver(path)).first;
  if (!found->second) return std::unexpected(found->second.error());
  return found->second->get();
}

bool is_sticky(Status status) {
  switch (status) {
    case status::kDeinitialized:
    case status::kInvalidContext:
    case status::kEccUncorrectable:
    case status::kNvlinkUncorrectable:
    case status::kContained:
    case status::kIllegalAddress:
    case status::kLaunchTimeout:
    case status::kContextIsDestroyed:
    case status::kAssert:
    case status::kTensorMemoryLeak:
    case status::kUnknown: return true;
    default: return status >= status::kHardwareStackError && status <= status::kLaunchFailed;
  }
}

std::string describe(const Driver& driver, const Outcome& outcome) {
  const char* name = nullptr;
  if (!driver.error_name(outcome.status, &name).ok() || name == nullptr) name = "an unknown error";
  return fmt::format("{} ({}) from {}", name, outcome.status, outcome.call);
}

Error error_of(const Driver& driver, const Outcome& outcome, std::string_view doing) {
  const ErrorCode code = code_of(outcome.status);
  const char* text = nullptr;
  if (!driver.error_text(outcome.status, &text).ok() || text == nullptr) text = "";
  return error(code, fmt::format("{} failed with {}{}{}. Fix: {}", doing, describe(driver, outcome),
                                 *text != 0 ? ": " : "", text, fix_of(code)));
}

}  // namespace vyre::backend::cuda
