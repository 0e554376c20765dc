// SPDX-License-Identifier: Apache-2.0
// The words of C for what a program names: types, constants, identifiers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vyre/ir/types.hpp"

namespace vyre::codegen::c {

// Of a value: "uint32_t", "float", "bool".
std::string_view value_type(ir::Type type);
// Of an element in memory: bool takes four bytes there, 16-bit floats are bits.
std::string_view element_type(ir::Type type);

// A constant of an arithmetic type, as an operand of any operator.
std::string constant(ir::Type type, uint64_t bits);
// "12u"
std::string number(uint64_t value);

// A name of the source with a suffix that no other name of its kind has: no keyword, macro or
// reserved identifier of C.
std::string identifier(std::string_view name, char kind, uint64_t index);

// Without the parentheses around the whole of it.
std::string_view bare(std::string_view text);

}  // namespace vyre::codegen::c
