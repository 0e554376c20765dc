// SPDX-License-Identifier: Apache-2.0
// The parser: one pass of recursive descent over the tokens, straight into an ir::Program, after a
// quick pass that collects the declarations visible in the whole program. Names are resolved on the
// way.
//
// After a syntax error `panicking_` is set: parsing functions return at once, nothing more is
// reported, and the loop over statements skips to where the next statement starts. One mistake
// gives one diagnostic.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/lexer.hpp"
#include "text/scope.hpp"
#include "vyre/text/text.hpp"

namespace vyre::text {

class Parser {
 public:
  // Syntax: reports only what keeps a text from being laid out.
  enum class Report : uint8_t { All, Syntax };
  Parser(std::string_view source, std::string_view file, Report wanted = Report::All);
  Parsed run();

 private:
  using Items = std::vector<ir::StmtId>;
  using Handler = void (Parser::*)(Items&);
  enum class Place : uint8_t { Program, Block };

  // An expression and how deep its tree is.
  struct Value {
    ir::ExprId id;
    uint32_t depth = 1;
  };
  struct Element {
    ir::Memory memory;  // invalid where the name could not be used
    ir::ExprId index;
    uint32_t depth = 1;
  };
  // Counts what surrounds an operand while it is read; `fits` is false at the limit.
  struct Nesting {
    Parser& parser;
    bool fits;
    explicit Nesting(Parser& p);
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    ~Nesting() { --parser.nesting_; }
  };
  struct OpenBrace {
    Token brace;
    uint32_t indent = 1;  // column where the line with the brace starts
  };

  // ---- parser.cpp: tokens, errors, recovery
  void advance();
  Token fetch();
  [[nodiscard]] bool at(TokenKind kind) const { return tok_.kind == kind; }
  [[nodiscard]] bool at_word(std::string_view word) const {
    return at(TokenKind::Name) && tok_.text == word;
  }
  bool accept(TokenKind kind);
  bool expect(TokenKind kind, std::string_view where);
  bool expect_close(TokenKind kind, const Token& opener);
  bool expect_word(std::string_view word, std::string_view where);
  void expect_semicolon();
  [[nodiscard]] Position position(const Token& token) const;
  ir::LocId loc(const Token& token);
  Diagnostic* report(Code code, const Token& token, std::string message, std::string fix);
  Diagnostic* syntax_error(Code code, const Token& token, std::string message, std::string fix);
  Diagnostic* unexpected(std::string_view expected, std::string fix);
  Diagnostic* unexpected_in_code(std::string_view expected, std::string fix);
  void report_unclosed();
  void note_declaration(Diagnostic* diagnostic, Symbol symbol);
  void synchronize(const Token& start, bool blocks_follow);
  bool recover_to_block();
  void skip_braces();
  void stop();
  void too_large(const Token& token, std::string_view what);
  void skip_expression();
  static const std::unordered_map<std::string_view, Handler>& handlers();
  [[nodiscard]] static bool starts_statement(const Token& token);

  // ---- declarations.cpp: the first pass
  void collect_declarations();
  void collect_const(const Token& name, Lexer& lexer, Token& token);
  void collect_buffer(ir::BufferKind kind, const Token& name, Lexer& lexer, Token& token);
  void collect_fn(const Token& name);
  uint32_t declared_index(const Token& name);
  void finish_declarations();

  // ---- parse_items.cpp
  void parse_file();
  void parse_items(Items& items);
  void after_program(const Token& closing);
  void parse_item(Items& items, Place place);
  bool count_item(bool declaration);
  void parse_workgroup(Items& items);
  void parse_over(Items& items);
  void parse_axes(std::array<ir::ExprId, 3>& axes, Code code, std::string_view what);
  void parse_const(Items& items);
  ir::Range parse_table_values();
  void parse_require(Items& items);
  void parse_fn(Items& items);
  std::vector<ir::LocalId> parse_params();
  void parse_param(std::vector<ir::LocalId>& params);
  void parse_param_type_first(std::vector<ir::LocalId>& params);
  Token parse_new_name(std::string_view what);
  [[nodiscard]] bool type_comes_first() const;
  void report_type_first(std::string_view what);
  std::optional<ir::Type> parse_type(bool storage_allowed);
  void wrap_top_level(Items& items);

  // ---- parse_buffers.cpp
  void parse_buffer(Items& items);
  void parse_shape(ir::Buffer& buffer);
  void parse_lengths(const Token& at_token, ir::ExprId& count, ir::Range& axes);
  void parse_attribute(ir::Buffer& buffer, uint32_t& seen);
  void skip_attribute(ir::Buffer& buffer);
  void parse_attribute_value(ir::Buffer& buffer, const Token& name);
  void parse_range(ir::Buffer& buffer);
  void parse_locality(ir::Buffer& buffer);
  void parse_coalesce(ir::Buffer& buffer);

