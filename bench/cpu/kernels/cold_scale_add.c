// SPDX-License-Identifier: Apache-2.0
void scale_add(const unsigned* restrict a, const unsigned* restrict b, unsigned* restrict o,
               unsigned n) {
  for (unsigned i = 0; i < n; ++i) o[i] = a[i] * 2 + b[i];
}
