/* SPDX-License-Identifier: Apache-2.0 */
/* A program from its text to its result, with every error handled. */
// Prints:
//   6 9 12 15
#include <stdio.h>
#include <string.h>

#include <vyre/vyre.h>

static const char text[] =
    "program saxpy {\n"
    "  workgroup 64;\n"
    "  over len(y);\n"
    "  in    x : f32[];\n"
    "  inout y : f32[];\n"
    "  require len(x) == len(y), \"both need one length\";\n"
    "  let i = gid.x;\n"
    "  if i < len(y) { y[i] = 2.0 * x[i] + y[i]; }\n"
    "}\n";

int main(void) {
  float x[] = {1, 2, 3, 4};
  float y[] = {4, 5, 6, 7};

  vyre_device *device = NULL;
  vyre_pipeline *pipeline = NULL;
  vyre_error *error;
  vyre_arg in[] = {VYRE_BYTES(x), VYRE_BYTES(y)}, out[] = {VYRE_BYTES(y)};
  if ((error = vyre_device_open("cpu", NULL, &device)) ||
      (error = vyre_compile_text(device, text, strlen(text), "saxpy.vyre", NULL, &pipeline)) ||
      (error = vyre_dispatch(pipeline, in, 2, out, 1, NULL, NULL))) {
    fputs(vyre_error_text(error), stderr);
    vyre_error_release(error);
  } else {
    printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  }
  vyre_pipeline_release(pipeline);
  vyre_device_release(device);
  return error != NULL;
}
