// SPDX-License-Identifier: Apache-2.0
// Statements that concern more than one lane: barriers, fixpoints, copies, traps and collectives.
#include <fmt/format.h>

#include "text/number.hpp"
#include "text/parser.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {

void Parser::parse_barrier(Items& items) {
  const Token keyword = tok_;
  advance();
  for (const ir::Scope scope : {ir::Scope::Subgroup, ir::Scope::Workgroup, ir::Scope::Grid}) {
    if (!at_word(ir::name_of(scope))) continue;
    advance();
    items.push_back(program_.add(ir::Stmt{ir::Barrier{scope}}, loc(keyword)));
    expect_semicolon();
    return;
  }
  unexpected("the scope of the barrier",
             "write `barrier subgroup;`, `barrier workgroup;` or `barrier grid;`");
}

void Parser::parse_fixpoint(Items& items) {
  const Token keyword = tok_;
  advance();
  expect_word("max", "and the largest number of passes");
  ir::Fixpoint statement;
  statement.max_passes = parse_expr();
  expect_word("over", "and the watched buffers");
  const Token paren = tok_;
  std::vector<ir::Memory> buffers;
  if (expect(TokenKind::LParen, "before the watched buffers")) {
    do {
      if (const ir::Memory memory = parse_memory("fixpoint"); memory.valid())
        buffers.push_back(memory);
    } while (!panicking_ && accept(TokenKind::Comma));
    expect_close(TokenKind::RParen, paren);
  }
  if (!recover_to_block()) return;
  statement.buffers = program_.add_memories(buffers);
  statement.body = parse_block();
  items.push_back(program_.add(ir::Stmt{statement}, loc(keyword)));
}

// A buffer, table or array by its name, without an index.
ir::Memory Parser::parse_memory(std::string_view user) {
  if (panicking_) return {};
  if (!at(TokenKind::Name)) {
    unexpected("the name of a buffer", fmt::format("`{}` takes buffers by their names", user));
    return {};
  }
  const Token name = tok_;
  const Symbol symbol = resolve(name, false);
  advance();
  if (symbol.kind == Symbol::Kind::Unknown) return {};
  if (const auto memory = memory_of(symbol)) return *memory;
  Diagnostic* const error = report(
      Code::WrongKindOfName, name,
      fmt::format("{} is {}, but `{}` takes a buffer", quoted(name.text), kind_of(symbol), user),
      "name a buffer, without an index");
  note_declaration(error, symbol);
  return {};
}

std::optional<uint16_t> Parser::parse_tag() {
  if (panicking_) return std::nullopt;
  const Token first = tok_;
  if (at(TokenKind::Int) && (next_.kind == TokenKind::Comma || next_.kind == TokenKind::RParen)) {
    advance();
    if (first.bad) return std::nullopt;
    const auto number = read_number(first.text);
    if (number && number->magnitude <= ir::kMaxTag &&
        (!number->suffix || ir::is_integer(*number->suffix)))
      return static_cast<uint16_t>(number->magnitude);
  } else {
    skip_expression();
    if (tok_.text.data() == first.text.data()) {
      unexpected("a tag", "write a number from 0 to 65535");
      return std::nullopt;
    }
  }
  report(Code::BadTag, first,
         fmt::format("the tag {} is not a whole number from 0 to 65535", quoted(first.text)),
         "write a literal such as `7`");
  return std::nullopt;
}

bool Parser::parse_tag_call(std::optional<uint16_t>& tag) {
  const Token word = tok_;
  advance();
  const Token paren = tok_;
  if (!expect(TokenKind::LParen, fmt::format("after `{}`", word.text))) return false;
  tag = parse_tag();
  return expect_close(TokenKind::RParen, paren);
}

