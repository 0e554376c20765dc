// SPDX-License-Identifier: Apache-2.0
#include "lsp/names.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "vyre/ir/ops.hpp"

namespace vyre::lsp {

namespace {

using text::Token;
using text::TokenKind;
using Kind = Declaration::Kind;

constexpr std::array kBufferWords = std::to_array<std::string_view>(
    {"in", "uniform", "inout", "out", "writeonly", "shared", "persistent", "scratch"});

class Walker {
 public:
  Walker(const std::vector<Token>& tokens, std::string_view source, Names& names)
      : tokens_(tokens), source_(source), names_(names) {}

  void run() {
    if (tokens_.empty()) return;
    collect();
    for (uint32_t i = 0; i + 1 < tokens_.size(); ++i) visit(i);
    flush(static_cast<uint32_t>(tokens_.size() - 1));
    while (!blocks_.empty()) pop(source_.size());
    std::ranges::sort(names_.uses, {}, &Use::token);
  }

 private:
  struct Block {
    size_t mark = 0;                   // locals_ that are older
    uint32_t fn = Declaration::kNone;  // the function around the block
    bool header = false;               // of a function whose body has not begun
    size_t body = SIZE_MAX;            // of a function: its entry in Names::functions
  };
  struct Lambda {
    uint32_t last = 0;  // the token that ends it
    size_t mark = 0;
  };

  // ---- tokens
  [[nodiscard]] bool is(uint32_t i, TokenKind kind) const {
    return i < tokens_.size() && tokens_[i].kind == kind;
  }
  [[nodiscard]] bool is_word(uint32_t i, std::string_view word) const {
    return is(i, TokenKind::Name) && tokens_[i].text == word;
  }
  [[nodiscard]] size_t start_of(uint32_t i) const {
    return static_cast<size_t>(tokens_[i].text.data() - source_.data());
  }
  [[nodiscard]] size_t end_of(uint32_t i) const { return start_of(i) + tokens_[i].text.size(); }

  // ---- the first pass: what is visible everywhere
  void collect() {
    for (uint32_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (!is(i, TokenKind::Name) || !is(i + 1, TokenKind::Name)) {
        if (is_word(i, "use") && is(i + 1, TokenKind::String)) collect_use(i);
        continue;
      }
      const std::string_view word = tokens_[i].text;
      const bool in_list = i > 0 && (is(i - 1, TokenKind::Less) || is(i - 1, TokenKind::Comma));
      const bool typed = is(i + 2, TokenKind::Colon);
      if (word == "const" && !in_list && (typed || is(i + 2, TokenKind::Assign))) {
        global(Kind::Const, i + 1);
      } else if (word == "fn") {
        global(Kind::Fn, i + 1);
      } else if (typed && std::ranges::find(kBufferWords, word) != kBufferWords.end()) {
        global(Kind::Buffer, i + 1);
      } else if (word == "struct" && is(i + 2, TokenKind::LBrace)) {
        global(Kind::Struct, i + 1);
      } else if (word == "use") {
        collect_use(i);
      } else if ((word == "program" || word == "module") && i == first_of_file(i)) {
        own(word == "program" ? Kind::Program : Kind::Module, i + 1);
        if (is(i + 2, TokenKind::Less)) collect_statics(i + 2);
      }
    }
  }

  // Declarations `use` and the frame of the file stand outside of all blocks or begin one.
  [[nodiscard]] uint32_t first_of_file(uint32_t i) const {
    const bool first = i == 0 || is(i - 1, TokenKind::Semicolon) || is(i - 1, TokenKind::RBrace);
    return first ? i : i + 1;
  }

  // `use vyre.tile;` brings in `tile`, `use "f.vyre" as mine;` brings in `mine`.
  void collect_use(uint32_t i) {
    if (i > 0 && !is(i - 1, TokenKind::Semicolon) && !is(i - 1, TokenKind::LBrace)) return;
    uint32_t last = Declaration::kNone;
    for (uint32_t k = i + 1; k < tokens_.size() && k < i + 16; ++k) {
      if (is(k, TokenKind::Semicolon)) break;
      if (is(k, TokenKind::Name) && tokens_[k].text != "as") last = k;
    }
    if (last != Declaration::kNone) global(Kind::Module, last);
  }

