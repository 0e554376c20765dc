// SPDX-License-Identifier: Apache-2.0
// zeros(n), ones(n), fill(n,x), iota(n), random(n,lo,hi).
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "cli/nearest.hpp"
#include "cli/values_forms.hpp"
#include "cli/values_number.hpp"
#include "cli/values_random.hpp"

namespace vyre::cli {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// name(argument, ...), blanks removed.
struct Call {
  std::string_view text;
  std::string name;
  std::vector<std::string_view> arguments;
};

using Fill = ValueResult (*)(const ValueSpec& spec, const ValueContext& context, const Call& call,
                             uint64_t count);

struct Generator {
  std::string_view name;
  std::string_view usage;
  size_t arguments;
  Fill fill;
};

std::unexpected<Failure> bad_argument(const Call& call, const NumberError& error) {
  return bad_value(fmt::format("in {}, {}", quoted_value(call.text), error.message), error.fix);
}

// Element i is bits_of(i); called once for each, in order.
template <class BitsOf>
ValueResult filled(const ValueSpec& spec, const ValueContext& context, uint64_t count,
                   const BitsOf& bits_of) {
  auto bytes = zeroed(spec, context, count);
  if (!bytes) return bytes;
  for (uint64_t first = 0; first < count; first += kValuesAtOnce) {
    if (auto failure = check_stop(spec, context)) return std::unexpected(std::move(*failure));
    const uint64_t end = std::min(count, first + kValuesAtOnce);
    for (uint64_t i = first; i < end; ++i) store_element(spec.element, *bytes, i, bits_of(i));
  }
  return bytes;
}

ValueResult repeated(const ValueSpec& spec, const ValueContext& context, uint64_t count,
                     uint64_t bits) {
  if (bits == 0) return zeroed(spec, context, count);
  return filled(spec, context, count, [&](uint64_t) { return bits; });
}

ValueResult zeros(const ValueSpec& spec, const ValueContext& context, const Call& /*call*/,
                  uint64_t count) {
  return zeroed(spec, context, count);
}

ValueResult ones(const ValueSpec& spec, const ValueContext& context, const Call& /*call*/,
                 uint64_t count) {
  return repeated(spec, context, count,
                  is_float_element(spec.element) ? float_bits(spec.element, 1) : 1);
}

ValueResult fill(const ValueSpec& spec, const ValueContext& context, const Call& call,
                 uint64_t count) {
  const auto bits = parse_element(spec.element, call.arguments[1]);
  if (!bits) return bad_argument(call, bits.error());
  return repeated(spec, context, count, *bits);
}

ValueResult iota(const ValueSpec& spec, const ValueContext& context, const Call& call,
                 uint64_t count) {
  // A float type holds every whole number up to 2^precision.
  const bool is_float = is_float_element(spec.element);
  const WideInteger last = is_float ? WideInteger{1} << float_format(spec.element).precision
                                    : integer_range(spec.element).high;
  if (count > last + 1) {
    return bad_value(
        fmt::format("{} counts up to {}, but {} holds each whole number only up to {}",
                    quoted_value(call.text), count - 1, ir::name_of(spec.element),
                    whole_text(last)),
        fmt::format("use at most iota({}), or a buffer of a larger type", whole_text(last + 1)));
  }
  return filled(spec, context, count, [&](uint64_t i) {
    return is_float ? float_bits(spec.element, static_cast<double>(i)) : i;
  });
}

std::unexpected<Failure> empty_range(const Call& call) {
  return bad_value(
      fmt::format("{} has an empty range, because {} is not less than {}", quoted_value(call.text),
                  quoted_value(call.arguments[1]), quoted_value(call.arguments[2])),
      "write the smaller bound first; the second bound itself is never drawn");
}

ValueResult random_integers(const ValueSpec& spec, const ValueContext& context, const Call& call,
                            uint64_t count) {
  const IntegerRange range = integer_range(spec.element);
  std::array<WideInteger, 2> bounds{};
  for (size_t i = 0; i < 2; ++i) {
    const auto bound = parse_whole(spec.element, call.arguments[i + 1]);
    if (!bound) return bad_argument(call, bound.error());
    bounds[i] = *bound;
  }
  // The second bound is not drawn, so that it may be one past the largest value.
  const auto [low, high] = bounds;
  if (low >= high) return empty_range(call);
  if (low < range.low || high > range.high + 1) {
    return bad_value(
        fmt::format("{} leaves the range of {}, which holds {} to {}", quoted_value(call.text),
                    ir::name_of(spec.element), whole_text(range.low), whole_text(range.high)),
        fmt::format("use bounds from {} to {}", whole_text(range.low), whole_text(range.high + 1)));
  }
  Random random(context.seed, spec.name);
  const auto width = static_cast<uint64_t>(high - low);  // 2^64 becomes 0, as below() requires it
  return filled(spec, context, count,
                [&](uint64_t) { return static_cast<uint64_t>(low) + random.below(width); });
}

// The smallest whole k with k * 2^exponent >= value.
int64_t steps_up_to(double value, int exponent) {
  const double steps = std::ceil(std::ldexp(value, -exponent));
  // A tiny value can scale to 0, and 0 steps would lie below it.
  return steps == 0 && value > 0 ? 1 : static_cast<int64_t>(steps);
}

// Every value is a whole multiple of one step, a power of two so small that the bound farther from
// zero still has at most `precision` bits when counted in steps. Then all multiples in the range
// are values of the type, drawing one is drawing a whole number, and no rounding can reach the
// second bound. The bound farther from zero is such a multiple and the other one differs from it,
// so there is always something to draw.
ValueResult random_floats(const ValueSpec& spec, const ValueContext& context, const Call& call,
                          uint64_t count) {
  std::array<double, 2> bounds{};
  for (size_t i = 0; i < 2; ++i) {
    const auto bits = parse_element(spec.element, call.arguments[i + 1]);
    if (!bits) return bad_argument(call, bits.error());
    bounds[i] = float_value(spec.element, *bits);
    if (!std::isfinite(bounds[i])) {
      return bad_value(fmt::format("{} has the bound {}, and only finite bounds make a range",
                                   quoted_value(call.text), quoted_value(call.arguments[i + 1])),
                       "use a finite number");
    }
  }
  const auto [low, high] = bounds;
  if (!(low < high)) return empty_range(call);
  const FloatFormat format = float_format(spec.element);
  int exponent = 0;
  const double farthest = std::max(std::fabs(low), std::fabs(high));
  // frexp gives a half for a power of two, which needs one bit less than its neighbours.
  if (std::frexp(farthest, &exponent) == 0.5) --exponent;
  exponent = std::max(exponent - format.precision, format.min_exponent - format.precision + 1);
  const int64_t first = steps_up_to(low, exponent);
  const int64_t end = steps_up_to(high, exponent);
  VYRE_CHECK(first < end);

  Random random(context.seed, spec.name);
  const auto width = static_cast<uint64_t>(end - first);
  return filled(spec, context, count, [&](uint64_t) {
    const int64_t steps = first + static_cast<int64_t>(random.below(width));
    return float_bits(spec.element, std::ldexp(static_cast<double>(steps), exponent));
  });
}

ValueResult random(const ValueSpec& spec, const ValueContext& context, const Call& call,
                   uint64_t count) {
  return is_float_element(spec.element) ? random_floats(spec, context, call, count)
                                        : random_integers(spec, context, call, count);
}

constexpr std::array<Generator, 5> kGenerators = {{
    {"zeros", "zeros(n)", 1, zeros},
    {"ones", "ones(n)", 1, ones},
    {"fill", "fill(n,x)", 2, fill},
    {"iota", "iota(n)", 1, iota},
    {"random", "random(n,lo,hi)", 3, random},
}};

std::unexpected<Failure> unknown_generator(const Call& call) {
  std::vector<std::string> names;
  names.reserve(kGenerators.size());
  for (const Generator& generator : kGenerators) names.emplace_back(generator.name);
  const std::string meant = nearest(call.name, names);
  std::string fix = "use zeros(n), ones(n), fill(n,x), iota(n) or random(n,lo,hi)";
  if (!meant.empty()) fix = fmt::format("write {}, or {}", meant, fix);
  return bad_value(fmt::format("there is no generator {}", quoted_value(call.name)),
                   std::move(fix));
}

std::expected<uint64_t, Failure> element_count(const ValueSpec& spec, const Call& call) {
  const std::string_view text = call.arguments[0];
  const auto count = parse_whole(ir::Type::U64, text);
  if (!count || *count < 0) {
    return bad_value(fmt::format("{} is not a number of elements in {}", quoted_value(text),
                                 quoted_value(call.text)),
                     "write a whole number such as 1024 or 1_000_000");
  }
  // Cut to what is refused anyway: 2^64 would become 0.
  const auto clamped = static_cast<uint64_t>(std::min<WideInteger>(*count, UINT64_MAX));
  if (auto failure = check_count(spec, clamped, quoted_value(call.text)))
    return std::unexpected(std::move(*failure));
  return clamped;
}

}  // namespace

