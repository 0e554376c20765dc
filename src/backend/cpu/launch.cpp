// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/launch.hpp"

#include <algorithm>
#include <new>

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

constexpr std::align_val_t kScratchAlign{64};
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

uint64_t LaunchJob::expected_ns(const Kernel& kernel, uint64_t groups, uint64_t lanes) {
  uint64_t ns = 0;
  const uint64_t cost = std::max<uint32_t>(kernel.info.cost, 1);
  return __builtin_mul_overflow(groups * lanes, cost, &ns) ? ~uint64_t{0} : ns;
}

LaunchJob::LaunchJob(const Request& request)
    : r_(request),
      group_ns_(std::max<uint64_t>(expected_ns(request.kernel, 1, request.lanes), 1)) {}

LaunchJob::End LaunchJob::run(Worker& self) {
  self_ = &self;
  if (!begin(self)) return End::NoMemory;
  const uint64_t work_ns = expected_ns(r_.kernel, r_.groups, r_.lanes);
  if (r_.groups == 1 || work_ns < kAloneNs) {
    call(self, 0, r_.groups);
    finish_streaming_stores();
  } else {
    chunks_.reset(r_.groups, r_.pool != nullptr ? r_.pool->workers() : 1, kAloneNs / group_ns_,
                  kMostChunkNs / group_ns_);
    if (r_.submission.host != nullptr) next_progress_ = Clock::now() + kProgressEvery;
    if (r_.pool != nullptr) {
      r_.pool->run(
          [](void* job, uint32_t worker) {
            auto& me = *static_cast<LaunchJob*>(job);
            me.work(worker == 0 ? *me.self_ : me.r_.helpers[worker - 1], worker == 0);
          },
          this, work_ns);
    } else {
      work(self, true);
      finish_streaming_stores();
    }
  }
  if (thrown_) std::rethrow_exception(thrown_);
  const End end = end_.load(std::memory_order_relaxed);
  if (end == End::Done && r_.kernel.finish != nullptr) finish_all(self);
  return end;
}

bool LaunchJob::begin(Worker& worker) {
  const uint64_t bytes = r_.kernel.info.scratch_bytes;
  worker.scratch = bytes != 0 ? worker.memory->at_least(bytes) : nullptr;
  if (bytes != 0 && worker.scratch == nullptr) return false;
  worker.poll = &LaunchJob::poll;
  worker.stop = {};
  worker.started = 0;
  worker.job = this;
  worker.loop_site.reset();
  worker.launch = kNoLaunch;
  return true;
}

VYRE_CALLS_LOADED_CODE void LaunchJob::call(Worker& worker, uint64_t first, uint64_t count) {
  worker.launch = r_.number;
  r_.kernel.run(&r_.args, &worker, first, count);
  if (worker.stop.kind != KernelStop::Kind::None) any_stop_.store(true, std::memory_order_relaxed);
}

void LaunchJob::work(Worker& worker, bool is_caller) {
  bool begun = is_caller;
  for (;;) {
    // Before anything is claimed, which would be lost.
    if (!begun && (chunks_.claimed() == chunks_.total() || !begin(worker))) return;
    begun = true;
    const Chunks::Range range = chunks_.claim();
    if (range.count == 0) return;
    call(worker, range.first, range.count);
    if (must_stop()) {
      chunks_.stop();
      return;
    }
    if (is_caller && r_.submission.host != nullptr) report_progress();
  }
}

void LaunchJob::report_progress() {
  const Clock::time_point now = Clock::now();
  if (now < next_progress_) return;
  next_progress_ = now + kProgressEvery;
  r_.caller->leave();
  try {
    r_.submission.host->progress(chunks_.claimed(), chunks_.total());
  } catch (...) {
    thrown_ = std::current_exception();
    give_up(End::Cancelled);
  }
  r_.caller->enter();
}

bool LaunchJob::must_stop() {
  if (end_.load(std::memory_order_relaxed) != End::Done) return true;
  const device::Submission& s = r_.submission;
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

// One after the other on one thread, when nobody calls the kernel any more: what the code has kept
// for each worker can be put together with plain additions.
VYRE_CALLS_LOADED_CODE void LaunchJob::finish_all(Worker& self) {
  if (self.launch == r_.number) r_.kernel.finish(&r_.args, &self);
  for (Worker& helper : r_.helpers)
    if (helper.launch == r_.number) r_.kernel.finish(&r_.args, &helper);
  finish_streaming_stores();
}

KernelStop LaunchJob::stop(const Worker& self) const {
  KernelStop least = self.stop;
  if (!any_stop_.load(std::memory_order_relaxed)) return least;
  for (const Worker& helper : r_.helpers) {
    if (helper.launch != r_.number || helper.stop.kind == KernelStop::Kind::None) continue;
    if (least.kind == KernelStop::Kind::None || helper.stop.lane < least.lane) least = helper.stop;
  }
  return least;
}

std::optional<uint32_t> LaunchJob::loop_site(const Worker& self) const {
  std::optional<uint32_t> least = self.loop_site;
  for (const Worker& helper : r_.helpers)
    if (helper.launch == r_.number && helper.loop_site && (!least || *helper.loop_site < *least))
      least = helper.loop_site;
  return least;
}

}  // namespace vyre::backend::cpu
