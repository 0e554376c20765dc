// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy: the magic, a version, the length of a header, the header (a Python dictionary with
// `descr`, `fortran_order` and `shape`), the elements.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "cli/values_forms.hpp"
#include "cli/values_number.hpp"

namespace vyre::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyType {
  ir::Type element;
  std::string_view descr;  // without the byte order
  std::string_view name;   // NumPy's, for people
};
// NumPy has no bf16; its bits travel as uint16.
constexpr std::array<NpyType, ir::kTypeCount> kTypes = {{
    {ir::Type::Bool, "b1", "bool"},
    {ir::Type::U32, "u4", "uint32"},
    {ir::Type::I32, "i4", "int32"},
    {ir::Type::U64, "u8", "uint64"},
    {ir::Type::I64, "i8", "int64"},
    {ir::Type::F32, "f4", "float32"},
    {ir::Type::F64, "f8", "float64"},
    {ir::Type::U8, "u1", "uint8"},
    {ir::Type::I8, "i1", "int8"},
    {ir::Type::U16, "u2", "uint16"},
    {ir::Type::I16, "i2", "int16"},
    {ir::Type::F16, "f2", "float16"},
    {ir::Type::BF16, "u2", "uint16"},
}};

const NpyType& npy_type(ir::Type element) {
  return *std::find_if(kTypes.begin(), kTypes.end(),
                       [&](const NpyType& type) { return type.element == element; });
}

struct Header {
  std::string descr;  // "<f4"; "[" for a list of fields
  bool fortran_order = false;
  std::vector<uint64_t> shape;
};

// The part of Python's literals that the format uses.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  // What is wrong, or nothing.
  std::optional<std::string> read(Header& header) {
    if (!take('{')) return "it does not start with `{`";
    std::array<bool, 3> seen{};
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':')) return "a key is malformed";
      size_t index = 0;
      bool good = false;
      if (*key == "descr") {
        good = descr(header);
      } else if (*key == "fortran_order") {
        index = 1;
        good = boolean(header.fortran_order);
      } else if (*key == "shape") {
        index = 2;
        good = tuple(header.shape);
      } else {
        return fmt::format("it has the unknown key {}", quoted_value(*key));
      }
      if (!good) return fmt::format("the value of `{}` is malformed", *key);
      if (seen[index]) return fmt::format("it has the key `{}` twice", *key);
      seen[index] = true;
      if (!take(',') && peek() != '}') return "a comma is missing";
    }
    if (peek() != '\0') return "something follows after `}`";
    if (!seen[0] || !seen[1] || !seen[2])
      return "it lacks one of the keys descr, fortran_order and shape";
    return std::nullopt;
  }

 private:
  // The next character that is no blank, 0 at the end; a 0 in the text is none of what is looked
  // for and does not count as the end.
  char peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    if (rest_.empty()) return '\0';
    return rest_[0] == '\0' ? '\1' : rest_[0];
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    peek();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    if (text.find('\\') != std::string::npos) return std::nullopt;
    return text;
  }

  // A list describes records. It is skipped to its end, so that the message can be about the type.
  bool descr(Header& header) {
    if (peek() != '[') {
      auto text = string();
      if (!text) return false;
      header.descr = std::move(*text);
      return true;
    }
    header.descr = "[";
    int depth = 0;
    do {
      const char c = peek();
      if (c == '\0') return false;
      if (c == '\'' || c == '"') {
        if (!string()) return false;
        continue;
      }
      if (c == '[') ++depth;
      if (c == ']') --depth;
      rest_.remove_prefix(1);
    } while (depth > 0);
    return true;
  }

  bool boolean(bool& value) {
    value = take_word("True");
    return value || take_word("False");
  }

  std::optional<uint64_t> number() {
    uint64_t value = 0;
    size_t digits = 0;
    peek();
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      if (__builtin_mul_overflow(value, uint64_t{10}, &value) ||
          __builtin_add_overflow(value, static_cast<uint64_t>(rest_[digits] - '0'), &value))
        return std::nullopt;
    }
    if (digits == 0) return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }

  // (), (3,), (3, 4), (3, 4,); (3) would be a number in parentheses.
  bool tuple(std::vector<uint64_t>& values) {
    values.clear();
    if (!take('(')) return false;
    bool comma = true;
    while (!take(')')) {
      if (!comma) return false;
      const auto value = number();
      if (!value) return false;
      values.push_back(*value);
      comma = take(',');
    }
    return values.size() != 1 || comma;
  }

  std::string_view rest_;
};

std::unexpected<Failure> damaged(const std::string& path, std::string_view why) {
  return bad_value(fmt::format("{} is not a .npy file that can be read: {}", path, why),
                   "write it again with numpy.save");
}

// nullopt: more than 2^64, and none of them is zero.
std::optional<uint64_t> element_count(const std::vector<uint64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  uint64_t count = 1;
  for (const uint64_t side : shape)
    if (__builtin_mul_overflow(count, side, &count)) return std::nullopt;
  return count;
}

// "float64" for "f8"; the description itself for types that Vyre does not have.
std::string held_type(std::string_view descr) {
  if (descr == "[") return "records";
  const std::string_view plain = descr.substr(descr.empty() ? 0 : 1);
  for (const NpyType& type : kTypes)
    if (type.descr == plain) return std::string(type.name);
  return fmt::format("elements of NumPy type {}", quoted_value(descr));
}

