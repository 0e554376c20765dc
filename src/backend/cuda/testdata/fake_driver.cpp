// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/testdata/fake_driver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <regex>
#include <unordered_map>
#include <utility>

#include "backend/cuda/code.hpp"
#include "backend/cuda/driver_api.hpp"
#include "backend/cuda/moves.hpp"
#include "backend/cuda/testdata/fake_stream.hpp"

namespace vyre::backend::cuda {

namespace {

struct FakeFunction {
  std::string name;
  size_t parameter_bytes = 0;
  int most_shared = 48 << 10;
};
struct FakeModule {
  std::map<std::string, FakeFunction> functions;
};
struct FakeLink {
  char* errors = nullptr;
  size_t errors_bytes = 0;
  std::string text;
};

struct Fault {
  std::string name;
  uint64_t left = 0;
  Status status = 0;
};

thread_local std::vector<ContextHandle> g_current;

class Fake final : public FakeCuda {
 public:
  void reset(FakeSettings settings) override {
    const std::scoped_lock lock(mutex_);
    this->settings = std::move(settings);
    calls_ = 0;
    record_.clear();
    launches_.clear();
    faults_.clear();
    kernels_.clear();
    sticky_ = 0;
  }
  uint64_t calls() override {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  std::vector<std::string> record() override {
    const std::scoped_lock lock(mutex_);
    return record_;
  }
  std::vector<FakeLaunch> launches() override {
    const std::scoped_lock lock(mutex_);
    return launches_;
  }
  void clear_record() override {
    const std::scoped_lock lock(mutex_);
    record_.clear();
    launches_.clear();
  }
  void fail(const std::string& name, uint64_t n, int status) override {
    const std::scoped_lock lock(mutex_);
    faults_.push_back({name, n, status});
  }
  void on_kernel(const std::string& name, std::function<int(const FakeLaunch&)> function) override {
    const std::scoped_lock lock(mutex_);
    kernels_[name] = std::move(function);
  }
  FakeLive live() override {
    const std::scoped_lock lock(mutex_);
    const auto ready = static_cast<uint64_t>(std::ranges::count_if(
        graphs, [](const auto& row) { return row.second->source != nullptr; }));
    return {.contexts = retained,
            .current = g_current.size(),
            .memory = memory.size(),
            .host_memory = host_memory.size(),
            .pools = pools,
            .modules = modules.size(),
            .links = links.size(),
            .streams = streams.size(),
            .events = events.size(),
            .captured_graphs = graphs.size() - ready,
            .graphs = ready};
  }

  // One more call; not 0: it fails.
  Status enter(const char* name, bool of_context = true) {
    const std::scoped_lock lock(mutex_);
    ++calls_;
    record_.emplace_back(name);
    Status struck = 0;
    for (Fault& fault : faults_)
      if ((fault.name.empty() || fault.name == name) && fault.left-- == 0) struck = fault.status;
    std::erase_if(faults_, [](const Fault& fault) { return fault.left == ~uint64_t{0}; });
    if (is_broken(struck)) sticky_ = struck;
    if (struck != 0) return struck;
    if (!of_context) return 0;
    if (sticky_ != 0) return sticky_;
    return g_current.empty() ? status::kInvalidContext : 0;
  }
  void lose(Status status) {
    const std::scoped_lock lock(mutex_);
    if (sticky_ == 0) sticky_ = status;
  }
  Status broken() {
    const std::scoped_lock lock(mutex_);
    return sticky_;
  }
  void mend() {
    const std::scoped_lock lock(mutex_);
    if (!settings.stays_broken) sticky_ = 0;
  }
  void run(const FakeLaunch& launch) {
    std::function<int(const FakeLaunch&)> kernel;
    {
      const std::scoped_lock lock(mutex_);
      launches_.push_back(launch);
      if (const auto found = kernels_.find(launch.kernel); found != kernels_.end())
        kernel = found->second;
    }
    if (kernel)
      if (const Status failed = kernel(launch); failed != 0) lose(failed);
  }
  Status allocate(DeviceAddress* address, size_t bytes) {
    if (bytes == 0) return status::kInvalidValue;
    const std::scoped_lock lock(mutex_);
    if (bytes > settings.memory_bytes - memory_used) return status::kOutOfMemory;
    void* const made = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(made, 0xA5, bytes);
    *address = reinterpret_cast<DeviceAddress>(made);
    memory[*address] = bytes;
    memory_used += bytes;
    return 0;
  }
  bool free(DeviceAddress address) {
    const std::scoped_lock lock(mutex_);
    const auto row = memory.find(address);
    if (row == memory.end()) return false;
    memory_used -= row->second;
    memory.erase(row);
    std::free(reinterpret_cast<void*>(address));
    return true;
  }
  // Whether all these bytes are memory of the device, or pinned.
  bool is_memory(uint64_t address, size_t bytes, bool only_pinned = false) {
    const std::scoped_lock lock(mutex_);
    const auto in = [&](const std::map<uint64_t, size_t>& all) {
      auto row = all.upper_bound(address);
      if (row == all.begin()) return false;
      --row;
      return address - row->first <= row->second && bytes <= row->second - (address - row->first);
    };
    return in(host_memory) || (!only_pinned && in(memory));
  }
  // Whether it has not been destroyed.
  bool is_graph(const FakeGraph* graph) {
    const std::scoped_lock lock(mutex_);
    return graphs.contains(const_cast<FakeGraph*>(graph));
  }
  void synchronize() {
    std::vector<std::shared_ptr<FakeStream>> all;
    {
      const std::scoped_lock lock(mutex_);
      for (const auto& [handle, stream] : streams) all.push_back(stream);
    }
    for (const auto& stream : all) stream->synchronize();
  }
  template <class T>
  std::shared_ptr<T> find(std::unordered_map<void*, std::shared_ptr<T>>& rows, void* handle) {
    const std::scoped_lock lock(mutex_);
    const auto row = rows.find(handle);
    return row == rows.end() ? nullptr : row->second;
  }
  template <class Handle, class T>
  Handle add(std::unordered_map<void*, std::shared_ptr<T>>& rows, std::shared_ptr<T> one) {
    const std::scoped_lock lock(mutex_);
    T* const handle = one.get();
    rows.emplace(handle, std::move(one));
    return reinterpret_cast<Handle>(handle);
  }
  template <class T>
  std::shared_ptr<T> take(std::unordered_map<void*, std::shared_ptr<T>>& rows, void* handle) {
    const std::scoped_lock lock(mutex_);
    const auto row = rows.find(handle);
    if (row == rows.end()) return nullptr;
    auto one = std::move(row->second);
    rows.erase(row);
    return one;
  }

  std::mutex mutex_;
  FakeSettings settings;
  uint64_t retained = 0;
  uint64_t memory_used = 0;
  uint64_t pools = 0;
  std::map<uint64_t, size_t> memory;
  std::map<uint64_t, size_t> host_memory;
  std::unordered_map<void*, std::shared_ptr<FakeModule>> modules;
  std::unordered_map<void*, std::shared_ptr<FakeLink>> links;
  std::unordered_map<void*, std::shared_ptr<FakeStream>> streams;
  std::unordered_map<void*, std::shared_ptr<FakeEvent>> events;
  std::unordered_map<void*, std::shared_ptr<FakeGraph>> graphs;

 private:
  static bool is_broken(Status status) {
    return status == 4 || status == 700 || status == 702 || (status >= 709 && status <= 710) ||
           (status >= 714 && status <= 719) || status == 999;
  }
  uint64_t calls_ = 0;
  std::vector<std::string> record_;
  std::vector<FakeLaunch> launches_;
  std::vector<Fault> faults_;
  std::map<std::string, std::function<int(const FakeLaunch&)>> kernels_;
  Status sticky_ = 0;
};

Fake& fake() {
  static Fake* const kFake = new Fake;  // streams may outlive static objects
  return *kFake;
}

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
  on->add({.kind = FakeNode::Kind::Copy, .work = [=] { std::memcpy(to, from, bytes); }});
  if (waits) on->synchronize();
  return 0;
}

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

// A node that was captured in the graph this one was made of.
FakeNode* node_to_patch(GraphExecHandle exec, NodeHandle node, FakeNode::Kind kind) {
  const auto graph = fake().find(fake().graphs, exec);
  if (!graph || !graph->source || !fake().is_graph(graph->source.get())) return nullptr;
  const auto& captured = graph->source->nodes;
  for (size_t i = 0; i < captured.size(); ++i)
    if (reinterpret_cast<NodeHandle>(captured[i].get()) == node)
      return captured[i]->kind == kind ? graph->nodes[i].get() : nullptr;
  return nullptr;
}

// What a launch does. An error leaves it alone.
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
  if (f.name == "vyre_move") {
    const auto* const first = static_cast<const Move*>(parameters[0]);
    const std::vector<Move> moves(first, first + grid[0]);
    for (const Move& move : moves)
      if (!fake().is_memory(move.to, move.bytes) ||
          (move.from != 0 && !fake().is_memory(move.from, move.bytes)))
        return status::kInvalidValue;
    work = [moves] {
      // In the order that shows best what should have been two launches.
      for (size_t i = moves.size(); i-- != 0;) {
        const auto* const value = reinterpret_cast<const std::byte*>(&moves[i].value);
        for (uint32_t n = 0; n < moves[i].bytes; ++n)
          reinterpret_cast<std::byte*>(moves[i].to)[n] =
              moves[i].from == 0 ? value[n % 4]
                                 : reinterpret_cast<const std::byte*>(moves[i].from)[n];
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

Status launch(FunctionHandle function, const uint32_t (&grid)[3], const uint32_t (&block)[3],
              unsigned shared, StreamHandle stream, void** parameters, bool cooperative) {
  const auto on = fake().find(fake().streams, stream);
  if (!on) return status::kInvalidHandle;
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

// The next ones have the names and the parameters of the table.
#define VYRE_ENTER(...) \
  if (const Status failed = fake().enter(__VA_ARGS__); failed != 0) return failed

FakeCuda* vyre_fake_cuda() {
  return &fake();
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
Status cuDevicePrimaryCtxRelease_v2(DeviceNumber) {
  const Status failed = fake().enter("cuDevicePrimaryCtxRelease_v2", false);
  const std::scoped_lock lock(fake().mutex_);
  if (fake().retained != 0) --fake().retained;
  return failed;
}
Status cuDevicePrimaryCtxReset_v2(DeviceNumber) {
  VYRE_ENTER("cuDevicePrimaryCtxReset_v2", false);
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
Status cuCtxSynchronize() {
  const Status failed = fake().enter("cuCtxSynchronize");
  fake().synchronize();
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
  fake().synchronize();
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
  fake().synchronize();
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
  on->add({.kind = FakeNode::Kind::Fill, .work = filling(to, value, 1, bytes)});
  return 0;
}
Status cuMemsetD32Async(DeviceAddress to, unsigned value, size_t count, StreamHandle stream) {
  VYRE_ENTER("cuMemsetD32Async");
  const auto on = fake().find(fake().streams, stream);
  if (!on || to % 4 != 0 || !fake().is_memory(to, count * 4)) return status::kInvalidValue;
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
  auto made = std::make_shared<FakeModule>();
  made->functions = functions_of(static_cast<const char*>(image));
  if (made->functions.empty()) return status::kInvalidImage;
  *module = fake().add<ModuleHandle>(fake().modules, std::move(made));
  return 0;
}
Status cuModuleUnload(ModuleHandle module) {
  const Status failed = fake().enter("cuModuleUnload");
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

Status cuStreamCreate(StreamHandle* stream, unsigned flags) {
  VYRE_ENTER("cuStreamCreate");
  if (flags != kStreamNonBlocking) return status::kInvalidValue;
  *stream = fake().add<StreamHandle>(fake().streams, std::make_shared<FakeStream>());
  return 0;
}
Status cuStreamDestroy_v2(StreamHandle stream) {
  const Status failed = fake().enter("cuStreamDestroy_v2");
  return fake().take(fake().streams, stream) ? failed : status::kInvalidHandle;
}
Status cuStreamSynchronize(StreamHandle stream) {
  VYRE_ENTER("cuStreamSynchronize");
  const auto on = fake().find(fake().streams, stream);
  if (!on) return status::kInvalidHandle;
  if (on->capturing()) return status::kCaptureUnsupported;
  on->synchronize();
  return fake().broken();
}
Status cuStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  VYRE_ENTER("cuStreamWaitEvent");
  const auto on = fake().find(fake().streams, stream);
  const auto e = fake().find(fake().events, event);
  if (!on || !e) return status::kInvalidHandle;
  if (on->capturing()) {
    on->invalidate();
    return status::kCaptureIsolation;
  }
  const std::scoped_lock lock(e->mutex);
  on->add([e, n = e->recorded] {
    std::unique_lock waiting(e->mutex);
    e->changed.wait(waiting, [&] { return e->happened >= n; });
  });
  return 0;
}
Status cuStreamBeginCapture_v2(StreamHandle stream, int mode) {
  VYRE_ENTER("cuStreamBeginCapture_v2");
  const auto on = fake().find(fake().streams, stream);
  if (!on) return status::kInvalidHandle;
  return mode == kCaptureRelaxed && on->capture() ? 0 : status::kInvalidValue;
}
Status cuStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
  const Status failed = fake().enter("cuStreamEndCapture");
  *graph = nullptr;
  const auto on = fake().find(fake().streams, stream);
  if (!on || !on->capturing()) return status::kInvalidValue;
  auto made = on->end_capture();
  if (failed != 0) return failed;
  if (!made) return status::kCaptureInvalidated;
  *graph = fake().add<GraphHandle>(fake().graphs, std::move(made));
  return 0;
}
Status cuGraphInstantiateWithFlags(GraphExecHandle* exec, GraphHandle graph, unsigned long long) {
  VYRE_ENTER("cuGraphInstantiateWithFlags");
  const auto from = fake().find(fake().graphs, graph);
  if (!from) return status::kInvalidHandle;
  auto ready = std::make_shared<FakeGraph>();
  ready->source = from;
  for (const auto& node : from->nodes) ready->nodes.push_back(std::make_shared<FakeNode>(*node));
  *exec = fake().add<GraphExecHandle>(fake().graphs, std::move(ready));
  return 0;
}
Status cuStreamGetCaptureInfo_v2(StreamHandle stream, int* capturing, uint64_t*, GraphHandle*,
                                 const NodeHandle** last, size_t* count) {
  VYRE_ENTER("cuStreamGetCaptureInfo_v2");
  const auto on = fake().find(fake().streams, stream);
  if (!on) return status::kInvalidHandle;
  *capturing = on->capturing() ? 1 : 0;
  FakeNode* const* const node = on->last_captured();
  *last = reinterpret_cast<const NodeHandle*>(node);
  *count = node != nullptr ? 1 : 0;
  return 0;
}
Status cuGraphExecKernelNodeSetParams_v2(GraphExecHandle exec, NodeHandle handle,
                                         const KernelNodeParameters* next) {
  VYRE_ENTER("cuGraphExecKernelNodeSetParams_v2");
  FakeNode* node = node_to_patch(exec, handle, FakeNode::Kind::Launch);
  if (node == nullptr) node = node_to_patch(exec, handle, FakeNode::Kind::Cooperative);
  if (node == nullptr || node->function != next->function) return status::kInvalidValue;
  return make_launch(next->function, next->grid, next->block, next->shared_bytes, next->parameters,
                     node->kind == FakeNode::Kind::Cooperative, node->work);
}
Status cuGraphExecMemsetNodeSetParams(GraphExecHandle exec, NodeHandle handle,
                                      const SetNodeParameters* next, ContextHandle context) {
  VYRE_ENTER("cuGraphExecMemsetNodeSetParams");
  FakeNode* const node = node_to_patch(exec, handle, FakeNode::Kind::Fill);
  if (node == nullptr || context == nullptr || next->height != 1 ||
      (next->element_bytes != 1 && next->element_bytes != 4) ||
      next->to % next->element_bytes != 0 ||
      !fake().is_memory(next->to, next->width * next->element_bytes))
    return status::kInvalidValue;
  node->work = filling(next->to, next->value, next->element_bytes, next->width);
  return 0;
}
Status cuGraphExecMemcpyNodeSetParams(GraphExecHandle exec, NodeHandle handle,
                                      const CopyNodeParameters* next, ContextHandle context) {
  VYRE_ENTER("cuGraphExecMemcpyNodeSetParams");
  FakeNode* const node = node_to_patch(exec, handle, FakeNode::Kind::Copy);
  const auto address = [&](const CopyPlace& place) {
    const bool host = place.memory == CopyPlace::kHost;
    const auto at = host ? reinterpret_cast<uint64_t>(place.host) : place.device;
    return fake().is_memory(at, next->width, host) ? reinterpret_cast<std::byte*>(at) : nullptr;
  };
  std::byte* const to = address(next->to);
  const std::byte* const from = address(next->from);
  if (node == nullptr || context == nullptr || next->height != 1 || next->depth != 1 ||
      next->width == 0 || to == nullptr || from == nullptr)
    return status::kInvalidValue;
  node->work = [=, bytes = next->width] { std::memcpy(to, from, bytes); };
  return 0;
}
Status cuGraphDestroy(GraphHandle graph) {
  const Status failed = fake().enter("cuGraphDestroy");
  return fake().take(fake().graphs, graph) ? failed : status::kInvalidHandle;
}
Status cuGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
  VYRE_ENTER("cuGraphLaunch");
  const auto on = fake().find(fake().streams, stream);
  const auto graph = fake().find(fake().graphs, exec);
  if (!on || !graph) return status::kInvalidHandle;
  for (const auto& node : graph->nodes) on->add(node->work);
  return 0;
}
Status cuGraphExecDestroy(GraphExecHandle exec) {
  const Status failed = fake().enter("cuGraphExecDestroy");
  return fake().take(fake().graphs, exec) ? failed : status::kInvalidHandle;
}
Status cuEventCreate(EventHandle* event, unsigned) {
  VYRE_ENTER("cuEventCreate");
  *event = fake().add<EventHandle>(fake().events, std::make_shared<FakeEvent>());
  return 0;
}
Status cuEventDestroy_v2(EventHandle event) {
  const Status failed = fake().enter("cuEventDestroy_v2");
  return fake().take(fake().events, event) ? failed : status::kInvalidHandle;
}
Status cuEventRecord(EventHandle event, StreamHandle stream) {
  VYRE_ENTER("cuEventRecord");
  const auto on = fake().find(fake().streams, stream);
  const auto e = fake().find(fake().events, event);
  if (!on || !e) return status::kInvalidHandle;
  if (on->capturing()) return status::kCaptureUnsupported;
  const std::scoped_lock lock(e->mutex);
  on->add([e, n = ++e->recorded] {
    const std::scoped_lock happening(e->mutex);
    e->happened = std::max(e->happened, n);
    e->time = Clock::now();
    e->changed.notify_all();
  });
  return 0;
}
Status cuEventQuery(EventHandle event) {
  VYRE_ENTER("cuEventQuery");
  const auto e = fake().find(fake().events, event);
  if (!e) return status::kInvalidHandle;
  {
    const std::scoped_lock lock(e->mutex);
    if (e->happened != e->recorded) return status::kNotReady;
  }
  return fake().broken();  // by what came before it
}
Status cuEventSynchronize(EventHandle event) {
  VYRE_ENTER("cuEventSynchronize");
  const auto e = fake().find(fake().events, event);
  if (!e) return status::kInvalidHandle;
  std::unique_lock lock(e->mutex);
  e->changed.wait(lock, [&] { return e->happened == e->recorded; });
  return 0;
}
Status cuEventElapsedTime(float* ms, EventHandle from, EventHandle to) {
  VYRE_ENTER("cuEventElapsedTime");
  const auto a = fake().find(fake().events, from);
  const auto b = fake().find(fake().events, to);
  if (!a || !b) return status::kInvalidHandle;
  const std::scoped_lock lock(a->mutex, b->mutex);
  if (a->happened != a->recorded || b->happened != b->recorded) return status::kNotReady;
  *ms = std::chrono::duration<float, std::milli>(b->time - a->time).count();
  return 0;
}

}  // extern "C"

}  // namespace vyre::backend::cuda
