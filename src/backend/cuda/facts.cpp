// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/facts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "device/gpu_kernel.hpp"

namespace vyre::backend {

using namespace device;
using namespace cuda;

namespace cuda {

namespace {

constexpr int kOldestDriver = 12000;  // as cuDriverGetVersion counts: CUDA 12.0
constexpr uint64_t kParameterBytes = 4096;
constexpr uint32_t kMostBindings =
    (kParameterBytes - sizeof(GpuArgs)) / sizeof(KernelBinding);  // fewer than the CPU takes

struct Architecture {
  int capability;
  std::string_view name;
};
constexpr std::array kArchitectures = {Architecture{75, "sm_75"}, Architecture{80, "sm_80"},
                                       Architecture{86, "sm_86"}, Architecture{87, "sm_87"},
                                       Architecture{89, "sm_89"}, Architecture{90, "sm_90"}};

// Numbers of a device, with the first error of reading them.
class AttributeReader {
 public:
  AttributeReader(const Driver& driver, DeviceNumber device) : driver_(driver), device_(device) {}

  uint64_t operator()(DeviceAttribute attribute) {
    int value = 0;
    const Outcome queried = driver_.device_attribute(&value, attribute, device_);
    if (!queried.ok() && failed_.ok()) failed_ = queried;
    return queried.ok() ? static_cast<uint64_t>(std::max(value, 0)) : 0;
  }
  [[nodiscard]] const Outcome& failed() const { return failed_; }

 private:
  const Driver& driver_;
  DeviceNumber device_;
  Outcome failed_;
};

Capabilities capabilities_of(AttributeReader& read) {
  Capabilities c = gpu_capabilities();
  c.cooperative_grid_barrier = read(DeviceAttribute::CooperativeLaunch) != 0;
  const uint64_t shared = read(DeviceAttribute::SharedBytesPerBlockOptIn);
  c.shared_bytes = shared - std::min(shared, kGpuSharedHeader);
  c.async_compute = true;
  c.max_bindings = kMostBindings;
  c.formats = {Format::Ptx, Format::Cubin};
  return c;
}

// Fewer than there are, if the environment says so: all grids but the smallest are too large then.
uint32_t units_of(AttributeReader& read) {
  const auto units = static_cast<uint32_t>(read(DeviceAttribute::MultiprocessorCount));
  const char* const few = std::getenv(kUnitsVariable);
  uint32_t wanted = 0;
  if (few != nullptr) std::from_chars(few, few + std::strlen(few), wanted);
  return wanted == 0 ? units : std::min(units, wanted);
}

DeviceProfile profile_of(AttributeReader& read, std::string name) {
  DeviceProfile profile;
  profile.name = std::move(name);
  profile.compute_units = units_of(read);
  profile.registers_per_compute_unit =
      static_cast<uint32_t>(read(DeviceAttribute::RegistersPerMultiprocessor));
  profile.lanes_per_compute_unit =
      static_cast<uint32_t>(read(DeviceAttribute::ThreadsPerMultiprocessor));
  // A barrier costs by the number of blocks, hardly by that of threads (docs/performance/cuda.md).
  profile.barrier_blocks_per_compute_unit = 2;
  const uint64_t kilohertz = read(DeviceAttribute::MemoryClockKilohertz);
  const uint64_t bits = read(DeviceAttribute::MemoryBusBits);
  profile.memory_bandwidth_bytes_per_second = 2 * kilohertz * 1000 * bits / 8;
  profile.timing_quality = TimingQuality::DeviceTimestamps;
  // More cost registers and hide no more latency (measured on an H200).
  profile.preferred_unroll = 8;
  profile.code_lanes = 1 + 2 + 4;  // of a thread (codegen/llvm/nvptx/thread_shape.cpp)
  return profile;
}

CudaDevice unusable(uint32_t index, std::string reason) {
  CudaDevice device;
  device.info.id = device_id(index);
  device.info.kind = Kind::Gpu;
  device.unusable = std::move(reason);
  return device;
}

}  // namespace

std::string_view architecture_of(int major, int minor) {
  std::string_view best;
  for (const Architecture& a : kArchitectures)
    if (a.capability <= 10 * major + minor) best = a.name;
  return best;
}

std::string device_id(uint32_t index) {
  return index == 0 ? "cuda" : fmt::format("cuda:{}", index);
}

CudaDevice describe(const Driver& driver, uint32_t index) {
  const auto no = [&](const Outcome& outcome) {
    return unusable(index,
                    fmt::format("the driver cannot say what it is: {}", describe(driver, outcome)));
  };
  DeviceNumber number = 0;
  int version = 0;
  std::array<char, 256> name = {};
  if (const Outcome got = driver.driver_version(&version); !got.ok()) return no(got);
  if (const Outcome got = driver.device_get(&number, static_cast<int>(index)); !got.ok())
    return no(got);
  if (const Outcome got = driver.device_name(name.data(), name.size() - 1, number); !got.ok())
    return no(got);
  AttributeReader read(driver, number);
  const int major = static_cast<int>(read(DeviceAttribute::CapabilityMajor));
  const int minor = static_cast<int>(read(DeviceAttribute::CapabilityMinor));
  const std::string_view architecture = architecture_of(major, minor);
  CudaDevice device;
  device.info = {.id = device_id(index),
                 .version = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10),
                 .kind = Kind::Gpu,
                 .capabilities = capabilities_of(read),
                 .profile = profile_of(read, name.data()),
                 .signature = fmt::format("{} {} driver {}", architecture, name.data(), version),
                 .architecture = std::string(architecture)};
  if (!read.failed().ok()) return no(read.failed());
  if (version < kOldestDriver)
    return unusable(index, fmt::format("the driver is for CUDA {}.{}, and 12.0 is needed",
                                       version / 1000, version % 1000 / 10));
  if (architecture.empty())
    return unusable(index, fmt::format("{} has compute capability {}.{}, and 7.5 is needed",
                                       name.data(), major, minor));
  return device;
}

}  // namespace cuda

std::vector<CudaDevice> cuda_devices() {
  const auto driver = find_driver();
  if (!driver) return {unusable(0, driver.error())};
  const auto no = [&](const Outcome& outcome) {
    return std::vector{
        unusable(0, fmt::format("the driver does not start: {}", describe(**driver, outcome)))};
  };
  int count = 0;
  if (const Outcome got = (*driver)->init(0); !got.ok()) return no(got);
  if (const Outcome got = (*driver)->device_count(&count); !got.ok()) return no(got);
  if (count <= 0) return {unusable(0, "the driver sees no GPU")};
  std::vector<CudaDevice> devices;
  devices.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) devices.push_back(describe(**driver, static_cast<uint32_t>(i)));
  return devices;
}

}  // namespace vyre::backend
