// SPDX-License-Identifier: Apache-2.0
// A CUDA driver for tests: memory of the host, a thread for each stream, kernels that are C++
// functions. It records its calls, fails where a test requires it, and counts what lives. Found
// by dlsym(library, "vyre_fake_cuda").
//
// Calls wait where the real ones were seen to (driver 580, H200): code is loaded and unloaded,
// memory of the host and outside of pools is freed, and a graph of more than 64 nodes is made ready
// only when nothing runs, and meanwhile no other thread can launch, copy or fill; a stream takes
// 1020 calls ahead; the context goes when nothing runs. With VYRE_FAKE_CUDA_HANGS in the
// environment, kernels without a function never end, and neither does the end of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace vyre::backend::cuda {

struct FakeLaunch {
  std::string kernel;
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint32_t shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> parameters = {};  // of the one parameter by value
};

struct FakeLive {
  uint64_t contexts = 0;
  uint64_t current = 0;  // contexts that this thread has pushed
  uint64_t memory = 0;
  uint64_t host_memory = 0;
  uint64_t pools = 0;
  uint64_t modules = 0;
  uint64_t links = 0;
  uint64_t streams = 0;
  uint64_t events = 0;
  uint64_t captured_graphs = 0;
  uint64_t graphs = 0;  // that can be launched
  friend bool operator==(const FakeLive&, const FakeLive&) = default;
};

struct FakeSettings {
  int driver_version = 12040;
  std::vector<std::string> devices = {"Fake GPU"};
  std::map<int, int> attributes = {{16, 4}, {36, 1000},  {37, 256}, {39, 2048},      {75, 9},
                                   {76, 0}, {82, 65536}, {95, 1},   {97, 227 << 10}, {115, 1}};
  uint64_t memory_bytes = uint64_t{1} << 30;
  int blocks_per_multiprocessor = 2;
  bool splits_compilation = true;  // the compiler knows that option
  bool stays_broken = false;       // a reset of the context does not help
  bool context_in_use = false;     // by another library in the process
};

class FakeCuda {
 public:
  virtual ~FakeCuda() = default;
  // Forgets everything but what lives.
  virtual void reset(FakeSettings settings) = 0;
  [[nodiscard]] virtual uint64_t calls() = 0;
  [[nodiscard]] virtual std::vector<std::string> record() = 0;
  [[nodiscard]] virtual std::vector<FakeLaunch> launches() = 0;
  virtual void clear_record() = 0;
  // The call after n more, of a name or (empty) of any. Those the context does not survive fail all
  // that come after.
  virtual void fail(const std::string& name, uint64_t n, int status) = 0;
  virtual void clear_faults() = 0;  // those that have not struck
  // What vyre_entry_<i> does, on the thread of its stream; not 0: how it fails.
  virtual void on_kernel(const std::string& name,
                         std::function<int(const FakeLaunch&)> function) = 0;
  [[nodiscard]] virtual FakeLive live() = 0;
  // What lives is freed, after all that runs has ended: of a device that was closed while it hung.
  virtual void sweep() = 0;
};

}  // namespace vyre::backend::cuda
