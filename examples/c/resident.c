/* SPDX-License-Identifier: Apache-2.0 */
/* Data that stays on the device: arguments bound once, and a hundred dispatches as one submission. */
// Prints:
//   after one call: 2 3 1 2
//   after the sequence: 1 2 2 3
#include <string.h>

#include "or_exit.h"

static const char text[] =
    "program rotate {\n"
    "  workgroup 64;\n"
    "  over len(to);\n"
    "  in  from : u32[];\n"
    "  out to   : u32[] @count(len(from));\n"
    "  let i = gid.x;\n"
    "  if i < len(to) { to[i] = from[(i + 1) % len(from)]; }\n"
    "}\n";

static void show(const char *when, const uint32_t *v) {
  printf("after %s: %u %u %u %u\n", when, (unsigned)v[0], (unsigned)v[1], (unsigned)v[2], (unsigned)v[3]);
}

int main(void) {
  const uint32_t values[] = {2, 2, 3, 1};
  uint32_t result[4];
  vyre_device *device;
  vyre_pipeline *pipeline;
  or_exit(vyre_device_open("cpu", NULL, &device));
  or_exit(vyre_compile_text(device, text, strlen(text), "rotate.vyre", NULL, &pipeline));

  vyre_buffer *a, *b;
  or_exit(vyre_buffer_upload(device, values, sizeof values, 0, &a));
  or_exit(vyre_buffer_allocate(device, sizeof values, VYRE_ZEROS, 0, &b));

  /* Arguments are checked once. */
  vyre_arg in_a[] = {VYRE_RESIDENT(a)}, in_b[] = {VYRE_RESIDENT(b)};
  vyre_arg out_a[] = {VYRE_RESIDENT(a)}, out_b[] = {VYRE_RESIDENT(b)};
  vyre_call *there, *back;
  or_exit(vyre_bind(pipeline, in_a, 1, out_b, 1, NULL, &there));
  or_exit(vyre_bind(pipeline, in_b, 1, out_a, 1, NULL, &back));
  or_exit(vyre_call_run(there, NULL));
  or_exit(vyre_buffer_read(b, 0, result, sizeof result));
  show("one call", result);

  /* A hundred dispatches without the host in between, and one read at the end. */
  vyre_call *calls[] = {there, back};
  vyre_read reads[] = {{b, 0, result, sizeof result}};
  vyre_sequence sequence = {.struct_size = sizeof sequence,
                            .repeated = calls,
                            .repeated_count = 2,
                            .repeats = 50,
                            .reads = reads,
                            .read_count = 1};
  or_exit(vyre_sequence_run(device, &sequence, NULL));
  show("the sequence", result);

  vyre_call_release(back);
  vyre_call_release(there);
  vyre_buffer_release(b);
  vyre_buffer_release(a);
  vyre_pipeline_release(pipeline);
  vyre_device_release(device);
  return 0;
}
