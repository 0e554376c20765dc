// SPDX-License-Identifier: Apache-2.0
#include "text/layout.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "text/layout_spacing.hpp"
#include "text/lexer.hpp"

namespace vyre::text {

namespace {

constexpr uint32_t kIndent = 2;
constexpr uint32_t kContinuation = 4;
// Wider names and lines stay out of alignment, so that one of them does not push all others aside.
constexpr uint32_t kMaxAlignedName = 40;

constexpr uint32_t kBreakBeforeAttribute = 1;

struct Piece {
  std::string_view text;
  uint32_t width = 0;
  uint32_t spaces = 0;  // before it
  uint32_t break_rank = 0;
  bool comment = false;
  bool own_line = false;  // of a comment
};

// A statement, a block opener or closer, or a comment that stands alone.
struct Line {
  std::vector<Piece> pieces;
  uint32_t indent = 0;
  bool blank_before = false;
  bool opens = false;
  bool closes = false;
  bool declares_buffer = false;
};

struct Commented {
  std::string text;
  uint32_t width = 0;
  uint32_t indent = 0;
  std::string_view comment;
};

bool is_buffer_kind(std::string_view word) {
  static constexpr std::array kKinds = std::to_array<std::string_view>(
      {"in", "uniform", "inout", "out", "writeonly", "shared", "persistent", "scratch"});
  return std::find(kKinds.begin(), kKinds.end(), word) != kKinds.end();
}

// Lines in, text out: aligns runs of lines and breaks long ones.
class Writer {
 public:
  void put(Line line);
  std::string finish();

 private:
  void flush_declarations();
  void flush_comments();
  void write(const Line& line);
  void write_code(const Line& line, size_t first, size_t last, bool continued,
                  std::string_view comment);
  void write_physical(const Line& line, size_t first, size_t last, uint32_t indent,
                      std::string_view comment);

  std::string out_;
  std::vector<Line> declarations_;    // buffers in consecutive lines
  std::vector<Commented> commented_;  // consecutive lines with a comment at the end
  bool after_opener_ = true;
};

void Writer::put(Line line) {
  if (!declarations_.empty() && (!line.declares_buffer || line.blank_before)) flush_declarations();
  if (line.declares_buffer) {
    declarations_.push_back(std::move(line));
  } else {
    write(line);
  }
}

std::string Writer::finish() {
  flush_declarations();
  flush_comments();
  return std::move(out_);
}

void Writer::flush_declarations() {
  uint32_t kind = 0;
  uint32_t name = 0;
  for (const Line& line : declarations_) {
    kind = std::max(kind, line.pieces[0].width);
    if (line.pieces[1].width <= kMaxAlignedName) name = std::max(name, line.pieces[1].width);
  }
  for (Line& line : declarations_) {
    line.pieces[1].spaces = 1 + kind - line.pieces[0].width;
    line.pieces[2].spaces = 1 + (name > line.pieces[1].width ? name - line.pieces[1].width : 0);
    write(line);
  }
  declarations_.clear();
}

void Writer::flush_comments() {
  uint32_t column = 0;
  for (const Commented& line : commented_)
    if (line.width <= kMaxColumns) column = std::max(column, line.width);
  for (const Commented& line : commented_) {
    out_ += line.text;
    out_.append((line.width < column ? column - line.width : 0) + 2, ' ');
    out_ += line.comment;
    out_ += '\n';
  }
  commented_.clear();
}

void Writer::write(const Line& line) {
  if (line.blank_before && !after_opener_ && !line.closes) {
    flush_comments();
    out_ += '\n';
  }
  if (line.closes) flush_comments();
  after_opener_ = line.opens;
  size_t first = 0;
  bool between_branches = line.closes;  // after the `}` of a block, before a possible `else`
  for (size_t i = 0; i < line.pieces.size(); ++i) {
    const Piece& piece = line.pieces[i];
    if (!piece.comment) {
      between_branches = between_branches && i == 0;
      continue;
    }
    const bool continued = first > 0;
    if (!piece.own_line) {
      write_code(line, first, i, continued, piece.text);
    } else {
      if (first < i) write_code(line, first, i, continued, {});
      const bool alone = i == 0 && line.pieces.size() == 1;
      write_physical(line, i, i + 1, line.indent + (alone || between_branches ? 0 : kContinuation),
                     {});
    }
    first = i + 1;
  }
  if (first < line.pieces.size()) write_code(line, first, line.pieces.size(), first > 0, {});
}

// Pieces without comments between them; breaks where the rank is best among what fits.
void Writer::write_code(const Line& line, size_t first, size_t last, bool continued,
                        std::string_view comment) {
  uint32_t indent =
      line.indent + (continued && line.pieces[first].text != "else" ? kContinuation : 0);
  while (true) {
    uint32_t column = indent;
    uint32_t best_rank = UINT32_MAX;
    size_t best = last;
    size_t i = first;
    for (; i < last; ++i) {
      const Piece& piece = line.pieces[i];
      const uint32_t width = piece.width + (i == first ? 0 : piece.spaces);
      if (column + width > kMaxColumns && best != last) break;
      column += width;
      if (piece.break_rank == 0 || i + 1 == last) continue;
      if (piece.break_rank <= best_rank) {
        best_rank = piece.break_rank;
        best = i;
      }
      if (column > kMaxColumns) {
        ++i;
        break;
      }
    }
    const bool fits = i == last && column <= kMaxColumns;
    if (fits || best == last) {
      write_physical(line, first, last, indent, comment);
      return;
    }
    write_physical(line, first, best + 1, indent, {});
    first = best + 1;
    indent = line.indent + kContinuation;
  }
}

void Writer::write_physical(const Line& line, size_t first, size_t last, uint32_t indent,
                            std::string_view comment) {
  std::string text(indent, ' ');
  uint32_t width = indent;
  for (size_t i = first; i < last; ++i) {
    const uint32_t spaces = i == first ? 0 : line.pieces[i].spaces;
    text.append(spaces, ' ');
    text += line.pieces[i].text;
    width += spaces + line.pieces[i].width;
  }
  if (comment.empty()) {
    flush_comments();
    out_ += text;
    out_ += '\n';
    return;
  }
  if (!commented_.empty() && commented_.back().indent != indent) flush_comments();
  commented_.push_back({std::move(text), width, indent, comment});
}

// Tokens in, lines out.
class Liner {
 public:
  explicit Liner(std::string_view source)
      : names_(static_names_of(source)), lexer_(source, {}, nullptr), spacing_(&names_) {}
  std::string run();

