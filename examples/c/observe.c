/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is, how it would run, what it did: all as the JSON of the tool. */
// Prints:
//   [{"name":"a","kind":"inout",...
//   {...,"program":"twice",...
//   {"program":"twice",...
//   {
//   ...
//   bad.vyre:1:...
//   ...
#include <string.h>

#include "or_exit.h"

static const char text[] =
    "program twice { workgroup 64; over len(a); inout a : u32[]; if gid.x < len(a) { a[gid.x] *= 2; } }";
static const char bad[] = "program bad { workgroup 64; inout a : u32[]; a[gid.x] = 1.5; }";

static void show(vyre_data *data) {
  printf("%s\n", (const char *)vyre_data_bytes(data));
  vyre_data_release(data);
}

int main(void) {
  vyre_device *device;
  vyre_program *program;
  vyre_pipeline *pipeline;
  vyre_data *json;
  or_exit(vyre_device_open("cpu", NULL, &device));
  or_exit(vyre_program_parse(text, strlen(text), "twice.vyre", NULL, &program));
  or_exit(vyre_program_buffers(program, &json));
  show(json);
  or_exit(vyre_compile(device, program, NULL, &pipeline));
  or_exit(vyre_pipeline_plan(pipeline, NULL, 0, NULL, &json));
  show(json);

  vyre_trace *trace;
  or_exit(vyre_trace_new(0, &trace));
  or_exit(vyre_device_set_trace(device, trace));
  uint32_t a[] = {1, 2, 3};
  vyre_arg inout[] = {VYRE_BYTES(a)};
  or_exit(vyre_dispatch(pipeline, inout, 1, inout, 1, NULL, &json));
  show(json);
  or_exit(vyre_device_set_trace(device, NULL));
  or_exit(vyre_device_telemetry(device, &json));
  show(json);
  or_exit(vyre_trace_json(trace, &json)); /* Opens in Perfetto. */
  show(json);

  vyre_program *none = NULL;
  vyre_error *error = vyre_program_parse(bad, strlen(bad), "bad.vyre", NULL, &none);
  fputs(vyre_error_text(error), stdout);
  vyre_error_release(error);

  vyre_trace_release(trace);
  vyre_pipeline_release(pipeline);
  vyre_program_release(program);
  vyre_device_release(device);
  return 0;
}
