// SPDX-License-Identifier: Apache-2.0
// Eight threads do everything at once on two shared devices (D-GRID.11; reliability.md 1.5, row
// 19). VYRE_STRESS_SECONDS says for how long; it is meant for ThreadSanitizer.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "driver/world.hpp"
#include "vyre/backend/reference.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::driver_test {
namespace {

using run::Argument;
using run::Buffer;

std::chrono::milliseconds duration() {
  const char* const text = std::getenv("VYRE_STRESS_SECONDS");
  return text != nullptr ? std::chrono::milliseconds(1000 * std::atol(text))
                         : std::chrono::milliseconds(2000);
}

// A program with inputs and what comes out of them.
struct Case {
  Program program;
  std::vector<Words> inputs;
  run::DispatchConfig config;
  std::vector<Bytes> outputs;
};

std::vector<Case> make_cases() {
  const Programs& p = programs();
  std::vector<Case> cases;
  for (const uint32_t n : {4U, 12U, 32U}) {
    const auto data = count_to(n);
    const Words words(data.begin(), data.end());
    cases.push_back({p.scale, {{3}, words}, {}, {}});
    cases.push_back({p.add, {words, words}, {}, {}});
    cases.push_back({p.split, {{2}, words}, {}, {}});
    cases.push_back({p.loop, {{3}, words}, {}, {}});
    cases.push_back({p.settle, {words}, {}, {}});
    cases.push_back({p.saturate, {words}, {}, {}});
    cases.back().config.fixpoint_iterations = 6;
  }
  for (Case& c : cases) {
    std::vector<std::span<const std::byte>> inputs;
    for (const Words& input : c.inputs) inputs.push_back(std::as_bytes(std::span(input)));
    const auto outcome =
        oracle::run(*c.program, inputs, {.iterations = c.config.fixpoint_iterations.value_or(1)});
    EXPECT_TRUE(outcome);
    for (const auto& bytes : outcome->outputs(*c.program))
      c.outputs.emplace_back(bytes.begin(), bytes.end());
  }
  return cases;
}

class Worker {
 public:
  Worker(std::span<const run::Device> devices, std::span<const Case> cases, uint32_t seed)
      : devices_(devices), cases_(cases), random_(seed), queue_(seed % 3) {}

  // False once something was wrong; error() says what.
  bool step() {
    device_ = &devices_[random_() % devices_.size()];
    const Case& c = cases_[random_() % cases_.size()];
    auto compiled = device_->compile(c.program, c.config);
    if (!compiled) return fail(compiled.error());
    ++done_;
    switch (random_() % 6) {
      case 0: return blocking(c, compiled->pipeline);
      case 1: return async(c, compiled->pipeline);
      case 2: return resident(c, compiled->pipeline);
      case 3: return dropped(c, compiled->pipeline);
      case 4: return sequence(c, compiled->pipeline);
      default: return transfers();
    }
  }

  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }
  [[nodiscard]] uint64_t done() const { return done_; }

 private:
  bool fail(const Error& error) {
    error_ = to_string(error);
    return false;
  }
  bool same(const Case& c, const std::vector<Bytes>& outputs) {
    if (outputs == c.outputs) return true;
    error_ = fmt::format("program `{}` gives other bytes", c.program->program.name);
    return false;
  }
  static std::vector<Argument> arguments(const Case& c) {
    std::vector<Argument> inputs;
    for (const Words& input : c.inputs) inputs.emplace_back(input);
    return inputs;
  }
  [[nodiscard]] run::DispatchConfig config() const {
    run::DispatchConfig config;
    config.queue = queue_;
    return config;
  }

  bool blocking(const Case& c, const run::Pipeline& pipeline) {
    const auto inputs = arguments(c);
    if (auto ok = pipeline.dispatch_into({.inputs = inputs}, slots_, config()); !ok)
      return fail(ok.error());
    return same(c, slots_);
  }
  bool async(const Case& c, const run::Pipeline& pipeline) {
    const auto inputs = arguments(c);
    auto first = pipeline.dispatch_async({.inputs = inputs}, config());
    if (!first) return fail(first.error());
    auto second = pipeline.dispatch_async({.inputs = inputs});
    if (!second) return fail(second.error());
    (void)first->is_ready();
    for (run::Pending* const pending : {&*second, &*first}) {
      const auto result = pending->wait();
      if (!result) return fail(result.error());
      if (!same(c, result->outputs)) return false;
    }
    return true;
  }
  bool dropped(const Case& c, const run::Pipeline& pipeline) {
    const auto inputs = arguments(c);
    auto pending = pipeline.dispatch_async({.inputs = inputs}, config());
    if (!pending) return fail(pending.error());
    if (random_() % 2 == 0) pending->cancel();
    return true;
  }

