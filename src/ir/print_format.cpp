// SPDX-License-Identifier: Apache-2.0
#include "ir/print_format.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace vyre::ir {

namespace {

// What a spec says, as far as it decides whether it fits a type.
struct Spec {
  bool aligned = false;
  bool sign = false;
  bool alternate = false;
  bool zero = false;
  uint32_t width = 0;
  std::optional<uint32_t> precision;
  char type = 0;
};

constexpr uint32_t kMostWidth = 255;

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^';
}

std::optional<uint32_t> number(std::string_view& rest) {
  uint32_t value = 0;
  size_t digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') {
    value = std::min(value * 10 + static_cast<uint32_t>(rest[digits] - '0'), kMostWidth + 1);
    ++digits;
  }
  rest.remove_prefix(digits);
  return digits != 0 ? std::optional(value) : std::nullopt;
}

bool take(std::string_view& rest, std::string_view any) {
  if (rest.empty() || any.find(rest.front()) == std::string_view::npos) return false;
  rest.remove_prefix(1);
  return true;
}

// None: it does not follow the grammar.
std::optional<Spec> read_spec(std::string_view rest) {
  Spec spec;
  // Any printable character of ASCII fills; fmt takes no braces there.
  if (rest.size() >= 2 && is_align(rest[1]) && rest[0] >= ' ' && rest[0] <= '~' && rest[0] != '{' &&
      rest[0] != '}') {
    rest.remove_prefix(2);
    spec.aligned = true;
  } else {
    spec.aligned = take(rest, "<>^");
  }
  spec.sign = take(rest, "+- ");
  spec.alternate = take(rest, "#");
  spec.zero = take(rest, "0");
  spec.width = number(rest).value_or(0);
  if (take(rest, ".")) {
    spec.precision = number(rest);
    if (!spec.precision) return std::nullopt;
  }
  if (!rest.empty() &&
      std::string_view("dxXbBoaAeEfFgGs").find(rest.front()) != std::string_view::npos) {
    spec.type = rest.front();
    rest.remove_prefix(1);
  }
  if (!rest.empty() || spec.width > kMostWidth || spec.precision.value_or(0) > kMostWidth)
    return std::nullopt;
  return spec;
}

bool takes_type(char letter, Type type) {
  switch (letter) {
    case 0: return true;
    case 's': return type == Type::Bool;
    case 'd':
    case 'x':
    case 'X':
    case 'b':
    case 'B':
    case 'o': return type == Type::Bool || is_integer(type);
    default: return is_float(type);
  }
}

template <class T>
std::string formatted(std::string_view spec, T value) {
  std::string pattern = "{:";
  pattern += spec;
  pattern += '}';
  return fmt::vformat(pattern, fmt::make_format_args(value));
}

std::string formatted(std::string_view spec, Type type, uint64_t bits) {
  switch (type) {
    case Type::Bool: {
      const bool as_number = !spec.empty() && std::string_view("dxXbBo").contains(spec.back());
      return as_number ? formatted(spec, bits != 0 ? 1 : 0) : formatted(spec, bits != 0);
    }
    // As signed values, since fmt writes signs before no others.
    case Type::U32:
    case Type::U8:
    case Type::U16: return formatted(spec, static_cast<int64_t>(static_cast<uint32_t>(bits)));
    case Type::I32:
    case Type::I8:
    case Type::I16: return formatted(spec, static_cast<int32_t>(static_cast<uint32_t>(bits)));
    case Type::U64: return formatted(spec, static_cast<__int128>(bits));
    case Type::I64: return formatted(spec, static_cast<int64_t>(bits));
    case Type::F32:
    case Type::F16:
    case Type::BF16: {
      const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
      // The bits of a NaN that arithmetic gives are unspecified, its sign among them.
      return formatted(spec, value != value ? std::bit_cast<float>(0x7fc00000U) : value);
    }
    case Type::F64: {
      const auto value = std::bit_cast<double>(bits);
      return formatted(spec,
                       value != value ? std::bit_cast<double>(uint64_t{0x7ff8} << 48) : value);
    }
  }
  return {};
}

}  // namespace

PrintFormat parse_format(std::string_view format, FormatProblem& problem) {
  PrintFormat parsed;
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    const bool twice = i + 1 < format.size() && format[i + 1] == c;
    if ((c == '{' || c == '}') && twice) {
      text += c;
      ++i;
    } else if (c == '}') {
      problem = {"the format has a `}` without a `{`", "write `}}` for a brace in the text"};
      return parsed;
    } else if (c == '{') {
      const size_t end = format.find('}', i);
      if (end == std::string_view::npos) {
        problem = {"the format has a `{` without a `}`", "write `{{` for a brace in the text"};
        return parsed;
      }
      const std::string_view inside = format.substr(i + 1, end - i - 1);
      if (!inside.empty() && inside.front() != ':') {
        problem = {fmt::format("the format has `{{{}}}`, but arguments have no numbers or names",
                               inside.substr(0, 40)),
                   "write `{}` or `{:spec}` for each argument, in order; `{{` for a brace"};
        return parsed;
      }
      parsed.pieces.push_back(
          {std::exchange(text, {}), std::string(inside.substr(inside.empty() ? 0 : 1))});
      i = end;
    } else {
      text += c;
    }
  }
  parsed.rest = std::move(text);
  return parsed;
}

FormatProblem check_spec(std::string_view spec, Type type) {
  const auto read = read_spec(spec);
  if (!read)
    return {fmt::format("`{{:{}}}` is no format of a number", spec.substr(0, 40)),
            "write [[fill]align][sign][#][0][width][.precision][type], with literal numbers up to "
            "255, as in `{:>8.3f}` or `{:#010x}`"};
  if (!takes_type(read->type, type))
    return {
        fmt::format("`{{:{}}}` does not fit a value of type {}", spec.substr(0, 40), name_of(type)),
        type == Type::Bool ? "use `{}`, or `{:d}` for 0 and 1"
        : is_float(type)   ? "use one of a A e E f F g G, or none"
                           : "use one of d x X b B o, or none; or convert the value with `as`"};
  if (read->precision && !is_float(type))
    return {fmt::format("`{{:{}}}` has a precision, but the value is {}", spec.substr(0, 40),
                        name_of(type)),
            "leave out the precision, or convert the value with `as f32`"};
  const bool as_text = type == Type::Bool && (read->type == 0 || read->type == 's');
  if (as_text && (read->sign || read->alternate || read->zero))
    return {fmt::format("`{{:{}}}` has a sign, # or 0, but a bool is written as a word",
                        spec.substr(0, 40)),
            "leave them out, or use `d` for 0 and 1"};
  return {};
}

std::string format_text(std::string_view format, std::span<const Type> types,
                        std::span<const uint64_t> bits) {
  FormatProblem problem;
  const PrintFormat parsed = parse_format(format, problem);
  std::string text;
  for (size_t i = 0; i < parsed.pieces.size() && i < types.size() && i < bits.size(); ++i) {
    text += parsed.pieces[i].text;
    text += formatted(parsed.pieces[i].spec, types[i], bits[i]);
  }
  return text + parsed.rest;
}

}  // namespace vyre::ir
