// SPDX-License-Identifier: Apache-2.0
// The C++ of docs/driver.md that no program of examples/cpp has. docs_test.cpp holds the guide to
// these lines.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/backend/null.hpp"
#include "vyre/vyre.hpp"

namespace vyre::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

Pipeline compile(const Device& device, std::string_view text, const DispatchConfig& config = {}) {
  return must(device.compile(must(parse_checked(text, "snippet.vyre")), config)).pipeline;
}

constexpr std::string_view kAdd = R"(program add {
  workgroup 64;
  in  a   : u32[];
  in  b   : u32[];
  out sum : u32[] @count(len(a));
  require len(a) == len(b), "both need one length";
  let i = gid.x;
  if i < len(sum) { sum[i] = a[i] + b[i]; }
}
)";

TEST(Snippets, Mixed) {
  const Device device = must(Device::open("reference"));
  const Pipeline pipeline = compile(device, kAdd);
  const std::vector<uint32_t> a = {1, 2, 3};
  const std::vector<uint32_t> b = {10, 20, 30};
  const Buffer resident = must(device.upload(as_bytes(a)));
  const Buffer sum = must(device.allocate(resident.bytes()));

  // `a` is on the device, `b` comes from the host, the result stays on the device.
  const std::array<Argument, 2> inputs = {resident, b};
  const std::array<const Buffer*, 1> outputs = {&sum};
  const auto result = pipeline.dispatch({.inputs = inputs, .outputs = outputs});

  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_TRUE(result->outputs[0].empty());
  EXPECT_THAT(to_vector<uint32_t>(must(device.read(sum))), ElementsAre(11, 22, 33));
}

TEST(Snippets, Batch) {
  const Device device = must(Device::open("reference"));
  const Pipeline pipeline = compile(device, kAdd);
  const std::vector<uint32_t> a = {1, 2, 3};
  const std::vector<uint32_t> b = {10, 20, 30};

  const std::array<Argument, 2> first = {a, a};
  const std::array<Argument, 2> second = {a, b};
  const std::array<Arguments, 2> items = {Arguments{.inputs = first}, {.inputs = second}};
  std::vector<Outputs> rows;  // rows[item][slot], kept for the next batch
  const auto reports = pipeline.dispatch_batch(items, rows);

  ASSERT_TRUE(reports) << to_string(reports.error());
  EXPECT_THAT(to_vector<uint32_t>(rows[1][0]), ElementsAre(11, 22, 33));
}

TEST(Snippets, ConfigsMerge) {
  const Device device = must(Device::open("reference"));
  const CheckedProgram program = must(parse_checked(kAdd));
  const std::vector<uint32_t> a = {1, 2, 3};

  const auto compiled =
      device.compile(CheckedProgram(program), {.timeout = 5s, .label = "nightly"});
  // This call is checked and has one second; its label is still "nightly".
  const auto result = compiled->pipeline.dispatch({a, a}, {.timeout = 1s, .checked = true});

  ASSERT_TRUE(result) << to_string(result.error());
}

TEST(Snippets, Writes) {
  const Device device = must(Device::open("reference"));
  const std::vector<uint32_t> head = {7, 8};
  const std::vector<uint32_t> tail = {9};
  const Buffer buffer = must(device.allocate(64));

  must(device.fill(buffer, std::byte{0}));
  const std::array<Write, 2> writes = {{
      {.buffer = &buffer, .offset = 0, .bytes = as_bytes(head)},
      {.buffer = &buffer, .offset = 60, .bytes = as_bytes(tail)},
  }};
  must(device.write_many(writes));  // one batch

  const std::array<ReadRange, 2> ranges = {{
      {.buffer = &buffer, .offset = 0, .bytes = 8},
      {.buffer = &buffer, .offset = 56, .bytes = 8},
  }};
  const auto parts = must(device.read_ranges(ranges));

  EXPECT_THAT(to_vector<uint32_t>(parts[0]), ElementsAre(7, 8));
  EXPECT_THAT(to_vector<uint32_t>(parts[1]), ElementsAre(0, 9));
}

TEST(Snippets, TrapHandler) {
  const Device device = must(Device::open("reference"));
  const Pipeline pipeline = compile(device, R"(program paging {
  workgroup 64;
  in    want  : u32[];
  inout pages : u32[];
  out   y     : u32[] @count(len(want));
  let i = gid.x;
  if i >= len(want) { return; }
  let p = want[i];
  if pages[p] == 0 { trap(1, p); }
  resume(1);
  y[i] = pages[p];
}
)");
  const std::vector<uint32_t> want = {2, 0, 2};
  const std::vector<uint32_t> pages = {50, 0, 0};

  const ir::BufferId memory = {1};  // `pages`, the second declaration
  const auto fill_in = std::make_shared<const TrapHandler>(
      [&](std::span<const TrapReport> reports, HandlerBuffers& buffers) -> Result<void> {
        const std::span<std::byte> bytes = buffers.write(memory);
        for (const TrapReport& report : reports) {
          const uint32_t page = 100 + report.value;
          std::memcpy(bytes.data() + size_t{report.value} * 4, &page, 4);
        }
        return {};  // an error would end the dispatch
      });
  const auto result = pipeline.dispatch({want, pages}, {.trap_handler = fill_in});

  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_THAT(to_vector<uint32_t>(result->outputs[1]), ElementsAre(102, 50, 102));
  EXPECT_EQ(result->report.resumed.size(), 2U);
}

TEST(Snippets, Prometheus) {
  const Device first = must(Device::open("reference"));
  const Device second = must(Device::open("reference:1"));

  const std::array<DeviceTelemetry, 2> devices = {{
      {.device = first.info().id, .snapshot = first.telemetry()},
      {.device = second.info().id, .snapshot = second.telemetry()},
  }};
  const std::string page = to_prometheus(devices);

  EXPECT_THAT(page, testing::HasSubstr("vyre_dispatches_total{device=\"reference:1\"} 0"));
}

// Runs until it succeeds or the device is beyond help. All that lived on the device is made anew.
Result<DispatchResult> run_through_losses(const Device& device,
                                          std::shared_ptr<const CheckedProgram> program,
                                          const std::vector<uint32_t>& input) {
  for (;;) {
    auto compiled = device.compile(program);
    auto result = compiled ? compiled->pipeline.dispatch({input})
                           : Result<DispatchResult>(std::unexpected(compiled.error()));
    if (result || result.error().code != ErrorCode::DeviceLost) return result;
    if (auto back = device.recover(); !back) return std::unexpected(back.error());
  }
}

TEST(Snippets, Recovery) {
  auto backend = backend::open_null();
  const Device device = Device::over(backend, {.cache_directory = {}});
  const auto program = std::make_shared<const CheckedProgram>(must(
      parse_checked("program p { workgroup 1; over len(a); inout a : u32[]; a[gid.x] += 1; }")));
  backend->lose_device_at(backend->calls() + 2);
  const auto result = run_through_losses(device, program, {1, 2});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(device.telemetry().device_lost, 1U);
  EXPECT_EQ(device.telemetry().recoveries, 1U);
}

}  // namespace
}  // namespace vyre::test