  // `<type T : number, const N : u32 = 4>`
  void collect_statics(uint32_t i) {
    for (++i; i < tokens_.size() && !is(i, TokenKind::Greater) && !is(i, TokenKind::LBrace); ++i)
      if ((is_word(i, "type") || is_word(i, "const")) && is(i + 1, TokenKind::Name))
        global(Kind::Static, i + 1);
  }

  uint32_t own(Kind kind, uint32_t token) {
    const auto index = static_cast<uint32_t>(names_.declarations.size());
    names_.declarations.push_back(
        {kind, token, tokens_[token].text, {0, source_.size()}, Declaration::kNone, 0});
    declared_at_.emplace(token, index);
    return index;
  }
  // The first declaration of a name counts.
  void global(Kind kind, uint32_t token) {
    const uint32_t index = own(kind, token);
    globals_.emplace(tokens_[token].text, index);
  }

  // ---- the second pass
  void visit(uint32_t i) {
    while (!lambdas_.empty() && lambdas_.back().last <= i) {
      drop_to(lambdas_.back().mark, start_of(i));
      lambdas_.pop_back();
    }
    switch (tokens_[i].kind) {
      case TokenKind::LBrace: open(i); break;
      case TokenKind::RBrace:
        flush(i);
        if (!blocks_.empty()) pop(start_of(i));
        break;
      case TokenKind::Semicolon:
        flush(i);
        if (in_header()) pop(start_of(i));
        break;
      case TokenKind::Or:
        if (i > 0 && (is(i - 1, TokenKind::LParen) || is(i - 1, TokenKind::Comma))) lambda(i);
        break;
      case TokenKind::Name: name(i); break;
      default: break;
    }
  }

  void open(uint32_t i) {
    if (in_header()) {
      blocks_.back().header = false;
    } else {
      blocks_.push_back({locals_.size(), function()});
    }
    if (loop_ != Declaration::kNone) declare(std::exchange(loop_, Declaration::kNone), end_of(i));
  }

  void pop(size_t offset) {
    drop_to(blocks_.back().mark, offset);
    if (blocks_.back().body != SIZE_MAX) names_.functions[blocks_.back().body].span.last = offset;
    blocks_.pop_back();
  }

  void drop_to(size_t mark, size_t offset) {
    while (locals_.size() > mark) {
      Declaration& gone = names_.declarations[locals_.back()];
      gone.visible.last = offset;
      auto& same = visible_[gone.name];
      if (!same.empty()) same.pop_back();
      locals_.pop_back();
    }
  }

  [[nodiscard]] bool in_header() const { return !blocks_.empty() && blocks_.back().header; }
  [[nodiscard]] uint32_t function() const {
    return blocks_.empty() ? Declaration::kNone : blocks_.back().fn;
  }

  uint32_t local(Kind kind, uint32_t token) {
    const uint32_t index = own(kind, token);
    Declaration& made = names_.declarations[index];
    made.visible = {source_.size(), source_.size()};
    made.fn = function();
    made.depth = static_cast<uint32_t>(blocks_.size());
    names_.uses.push_back({token, index});
    return index;
  }
  void declare(uint32_t index, size_t offset) {
    Declaration& made = names_.declarations[index];
    made.visible.first = offset;
    locals_.push_back(index);
    visible_[made.name].push_back(index);
  }
  // At the end of a statement its `let` is visible.
  void flush(uint32_t i) {
    for (const uint32_t index : pending_) declare(index, end_of(i));
    pending_.clear();
    loop_ = Declaration::kNone;
  }

