// SPDX-License-Identifier: Apache-2.0
// Where the time goes: spans of work as they happen, and from them a Chrome trace-event document
// that opens in Perfetto. Code that may be traced takes a Trace*; with a null one a span costs a
// comparison.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace vyre {

// What kind of work a span is; viewers filter by the name.
#define VYRE_TRACE_CATEGORIES(X) \
  X(Parse, "parse")              \
  X(Check, "check")              \
  X(Select, "select")            \
  X(Plan, "plan")                \
  X(Compile, "compile")          \
  X(Cache, "cache")              \
  X(Dispatch, "dispatch")        \
  X(Upload, "upload")            \
  X(Launch, "launch")            \
  X(Segment, "segment")          \
  X(Barrier, "barrier")          \
  X(Readback, "readback")        \
  X(Other, "other")

enum class TraceCategory : uint8_t {
#define VYRE_ROW(name, text) name,
  VYRE_TRACE_CATEGORIES(VYRE_ROW)
#undef VYRE_ROW
};
std::string_view name_of(TraceCategory category);

struct TraceArg {
  std::string name;
  std::variant<uint64_t, std::string> value;
  friend bool operator==(const TraceArg&, const TraceArg&) = default;
};

// A span with its times, in nanoseconds of Trace::now_ns().
struct TraceEvent {
  std::string name;
  TraceCategory category = TraceCategory::Other;
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;
  std::string track = {};  // "reference queue 0"; empty: the thread that adds the event
  std::vector<TraceArg> args = {};
};

// Collects events from any number of threads. In a child of fork() a trace of the parent is empty
// and stays so.
class Trace {
 public:
  static constexpr size_t kMaxEvents = 1'000'000;

  // Events after the first `max_events` are only counted.
  explicit Trace(size_t max_events = kMaxEvents);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Steady time since the trace was made; a time before that is 0.
  [[nodiscard]] uint64_t now_ns() const { return ns_at(std::chrono::steady_clock::now()); }
  [[nodiscard]] uint64_t ns_at(std::chrono::steady_clock::time_point time) const;

  // For work that was timed elsewhere, such as on a device.
  void add(TraceEvent event) noexcept;
  // What the row of this thread is called; without it "thread 1" and so on, by first event. A
  // thread that has ended may pass its row on to a new one.
  void name_thread(std::string_view name);

  [[nodiscard]] size_t size() const;
  [[nodiscard]] uint64_t dropped() const;

  // The document, outer spans before inner ones. Other threads that end spans wait meanwhile.
  [[nodiscard]] std::string write_json() const;

 private:
  friend class TraceSpan;
  struct Recorded {
    TraceEvent event;
    uint32_t row = 0;
  };
  struct Row {
    std::string name;
    bool is_thread = true;
  };

  void add_from(std::thread::id thread, TraceEvent&& event) noexcept;
  uint32_t row_of_thread(std::thread::id thread);
  uint32_t row_of_track(const std::string& track);

  const std::chrono::steady_clock::time_point origin_;
  const size_t max_events_;
  const uint32_t fork_epoch_;
  mutable std::mutex mutex_;
  std::vector<Recorded> events_;
  std::vector<Row> rows_;  // row r is shown as thread r + 1
  std::map<std::thread::id, uint32_t> threads_;
  std::map<std::string, uint32_t, std::less<>> tracks_;
  uint64_t dropped_ = 0;
};

// A span from here to the end of the scope, or to end(). It belongs to the thread that began it,
// also when it is moved to another one and ends there.
class TraceSpan {
 public:
  TraceSpan() = default;
  TraceSpan(Trace* trace, TraceCategory category, std::string_view name) {
    if (trace != nullptr) begin(*trace, category, name);
  }
  TraceSpan(TraceSpan&&) noexcept = default;
  TraceSpan& operator=(TraceSpan&& other) noexcept {
    if (this != &other) {
      end();
      open_ = std::move(other.open_);
    }
    return *this;
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  ~TraceSpan() { end(); }

  // Whether it is recorded: false without a trace and after the end. For arguments that cost
  // something to make.
  [[nodiscard]] explicit operator bool() const { return open_ != nullptr; }

  // A second value of one name takes the place of the first.
  void arg(std::string_view name, uint64_t value) {
    if (open_) put_arg(name, value);
  }
  void arg(std::string_view name, std::string_view value) {
    if (open_) put_arg(name, std::string(value));
  }
  // Shows the span on a row of that name instead of the thread's.
  void track(std::string_view name) {
    if (open_) open_->event.track = name;
  }
  // The second end is nothing.
  void end() noexcept {
    if (open_) finish();
  }

 private:
  struct Open {
    Trace& trace;
    std::thread::id thread;
    TraceEvent event;
  };
  void begin(Trace& trace, TraceCategory category, std::string_view name);
  void put_arg(std::string_view name, std::variant<uint64_t, std::string> value);
  void finish() noexcept;

  std::unique_ptr<Open> open_;
};

}  // namespace vyre