  // ---- parse_statements.cpp
  ir::Block parse_block();
  void parse_statements(Items& items);
  bool enter_block(const Token& brace);
  void leave_block();
  void parse_let(Items& items);
  void parse_array(Items& items, const Token& keyword, const Token& name, ir::Type type);
  bool skip_foreign_statement();
  void skip_foreign_rest(const Token& word);
  void parse_name_statement(Items& items);
  ir::ExprId parse_whole_value(const Token& name);
  void parse_assignment(Items& items, const Token& name);
  std::optional<ir::LocalId> assignable(const Token& name);
  bool parse_assign_operator(std::optional<ir::BinaryOp>& op);
  void parse_if(Items& items);
  ir::StmtId parse_if_chain();
  void parse_else(Items& items);
  ir::ExprId parse_condition();
  [[nodiscard]] std::string fix_of_condition() const;
  void parse_for(Items& items);
  void skip_c_style_for();
  void parse_while(Items& items);
  void parse_break(Items& items);
  void parse_continue(Items& items);
  void parse_return(Items& items);
  void parse_nested(Items& items);
  void parse_region(Items& items);

  // ---- parse_device_statements.cpp
  void parse_barrier(Items& items);
  void parse_fixpoint(Items& items);
  void parse_async(Items& items);
  void parse_wait(Items& items);
  void parse_trap(Items& items);
  void parse_resume(Items& items);
  void parse_collective(Items& items);
  [[nodiscard]] bool at_swap() const;
  void parse_swap(Items& items);
  [[nodiscard]] bool at_print() const;
  void parse_print(Items& items);
  void parse_reduce(ir::ReduceOp& op, std::string_view collective);
  std::optional<uint16_t> parse_tag();
  bool parse_tag_call(std::optional<uint16_t>& tag);
  ir::Memory parse_memory(std::string_view user);

  // ---- parse_expressions.cpp
  Value parse_expression();
  ir::ExprId parse_expr() { return parse_expression().id; }
  Value parse_binary(int min_precedence);
  Value parse_cast();
  Value parse_unary();
  Value parse_primary();
  Value parse_literal(const Token* minus);
  Value parse_parenthesized();
  Value parse_cast_in_front(std::string_view type);
  Value parse_name();
  Value parse_symbol(const Token& name, Symbol symbol);
  Value parse_indexed(const Token& name, ir::Memory memory);
  Value parse_indices(const Token& name, ir::Memory memory);
  Value make_scalar(const Token& name, ir::Memory memory);
  Value parse_builtin(const Token& name, ir::Builtin builtin);
  Value parse_bitcast();
  Value make(ir::Expr expr, const Token& where, uint32_t depth);
  void reserve_for_large();
  Value poison(const Token& where);
  Value too_deep(const Token& where);
  Symbol resolve(const Token& name, bool callable);
  [[nodiscard]] std::string fix_of_unknown(const Token& name, bool callable) const;
  void skip_foreign_name(const Token& name);
  std::optional<ir::Memory> memory_of(Symbol symbol) const;
  bool is_scalar(Symbol symbol) const;
  std::string kind_of(Symbol symbol) const;

  // ---- parse_calls.cpp
  Value parse_builtin_function(const Token& name);
  Value parse_call(const Token& name, ir::FnId fn);
  Value parse_len(const Token& name);
  std::optional<uint8_t> parse_axis();
  Value parse_intrinsic(const Token& name, ir::Intrinsic op);
  Value parse_atomic(const Token& name, ir::AtomicOp op);
  bool parse_order(const Token& name, ir::MemoryOrder& order);
  Value parse_subgroup(const Token& name, ir::SubgroupOp op);
  Value parse_uniform_load(const Token& name, ir::Scope scope);
  Element parse_element(std::string_view user);
  bool parse_values(std::vector<Value>& values);
  uint32_t parse_args(std::vector<ir::Arg>& args);
  bool right_count(const Token& name, size_t wanted, size_t given);
  void discard_postfix();

  std::string_view source_;
  std::string file_;
  Report wanted_;
  Diagnostics diagnostics_;
  ir::Program program_;
  Scopes scopes_;
  Lexer lexer_;
  Token prev_, tok_, next_;
  bool panicking_ = false;

  // Declarations found by the first pass: where the name stands in the source -> index.
  std::unordered_map<size_t, uint32_t> declared_at_;
  std::vector<bool> const_read_;
  uint32_t buffers_seen_ = 0;
  bool workgroup_seen_ = false;
  bool over_seen_ = false;

  std::vector<OpenBrace> open_;  // the program's own brace too
  std::optional<Token>
      suspect_;  // an opening brace whose closing brace stands further left than its line
  uint32_t line_indent_ = 1;
  bool end_reported_ = false;
  bool stopped_ = false;
  bool program_closed_ = false;

  uint32_t nesting_ = 0;  // parentheses, calls, indices and unary operators around the token
  bool depth_reported_ = false;
  uint32_t blocks_ = 0;  // around the token
  bool blocks_reported_ = false;
  uint32_t deepest_block_ = 0;  // outside functions
  Token deepest_brace_;
  bool in_function_ = false;
  uint32_t statements_ = 0;
  uint32_t declarations_ = 0;
};

}  // namespace vyre::text
