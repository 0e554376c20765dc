/* SPDX-License-Identifier: Apache-2.0 */
/* Where the fields of the structs are, on machines of 64 bits: programs that are compiled stay right. A field that is
 * added goes to the end of a struct that has `struct_size`, and gets its line here. */
#include <vyre/vyre.h>

#if UINTPTR_MAX == UINT64_MAX
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)

AT(vyre_trap, tag, 0);
AT(vyre_trap, value, 4);
AT(vyre_trap, lane, 8);
AT(vyre_trap, line, 12);
AT(vyre_trap, column, 16);
SIZE(vyre_trap, 20);

AT(vyre_print_line, phase, 0);
AT(vyre_print_line, text, 8);
AT(vyre_print_line, size, 16);
AT(vyre_print_line, lane, 24);
AT(vyre_print_line, line, 28);
AT(vyre_print_line, column, 32);
SIZE(vyre_print_line, 40);

AT(vyre_exchange, operation, 0);
AT(vyre_exchange, reduce, 8);
AT(vyre_exchange, element, 16);
AT(vyre_exchange, source_name, 24);
AT(vyre_exchange, target_name, 32);
AT(vyre_exchange, source, 40);
AT(vyre_exchange, source_bytes, 48);
AT(vyre_exchange, target, 56);
AT(vyre_exchange, target_bytes, 64);
AT(vyre_exchange, root, 72);
AT(vyre_exchange, group, 76);

AT(vyre_communicator, struct_size, 0);
AT(vyre_communicator, rank, 8);
AT(vyre_communicator, size, 12);
AT(vyre_communicator, exchange, 16);
AT(vyre_communicator, user, 24);

AT(vyre_options, struct_size, 0);
AT(vyre_options, set, 8);
AT(vyre_options, profile, 16);
AT(vyre_options, label, 24);
AT(vyre_options, timeout_ns, 32);
AT(vyre_options, max_state_bytes, 40);
AT(vyre_options, max_output_bytes, 48);
AT(vyre_options, ulp_budget, 56);
AT(vyre_options, workgroup, 60);
AT(vyre_options, grid, 72);
AT(vyre_options, fixpoint_iterations, 84);
AT(vyre_options, speculation, 88);
AT(vyre_options, persistent_thread, 92);
AT(vyre_options, cooperative, 96);
AT(vyre_options, tune, 100);
AT(vyre_options, timing, 104);
AT(vyre_options, checked, 108);
AT(vyre_options, untrusted, 112);
AT(vyre_options, queue, 116);
AT(vyre_options, grid_from, 120);
AT(vyre_options, grid_from_offset, 128);
AT(vyre_options, trap_handler, 136);
AT(vyre_options, trap_user, 144);
AT(vyre_options, progress, 152);
AT(vyre_options, progress_user, 160);
AT(vyre_options, communicator, 168);
AT(vyre_options, cancel, 176);
AT(vyre_options, print_bytes, 184);
AT(vyre_options, print_to, 192);
AT(vyre_options, print_user, 200);
AT(vyre_options, print, 208);
SIZE(vyre_options, 216);

AT(vyre_device_options, struct_size, 0);
AT(vyre_device_options, cache_directory, 8);
AT(vyre_device_options, memory_cache_entries, 16);
AT(vyre_device_options, memory_cache_bytes, 24);
AT(vyre_device_options, fresh_tuning, 32);
AT(vyre_device_options, warn, 40);
AT(vyre_device_options, warn_user, 48);

AT(vyre_arg, data, 0);
AT(vyre_arg, size, 8);
AT(vyre_arg, buffer, 16);
AT(vyre_arg, written, 24);
SIZE(vyre_arg, 32);

AT(vyre_read, buffer, 0);
AT(vyre_read, offset, 8);
AT(vyre_read, to, 16);
AT(vyre_read, bytes, 24);
SIZE(vyre_read, 32);

AT(vyre_sequence, struct_size, 0);
AT(vyre_sequence, prefix, 8);
AT(vyre_sequence, repeated, 24);
AT(vyre_sequence, suffix, 40);
AT(vyre_sequence, reads, 56);
AT(vyre_sequence, repeats, 72);
#endif

/* Numbers that programs have inside. */
_Static_assert(VYRE_SET_PROFILE == 1 && VYRE_SET_PRINT_TO == 1 << 24, "fields");
_Static_assert(VYRE_CHOICE_FORCE == 1 && VYRE_TUNE_ON == 2 && VYRE_TIMING_REGIONS == 3, "choices");
_Static_assert(VYRE_INVALID_ARGUMENT == 1008 && VYRE_INTERNAL == 1017, "codes");
_Static_assert(VYRE_UNINITIALISED == 1 && VYRE_MEMORY_WRITE == 1, "flags");

const int vyre_layout_holds = 1;
