// SPDX-License-Identifier: Apache-2.0
// OpenCL (PoCL) and Vulkan (lavapipe) behind one small face: buffers that stay, kernels by name,
// launches recorded once and run many times. Kernels are kernels/<name>.cl and kernels/<name>.comp
// with the same arguments: buffers in order, then 32-bit scalars.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vyre::bench {

enum class ApiFamily : uint8_t { OpenCl, Vulkan };
std::string_view name_of(ApiFamily family);

struct Launch {
  size_t kernel = 0;
  std::vector<size_t> buffers{};
  std::vector<uint32_t> scalars{};  // at most 8
  std::array<uint32_t, 3> groups = {1, 1, 1};
  std::array<uint32_t, 3> local = {1, 1, 1};  // must be what the kernel says
};

// Errors are thrown (std::runtime_error): the case fails. One thread at a time.
class Api {
 public:
  virtual ~Api() = default;
  virtual size_t buffer(size_t bytes) = 0;
  virtual void write(size_t buffer, std::span<const std::byte> bytes) = 0;
  virtual void read(size_t buffer, std::span<std::byte> bytes) = 0;
  virtual size_t kernel(const std::string& name) = 0;
  // Each launch sees what those before it wrote.
  virtual size_t record(std::vector<Launch> launches) = 0;
  virtual void run(size_t recording) = 0;  // waits for the end

  template <class R>
  size_t buffer_of(const R& values) {
    const auto bytes = std::as_bytes(std::span(values));
    const size_t made = buffer(bytes.size());
    write(made, bytes);
    return made;
  }
  template <class T>
  std::vector<T> read_all(size_t from, size_t count) {
    std::vector<T> values(count);
    read(from, std::as_writable_bytes(std::span(values)));
    return values;
  }
};

// Null and a reason where there is none. CPU devices only.
std::unique_ptr<Api> open_api(ApiFamily family, std::string* why);

// The implementations; null in a build without the packages.
std::unique_ptr<Api> open_opencl(std::string* why);
std::unique_ptr<Api> open_vulkan(std::string* why);

}  // namespace vyre::bench
