// SPDX-License-Identifier: Apache-2.0
// In tiles, as the program is: the compiler has about as much to do.
void matmul(const float* restrict a, const float* restrict b, float* restrict c, unsigned n) {
  float ta[256], tb[256], sum[256];
  for (unsigned gy = 0; gy < n; gy += 16)
    for (unsigned gx = 0; gx < n; gx += 16) {
      for (unsigned i = 0; i < 256; ++i) sum[i] = 0;
      for (unsigned first = 0; first < n; first += 16) {
        for (unsigned y = 0; y < 16; ++y)
          for (unsigned x = 0; x < 16; ++x) {
            ta[y * 16 + x] = a[(gy + y) * n + first + x];
            tb[y * 16 + x] = b[(first + y) * n + gx + x];
          }
        for (unsigned y = 0; y < 16; ++y)
          for (unsigned k = 0; k < 16; ++k)
            for (unsigned x = 0; x < 16; ++x)
              sum[y * 16 + x] += ta[y * 16 + k] * tb[k * 16 + x];
      }
      for (unsigned y = 0; y < 16; ++y)
        for (unsigned x = 0; x < 16; ++x) c[(gy + y) * n + gx + x] = sum[y * 16 + x];
    }
}
