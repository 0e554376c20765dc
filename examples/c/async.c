/* SPDX-License-Identifier: Apache-2.0 */
/* A dispatch that runs while the host does something else, and one that is ended early. */
// Prints:
//   499999500000
//   ended: Timeout
#include <string.h>

#include "or_exit.h"

static const char sum_text[] =
    "program sum {\n"
    "  workgroup 256;\n"
    "  in  n     : u64[1];\n"
    "  out total : u64[1];\n"
    "  over 1;\n"
    "  if gid.x == 0 {\n"
    "    var s = 0u64;\n"
    "    for i in 0u64..n[0] { s += i; }\n"
    "    total[0] = s;\n"
    "  }\n"
    "}\n";

static const char endless_text[] =
    "program endless {\n"
    "  workgroup 1;\n"
    "  over 1;\n"
    "  inout flag : u32[1];\n"
    "  while atomic_load(flag[0]) == 0 { atomic_add(flag[0], 0); }\n"
    "}\n";

int main(void) {
  vyre_device *device;
  or_exit(vyre_device_open("cpu", NULL, &device));

  vyre_pipeline *sum;
  or_exit(vyre_compile_text(device, sum_text, strlen(sum_text), "sum.vyre", NULL, &sum));
  uint64_t n = 1000000, total = 0;
  vyre_arg in[] = {VYRE_MEMORY(&n, sizeof n)}, out[] = {VYRE_MEMORY(&total, sizeof total)};
  vyre_call *call;
  vyre_pending *pending;
  or_exit(vyre_bind(sum, in, 1, out, 1, NULL, &call));
  or_exit(vyre_call_start(call, &pending));
  n = 5; /* Inputs have been read. */
  int done = 0;
  while (!done) or_exit(vyre_pending_wait(pending, 1000000, &done, NULL));
  printf("%llu\n", (unsigned long long)total);
  vyre_pending_release(pending);
  vyre_call_release(call);
  vyre_pipeline_release(sum);

  vyre_pipeline *endless;
  or_exit(vyre_compile_text(device, endless_text, strlen(endless_text), "endless.vyre", NULL, &endless));
  uint32_t flag = 0;
  vyre_arg inout[] = {VYRE_MEMORY(&flag, sizeof flag)};
  or_exit(vyre_bind(endless, inout, 1, NULL, 0, NULL, &call));
  or_exit(vyre_call_start(call, &pending));
  vyre_pending_cancel(pending);
  vyre_error *error = vyre_pending_wait(pending, UINT64_MAX, NULL, NULL);
  printf("ended: %s\n", vyre_error_code(error) == VYRE_TIMEOUT ? "Timeout" : "?");
  vyre_error_release(error);
  vyre_pending_release(pending);
  vyre_call_release(call);
  vyre_pipeline_release(endless);
  vyre_device_release(device);
  return 0;
}
