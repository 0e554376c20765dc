// SPDX-License-Identifier: Apache-2.0
// Lambdas: each becomes a function, with what it reads from around it as further parameters.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/properties.hpp"
#include "text/parser.hpp"

namespace vyre::text {

std::optional<FnTarget> Parser::parse_lambda(const RawArg& arg, const CallTypes::Param& wanted) {
  const Cursor back = here();
  const Frame outer = frame_;
  const bool outer_function = std::exchange(in_function_, true);
  const ir::LocId where = loc(arg.where);
  const ir::FnId fn = program_.add(ir::Fn{}, where);
  FnTarget target;
  target.fn = fn;
  // By the order of uses: a change of layout changes no name.
  target.label = fmt::format("lambda{}", ++lambdas_);
  program_.fns[fn.index()].name =
      fresh_name(unit_ == 0 ? fmt::format("lambda__{}", lambdas_)
                            : fmt::format("{}__lambda__{}", unit().name, lambdas_));
  std::vector<ir::LocalId> params;
  frame_.owner = fn;
  frame_.lambda = true;
  frame_.in_place = nullptr;
  frame_.captures = &target.captures;
  std::vector<ir::LocalId> captured;
  frame_.capture_params = &captured;
  Items* const sink = std::exchange(sink_, nullptr);
  go_to(unit_, arg.where);
  scopes_.enter_lambda();
  std::vector<Token> names;
  if (!accept(TokenKind::OrOr)) {
    advance();
    while (!panicking_ && !at(TokenKind::Or)) {
      names.push_back(parse_new_name("parameter"));
      if (!at(TokenKind::Or)) expect(TokenKind::Comma, "between the parameters of a lambda");
    }
    expect(TokenKind::Or, "after the parameters of a lambda");
  }
  bool fits = !panicking_;
  if (fits && names.size() != wanted.fn_params.size()) {
    report(Code::BadFunctionArgument, arg.where,
           fmt::format("the lambda has {} parameter{}, but {} is expected", names.size(),
                       names.size() == 1 ? "" : "s", signature_text(wanted)),
           "give it as many parameters");
    fits = false;
  }
  for (size_t i = 0; fits && i < names.size(); ++i) {
    const ir::LocalId id = program_.add(
        ir::Local{std::string(names[i].text), ir::Local::Kind::Param, wanted.fn_params[i], {}},
        loc(names[i]));
    scopes_.declare(names[i].text, {Symbol::Kind::Scalar, id.value});
    params.push_back(id);
  }
  if (fits) {
    const bool bare = std::exchange(bare_condition_, false);
    const ir::ExprId body = parse_expression().id;
    bare_condition_ = bare;
    if (!panicking_ && !at(TokenKind::Comma) && !at(TokenKind::RParen))
      unexpected_in_code("an operator, `,` or `)`", "complete the expression of the lambda");
    fits = !panicking_ && check_lambda(body, arg.where);
    params.insert(params.end(), captured.begin(), captured.end());
    ir::Fn& lambda = program_.fns[fn.index()];
    lambda.params = program_.add_params(params);
    lambda.result = wanted.type.scalar;
    lambda.body = program_.add_block(std::array{program_.add(ir::Stmt{ir::Return{body}}, where)});
  }
  scopes_.leave_function();
  frame_ = outer;
  in_function_ = outer_function;
  sink_ = sink;
  const bool failed = panicking_;
  go_back(back);
  if (!fits || failed) {
    drop_fns_.insert(fn.value);
    return std::nullopt;
  }
  called_fns_.insert(fn.value);
  must_be_pure_.push_back({fn, arg.where, unit_, frame_.use});
  return target;
}

Symbol Parser::refuse_capture(const Token& name, Symbol symbol, std::string_view why,
                              std::string_view fix) {
  note_declaration(
      report(Code::BadLambda, name,
             fmt::format("a lambda cannot read {}: {}", quoted(name.text), why), std::string(fix)),
      symbol);
  scopes_.declare(name.text, {});
  return {};
}

// A local of the function around the lambda as a parameter of the lambda.
ir::LocalId Parser::capture_local(const Token& name, ir::LocalId outer, bool buffer) {
  const auto type = program_[outer].type
                        ? program_[outer].type
                        : infer(program_.add(ir::Expr{ir::LocalRef{outer}}, loc(name)));
  const auto kind = buffer ? ir::Local::Kind::BufferParam : ir::Local::Kind::Param;
  const ir::LocalId id =
      program_.add(ir::Local{fresh_name(fmt::format("{}__c", program_[outer].name)),
                             kind,
                             type.value_or(ir::Type::U32),
                             {}},
                   loc(name));
  frame_.captures->push_back(
      {std::string(name.text), buffer, type.value_or(ir::Type::U32), ir::Memory::of(outer), outer});
  frame_.capture_params->push_back(id);
  return id;
}

ir::LocalId Parser::capture_buffer(const Token& name, ir::BufferId buffer) {
  const ir::Type element = program_[buffer].element;
  const ir::LocalId id = program_.add(
      ir::Local{
          fresh_name(fmt::format("{}__c", name.text)), ir::Local::Kind::BufferParam, element, {}},
      loc(name));
  frame_.captures->push_back({std::string(name.text), true, element, ir::Memory::of(buffer), {}});
  frame_.capture_params->push_back(id);
  return id;
}

// A scalar uniform of the program: its value is passed.
ir::LocalId Parser::capture_scalar(const Token& name, ir::BufferId buffer) {
  const ir::Type type = ir::widened(program_[buffer].element);
  const ir::LocalId id = program_.add(
      ir::Local{fresh_name(fmt::format("{}__c", name.text)), ir::Local::Kind::Param, type, {}},
      loc(name));
  frame_.captures->push_back({std::string(name.text), false, type, ir::Memory::of(buffer), {}});
  frame_.capture_params->push_back(id);
  return id;
}

// A name from around a lambda becomes one of its parameters.
Symbol Parser::capture(const Token& name, Symbol symbol) {
  const auto changes = [&](ir::LocalId local) {
    return program_[local].kind == ir::Local::Kind::Var ||
           program_[local].kind == ir::Local::Kind::Array;
  };
  const auto declared = [&](Symbol inner) {
    scopes_.declare(name.text, inner);
    return inner;
  };
  constexpr std::string_view kNameIt = "give its value a name with `let`";
  switch (symbol.kind) {
    case Symbol::Kind::Scalar: {
      const ir::LocalId outer{symbol.index};
      if (changes(outer)) return refuse_capture(name, symbol, "it may change", kNameIt);
      return declared({Symbol::Kind::Scalar, capture_local(name, outer, false).value});
    }
    case Symbol::Kind::Struct: {
      RecordLocal copy = record_locals_[symbol.index];
      if (changes(copy.fields.front()))
        return refuse_capture(name, symbol, "it may change", kNameIt);
      for (ir::LocalId& field : copy.fields) field = capture_local(name, field, false);
      record_locals_.push_back(std::move(copy));
      return declared({Symbol::Kind::Struct, static_cast<uint32_t>(record_locals_.size() - 1)});
    }
    case Symbol::Kind::Buffer: {
      if (is_scalar(symbol))
        return declared(
            {Symbol::Kind::Scalar, capture_scalar(name, ir::BufferId{symbol.index}).value});
      const ir::BufferKind kind = program_.buffers[symbol.index].kind;
      if (kind != ir::BufferKind::In && kind != ir::BufferKind::Uniform)
        return refuse_capture(name, symbol, "it is a buffer that can be written",
                              "read `in` and `uniform` buffers, or pass the value as an argument");
      return declared(
          {Symbol::Kind::BufferParam, capture_buffer(name, ir::BufferId{symbol.index}).value});
    }
    case Symbol::Kind::Target: {
      FnTarget copy = targets_[symbol.index];
      for (Capture& inner : copy.captures) {
        inner.local = inner.local.valid() ? capture_local(name, inner.local, inner.buffer)
                      : !inner.buffer     ? capture_scalar(name, inner.memory.buffer())
                                          : capture_buffer(name, inner.memory.buffer());
        inner.memory = ir::Memory::of(inner.local);
      }
      targets_.push_back(std::move(copy));
      return declared({Symbol::Kind::Target, static_cast<uint32_t>(targets_.size() - 1)});
    }
    case Symbol::Kind::Array:
    case Symbol::Kind::StructArray:
      return refuse_capture(name, symbol, "a private array may change",
                            "pass an element as an argument");
    case Symbol::Kind::BufferParam:
      return refuse_capture(name, symbol, "a buffer parameter may be a buffer that can be written",
                            "read the element before, with `let`");
    case Symbol::Kind::Const:
    case Symbol::Kind::Table:
    case Symbol::Kind::Fn:
    case Symbol::Kind::Generic:
    case Symbol::Kind::ModuleConst:
    case Symbol::Kind::StructType:
    case Symbol::Kind::Type:
    case Symbol::Kind::Static:
    case Symbol::Kind::Unknown: return symbol;
  }
  return symbol;
}

// Nothing with an effect in the expression itself; the functions it calls are looked at later.
bool Parser::check_lambda(ir::ExprId body, const Token& where) {
  bool pure = true;
  const auto visit = [&](const auto& self, ir::ExprId id) -> void {
    const ir::Expr& e = program_[id];
    if (!std::holds_alternative<ir::Call>(e) && ir::properties_of(e).has_effect) pure = false;
    ir::for_each_operand(program_, e, [&](const ir::ExprId& child) { self(self, child); });
  };
  visit(visit, body);
  if (!pure)
    report(Code::BadLambda, where,
           "a lambda has an effect: an atomic or subgroup operation, or a load for all lanes",
           "do that before, and let the lambda read the result");
  return pure;
}

// Functions that are passed on have no effect, whatever they call.
void Parser::check_purity() {
  if (must_be_pure_.empty() || stopped_) return;
  enum class State : uint8_t { Unknown, Open, Pure, Impure };
  std::vector<State> states(program_.fns.size(), State::Unknown);
  std::unordered_map<uint32_t, std::vector<uint32_t>> callees;
  for (const CallSite& site : calls_)
    if (site.owner.valid())
      callees[site.owner.value].push_back(std::get<ir::Call>(program_[site.call]).fn.value);
  const auto own = [&](uint32_t fn) {
    bool pure = true;
    const auto expr = [&](const auto& self, ir::ExprId id) -> void {
      const ir::Expr& e = program_[id];
      if (!std::holds_alternative<ir::Call>(e) && ir::properties_of(e).has_effect) pure = false;
      ir::for_each_operand(program_, e, [&](const ir::ExprId& child) { self(self, child); });
    };
    const auto block = [&](const auto& self, ir::Block b) -> void {
      for (const ir::StmtId id : program_.items(b)) {
        const ir::Stmt& st = program_[id];
        const ir::StmtProperties row = ir::properties_of(st);
        if (row.synchronises || row.exit == ir::Exit::Trap) pure = false;
        if (const auto* store = std::get_if<ir::Store>(&st)) {
          const ir::LocalId local = store->memory.local();
          if (!local.valid() || program_[local].kind != ir::Local::Kind::Array) pure = false;
        }
        ir::for_each_operand(program_, st, [&](const ir::ExprId& child) { expr(expr, child); });
        ir::for_each_block(st, [&](const ir::Block& inner) { self(self, inner); });
      }
    };
    block(block, program_.fns[fn].body);
    return pure;
  };
  // Callees first, without recursion over calls.
  const auto judge = [&](uint32_t root) {
    std::vector<uint32_t> stack = {root};
    while (!stack.empty()) {
      const uint32_t fn = stack.back();
      if (states[fn] == State::Unknown) {
        states[fn] = State::Open;
        for (const uint32_t callee : callees[fn])
          if (states[callee] == State::Unknown) stack.push_back(callee);
        continue;
      }
      stack.pop_back();
      if (states[fn] != State::Open) continue;
      bool pure = own(fn);
      for (const uint32_t callee : callees[fn]) pure = pure && states[callee] != State::Impure;
      states[fn] = pure ? State::Pure : State::Impure;
    }
  };
  for (const PureUse& use : must_be_pure_) {
    judge(use.fn.value);
    if (states[use.fn.index()] != State::Impure) continue;
    unit_ = use.unit;
    frame_.use = use.use;
    panicking_ = false;
    report(Code::BadLambda, use.where, "a function with an effect is passed as an argument",
           "pass one that only computes a value");
  }
  unit_ = 0;
  frame_.use = {};
}

}  // namespace vyre::text
