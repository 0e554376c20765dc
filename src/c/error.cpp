// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <span>

#include <fmt/format.h>

#include "c/boundary.hpp"

// Made once and never changed; `owned` is false for the one that needs no memory.
struct vyre_error {
  vyre::Error error;
  std::string text;
  std::string json;
  bool owned = true;
};

namespace vyre::c {

namespace {

// Every code of the library has its number in vyre.h.
#define VYRE_SAME(c, name) static_assert(c == static_cast<int>(ErrorCode::name))
VYRE_SAME(VYRE_DEVICE_OUT_OF_MEMORY, DeviceOutOfMemory);
VYRE_SAME(VYRE_UNSUPPORTED, Unsupported);
VYRE_SAME(VYRE_POISONED_STATE, PoisonedState);
VYRE_SAME(VYRE_COMPILE_FAILED, CompileFailed);
VYRE_SAME(VYRE_DISPATCH_FAILED, DispatchFailed);
VYRE_SAME(VYRE_INVALID_PROGRAM, InvalidProgram);
VYRE_SAME(VYRE_COOPERATIVE_RESIDENCY_EXCEEDED, CooperativeResidencyExceeded);
VYRE_SAME(VYRE_INVALID_ARGUMENT, InvalidArgument);
VYRE_SAME(VYRE_TIMEOUT, Timeout);
VYRE_SAME(VYRE_DEVICE_LOST, DeviceLost);
VYRE_SAME(VYRE_TRAPPED, Trapped);
VYRE_SAME(VYRE_OUT_OF_BOUNDS, OutOfBounds);
VYRE_SAME(VYRE_STALE_HANDLE, StaleHandle);
VYRE_SAME(VYRE_UNAVAILABLE, Unavailable);
VYRE_SAME(VYRE_LIMIT_EXCEEDED, LimitExceeded);
VYRE_SAME(VYRE_HOST_OUT_OF_MEMORY, HostOutOfMemory);
VYRE_SAME(VYRE_INTERNAL, Internal);
VYRE_SAME(VYRE_UNKNOWN, Unknown);
#undef VYRE_SAME

// For the error without memory.
constexpr const char* kNoMemoryText =
    "error[HostOutOfMemory 1016]: the host has no memory for this call\n"
    "Fix: free some, or give less data\n";
constexpr const char* kNoMemoryJson =
    "{\"code\":1016,\"name\":\"HostOutOfMemory\",\"message\":\"the host has no memory for this "
    "call\",\"fix\":\"free some, or give less data\"}";

vyre_error* no_memory() noexcept {
  static vyre_error kept{.error = {.code = ErrorCode::HostOutOfMemory,
                                   .message = {},
                                   .context = {},
                                   .at = {},
                                   .diagnostics = {}},
                         .text = {},
                         .json = {},
                         .owned = false};
  return &kept;
}
// Made while the library is loaded: a child of fork() may never wait for the guard of a static.
[[maybe_unused]] vyre_error* const kMadeAtLoad = no_memory();

std::pair<std::string, std::string> split_fix(const std::string& message) {
  constexpr std::string_view kMark = ". Fix: ";
  const size_t at = message.rfind(kMark);
  if (at == std::string::npos) return {message, ""};
  return {message.substr(0, at), message.substr(at + kMark.size())};
}

Diagnostics list_of(const Error& error) {
  Diagnostics list;
  for (const Diagnostic& d : error.diagnostics) {
    Diagnostic& added = list.add(d.code, d.at, d.message, d.fix);
    added.severity = d.severity;
    added.notes = d.notes;
  }
  return list;
}

std::string text_of(const Error& error, const Source* source) {
  std::vector<SourceText> texts;
  if (source != nullptr) texts.push_back({source->file, source->text});
  if (!error.diagnostics.empty()) return render_text(list_of(error), texts);
  const auto [message, fix] = split_fix(error.message);
  Finding finding{
      .label = fmt::format("error[{} {}]", name_of(error.code), static_cast<unsigned>(error.code)),
      .at = error.at,
      .message = message,
      .fix = fix,
      .notes = {}};
  for (const std::string& line : error.context) finding.notes.push_back({{}, line});
  return render_findings(std::span(&finding, 1), texts);
}

std::string json_text_of(const Error& error) {
  const auto [message, fix] = split_fix(error.message);
  Json json;
  json["code"] = static_cast<unsigned>(error.code);
  json["name"] = name_of(error.code);
  json["message"] = message;
  json["fix"] = fix;
  if (error.at.known()) {
    json["file"] = error.at.file;
    json["line"] = error.at.line;
    json["column"] = error.at.column;
    json["length"] = error.at.length;
  }
  if (!error.context.empty()) json["context"] = error.context;
  if (!error.diagnostics.empty()) json["diagnostics"] = Json::parse(render_json(list_of(error)));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

vyre_error* out_of_memory() noexcept {
  return no_memory();
}

vyre_error* make_error(const Error& error, const Source* source) noexcept {
  try {
    auto made = std::make_unique<vyre_error>();
    made->error = error;
    made->text = text_of(error, source);
    made->json = json_text_of(error);
    return made.release();
  } catch (...) {
    return no_memory();
  }
}

vyre_error* thrown(const Source* source) noexcept {
  try {
    return make_error(
        error(ErrorCode::Internal,
              "an exception went through the library. Fix: catch what a callback throws, "
              "and return an error of vyre_error_make()"),
        source);
  } catch (...) {
    return no_memory();
  }
}

Error take_error(vyre_error* error) {
  Error taken = error->error;
  if (!error->owned) taken.message = "a callback had no memory. Fix: free some, or give less data";
  vyre_error_release(error);
  return taken;
}

std::unexpected<Error> null_argument(std::string_view name) {
  return fail(ErrorCode::InvalidArgument,
              fmt::format("`{}` is NULL. Fix: give a pointer that is none", name));
}

Result<void> require_bytes(const void* pointer, uint64_t bytes, std::string_view name) {
  if (pointer == nullptr && bytes != 0)
    return fail(ErrorCode::InvalidArgument,
                fmt::format("`{}` is NULL and has a size of {} bytes. Fix: give memory of that "
                            "size, or the size 0",
                            name, bytes));
  if (bytes > static_cast<uint64_t>(std::numeric_limits<ptrdiff_t>::max()))
    return fail(ErrorCode::InvalidArgument,
                fmt::format("`{}` has a size of {} bytes, more than there is memory. Fix: give the "
                            "size in bytes",
                            name, bytes));
  return {};
}

Result<void> require_struct(size_t given, size_t known, std::string_view name) {
  constexpr size_t kMost = size_t{1} << 16;
  if (given >= known && given <= kMost) return {};
  return fail(ErrorCode::InvalidArgument,
              fmt::format("`struct_size` of {0} is {1}, and this library knows {2} bytes of it. "
                          "Fix: set it to sizeof({0})",
                          name, given, known));
}

void give(vyre_data** to, std::string bytes) {
  *to = new vyre_data(std::move(bytes));
}
void give(vyre_data** to, const Json& json) {
  give(to, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace vyre::c

using vyre::c::guarded;

vyre_error* vyre_error_make(uint32_t code, const char* message) {
  // What is no code of the library is Unknown.
  const bool known = code >= VYRE_DEVICE_OUT_OF_MEMORY && code <= VYRE_INTERNAL;
  const auto meant = static_cast<vyre::ErrorCode>(known ? code : uint32_t{VYRE_UNKNOWN});
  return guarded([&]() -> vyre::Result<void> {
    return vyre::fail(meant, message == nullptr ? "a callback has failed" : message);
  });
}

uint32_t vyre_error_code(const vyre_error* error) {
  return error == nullptr ? 0 : static_cast<uint32_t>(error->error.code);
}
const char* vyre_error_text(const vyre_error* error) {
  if (error == nullptr) return "";
  return error->owned ? error->text.c_str() : vyre::c::kNoMemoryText;
}
const char* vyre_error_json(const vyre_error* error) {
  if (error == nullptr) return "";
  return error->owned ? error->json.c_str() : vyre::c::kNoMemoryJson;
}
void vyre_error_release(vyre_error* error) {
  if (error != nullptr && error->owned) delete error;
}

const void* vyre_data_bytes(const vyre_data* data) {
  return data == nullptr ? nullptr : data->bytes.c_str();
}
uint64_t vyre_data_size(const vyre_data* data) {
  return data == nullptr ? 0 : data->bytes.size();
}
void vyre_data_release(vyre_data* data) {
  vyre::c::release(data);
}
