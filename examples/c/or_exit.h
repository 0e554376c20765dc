/* SPDX-License-Identifier: Apache-2.0 */
/* What the examples do about errors: show them and end. */
#ifndef OR_EXIT_H
#define OR_EXIT_H

#include <stdio.h>
#include <stdlib.h>

#include <vyre/vyre.h>

static inline void or_exit(vyre_error *error) {
  if (error == NULL) return;
  fputs(vyre_error_text(error), stderr);
  vyre_error_release(error);
  exit(1);
}

#endif
