// SPDX-License-Identifier: Apache-2.0
// How much memory a plan hides, known before anything is launched.
#include <algorithm>

#include <fmt/format.h>

#include "vyre/plan/plan.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

Error too_much(std::string message) {
  return {.code = ErrorCode::LimitExceeded,
          .message = std::move(message),
          .context = {},
          .at = {},
          .diagnostics = {}};
}

uint64_t unit_bytes(const Hidden& h) {
  return uint64_t{h.count} * bytes_of(h.element) * (h.two_halves ? 2 : 1);
}

uint64_t bytes_of(const LiveAcross& c) {
  return uint64_t{bytes_of(c.type)} * std::max(1U, c.elements);
}

// The segment after which most bytes per lane are kept.
const Segment* widest(const Plan& plan) {
  const Segment* most = nullptr;
  uint64_t most_bytes = 0;
  for (const Segment& segment : plan.segments) {
    uint64_t bytes = 0;
    for (const LiveAcross& c : segment.live_across)
      if (c.how != LiveAcross::How::Recomputed && c.level > check::Level::Workgroup)
        bytes += bytes_of(c);
    if (bytes <= most_bytes && most != nullptr) continue;
    most = &segment;
    most_bytes = bytes;
  }
  return most;
}

}  // namespace

Result<StateBytes> state_bytes(const Outline& plan, const check::CheckedProgram& source,
                               const check::Launch& launch) {
  StateBytes bytes;
  for (const Hidden& h : plan.hidden) {
    if (h.kind == Hidden::Kind::Print) continue;  // print_bytes bounds it
    const uint64_t units = h.extent == Hidden::Extent::PerLane
                               ? launch.workgroups() * launch.lanes_per_workgroup()
                           : h.extent == Hidden::Extent::PerWorkgroup ? launch.workgroups()
                                                                      : 1;
    // At most 2^32 units of at most 2^16 elements.
    if (!plan.wide_index && h.count * units > check::kMaxElements)
      return std::unexpected(too_much(fmt::format(
          "the {} `{}` has {} elements for each of {} lanes or workgroups, more than 32-bit "
          "indices "
          "reach, and the device has no others. Fix: use a smaller grid or smaller private arrays",
          name_of(h.kind), h.name, h.count, units)));
    switch (h.extent) {
      case Hidden::Extent::Once: bytes.fixed += unit_bytes(h); break;
      case Hidden::Extent::PerWorkgroup: bytes.per_workgroup += unit_bytes(h); break;
      case Hidden::Extent::PerLane: bytes.per_lane += unit_bytes(h); break;
      case Hidden::Extent::LikeBuffer:
        // At most 64 buffers of 2^35 bytes, for at most 100,000 fixpoints: fits.
        bytes.snapshots += launch.counts[h.like.index()] * bytes_of(source.program[h.like].element);
        break;
    }
  }
  const unsigned __int128 total =
      static_cast<unsigned __int128>(bytes.per_lane) * launch.lanes_per_workgroup() *
          launch.workgroups() +
      static_cast<unsigned __int128>(bytes.per_workgroup) * launch.workgroups() + bytes.fixed +
      bytes.snapshots;
  if (total > ~uint64_t{0})
    return std::unexpected(too_much(fmt::format(
        "the state saved across grid barriers, {} bytes per lane and {} per workgroup for {} "
        "workgroups of {} lanes, does not fit in 64 bits. Fix: use a smaller grid",
        bytes.per_lane, bytes.per_workgroup, launch.workgroups(), launch.lanes_per_workgroup())));
  bytes.total = static_cast<uint64_t>(total);
  return bytes;
}

Result<void> check_state(const Plan& plan, const check::CheckedProgram& source,
                         const check::Launch& launch, uint64_t max_state_bytes) {
  const Result<StateBytes> bytes = state_bytes(plan, source, launch);
  if (!bytes) return std::unexpected(bytes.error());
  if (bytes->total <= max_state_bytes) return {};
  std::string values;
  Error error = too_much({});
  if (const Segment* segment = widest(plan)) {
    error.at = segment->barrier;
    for (const LiveAcross& c : segment->live_across) {
      if (c.how == LiveAcross::How::Recomputed) continue;
      values += fmt::format("{}`{}` ({} bytes per {})", values.empty() ? "; across it go " : ", ",
                            c.name, bytes_of(c),
                            c.level == check::Level::Grid        ? "grid"
                            : c.level == check::Level::Workgroup ? "workgroup"
                                                                 : "lane");
    }
  }
  error.message = fmt::format(
      "the state saved across grid barriers needs {} bytes ({} per lane, {} per workgroup, {} for "
      "snapshots of fixpoints), more than max_state_bytes = {}{}. Fix: use a smaller grid, keep "
      "fewer locals alive across the barrier, or raise the limit",
      bytes->total, bytes->per_lane, bytes->per_workgroup, bytes->snapshots, max_state_bytes,
      values);
  return std::unexpected(std::move(error));
}

}  // namespace vyre::plan
