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
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "text/expansion.hpp"
#include "text/lexer.hpp"
#include "text/scope.hpp"
#include "vyre/text/text.hpp"

namespace vyre::text {

class Parser {
 public:
  // Syntax: reports only what keeps a text from being laid out.
  enum class Report : uint8_t { All, Syntax };
  Parser(std::string_view source, std::string_view file, Report wanted = Report::All,
         const ParseOptions* options = nullptr);
  Parsed run();

 private:
  using Items = std::vector<ir::StmtId>;
  using Handler = void (Parser::*)(Items&);
  enum class Place : uint8_t { Program, Block };

  // An expression and how deep its tree is.
  struct Value {
    ir::ExprId id;
    uint32_t depth = 1;
    uint32_t record = kNoIndex;  // into records_, of a struct; `id` is then Poison
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
  // Where reading goes on after something else has been read.
  struct Cursor {
    Lexer lexer;
    Token prev, tok, next;
    uint32_t line_indent = 1;
    uint32_t unit = 0;
    uint32_t nesting = 0;
    bool panicking = false;
  };
  // What is known of the function that is read, apart from names.
  struct Frame {
    ir::FnId owner;      // invalid: the program itself
    ir::LocId use;       // what it is expanded for
    uint32_t depth = 0;  // of uses inside uses
    std::string key;     // of the instance
    InPlace* in_place = nullptr;
    bool lambda = false;
    std::vector<Capture>* captures = nullptr;  // of the lambda
    std::vector<ir::LocalId>* capture_params = nullptr;
  };
  // A call as far as it is read.
  struct CallShape {
    uint32_t decl = 0;
    bool whole = false;  // it is the whole right side of a statement, or a statement
    uint32_t depth = 1;
  };
  struct CallTypes {
    struct Param {
      DeclaredType type;  // of a function: what it gives
      std::vector<ir::Type> fn_params;
    };
    std::vector<Param> params;
    std::optional<DeclaredType> result;
    bool known = true;
  };
  struct PureUse {
    ir::FnId fn;
    Token where;
    uint32_t unit = 0;
    ir::LocId use;
  };
  // On which paths through statements of a function that is expanded in place.
  enum class Returned : uint8_t { Nowhere, Somewhere, Everywhere };
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
  void collect_struct_names();
  void collect_struct_fields(const Token& name, Lexer& lexer, Token& token);
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
  void parse_const_named(const Token& name);
  ir::Range parse_table_values();
  void parse_require(Items& items);
  void parse_fn(Items& items);
  std::vector<ir::LocalId> parse_params();
  void parse_param(std::vector<ir::LocalId>& params);
  uint8_t parse_rank();
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
  void parse_buffer_rest(ir::Buffer& buffer);
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
  Value parse_whole(const Token& name);
  void check_loop_control();
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
  Value parse_symbol(const Token& name, const Token& start, Symbol symbol);
  Value parse_expanded(const Token& name, const Token& start, Symbol symbol);
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
  [[nodiscard]] bool is_second_edition_call(const Token& name) const;
  [[nodiscard]] std::string fix_of_unknown(const Token& name, bool callable) const;
  void skip_foreign_name(const Token& name);
  std::optional<ir::Memory> memory_of(Symbol symbol) const;
  bool is_scalar(Symbol symbol) const;
  std::string kind_of(Symbol symbol) const;

  // ---- parse_calls.cpp
  Value parse_builtin_function(const Token& name);
  Value parse_len(const Token& name);
  std::optional<uint8_t> parse_axis();
  Value length_of_array(ir::LocalId id, const Token& name);
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

  // ---- parse_modules.cpp
  void parse_uses();
  void parse_use();
  uint32_t load_module(const Token& where, const std::string& path, bool builtin);
  std::optional<std::string> module_path(const Token& where, std::string_view written);
  void report_missing(const Token& where, std::string_view path, bool builtin);
  void parse_module_frame();
  void parse_module_item();
  void parse_module_fn();
  void parse_module_const(bool tune);
  void declare_member(const Token& name, Symbol symbol);
  [[nodiscard]] uint32_t used_module(const Token& name) const;
  std::optional<Symbol> member(const Token& module, const Token& name);
  Value parse_member();
  std::optional<ir::ConstId> module_const(uint32_t index, const Token& where);
  const Setting* setting_of(std::string_view name);
  std::optional<StaticValue> value_of_setting(const Setting& setting, ir::Type type);
  void apply_setting(ir::Const& constant, const Setting& setting, const Token& where);
  void report_settings();

