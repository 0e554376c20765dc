// SPDX-License-Identifier: Apache-2.0
#include "vyre/base/trace.hpp"

#include <algorithm>
#include <new>
#include <numeric>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/fork.hpp"
#include "base/utf8.hpp"

namespace vyre {
namespace {

// Written piece by piece: a document object of a million events would take gigabytes.
void put_string(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const base::CodePoint point = base::code_point_at(text, i);
    if (point.value == U'"' || point.value == U'\\') {
      out += '\\';
      out += text[i];
    } else if (point.value < 0x20 || point.value == 0x7F) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<uint32_t>(point.value));
    } else {
      base::append_utf8(out, point.value);  // what is not UTF-8 is replaced
    }
    i += point.bytes;
  }
  out += '"';
}

// The format counts in microseconds; the nanoseconds are the decimals.
void put_microseconds(std::string& out, uint64_t ns) {
  fmt::format_to(std::back_inserter(out), "{}.{:03}", ns / 1000, ns % 1000);
}

void put_args(std::string& out, const std::vector<TraceArg>& args) {
  out += '{';
  for (const TraceArg& arg : args) {
    if (&arg != args.data()) out += ',';
    put_string(out, arg.name);
    out += ':';
    if (const auto* number = std::get_if<uint64_t>(&arg.value)) {
      out += std::to_string(*number);
    } else {
      put_string(out, std::get<std::string>(arg.value));
    }
  }
  out += '}';
}

void put_event(std::string& out, const TraceEvent& event, uint32_t row) {
  out += ",\n{\"name\":";
  put_string(out, event.name);
  fmt::format_to(std::back_inserter(out), R"(,"cat":"{}","ph":"X","pid":1,"tid":{},"ts":)",
                 name_of(event.category), row + 1);
  put_microseconds(out, event.start_ns);
  out += ",\"dur\":";
  put_microseconds(out, event.duration_ns);
  if (!event.args.empty()) {
    out += ",\"args\":";
    put_args(out, event.args);
  }
  out += '}';
}

}  // namespace

std::string_view name_of(TraceCategory category) {
  switch (category) {
#define VYRE_ROW(name, text) \
  case TraceCategory::name: return text;
    VYRE_TRACE_CATEGORIES(VYRE_ROW)
#undef VYRE_ROW
  }
  VYRE_CHECK(false && "a TraceCategory outside its enumeration");
}

Trace::Trace(size_t max_events)
    : origin_(std::chrono::steady_clock::now()),
      max_events_(max_events),
      fork_epoch_(base::fork_epoch()) {}

uint64_t Trace::ns_at(std::chrono::steady_clock::time_point time) const {
  if (time <= origin_) return 0;
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time - origin_);
  return static_cast<uint64_t>(since.count());
}

void Trace::add(TraceEvent event) noexcept {
  add_from(std::this_thread::get_id(), std::move(event));
}

void Trace::add_from(std::thread::id thread, TraceEvent&& event) noexcept {
  if (base::is_forked_since(fork_epoch_)) return;
  const std::scoped_lock lock(mutex_);
  if (events_.size() >= max_events_) {
    ++dropped_;
    return;
  }
  // Work is not to fail because watching it ran out of memory.
  try {
    const uint32_t row = event.track.empty() ? row_of_thread(thread) : row_of_track(event.track);
    events_.push_back({std::move(event), row});
  } catch (const std::bad_alloc&) {
    ++dropped_;
  }
}

void Trace::name_thread(std::string_view name) {
  if (base::is_forked_since(fork_epoch_)) return;
  const std::scoped_lock lock(mutex_);
  rows_[row_of_thread(std::this_thread::get_id())].name = name;
}

// The row comes before what refers to it, should memory end in between.
uint32_t Trace::row_of_thread(std::thread::id thread) {
  if (const auto found = threads_.find(thread); found != threads_.end()) return found->second;
  const auto row = static_cast<uint32_t>(rows_.size());
  rows_.push_back({fmt::format("thread {}", threads_.size() + 1), true});
  threads_.emplace(thread, row);
  return row;
}

uint32_t Trace::row_of_track(const std::string& track) {
  if (const auto found = tracks_.find(track); found != tracks_.end()) return found->second;
  const auto row = static_cast<uint32_t>(rows_.size());
  rows_.push_back({track, false});
  tracks_.emplace(track, row);
  return row;
}

size_t Trace::size() const {
  if (base::is_forked_since(fork_epoch_)) return 0;
  const std::scoped_lock lock(mutex_);
  return events_.size();
}

uint64_t Trace::dropped() const {
  if (base::is_forked_since(fork_epoch_)) return 0;
  const std::scoped_lock lock(mutex_);
  return dropped_;
}

std::string Trace::write_json() const {
  if (base::is_forked_since(fork_epoch_)) return Trace(0).write_json();
  const std::scoped_lock lock(mutex_);
  // Spans are recorded when they end, inner ones first; viewers nest spans of one start by their
  // order here.
  std::vector<size_t> order(events_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    const TraceEvent& x = events_[a].event;
    const TraceEvent& y = events_[b].event;
    if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
    if (x.duration_ns != y.duration_ns) return x.duration_ns > y.duration_ns;
    return a > b;
  });

  std::string out = "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"producer\":\"vyre\",";
  fmt::format_to(std::back_inserter(out), "\"events\":{},\"dropped_events\":{}}},\n",
                 events_.size(), dropped_);
  out += R"("traceEvents":[)"
         "\n"
         R"({"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"vyre"}})";
  for (size_t row = 0; row < rows_.size(); ++row) {
    fmt::format_to(std::back_inserter(out),
                   ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},\"args\":"
                   "{{\"name\":",
                   row + 1);
    put_string(out, rows_[row].name);
    // Threads first, then the devices' tracks.
    fmt::format_to(std::back_inserter(out),
                   "}}}},\n{{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":1,\"tid\":{},"
                   "\"args\":{{\"sort_index\":{}}}}}",
                   row + 1, rows_[row].is_thread ? row : row + rows_.size());
  }
  for (const size_t index : order) put_event(out, events_[index].event, events_[index].row);
  out += "\n]}\n";
  return out;
}

void TraceSpan::begin(Trace& trace, TraceCategory category, std::string_view name) {
  open_ = std::make_unique<Open>(Open{.trace = trace,
                                      .thread = std::this_thread::get_id(),
                                      .event = {.name = std::string(name), .category = category}});
  open_->event.start_ns = trace.now_ns();
}

void TraceSpan::put_arg(std::string_view name, std::variant<uint64_t, std::string> value) {
  for (TraceArg& arg : open_->event.args) {
    if (arg.name != name) continue;
    arg.value = std::move(value);
    return;
  }
  open_->event.args.push_back({std::string(name), std::move(value)});
}

void TraceSpan::finish() noexcept {
  const std::unique_ptr<Open> open = std::move(open_);
  open->event.duration_ns = open->trace.now_ns() - open->event.start_ns;
  open->trace.add_from(open->thread, std::move(open->event));
}

}  // namespace vyre
