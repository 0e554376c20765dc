// SPDX-License-Identifier: Apache-2.0
// The formats of print() and assert(): texts with `{}` or `{:spec}` for each argument, in which
// `{{` and `}}` stand for braces. A spec is one of fmt for numbers: [[fill]align][sign][#][0]
// [width][.precision][type], all of it literal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/ir/types.hpp"

namespace vyre::ir {

struct PrintFormat {
  // By argument: the text before it, and what stands behind its `:`.
  struct Piece {
    std::string text;
    std::string spec;
  };
  std::vector<Piece> pieces;
  std::string rest;
};

struct FormatProblem {
  std::string message;  // empty: there is none
  std::string fix;
};

// `problem` is set if the text is no format; what was read so far is given.
PrintFormat parse_format(std::string_view format, FormatProblem& problem);
// Whether a value of the type can be written like that.
FormatProblem check_spec(std::string_view spec, Type type);

// The text of a format that has been checked against these types. Bits of values, zero-extended.
std::string format_text(std::string_view format, std::span<const Type> types,
                        std::span<const uint64_t> bits);

}  // namespace vyre::ir
