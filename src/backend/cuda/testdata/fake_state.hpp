// SPDX-License-Identifier: Apache-2.0
// What the parts of the driver of the tests share: everything that lives, what was called, and what
// is to fail.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/cuda/driver_api.hpp"
#include "backend/cuda/testdata/fake_driver.hpp"
#include "backend/cuda/testdata/fake_stream.hpp"

namespace vyre::backend::cuda {

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

inline constexpr uint64_t kMostAhead = 1020;  // calls that a stream takes without waiting

struct Fault {
  std::string name;
  uint64_t left = 0;
  Status status = 0;
};

inline thread_local std::vector<ContextHandle> g_current;

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
  void clear_faults() override {
    const std::scoped_lock lock(mutex_);
    faults_.clear();
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
    if (!kernel && std::getenv("VYRE_FAKE_CUDA_HANGS") != nullptr) hang();
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
      all.insert(all.end(), destroyed_.begin(), destroyed_.end());
    }
    for (const auto& stream : all) stream->synchronize();
    const std::scoped_lock lock(mutex_);
    std::erase_if(destroyed_, [](const auto& stream) { return !stream->busy(); });
  }
  // Who destroys a stream does not wait for what is on it.
  void destroyed(std::shared_ptr<FakeStream> stream) {
    if (!stream->busy()) return;
    const std::scoped_lock lock(mutex_);
    destroyed_.push_back(std::move(stream));
  }
  // Of a call that returns only when nothing runs, and keeps others from the device meanwhile.
  [[nodiscard]] std::unique_lock<std::mutex> when_idle() {
    std::unique_lock lock(context_mutex_);
    synchronize();
    return lock;
  }
  // Of a call that gives a stream work.
  void await_context() { const std::scoped_lock lock(context_mutex_); }
  void sweep() override {
    synchronize();
    std::unordered_map<void*, std::shared_ptr<FakeStream>> old;
    const std::scoped_lock lock(mutex_);
    old.swap(streams);
    modules.clear();
    links.clear();
    events.clear();
    graphs.clear();
    for (const auto& [address, bytes] : memory) std::free(reinterpret_cast<void*>(address));
    for (const auto& [address, bytes] : host_memory) std::free(reinterpret_cast<void*>(address));
    memory.clear();
    host_memory.clear();
    retained = memory_used = pools = 0;
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

  [[noreturn]] static void hang() {
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }

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
  std::mutex context_mutex_;
  std::vector<std::shared_ptr<FakeStream>> destroyed_;
};

Fake& fake();

// What a launch does. An error leaves it alone.
Status make_launch(FunctionHandle function, const uint32_t (&grid)[3], const uint32_t (&block)[3],
                   unsigned shared, void** parameters, bool cooperative,
                   std::function<void()>& work);
std::function<void()> filling(DeviceAddress to, unsigned value, unsigned width, size_t count);

// The functions of the driver have the names and the parameters of the table.
#define VYRE_ENTER(...) \
  if (const Status failed = fake().enter(__VA_ARGS__); failed != 0) return failed

}  // namespace vyre::backend::cuda
