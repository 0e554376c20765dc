// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/fork.hpp"
#include "c/arguments.hpp"
#include "c/boundary.hpp"
#include "c/show.hpp"

namespace vyre::c {

namespace {

// Slots of a dispatch before, whose memory is used again. Never waits: in a child of fork() another
// thread may have held the lock.
class Slots {
 public:
  explicit Slots(vyre_pipeline& pipeline) : pipeline_(pipeline) {
    const std::unique_lock lock(pipeline_.mutex, std::try_to_lock);
    if (!lock.owns_lock() || pipeline_.idle.empty()) return;
    outputs_ = std::move(pipeline_.idle.back());
    pipeline_.idle.pop_back();
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  ~Slots() {
    const std::unique_lock lock(pipeline_.mutex, std::try_to_lock);
    // Its place is reserved.
    if (lock.owns_lock() && pipeline_.idle.size() < vyre_pipeline::kMostIdle)
      pipeline_.idle.push_back(std::move(outputs_));
  }
  run::Outputs& operator*() { return outputs_; }

 private:
  vyre_pipeline& pipeline_;
  run::Outputs outputs_;
};

Result<void> run(const vyre_call& call, vyre_data** report) {
  vyre_pipeline& pipeline = *call.pipeline;
  Slots slots(pipeline);
  VYRE_TRY_ASSIGN(auto done,
                  pipeline.pipeline.dispatch_into(call.arguments(), *slots, call.config.dispatch));
  VYRE_TRY(copy_out(call, *slots));
  if (report != nullptr) give(report, report_json(pipeline, std::move(done)));
  return {};
}

const Source* source_of(const vyre_pipeline* pipeline) {
  return pipeline == nullptr ? nullptr : pipeline->source.get();
}
const Source* source_of(const vyre_call* call) {
  return call == nullptr ? nullptr : source_of(call->pipeline.get());
}

device::Deadline deadline_in(uint64_t timeout_ns) {
  const auto now = std::chrono::steady_clock::now();
  const auto most = static_cast<uint64_t>((device::Deadline::max() - now).count());
  if (timeout_ns >= most) return device::kNoDeadline;
  return now + std::chrono::nanoseconds(static_cast<int64_t>(timeout_ns));
}

// The result, or none if the time is over first.
Result<std::optional<run::Report>> wait_for(run::Pending& pending, run::Outputs& slots,
                                            uint64_t timeout_ns) {
  auto done = pending.wait_into(slots, deadline_in(timeout_ns));
  if (done) return std::move(*done);
  if (done.error().code != ErrorCode::Timeout) return std::unexpected(std::move(done.error()));
  // Either this wait or the dispatch has reached its time limit; the result of the latter can be
  // taken once.
  if (!pending.is_ready()) return std::nullopt;
  auto again = pending.wait_into(slots, deadline_in(0));
  if (again) return std::move(*again);
  return std::unexpected(again.error().code == ErrorCode::InvalidArgument
                             ? std::move(done.error())
                             : std::move(again.error()));
}

}  // namespace

}  // namespace vyre::c

using vyre::ErrorCode;
using vyre::fail;
using vyre::Result;
using vyre::c::guarded;
using vyre::c::require;

vyre_error* vyre_dispatch(vyre_pipeline* pipeline, const vyre_arg* inputs, size_t input_count,
                          vyre_arg* outputs, size_t output_count, const vyre_options* options,
                          vyre_data** report) {
  return guarded(vyre::c::source_of(pipeline), [&]() -> Result<void> {
    VYRE_TRY(require(pipeline, "pipeline"));
    VYRE_TRY_ASSIGN(
        const auto call,
        vyre::c::bind(*pipeline, {inputs, input_count, outputs, output_count}, options));
    return vyre::c::run(*call, report);
  });
}

vyre_error* vyre_bind(vyre_pipeline* pipeline, const vyre_arg* inputs, size_t input_count,
                      vyre_arg* outputs, size_t output_count, const vyre_options* options,
                      vyre_call** call) {
  return guarded(vyre::c::source_of(pipeline), [&]() -> Result<void> {
    VYRE_TRY(require(pipeline, "pipeline"));
    VYRE_TRY(require(call, "call"));
    VYRE_TRY_ASSIGN(
        auto made, vyre::c::bind(*pipeline, {inputs, input_count, outputs, output_count}, options));
    *call = made.release();
    return {};
  });
}

vyre_error* vyre_call_run(vyre_call* call, vyre_data** report) {
  return guarded(vyre::c::source_of(call), [&]() -> Result<void> {
    VYRE_TRY(require(call, "call"));
    return vyre::c::run(*call, report);
  });
}

void vyre_call_release(vyre_call* call) {
  vyre::c::release(call);
}

// ---- asynchronous

vyre_error* vyre_call_start(vyre_call* call, vyre_pending** pending) {
  return guarded(vyre::c::source_of(call), [&]() -> Result<void> {
    VYRE_TRY(require(call, "call"));
    VYRE_TRY(require(pending, "pending"));
    auto made = std::make_unique<vyre_pending>();
    made->call = vyre::c::Ref<vyre_call>(call);
    VYRE_TRY_ASSIGN(made->pending, call->pipeline->pipeline.dispatch_async(call->arguments(),
                                                                           call->config.dispatch));
    made->is_started = true;
    *pending = made.release();
    return {};
  });
}

int vyre_pending_done(const vyre_pending* pending) {
  return pending != nullptr && pending->pending.is_ready() ? 1 : 0;
}

vyre_error* vyre_pending_wait(vyre_pending* pending, uint64_t timeout_ns, int* done,
                              vyre_data** report) {
  const vyre_call* const call = pending == nullptr ? nullptr : pending->call.get();
  return guarded(vyre::c::source_of(call), [&]() -> Result<void> {
    VYRE_TRY(require(pending, "pending"));
    if (done != nullptr) *done = 1;
    const std::unique_lock lock(pending->mutex, std::try_to_lock);
    if (!lock.owns_lock())
      return fail(ErrorCode::InvalidArgument,
                  "another thread waits for this dispatch. Fix: wait in one thread");
    vyre::run::Outputs results;
    VYRE_TRY_ASSIGN(auto taken, vyre::c::wait_for(pending->pending, results, timeout_ns));
    if (!taken) {
      if (done == nullptr)
        return fail(ErrorCode::Timeout,
                    "the dispatch is not done in this time. Fix: wait longer, or cancel it");
      *done = 0;
      return {};
    }
    VYRE_TRY(vyre::c::copy_out(*call, results));
    if (report != nullptr)
      vyre::c::give(report, vyre::c::report_json(*call->pipeline, std::move(*taken)));
    return {};
  });
}

void vyre_pending_cancel(vyre_pending* pending) {
  if (pending != nullptr) pending->pending.cancel();
}

vyre_pending::~vyre_pending() {
  if (!is_started || pending.is_ready()) return;
  // The work may still read its cancel flag, and write to traces, after every handle is gone.
  vyre_pipeline& pipeline = *call->pipeline;
  pipeline.device->has_left_work = true;
  for (const vyre::c::Kept* kept : {&call->config.kept, &pipeline.config.kept})
    if (!kept->empty()) vyre::base::abandon(new (std::nothrow) vyre::c::Kept(*kept));
}

void vyre_pending_release(vyre_pending* pending) {
  vyre::c::release(pending);
}
