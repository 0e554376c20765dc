// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/facts.hpp"

#include "backend/cuda/fake_test.hpp"
#include "vyre/device/registry.hpp"

namespace vyre::backend {

device::BackendDescriptor cuda_descriptor();

namespace {

using namespace device;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CudaFacts : public testing::Test {
 protected:
  CudaFacts() { fake_cuda().reset({}); }
  ~CudaFacts() override { EXPECT_TRUE(fake_cuda().live() == cuda::FakeLive{}); }
  DriverFile file_{VYRE_FAKE_CUDA};
};

// Grids are too large for it sooner.
TEST_F(CudaFacts, FewerMultiprocessorsIfTheEnvironmentSaysSo) {
  const auto units = [](const char* wanted) {
    ::setenv(cuda::kUnitsVariable, wanted, 1);
    const uint32_t found = cuda_devices()[0].info.profile.compute_units;
    ::unsetenv(cuda::kUnitsVariable);
    return found;
  };
  EXPECT_EQ(units("1"), 1u);
  EXPECT_EQ(units("3"), 3u);
  for (const char* other : {"4", "500", "0", "", "x", "-1"}) EXPECT_EQ(units(other), 4u) << other;
}

TEST_F(CudaFacts, WhatTheDriverSaysBecomesWhatTheCoreDecidesBy) {
  const auto devices = cuda_devices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].unusable, "");
  const BackendInfo& info = devices[0].info;
  EXPECT_EQ(info.id, "cuda");
  EXPECT_EQ(info.kind, Kind::Gpu);
  EXPECT_EQ(info.architecture, "sm_90");
  EXPECT_EQ(info.version, "CUDA 12.4");
  EXPECT_EQ(info.signature, "sm_90 Fake GPU driver 12040");
  const Capabilities& c = info.capabilities;
  EXPECT_TRUE(c.cooperative_grid_barrier && c.resident_buffers && c.host_split && c.indirect);
  EXPECT_TRUE(c.subgroup_ops && c.subgroup_shuffle && c.trap_propagation && c.exact_division);
  EXPECT_TRUE(c.device_loops);
  EXPECT_FALSE(c.whole_programs);
  EXPECT_EQ(c.max_workgroup_size, (Axes{1024, 1024, 1024}));
  EXPECT_EQ(c.max_workgroups, (Axes{0x7FFF'FFFF, 0x7FFF'FFFF, 0x7FFF'FFFF}));
  EXPECT_EQ(c.shared_bytes, (227u << 10) - kGpuSharedHeader);
  EXPECT_EQ(c.max_bindings, 254u);
  EXPECT_LE(sizeof(GpuArgs) + c.max_bindings * sizeof(KernelBinding), 4096u);
  EXPECT_EQ(c.subgroup_size, 32u);
  EXPECT_EQ(to_string(c.formats), "ptx,cubin");
  const DeviceProfile& p = info.profile;
  EXPECT_EQ(p.name, "Fake GPU");
  EXPECT_EQ(p.compute_units, 4u);
  EXPECT_EQ(p.registers_per_compute_unit, 65536u);
  EXPECT_EQ(p.lanes_per_compute_unit, 2048u);
  EXPECT_EQ(p.barrier_blocks_per_compute_unit, 2u);
  EXPECT_EQ(p.preferred_unroll, 8u);
  EXPECT_EQ(p.memory_bandwidth_bytes_per_second, uint64_t{2} * 1000 * 1000 * 256 / 8);
  EXPECT_EQ(p.timing_quality, TimingQuality::DeviceTimestamps);
}

TEST_F(CudaFacts, TheNewestArchitectureThatTheDeviceRunsIsTaken) {
  EXPECT_EQ(cuda::architecture_of(7, 0), "");
  EXPECT_EQ(cuda::architecture_of(7, 5), "sm_75");
  EXPECT_EQ(cuda::architecture_of(8, 0), "sm_80");
  EXPECT_EQ(cuda::architecture_of(8, 6), "sm_86");
  EXPECT_EQ(cuda::architecture_of(8, 7), "sm_87");
  EXPECT_EQ(cuda::architecture_of(8, 9), "sm_89");
  EXPECT_EQ(cuda::architecture_of(9, 0), "sm_90");
  EXPECT_EQ(cuda::architecture_of(12, 0), "sm_90");
}

TEST_F(CudaFacts, NoContextIsMade) {
  cuda_devices();
  for (const std::string& call : fake_cuda().record())
    EXPECT_THAT(call, Not(HasSubstr("Ctx"))) << call;
}

TEST_F(CudaFacts, EveryDeviceHasItsName) {
  fake_cuda().reset({.devices = {"First", "Second"}});
  const auto facts = cuda_descriptor().enumerate();
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].id, "cuda");
  EXPECT_EQ(facts[1].id, "cuda:1");
  EXPECT_EQ(facts[1].profile.name, "Second");
  const auto second = cuda_descriptor().open(1);
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)->info().id, "cuda:1");
  EXPECT_EQ((*second)->info().capabilities, facts[1].capabilities);
  EXPECT_EQ((*second)->info().profile, facts[1].profile);
  const auto third = open_cuda(2);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(third.error().message, HasSubstr("device 2 of `cuda` cannot be used: there are 2"));
}

