// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/replay_cache.hpp"

#include <algorithm>
#include <utility>

namespace vyre::backend::cuda {

using device::Ticket;

InFlightSubmission* ReplayCache::find(uint64_t key) {
  const auto same = std::ranges::find_if(replays_, [&](const InFlightSubmission* in_flight) {
    return in_flight->ticket == Ticket{} && in_flight->replay->key == key;
  });
  return same != replays_.end() ? *same : nullptr;
}

// A form that comes for the second
// time is worth a graph; so is, up to a few, one that comes for the second time with the same
// buffers, as where two of them alternate.
InFlightSubmission* ReplayCache::find(const Likeness& like, bool& comes_again) {
  size_t alike = 0;
  InFlightSubmission* best = nullptr;
  for (InFlightSubmission* const in_flight : replays_) {
    if (in_flight->like.form != like.form) continue;
    ++alike;
    if (in_flight->ticket != Ticket{}) continue;
    if (in_flight->like.whole == like.whole) return in_flight;
    if (best == nullptr || in_flight->replay->used < best->replay->used) best = in_flight;
  }
  const bool again = std::exchange(wholes_[like.whole % wholes_.size()], like.whole) == like.whole;
  if (alike == 0) {
    Form& form = form_of(like);
    comes_again = form.form == like.form && !form.refused;
    if (form.form != like.form) form = {.form = like.form};
    return nullptr;
  }
  comes_again = best != nullptr && again && alike < kMostAlike;
  return comes_again ? nullptr : best;
}

void ReplayCache::keep(InFlightSubmission& in_flight,
                       std::unique_ptr<InFlightSubmission::Replay> replay) {
  in_flight.comes_again = false;
  if (!replay) {
    // What was stopped meanwhile may be a graph another time.
    const bool stopped =
        in_flight.end.load(std::memory_order_relaxed) != InFlightSubmission::End::None;
    form_of(in_flight.like) = {.form = in_flight.like.form, .refused = !stopped};
    return;
  }
  if (replays_.size() >= kMostReplays) {
    InFlightSubmission* oldest = nullptr;
    for (InFlightSubmission* const kept : replays_)
      if (kept->ticket == Ticket{} &&
          (oldest == nullptr || kept->replay->used < oldest->replay->used))
        oldest = kept;
    if (oldest == nullptr) return;  // all of them are under way
    drop(*oldest);
  }
  replay->used = in_flight.ticket.value;
  in_flight.replay = std::move(replay);
  replays_.push_back(&in_flight);
}

void ReplayCache::drop(InFlightSubmission& in_flight) noexcept {
  std::erase(replays_, &in_flight);
  in_flight.replay.reset();
  in_flight.used_controls = std::max(in_flight.used_controls, in_flight.launches.size());
  in_flight.launches.clear();
}

void ReplayCache::forget(InFlightSubmission& in_flight) {
  drop(in_flight);
  form_of(in_flight.like) = {};
}

void ReplayCache::clear() {
  replays_.clear();
  forms_ = {};
  wholes_ = {};
}

}  // namespace vyre::backend::cuda