  // ---- expansion.cpp: reading a part of a text again, names, the queue of instances
  Cursor here() const;
  void go_back(const Cursor& cursor);
  void go_to(uint32_t unit, const Token& token);
  [[nodiscard]] const Unit& unit() const { return *units_[unit_]; }
  void skip_item();
  void skip_static_list();
  void skip_fields();
  void skip_struct_literal();
  void take_all_records(size_t first);
  void discard_call();
  void finish_expansion();
  void note_const(ir::ConstId id, const Token& name, uint32_t unit);
  ir::LocId hidden_loc(const Token& token);
  std::string fresh_name(const std::string& base);
  std::string local_name(const Token& name);
  void collect_taken_names();
  void parse_instances();
  void parse_instance(const Instance& instance);
  void check_unused_generics();
  void check_generic(uint32_t decl);
  void hand_hoisted_on();
  void drop_static_constants();
  bool count_reread();
  void finish_records();

  // ---- parse_static.cpp: static parameters, their arguments, heads of functions
  void collect_generic(const Token& name, Lexer& lexer, Token& token);
  FnDecl& head_of(uint32_t decl);
  uint32_t plain_decl(ir::FnId fn);
  std::optional<DeclaredType> type_in(uint32_t unit, const TypeName& name);
  void parse_head(FnDecl& decl);
  void parse_static_params(std::vector<StaticParam>& params);
  void parse_static_param(std::vector<StaticParam>& params);
  void parse_program_statics();
  ParamHead parse_param_head();
  TypeName parse_type_name();
  std::optional<DeclaredType> type_of(const TypeName& name, bool storage_allowed);
  bool parse_static_args(std::vector<std::optional<Bound>>& given, const FnDecl& decl);
  std::optional<Bound> parse_static_arg(const StaticParam& param);
  bool bind_statics(const Token& name, FnDecl& decl, std::vector<std::optional<Bound>>& given,
                    const std::vector<RawArg>& args);
  std::optional<Bound> deduced(const FnDecl& decl, const StaticParam& param,
                               const std::vector<RawArg>& args);
  bool fits_class(const StaticParam& param, ir::Type type, const Token& where);
  void declare_static(const StaticParam& param, const Bound& bound);
  [[nodiscard]] bool static_list_ahead() const;

  // ---- parse_generic_calls.cpp
  Value parse_fn_call(const Token& name, const Token& start, Symbol symbol);
  Value plain_call(const Token& name, ir::FnId fn, const std::vector<RawArg>& args, uint32_t depth);
  Value make_call(const Token& name, ir::FnId fn, const std::vector<ir::Arg>& args, uint32_t depth);
  Value finish_call(const Token& name, CallShape shape,
                    const std::vector<std::optional<Bound>>& given, std::vector<RawArg>& args);
  CallTypes types_of_call(const FnDecl& decl);
  bool parse_raw_args(std::vector<RawArg>& args, const FnDecl* decl);
  RawArg parse_raw_arg();
  void skip_lambda_body();
  std::optional<FnTarget> parse_target_name();
  ir::FnId instance_of(const Token& name, uint32_t decl, std::vector<Bound> statics,
                       std::vector<FnTarget> targets);
  std::string key_of(uint32_t decl, const std::vector<Bound>& statics,
                     const std::vector<FnTarget>& targets) const;
  std::string name_of_instance(uint32_t decl, const std::vector<Bound>& statics,
                               const std::vector<FnTarget>& targets) const;
  bool bind_targets(FnDecl& decl, const CallTypes& types, std::vector<RawArg>& args,
                    std::vector<FnTarget>& targets);
  bool check_target(const FnTarget& target, const CallTypes::Param& wanted, const Token& where);
  static std::string signature_text(const CallTypes::Param& wanted);
  bool match_args(const Token& name, const FnDecl& decl, const CallTypes& types,
                  const std::vector<RawArg>& args);
  std::vector<ir::Arg> flat_args(const std::vector<RawArg>& args,
                                 const std::vector<FnTarget>& targets);
  void add_captures(std::vector<ir::Arg>& args, const FnTarget& target);
  Value parse_target_call(const Token& name, const FnTarget& target);
  Value operator_call(const Token& name, FnTarget::Op op, const std::vector<Value>& values);
  [[nodiscard]] bool is_private(ir::Memory memory) const {
    return memory.local().valid() && program_[memory.local()].kind == ir::Local::Kind::Array;
  }

