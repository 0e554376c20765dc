// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that the backend uses, declared here so that neither building nor
// running needs CUDA's headers: the driver's library is looked for at run time, once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "vyre/base/result.hpp"

namespace vyre::backend::cuda {

using Status = int;
using DeviceNumber = int;
using DeviceAddress = uint64_t;
using ContextHandle = struct ContextOpaque*;
using ModuleHandle = struct ModuleOpaque*;
using FunctionHandle = struct FunctionOpaque*;
using StreamHandle = struct StreamOpaque*;
using EventHandle = struct EventOpaque*;
using LinkHandle = struct LinkOpaque*;
using PoolHandle = struct PoolOpaque*;
using GraphHandle = struct GraphOpaque*;
using GraphExecHandle = struct GraphExecOpaque*;
using NodeHandle = struct NodeOpaque*;

// Only those that something is decided by; the driver has names for all of them.
namespace status {
inline constexpr Status kSuccess = 0;
inline constexpr Status kInvalidValue = 1;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kNotInitialized = 3;
inline constexpr Status kDeinitialized = 4;
inline constexpr Status kStubLibrary = 34;
inline constexpr Status kDeviceUnavailable = 46;
inline constexpr Status kNoDevice = 100;
inline constexpr Status kInvalidDevice = 101;
inline constexpr Status kInvalidImage = 200;
inline constexpr Status kInvalidContext = 201;
inline constexpr Status kNoBinaryForGpu = 209;
inline constexpr Status kEccUncorrectable = 214;
inline constexpr Status kInvalidPtx = 218;
inline constexpr Status kNvlinkUncorrectable = 220;
inline constexpr Status kJitCompilerNotFound = 221;
inline constexpr Status kUnsupportedPtxVersion = 222;
inline constexpr Status kJitCompilationDisabled = 223;
inline constexpr Status kContained = 226;
inline constexpr Status kInvalidSource = 300;
inline constexpr Status kSymbolNotFound = 302;
inline constexpr Status kInvalidHandle = 400;
inline constexpr Status kNotFound = 500;
inline constexpr Status kNotReady = 600;
inline constexpr Status kIllegalAddress = 700;
inline constexpr Status kLaunchTimeout = 702;
inline constexpr Status kContextIsDestroyed = 709;
inline constexpr Status kAssert = 710;
inline constexpr Status kHardwareStackError = 714;  // the next ones up to kLaunchFailed are alike
inline constexpr Status kLaunchFailed = 719;
inline constexpr Status kCooperativeLaunchTooLarge = 720;
inline constexpr Status kTensorMemoryLeak = 721;
inline constexpr Status kSystemNotReady = 802;
inline constexpr Status kSystemDriverMismatch = 803;
inline constexpr Status kCompatNotSupported = 804;
inline constexpr Status kCaptureUnsupported = 900;
inline constexpr Status kCaptureInvalidated = 901;
inline constexpr Status kCaptureIsolation = 905;
inline constexpr Status kUnknown = 999;
}  // namespace status

enum class DeviceAttribute : int {
  MultiprocessorCount = 16,
  MemoryClockKilohertz = 36,
  MemoryBusBits = 37,
  ThreadsPerMultiprocessor = 39,
  CapabilityMajor = 75,
  CapabilityMinor = 76,
  RegistersPerMultiprocessor = 82,
  CooperativeLaunch = 95,
  SharedBytesPerBlockOptIn = 97,
  MemoryPools = 115,
};
struct PoolProperties {
  int allocation = 1;  // physical memory that stays where it is
  int handles = 0;
  int location = 1;  // a device
  int device = 0;
  void* security = nullptr;
  size_t most_bytes = 0;
  unsigned char reserved[56] = {};
};
static_assert(sizeof(PoolProperties) == 88);
// What nodes of a graph are given: a launch, a fill and a copy of one row.
struct KernelNodeParameters {
  FunctionHandle function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;  // instead of a function
  ContextHandle context = nullptr;
};
static_assert(sizeof(KernelNodeParameters) == 72);
struct SetNodeParameters {
  DeviceAddress to = 0;
  size_t pitch = 0;
  unsigned value = 0;
  unsigned element_bytes = 4;
  size_t width = 0;  // elements
  size_t height = 1;
};
static_assert(sizeof(SetNodeParameters) == 40);
struct CopyPlace {
  static constexpr int kHost = 1;
  static constexpr int kDevice = 2;
  size_t x = 0, y = 0, z = 0, level = 0;
  int memory = kDevice;
  void* host = nullptr;
  DeviceAddress device = 0;
  void* array = nullptr;
  void* reserved = nullptr;
  size_t pitch = 0;
  size_t height = 0;
};
struct CopyNodeParameters {
  CopyPlace from{}, to{};
  size_t width = 0;  // bytes
  size_t height = 1;
  size_t depth = 1;
};
static_assert(sizeof(CopyNodeParameters) == 200);
inline constexpr int kPoolReleaseThreshold = 4;
inline constexpr int kFunctionMaxDynamicSharedBytes = 8;
inline constexpr int kJitInfoLog = 3;
inline constexpr int kJitInfoLogBytes = 4;
inline constexpr int kJitErrorLog = 5;
inline constexpr int kJitErrorLogBytes = 6;
inline constexpr int kJitSplitCompile = 34;  // number of threads; 0: one per core
inline constexpr int kJitInputPtx = 1;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kHostAllocDeviceMap = 2;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kStreamNonBlocking = 1;
// No other thread is blocked meanwhile.
inline constexpr int kCaptureRelaxed = 2;

// X(name, symbol, parameters...). The only list: the table, its loading and the driver that the
// tests have are made from it.
// clang-format off
#define VYRE_CUDA_FUNCTIONS(X)                                                                       \
  X(init, "cuInit", unsigned)                                                                        \
  X(driver_version, "cuDriverGetVersion", int*)                                                      \
  X(error_name, "cuGetErrorName", Status, const char**)                                              \
  X(error_text, "cuGetErrorString", Status, const char**)                                            \
  X(device_count, "cuDeviceGetCount", int*)                                                          \
  X(device_get, "cuDeviceGet", DeviceNumber*, int)                                                   \
  X(device_name, "cuDeviceGetName", char*, int, DeviceNumber)                                        \
  X(device_attribute, "cuDeviceGetAttribute", int*, DeviceAttribute, DeviceNumber)                   \
  X(context_retain, "cuDevicePrimaryCtxRetain", ContextHandle*, DeviceNumber)                        \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", DeviceNumber)                                   \
  X(context_state, "cuDevicePrimaryCtxGetState", DeviceNumber, unsigned*, int*)                      \
  X(context_reset, "cuDevicePrimaryCtxReset_v2", DeviceNumber)                                       \
  X(context_push, "cuCtxPushCurrent_v2", ContextHandle)                                              \
  X(context_pop, "cuCtxPopCurrent_v2", ContextHandle*)                                               \
  X(memory_info, "cuMemGetInfo_v2", size_t*, size_t*)                                                \
  X(memory_allocate, "cuMemAlloc_v2", DeviceAddress*, size_t)                                        \
  X(memory_free, "cuMemFree_v2", DeviceAddress)                                                      \
  X(pool_create, "cuMemPoolCreate", PoolHandle*, const PoolProperties*)                              \
  X(pool_destroy, "cuMemPoolDestroy", PoolHandle)                                                    \
  X(pool_set_attribute, "cuMemPoolSetAttribute", PoolHandle, int, void*)                             \
  X(pool_trim, "cuMemPoolTrimTo", PoolHandle, size_t)                                                \
  X(pool_allocate, "cuMemAllocFromPoolAsync", DeviceAddress*, size_t, PoolHandle, StreamHandle)      \
  X(pool_free, "cuMemFreeAsync", DeviceAddress, StreamHandle)                                        \
  X(host_allocate, "cuMemHostAlloc", void**, size_t, unsigned)                                       \
  X(host_free, "cuMemFreeHost", void*)                                                               \
  X(host_address, "cuMemHostGetDevicePointer_v2", DeviceAddress*, void*, unsigned)                   \
  X(copy_to_device, "cuMemcpyHtoDAsync_v2", DeviceAddress, const void*, size_t, StreamHandle)        \
  X(copy_to_host, "cuMemcpyDtoHAsync_v2", void*, DeviceAddress, size_t, StreamHandle)                \
  X(copy, "cuMemcpyDtoDAsync_v2", DeviceAddress, DeviceAddress, size_t, StreamHandle)                \
  X(set_bytes, "cuMemsetD8Async", DeviceAddress, unsigned char, size_t, StreamHandle)                \
  X(set_words, "cuMemsetD32Async", DeviceAddress, unsigned, size_t, StreamHandle)                    \
  X(link_create, "cuLinkCreate_v2", unsigned, int*, void**, LinkHandle*)                             \
  X(link_add, "cuLinkAddData_v2", LinkHandle, int, void*, size_t, const char*, unsigned, int*,       \
    void**)                                                                                          \
  X(link_complete, "cuLinkComplete", LinkHandle, void**, size_t*)                                    \
  X(link_destroy, "cuLinkDestroy", LinkHandle)                                                       \
  X(module_load, "cuModuleLoadData", ModuleHandle*, const void*)                                     \
  X(module_unload, "cuModuleUnload", ModuleHandle)                                                   \
  X(module_function, "cuModuleGetFunction", FunctionHandle*, ModuleHandle, const char*)              \
  X(function_set_attribute, "cuFuncSetAttribute", FunctionHandle, int, int)                          \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", int*, FunctionHandle, int, size_t)     \
  X(launch, "cuLaunchKernel", FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned,      \
    unsigned, unsigned, StreamHandle, void**, void**)                                                \
  X(launch_cooperative, "cuLaunchCooperativeKernel", FunctionHandle, unsigned, unsigned, unsigned,   \
    unsigned, unsigned, unsigned, unsigned, StreamHandle, void**)                                    \
  X(stream_create, "cuStreamCreate", StreamHandle*, unsigned)                                        \
  X(stream_destroy, "cuStreamDestroy_v2", StreamHandle)                                              \
  X(stream_synchronize, "cuStreamSynchronize", StreamHandle)                                         \
  X(stream_query, "cuStreamQuery", StreamHandle)                                                     \
  X(stream_wait, "cuStreamWaitEvent", StreamHandle, EventHandle, unsigned)                           \
  X(capture_begin, "cuStreamBeginCapture_v2", StreamHandle, int)                                     \
  X(capture_end, "cuStreamEndCapture", StreamHandle, GraphHandle*)                                   \
  X(capture_info, "cuStreamGetCaptureInfo_v2", StreamHandle, int*, uint64_t*, GraphHandle*,          \
    const NodeHandle**, size_t*)                                                                     \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", GraphExecHandle*, GraphHandle,                 \
    unsigned long long)                                                                              \
  X(graph_destroy, "cuGraphDestroy", GraphHandle)                                                    \
  X(graph_launch, "cuGraphLaunch", GraphExecHandle, StreamHandle)                                    \
  X(graph_set_kernel, "cuGraphExecKernelNodeSetParams_v2", GraphExecHandle, NodeHandle,              \
    const KernelNodeParameters*)                                                                     \
  X(graph_set_fill, "cuGraphExecMemsetNodeSetParams", GraphExecHandle, NodeHandle,                   \
    const SetNodeParameters*, ContextHandle)                                                         \
  X(graph_set_copy, "cuGraphExecMemcpyNodeSetParams", GraphExecHandle, NodeHandle,                   \
    const CopyNodeParameters*, ContextHandle)                                                        \
  X(graph_exec_destroy, "cuGraphExecDestroy", GraphExecHandle)                                       \
  X(event_create, "cuEventCreate", EventHandle*, unsigned)                                           \
  X(event_destroy, "cuEventDestroy_v2", EventHandle)                                                 \
  X(event_record, "cuEventRecord", EventHandle, StreamHandle)                                        \
  X(event_query, "cuEventQuery", EventHandle)                                                        \
  X(event_synchronize, "cuEventSynchronize", EventHandle)                                            \
  X(event_elapsed, "cuEventElapsedTime", float*, EventHandle, EventHandle)