  struct Resident {
    std::vector<Buffer> buffers;
    std::vector<Argument> inputs;
    std::vector<const Buffer*> outputs;
    std::vector<run::ReadRange> ranges;
  };
  // Every argument as a buffer, but for those that decide about sizes.
  std::optional<Resident> upload(const Case& c) {
    Resident r;
    const auto by_host = check::read_by_host(*c.program);
    r.buffers.resize(c.program->buffers.size());
    for (size_t i = 0; i < c.program->buffers.size(); ++i) {
      const check::BufferFacts& facts = c.program->buffers[i];
      if (!by_host[i]) {
        auto buffer = facts.input_slot
                          ? device_->upload(std::as_bytes(std::span(c.inputs[*facts.input_slot])))
                          : device_->allocate(c.outputs[*facts.output_slot].size());
        if (!buffer) {
          fail(buffer.error());
          return std::nullopt;
        }
        r.buffers[i] = std::move(*buffer);
      }
      if (facts.input_slot)
        r.inputs.push_back(by_host[i] ? Argument(c.inputs[*facts.input_slot])
                                      : Argument(r.buffers[i]));
      if (facts.output_slot) {
        r.outputs.push_back(&r.buffers[i]);
        r.ranges.push_back({&r.buffers[i], 0, c.outputs[*facts.output_slot].size()});
      }
    }
    return r;
  }
  bool resident(const Case& c, const run::Pipeline& pipeline) {
    const auto r = upload(c);
    if (!r) return false;
    auto ran = pipeline.dispatch_into({.inputs = r->inputs, .outputs = r->outputs}, slots_);
    if (!ran) return fail(ran.error());
    const auto read = device_->read_ranges(r->ranges);
    if (!read) return fail(read.error());
    return same(c, *read);
  }
  bool sequence(const Case& c, const run::Pipeline& pipeline) {
    const auto r = upload(c);
    if (!r) return false;
    const run::SequenceItem items[] = {{pipeline, {.inputs = r->inputs, .outputs = r->outputs}}};
    std::vector<Bytes> results;
    if (auto ok = device_->run_sequence({.repeated = items, .ranges = r->ranges}, &results); !ok)
      return fail(ok.error());
    return same(c, results);
  }
  bool transfers() {
    const auto from = device_->upload(std::as_bytes(count_to(16)));
    if (!from) return fail(from.error());
    const auto to = device_->allocate(64);
    if (!to) return fail(to.error());
    if (auto ok = device_->fill(*to, std::byte{1}); !ok) return fail(ok.error());
    if (auto ok = device_->copy(*from, *to); !ok) return fail(ok.error());
    const auto read = device_->read(*to);
    if (!read) return fail(read.error());
    if (*read == bytes_of(count_to(16))) return true;
    error_ = "a copy gives other bytes";
    return false;
  }

  std::span<const run::Device> devices_;
  std::span<const Case> cases_;
  std::mt19937 random_;
  uint32_t queue_;
  const run::Device* device_ = nullptr;
  run::Outputs slots_;
  std::optional<std::string> error_;
  uint64_t done_ = 0;
};

TEST(Stress, EightThreadsOnSharedDevices) {
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("vyre-stress-{}", static_cast<long>(getpid()));
  run::DeviceOptions options;
  options.cache_directory = folder;
  options.memory_cache_entries = 2;  // so that code is thrown out all the time
  const std::vector<Case> cases = make_cases();
  std::shared_ptr<backend::NullBackend> null;
  std::atomic<uint64_t> done = 0;
  {
    World world({.barriers = false, .record = false, .device = options});
    null = world.backend;
    backend::ReferenceOptions reference;
    reference.whole_programs = false;
    const std::vector<run::Device> devices = {
        world.device, run::Device::over(*backend::open_reference(reference), options)};
    const auto end = std::chrono::steady_clock::now() + duration();
    std::vector<std::string> errors(8);
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < errors.size(); ++t)
      threads.emplace_back([&, t] {
        Worker worker(devices, cases, t + 1);
        while (std::chrono::steady_clock::now() < end && worker.step()) {
          if (t == 0 && worker.done() % 64 == 0) {
            (void)devices[0].telemetry();
            (void)devices[1].flush();
            (void)devices[0].cache_audit();
          }
        }
        errors[t] = worker.error().value_or("");
        done += worker.done();
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(errors, testing::Each(testing::IsEmpty()));
    EXPECT_TRUE(world.device.flush());
    EXPECT_GT(world.device.telemetry().cache_misses + world.device.telemetry().cache_hits, 0U);
  }
  EXPECT_EQ(null->live_buffers(), 0U);
  EXPECT_EQ(null->loaded(), 0U);
  EXPECT_GT(done.load(), 50U);
  RecordProperty("steps", std::to_string(done.load()));
  fmt::print("{} steps\n", done.load());
  std::filesystem::remove_all(folder);
}

// Recoveries come in between: every call ends with the right bytes or as stale.
TEST(Stress, RecoveriesWhileOthersWork) {
  World world({.barriers = false, .record = false});
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> right = 0;
  std::vector<std::string> errors(4);
  const std::vector<Case> cases = make_cases();
  const Case& c = cases[2];
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < errors.size(); ++t)
    threads.emplace_back([&, t] {
      const std::vector<Argument> inputs = {c.inputs[0], c.inputs[1]};
      run::DispatchConfig config;
      config.queue = t;
      while (!stop) {
        auto compiled = world.device.compile(c.program);
        if (!compiled) continue;
        for (int i = 0; i < 20; ++i) {
          const auto buffer = world.device.upload(std::as_bytes(count_to(4)));
          Result<run::DispatchResult> result;
          if (i % 2 == 0) {
            result = compiled->pipeline.dispatch({.inputs = inputs}, config);
          } else {
            auto pending = compiled->pipeline.dispatch_async({.inputs = inputs}, config);
            result = pending ? pending->wait() : std::unexpected(pending.error());
          }
          const auto read = buffer ? world.device.read(*buffer) : std::unexpected(buffer.error());
          if (result && result->outputs == c.outputs)
            ++right;
          else if (result)
            errors[t] = "other bytes";
          else if (result.error().code != ErrorCode::StaleHandle)
            errors[t] = to_string(result.error());
          if (!read && read.error().code != ErrorCode::StaleHandle)
            errors[t] = to_string(read.error());
        }
      }
    });
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(world.device.recover());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, testing::Each(testing::IsEmpty()));
  EXPECT_GT(right.load(), 0U);
  EXPECT_EQ(world.device.telemetry().recoveries, 50U);
}

}  // namespace
}  // namespace vyre::driver_test
