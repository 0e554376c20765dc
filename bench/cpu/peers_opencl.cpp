// SPDX-License-Identifier: Apache-2.0
// OpenCL on a CPU device: in practice PoCL. Kernels are built from text with contraction off, for
// the machine it finds; an in-order queue keeps launches in order.
#define CL_TARGET_OPENCL_VERSION 120
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <CL/cl.h>

#include "api.hpp"

namespace vyre::bench {
namespace {

void check(cl_int code, const char* what) {
  if (code != CL_SUCCESS)
    throw std::runtime_error(std::string("OpenCL: ") + what + " gave " + std::to_string(code));
}

class OpenCl final : public Api {
 public:
  explicit OpenCl(cl_device_id device) : device_(device) {
    cl_int code = 0;
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
    check(code, "clCreateContext");
    queue_ = clCreateCommandQueue(context_, device_, 0, &code);
    check(code, "clCreateCommandQueue");
  }
  OpenCl(const OpenCl&) = delete;
  OpenCl& operator=(const OpenCl&) = delete;
  ~OpenCl() override {
    for (const Recorded& recorded : recordings_)
      for (cl_kernel kernel : recorded.kernels) clReleaseKernel(kernel);
    for (const Program& program : programs_) clReleaseProgram(program.program);
    for (cl_mem buffer : buffers_) clReleaseMemObject(buffer);
    if (queue_ != nullptr) clReleaseCommandQueue(queue_);
    if (context_ != nullptr) clReleaseContext(context_);
  }

  size_t buffer(size_t bytes) override {
    cl_int code = 0;
    buffers_.push_back(clCreateBuffer(context_, CL_MEM_READ_WRITE, bytes, nullptr, &code));
    check(code, "clCreateBuffer");
    return buffers_.size() - 1;
  }
  void write(size_t buffer, std::span<const std::byte> bytes) override {
    check(clEnqueueWriteBuffer(queue_, buffers_.at(buffer), CL_TRUE, 0, bytes.size(), bytes.data(),
                               0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  }
  void read(size_t buffer, std::span<std::byte> bytes) override {
    check(clEnqueueReadBuffer(queue_, buffers_.at(buffer), CL_TRUE, 0, bytes.size(), bytes.data(),
                              0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }

  size_t kernel(const std::string& name) override {
    const std::string path = std::string(VYRE_SOURCE_DIR "/bench/cpu/kernels/") + name + ".cl";
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::ostringstream text;
    text << file.rdbuf();
    const std::string source = text.str();
    const char* pointer = source.c_str();
    cl_int code = 0;
    cl_program program = clCreateProgramWithSource(context_, 1, &pointer, nullptr, &code);
    check(code, "clCreateProgramWithSource");
    programs_.push_back({program, name});
    if (clBuildProgram(program, 1, &device_, "", nullptr, nullptr) != CL_SUCCESS) {
      std::string log(4096, '\0');
      size_t length = 0;
      clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(),
                            &length);
      throw std::runtime_error("OpenCL: " + name + ": " + log.substr(0, length));
    }
    return programs_.size() - 1;
  }

  // A kernel object holds its arguments, so each launch has one of its own.
  size_t record(std::vector<Launch> launches) override {
    Recorded recorded;
    for (const Launch& launch : launches) {
      const Program& program = programs_.at(launch.kernel);
      cl_int code = 0;
      cl_kernel kernel = clCreateKernel(program.program, program.name.c_str(), &code);
      check(code, "clCreateKernel");
      recorded.kernels.push_back(kernel);
      cl_uint index = 0;
      for (const size_t buffer : launch.buffers)
        check(clSetKernelArg(kernel, index++, sizeof(cl_mem), &buffers_.at(buffer)),
              "clSetKernelArg");
      for (const uint32_t scalar : launch.scalars)
        check(clSetKernelArg(kernel, index++, sizeof scalar, &scalar), "clSetKernelArg");
    }
    recorded.launches = std::move(launches);
    recordings_.push_back(std::move(recorded));
    return recordings_.size() - 1;
  }

  void run(size_t recording) override {
    const Recorded& recorded = recordings_.at(recording);
    for (size_t i = 0; i < recorded.kernels.size(); ++i) {
      const Launch& launch = recorded.launches[i];
      size_t global[3];
      size_t local[3];
      for (size_t axis = 0; axis < 3; ++axis) {
        local[axis] = launch.local[axis];
        global[axis] = size_t{launch.groups[axis]} * launch.local[axis];
      }
      check(clEnqueueNDRangeKernel(queue_, recorded.kernels[i], 3, nullptr, global, local, 0,
                                   nullptr, nullptr),
            "clEnqueueNDRangeKernel");
    }
    check(clFinish(queue_), "clFinish");
  }

 private:
  struct Program {
    cl_program program;
    std::string name;
  };
  struct Recorded {
    std::vector<Launch> launches;
    std::vector<cl_kernel> kernels;
  };
  cl_device_id device_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  std::vector<cl_mem> buffers_;
  std::vector<Program> programs_;
  std::vector<Recorded> recordings_;
};

}  // namespace

std::unique_ptr<Api> open_opencl(std::string* why) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) count = 0;
  for (cl_uint i = 0; i < count && i < 16; ++i) {
    cl_device_id device = nullptr;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, nullptr) == CL_SUCCESS)
      return std::make_unique<OpenCl>(device);
  }
  *why = "no OpenCL device of type CPU (pocl-opencl-icd)";
  return nullptr;
}

}  // namespace vyre::bench
