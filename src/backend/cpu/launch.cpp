// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/launch.hpp"

#include <algorithm>
#include <new>

#include "vyre/device/allocation.hpp"

namespace vyre::backend::cpu {

using device::KernelStop;

namespace {

// UndefinedBehaviorSanitizer looks for the type of a function in front of it, where compiled code
// of ours has nothing.
#if defined(__clang__)
#define VYRE_CALLS_LOADED_CODE __attribute__((no_sanitize("function")))
#else
#define VYRE_CALLS_LOADED_CODE
#endif

constexpr std::align_val_t kScratchAlign{device::kMostSharedAlignment};
constexpr uint64_t kNoLaunch = ~uint64_t{0};
constexpr auto kProgressEvery = std::chrono::milliseconds(100);

}  // namespace

Scratch::~Scratch() {
  ::operator delete(data_, kScratchAlign);
}

std::byte* Scratch::at_least(uint64_t bytes) noexcept {
  if (bytes <= bytes_) return data_;
  ::operator delete(data_, kScratchAlign);
  data_ = static_cast<std::byte*>(::operator new(bytes, kScratchAlign, std::nothrow));
  bytes_ = data_ != nullptr ? bytes : 0;
  return data_;
}

PreparedLaunch::PreparedLaunch(const Kernel& k, const device::KernelArgs* a, uint64_t groups_,
                               uint64_t lanes)
    : kernel(&k),
      args(a),
      groups((k.info.flags & device::KernelInfo::kOneGroup) != 0 ? 1 : groups_) {
  // A device has at most 2^32-1 lanes, so only the product with all groups can overflow.
  group_ns = std::max<uint64_t>(lanes * std::max<uint32_t>(k.info.cost, 1), 1);
  const bool guessed = (k.info.flags & device::KernelInfo::kCostGuessed) != 0;
  // A guess may be far too low: the first time it may be worth to have helpers.
  if (const uint64_t seen = std::atomic_ref(k.seen_group_ns).load(std::memory_order_relaxed))
    group_ns = seen;
  else if (guessed)
    group_ns = std::max(group_ns, Pool::kWorthWaking / std::max<uint64_t>(groups, 1) + 1);
  if (__builtin_mul_overflow(groups, group_ns, &work_ns)) work_ns = ~uint64_t{0};
  at_once = groups == 1 || (!guessed && work_ns < kAloneNs);
}

// More at once, less little by little: a helper too many costs less than one too few.
void LaunchJob::learn() const {
  if (timed_groups_ == 0) return;
  const uint64_t now = std::max<uint64_t>(static_cast<uint64_t>(timed_.count()) / timed_groups_, 1);
  const std::atomic_ref seen(launch_->kernel->seen_group_ns);
  const uint64_t before = seen.load(std::memory_order_relaxed);
  seen.store(now >= before ? now : before - (before - now + 3) / 4, std::memory_order_relaxed);
}

LaunchJob::LaunchJob(const device::Submission& submission, Worker& self,
                     KernelFloatingPoint& caller)
    : submission_(submission), self_(self), caller_(caller) {
  // Nothing can end a launch that one thread runs alone but these.
  const bool can_end = submission.cancel != nullptr || submission.deadline != device::kNoDeadline;
  self.poll = can_end ? &LaunchJob::poll : &LaunchJob::never_stop;
  self.job = this;
}

// What the code of a launch may find changed by the one before.
inline bool LaunchJob::make_ready(Worker& worker) const {
  const uint64_t bytes = launch_->kernel->info.scratch_bytes;
  worker.scratch = bytes != 0 ? worker.memory->at_least(bytes) : nullptr;
  worker.stop = {};
  worker.started = 0;
  return bytes == 0 || worker.scratch != nullptr;
}

VYRE_CALLS_LOADED_CODE LaunchJob::End LaunchJob::run_at_once(const PreparedLaunch& launch) {
  launch_ = &launch;
  helpers_ = {};
  if (!make_ready(self_)) return End::NoMemory;
  launch.kernel->run(launch.args, &self_, 0, launch.groups);
  const End end = end_.load(std::memory_order_relaxed);
  if (end == End::Done && launch.kernel->finish != nullptr)
    launch.kernel->finish(launch.args, &self_);
  finish_streaming_stores();
  return end;
}

LaunchJob::End LaunchJob::run(const PreparedLaunch& launch, const Crew* crew) {
  launch_ = &launch;
  helpers_ = crew != nullptr ? crew->helpers : std::span<Worker>();
  number_ = crew != nullptr ? crew->number : 0;
  pool_ = crew != nullptr ? &crew->pool : nullptr;
  any_stop_.store(false, std::memory_order_relaxed);
  if (!begin(self_)) return End::NoMemory;
  Chunks chunks;
  chunks_ = &chunks;
  chunks.reset(launch.groups, crew != nullptr ? crew->pool.workers() : 1,
               kAloneNs / launch.group_ns, kMostChunkNs / launch.group_ns);
  timed_ = {};
  timed_groups_ = 0;
  if (submission_.host != nullptr) next_progress_ = Clock::now() + kProgressEvery;
  if (crew != nullptr) {
    crew->pool.run(
        [](void* job, uint32_t worker) {
          auto& me = *static_cast<LaunchJob*>(job);
          me.work(worker == 0 ? me.self_ : me.helpers_[worker - 1], worker);
        },
        this, launch.work_ns);
  } else {
    work(self_, 0);
    finish_streaming_stores();
  }
  if (thrown_) std::rethrow_exception(thrown_);
  learn();
  const End end = end_.load(std::memory_order_relaxed);
  if (end == End::Done && launch.kernel->finish != nullptr) finish_all();
  return end;
}

bool LaunchJob::begin(Worker& worker) {
  worker.poll = &LaunchJob::poll;
  worker.job = this;
  worker.loop_site.reset();
  worker.launch = kNoLaunch;
  return make_ready(worker);
}

VYRE_CALLS_LOADED_CODE void LaunchJob::call(Worker& worker, uint64_t first, uint64_t count) {
  worker.launch = number_;
  launch_->kernel->run(launch_->args, &worker, first, count);
  if (worker.stop.kind != KernelStop::Kind::None) any_stop_.store(true, std::memory_order_relaxed);
}

void LaunchJob::work(Worker& worker, uint32_t number) {
  const bool is_caller = number == 0;
  bool begun = is_caller;
  for (;;) {
    // Before anything is claimed, which would be lost.
    if (!begun && !begin(worker)) return;
    begun = true;
    const Chunks::Range range =
        pool_ != nullptr ? chunks_->claim(number, [this](uint32_t w) { return pool_->awake(w); })
                         : chunks_->claim(number);
    if (range.count == 0) return;
    if (is_caller) {
      const Clock::time_point start = Clock::now();
      call(worker, range.first, range.count);
      timed_ += Clock::now() - start;
      timed_groups_ += range.count;
    } else {
      call(worker, range.first, range.count);
    }
    if (must_stop()) {
      chunks_->stop();
      return;
    }
    if (is_caller && submission_.host != nullptr) report_progress();
  }
}

void LaunchJob::report_progress() {
  const Clock::time_point now = Clock::now();
  if (now < next_progress_) return;
  next_progress_ = now + kProgressEvery;
  caller_.leave();
  try {
    submission_.host->progress(chunks_->claimed(), chunks_->total());
  } catch (...) {
    thrown_ = std::current_exception();
    give_up(End::Cancelled);
  }
  caller_.enter();
}

bool LaunchJob::must_stop() {
  if (end_.load(std::memory_order_relaxed) != End::Done) return true;
  const device::Submission& s = submission_;
  if (s.cancel != nullptr && s.cancel->load(std::memory_order_relaxed))
    give_up(End::Cancelled);
  else if (s.deadline != device::kNoDeadline && Clock::now() >= s.deadline)
    give_up(End::OutOfTime);
  else
    return false;
  return true;
}

void LaunchJob::give_up(End why) {
  End none = End::Done;
  end_.compare_exchange_strong(none, why, std::memory_order_relaxed);
}

uint32_t LaunchJob::poll(device::KernelWorker* worker, uint32_t site) {
  auto& me = *static_cast<Worker*>(worker);
  if (!me.job->must_stop()) return 0;
  me.loop_site = site;
  me.job->any_stop_.store(true, std::memory_order_relaxed);
  return 1;
}

// One after the other on one thread, when no thread calls the kernel any more: what the code has
// kept for each worker can be reduced with plain additions.
VYRE_CALLS_LOADED_CODE void LaunchJob::finish_all() {
  const PreparedLaunch& launch = *launch_;
  if (self_.launch == number_) launch.kernel->finish(launch.args, &self_);
  for (Worker& helper : helpers_)
    if (helper.launch == number_) launch.kernel->finish(launch.args, &helper);
  finish_streaming_stores();
}

KernelStop LaunchJob::stop() const {
  KernelStop least = self_.stop;
  if (helpers_.empty() || !any_stop_.load(std::memory_order_relaxed)) return least;
  for (const Worker& helper : helpers_) {
    if (helper.launch != number_ || helper.stop.kind == KernelStop::Kind::None) continue;
    if (least.kind == KernelStop::Kind::None || helper.stop.lane < least.lane) least = helper.stop;
  }
  return least;
}

std::optional<uint32_t> LaunchJob::loop_site() const {
  std::optional<uint32_t> least = self_.loop_site;
  for (const Worker& helper : helpers_)
    if (helper.launch == number_ && helper.loop_site && (!least || *helper.loop_site < *least))
      least = helper.loop_site;
  return least;
}

}  // namespace vyre::backend::cpu
