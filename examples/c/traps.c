/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that need a page which is not there stop, the host fills it in, and they go on. */
// Prints:
//   the host fills page 0
//   the host fills page 2
//   102 50 100
#include <string.h>

#include "or_exit.h"

static const char text[] =
    "program paging {\n"
    "  workgroup 64;\n"
    "  over len(want);\n"
    "  in    want  : u32[];\n"
    "  inout pages : u32[];\n"
    "  out   y     : u32[] @count(len(want));\n"
    "  let i = gid.x;\n"
    "  if i >= len(want) { return; }\n"
    "  let p = want[i];\n"
    "  if pages[p] == 0 { trap(1, p); }\n"
    "  resume(1);\n"
    "  y[i] = pages[p];\n"
    "}\n";

static vyre_error *fill(const vyre_trap *traps, size_t count, vyre_memory *memory, void *user) {
  void *bytes;
  uint64_t size;
  vyre_error *error = vyre_memory_get(memory, "pages", VYRE_MEMORY_WRITE, &bytes, &size);
  if (error != NULL) return error; /* The dispatch ends with it. */
  uint32_t *pages = bytes;
  for (uint32_t page = 0; page < size / sizeof *pages; ++page)
    for (size_t i = 0; i < count; ++i)
      if (traps[i].value == page && pages[page] == 0) {
        pages[page] = 100 + page;
        printf("the host fills page %u\n", (unsigned)page);
      }
  ++*(int *)user;
  return NULL;
}

int main(void) {
  vyre_device *device;
  vyre_pipeline *pipeline;
  or_exit(vyre_device_open("cpu", NULL, &device));
  or_exit(vyre_compile_text(device, text, strlen(text), "paging.vyre", NULL, &pipeline));

  uint32_t want[] = {2, 1, 0}, pages[] = {0, 50, 0}, y[3];
  int calls = 0;
  vyre_options options = {.struct_size = sizeof options,
                          .set = VYRE_SET_TRAP_HANDLER | VYRE_SET_TIMEOUT,
                          .trap_handler = fill,
                          .trap_user = &calls,
                          .timeout_ns = 10000000000};
  vyre_arg in[] = {VYRE_BYTES(want), VYRE_BYTES(pages)}, out[] = {VYRE_BYTES(pages), VYRE_BYTES(y)};
  or_exit(vyre_dispatch(pipeline, in, 2, out, 2, &options, NULL));
  printf("%u %u %u\n", (unsigned)y[0], (unsigned)y[1], (unsigned)y[2]);

  vyre_pipeline_release(pipeline);
  vyre_device_release(device);
  return calls == 1 ? 0 : 1;
}
