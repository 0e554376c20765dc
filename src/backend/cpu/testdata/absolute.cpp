// SPDX-License-Identifier: Apache-2.0
// Code with addresses of 32 bits, as compilers make it for programs in the lower 2 GiB.
#include "device/kernel.hpp"

using namespace vyre::device;

extern "C" {

uint32_t vyre_table[4] = {10, 20, 30, 40};

asm(".section .rodata.test_address,\"a\",@progbits\n"
    ".balign 4\n"
    "vyre_address:\n"
    "  .long vyre_table\n"  // R_X86_64_32
    ".text\n");
extern const uint32_t vyre_address;

void vyre_entry_0(const KernelArgs* args, KernelWorker*, uint64_t first, uint64_t count) {
  auto* const words =
      reinterpret_cast<uint32_t*>(reinterpret_cast<const KernelBinding*>(args + 1)[0].address);
  const auto* const table = reinterpret_cast<const uint32_t*>(uintptr_t{vyre_address});
  for (uint64_t g = first; g < first + count; ++g) words[g] = vyre_table[g % 4] + table[0];
}

extern const KernelInfo vyre_info[1];
const KernelInfo vyre_info[1] = {{0, 1, 0}};
}
