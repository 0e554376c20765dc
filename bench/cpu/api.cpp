// SPDX-License-Identifier: Apache-2.0
#include "api.hpp"

namespace vyre::bench {

std::string_view name_of(ApiFamily family) {
  switch (family) {
    case ApiFamily::OpenCl: return "PoCL";
    case ApiFamily::Vulkan: return "lavapipe";
  }
  return "";
}

std::unique_ptr<Api> open_api(ApiFamily family, std::string* why) {
  switch (family) {
    case ApiFamily::OpenCl:
#ifdef VYRE_BENCH_OPENCL
      return open_opencl(why);
#else
      *why = "no OpenCL when the build was configured (ocl-icd-opencl-dev, pocl-opencl-icd)";
      return nullptr;
#endif
    case ApiFamily::Vulkan:
#ifdef VYRE_BENCH_VULKAN
      return open_vulkan(why);
#else
      *why = "no Vulkan when the build was configured (libvulkan-dev, glslang-tools)";
      return nullptr;
#endif
  }
  return nullptr;
}

}  // namespace vyre::bench