void Parser::parse_async(Items& items) {
  const Token keyword = tok_;
  advance();
  expect_word("copy", "after `async`");
  const Token paren = tok_;
  if (!expect(TokenKind::LParen, "after `async copy`")) return;
  ir::AsyncCopy copy;
  const std::optional<uint16_t> tag = parse_tag();
  expect(TokenKind::Comma, "and the destination");
  copy.dst = parse_memory("async copy");
  expect(TokenKind::Comma, "and the first element of the destination");
  copy.dst_index = parse_expr();
  expect(TokenKind::Comma, "and the source");
  copy.src = parse_memory("async copy");
  expect(TokenKind::Comma, "and the first element of the source");
  copy.src_index = parse_expr();
  expect(TokenKind::Comma, "and the number of elements");
  copy.count = parse_expr();
  if (!expect_close(TokenKind::RParen, paren)) return;
  expect_semicolon();
  copy.tag = tag.value_or(0);
  if (tag && copy.dst.valid() && copy.src.valid())
    items.push_back(program_.add(ir::Stmt{copy}, loc(keyword)));
}

void Parser::parse_wait(Items& items) {
  const Token keyword = tok_;
  std::optional<uint16_t> tag;
  if (!parse_tag_call(tag)) return;
  expect_semicolon();
  if (tag) items.push_back(program_.add(ir::Stmt{ir::Wait{*tag}}, loc(keyword)));
}

void Parser::parse_resume(Items& items) {
  const Token keyword = tok_;
  std::optional<uint16_t> tag;
  if (!parse_tag_call(tag)) return;
  expect_semicolon();
  if (tag) items.push_back(program_.add(ir::Stmt{ir::Resume{*tag}}, loc(keyword)));
}

void Parser::parse_trap(Items& items) {
  const Token keyword = tok_;
  advance();
  const Token paren = tok_;
  if (!expect(TokenKind::LParen, "after `trap`")) return;
  const std::optional<uint16_t> tag = parse_tag();
  expect(TokenKind::Comma, "and the value that is reported");
  const ir::ExprId value = parse_expr();
  if (!expect_close(TokenKind::RParen, paren)) return;
  expect_semicolon();
  if (tag) items.push_back(program_.add(ir::Stmt{ir::Trap{*tag, value}}, loc(keyword)));
}

// `print(` and `assert(`, unless the program has a function of that name.
bool Parser::at_print() const {
  if ((!at_word("print") && !at_word("assert")) || next_.kind != TokenKind::LParen) return false;
  const Found found = scopes_.find(tok_.text);
  return found.where != Found::Where::Visible || found.symbol.kind != Symbol::Kind::Fn;
}

void Parser::parse_print(Items& items) {
  const Token keyword = tok_;
  const bool is_assert = keyword.text == "assert";
  advance();
  const Token paren = tok_;
  advance();
  ir::ExprId condition;
  if (is_assert) {
    condition = parse_expr();
    expect(TokenKind::Comma, "and a text after the condition");
  }
  std::string format;
  bool readable = false;
  if (!panicking_ && !at(TokenKind::String)) {
    unexpected("a text in quotes",
               is_assert ? "say what is wrong, as in `assert(x < n, \"x = {}\", x);`"
                         : "write a text with `{}` for each value, as in `print(\"x = {}\", x);`");
  } else if (!panicking_) {
    readable = !tok_.bad;
    if (readable) format = unescape(tok_.text);
    advance();
  }
  std::vector<ir::ExprId> args;
  while (!panicking_ && accept(TokenKind::Comma)) args.push_back(parse_expr());
  if (!expect_close(TokenKind::RParen, paren)) return;
  expect_semicolon();
  if (!readable) return;
  const ir::Range list = program_.add_values(args);
  items.push_back(
      is_assert
          ? program_.add(ir::Stmt{ir::Assert{condition, std::move(format), list}}, loc(keyword))
          : program_.add(ir::Stmt{ir::Print{std::move(format), list}}, loc(keyword)));
}