  // ---- parse_lambdas.cpp
  std::optional<FnTarget> parse_lambda(const RawArg& arg, const CallTypes::Param& wanted);
  Symbol capture(const Token& name, Symbol symbol);
  Symbol refuse_capture(const Token& name, Symbol symbol, std::string_view why,
                        std::string_view fix);
  ir::LocalId capture_local(const Token& name, ir::LocalId outer, bool buffer);
  ir::LocalId capture_scalar(const Token& name, ir::BufferId buffer);
  ir::LocalId capture_buffer(const Token& name, ir::BufferId buffer);
  bool check_lambda(ir::ExprId body, const Token& where);
  void check_purity();

  // ---- parse_in_place.cpp
  Value expand_in_place(const Token& name, const Instance& instance, const CallTypes& types,
                        const std::vector<RawArg>& args);
  void bind_in_place(const FnDecl& decl, const CallTypes& types, const std::vector<RawArg>& args,
                     Items& items);
  Returned parse_tail_block(Items& items);
  Returned parse_tail_statements(Items& items);
  Returned parse_tail_if(Items& items);
  void parse_in_place_return();
  Returned parse_static_branches(Items& kept, bool tail);
  void keep_items(Items& items, const Items& kept, ir::LocId where);
  Returned parse_branch(Items& kept, bool tail, bool stays);
  void parse_generic_fn(uint32_t decl, const Token& name);
  Value zero(ir::Type type, const Token& where);
  void parse_static_if(Items& items);
  Returned parse_kept_block(Items& kept, bool tail);
  void declare_params(const FnDecl& decl, const Instance& instance, std::vector<ir::LocalId>& ids);
  std::vector<FnTarget> declare_captures(const Instance& instance, std::vector<ir::LocalId>& ids);
  void declare_targets(const FnDecl& decl, const std::vector<FnTarget>& targets);
  [[nodiscard]] ir::Local parameter_of(ir::BufferId id) const;
  void parse_hoisted(ir::BufferKind kind);

  // ---- parse_structs.cpp
  void parse_struct();
  void parse_fields(const Token& name, std::vector<std::pair<std::string_view, ir::Type>>& fields);
  void collect_struct(const Token& name);
  std::optional<uint32_t> struct_named(const TypeName& name);
  [[nodiscard]] bool at_struct_type();
  uint32_t declare_record(uint32_t type, std::string_view name, const Token& where,
                          ir::Local::Kind kind, ir::ExprId count);
  Value parse_struct_literal(const Token& name, uint32_t type);
  Value parse_struct_symbol(const Token& name, Symbol symbol);
  Value record_value(uint32_t type, std::vector<ir::ExprId> fields, const Token& where,
                     uint32_t depth);
  const Record* take_record(const Value& value, uint32_t type, const Token& where);
  std::optional<size_t> parse_field(uint32_t type);
  Value compare_records(const Token& sign, ir::BinaryOp op, const Value& left, const Value& right);
  void parse_struct_let(Items& items, const Token& keyword, const Token& name,
                        const TypeName& written);
  void finish_struct_let(Items& items, const Token& keyword, const Token& name, const Value& value,
                         uint32_t type);
  bool parse_struct_assignment(Items& items, const Token& name);
  void assign_record(Items& items, const RecordLocal& target, const Value& value,
                     const Token& where);
  void store_record(Items& items, const RecordLocal& target, ir::ExprId index, const Value& value,
                    const Token& where);
  std::optional<ir::ExprId> clone(ir::ExprId expr);
  bool has_effect(ir::ExprId expr) const;

