// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/testdata/fake_driver.hpp"

#include <atomic>
#include <regex>

#include "backend/cuda/batched_copies.hpp"
#include "backend/cuda/code.hpp"
#include "backend/cuda/testdata/fake_state.hpp"

namespace vyre::backend::cuda {

Fake& fake() {
  static Fake* const kFake = new Fake;  // streams may outlive static objects
  return *kFake;
}

namespace {

std::map<std::string, FakeFunction> functions_of(const char* text) {
  std::map<std::string, FakeFunction> functions;
  const std::string all(text);
  static const std::regex kEntry(
      R"(\.entry\s+(\w+)\s*\((?:\s*\.param\s+\.align\s+\d+\s+\.b8\s+\w+\[(\d+)\])?)");
  for (std::sregex_iterator i(all.begin(), all.end(), kEntry), end; i != end; ++i)
    functions[(*i)[1]] = {.name = (*i)[1],
                          .parameter_bytes = (*i)[2].matched ? std::stoul((*i)[2]) : 0};
  return functions;
}

// On the stream if memory of the host is pinned; else the caller waits, as with the real one.
Status copy(void* to, const void* from, size_t bytes, StreamHandle stream, bool waits) {
  const auto on = fake().find(fake().streams, stream);
  if (!on) return status::kInvalidHandle;
  if (waits && on->capturing()) {
    on->invalidate();
    return status::kCaptureUnsupported;
  }
  fake().await_context();
  if (!on->capturing()) on->await_room(kMostAhead);
  on->add({.kind = FakeNode::Kind::Copy, .work = [=] { std::memcpy(to, from, bytes); }});
  if (waits) on->synchronize();
  return 0;
}

}  // namespace

std::function<void()> filling(DeviceAddress to, unsigned value, unsigned width, size_t count) {
  if (width == 1)
    return
        [=] { std::memset(reinterpret_cast<void*>(to), static_cast<unsigned char>(value), count); };
  return [=] {
    if (fake().broken() != 0) return;  // nothing runs on a device that is lost
    auto* const words = reinterpret_cast<uint32_t*>(to);
    for (size_t i = 0; i < count; ++i) std::atomic_ref(words[i]).store(value);
  };
}

Status make_launch(FunctionHandle function, const uint32_t (&grid)[3], const uint32_t (&block)[3],
                   unsigned shared, void** parameters, bool cooperative,
                   std::function<void()>& work) {
  const auto& f = *reinterpret_cast<FakeFunction*>(function);
  const FakeSettings& settings = fake().settings;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > 0x7FFF'FFFF || grid[1] > 65535 ||
      grid[2] > 65535 || block[0] == 0 || uint64_t{block[0]} * block[1] * block[2] > 1024 ||
      static_cast<int>(shared) > f.most_shared)
    return status::kInvalidValue;
  if (cooperative &&
      uint64_t{grid[0]} * grid[1] * grid[2] >
          static_cast<uint64_t>(settings.blocks_per_multiprocessor * settings.attributes.at(16)))
    return status::kCooperativeLaunchTooLarge;
  if (f.name == "vyre_compare") {
    CompareArgs x;
    std::memcpy(&x, parameters[0], sizeof(x));
    if (!fake().is_memory(x.a, x.bytes) || !fake().is_memory(x.b, x.bytes) ||
        !fake().is_memory(x.differs, 4) || x.vectors * 16 > x.bytes ||
        (x.vectors != 0 && (x.a % 16 != 0 || x.b % 16 != 0)))
      return status::kInvalidValue;
    work = [x] {
      if (std::memcmp(reinterpret_cast<const void*>(x.a), reinterpret_cast<const void*>(x.b),
                      x.bytes) != 0)
        *reinterpret_cast<uint32_t*>(x.differs) = 1;
    };
    return 0;
  }
  if (f.name == "vyre_batched_copies") {
    const auto* const first = static_cast<const BatchedCopy*>(parameters[0]);
    const std::vector<BatchedCopy> copies(first, first + grid[0]);
    for (const BatchedCopy& copy : copies)
      if (!fake().is_memory(copy.to, copy.bytes) ||
          (copy.from != 0 && !fake().is_memory(copy.from, copy.bytes)))
        return status::kInvalidValue;
    work = [copies] {
      // In the order that shows best what should have been two launches.
      for (size_t i = copies.size(); i-- != 0;) {
        const auto* const value = reinterpret_cast<const std::byte*>(&copies[i].value);
        for (uint32_t n = 0; n < copies[i].bytes; ++n)
          reinterpret_cast<std::byte*>(copies[i].to)[n] =
              copies[i].from == 0 ? value[n % 4]
                                  : reinterpret_cast<const std::byte*>(copies[i].from)[n];
      }
    };
    return 0;
  }
  FakeLaunch all{.kernel = f.name, .shared_bytes = shared, .cooperative = cooperative};
  std::copy_n(grid, 3, all.grid);
  std::copy_n(block, 3, all.block);
  const auto* const bytes = static_cast<const std::byte*>(parameters[0]);
  all.parameters.assign(bytes, bytes + f.parameter_bytes);
  work = [all = std::move(all)] { fake().run(all); };
  return 0;
}