std::optional<Failure> check_type(const ValueSpec& spec, const std::string& path,
                                  const Header& header) {
  const NpyType& wanted = npy_type(spec.element);
  const std::string_view descr = header.descr;
  const bool same = descr.size() == 3 && descr.substr(1) == wanted.descr;
  const bool one_byte = wanted.descr.ends_with('1');
  if (same && (descr[0] == '<' || (one_byte && (descr[0] == '|' || descr[0] == '>'))))
    return std::nullopt;
  if (same && descr[0] == '>') {
    return bad_value(fmt::format("{} holds big-endian {}, and buffer `{}` needs little-endian",
                                 path, wanted.name, spec.name),
                     fmt::format("save it as array.astype('<{}')", wanted.descr))
        .error();
  }
  std::string fix = fmt::format("save it as array.astype('{}')", wanted.name);
  if (spec.element == ir::Type::BF16)
    fix = "save the bits of the bf16 values, as array.view('uint16')";
  return bad_value(fmt::format("{} holds {}, buffer `{}` needs {}", path, held_type(descr),
                               spec.name, ir::name_of(spec.element)),
                   std::move(fix))
      .error();
}

// In front of the elements: magic, version, length, header.
struct Prefix {
  Header header;
  uint64_t bytes = 0;
};

std::expected<Prefix, Failure> read_prefix(const std::string& path, std::string_view text) {
  if (!text.starts_with(kMagic)) return damaged(path, "it does not start with the NumPy mark");
  constexpr size_t kVersionEnd = 8;
  if (text.size() < kVersionEnd) return damaged(path, "it ends in its header");
  const int major = static_cast<unsigned char>(text[6]);
  const int minor = static_cast<unsigned char>(text[7]);
  if (major < 1 || major > 3 || minor != 0)
    return damaged(path, fmt::format("its version is {}.{}, not 1.0 to 3.0", major, minor));
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (text.size() < kVersionEnd + length_bytes) return damaged(path, "it ends in its header");
  uint64_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i)
    length |= uint64_t{static_cast<unsigned char>(text[kVersionEnd + i])} << (8 * i);
  Prefix prefix;
  prefix.bytes = kVersionEnd + length_bytes + length;
  if (text.size() < prefix.bytes) return damaged(path, "it ends in its header");
  HeaderReader reader(text.substr(kVersionEnd + length_bytes, length));
  if (const auto problem = reader.read(prefix.header))
    return damaged(path, fmt::format("in its header, {}", *problem));
  return prefix;
}

// bool takes 1 byte there and 4 in a buffer.
ValueBytes widened_bools(std::span<const std::byte> file) {
  ValueBytes bytes(file.size() * ir::bytes_of(ir::Type::Bool));
  for (size_t i = 0; i < file.size(); ++i)
    store_element(ir::Type::Bool, bytes, i, file[i] != std::byte{0} ? 1 : 0);
  return bytes;
}

}  // namespace

ValueResult from_npy(const ValueSpec& spec, const std::string& path, ValueBytes file) {
  VYRE_TRY_ASSIGN(const auto prefix,
                  read_prefix(path, {reinterpret_cast<const char*>(file.data()), file.size()}));
  const Header& header = prefix.header;
  if (auto failure = check_type(spec, path, header)) return std::unexpected(std::move(*failure));
  const auto long_sides = std::count_if(header.shape.begin(), header.shape.end(),
                                        [](uint64_t side) { return side > 1; });
  // With one side longer than 1 both orders are the same.
  if (header.fortran_order && long_sides > 1) {
    return bad_value(fmt::format("{} is in Fortran order (columns first), and buffers are in C "
                                 "order (rows first)",
                                 path),
                     "save it as numpy.ascontiguousarray(array)");
  }
  const bool is_bool = spec.element == ir::Type::Bool;
  const uint64_t size = is_bool ? 1 : ir::bytes_of(spec.element);
  const uint64_t held = file.size() - prefix.bytes;
  const auto count = element_count(header.shape);
  if (!count || *count > UINT64_MAX / size || *count * size != held) {
    return damaged(path, fmt::format("its header promises {} elements of {}, and {} bytes follow",
                                     count ? fmt::format("{}", *count) : "more than 2^64",
                                     npy_type(spec.element).name, held));
  }
  if (auto failure = check_count(spec, *count, path)) return std::unexpected(std::move(*failure));
  if (is_bool) return widened_bools(std::span(file).subspan(prefix.bytes));
  file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(prefix.bytes));
  return file;
}

std::string to_npy(const ArrayView& array) {
  const NpyType& type = npy_type(array.element);
  const std::string shape = array.shape
                                ? fmt::format("({}, {})", array.shape->height, array.shape->width)
                                : fmt::format("({},)", array.count());
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                                   type.descr.ends_with('1') ? '|' : '<', type.descr, shape);
  // The elements start at a multiple of 64 bytes, as the format requires; a line feed ends the
  // header.
  constexpr size_t kBefore = 10;
  header.append(63 - (kBefore + header.size()) % 64, ' ');
  header += '\n';
  std::string file(kMagic);
  file += {'\x01', '\0', static_cast<char>(header.size() & 0xff),
           static_cast<char>(header.size() >> 8)};
  file += header;
  if (array.element != ir::Type::Bool) {
    file.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
    return file;
  }
  for (uint64_t i = 0; i < array.count(); ++i)
    file += load_element(array.element, array.bytes, i) != 0 ? '\x01' : '\0';
  return file;
}

}  // namespace vyre::cli
