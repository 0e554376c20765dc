// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/flight.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/errors.hpp"

namespace vyre::backend::cuda {

using namespace device;

namespace {

constexpr uint64_t kStagingAlign = 16;

}  // namespace

// ---- what there is for all

Result<void> Flights::open() {
  VYRE_TRY(gpu_.check(gpu_.driver.stream_create(&control_stream_, kStreamNonBlocking),
                      "making a stream"));
  constexpr uint64_t kBytes = kAreaBytes + kMarks * kMarkBytes;
  void* zeros = nullptr;
  if (const Outcome got =
          gpu_.driver.host_allocate(&zeros, kBytes, kHostAllocPortable | kHostAllocDeviceMap);
      !got.ok())
    return std::unexpected(gpu_.allocation_failed(got, kBytes));
  zeros_ = static_cast<std::byte*>(zeros);
  std::memset(zeros_, 0, kBytes);
  DeviceAddress address = 0;
  VYRE_TRY(gpu_.check(gpu_.driver.host_address(&address, zeros_, 0), "finding pinned memory"));
  marks_ = address + kAreaBytes;
  return {};
}

Flights::Mark Flights::mark(const Flight& flight) const {
  if (flight.slot >= kMarks) return {};
  const uint64_t at = flight.slot * kMarkBytes;
  return {.host = reinterpret_cast<uint32_t*>(zeros_ + kAreaBytes + at), .address = marks_ + at};
}

void Flights::close() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& flight : flights_) {
      if (flight->ticket == Ticket{}) continue;
      flight->cancel = nullptr;  // it may be gone
      stop(*flight, Flight::End::Cancelled);
    }
  }
  // What is told to stop is abandoned after a while; work that cannot be told to ends here.
  if (!settle(Clock::now() + 2 * grace_) && !gpu_.hung) {
    const std::scoped_lock lock(mutex_);
    const auto running = std::ranges::find_if(flights_, [&](const std::unique_ptr<Flight>& flight) {
      return flight->ticket != Ticket{} && runs(*flight);
    });
    if (running != flights_.end()) abandon(**running);
  }
  if (gpu_.hung) return;
  for (const auto& flight : flights_) destroy(*flight);
  replays_.clear();
  flights_.clear();
  gpu_.in_flight = 0;
  forms_ = {};
  wholes_ = {};
  loss_ = {};
  if (zeros_ != nullptr) gpu_.deferred.pinned(zeros_, kAreaBytes);
  if (control_stream_ != nullptr) std::ignore = gpu_.driver.stream_destroy(control_stream_);
  zeros_ = nullptr;
  control_stream_ = nullptr;
}

Result<void> Flights::make(Flight& flight) {
  for (EventHandle* event : {&flight.done, &flight.cleared})
    if (*event == nullptr)
      if (auto ok =
              gpu_.check(gpu_.driver.event_create(event, kEventDisableTiming), "making an event");
          !ok)
        return ok;
  return {};
}

void Flights::destroy(Flight& flight) noexcept {
  flight.graphs.clear();
  if (flight.replay) {
    const std::scoped_lock lock(mutex_);
    drop_replay(flight);
  }
  for (EventHandle* event : {&flight.done, &flight.cleared})
    if (*event != nullptr) std::ignore = gpu_.driver.event_destroy(std::exchange(*event, nullptr));
  for (EventHandle timer : flight.timers) std::ignore = gpu_.driver.event_destroy(timer);
  for (const DeviceAddress area : flight.areas) gpu_.deferred.memory(area, kAreaBytes);
  if (flight.staging != nullptr)
    gpu_.deferred.pinned(std::exchange(flight.staging, nullptr), kStagingBytes);
  flight.timers.clear();
  flight.areas.clear();
  flight.used_controls = 0;
  flight.clearing = false;
}

// ---- giving steps to the driver

Flight* Flights::find(Ticket ticket) {
  const size_t slot = ticket.value & ((uint64_t{1} << kSlotBits) - 1);
  if (ticket == Ticket{} || slot >= flights_.size()) return nullptr;
  return flights_[slot]->ticket == ticket ? flights_[slot].get() : nullptr;
}

