// SPDX-License-Identifier: Apache-2.0
// A backend in one file: kernels are C++ functions, found by the name of the entry. It is a real
// one: it has memory, loads, runs every kind of step, measures, and recovers.
#include "backend/tiny.hpp"

#include <chrono>
#include <cstring>

#include "device/host_memory.hpp"
#include "device/host_steps.hpp"

namespace vyre::test {

using namespace device;

namespace {

using Arguments = std::span<const std::span<std::byte>>;
using Kernel = void (*)(uint32_t lane, Arguments arguments);

// 1. What it runs. A compiler's output would stand here.
void double_it(uint32_t lane, Arguments arguments) {
  uint32_t value = 0;
  std::memcpy(&value, arguments[0].data() + size_t{4} * lane, 4);
  value *= 2;
  std::memcpy(arguments[0].data() + size_t{4} * lane, &value, 4);
}
Kernel find_kernel(std::string_view name) {
  return name == "double" ? double_it : nullptr;
}

// 2. What it can do. Everything that is not said is not promised.
BackendInfo tiny_info() {
  BackendInfo info;
  info.id = "tiny";
  info.version = "1";
  info.kind = Kind::Cpu;
  info.signature = "tiny";
  info.profile.name = "one core, C++ functions";
  Capabilities& c = info.capabilities;
  c.resident_buffers = c.device_loops = c.indirect = true;
  c.max_workgroup_size = {1024, 1, 1};
  c.max_invocations_per_workgroup = 1024;
  c.max_workgroups = {0x7FFF'FFFF, 1, 1};
  c.max_bindings = 16;
  c.formats = {Format::Object};
  return info;
}

class Tiny : public Backend {
 public:
  Tiny() : Backend(tiny_info()) {}

 private:
  // 3. How a launch runs, and where memory lies; the other steps are the same for every host.
  class Run : public HostDevice {
   public:
    explicit Run(Tiny& device) : device_(device), work_(device.memory_) {}
    std::span<std::byte> memory(Handle buffer) override { return work_.find(buffer); }
    Result<Timings> launch(const Launch& launch, const Axes& grid, Completion&) override {
      const auto begin = std::chrono::steady_clock::now();
      std::vector<std::span<std::byte>> arguments;
      for (const Region& r : launch.arguments)
        arguments.push_back(work_.find(r.buffer).subspan(r.offset, r.bytes));
      const auto kernels = device_.code_.find(launch.pipeline);
      for (uint32_t lane = 0; lane < grid[0] * launch.workgroup[0]; ++lane)
        kernels->at(launch.entry)(lane, arguments);
      const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begin;
      return Timings{.device_ns = static_cast<uint64_t>(taken.count())};
    }

   private:
    Tiny& device_;
    HostMemory::Work work_;
  };

  // 4. The seven functions of the contract.
  Result<Allocated> do_allocate(const Allocation& wanted) override {
    return memory_.allocate(wanted, info());
  }
  void do_release(Handle handle) noexcept override {
    if (!memory_.release(handle)) code_.release(handle);
  }
  Result<void> do_transfer(std::span<const Transfer> transfers) override {
    Run run(*this);
    return run_transfers(transfers, run);
  }
  Result<Loaded> do_load(const Artifact& artifact) override {
    std::vector<Kernel> kernels;
    for (const Entry& entry : artifact.entries) {
      kernels.push_back(find_kernel(entry.name));
      if (kernels.back() == nullptr)
        return std::unexpected(Error{.code = ErrorCode::CompileFailed,
                                     .message = "no function `" + entry.name + "`. Fix: write it",
                                     .context = {},
                                     .at = {},
                                     .diagnostics = {}});
    }
    const Handle handle = memory_.new_handle();
    code_.add(handle, std::move(kernels));
    return Loaded{.handle = handle,
                  .max_resident_groups = std::vector<uint64_t>(artifact.entries.size(), 1),
                  .native = {}};
  }
  Result<Ticket> do_submit(const Submission& submission) override {
    Result<Completion> result;
    result->timings.device_ns = 0;
    Run run(*this);
    if (auto ok = run_steps(submission, info(), run, *result); !ok)
      result = std::unexpected(std::move(ok.error()));
    return finished_.add(std::move(result));
  }
  Result<Completion> do_wait(Ticket ticket, Deadline) override { return finished_.take(ticket); }
  Result<void> do_recover() override {
    memory_.clear();
    code_.clear();
    finished_.clear();
    return {};
  }

  HostMemory memory_{{.limit = uint64_t{1} << 30}};
  HostCode<std::vector<Kernel>> code_;
  FinishedWork finished_;
};

}  // namespace

// 5. Its row.
BackendDescriptor tiny_descriptor() {
  BackendDescriptor row{
      .id = "tiny", .kind = Kind::Cpu, .rank = 50, .dispatches = true, .site = __FILE__};
  row.enumerate = [] {
    const BackendInfo info = tiny_info();
    return std::vector<DeviceFacts>{
        {.id = info.id, .capabilities = info.capabilities, .profile = info.profile}};
  };
  row.open = [](uint32_t) -> Result<std::shared_ptr<Backend>> { return std::make_shared<Tiny>(); };
  return row;
}

}  // namespace vyre::test