// clang-format on

// What a call of the driver came to.
struct [[nodiscard]] Outcome {
  Status status = status::kSuccess;
  const char* call = "";
  [[nodiscard]] bool ok() const { return status == status::kSuccess; }
};

template <class... Parameters>
struct DriverFunction {
  const char* symbol;
  Status (*address)(Parameters...) = nullptr;
  Outcome operator()(Parameters... arguments) const { return {address(arguments...), symbol}; }
};

struct Driver {
#define VYRE_FUNCTION(name, symbol, ...) DriverFunction<__VA_ARGS__> name{symbol};
  VYRE_CUDA_FUNCTIONS(VYRE_FUNCTION)
#undef VYRE_FUNCTION
};

// The library that is looked for, and the environment variable that names another one.
inline constexpr const char* kDriverLibrary = "libcuda.so.1";
inline constexpr const char* kDriverVariable = "VYRE_CUDA_LIBRARY";
// How many multiprocessors are used for what has to be there at once. For tests.
inline constexpr const char* kUnitsVariable = "VYRE_CUDA_UNITS";
// How many milliseconds a kernel may go on after a request to stop. For tools under which kernels
// take longer than on a GPU.
inline constexpr const char* kGraceVariable = "VYRE_CUDA_GRACE_MS";
// How long a submission waits for a moment without work to make a graph in.
inline constexpr const char* kMomentVariable = "VYRE_CUDA_MOMENT_MS";

// The driver of this process. Each library is loaded once and stays. If there is none, or one
// without a function of the table: why. Any thread may call it.
std::expected<const Driver*, std::string> find_driver();

// The error of a call that did not succeed: names the call, the driver's name of the error and its
// number. `doing` begins the sentence: "loading code", "a launch of `bfs, segment 1`".
Error error_of(const Driver& driver, const Outcome& outcome, std::string_view doing);
// "CUDA_ERROR_NO_DEVICE (100) from cuInit"
std::string describe(const Driver& driver, const Outcome& outcome);
// The context, and with it everything made in it, is of no use after such an error.
bool is_sticky(Status status);

}  // namespace vyre::backend::cuda
