/* SPDX-License-Identifier: Apache-2.0 */
/* vyre.h is the first and only include, and needs no other. */
#include <vyre/vyre.h>

static const char text[] = "";
const vyre_arg vyre_header_as_c[] = {VYRE_BYTES(text), VYRE_MEMORY(text, 1), VYRE_RESIDENT(NULL),
                                     VYRE_NOWHERE};
const vyre_options vyre_header_options = {.struct_size = sizeof(vyre_options), .set = VYRE_SET_PROGRESS};
