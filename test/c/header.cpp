// SPDX-License-Identifier: Apache-2.0
// vyre.h is the first and only include, and needs no other.
#include <vyre/vyre.h>

static const char text[] = "";
extern const vyre_arg vyre_header_as_cpp[];
const vyre_arg vyre_header_as_cpp[] = {VYRE_BYTES(text), VYRE_MEMORY(text, 1),
                                       VYRE_RESIDENT(nullptr), VYRE_NOWHERE};
extern uint32_t (*const vyre_header_function)(void);
uint32_t (*const vyre_header_function)(void) = vyre_abi_version;