// What cannot be used is a device that says why; opening it says so too.
std::string why_not() {
  const auto facts = cuda_descriptor().enumerate();
  EXPECT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].id, "cuda");
  const auto device = open_cuda();
  EXPECT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(device.error().message, HasSubstr(facts[0].unusable));
  EXPECT_THAT(device.error().message, HasSubstr("Fix: install the NVIDIA driver"));
  return facts[0].unusable;
}

TEST_F(CudaFacts, WithoutTheLibraryThereIsAReason) {
  const DriverFile none("/nonexistent/libcuda.so.1");
  EXPECT_THAT(why_not(), HasSubstr("the NVIDIA driver cannot be loaded: /nonexistent"));
}

TEST_F(CudaFacts, ALibraryWithoutTheFunctionsIsTooOld) {
  const DriverFile other("libm.so.6");
  EXPECT_EQ(why_not(), "libm.so.6 is too old for CUDA 12.0: it has no function cuInit");
}

TEST_F(CudaFacts, OldDriversAndDevicesAreNotUsed) {
  fake_cuda().reset({.driver_version = 11080});
  EXPECT_EQ(why_not(), "the driver is for CUDA 11.8, and 12.0 is needed");
  cuda::FakeSettings old;
  old.attributes[75] = 7;
  fake_cuda().reset(old);
  EXPECT_EQ(why_not(), "Fake GPU has compute capability 7.0, and 7.5 is needed");
  fake_cuda().reset({.devices = {}});
  EXPECT_EQ(why_not(), "the driver sees no GPU");
}

// Whatever the driver does not answer is the reason.
TEST_F(CudaFacts, EveryQuestionCanFail) {
  cuda_devices();
  const uint64_t questions = fake_cuda().calls();
  EXPECT_GE(questions, 14u);
  for (uint64_t n = 0; n < questions; ++n) {
    fake_cuda().reset({});
    fake_cuda().fail("", n, 100);
    const auto devices = cuda_devices();
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_THAT(devices[0].unusable,
                HasSubstr("CUDA_ERROR_NO_DEVICE (100) from " + fake_cuda().record()[n]));
  }
}

TEST_F(CudaFacts, StatusesBecomeErrors) {
  const cuda::Driver& driver = **cuda::find_driver();
  const auto code = [&](cuda::Status status) {
    const Error error = cuda::error_of(driver, {status, "cuCall"}, "doing it");
    EXPECT_THAT(error.message, HasSubstr(fmt::format("({}) from cuCall", status)));
    EXPECT_THAT(error.message, HasSubstr(". Fix: "));
    return error.code;
  };
  EXPECT_EQ(code(2), ErrorCode::DeviceOutOfMemory);
  EXPECT_EQ(code(720), ErrorCode::CooperativeResidencyExceeded);
  for (const cuda::Status status : {200, 209, 218, 221, 222, 223, 300, 500})
    EXPECT_EQ(code(status), ErrorCode::CompileFailed) << status;
  for (const cuda::Status status :
       {4, 201, 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999})
    EXPECT_EQ(code(status), ErrorCode::DeviceLost) << status;
  for (const cuda::Status status : {3, 34, 46, 100, 101, 802, 803, 804})
    EXPECT_EQ(code(status), ErrorCode::Unavailable) << status;
  for (const cuda::Status status : {1, 400}) EXPECT_EQ(code(status), ErrorCode::Internal);
  for (const cuda::Status status : {701, 801, 12345})
    EXPECT_EQ(code(status), ErrorCode::DispatchFailed);
  EXPECT_EQ(cuda::error_of(driver, {700, "cuCall"}, "doing it").message.substr(0, 104),
            "doing it failed with CUDA_ERROR_ILLEGAL_ADDRESS (700) from cuCall: an illegal memory "
            "access was encounte");
  EXPECT_THAT(cuda::error_of(driver, {12345, "cuCall"}, "it").message,
              HasSubstr("it failed with an unknown error (12345) from cuCall. Fix"));
}

}  // namespace
}  // namespace vyre::backend
