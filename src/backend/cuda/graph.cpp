// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/graph.hpp"

#include <type_traits>

#include "base/match.hpp"

namespace vyre::backend::cuda {

using namespace device;

Graph Capture::graph(bool patched, const std::function<bool(CommandSink)>& issue) {
  const std::scoped_lock lock(mutex_);
  if (stream_ == nullptr && !gpu_.driver.stream_create(&stream_, kStreamNonBlocking).ok()) {
    stream_ = nullptr;
    return {};
  }
  if (!gpu_.driver.capture_begin(stream_, kCaptureRelaxed).ok()) return {};
  std::vector<Node> nodes;
  const bool issued = issue(CommandSink::capturing(gpu_, stream_, patched ? &nodes : nullptr));
  GraphHandle captured = nullptr;
  const bool ended = gpu_.driver.capture_end(stream_, &captured).ok();
  if (!ended || captured == nullptr) {
    // It may still be in a capture.
    std::ignore = gpu_.driver.stream_destroy(std::exchange(stream_, nullptr));
    return {};
  }
  GraphExecHandle ready = nullptr;
  const bool made = issued && gpu_.driver.graph_instantiate(&ready, captured, 0).ok();
  if (!made || !patched) std::ignore = gpu_.driver.graph_destroy(std::exchange(captured, nullptr));
  if (!made) return {};
  gpu_.counters.graphs_built.fetch_add(1, std::memory_order_relaxed);
  return {gpu_, ready, captured, std::move(nodes)};
}

void Capture::close() noexcept {
  const std::scoped_lock lock(mutex_);
  if (stream_ != nullptr) std::ignore = gpu_.driver.stream_destroy(std::exchange(stream_, nullptr));
}

// ---- likeness

namespace {

class Hash {
 public:
  void add(uint64_t value) {
    value_ = (value_ ^ value) * 0x9E37'79B9'7F4A'7C15;
    value_ ^= value_ >> 29;
  }
  [[nodiscard]] uint64_t value() const { return value_ | 1; }

 private:
  uint64_t value_ = 0x5851'F42D'4C95'7F2D;
};

struct Hasher {
  Hash form, whole;

  void place(Handle buffer, uint64_t offset) {
    whole.add(buffer.value);
    whole.add(offset);
  }
  void both(uint64_t value) {
    form.add(value);
    whole.add(value);
  }
  // How long what is moved is decides how it is done; what kernels get may be of any length.
  void region(const Region& r) {
    place(r.buffer, r.offset);
    both(r.bytes);
  }
  void argument(const Region& r) {
    place(r.buffer, r.offset);
    whole.add(r.bytes);
  }
  void word(const Word& w) { place(w.buffer, w.offset); }

  // False: no graph does this.
  bool add(const Step& step) {
    both(step.index());
    return match(
        step,
        [&](const Launch& x) {
          both(x.pipeline.value);
          both(x.entry);
          for (size_t i = 0; i < 3; ++i) both(uint64_t{x.workgroup[i]} << 32 | x.grid[i]);
          both(x.arguments.size());
          for (const Region& r : x.arguments) argument(r);
          return !x.grid_from;
        },
        [&](const Copy& x) {
          region(x.to);
          region(x.from);
          return true;
        },
        [&](const Fill& x) {
          region(x.to);
          whole.add(std::to_integer<uint64_t>(x.value));
          return true;
        },
        [&](const SetWord& x) {
          word(x.to);
          whole.add(x.value);
          return true;
        },
        [&](const Compare& x) {
          region(x.a);
          region(x.b);
          word(x.differs);
          return true;
        },
        [&](const Transfer& x) {
          both(static_cast<uint64_t>(x.direction));
          region(x.device);
          return true;
        },
        // The host decides.
        [](const Exit&) { return false; }, [](const While&) { return false; },
        [](const Repeat&) { return false; }, [](const Branch&) { return false; });
  }
};

}  // namespace

Likeness likeness_of(const Submission& submission) {
  if (submission.steps.empty() || submission.steps.size() > kMostGraphSteps) return {};
  Hasher hasher;
  for (const Step& step : submission.steps)
    if (!hasher.add(step)) return {};
  return {.form = hasher.form.value(), .whole = hasher.whole.value()};
}

}  // namespace vyre::backend::cuda