  void name(uint32_t i) {
    const std::string_view word = tokens_[i].text;
    const bool before_name = is(i + 1, TokenKind::Name);
    if (before_name && (word == "let" || word == "var")) {
      flush(i);
      pending_.push_back(local(word == "let" ? Kind::Let : Kind::Var, i + 1));
    } else if (before_name && word == "for" && is_word(i + 2, "in")) {
      loop_ = local(Kind::For, i + 1);
    } else if (before_name && word == "fn") {
      begin_function(i + 1);
    } else if (before_name && word == "region" && is(i + 2, TokenKind::LBrace)) {
      local(Kind::Region, i + 1);
    } else if (in_header() && is_new_in_header(i)) {
      declare(
          local(is_word(i - 1, "type") || is_word(i - 1, "const") ? Kind::Static : Kind::Param, i),
          end_of(i));
    } else {
      use(i);
    }
  }

  // A parameter of the function, or a static one.
  [[nodiscard]] bool is_new_in_header(uint32_t i) const {
    if (is_word(i - 1, "type") || is_word(i - 1, "const")) return true;
    return is(i + 1, TokenKind::Colon) &&
           (is(i - 1, TokenKind::LParen) || is(i - 1, TokenKind::Comma));
  }

  void begin_function(uint32_t token) {
    if (in_header()) pop(start_of(token));  // one without a body
    const auto known = declared_at_.find(token);
    const uint32_t fn = known == declared_at_.end() ? Declaration::kNone : known->second;
    blocks_.push_back({locals_.size(), fn, true, names_.functions.size()});
    names_.functions.push_back({fn, {end_of(token), source_.size()}});
  }

  // `|a, b| a + b` as an argument.
  void lambda(uint32_t i) {
    uint32_t end = i + 1;
    while (is(end, TokenKind::Name) || is(end, TokenKind::Comma)) ++end;
    if (!is(end, TokenKind::Or) || end == i + 1) return;
    uint32_t last = end + 1;
    for (int depth = 0; last + 1 < tokens_.size(); ++last) {
      const TokenKind kind = tokens_[last].kind;
      if (kind == TokenKind::LParen || kind == TokenKind::LBracket) ++depth;
      if (kind == TokenKind::RParen || kind == TokenKind::RBracket) --depth;
      if (depth < 0 || (depth == 0 && kind == TokenKind::Comma) || kind == TokenKind::Semicolon ||
          kind == TokenKind::LBrace || kind == TokenKind::RBrace)
        break;
    }
    lambdas_.push_back({last, locals_.size()});
    for (uint32_t k = i + 1; k < end; ++k)
      if (is(k, TokenKind::Name) && !declared_at_.contains(k))
        declare(local(Kind::Param, k), end_of(end));
  }

  // The memory order of an atomic, or what a collective combines with: no name, whatever there is.
  [[nodiscard]] bool is_operation(uint32_t i) const {
    if (i == 0 || !is(i - 1, TokenKind::Comma)) return false;
    const bool order = is(i + 1, TokenKind::RParen) && ir::order_from_name(tokens_[i].text);
    if (!order && !ir::reduce_from_name(tokens_[i].text)) return false;
    int commas = 0;
    uint32_t opener = i;
    for (int depth = 0; opener > 0 && depth >= 0; --opener) {
      const TokenKind kind = tokens_[opener - 1].kind;
      if (kind == TokenKind::RParen || kind == TokenKind::RBracket) ++depth;
      if (kind == TokenKind::LParen || kind == TokenKind::LBracket) --depth;
      if (kind == TokenKind::Comma && depth == 0) ++commas;
      if (kind == TokenKind::Semicolon || kind == TokenKind::LBrace) return false;
    }
    const std::string_view called = opener > 0 ? tokens_[opener - 1].text : std::string_view();
    if (const auto atomic = ir::atomic_from_name(called))
      return order && commas == ir::arity_of(*atomic) + 1;
    return (called == "all_reduce" && commas == 1) || (called == "reduce_scatter" && commas == 2);
  }

  [[nodiscard]] bool is_callable(uint32_t declaration) const {
    const Kind kind = names_.declarations[declaration].kind;
    return kind == Kind::Fn || kind == Kind::Param;
  }