// The graph that does this already, or one that can be patched. A form that comes for the second
// time is worth a graph; so is, up to a few, one that comes for the second time with the same
// buffers, as where two of them take turns.
Flight* Flights::take_replay(const Likeness& like, bool& comes_again) {
  size_t alike = 0;
  Flight* best = nullptr;
  for (Flight* const flight : replays_) {
    if (flight->like.form != like.form) continue;
    ++alike;
    if (flight->ticket != Ticket{}) continue;
    if (flight->like.whole == like.whole) return flight;
    if (best == nullptr || flight->replay->used < best->replay->used) best = flight;
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

Flight& Flights::take(const Submission& submission) {
  bool comes_again = false;
  Likeness like;
  if (submission.replay_key != 0 && !submission.timing && !submission.checked) {
    const auto same = std::ranges::find_if(replays_, [&](const Flight* flight) {
      return flight->ticket == Ticket{} && flight->replay->key == submission.replay_key;
    });
    if (same != replays_.end()) return **same;
    like = likeness_of(submission);
    if (like.form != 0)
      if (Flight* const flight = take_replay(like, comes_again); flight != nullptr) {
        flight->like = like;
        return *flight;
      }
  }
  auto free = std::ranges::find_if(flights_, [](const std::unique_ptr<Flight>& f) {
    return f->ticket == Ticket{} && !f->replay;
  });
  if (free == flights_.end())
    free = flights_.insert(flights_.end(),
                           std::make_unique<Flight>(static_cast<uint32_t>(flights_.size())));
  (*free)->like = like;
  (*free)->comes_again = comes_again;
  return **free;
}

Result<Flight*> Flights::begin(const Submission& submission, StreamHandle stream) {
  Flight* flight = nullptr;
  {
    std::unique_lock lock(mutex_);
    if (exclusive_ || wanting_ != 0 || gpu_.hung) [[unlikely]]
      VYRE_TRY(await_entry(lock, submission));
    flight = &take(submission);
    ++issuing_;
    flight->stream = stream;
    flight->deadline = submission.deadline;
    flight->cancel = submission.cancel;
    flight->failed_step = submission.failed_step;
    flight->timing = submission.timing;
    flight->checked = submission.checked || (flight->replay && flight->replay->may_stop);
    flight->steps = static_cast<uint32_t>(submission.steps.size());
    flight->ticket = {next_ticket_++ << kSlotBits | flight->slot};
    ++gpu_.in_flight;
    if (flight->replay) flight->replay->used = flight->ticket.value;
  }
  auto ready = make(*flight);
  // Launches before it that nobody asked for stops may have left some.
  if (ready && submission.checked) ready = clear_controls(*flight);
  if (ready && flight->timing) ready = start_clock(*flight);
  if (ready) return flight;
  retire(*flight, false);
  const std::scoped_lock lock(mutex_);
  --issuing_;
  return std::unexpected(std::move(ready.error()));
}

Result<void> Flights::after(Flight& flight, std::span<const Ticket> tickets) {
  // Under the lock, so that nobody takes the event for another submission meanwhile.
  const std::scoped_lock lock(mutex_);
  flight.after.assign(tickets.begin(), tickets.end());
  for (const Ticket ticket : tickets) {
    const Flight* const other = find(ticket);
    if (other == nullptr) continue;
    if (other->submitted) {
      VYRE_TRY(gpu_.check(gpu_.driver.stream_wait(flight.stream, other->done, 0),
                          "waiting for other work"));
    } else if (other->end.load(std::memory_order_relaxed) != Flight::End::Over && other->error) {
      return std::unexpected(*other->error);  // nothing tells when it is over
    }
  }
  return {};
}

Result<void> Flights::add_area(Flight& flight) {
  constexpr std::string_view kDoing = "clearing a control block";
  DeviceAddress area = 0;
  if (const Outcome got = gpu_.driver.memory_allocate(&area, kAreaBytes); !got.ok())
    return std::unexpected(gpu_.allocation_failed(got, kAreaBytes));
  auto cleared =
      gpu_.check(gpu_.driver.copy_to_device(area, zeros_, kAreaBytes, control_stream_), kDoing);
  if (cleared)
    cleared = gpu_.check(gpu_.driver.event_record(flight.cleared, control_stream_), kDoing);
  if (!cleared) {
    gpu_.deferred.memory(area, kAreaBytes);
    return cleared;
  }
  flight.clearing = true;
  const std::scoped_lock lock(mutex_);
  flight.areas.push_back(area);
  return {};
}

Result<DeviceAddress> Flights::control(Flight& flight, const Flight::Launched& launch,
                                       bool cooperative) {
  const size_t index = flight.launches.size();
  if (index / kAreaControls == flight.areas.size()) VYRE_TRY(add_area(flight));
  // Whoever stops the flight later finds this control among those in use.
  const std::scoped_lock lock(mutex_);
  if (flight.end.load(std::memory_order_relaxed) != Flight::End::None) return DeviceAddress{0};
  flight.launches.push_back(launch);
  flight.cooperative = flight.cooperative || cooperative;
  return flight.areas[index / kAreaControls] + index % kAreaControls * sizeof(GpuControl);
}

Result<void> Flights::await_cleared(Flight& flight, StreamHandle stream) {
  if (!flight.clearing) return {};
  Outcome cleared = gpu_.driver.event_query(flight.cleared);
  if (cleared.status == status::kNotReady)
    cleared = gpu_.driver.stream_wait(stream, flight.cleared, 0);
  VYRE_TRY(gpu_.check(cleared, "waiting for a control block"));
  flight.clearing = false;
  return {};
}

std::vector<Flights::Controls> Flights::controls(const Flight& flight) {
  std::vector<Controls> areas;
  for (size_t first = 0; first < flight.launches.size(); first += kAreaControls)
    areas.push_back({.first = flight.areas[first / kAreaControls],
                     .count = std::min<size_t>(flight.launches.size() - first, kAreaControls)});
  return areas;
}

void Flights::recycle(Flight& flight) {
  // Who stops the flight counts on them.
  const std::scoped_lock lock(mutex_);
  if (flight.checked || flight.cooperative ||
      flight.end.load(std::memory_order_relaxed) != Flight::End::None)
    return;
  flight.used_controls = std::max(flight.used_controls, flight.launches.size());
  flight.launches.resize(flight.kept_launches);
}

void Flights::forget_launches(Flight& flight, size_t down_to) {
  const std::scoped_lock lock(mutex_);
  flight.used_controls = std::max(flight.used_controls, flight.launches.size());
  flight.launches.resize(down_to);
}

// ---- submissions that come again

void Flights::keep(Flight& flight, std::unique_ptr<Flight::Replay> replay) {
  const std::scoped_lock lock(mutex_);
  flight.comes_again = false;
  if (!replay) {
    // What was stopped meanwhile may be a graph another time.
    const bool stopped = flight.end.load(std::memory_order_relaxed) != Flight::End::None;
    form_of(flight.like) = {.form = flight.like.form, .refused = !stopped};
    return;
  }
  if (replays_.size() >= kMostReplays) {
    Flight* oldest = nullptr;
    for (Flight* const kept : replays_)
      if (kept->ticket == Ticket{} &&
          (oldest == nullptr || kept->replay->used < oldest->replay->used))
        oldest = kept;
    if (oldest == nullptr) return;  // all of them are under way
    drop_replay(*oldest);
  }
  replay->used = flight.ticket.value;
  flight.replay = std::move(replay);
  replays_.push_back(&flight);
}

void Flights::forget_replay(Flight& flight) {
  const std::scoped_lock lock(mutex_);
  drop_replay(flight);
  form_of(flight.like) = {};
}

// Under the lock.
void Flights::drop_replay(Flight& flight) noexcept {
  std::erase(replays_, &flight);
  flight.replay.reset();
  flight.used_controls = std::max(flight.used_controls, flight.launches.size());
  flight.launches.clear();
}

Result<std::byte*> Flights::stage(Flight& flight, uint64_t bytes) {
  if (flight.staging == nullptr) {
    void* staging = nullptr;
    if (const Outcome got = gpu_.driver.host_allocate(&staging, kStagingBytes, kHostAllocPortable);
        !got.ok())
      return std::unexpected(gpu_.allocation_failed(got, kStagingBytes));
    flight.staging = static_cast<std::byte*>(staging);
  }
  if (bytes > kStagingBytes - flight.staging_used) return nullptr;
  std::byte* const at = flight.staging + flight.staging_used;
  flight.staging_used =
      std::min((flight.staging_used + bytes + kStagingAlign - 1) / kStagingAlign * kStagingAlign,
               kStagingBytes);
  return at;
}

Result<bool> Flights::reach(Flight& flight, StreamHandle stream) {
  VYRE_TRY(gpu_.check(gpu_.driver.event_record(flight.done, stream), "marking work"));
  if (auto done = wait_for(flight.done, kNoDeadline); !done)
    return std::unexpected(gpu_.hung ? hung_error(flight) : std::move(done.error()));
  return flight.end.load(std::memory_order_acquire) == Flight::End::None;
}

bool Flights::look_at(Flight& flight) {
  if (flight.end.load(std::memory_order_acquire) != Flight::End::None || gpu_.hung) return true;
  const bool cancelled = flight.cancel != nullptr && flight.cancel->load(std::memory_order_relaxed);
  if (!cancelled && (flight.deadline == kNoDeadline || Clock::now() < flight.deadline))
    return false;
  const std::scoped_lock lock(mutex_);
  stop(flight, cancelled ? Flight::End::Cancelled : Flight::End::OutOfTime);
  return flight.end.load(std::memory_order_relaxed) != Flight::End::None;
}

void Flights::submitted(Flight& flight) {
  const Outcome marked = gpu_.driver.event_record(flight.done, flight.stream);
  const std::scoped_lock lock(mutex_);
  --issuing_;
  if (marked.ok())
    flight.submitted = true;
  else if (!flight.error)
    flight.error = gpu_.failed(marked, "marking work");
}

// ---- afterwards

void Flights::retire(Flight& flight, bool reuse) {
  bool dirty = false;  // the others write nothing that an unchecked launch would mind
  {
    // From here on nobody else touches the flight.
    const std::scoped_lock lock(mutex_);
    const auto end = flight.end.exchange(Flight::End::Over, std::memory_order_relaxed);
    // A graph leaves its controls as it has found them.
    dirty = end != Flight::End::None || (!flight.replay && (flight.checked || flight.cooperative));
    flight.submitted = false;
  }
  flight.used_controls = std::max(flight.used_controls, flight.launches.size());
  flight.graphs.clear();
  if (reuse && dirty) reuse = clear_controls(flight).has_value();
  if (!reuse) destroy(flight);
  const std::scoped_lock lock(mutex_);
  flight.cancel = nullptr;
  flight.failed_step = nullptr;
  flight.deadline = kNoDeadline;
  flight.timing = flight.checked = flight.cooperative = flight.comes_again = false;
  flight.end.store(Flight::End::None, std::memory_order_relaxed);
  flight.told_to_stop = Flight::kNever;
  flight.step = flight.steps = 0;
  flight.staging_used = flight.timers_used = 0;
  flight.kept_launches = 0;
  if (!flight.replay) flight.launches.clear();
  flight.to_host.clear();
  flight.times.clear();
  flight.after.clear();
  flight.completion = {};
  flight.error.reset();
  flight.ticket = {};
  --gpu_.in_flight;
}

Result<void> Flights::clear_controls(Flight& flight) {
  constexpr std::string_view kDoing = "clearing a control block";
  const size_t used = std::exchange(flight.used_controls, 0);
  if (used == 0) return {};
  for (size_t first = 0; first < used; first += kAreaControls) {
    const size_t count = std::min<size_t>(used - first, kAreaControls);
    if (auto ok =
            gpu_.check(gpu_.driver.copy_to_device(flight.areas[first / kAreaControls], zeros_,
                                                  count * sizeof(GpuControl), control_stream_),
                       kDoing);
        !ok)
      return ok;
  }
  VYRE_TRY(gpu_.check(gpu_.driver.event_record(flight.cleared, control_stream_), kDoing));
  flight.clearing = true;
  return {};
}

}  // namespace vyre::backend::cuda