  // ---- static_values.cpp
  std::optional<StaticValue> evaluate(ir::ExprId expr, std::optional<ir::Type> expected);
  std::optional<StaticValue> evaluate_binary(const ir::Binary& e, std::optional<ir::Type> expected);
  std::optional<StaticValue> evaluate_call(const ir::IntrinsicCall& e,
                                           std::optional<ir::Type> expected);
  std::optional<StaticValue> value_of(ir::ConstId id);
  std::optional<ir::Type> infer(ir::ExprId expr);
  std::optional<ir::Type> infer(const ir::Call& e);
  void note_let(ir::LocalId local, ir::ExprId value, ir::ExprId other);
  ir::Expr literal(StaticValue value);
  Value static_literal(StaticValue value, const Token& where);
  std::optional<StaticValue> parse_static_value(ir::Type type, std::string_view what);
  bool is_static_function(const Token& name) const;
  Value parse_static_function();
  std::optional<FnTarget::Op> parse_operator_name();

  std::string_view source_;
  std::string file_;
  Report wanted_;
  const ParseOptions* options_;
  Diagnostics diagnostics_;
  ir::Program program_;
  Scopes scopes_;
  Lexer lexer_;
  Token prev_, tok_, next_;
  bool panicking_ = false;

  // Declarations found by the first pass: where the name stands in the source -> index.
  std::unordered_map<const char*, uint32_t> declared_at_;
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

  // ---- expansion
  std::vector<std::unique_ptr<Unit>> units_;
  uint32_t unit_ = 0;
  bool expands_ = false;  // there is something to expand: types of values are kept
  bool muted_ = false;    // what is read is read a second time
  std::deque<FnDecl> fn_decls_;
  std::unordered_map<const char*, uint32_t> decl_at_;       // where the name stands -> fn_decls_
  std::vector<Token> fn_tokens_;                            // by FnId, of plain functions
  std::unordered_set<std::string_view> struct_names_;       // of the main file
  std::unordered_set<uint32_t> drop_fns_;                   // not in the program
  std::unordered_set<uint32_t> called_fns_, expanded_fns_;  // plain ones, called and in place
  std::vector<uint32_t> decl_of_fn_;                        // by FnId, of plain functions
  std::deque<StructType> structs_;
  std::unordered_map<const char*, uint32_t> struct_at_;
  std::vector<RecordLocal> record_locals_;
  std::vector<Record> records_;
  std::vector<StaticValue> static_values_;
  std::vector<FnTarget> targets_;
  struct ConstDecl {
    Token name;
    uint32_t unit = 0;
    bool table = false;
    bool tune = false;
    bool reading = false;
    ir::ConstId id;  // of a module: once it is used
  };
  std::vector<ConstDecl> module_consts_;
  std::vector<Token> const_tokens_;  // by ConstId
  std::vector<uint32_t> const_units_;
  std::vector<uint32_t> const_uses_;     // in what stays in the program
  std::vector<bool> const_static_uses_;  // in what is expanded
  std::vector<bool> const_reading_;
  bool in_static_ = false;
  bool call_is_statement_ = false;   // the name that is read begins a statement
  bool expanded_statement_ = false;  // the call that was read has become statements
  uint32_t loops_ = 0;               // around the token, in its function
  std::string main_folder_;          // of the main file, with its `/`
  size_t module_bytes_ = 0;
  std::vector<std::string> settable_;
  std::vector<std::optional<ir::Type>> let_types_;  // by LocalId
  std::unordered_map<std::string, ir::FnId> instances_;
  std::deque<Instance> queue_;
  bool too_many_instances_ = false;
  Frame frame_;
  std::vector<PureUse> must_be_pure_;
  uint32_t args_depth_ = 0;            // of the arguments read so far
  Items* sink_ = nullptr;              // statements of the block around the token
  const char* whole_start_ = nullptr;  // where the whole right side of a statement begins
  bool bare_condition_ = false;        // a `{` opens a block
  std::unordered_map<std::string, bool> taken_;
  bool taken_collected_ = false;
  uint32_t in_place_count_ = 0;
  uint32_t lambdas_ = 0;
  size_t reread_ = 0;
  bool reread_counts_ = false;
  struct CallSite {
    ir::ExprId call;
    ir::FnId owner;
  };
  std::vector<CallSite> calls_;
  std::map<uint32_t, std::vector<Hoisted>> hoisted_;               // by FnId
  std::unordered_map<std::string, ir::BufferId> hoisted_buffers_;  // by instance and name
  std::vector<bool> settings_used_;
};

}  // namespace vyre::text