namespace {

Status launch(FunctionHandle function, const uint32_t (&grid)[3], const uint32_t (&block)[3],
              unsigned shared, StreamHandle stream, void** parameters, bool cooperative) {
  const auto on = fake().find(fake().streams, stream);
  if (!on) return status::kInvalidHandle;
  fake().await_context();
  if (!on->capturing()) on->await_room(kMostAhead);
  FakeNode node{.kind = cooperative ? FakeNode::Kind::Cooperative : FakeNode::Kind::Launch,
                .function = function};
  const Status made =
      make_launch(function, grid, block, shared, parameters, cooperative, node.work);
  if (made == status::kCooperativeLaunchTooLarge) on->invalidate();
  if (made == 0) on->add(std::move(node));
  return made;
}

}  // namespace

extern "C" {

FakeCuda* vyre_fake_cuda() {
  return &fake();
}

// As a driver may do that waits for its kernels when the process ends.
__attribute__((destructor)) void vyre_fake_cuda_end() {
  if (std::getenv("VYRE_FAKE_CUDA_HANGS") != nullptr) Fake::hang();
}

Status cuInit(unsigned) {
  VYRE_ENTER("cuInit", false);
  return 0;
}
Status cuDriverGetVersion(int* version) {
  VYRE_ENTER("cuDriverGetVersion", false);
  *version = fake().settings.driver_version;
  return 0;
}
Status cuGetErrorName(Status status, const char** name) {
  static const std::map<Status, const char*> kNames = {
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {200, "CUDA_ERROR_INVALID_IMAGE"},
      {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {218, "CUDA_ERROR_INVALID_PTX"},
      {500, "CUDA_ERROR_NOT_FOUND"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"}};
  const auto found = kNames.find(status);
  *name = found == kNames.end() ? nullptr : found->second;
  return *name == nullptr ? status::kInvalidValue : 0;
}
Status cuGetErrorString(Status status, const char** text) {
  *text = status == 700 ? "an illegal memory access was encountered" : nullptr;
  return *text == nullptr ? status::kInvalidValue : 0;
}
Status cuDeviceGetCount(int* count) {
  VYRE_ENTER("cuDeviceGetCount", false);
  *count = static_cast<int>(fake().settings.devices.size());
  return 0;
}
Status cuDeviceGet(DeviceNumber* device, int index) {
  VYRE_ENTER("cuDeviceGet", false);
  if (index < 0 || index >= static_cast<int>(fake().settings.devices.size()))
    return status::kInvalidDevice;
  *device = index;
  return 0;
}
Status cuDeviceGetName(char* name, int bytes, DeviceNumber device) {
  VYRE_ENTER("cuDeviceGetName", false);
  const std::string& own = fake().settings.devices[static_cast<size_t>(device)];
  std::strncpy(name, own.c_str(), static_cast<size_t>(bytes));
  return 0;
}
Status cuDeviceGetAttribute(int* value, DeviceAttribute attribute, DeviceNumber) {
  VYRE_ENTER("cuDeviceGetAttribute", false);
  const auto& all = fake().settings.attributes;
  const auto found = all.find(static_cast<int>(attribute));
  if (found == all.end()) return status::kInvalidValue;
  *value = found->second;
  return 0;
}
Status cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceNumber) {
  VYRE_ENTER("cuDevicePrimaryCtxRetain", false);
  const std::scoped_lock lock(fake().mutex_);
  ++fake().retained;
  *context = reinterpret_cast<ContextHandle>(&fake());
  return 0;
}
Status cuDevicePrimaryCtxGetState(DeviceNumber, unsigned* flags, int* active) {
  VYRE_ENTER("cuDevicePrimaryCtxGetState", false);
  const std::scoped_lock lock(fake().mutex_);
  *flags = 0;
  *active = fake().retained != 0 || fake().settings.context_in_use ? 1 : 0;
  return 0;
}
Status cuDevicePrimaryCtxRelease_v2(DeviceNumber) {
  const Status failed = fake().enter("cuDevicePrimaryCtxRelease_v2", false);
  fake().synchronize();
  const std::scoped_lock lock(fake().mutex_);
  if (fake().retained != 0) --fake().retained;
  return failed;
}
Status cuDevicePrimaryCtxReset_v2(DeviceNumber) {
  VYRE_ENTER("cuDevicePrimaryCtxReset_v2", false);
  fake().synchronize();
  fake().mend();
  return 0;
}
Status cuCtxPushCurrent_v2(ContextHandle context) {
  VYRE_ENTER("cuCtxPushCurrent_v2", false);
  if (context == nullptr) return status::kInvalidContext;
  g_current.push_back(context);
  return 0;
}
Status cuCtxPopCurrent_v2(ContextHandle* context) {
  const Status failed = fake().enter("cuCtxPopCurrent_v2", false);
  if (g_current.empty()) return status::kInvalidContext;
  *context = g_current.back();
  g_current.pop_back();
  return failed;
}

Status cuMemGetInfo_v2(size_t* available, size_t* total) {
  VYRE_ENTER("cuMemGetInfo_v2");
  const std::scoped_lock lock(fake().mutex_);
  *total = fake().settings.memory_bytes;
  *available = *total - fake().memory_used;
  return 0;
}
Status cuMemAlloc_v2(DeviceAddress* address, size_t bytes) {
  VYRE_ENTER("cuMemAlloc_v2");
  return fake().allocate(address, bytes);
}
Status cuMemFree_v2(DeviceAddress address) {
  const Status failed = fake().enter("cuMemFree_v2");
  const auto idle = fake().when_idle();
  return fake().free(address) ? failed : status::kInvalidValue;
}
Status cuMemPoolCreate(PoolHandle* pool, const PoolProperties* properties) {
  VYRE_ENTER("cuMemPoolCreate");
  if (properties->allocation != 1 || properties->location != 1) return status::kInvalidValue;
  const std::scoped_lock lock(fake().mutex_);
  ++fake().pools;
  *pool = reinterpret_cast<PoolHandle>(&fake().pools);
  return 0;
}
Status cuMemPoolDestroy(PoolHandle) {
  const Status failed = fake().enter("cuMemPoolDestroy");
  const std::scoped_lock lock(fake().mutex_);
  --fake().pools;
  return failed;
}
Status cuMemPoolSetAttribute(PoolHandle, int attribute, void*) {
  VYRE_ENTER("cuMemPoolSetAttribute");
  return attribute == kPoolReleaseThreshold ? 0 : status::kInvalidValue;
}
Status cuMemPoolTrimTo(PoolHandle, size_t) {
  VYRE_ENTER("cuMemPoolTrimTo");
  return 0;
}
Status cuMemAllocFromPoolAsync(DeviceAddress* address, size_t bytes, PoolHandle pool,
                               StreamHandle stream) {
  VYRE_ENTER("cuMemAllocFromPoolAsync");
  if (pool == nullptr || !fake().find(fake().streams, stream)) return status::kInvalidHandle;
  return fake().allocate(address, bytes);
}
Status cuMemFreeAsync(DeviceAddress address, StreamHandle stream) {
  const Status failed = fake().enter("cuMemFreeAsync");
  if (fake().broken() != 0) fake().synchronize();  // nothing runs on a device that is lost
  const auto on = fake().find(fake().streams, stream);
  if (!on) return status::kInvalidHandle;
  on->add([=] { fake().free(address); });
  return failed;
}
Status cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  VYRE_ENTER("cuMemHostAlloc");
  const std::scoped_lock lock(fake().mutex_);
  *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  std::memset(*address, 0xA5, bytes);
  fake().host_memory[reinterpret_cast<uint64_t>(*address)] = bytes;
  return 0;
}
Status cuMemFreeHost(void* address) {
  const Status failed = fake().enter("cuMemFreeHost");
  const auto idle = fake().when_idle();
  const std::scoped_lock lock(fake().mutex_);
  if (fake().host_memory.erase(reinterpret_cast<uint64_t>(address)) == 0)
    return status::kInvalidValue;
  std::free(address);
  return failed;
}
Status cuMemHostGetDevicePointer_v2(DeviceAddress* address, void* host, unsigned) {
  VYRE_ENTER("cuMemHostGetDevicePointer_v2");
  *address = reinterpret_cast<DeviceAddress>(host);
  return 0;
}
Status cuMemcpyHtoDAsync_v2(DeviceAddress to, const void* from, size_t bytes, StreamHandle stream) {
  VYRE_ENTER("cuMemcpyHtoDAsync_v2");
  if (!fake().is_memory(to, bytes)) return status::kInvalidValue;
  const bool pinned = fake().is_memory(reinterpret_cast<uint64_t>(from), bytes, true);
  return copy(reinterpret_cast<void*>(to), from, bytes, stream, !pinned);
}
Status cuMemcpyDtoHAsync_v2(void* to, DeviceAddress from, size_t bytes, StreamHandle stream) {
  VYRE_ENTER("cuMemcpyDtoHAsync_v2");
  if (!fake().is_memory(from, bytes)) return status::kInvalidValue;
  const bool pinned = fake().is_memory(reinterpret_cast<uint64_t>(to), bytes, true);
  return copy(to, reinterpret_cast<const void*>(from), bytes, stream, !pinned);
}
Status cuMemcpyDtoDAsync_v2(DeviceAddress to, DeviceAddress from, size_t bytes,
                            StreamHandle stream) {
  VYRE_ENTER("cuMemcpyDtoDAsync_v2");
  if (!fake().is_memory(to, bytes) || !fake().is_memory(from, bytes)) return status::kInvalidValue;
  return copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, stream,
              false);
}
Status cuMemsetD8Async(DeviceAddress to, unsigned char value, size_t bytes, StreamHandle stream) {
  VYRE_ENTER("cuMemsetD8Async");
  const auto on = fake().find(fake().streams, stream);
  if (!on || !fake().is_memory(to, bytes)) return status::kInvalidValue;
  fake().await_context();
  if (!on->capturing()) on->await_room(kMostAhead);
  on->add({.kind = FakeNode::Kind::Fill, .work = filling(to, value, 1, bytes)});
  return 0;
}
Status cuMemsetD32Async(DeviceAddress to, unsigned value, size_t count, StreamHandle stream) {
  VYRE_ENTER("cuMemsetD32Async");
  const auto on = fake().find(fake().streams, stream);
  if (!on || to % 4 != 0 || !fake().is_memory(to, count * 4)) return status::kInvalidValue;
  fake().await_context();
  if (!on->capturing()) on->await_room(kMostAhead);
  on->add({.kind = FakeNode::Kind::Fill, .work = filling(to, value, 4, count)});
  return 0;
}

Status cuLinkCreate_v2(unsigned count, int* options, void** values, LinkHandle* link) {
  VYRE_ENTER("cuLinkCreate_v2");
  auto made = std::make_shared<FakeLink>();
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kJitSplitCompile && !fake().settings.splits_compilation)
      return status::kInvalidValue;
    if (options[i] == kJitErrorLog) made->errors = static_cast<char*>(values[i]);
    if (options[i] == kJitErrorLogBytes)
      made->errors_bytes = reinterpret_cast<uintptr_t>(values[i]);
  }
  *link = fake().add<LinkHandle>(fake().links, std::move(made));
  return 0;
}
Status cuLinkAddData_v2(LinkHandle link, int kind, void* data, size_t bytes, const char*, unsigned,
                        int*, void**) {
  VYRE_ENTER("cuLinkAddData_v2");
  const auto found = fake().find(fake().links, link);
  const auto* const text = static_cast<const char*>(data);
  if (!found || kind != kJitInputPtx || bytes == 0 || text[bytes - 1] != 0)
    return status::kInvalidValue;
  found->text.assign(text, bytes);
  if (found->text.contains(".version ")) return 0;
  if (found->errors != nullptr)
    std::strncpy(found->errors, "ptxas fatal : line 1; Missing .version directive",
                 found->errors_bytes - 1);
  return status::kInvalidPtx;
}
Status cuLinkComplete(LinkHandle link, void** code, size_t* bytes) {
  VYRE_ENTER("cuLinkComplete");
  const auto found = fake().find(fake().links, link);
  if (!found) return status::kInvalidHandle;
  *code = found->text.data();
  *bytes = found->text.size();
  return 0;
}
Status cuLinkDestroy(LinkHandle link) {
  const Status failed = fake().enter("cuLinkDestroy");
  return fake().take(fake().links, link) ? failed : status::kInvalidHandle;
}
Status cuModuleLoadData(ModuleHandle* module, const void* image) {
  VYRE_ENTER("cuModuleLoadData");
  const auto idle = fake().when_idle();
  auto made = std::make_shared<FakeModule>();
  made->functions = functions_of(static_cast<const char*>(image));
  if (made->functions.empty()) return status::kInvalidImage;
  *module = fake().add<ModuleHandle>(fake().modules, std::move(made));
  return 0;
}
Status cuModuleUnload(ModuleHandle module) {
  const Status failed = fake().enter("cuModuleUnload");
  const auto idle = fake().when_idle();
  return fake().take(fake().modules, module) ? failed : status::kInvalidHandle;
}
Status cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  VYRE_ENTER("cuModuleGetFunction");
  const auto found = fake().find(fake().modules, module);
  if (!found) return status::kInvalidHandle;
  const auto row = found->functions.find(name);
  if (row == found->functions.end()) return status::kNotFound;
  *function = reinterpret_cast<FunctionHandle>(&row->second);
  return 0;
}
Status cuFuncSetAttribute(FunctionHandle function, int attribute, int value) {
  VYRE_ENTER("cuFuncSetAttribute");
  if (attribute != kFunctionMaxDynamicSharedBytes || value > fake().settings.attributes.at(97))
    return status::kInvalidValue;
  reinterpret_cast<FakeFunction*>(function)->most_shared = value;
  return 0;
}
Status cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionHandle, int, size_t) {
  VYRE_ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = fake().settings.blocks_per_multiprocessor;
  return 0;
}
Status cuLaunchKernel(FunctionHandle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned shared, StreamHandle stream,
                      void** parameters, void**) {
  VYRE_ENTER("cuLaunchKernel");
  return launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters, false);
}
Status cuLaunchCooperativeKernel(FunctionHandle function, unsigned gx, unsigned gy, unsigned gz,
                                 unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                 StreamHandle stream, void** parameters) {
  VYRE_ENTER("cuLaunchCooperativeKernel");
  return launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters, true);
}

}  // extern "C"

}  // namespace vyre::backend::cuda
