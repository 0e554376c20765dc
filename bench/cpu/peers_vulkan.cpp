// SPDX-License-Identifier: Apache-2.0
// Vulkan compute on a CPU device: in practice lavapipe. Command buffers are recorded once and
// submitted again and again, with a barrier after each dispatch and a fence at the end.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <vulkan/vulkan.h>

#include "api.hpp"

namespace vyre::bench {
namespace {

constexpr uint32_t kScalars = 8;

void check(VkResult code, const char* what) {
  if (code != VK_SUCCESS)
    throw std::runtime_error(std::string("Vulkan: ") + what + " gave " + std::to_string(code));
}

class Vulkan final : public Api {
 public:
  Vulkan(VkInstance instance, VkPhysicalDevice physical) : instance_(instance) {
    constexpr float kPriority = 1;
    const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                        .queueCount = 1,
                                        .pQueuePriorities = &kPriority};
    VkPhysicalDeviceVulkan12Features features{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .storageBuffer8BitAccess = VK_TRUE,
        .shaderInt8 = VK_TRUE};
    const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                  .pNext = &features,
                                  .queueCreateInfoCount = 1,
                                  .pQueueCreateInfos = &queue};
    check(vkCreateDevice(physical, &info, nullptr, &device_), "vkCreateDevice");
    vkGetDeviceQueue(device_, 0, 0, &queue_);
    const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    check(vkCreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
    const VkFenceCreateInfo fence{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    check(vkCreateFence(device_, &fence, nullptr, &fence_), "vkCreateFence");
  }
  Vulkan(const Vulkan&) = delete;
  Vulkan& operator=(const Vulkan&) = delete;
  ~Vulkan() override {
    if (device_ != nullptr) {
      vkDeviceWaitIdle(device_);
      for (VkDescriptorPool pool : descriptor_pools_)
        vkDestroyDescriptorPool(device_, pool, nullptr);
      for (const Kernel& kernel : kernels_) {
        vkDestroyPipeline(device_, kernel.pipeline, nullptr);
        vkDestroyPipelineLayout(device_, kernel.layout, nullptr);
        vkDestroyDescriptorSetLayout(device_, kernel.set_layout, nullptr);
        vkDestroyShaderModule(device_, kernel.module, nullptr);
      }
      for (const Memory& memory : buffers_) {
        vkDestroyBuffer(device_, memory.buffer, nullptr);
        vkFreeMemory(device_, memory.memory, nullptr);
      }
      vkDestroyFence(device_, fence_, nullptr);
      vkDestroyCommandPool(device_, pool_, nullptr);
      vkDestroyDevice(device_, nullptr);
    }
    vkDestroyInstance(instance_, nullptr);
  }

  // lavapipe has one kind of memory, which the host sees.
  size_t buffer(size_t bytes) override {
    Memory made;
    made.bytes = bytes;
    const VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .size = bytes,
                                  .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    check(vkCreateBuffer(device_, &info, nullptr, &made.buffer), "vkCreateBuffer");
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device_, made.buffer, &needs);
    const VkMemoryAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                        .allocationSize = needs.size,
                                        .memoryTypeIndex = 0};
    check(vkAllocateMemory(device_, &allocate, nullptr, &made.memory), "vkAllocateMemory");
    check(vkBindBufferMemory(device_, made.buffer, made.memory, 0), "vkBindBufferMemory");
    check(vkMapMemory(device_, made.memory, 0, VK_WHOLE_SIZE, 0, &made.mapped), "vkMapMemory");
    std::memset(made.mapped, 0, bytes);
    buffers_.push_back(made);
    return buffers_.size() - 1;
  }
  void write(size_t buffer, std::span<const std::byte> bytes) override {
    std::memcpy(buffers_.at(buffer).mapped, bytes.data(), bytes.size());
  }
  void read(size_t buffer, std::span<std::byte> bytes) override {
    std::memcpy(bytes.data(), buffers_.at(buffer).mapped, bytes.size());
  }

