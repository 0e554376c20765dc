// SPDX-License-Identifier: Apache-2.0
// What a caller does wrong is an error, whatever it is: nothing is run, written or given then.
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "c_test.hpp"

namespace vyre::c_test {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

class Arguments : public testing::Test {
 protected:
  Device device_ = open();
  Pipeline add_ = compile(device_, kAdd);
  std::array<uint32_t, 3> a_ = {1, 2, 3};
  std::array<uint32_t, 3> b_ = {10, 20, 30};
  std::array<uint32_t, 3> sum_ = {7, 7, 7};
  std::array<vyre_arg, 2> in_ = {{{a_.data(), 12, nullptr, 0}, {b_.data(), 12, nullptr, 0}}};
  std::array<vyre_arg, 1> out_ = {{{sum_.data(), 12, nullptr, 0}}};

  vyre_error* dispatch(const vyre_options* options = nullptr) {
    return vyre_dispatch(add_.get(), in_.data(), in_.size(), out_.data(), out_.size(), options,
                         nullptr);
  }
};

TEST_F(Arguments, AreAddedUp) {
  must(dispatch());
  EXPECT_THAT(sum_, testing::ElementsAre(11, 22, 33));
  EXPECT_EQ(out_[0].written, 12U);
}

TEST_F(Arguments, NullHandlesAreErrors) {
  const uint32_t wrong = VYRE_INVALID_ARGUMENT;
  vyre_data* data = nullptr;
  uint64_t size = 0;
  void* bytes = nullptr;
  uint8_t digest[32];
  vyre_sequence sequence{};
  sequence.struct_size = sizeof sequence;
  expect_error(vyre_devices(nullptr), wrong, "`json` is NULL");
  expect_error(vyre_device_open("cpu", nullptr, nullptr), wrong, "`device` is NULL");
  expect_error(vyre_device_info(nullptr, &data), wrong, "`device` is NULL");
  expect_error(vyre_device_telemetry(nullptr, &data), wrong);
  expect_error(vyre_device_set_trace(nullptr, nullptr), wrong);
  expect_error(vyre_device_flush(nullptr), wrong);
  expect_error(vyre_device_recover(nullptr), wrong);
  expect_error(vyre_device_shutdown(nullptr), wrong);
  expect_error(vyre_trace_new(0, nullptr), wrong);
  expect_error(vyre_trace_json(nullptr, &data), wrong);
  expect_error(vyre_cancel_new(nullptr), wrong);
  expect_error(vyre_program_parse("", 0, nullptr, nullptr, nullptr), wrong);
  expect_error(vyre_program_decode("", 0, nullptr), wrong);
  expect_error(vyre_program_text(nullptr, &data), wrong);
  expect_error(vyre_program_bytes(nullptr, &data), wrong);
  expect_error(vyre_program_digest(nullptr, digest), wrong);
  expect_error(vyre_program_buffers(nullptr, &data), wrong);
  expect_error(vyre_program_diagnostics(nullptr, &data), wrong);
  vyre_pipeline* pipeline = nullptr;
  expect_error(vyre_compile(nullptr, nullptr, nullptr, &pipeline), wrong);
  expect_error(vyre_compile(device_.get(), nullptr, nullptr, &pipeline), wrong, "`program`");
  expect_error(vyre_compile_text(nullptr, "", 0, nullptr, nullptr, &pipeline), wrong);
  expect_error(vyre_compile_text(device_.get(), "", 0, nullptr, nullptr, nullptr), wrong);
  expect_error(vyre_compile_text(device_.get(), nullptr, 9, nullptr, nullptr, &pipeline), wrong);
  expect_error(vyre_pipeline_manifest(nullptr, &data), wrong);
  expect_error(vyre_pipeline_manifest(add_.get(), nullptr), wrong);
  expect_error(vyre_pipeline_plan(nullptr, nullptr, 0, nullptr, &data), wrong);
  expect_error(vyre_output_sizes(nullptr, nullptr, 0, nullptr, 0), wrong);
  vyre_buffer* buffer = nullptr;
  expect_error(vyre_buffer_allocate(nullptr, 4, VYRE_ZEROS, 0, &buffer), wrong);
  expect_error(vyre_buffer_allocate(device_.get(), 4, VYRE_ZEROS, 0, nullptr), wrong);
  expect_error(vyre_buffer_upload(device_.get(), nullptr, 4, 0, &buffer), wrong, "`from` is NULL");
  expect_error(vyre_buffer_read(nullptr, 0, digest, 1), wrong);
  expect_error(vyre_buffer_write(nullptr, 0, digest, 1), wrong);
  expect_error(vyre_buffer_fill(nullptr, 1), wrong);
  vyre_call* call = nullptr;
  vyre_pending* pending = nullptr;
  expect_error(vyre_dispatch(nullptr, nullptr, 0, nullptr, 0, nullptr, nullptr), wrong);
  expect_error(vyre_bind(nullptr, nullptr, 0, nullptr, 0, nullptr, &call), wrong);
  expect_error(vyre_bind(add_.get(), in_.data(), 2, out_.data(), 1, nullptr, nullptr), wrong);
  expect_error(vyre_call_run(nullptr, nullptr), wrong);
  expect_error(vyre_call_start(nullptr, &pending), wrong);
  expect_error(vyre_pending_wait(nullptr, 0, nullptr, nullptr), wrong);
  expect_error(vyre_sequence_run(nullptr, &sequence, nullptr), wrong);
  expect_error(vyre_sequence_run(device_.get(), nullptr, nullptr), wrong);
  expect_error(vyre_memory_get(nullptr, "a", VYRE_MEMORY_READ, &bytes, &size), wrong);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(pipeline, nullptr);
  EXPECT_EQ(buffer, nullptr);
  EXPECT_EQ(call, nullptr);
  EXPECT_EQ(pending, nullptr);
}

TEST_F(Arguments, FunctionsWithoutErrorsTakeNull) {
  vyre_device_release(nullptr);
  vyre_program_release(nullptr);
  vyre_pipeline_release(nullptr);
  vyre_buffer_release(nullptr);
  vyre_call_release(nullptr);
  vyre_pending_release(nullptr);
  vyre_cancel_release(nullptr);
  vyre_trace_release(nullptr);
  vyre_data_release(nullptr);
  vyre_error_release(nullptr);
  vyre_cancel_request(nullptr);
  vyre_pending_cancel(nullptr);
  EXPECT_EQ(vyre_device_retain(nullptr), nullptr);
  EXPECT_EQ(vyre_program_retain(nullptr), nullptr);
  EXPECT_EQ(vyre_pipeline_retain(nullptr), nullptr);
  EXPECT_EQ(vyre_buffer_retain(nullptr), nullptr);
  EXPECT_EQ(vyre_data_bytes(nullptr), nullptr);
  EXPECT_EQ(vyre_data_size(nullptr), 0U);
  EXPECT_EQ(vyre_buffer_size(nullptr), 0U);
  EXPECT_EQ(vyre_pending_done(nullptr), 0);
  EXPECT_EQ(vyre_error_code(nullptr), 0U);
  EXPECT_STREQ(vyre_error_text(nullptr), "");
  EXPECT_STREQ(vyre_error_json(nullptr), "");
  EXPECT_STREQ(vyre_device_id(nullptr), "");
}

TEST_F(Arguments, CountsAreCheckedBeforeArraysAreRead) {
  const auto* const nowhere = reinterpret_cast<const vyre_arg*>(uintptr_t{16});
  const auto run = [&](const vyre_arg* in, size_t ins, vyre_arg* out, size_t outs) {
    return vyre_dispatch(add_.get(), in, ins, out, outs, nullptr, nullptr);
  };
  expect_error(run(nowhere, 1, out_.data(), 1), VYRE_INVALID_ARGUMENT, "has 2 inputs, and 1");
  expect_error(run(nowhere, SIZE_MAX, out_.data(), 1), VYRE_INVALID_ARGUMENT, "has 2 inputs");
  expect_error(run(nullptr, 2, out_.data(), 1), VYRE_INVALID_ARGUMENT, "`inputs` is NULL");
  expect_error(run(nullptr, 0, out_.data(), 1), VYRE_INVALID_ARGUMENT, "and 0 were given");
  auto* const out_nowhere = reinterpret_cast<vyre_arg*>(uintptr_t{16});
  expect_error(run(in_.data(), 2, out_nowhere, 2), VYRE_INVALID_ARGUMENT, "has 1 outputs, and 2");
  expect_error(run(in_.data(), 2, nullptr, 1), VYRE_INVALID_ARGUMENT, "`outputs` is NULL");
  uint64_t sizes[2];
  expect_error(vyre_output_sizes(add_.get(), in_.data(), 2, sizes, 2), VYRE_INVALID_ARGUMENT);
  expect_error(vyre_output_sizes(add_.get(), in_.data(), 2, nullptr, 1), VYRE_INVALID_ARGUMENT);
}

TEST_F(Arguments, SizesAndPointersThatDoNotFit) {
  in_[0].size = 8;
  expect_error(dispatch(), VYRE_INVALID_ARGUMENT, "both need one length");
  in_[0].size = 11;
  expect_error(dispatch(), VYRE_INVALID_ARGUMENT);
  in_[0].size = kMost;
  expect_error(dispatch(), VYRE_INVALID_ARGUMENT, "`a` has a size of 18446744073709551615 bytes");
  in_[0] = {nullptr, 12, nullptr, 0};
  expect_error(dispatch(), VYRE_INVALID_ARGUMENT, "`a` is NULL and has a size of 12 bytes");
  const Buffer buffer = upload(device_, a_.data(), 12);
  in_[0] = {a_.data(), 12, buffer.get(), 0};
  expect_error(dispatch(), VYRE_INVALID_ARGUMENT, "both memory and a buffer");
  EXPECT_THAT(sum_, testing::Each(7));
}

TEST_F(Arguments, AnOutputWithoutRoomRunsNothing) {
  const Pipeline twice = compile(device_, kTwice);
  const Buffer buffer = upload(device_, a_.data(), 12);
  out_[0].size = 8;
  expect_error(dispatch(), VYRE_INVALID_ARGUMENT,
               "output `sum` has 8 bytes, and its result has 12");
  EXPECT_EQ(out_[0].written, 12U);
  EXPECT_THAT(sum_, testing::Each(7));
  out_[0].size = 12;
  must(dispatch());
  std::array<uint32_t, 5> large = {9, 9, 9, 9, 9};
  out_[0] = {large.data(), sizeof large, nullptr, 0};
  must(dispatch());
  EXPECT_THAT(large, testing::ElementsAre(11, 22, 33, 9, 9));
  EXPECT_EQ(out_[0].written, 12U);
  // What stays in a buffer does not come to the host.
  vyre_arg in = VYRE_RESIDENT(buffer.get());
  vyre_arg out = VYRE_BYTES(sum_.data());
  out.size = 12;
  expect_error(vyre_dispatch(twice.get(), &in, 1, &out, 1, nullptr, nullptr), VYRE_INVALID_ARGUMENT,
               "came in as a buffer");
  std::array<uint32_t, 3> now{};
  must(vyre_buffer_read(buffer.get(), 0, now.data(), 12));
  EXPECT_THAT(now, testing::ElementsAre(1, 2, 3));
}

TEST_F(Arguments, OutputsMayBeDropped) {
  out_[0] = VYRE_NOWHERE;
  must(dispatch());
  EXPECT_EQ(out_[0].written, 12U);
  must(vyre_dispatch(add_.get(), in_.data(), 2, nullptr, 0, nullptr, nullptr));
  uint64_t size = 0;
  must(vyre_output_sizes(add_.get(), in_.data(), 2, &size, 1));
  EXPECT_EQ(size, 12U);
  in_[0].size = 8;
  expect_error(vyre_output_sizes(add_.get(), in_.data(), 2, &size, 1), VYRE_INVALID_ARGUMENT);
}

TEST_F(Arguments, EmptyInputsNeedNoMemory) {
  in_ = {{VYRE_NOWHERE, VYRE_NOWHERE}};
  out_[0] = VYRE_NOWHERE;
  must(dispatch());
  EXPECT_EQ(out_[0].written, 0U);
}

TEST_F(Arguments, StructsHaveTheirSize) {
  vyre_options options = options_with(0);
  for (const size_t size : {size_t{0}, size_t{8}, sizeof options - 1, SIZE_MAX}) {
    options.struct_size = size;
    expect_error(dispatch(&options), VYRE_INVALID_ARGUMENT, "`struct_size` of vyre_options");
  }
  options.struct_size = sizeof options + 64;  // a newer header
  must(dispatch(&options));
  options.set = uint64_t{1} << 40;
  expect_error(dispatch(&options), VYRE_UNSUPPORTED, "0x10000000000");
  vyre_device_options of_device{};
  vyre_device* device = nullptr;
  expect_error(vyre_device_open("cpu", &of_device, &device), VYRE_INVALID_ARGUMENT);
  of_device.struct_size = sizeof of_device;
  of_device.reserved = 1;
  expect_error(vyre_device_open("cpu", &of_device, &device), VYRE_INVALID_ARGUMENT);
  vyre_sequence sequence{};
  expect_error(vyre_sequence_run(device_.get(), &sequence, nullptr), VYRE_INVALID_ARGUMENT);
}

TEST_F(Arguments, DevicesThatAreNotThere) {
  vyre_device* device = nullptr;
  for (const char* id : {"", "cpu:99", "no such", "cpu\n"})
    expect_error(vyre_device_open(id, nullptr, &device), VYRE_UNAVAILABLE);
  expect_error(vyre_device_open("cuda:77777777777777777777", nullptr, &device),
               VYRE_INVALID_ARGUMENT);
  EXPECT_EQ(device, nullptr);
}

TEST_F(Arguments, BuffersKeepTheirBounds) {
  vyre_buffer* made = nullptr;
  expect_error(vyre_buffer_allocate(device_.get(), kMost, VYRE_ZEROS, 0, &made),
               VYRE_LIMIT_EXCEEDED, "18446744073709551615 bytes");
  expect_error(vyre_buffer_allocate(device_.get(), 16, 2, 0, &made), VYRE_INVALID_ARGUMENT);
  expect_error(vyre_buffer_allocate(device_.get(), 16, VYRE_ZEROS, 3, &made),
               VYRE_INVALID_ARGUMENT);
  expect_error(vyre_buffer_allocate(device_.get(), 16, VYRE_ZEROS, kMost, &made),
               VYRE_INVALID_ARGUMENT);
  expect_error(vyre_buffer_upload(device_.get(), a_.data(), kMost, 0, &made),
               VYRE_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
  must(vyre_buffer_allocate(device_.get(), 16, VYRE_ZEROS, 4096, &made));
  const Buffer buffer(made);
  EXPECT_EQ(vyre_buffer_size(made), 16U);
  std::array<uint32_t, 4> v{};
  expect_error(vyre_buffer_read(made, 1, v.data(), 16), VYRE_INVALID_ARGUMENT);
  expect_error(vyre_buffer_read(made, kMost, v.data(), 16), VYRE_INVALID_ARGUMENT);
  expect_error(vyre_buffer_read(made, 0, v.data(), kMost), VYRE_INVALID_ARGUMENT);
  expect_error(vyre_buffer_write(made, 16, v.data(), 1), VYRE_INVALID_ARGUMENT);
  expect_error(vyre_buffer_write(made, 0, nullptr, 4), VYRE_INVALID_ARGUMENT);
  must(vyre_buffer_fill(made, 0xAB));
  must(vyre_buffer_write(made, 4, a_.data(), 8));
  must(vyre_buffer_read(made, 0, v.data(), 16));
  EXPECT_THAT(v, testing::ElementsAre(0xABABABAB, 1, 2, 0xABABABAB));
}

TEST_F(Arguments, ThingsOfAnotherDevice) {
  const Device other = open("reference");
  const Buffer theirs = upload(other, a_.data(), 12);
  in_[0] = VYRE_RESIDENT(theirs.get());
  expect_error(dispatch(), VYRE_STALE_HANDLE);
  const Pipeline twice = compile(device_, kTwice);
  vyre_arg inout = VYRE_RESIDENT(theirs.get());
  expect_error(vyre_dispatch(twice.get(), &inout, 1, nullptr, 0, nullptr, nullptr),
               VYRE_STALE_HANDLE);
  vyre_call* bound = nullptr;
  const Buffer ours = upload(device_, a_.data(), 12);
  inout = VYRE_RESIDENT(ours.get());
  must(vyre_bind(twice.get(), &inout, 1, nullptr, 0, nullptr, &bound));
  const Call call(bound);
  vyre_sequence sequence{};
  sequence.struct_size = sizeof sequence;
  sequence.repeated = &bound;
  sequence.repeated_count = 1;
  sequence.repeats = 2;
  expect_error(vyre_sequence_run(other.get(), &sequence, nullptr), VYRE_STALE_HANDLE);
}

}  // namespace
}  // namespace vyre::c_test
