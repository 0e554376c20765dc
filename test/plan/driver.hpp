// SPDX-License-Identifier: Apache-2.0
// A program through the real driver, on the reference backend or any other device, told in the same
// terms as a plan that is interpreted.
#pragma once

#include "generator/generator.hpp"
#include "plan/interpreter.hpp"
#include "vyre/run/device.hpp"

namespace vyre::plan_test {

// What a device of the driver can do.
struct DriverDevice {
  plan::Route route = plan::Route::Resident;  // the one it leads to
  bool whole_programs = false;
  bool device_loops = false;
};
// A new one, without a disk cache.
run::Device open_device(const DriverDevice& device, const RunOptions& options);
// A device of the registry, the cpu with another kind of code (cpu:other_shapes,
// cpu:called_functions, cpu:cheap), or `c` of c_device/c_device.hpp; opened once for each pattern
// and without a disk cache. Throws std::runtime_error if that fails.
const run::Device& open_device(const std::string& id, std::optional<std::byte> poison = {});
// What such a device can do; it is not opened, so that its threads are those of the process that
// does. Throws std::runtime_error if there is none of that name.
device::Capabilities capabilities_of(const std::string& id);
// Switches off what a device cannot do.
void limit_to(const device::Capabilities& capabilities, generator::GeneratorOptions& options);

// Arguments are buffers on the device where it keeps such, so that their contents are known after
// an error, too.
Ran drive(const check::CheckedProgram& source, const run::Device& device,
          std::span<const std::vector<std::byte>> inputs, const RunOptions& options);

}  // namespace vyre::plan_test
