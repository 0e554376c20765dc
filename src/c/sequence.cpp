// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "c/boundary.hpp"
#include "c/show.hpp"

namespace vyre::c {

namespace {

// What run::Sequence only points to.
struct Items {
  std::vector<run::SequenceItem> prefix, repeated, suffix;
  std::vector<run::ReadRange> ranges;
};

Result<std::vector<run::SequenceItem>> items_of(const char* name, vyre_call* const* calls,
                                                size_t count) {
  // More than any device takes; the array is not read before its length is known to be sane.
  constexpr size_t kMost = 1'000'000;
  if (count > kMost)
    return fail(ErrorCode::LimitExceeded,
                fmt::format("`{}` has {} calls, and a sequence has at most {}. Fix: run several",
                            name, count, kMost));
  if (count != 0) VYRE_TRY(require(calls, name));
  std::vector<run::SequenceItem> items;
  items.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const vyre_call* const call = calls[i];
    VYRE_TRY(require(call, fmt::format("{}[{}]", name, i)));
    for (const HostMemory& to : call->host)
      if (to.data != nullptr)
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}[{}] has memory of the host for an output, and results of a "
                                "sequence stay in buffers. Fix: bind it to a buffer, and read that "
                                "with `reads`",
                                name, i));
    items.push_back({.pipeline = call->pipeline->pipeline,
                     .arguments = call->arguments(),
                     .config = call->config.dispatch});
  }
  return items;
}

Result<std::vector<run::ReadRange>> ranges_of(const vyre_sequence& sequence) {
  constexpr size_t kMost = 1'000'000;
  if (sequence.read_count > kMost)
    return fail(ErrorCode::LimitExceeded,
                fmt::format("a sequence has at most {} reads, not {}. Fix: run several", kMost,
                            sequence.read_count));
  if (sequence.read_count != 0) VYRE_TRY(require(sequence.reads, "reads"));
  std::vector<run::ReadRange> ranges;
  for (size_t i = 0; i < sequence.read_count; ++i) {
    const vyre_read& read = sequence.reads[i];
    VYRE_TRY(require(read.buffer, fmt::format("reads[{}].buffer", i)));
    VYRE_TRY(require_bytes(read.to, read.bytes, fmt::format("reads[{}].to", i)));
    ranges.push_back({.buffer = &read.buffer->buffer, .offset = read.offset, .bytes = read.bytes});
  }
  return ranges;
}

Result<void> run_sequence(vyre_device& device, const vyre_sequence& sequence, vyre_data** report) {
  Items items;
  VYRE_TRY_ASSIGN(items.prefix, items_of("prefix", sequence.prefix, sequence.prefix_count));
  VYRE_TRY_ASSIGN(items.repeated, items_of("repeated", sequence.repeated, sequence.repeated_count));
  VYRE_TRY_ASSIGN(items.suffix, items_of("suffix", sequence.suffix, sequence.suffix_count));
  VYRE_TRY_ASSIGN(items.ranges, ranges_of(sequence));
  run::Outputs results;
  VYRE_TRY_ASSIGN(const auto done, device.device.run_sequence({.prefix = items.prefix,
                                                               .repeated = items.repeated,
                                                               .repeats = sequence.repeats,
                                                               .suffix = items.suffix,
                                                               .ranges = items.ranges},
                                                              &results));
  for (size_t i = 0; i < items.ranges.size(); ++i)
    if (!results[i].empty())
      std::memcpy(sequence.reads[i].to, results[i].data(), results[i].size());
  if (report != nullptr) give(report, report_json(done));
  return {};
}

}  // namespace

}  // namespace vyre::c

vyre_error* vyre_sequence_run(vyre_device* device, const vyre_sequence* sequence,
                              vyre_data** report) {
  using namespace vyre;
  return c::guarded([&]() -> Result<void> {
    VYRE_TRY(c::require(device, "device"));
    VYRE_TRY(c::require(sequence, "sequence"));
    VYRE_TRY(c::require_struct(sequence->struct_size, sizeof(vyre_sequence), "vyre_sequence"));
    if (sequence->reserved != 0)
      return fail(ErrorCode::InvalidArgument,
                  "`reserved` of vyre_sequence is not 0. Fix: begin with zeros");
    return c::run_sequence(*device, *sequence, report);
  });
}
