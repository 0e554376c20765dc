// SPDX-License-Identifier: Apache-2.0
// The data of --in and --out: what the user writes on the command line, or a file, becomes the
// bytes of a buffer, and back. Bytes are in buffer layout: little-endian, bool in 4 bytes. A
// Failure has exit code 11 (bad data), 7 (no memory) or, from parse_*, 2 (malformed option).
// docs/cli.md, "Values", is the contract for users.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app.hpp"
#include "vyre/ir/types.hpp"

namespace vyre::cli {

// The buffer that an input is for.
struct ValueSpec {
  std::string name;
  ir::Type element = ir::Type::U32;
  std::optional<uint64_t> count;  // elements, if the program fixes them
  bool scalar = false;            // one element, which may be written without brackets
};

struct ValueContext {
  uint64_t seed = 0;  // of random(n,lo,hi), and the buffer's name
  // When generators and files are given up: exit code 8, or that of Ctrl-C.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* cancel = nullptr;
};

// More than this is refused, whatever the form.
inline constexpr uint64_t kMaxValueElements = uint64_t{1} << 32;
inline constexpr uint64_t kMaxValueBytes = uint64_t{16} << 30;

// `text` is what stands after `name=` in --in.
std::expected<std::vector<std::byte>, Failure> read_value(const ValueSpec& spec,
                                                          std::string_view text,
                                                          const ValueContext& context);

// True for the value that reads stdin (`@-`), of which there can be one only.
bool reads_stdin(std::string_view text);

struct Shape {
  uint64_t height = 0;
  uint64_t width = 0;
  bool operator==(const Shape&) const = default;
};

// Bytes hold whole elements.
struct ArrayView {
  std::string_view name;
  ir::Type element = ir::Type::U32;
  std::span<const std::byte> bytes;
  std::optional<Shape> shape;

  [[nodiscard]] uint64_t count() const { return bytes.size() / ir::bytes_of(element); }
};

// To a file named by its ending (.npy .bin .csv .png), replaced in one step, or as csv to stdout
// ("-").
std::optional<Failure> write_value(App& app, const ArrayView& array, const std::string& path);

// The failure that write_value() would give for this path whatever the values are, so that a
// command can refuse it before it computes; `count` as far as it is known.
std::optional<Failure> check_output(const ValueSpec& spec, const std::optional<Shape>& shape,
                                    const std::string& path);

// One element as text: integers exactly, floats as the shortest decimal that reads back to the same
// element, nan, inf, -inf, true, false. All of them can be read by --in again.
std::string element_text(ir::Type element, std::span<const std::byte> bytes, uint64_t index);

// "[1, 2, 3]", whole up to 64 elements, else the first and the last ones: "[1, 2, … 99, 100]".
inline constexpr uint64_t kPreviewWhole = 64;
inline constexpr uint64_t kPreviewEnds = 5;
std::string preview(const ArrayView& array);

// `name=VALUE` of the option ("--in", "--out").
struct Assignment {
  std::string name;
  std::string value;
};
std::expected<Assignment, Failure> parse_assignment(std::string_view option, std::string_view text);

// `name=H,W` of --shape.
struct NamedShape {
  std::string name;
  Shape shape;
};
std::expected<NamedShape, Failure> parse_shape(std::string_view text);

}  // namespace vyre::cli
