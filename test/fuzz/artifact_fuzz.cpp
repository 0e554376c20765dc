// SPDX-License-Identifier: Apache-2.0
// Any bytes in place of a cached artifact, and of what vyre-compile answers: decoding never
// crashes, and what it accepts is exactly one artifact, in which each reference leads somewhere, or
// one answer that can be reported. The first byte is the number of buffers that the program has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "pipeline/artifact_image.hpp"
#include "pipeline/check_schedule.hpp"
#include "pipeline/compile_job.hpp"

using namespace vyre;

namespace {

void judge_artifact(std::span<const std::byte> bytes, size_t buffers) {
  const auto decoded = pipeline::decode_artifact(bytes, buffers);
  if (!decoded) return;
  const auto again = pipeline::encode({.format = decoded->format,
                                       .code = decoded->code,
                                       .entries = decoded->entries,
                                       .schedule = decoded->schedule,
                                       .plan = decoded->plan});
  VYRE_CHECK(std::ranges::equal(again, bytes));
  VYRE_CHECK(pipeline::is_consistent(decoded->schedule, decoded->entries, buffers));
}

void judge_answer(std::span<const std::byte> bytes) {
  const auto answer = pipeline::decode_answer(bytes);
  if (!answer) return;
  VYRE_CHECK(std::ranges::equal(pipeline::encode_answer(*answer), bytes));
  if (!*answer) VYRE_CHECK(!to_string(answer->error()).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  judge_artifact(bytes, data[0]);
  judge_answer(bytes);
  return 0;
}