bool is_generated(std::string_view text) {
  text = trimmed(text);
  const size_t open = text.find('(');
  if (open == std::string_view::npos) return false;
  const std::string_view name = trimmed(text.substr(0, open));
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  });
}

ValueResult from_generator(const ValueSpec& spec, std::string_view text,
                           const ValueContext& context) {
  Call call;
  call.text = trimmed(text);
  const size_t open = call.text.find('(');
  call.name = trimmed(call.text.substr(0, open));
  if (!call.text.ends_with(')')) {
    return bad_value(fmt::format("{} has no closing parenthesis at its end", quoted_value(text)),
                     "close it with `)`, and quote the value for the shell");
  }
  std::string_view rest = call.text.substr(open + 1, call.text.size() - open - 2);
  while (!trimmed(rest).empty() || !call.arguments.empty()) {
    const size_t comma = rest.find(',');
    call.arguments.push_back(trimmed(rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }

  const auto found = std::find_if(kGenerators.begin(), kGenerators.end(),
                                  [&](const Generator& g) { return g.name == call.name; });
  if (found == kGenerators.end()) return unknown_generator(call);
  if (call.arguments.size() != found->arguments) {
    return bad_value(fmt::format("{} has {} argument{}, and {} takes {}", quoted_value(call.text),
                                 call.arguments.size(), call.arguments.size() == 1 ? "" : "s",
                                 found->name, found->arguments),
                     fmt::format("write it as {}", found->usage));
  }
  VYRE_TRY_ASSIGN(const auto count, element_count(spec, call));
  return found->fill(spec, context, call, count);
}

}  // namespace vyre::cli