void Parser::parse_reduce(ir::ReduceOp& op, std::string_view collective) {
  if (panicking_) return;
  const auto named = at(TokenKind::Name) ? ir::reduce_from_name(tok_.text) : std::nullopt;
  if (named) {
    op = *named;
    advance();
    return;
  }
  report(Code::BadCollective, tok_,
         fmt::format("`{}` does not know the operation {}", collective, describe(tok_)),
         "use add, min, max, and, or or xor");
  skip_expression();
}

void Parser::parse_collective(Items& items) {
  const Token keyword = tok_;
  ir::Collective collective;
  collective.op = *ir::collective_from_name(keyword.text);
  const bool has_dst = collective.op == ir::CollectiveOp::AllGather ||
                       collective.op == ir::CollectiveOp::ReduceScatter;
  const bool reduces = collective.op == ir::CollectiveOp::AllReduce ||
                       collective.op == ir::CollectiveOp::ReduceScatter;
  const size_t needed = has_dst && reduces ? 3 : 2;
  advance();
  const Token paren = tok_;
  if (!expect(TokenKind::LParen, fmt::format("after `{}`", keyword.text))) return;
  size_t given = 0;
  bool complete = true;
  if (!at(TokenKind::RParen)) {
    do {
      const size_t position = given++;
      if (position == 0) {
        collective.src = parse_memory(keyword.text);
      } else if (position == 1 && has_dst) {
        collective.dst = parse_memory(keyword.text);
      } else if (position + 1 == needed && reduces) {
        parse_reduce(collective.reduce, keyword.text);
      } else if (position < needed) {
        collective.root = parse_expr();
      } else if (position == needed) {
        collective.group = parse_expr();
      } else {
        skip_expression();
      }
    } while (!panicking_ && accept(TokenKind::Comma));
  }
  if (!expect_close(TokenKind::RParen, paren)) return;
  if (given < needed || given > needed + 1) {
    report(
        Code::WrongArgumentCount, keyword,
        fmt::format("`{}` takes {} or {} arguments, {} given", keyword.text, needed, needed + 1,
                    given),
        has_dst
            ? (reduces
                   ? "write `reduce_scatter(src, dst, op)`, with a group number after it if you "
                     "need one"
                   : "write `all_gather(src, dst)`, with a group number after it if you need one")
            : (reduces
                   ? "write `all_reduce(b, op)`, with a group number after it if you need one"
                   : "write `broadcast(b, root)`, with a group number after it if you need one"));
    complete = false;
  }
  expect_semicolon();
  if (complete && collective.src.valid() && (!has_dst || collective.dst.valid()))
    items.push_back(program_.add(ir::Stmt{collective}, loc(keyword)));
}

// `swap` is no reserved word: a function of that name is called.
bool Parser::at_swap() const {
  if (!at_word("swap") || next_.kind != TokenKind::LParen) return false;
  const Found found = scopes_.find(tok_.text);
  return found.where != Found::Where::Visible || found.symbol.kind != Symbol::Kind::Fn;
}

void Parser::parse_swap(Items& items) {
  const Token keyword = tok_;
  advance();
  const Token paren = tok_;
  if (!expect(TokenKind::LParen, "after `swap`")) return;
  std::vector<ir::Memory> buffers;
  size_t given = 0;
  if (!at(TokenKind::RParen)) {
    do {
      if (++given > 2) {
        skip_expression();
      } else if (const ir::Memory memory = parse_memory("swap"); memory.valid()) {
        buffers.push_back(memory);
      }
    } while (!panicking_ && accept(TokenKind::Comma));
  }
  if (!expect_close(TokenKind::RParen, paren)) return;
  if (given != 2)
    report(Code::WrongArgumentCount, keyword,
           fmt::format("`swap` takes 2 arguments, {} given", given),
           "write `swap(a, b)` with the names of two buffers");
  expect_semicolon();
  if (given == 2 && buffers.size() == 2)
    items.push_back(program_.add(ir::Stmt{ir::Swap{buffers[0], buffers[1]}}, loc(keyword)));
}

}  // namespace vyre::text
