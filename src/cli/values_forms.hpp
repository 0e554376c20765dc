// SPDX-License-Identifier: Apache-2.0
// The forms of a value, each in a file of its own: what read_value() and write_value() choose
// from. Everything here works in memory; none of it opens a file. Claimed sizes are held against
// the limits and against the size of the input before anything is allocated for them.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app.hpp"
#include "cli/values.hpp"

namespace vyre::cli {

using ValueBytes = std::vector<std::byte>;
using ValueResult = std::expected<ValueBytes, Failure>;

std::unexpected<Failure> bad_value(std::string message, std::string fix);

// Whether the buffer takes that many elements. `what` is what has them: "`a.npy`".
std::optional<Failure> check_count(const ValueSpec& spec, uint64_t count, std::string_view what);

// Polled every kValuesAtOnce elements or kBytesAtOnce bytes by what may take long.
std::optional<Failure> check_stop(const ValueSpec& spec, const ValueContext& context);
inline constexpr uint64_t kValuesAtOnce = uint64_t{1} << 16;
inline constexpr uint64_t kBytesAtOnce = uint64_t{32} << 20;
// `bytes` bytes more for the values of a buffer: whether the machine has them (exit code 7).
std::optional<Failure> check_room(const ValueSpec& spec, uint64_t bytes);
// Zeros for `count` elements.
ValueResult zeroed(const ValueSpec& spec, const ValueContext& context, uint64_t count);

// `[1, 2, 3]`
ValueResult from_literal(const ValueSpec& spec, std::string_view text);

// `zeros(n)` and the like.
bool is_generated(std::string_view text);
ValueResult from_generator(const ValueSpec& spec, std::string_view text,
                           const ValueContext& context);

// `path` is for messages in all of these.
ValueResult from_raw(const ValueSpec& spec, const std::string& path, ValueBytes file);
ValueResult from_csv(const ValueSpec& spec, const std::string& path, std::string_view text);
ValueResult from_npy(const ValueSpec& spec, const std::string& path, ValueBytes file);
ValueResult from_png(const ValueSpec& spec, const std::string& path,
                     std::span<const std::byte> file);

// One element per line, or one row of the shape.
std::string to_csv(const ArrayView& array);
std::string to_npy(const ArrayView& array);
// Whether a picture can be made of that; to_png() needs it to be so.
std::optional<Failure> check_png(std::string_view name, ir::Type element,
                                 const std::optional<Shape>& shape);
std::expected<std::string, Failure> to_png(const ArrayView& array);

// The whole content of a file, or of stdin for "-". Longer than the limit: no bytes, and what is
// known of its size.
struct Content {
  ValueBytes bytes;
  bool longer = false;
  std::optional<uint64_t> size;  // of a regular file
};
// What the file is read for, and when it is given up: stdin and pipes only when there is no room,
// because the writer may take its time.
struct ReadFor {
  const ValueSpec& spec;
  const ValueContext& context;
};
std::expected<Content, Failure> read_content(const std::string& path, uint64_t limit,
                                             const ReadFor& reader);

}  // namespace vyre::cli