 private:
  void take(const Token& token);
  void take_comment(const Token& token);
  void add(const Token& token, const Spacing::Joint& joint);
  void finish_line();
  static Piece comment_piece(const Token& token);

  StaticNames names_;
  Lexer lexer_;
  Spacing spacing_;
  Writer writer_;
  Line line_;
  bool complete_ = false;  // line_ has its last token; only a comment on the same line may follow
  uint32_t indent_ = 0;
  std::vector<Token> held_;  // comments after a `}` that an `else` may follow
};

std::string Liner::run() {
  for (Token token = lexer_.next(); token.kind != TokenKind::End; token = lexer_.next()) {
    if (token.kind == TokenKind::Comment) {
      take_comment(token);
    } else {
      take(token);
    }
  }
  finish_line();
  return writer_.finish();
}

Piece Liner::comment_piece(const Token& token) {
  return {token.text, token.length, 0, 0, true, token.own_line};
}

void Liner::take_comment(const Token& token) {
  if (complete_ && token.own_line) {
    if (line_.closes) {
      held_.push_back(token);
      return;
    }
    finish_line();
  }
  if (line_.pieces.empty()) {
    line_.indent = indent_;
    line_.blank_before = token.blank_before;
    complete_ = true;
    line_.pieces.push_back(comment_piece(token));
    finish_line();
    return;
  }
  line_.pieces.push_back(comment_piece(token));
}

void Liner::take(const Token& token) {
  const bool continues =
      complete_ && line_.closes && token.kind == TokenKind::Name && token.text == "else";
  if (continues) {
    for (const Token& comment : held_) line_.pieces.push_back(comment_piece(comment));
    held_.clear();
    complete_ = false;
  } else if (complete_) {
    finish_line();
  }
  const Spacing::Joint joint = spacing_.next(token);
  if (token.kind == TokenKind::RBrace && !joint.in_table) {
    finish_line();
    indent_ -= indent_ > 0 ? kIndent : 0;
    add(token, joint);
    line_.closes = true;
    complete_ = true;
    return;
  }
  add(token, joint);
  if (token.kind == TokenKind::LBrace && !joint.in_table) {
    line_.opens = true;
    indent_ += kIndent;
    complete_ = true;
  } else if (token.kind == TokenKind::Semicolon || joint.ends_line) {
    complete_ = true;
  }
}

void Liner::add(const Token& token, const Spacing::Joint& joint) {
  if (line_.pieces.empty()) {
    line_.indent = indent_;
    line_.blank_before = token.blank_before;
  } else if (token.kind == TokenKind::At && line_.pieces.back().break_rank == 0) {
    line_.pieces.back().break_rank = kBreakBeforeAttribute;
  }
  line_.pieces.push_back(
      {token.text, token.length, joint.space ? 1u : 0u, joint.break_rank, false, false});
}

void Liner::finish_line() {
  if (!line_.pieces.empty()) {
    const std::vector<Piece>& pieces = line_.pieces;
    line_.declares_buffer = pieces.size() > 3 && is_buffer_kind(pieces[0].text) &&
                            !pieces[1].comment && pieces[2].text == ":";
    writer_.put(std::move(line_));
  }
  line_ = {};
  complete_ = false;
  std::vector<Token> comments;
  comments.swap(held_);
  for (const Token& comment : comments) {
    Line line;
    line.indent = indent_;
    line.blank_before = comment.blank_before;
    line.pieces.push_back(comment_piece(comment));
    writer_.put(std::move(line));
  }
}

}  // namespace

std::string layout(std::string_view source) {
  return Liner(source).run();
}

std::string layout_line(std::string_view source) {
  Lexer lexer(source, {}, nullptr);
  Spacing spacing;
  std::string out;
  for (Token token = lexer.next(); token.kind != TokenKind::End; token = lexer.next()) {
    if (spacing.next(token).space) out += ' ';
    out += token.text;
  }
  return out;
}

}  // namespace vyre::text
