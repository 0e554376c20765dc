// SPDX-License-Identifier: Apache-2.0
// Buffer declarations and their attributes.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "text/parser.hpp"

namespace vyre::text {

namespace {

constexpr std::array kAttributes = std::to_array<std::string_view>(
    {"binding", "align", "count", "range", "live_out", "locality", "coalesce"});
constexpr std::string_view kAttributeHelp =
    "use @binding(n) @align(n) @count(n) @range(a .. b) @live_out "
    "@locality(streaming|temporal|random) @coalesce(x|y|z)";

}  // namespace

void Parser::parse_buffer(Items&) {
  advance();
  const Token name = parse_new_name("buffer");
  if (panicking_) return;
  const uint32_t index = declared_index(name);
  ir::Buffer buffer;
  if (index != ir::ExprId::kNone) buffer = program_.buffers[index];
  parse_buffer_rest(buffer);
  ++buffers_seen_;
  if (index != ir::ExprId::kNone) program_.buffers[index] = std::move(buffer);
}

// What follows the name of a buffer.
void Parser::parse_buffer_rest(ir::Buffer& buffer) {
  const Token after_name = tok_;
  expect(TokenKind::Colon, "and an element type after the name of a buffer");
  if (const auto type = parse_type(true)) buffer.element = *type;
  if (!buffer.scalar) parse_shape(buffer);
  uint32_t seen = 0;
  while (!panicking_ && at(TokenKind::At)) parse_attribute(buffer, seen);
  expect_semicolon();
  // What could not be read may have been its size.
  if (panicking_ && !buffer.count.valid() && buffer.axes.empty() && !buffer.scalar)
    buffer.count = poison(after_name).id;
}

// `[]`, `[n]` or `[h, w]`.
void Parser::parse_shape(ir::Buffer& buffer) {
  if (!panicking_ && !at(TokenKind::LBracket)) {
    unexpected("`[`", "write `[]` after the element type, or `[n]` for a number of elements");
  }
  const Token bracket = tok_;
  if (!panicking_) advance();
  if (!panicking_ && !at(TokenKind::RBracket)) parse_lengths(bracket, buffer.count, buffer.axes);
  expect_close(TokenKind::RBracket, bracket);
}

// One length, or one for each axis.
void Parser::parse_lengths(const Token& at_token, ir::ExprId& count, ir::Range& axes) {
  std::vector<ir::ExprId> lengths;
  do {
    lengths.push_back(parse_expr());
  } while (!panicking_ && accept(TokenKind::Comma));
  if (lengths.size() > ir::kMaxAxes) {
    report(Code::BadShape, at_token, fmt::format("{} axes", lengths.size()),
           fmt::format("use at most {} axes", ir::kMaxAxes));
    lengths.resize(1);
  }
  if (lengths.size() == 1)
    count = lengths[0];
  else
    axes = program_.add_values(lengths);
}

void Parser::parse_attribute(ir::Buffer& buffer, uint32_t& seen) {
  advance();
  if (!at(TokenKind::Name)) {
    unexpected("the name of an attribute", std::string(kAttributeHelp));
    return;
  }
  const auto* const row = std::find(kAttributes.begin(), kAttributes.end(), tok_.text);
  if (row == kAttributes.end()) {
    skip_attribute(buffer);
    return;
  }
  const Token name = tok_;
  const uint32_t bit = 1u << (row - kAttributes.begin());
  const bool repeated = (std::exchange(seen, seen | bit) & bit) != 0;
  if (repeated) {
    report(Code::BadAttribute, name,
           fmt::format("the attribute `@{}` of buffer {} is given twice", name.text,
                       quoted(buffer.name)),
           "keep one of the two");
  }
  ir::Buffer ignored;
  ir::Buffer& target = repeated ? ignored : buffer;
  advance();
  if (name.text != "live_out") {
    parse_attribute_value(target, name);
    return;
  }
  target.live_out = true;
  if (accept(TokenKind::LParen)) {
    report(Code::BadAttribute, name, "`@live_out` takes no argument",
           "write `@live_out` without parentheses");
    skip_expression();
    accept(TokenKind::RParen);
  }
}

// An unknown one is no syntax error: the rest of the declaration is read as usual.
void Parser::skip_attribute(ir::Buffer& buffer) {
  report(Code::BadAttribute, tok_,
         fmt::format("unknown attribute {}", quoted(fmt::format("@{}", tok_.text))),
         std::string(kAttributeHelp));
  // It may have been meant as the size of an output.
  const bool output = buffer.kind == ir::BufferKind::Out ||
                      buffer.kind == ir::BufferKind::WriteOnly ||
                      buffer.kind == ir::BufferKind::Scratch;
  if (output && !buffer.size.valid()) buffer.size = poison(tok_).id;
  advance();
  if (!accept(TokenKind::LParen)) return;
  do {
    skip_expression();
  } while (accept(TokenKind::Comma) || accept(TokenKind::DotDot));
  accept(TokenKind::RParen);
}

void Parser::parse_attribute_value(ir::Buffer& buffer, const Token& name) {
  const Token paren = tok_;
  if (!accept(TokenKind::LParen)) {
    report(Code::BadAttribute, name, fmt::format("`@{}` needs an argument", name.text),
           std::string(kAttributeHelp));
    if (name.text == "count") buffer.size = poison(name).id;
    return;
  }
  if (name.text == "binding") buffer.binding = parse_expr();
  if (name.text == "align") buffer.align = parse_expr();
  if (name.text == "count") buffer.size = parse_expr();
  if (name.text == "range") parse_range(buffer);
  if (name.text == "locality") parse_locality(buffer);
  if (name.text == "coalesce") parse_coalesce(buffer);
  if (!panicking_ && (at(TokenKind::Comma) || at(TokenKind::DotDot))) {
    report(Code::BadAttribute, name, fmt::format("`@{}` takes one argument", name.text),
           std::string(kAttributeHelp));
    while (accept(TokenKind::Comma) || accept(TokenKind::DotDot)) skip_expression();
  }
  expect_close(TokenKind::RParen, paren);
}

void Parser::parse_range(ir::Buffer& buffer) {
  const Token start = tok_;
  buffer.range_first = parse_expr();
  if (!panicking_ && !at(TokenKind::DotDot)) {
    report(Code::BadAttribute, start, "`@range` takes a first and a last byte",
           "write `@range(a .. b)`");
    skip_expression();
    while (accept(TokenKind::Comma)) skip_expression();
    buffer.range_first = {};
    return;
  }
  if (panicking_) {
    buffer.range_first = {};
    return;
  }
  advance();
  buffer.range_last = parse_expr();
}

void Parser::parse_locality(ir::Buffer& buffer) {
  for (const ir::Locality locality :
       {ir::Locality::Streaming, ir::Locality::Temporal, ir::Locality::Random}) {
    if (!at_word(ir::name_of(locality))) continue;
    buffer.locality = locality;
    advance();
    return;
  }
  report(Code::BadAttribute, tok_, fmt::format("`@locality` does not know {}", describe(tok_)),
         "use streaming, temporal or random");
  skip_expression();
}

void Parser::parse_coalesce(ir::Buffer& buffer) {
  const size_t axis = at(TokenKind::Name) && tok_.text.size() == 1
                          ? std::string_view("xyz").find(tok_.text)
                          : std::string_view::npos;
  if (axis == std::string_view::npos) {
    report(Code::BadAttribute, tok_, fmt::format("`@coalesce` does not know {}", describe(tok_)),
           "use x, y or z");
    skip_expression();
    return;
  }
  buffer.coalesce_axis = static_cast<uint8_t>(axis);
  advance();
}

}  // namespace vyre::text