  void use(uint32_t i) {
    if (const auto own = declared_at_.find(i); own != declared_at_.end()) {
      const Kind kind = names_.declarations[own->second].kind;
      const bool is_local = kind == Kind::Let || kind == Kind::Var || kind == Kind::For ||
                            kind == Kind::Param || kind == Kind::Region;
      if (!is_local) names_.uses.push_back({i, own->second});
      return;
    }
    if (i > 0 && (is(i - 1, TokenKind::Dot) || is(i - 1, TokenKind::At))) return;
    if (is(i + 1, TokenKind::Colon)) return;  // a field of a value
    const bool attribute = i > 2 && is(i - 1, TokenKind::LParen) && is(i - 3, TokenKind::At) &&
                           (is_word(i - 2, "locality") || is_word(i - 2, "coalesce"));
    if (attribute || is_operation(i)) return;
    const auto found = find(tokens_[i].text);
    // `swap(a, b)` is the statement where `swap` is no function.
    if (!found || (is(i + 1, TokenKind::LParen) && !is_callable(*found))) return;
    names_.uses.push_back({i, *found});
  }

  [[nodiscard]] std::optional<uint32_t> find(std::string_view name) const {
    const auto same = visible_.find(name);
    if (same != visible_.end() && !same->second.empty()) {
      const uint32_t index = same->second.back();
      if (names_.declarations[index].fn == function()) return index;
    }
    const auto known = globals_.find(name);
    if (known == globals_.end()) return std::nullopt;
    const bool hidden = function() != Declaration::kNone &&
                        !is_seen_by_functions(names_.declarations[known->second].kind);
    return hidden ? std::nullopt : std::optional(known->second);
  }

  const std::vector<Token>& tokens_;
  std::string_view source_;
  Names& names_;
  std::unordered_map<uint32_t, uint32_t> declared_at_;  // token -> declaration
  std::unordered_map<std::string_view, uint32_t> globals_;
  std::unordered_map<std::string_view, std::vector<uint32_t>> visible_;
  std::vector<uint32_t> locals_;
  std::vector<Block> blocks_;
  std::vector<Lambda> lambdas_;
  std::vector<uint32_t> pending_;
  uint32_t loop_ = Declaration::kNone;
};

}  // namespace

bool is_seen_by_functions(Kind kind) {
  switch (kind) {
    case Kind::Program:
    case Kind::Const:
    case Kind::Fn:
    case Kind::Struct:
    case Kind::Static:
    case Kind::Module: return true;
    case Kind::Buffer:
    case Kind::Let:
    case Kind::Var:
    case Kind::For:
    case Kind::Param:
    case Kind::Region: return false;
  }
  return false;
}

Names::Names(const std::vector<Token>& tokens, std::string_view source) {
  Walker(tokens, source, *this).run();
}

std::optional<uint32_t> Names::declared_by(uint32_t token) const {
  const auto it = std::ranges::lower_bound(uses, token, {}, &Use::token);
  if (it == uses.end() || it->token != token) return std::nullopt;
  return it->declaration;
}

uint32_t Names::function_at(size_t offset) const {
  for (const Body& body : functions)
    if (body.span.first < offset && offset <= body.span.last) return body.fn;
  return Declaration::kNone;
}

std::vector<uint32_t> Names::visible_at(size_t offset) const {
  std::vector<uint32_t> all;
  const uint32_t fn = function_at(offset);
  for (uint32_t i = 0; i < declarations.size(); ++i) {
    const Declaration& d = declarations[i];
    if (d.kind == Kind::Program || d.kind == Kind::Region || !d.visible.holds(offset)) continue;
    const bool seen = d.fn == Declaration::kNone
                          ? fn == Declaration::kNone || is_seen_by_functions(d.kind)
                          : d.fn == fn;
    if (seen) all.push_back(i);
  }
  return all;
}

}  // namespace vyre::lsp