  size_t kernel(const std::string& name) override {
    const std::string path = std::string(VYRE_BENCH_SPIRV "/") + name + ".spv";
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    Kernel made;
    const VkShaderModuleCreateInfo module{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                          .codeSize = words.size() * 4,
                                          .pCode = words.data()};
    check(vkCreateShaderModule(device_, &module, nullptr, &made.module), "vkCreateShaderModule");
    // One layout fits all: kernels use the first few of these bindings.
    VkDescriptorSetLayoutBinding bindings[kBindings];
    for (uint32_t i = 0; i < kBindings; ++i)
      bindings[i] = {.binding = i,
                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                     .descriptorCount = 1,
                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo set{
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = kBindings,
        .pBindings = bindings};
    check(vkCreateDescriptorSetLayout(device_, &set, nullptr, &made.set_layout),
          "vkCreateDescriptorSetLayout");
    const VkPushConstantRange scalars{.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                      .size = kScalars * 4};
    const VkPipelineLayoutCreateInfo layout{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                            .setLayoutCount = 1,
                                            .pSetLayouts = &made.set_layout,
                                            .pushConstantRangeCount = 1,
                                            .pPushConstantRanges = &scalars};
    check(vkCreatePipelineLayout(device_, &layout, nullptr, &made.layout),
          "vkCreatePipelineLayout");
    const VkComputePipelineCreateInfo pipeline{
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = made.module,
                  .pName = "main"},
        .layout = made.layout};
    check(vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &pipeline, nullptr, &made.pipeline),
          "vkCreateComputePipelines");
    kernels_.push_back(made);
    return kernels_.size() - 1;
  }

  size_t record(std::vector<Launch> launches) override {
    const VkCommandBufferAllocateInfo allocate{
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool_,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1};
    VkCommandBuffer commands = nullptr;
    check(vkAllocateCommandBuffers(device_, &allocate, &commands), "vkAllocateCommandBuffers");
    const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    constexpr VkMemoryBarrier kAfter{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    for (const Launch& launch : launches) {
      const Kernel& kernel = kernels_.at(launch.kernel);
      const VkDescriptorSet set = descriptors(kernel, launch.buffers);
      uint32_t scalars[kScalars] = {};
      std::copy_n(launch.scalars.begin(), std::min<size_t>(launch.scalars.size(), kScalars),
                  scalars);
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
      vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, &set,
                              0, nullptr);
      vkCmdPushConstants(commands, kernel.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof scalars,
                         scalars);
      vkCmdDispatch(commands, launch.groups[0], launch.groups[1], launch.groups[2]);
      vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                           VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &kAfter, 0, nullptr, 0,
                           nullptr);
    }
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    recordings_.push_back(commands);
    return recordings_.size() - 1;
  }

  void run(size_t recording) override {
    const VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                              .commandBufferCount = 1,
                              .pCommandBuffers = &recordings_.at(recording)};
    check(vkQueueSubmit(queue_, 1, &submit, fence_), "vkQueueSubmit");
    check(vkWaitForFences(device_, 1, &fence_, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    check(vkResetFences(device_, 1, &fence_), "vkResetFences");
  }

 private:
  static constexpr uint32_t kBindings = 6;
  struct Memory {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    void* mapped = nullptr;
    size_t bytes = 0;
  };
  struct Kernel {
    VkShaderModule module = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
  };

  // Sets are never changed, so equal ones are shared: a thousand passes need two.
  VkDescriptorSet descriptors(const Kernel& kernel, const std::vector<size_t>& buffers) {
    for (const Set& known : sets_)
      if (known.layout == kernel.set_layout && known.buffers == buffers) return known.set;
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kBindings};
    const VkDescriptorPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                          .maxSets = 1,
                                          .poolSizeCount = 1,
                                          .pPoolSizes = &size};
    VkDescriptorPool pool = VK_NULL_HANDLE;
    check(vkCreateDescriptorPool(device_, &info, nullptr, &pool), "vkCreateDescriptorPool");
    descriptor_pools_.push_back(pool);
    const VkDescriptorSetAllocateInfo allocate{
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &kernel.set_layout};
    VkDescriptorSet set = VK_NULL_HANDLE;
    check(vkAllocateDescriptorSets(device_, &allocate, &set), "vkAllocateDescriptorSets");
    // Bindings that the kernel does not have get its first buffer.
    VkDescriptorBufferInfo infos[kBindings];
    VkWriteDescriptorSet writes[kBindings];
    for (uint32_t i = 0; i < kBindings; ++i) {
      const Memory& memory = buffers_.at(buffers.at(i < buffers.size() ? i : 0));
      infos[i] = {.buffer = memory.buffer, .range = VK_WHOLE_SIZE};
      writes[i] = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                   .dstSet = set,
                   .dstBinding = i,
                   .descriptorCount = 1,
                   .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                   .pBufferInfo = &infos[i]};
    }
    vkUpdateDescriptorSets(device_, kBindings, writes, 0, nullptr);
    sets_.push_back({kernel.set_layout, buffers, set});
    return set;
  }

  struct Set {
    VkDescriptorSetLayout layout;
    std::vector<size_t> buffers;
    VkDescriptorSet set;
  };
  VkInstance instance_;
  VkDevice device_ = nullptr;
  VkQueue queue_ = nullptr;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  std::vector<Memory> buffers_;
  std::vector<Kernel> kernels_;
  std::vector<VkCommandBuffer> recordings_;
  std::vector<VkDescriptorPool> descriptor_pools_;
  std::vector<Set> sets_;
};

}  // namespace

std::unique_ptr<Api> open_vulkan(std::string* why) {
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pApplicationInfo = &application};
  VkInstance instance = nullptr;
  if (vkCreateInstance(&info, nullptr, &instance) != VK_SUCCESS) {
    *why = "vkCreateInstance failed (mesa-vulkan-drivers)";
    return nullptr;
  }
  VkPhysicalDevice devices[16];
  uint32_t count = 16;
  vkEnumeratePhysicalDevices(instance, &count, devices);
  for (uint32_t i = 0; i < count; ++i) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(devices[i], &properties);
    if (properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
      return std::make_unique<Vulkan>(instance, devices[i]);
  }
  vkDestroyInstance(instance, nullptr);
  *why = "no Vulkan device of type CPU (mesa-vulkan-drivers)";
  return nullptr;
}

}  // namespace vyre::bench
