// SPDX-License-Identifier: Apache-2.0
// Gives the steps of one submission to a stream, in order. Only steps that the host has to see the
// result of (exits, grids in memory) and long transfers of memory that is not pinned wait for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/code.hpp"
#include "backend/cuda/flight.hpp"
#include "backend/cuda/memory.hpp"
#include "device/host_memory.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/steps.hpp"

namespace vyre::backend::cuda {

// What all submissions of a device share.
struct Parts {
  explicit Parts(const Gpu& device) : gpu(device), memory(gpu), flights(gpu), compare(gpu) {}

  const Gpu& gpu;
  DeviceMemory memory;
  device::HostCode<Code> code;
  Flights flights;
  CompareKernel compare;
};

class Run {
 public:
  Run(Parts& parts, Flight& flight, StreamHandle stream, const device::Submission& submission)
      : parts_(parts), gpu_(parts.gpu), flight_(flight), stream_(stream), submission_(submission) {}

  // What goes wrong is left in the flight.
  void run();

 private:
  // Transfers up to this go through pinned memory.
  static constexpr uint64_t kStagedBytes = 64U << 10;

  // False: the submission ends here, at an exit or because it was stopped.
  Result<bool> list(uint32_t first, uint32_t last);
  Result<bool> repeat_while(const device::While& x, uint32_t at);
  Result<bool> repeat(const device::Repeat& x, uint32_t at);
  Result<bool> choose(const device::Branch& x, uint32_t at);
  Result<bool> step(const device::Step& step);
  Result<bool> launch(const device::Launch& x);
  Result<bool> copy(const device::Copy& x);
  Result<bool> fill(const device::Fill& x);
  Result<bool> set(const device::SetWord& x);
  Result<bool> compare(const device::Compare& x);
  Result<bool> transfer(const device::Transfer& x);
  Result<bool> exit(const device::Exit& x);

  Result<DeviceAddress> address(const device::Region& region) const;
  // What memory holds now, up to 16 bytes of it, in pinned memory. Null: the submission was
  // stopped.
  Result<const std::byte*> read(const device::Region& region);
  Result<std::optional<uint32_t>> word(const device::Word& word);
  Result<bool> start(const Kernel& kernel, const Flight::Launched& launched,
                     const device::Launch& x, const device::Axes& grid);
  Result<void> bind(const Kernel& kernel, const device::Launch& x, const device::Axes& grid,
                    std::byte* bindings) const;

  Parts& parts_;
  const Gpu& gpu_;
  Flight& flight_;
  StreamHandle stream_;
  const device::Submission& submission_;
};

}  // namespace vyre::backend::cuda
