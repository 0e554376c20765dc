// SPDX-License-Identifier: Apache-2.0
#include "cli/values.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "base/free_memory.hpp"
#include "cli/dispatch.hpp"
#include "cli/values_forms.hpp"
#include "cli/values_number.hpp"
#include "cli/write_file.hpp"

namespace vyre::cli {
namespace {

constexpr std::string_view kInputForms =
    "a file that ends in .npy, .bin, .csv or .png, a list such as [1,2,3], zeros(n), ones(n), "
    "fill(n,x), iota(n), random(n,lo,hi), or @- for stdin";
constexpr std::string_view kOutputForms =
    "name a file that ends in .npy, .bin, .csv or .png, or - for stdout";

enum class FileKind : uint8_t { Npy, Bin, Csv, Png };

std::optional<FileKind> file_kind(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, FileKind>, 4> kEndings = {
      {{".npy", FileKind::Npy},
       {".bin", FileKind::Bin},
       {".csv", FileKind::Csv},
       {".png", FileKind::Png}}};
  for (const auto& [ending, kind] : kEndings) {
    if (path.size() < ending.size()) continue;
    const std::string_view tail = path.substr(path.size() - ending.size());
    if (std::equal(tail.begin(), tail.end(), ending.begin(), ending.end(),
                   [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a + 32 == b); }))
      return kind;
  }
  return std::nullopt;
}

// A path is shown whole.
std::string in_quotes(std::string_view path) {
  return fmt::format("`{}`", path);
}

std::string_view without_blanks_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

std::unexpected<Failure> no_such_form(const ValueSpec& spec, std::string_view text) {
  std::string fix = fmt::format("give {}", kInputForms);
  if (spec.scalar) fix = fmt::format("give a number: {}=5", spec.name);
  if (!spec.scalar && parse_element(spec.element, text))
    fix = fmt::format("write [{}] for one element", text);
  if (text == "-") fix = "write @- for stdin";
  return bad_value(fmt::format("{} is no value for buffer `{}`", quoted_value(text), spec.name),
                   std::move(fix));
}

// Reads no more than the buffer can take, where the length follows from that.
ValueResult read_raw(const ValueSpec& spec, const std::string& path, const ValueContext& context) {
  const uint64_t size = ir::bytes_of(spec.element);
  const uint64_t limit =
      spec.count ? std::min(*spec.count, kMaxValueBytes / size) * size : kMaxValueBytes;
  VYRE_TRY_ASSIGN(auto content, read_content(path, limit, {spec, context}));
  const std::string name = path == "-" ? "stdin" : in_quotes(path);
  if (!content.longer) return from_raw(spec, name, std::move(content.bytes));
  if (content.size && *content.size % size == 0) {
    if (auto failure = check_count(spec, *content.size / size, name))
      return std::unexpected(std::move(*failure));
  }
  return bad_value(
      fmt::format("{} is longer than the {} bytes that buffer `{}` takes", name, limit, spec.name),
      "give exactly that many bytes");
}

ValueResult read_file(const ValueSpec& spec, const std::string& path, FileKind kind,
                      const ValueContext& context) {
  if (kind == FileKind::Bin) return read_raw(spec, path, context);
  VYRE_TRY_ASSIGN(auto content, read_content(path, kMaxValueBytes, {spec, context}));
  if (content.longer) {
    return bad_value(fmt::format("{} is longer than 16 GiB", in_quotes(path)),
                     "split the data into smaller files");
  }
  ValueBytes& bytes = content.bytes;
  switch (kind) {
    case FileKind::Npy: return from_npy(spec, in_quotes(path), std::move(bytes));
    case FileKind::Png: return from_png(spec, in_quotes(path), bytes);
    case FileKind::Csv:
      return from_csv(spec, path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    case FileKind::Bin: break;
  }
  return from_raw(spec, path, std::move(bytes));
}

ValueResult read_some(const ValueSpec& spec, std::string_view text, const ValueContext& context) {
  if (reads_stdin(text)) return read_raw(spec, "-", context);
  if (const auto kind = file_kind(text)) return read_file(spec, std::string(text), *kind, context);
  if (without_blanks_before(text).starts_with('[')) return from_literal(spec, text);
  if (is_generated(text)) return from_generator(spec, text, context);
  if (spec.scalar && parse_element(spec.element, text))
    return from_literal(spec, fmt::format("[{}]", text));
  return no_such_form(spec, text);
}

std::optional<Failure> check_shape(std::string_view name, uint64_t count, const Shape& shape) {
  uint64_t product = 0;
  const bool overflow = __builtin_mul_overflow(shape.height, shape.width, &product);
  if (!overflow && product == count) return std::nullopt;
  return bad_value(fmt::format("the shape {} x {} of `{}` has {} elements, the buffer has {}",
                               shape.height, shape.width, name,
                               overflow ? "more than 2^64" : fmt::format("{}", product), count),
                   "give --shape a height and a width whose product is the number of elements")
      .error();
}

std::optional<Failure> write_some(App& app, const ArrayView& array, const std::string& path) {
  const ValueSpec spec{std::string(array.name), array.element, array.count()};
  if (auto failure = check_output(spec, array.shape, path)) return failure;
  if (path == "-") {
    app.put(to_csv(array));
    return std::nullopt;
  }
  switch (*file_kind(path)) {
    case FileKind::Npy: return write_file(path, to_npy(array));
    case FileKind::Csv: return write_file(path, to_csv(array));
    case FileKind::Bin:
      return write_file(path,
                        {reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()});
    case FileKind::Png: break;
  }
  const auto picture = to_png(array);
  if (!picture) return picture.error();
  return write_file(path, *picture);
}

Failure no_memory(std::string_view name) {
  return {kExitOutOfMemory, fmt::format("there is not enough memory for the values of `{}`", name),
          "use fewer elements, or a machine with more memory"};
}

std::unexpected<Failure> usage(std::string message, std::string fix) {
  return std::unexpected(Failure{kExitUsage, std::move(message), std::move(fix)});
}

}  // namespace

std::unexpected<Failure> bad_value(std::string message, std::string fix) {
  return std::unexpected(Failure{kExitInvalidArgument, std::move(message), std::move(fix)});
}

std::optional<Failure> check_count(const ValueSpec& spec, uint64_t count, std::string_view what) {
  if (spec.count && count != *spec.count) {
    return bad_value(fmt::format("buffer `{}` has {} element{}, but {} has {}", spec.name,
                                 *spec.count, *spec.count == 1 ? "" : "s", what, count),
                     fmt::format("give exactly {}", *spec.count))
        .error();
  }
  if (count <= kMaxValueElements && count <= kMaxValueBytes / ir::bytes_of(spec.element))
    return std::nullopt;
  return bad_value(
             fmt::format("{} has {} elements of {}, more than this tool takes for one buffer", what,
                         count, ir::name_of(spec.element)),
             fmt::format("use at most {} elements (2^32 of them, 16 GiB)",
                         std::min(kMaxValueElements, kMaxValueBytes / ir::bytes_of(spec.element))))
      .error();
}

std::optional<Failure> check_stop(const ValueSpec& spec, const ValueContext& context) {
  if (context.cancel != nullptr && context.cancel->load(std::memory_order_relaxed))
    return Failure{kExitInterrupted, fmt::format("interrupted at the values of `{}`", spec.name),
                   ""};
  if (context.deadline == std::chrono::steady_clock::time_point::max() ||
      std::chrono::steady_clock::now() < context.deadline)
    return std::nullopt;
  return Failure{exit_code_of(ErrorCode::Timeout),
                 fmt::format("the time is up, and the values of `{}` are not all there", spec.name),
                 "give fewer elements, or a longer --timeout"};
}

std::optional<Failure> check_room(const ValueSpec& spec, uint64_t bytes) {
  auto grown = check_memory_growth(bytes, fmt::format("input `{}`", spec.name));
  if (grown) return std::nullopt;
  const std::string& message = grown.error().message;
  return Failure{kExitOutOfMemory, message.substr(0, message.find(". Fix: ")),
                 "use fewer elements, or a machine with more memory"};
}

// Step by step, because pages that are new take their time.
ValueResult zeroed(const ValueSpec& spec, const ValueContext& context, uint64_t count) {
  const uint64_t size = count * ir::bytes_of(spec.element);
  if (auto failure = check_room(spec, size)) return std::unexpected(std::move(*failure));
  ValueBytes bytes;
  bytes.reserve(size);
  while (bytes.size() < size) {
    if (auto failure = check_stop(spec, context)) return std::unexpected(std::move(*failure));
    bytes.resize(std::min(size, bytes.size() + kBytesAtOnce));
  }
  return bytes;
}

ValueResult read_value(const ValueSpec& spec, std::string_view text, const ValueContext& context) {
  try {
    return read_some(spec, text, context);
  } catch (const std::bad_alloc&) {
    return std::unexpected(no_memory(spec.name));
  } catch (const std::length_error&) {
    return std::unexpected(no_memory(spec.name));
  }
}

bool reads_stdin(std::string_view text) {
  return text == "@-";
}

std::optional<Failure> write_value(App& app, const ArrayView& array, const std::string& path) {
  VYRE_CHECK(array.bytes.size() % ir::bytes_of(array.element) == 0);
  try {
    return write_some(app, array, path);
  } catch (const std::bad_alloc&) {
    return no_memory(array.name);
  } catch (const std::length_error&) {
    return no_memory(array.name);
  }
}

std::optional<Failure> check_output(const ValueSpec& spec, const std::optional<Shape>& shape,
                                    const std::string& path) {
  const auto kind = file_kind(path);
  if (path != "-" && !kind) {
    return bad_value(fmt::format("{} does not say in which form to write `{}`", in_quotes(path),
                                 spec.name),
                     std::string(kOutputForms))
        .error();
  }
  if (shape && spec.count) {
    if (auto failure = check_shape(spec.name, *spec.count, *shape)) return failure;
  }
  return kind == FileKind::Png ? check_png(spec.name, spec.element, shape) : std::nullopt;
}

std::string element_text(ir::Type element, std::span<const std::byte> bytes, uint64_t index) {
  return bits_text(element, load_element(element, bytes, index));
}

std::string preview(const ArrayView& array) {
  const uint64_t count = array.count();
  const bool whole = count <= kPreviewWhole;
  std::string text = "[";
  for (uint64_t i = 0; i < count; ++i) {
    if (i != 0) text += ", ";
    if (!whole && i == kPreviewEnds) {
      text += "… ";
      i = count - kPreviewEnds;
    }
    text += element_text(array.element, array.bytes, i);
  }
  return text + "]";
}

std::expected<Assignment, Failure> parse_assignment(std::string_view option,
                                                    std::string_view text) {
  const size_t equals = text.find('=');
  const std::string example = option == "--in"    ? "--in a=zeros(16)"
                              : option == "--out" ? "--out a=result.npy"
                                                  : fmt::format("{} name=VALUE", option);
  if (equals == std::string_view::npos) {
    return usage(fmt::format("{} {} has no `=`", option, quoted_value(text)),
                 fmt::format("name the buffer and then the value, as in {}", example));
  }
  if (equals == 0 || equals + 1 == text.size()) {
    return usage(fmt::format("{} {} has no {}", option, quoted_value(text),
                             equals == 0 ? "buffer name before the `=`" : "value after the `=`"),
                 fmt::format("name the buffer and then the value, as in {}", example));
  }
  return Assignment{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::expected<NamedShape, Failure> parse_shape(std::string_view text) {
  auto assignment = parse_assignment("--shape", text);
  if (!assignment) {
    assignment.error().fix = "write --shape name=H,W, as in --shape image=480,640";
    return std::unexpected(std::move(assignment.error()));
  }
  const std::string_view value = assignment->value;
  const size_t comma = value.find(',');
  std::array<uint64_t, 2> sides{};
  bool good = comma != std::string_view::npos;
  for (size_t i = 0; good && i < 2; ++i) {
    const auto side =
        parse_whole(ir::Type::U64, i == 0 ? value.substr(0, comma) : value.substr(comma + 1));
    good = side && *side >= 0 && *side <= UINT64_MAX;
    if (good) sides[i] = static_cast<uint64_t>(*side);
  }
  if (!good) {
    return usage(fmt::format("--shape {} does not give a height and a width", quoted_value(text)),
                 "write --shape name=H,W, as in --shape image=480,640");
  }
  return NamedShape{std::move(assignment->name), {sides[0], sides[1]}};
}

}  // namespace vyre::cli
