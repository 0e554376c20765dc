// SPDX-License-Identifier: Apache-2.0
// What the tests of the C interface share: owners of handles, and programs.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vyre/vyre.h>

namespace vyre::c_test {

template <class Handle, void (*release)(Handle*)>
struct Release {
  void operator()(Handle* handle) const { release(handle); }
};
template <class Handle, void (*release)(Handle*)>
using Owned = std::unique_ptr<Handle, Release<Handle, release>>;

using Device = Owned<vyre_device, vyre_device_release>;
using Program = Owned<vyre_program, vyre_program_release>;
using Pipeline = Owned<vyre_pipeline, vyre_pipeline_release>;
using Buffer = Owned<vyre_buffer, vyre_buffer_release>;
using Call = Owned<vyre_call, vyre_call_release>;
using Pending = Owned<vyre_pending, vyre_pending_release>;
using Cancel = Owned<vyre_cancel, vyre_cancel_release>;
using Trace = Owned<vyre_trace, vyre_trace_release>;
using Data = Owned<vyre_data, vyre_data_release>;
using Error = Owned<vyre_error, vyre_error_release>;

// What a call gave, as a test that expects success.
inline void must(vyre_error* error) {
  const Error owned(error);
  EXPECT_EQ(error, nullptr) << vyre_error_text(error);
}
// The code of what a call gave; the text holds `part`.
inline void expect_error(vyre_error* error, uint32_t code, std::string_view part = "") {
  const Error owned(error);
  EXPECT_EQ(vyre_error_code(error), code) << vyre_error_text(error);
  EXPECT_THAT(vyre_error_text(error), testing::HasSubstr(part));
}

inline Device open(const char* id = "cpu") {
  // Nothing on disk: tests do not depend on the ones before.
  vyre_device_options options{};
  options.struct_size = sizeof options;
  options.cache_directory = "";
  vyre_device* device = nullptr;
  must(vyre_device_open(id, &options, &device));
  return Device(device);
}
inline Pipeline compile(const Device& device, std::string_view text,
                        const vyre_options* options = nullptr) {
  vyre_pipeline* pipeline = nullptr;
  must(vyre_compile_text(device.get(), text.data(), text.size(), "test.vyre", options, &pipeline));
  return Pipeline(pipeline);
}
inline Buffer upload(const Device& device, const void* from, uint64_t bytes) {
  vyre_buffer* buffer = nullptr;
  must(vyre_buffer_upload(device.get(), from, bytes, 0, &buffer));
  return Buffer(buffer);
}
inline std::string text_of(vyre_data* data) {
  const Data owned(data);
  return {static_cast<const char*>(vyre_data_bytes(data)), vyre_data_size(data)};
}
inline vyre_options options_with(uint64_t set) {
  vyre_options options{};
  options.struct_size = sizeof options;
  options.set = set;
  return options;
}

inline constexpr std::string_view kAdd = R"(program add {
  workgroup 64;
  in  a   : u32[];
  in  b   : u32[];
  out sum : u32[] @count(len(a));
  require len(a) == len(b), "both need one length";
  let i = gid.x;
  if i < len(sum) { sum[i] = a[i] + b[i]; }
}
)";

inline constexpr std::string_view kTwice = R"(program twice {
  workgroup 64;
  over len(a);
  inout a : u32[];
  if gid.x < len(a) { a[gid.x] *= 2; }
}
)";

// Until its flag is set, which no lane does.
inline constexpr std::string_view kEndless = R"(program endless {
  workgroup 1;
  over 1;
  inout flag : u32[1];
  while atomic_load(flag[0]) == 0 { atomic_add(flag[0], 0); }
}
)";

}  // namespace vyre::c_test
