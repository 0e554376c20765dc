// SPDX-License-Identifier: Apache-2.0
// Calls of functions of the text: arguments, instances, functions as arguments, lambdas.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/properties.hpp"
#include "text/parser.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {

namespace {

constexpr std::array kOperatorNames =
    std::to_array<std::string_view>({"", "add", "mul", "min", "max", "and", "or", "xor"});

std::string label_of(const Bound& bound) {
  if (bound.is_type) return std::string(ir::name_of(bound.type));
  const StaticValue& value = bound.value;
  if (value.type == ir::Type::Bool) return value.bits != 0 ? "true" : "false";
  if (ir::is_float(value.type)) return fmt::format("x{:x}", value.bits);
  const __int128 number = ir::integer_value(value.type, value.bits);
  return number < 0 ? fmt::format("m{}", static_cast<uint64_t>(-number))
                    : fmt::format("{}", static_cast<uint64_t>(number));
}

}  // namespace

// ---- arguments

// At the name of a function, or of an operation, that is passed as it is.
std::optional<FnTarget> Parser::parse_target_name() {
  const bool alone =
      at(TokenKind::Name) && (next_.kind == TokenKind::Comma || next_.kind == TokenKind::RParen);
  const bool of_module =
      at(TokenKind::Name) && next_.kind == TokenKind::Dot && used_module(tok_) != kNoIndex;
  if (!alone && !of_module) return std::nullopt;
  const Token name = tok_;
  const Found found = scopes_.find(name.text);
  Symbol symbol = found.symbol;
  if (of_module) {
    advance();
    advance();
    const auto found_member = member(name, tok_);
    symbol = found_member.value_or(Symbol{});
  } else if (found.where == Found::Where::Around) {
    symbol = capture(name, symbol);
  } else if (found.where != Found::Where::Visible) {
    const auto* const row = std::find(kOperatorNames.begin() + 1, kOperatorNames.end(), name.text);
    if (row == kOperatorNames.end()) return std::nullopt;
    advance();
    FnTarget target;
    target.op = static_cast<FnTarget::Op>(row - kOperatorNames.begin());
    target.label = name.text;
    return target;
  }
  FnTarget target;
  if (symbol.kind == Symbol::Kind::Target) {
    target = targets_[symbol.index];
  } else if (symbol.kind == Symbol::Kind::Fn) {
    target.fn = ir::FnId{symbol.index};
    target.label = name.text;
    called_fns_.insert(symbol.index);
  } else if (symbol.kind == Symbol::Kind::Generic && head_of(symbol.index).statics.empty() &&
             !fn_decls_[symbol.index].broken) {
    const Token shown = tok_;
    target.fn = instance_of(shown, symbol.index, {}, {});
    target.label = fn_decls_[symbol.index].name.text;
  } else {
    if (of_module) {
      report(Code::BadFunctionArgument, tok_,
             fmt::format("{} is no function that can be passed", quoted(tok_.text)),
             "pass a function without static parameters, or a lambda that calls it");
      advance();
      return FnTarget{};
    }
    return std::nullopt;
  }
  advance();
  return target;
}

RawArg Parser::parse_raw_arg() {
  RawArg arg;
  arg.where = tok_;
  const bool alone =
      at(TokenKind::Name) &&
      (next_.kind == TokenKind::Comma || next_.kind == TokenKind::RParen ||
       next_.kind == TokenKind::Semicolon || (next_.own_line && next_.kind == TokenKind::Name));
  const Found found = alone ? scopes_.find(tok_.text) : Found{};
  Symbol symbol = found.symbol;
  if (found.where == Found::Where::Around && symbol.kind != Symbol::Kind::Scalar &&
      !is_scalar(symbol))
    symbol = capture(tok_, symbol);
  const bool memory = symbol.kind == Symbol::Kind::Buffer ||
                      symbol.kind == Symbol::Kind::BufferParam ||
                      symbol.kind == Symbol::Kind::Array;
  if (memory && !is_scalar(symbol) &&
      (found.where == Found::Where::Visible || found.where == Found::Where::Around)) {
    arg.form = RawArg::Form::Memory;
    arg.memory = *memory_of(symbol);
    advance();
    return arg;
  }
  const bool bare = std::exchange(bare_condition_, false);
  const Value value = parse_expression();
  bare_condition_ = bare;
  arg.value = value.id;
  args_depth_ = std::max(args_depth_, value.depth);
  if (value.record != kNoIndex) {
    arg.form = RawArg::Form::Record;
    arg.record = value.record;
  }
  return arg;
}

// The arguments in parentheses. Functions among them are known by the head of the function.
bool Parser::parse_raw_args(std::vector<RawArg>& args, const FnDecl* decl) {
  const Token paren = tok_;
  advance();
  if (accept(TokenKind::RParen)) return true;
  do {
    const size_t i = args.size();
    const bool function =
        decl != nullptr && i < decl->params.size() && decl->params[i].form == ParamHead::Form::Fn;
    if (!function) {
      if (at(TokenKind::Or) && decl != nullptr) {
        report(Code::BadFunctionArgument, tok_, "a lambda stands where a value is expected",
               "pass a lambda for a function parameter only");
        panicking_ = true;
        return false;
      }
      args.push_back(parse_raw_arg());
      continue;
    }
    RawArg arg;
    arg.where = tok_;
    arg.form = RawArg::Form::Lambda;
    if (accept(TokenKind::Or)) {
      while (!at(TokenKind::Or) && !at(TokenKind::End) && !at(TokenKind::Semicolon) &&
             !at(TokenKind::RParen))
        advance();
      expect(TokenKind::Or, "after the parameters of a lambda");
      skip_lambda_body();
    } else if (at(TokenKind::OrOr)) {
      advance();
      skip_lambda_body();
    } else if (auto target = parse_target_name()) {
      arg.form = RawArg::Form::Target;
      arg.target = std::move(*target);
    } else {
      report(Code::BadFunctionArgument, tok_,
             fmt::format("{} is no function, which `{}` has to be", describe(tok_),
                         decl->params[i].name.text),
             "pass a `fn`, one of add mul min max and or xor, or a lambda `|a, b| ...`");
      panicking_ = true;
      return false;
    }
    args.push_back(std::move(arg));
  } while (!panicking_ && accept(TokenKind::Comma));
  return expect_close(TokenKind::RParen, paren);
}

void Parser::skip_lambda_body() {
  size_t brackets = 0;
  while (!at(TokenKind::End) && !at(TokenKind::Semicolon)) {
    if (at(TokenKind::LParen) || at(TokenKind::LBracket) || at(TokenKind::LBrace)) ++brackets;
    if (at(TokenKind::RParen) || at(TokenKind::RBracket) || at(TokenKind::RBrace)) {
      if (brackets == 0) return;
      --brackets;
    }
    if (brackets == 0 && at(TokenKind::Comma)) return;
    advance();
  }
}

// ---- the call

// A function of the text, its name read. `start`: where the expression begins, with the module.
Parser::Value Parser::parse_fn_call(const Token& name, const Token& start, Symbol symbol) {
  const Nesting nesting(*this);
  if (!nesting.fits) return too_deep(name);
  const bool plain = symbol.kind == Symbol::Kind::Fn;
  const bool whole = start.text.data() == whole_start_;
  whole_start_ = whole ? nullptr : whole_start_;
  const uint32_t depth_before = std::exchange(args_depth_, 0);
  FnDecl* decl = plain ? nullptr : &head_of(symbol.index);
  std::vector<std::optional<Bound>> given;
  bool complete = true;
  if (decl != nullptr) {
    decl->used = true;
    if (at(TokenKind::Less)) complete = parse_static_args(given, *decl);
    if (!panicking_ && !at(TokenKind::LParen))
      unexpected("`(`", fmt::format("call it, `{}(...)`", name.text));
    if (panicking_) return poison(name);
  }
  std::vector<RawArg> args;
  if (!parse_raw_args(args, decl) || panicking_ || !complete) {
    args_depth_ = depth_before;
    return poison(name);
  }
  const uint32_t depth = std::exchange(args_depth_, depth_before) + 1;
  if (plain) {
    const bool special = std::any_of(args.begin(), args.end(), [&](const RawArg& arg) {
      return arg.form == RawArg::Form::Record ||
             (arg.form == RawArg::Form::Memory && is_private(arg.memory));
    });
    if (!special && structs_.empty()) return plain_call(name, ir::FnId{symbol.index}, args, depth);
    const uint32_t index = plain_decl(ir::FnId{symbol.index});
    if (index == kNoIndex) return poison(name);
    decl = &head_of(index);
    symbol.index = index;
  }
  if (decl->broken || wanted_ == Report::Syntax) {
    for (const RawArg& arg : args)
      if (arg.form == RawArg::Form::Record) records_[arg.record].taken = true;
    return poison(name);
  }
  if (!right_count(name, decl->params.size(), args.size())) return poison(name);
  if (!bind_statics(name, *decl, given, args)) return poison(name);
  return finish_call(name, {symbol.index, whole, depth}, given, args);
}

Parser::Value Parser::plain_call(const Token& name, ir::FnId fn, const std::vector<RawArg>& args,
                                 uint32_t depth) {
  std::vector<ir::Arg> flat;
  flat.reserve(args.size());
  for (const RawArg& arg : args) {
    if (arg.form == RawArg::Form::Memory)
      flat.emplace_back(arg.memory);
    else
      flat.emplace_back(arg.value);
  }
  return make_call(name, fn, flat, depth);
}

Parser::Value Parser::make_call(const Token& name, ir::FnId fn, const std::vector<ir::Arg>& args,
                                uint32_t depth) {
  const Value value = make(ir::Call{fn, program_.add_args(args)}, name, depth);
  if (std::holds_alternative<ir::Call>(program_[value.id])) {
    calls_.push_back({value.id, frame_.owner});
    called_fns_.insert(fn.value);
  }
  return value;
}

Parser::Value Parser::finish_call(const Token& name, CallShape shape,
                                  const std::vector<std::optional<Bound>>& given,
                                  std::vector<RawArg>& args) {
  FnDecl& decl = fn_decls_[shape.decl];
  std::vector<Bound> statics;
  for (const auto& bound : given) statics.push_back(*bound);
  // Types of the parameters, in the file of the function and with its static parameters.
  const uint32_t outer_unit = std::exchange(unit_, decl.unit);
  scopes_.set_unit(decl.unit);
  scopes_.enter_function();
  for (size_t i = 0; i < statics.size(); ++i) declare_static(decl.statics[i], statics[i]);
  const CallTypes types = types_of_call(decl);
  scopes_.leave_function();
  unit_ = outer_unit;
  scopes_.set_unit(outer_unit);
  if (!types.known) {
    decl.broken = true;
    return poison(name);
  }
  std::vector<FnTarget> targets;
  if (!match_args(name, decl, types, args) || !bind_targets(decl, types, args, targets))
    return poison(name);
  const bool gives_struct = types.result && types.result->is_struct();
  const bool gets_array = std::any_of(args.begin(), args.end(), [&](const RawArg& arg) {
    return arg.form == RawArg::Form::Memory && is_private(arg.memory);
  });
  if (gives_struct || gets_array) {
    if (!shape.whole || sink_ == nullptr || !at(TokenKind::Semicolon)) {
      report(Code::NotInPlace, name,
             fmt::format("`{}` {}, so its call is expanded in place and cannot stand here",
                         name.text, gives_struct ? "gives a struct" : "gets a private array"),
             "give the result a name first, as in `let r = f(x);`");
      discard_postfix();
      return poison(name);
    }
    Instance instance{shape.decl, {}, std::move(statics), std::move(targets), {}, {}, 0};
    instance.key = key_of(shape.decl, instance.statics, instance.targets);
    if (decl.plain != kNoIndex) expanded_fns_.insert(decl.plain);
    return expand_in_place(name, instance, types, args);
  }
  const std::vector<ir::Arg> flat = flat_args(args, targets);
  const ir::FnId fn = decl.plain != kNoIndex
                          ? ir::FnId{decl.plain}
                          : instance_of(name, shape.decl, std::move(statics), std::move(targets));
  if (!fn.valid()) return poison(name);
  if (types.result) program_.fns[fn.index()].result = types.result->scalar;
  return make_call(name, fn, flat, shape.depth);
}

Parser::CallTypes Parser::types_of_call(const FnDecl& decl) {
  CallTypes types;
  for (const ParamHead& param : decl.params) {
    CallTypes::Param& row = types.params.emplace_back();
    if (param.form != ParamHead::Form::Fn) {
      const auto type = type_of(param.type, param.form == ParamHead::Form::Buffer);
      types.known = types.known && type.has_value();
      row.type = type.value_or(DeclaredType{});
      continue;
    }
    for (const TypeName& name : param.fn_params) {
      const auto type = type_of(name, false);
      types.known = types.known && type && !type->is_struct();
      if (type) row.fn_params.push_back(type->scalar);
    }
    const auto result = param.fn_result ? type_of(*param.fn_result, false) : std::nullopt;
    types.known = types.known && result && !result->is_struct();
    if (result) row.type = *result;
  }
  if (decl.result) {
    types.result = type_of(*decl.result, false);
    types.known = types.known && types.result.has_value();
  }
  return types;
}

// Each argument has the form of its parameter; the checker compares scalar types.
bool Parser::match_args(const Token& name, const FnDecl& decl, const CallTypes& types,
                        const std::vector<RawArg>& args) {
  bool fits = true;
  for (size_t i = 0; i < args.size(); ++i) {
    const ParamHead& param = decl.params[i];
    const RawArg& arg = args[i];
    const DeclaredType& type = types.params[i].type;
    if (param.form == ParamHead::Form::Fn) continue;
    if (param.form == ParamHead::Form::Value && type.is_struct()) {
      const bool same =
          arg.form == RawArg::Form::Record && records_[arg.record].type == type.record;
      if (arg.form == RawArg::Form::Record) records_[arg.record].taken = true;
      if (same) continue;
      fits = false;
      report(Code::BadStructUse, arg.where,
             fmt::format("the parameter `{}` of `{}` is a struct `{}`, the argument is not",
                         param.name.text, name.text, structs_[type.record].full_name),
             fmt::format("pass a value `{} {{ ... }}`", structs_[type.record].full_name));
    } else if (param.form == ParamHead::Form::Buffer && arg.form == RawArg::Form::Memory &&
               is_private(arg.memory) && program_[arg.memory.local()].type != type.scalar) {
      fits = false;
      report(Code::TypeMismatch, arg.where,
             fmt::format("the parameter `{}` of `{}` is a buffer of `{}`, the array has `{}`",
                         param.name.text, name.text, ir::name_of(type.scalar),
                         ir::name_of(*program_[arg.memory.local()].type)),
             "pass memory with the same element type");
    } else if (param.form == ParamHead::Form::Buffer && arg.form != RawArg::Form::Memory) {
      fits = false;
      report(Code::WrongKindOfName, arg.where,
             fmt::format("the parameter `{}` of `{}` is a buffer, the argument is a value",
                         param.name.text, name.text),
             "pass a buffer by its name");
    } else if (param.form == ParamHead::Form::Value && arg.form == RawArg::Form::Memory &&
               is_private(arg.memory)) {
      fits = false;
      report(Code::WrongKindOfName, arg.where,
             fmt::format("{} is a private array and cannot be used as a value",
                         quoted(arg.where.text)),
             fmt::format("use an element, `{}[i]`", arg.where.text.substr(0, 60)));
    }
  }
  return fits;
}

std::vector<ir::Arg> Parser::flat_args(const std::vector<RawArg>& args,
                                       const std::vector<FnTarget>& targets) {
  std::vector<ir::Arg> flat;
  for (const RawArg& arg : args) {
    if (arg.form == RawArg::Form::Value) flat.emplace_back(arg.value);
    if (arg.form == RawArg::Form::Memory) flat.emplace_back(arg.memory);
    if (arg.form == RawArg::Form::Record)
      for (const ir::ExprId field : records_[arg.record].fields) flat.emplace_back(field);
  }
  for (const FnTarget& target : targets) add_captures(flat, target);
  return flat;
}

void Parser::add_captures(std::vector<ir::Arg>& args, const FnTarget& target) {
  for (const Capture& capture : target.captures) {
    if (capture.buffer) {
      args.emplace_back(capture.memory);
    } else if (!capture.local.valid()) {
      args.emplace_back(make_scalar(prev_, capture.memory).id);
    } else {
      args.emplace_back(program_.add(ir::Expr{ir::LocalRef{capture.local}}, loc(prev_)));
    }
  }
}

// ---- instances

std::string Parser::key_of(uint32_t decl, const std::vector<Bound>& statics,
                           const std::vector<FnTarget>& targets) const {
  std::string key = fmt::format("{}", decl);
  for (const Bound& bound : statics)
    key += bound.is_type ? fmt::format(",{}", ir::name_of(bound.type))
                         : fmt::format(",{}:{}", ir::name_of(bound.value.type), bound.value.bits);
  for (const FnTarget& target : targets)
    key += target.op != FnTarget::Op::None ? fmt::format(",op{}", static_cast<int>(target.op))
                                           : fmt::format(",fn{}", target.fn.value);
  return key;
}

std::string Parser::name_of_instance(uint32_t index, const std::vector<Bound>& statics,
                                     const std::vector<FnTarget>& targets) const {
  const FnDecl& decl = fn_decls_[index];
  std::string name = decl.unit == 0 ? std::string() : fmt::format("{}__", units_[decl.unit]->name);
  name += decl.name.text;
  std::string_view joint = "__";
  const auto add = [&](std::string_view part) {
    if (name.size() > 2 * ir::kMaxNameBytes) return;
    name += joint;
    name += part;
    joint = "_";
  };
  for (const Bound& bound : statics) add(label_of(bound));
  for (const FnTarget& target : targets) add(target.label);
  return name;
}

ir::FnId Parser::instance_of(const Token& name, uint32_t index, std::vector<Bound> statics,
                             std::vector<FnTarget> targets) {
  FnDecl& decl = fn_decls_[index];
  decl.used = true;
  std::string key = key_of(index, statics, targets);
  if (const auto known = instances_.find(key); known != instances_.end()) return known->second;
  if (frame_.depth + 1 > kMaxExpansionDepth) {
    report(
        Code::ExpansionTooDeep, name,
        fmt::format("`{}` is expanded more than {} uses deep", decl.name.text, kMaxExpansionDepth),
        "end the recursion with `if const`, or use a loop");
    return {};
  }
  if (instances_.size() >= kMaxInstances) {
    if (!std::exchange(too_many_instances_, true))
      report(Code::TooManyInstances, name,
             fmt::format("the text needs more than {} instances of functions", kMaxInstances),
             "use fewer combinations of static arguments, or arguments that are values");
    return {};
  }
  const ir::FnId fn =
      program_.add(ir::Fn{fresh_name(name_of_instance(index, statics, targets)), {}, {}, {}}, {});
  const ir::LocId use = loc(name);
  if (program_.positions.fns.size() < program_.fns.size())
    program_.positions.fns.resize(program_.fns.size());
  program_.positions.fns[fn.index()] =
      program_.add_loc({units_[decl.unit]->file_index, decl.name.line, decl.name.column,
                        std::max(decl.name.length, 1u), use});
  instances_.emplace(key, fn);
  queue_.push_back(
      {index, fn, std::move(statics), std::move(targets), std::move(key), use, frame_.depth + 1});
  return fn;
}

// ---- functions as arguments

bool Parser::bind_targets(FnDecl& decl, const CallTypes& types, std::vector<RawArg>& args,
                          std::vector<FnTarget>& targets) {
  bool fits = true;
  for (size_t i = 0; i < args.size(); ++i) {
    if (decl.params[i].form != ParamHead::Form::Fn) continue;
    if (args[i].form == RawArg::Form::Lambda) {
      auto target = parse_lambda(args[i], types.params[i]);
      fits = fits && target.has_value();
      targets.push_back(target ? std::move(*target) : FnTarget{});
    } else {
      fits = check_target(args[i].target, types.params[i], args[i].where) && fits;
      targets.push_back(args[i].target);
    }
  }
  return fits;
}

bool Parser::check_target(const FnTarget& target, const CallTypes::Param& wanted,
                          const Token& where) {
  const std::string shown = signature_text(wanted);
  if (target.op != FnTarget::Op::None) {
    const bool two = wanted.fn_params.size() == 2 && wanted.fn_params[0] == wanted.fn_params[1] &&
                     wanted.fn_params[0] == wanted.type.scalar;
    if (two) return true;
    report(Code::BadFunctionArgument, where,
           fmt::format("`{}` takes two values of one type and gives such a value, but {} is "
                       "expected",
                       kOperatorNames[static_cast<size_t>(target.op)], shown),
           "pass a lambda");
    return false;
  }
  if (!target.fn.valid()) return false;
  const uint32_t index = plain_decl(target.fn);
  if (index == kNoIndex) return true;
  const FnDecl& decl = head_of(index);
  if (decl.broken) return false;
  bool same = decl.params.size() == wanted.fn_params.size() && decl.result.has_value();
  for (size_t i = 0; same && i < decl.params.size(); ++i) {
    const auto type = type_in(decl.unit, decl.params[i].type);
    same = decl.params[i].form == ParamHead::Form::Value && type && !type->is_struct() &&
           type->scalar == wanted.fn_params[i];
  }
  const auto result = same ? type_in(decl.unit, *decl.result) : std::nullopt;
  same = same && result && *result == wanted.type;
  if (same) {
    must_be_pure_.push_back({target.fn, where, unit_, frame_.use});
    return true;
  }
  report(Code::BadFunctionArgument, where,
         fmt::format("the function `{}` is passed where {} is expected", decl.name.text, shown),
         "pass a function with these types, or a lambda");
  return false;
}

std::string Parser::signature_text(const CallTypes::Param& wanted) {
  std::string text = "`fn(";
  for (size_t i = 0; i < wanted.fn_params.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ir::name_of(wanted.fn_params[i]));
  return text + fmt::format(") -> {}`", ir::name_of(wanted.type.scalar));
}

// `op(a, b)` where `op` is a function parameter.
Parser::Value Parser::parse_target_call(const Token& name, const FnTarget& target) {
  const Nesting nesting(*this);
  if (!nesting.fits) return too_deep(name);
  std::vector<Value> values;
  if (!parse_values(values)) return poison(name);
  uint32_t depth = 0;
  for (const Value& value : values) depth = std::max(depth, value.depth);
  if (target.op != FnTarget::Op::None) {
    if (!right_count(name, 2, values.size())) return poison(name);
    return operator_call(name, target.op, values);
  }
  if (!target.fn.valid()) return poison(name);
  std::vector<ir::Arg> args;
  for (const Value& value : values) args.emplace_back(value.id);
  add_captures(args, target);
  return make_call(name, target.fn, args, depth + 1);
}

Parser::Value Parser::operator_call(const Token& name, FnTarget::Op op,
                                    const std::vector<Value>& values) {
  using Op = FnTarget::Op;
  const uint32_t depth = std::max(values[0].depth, values[1].depth) + 1;
  const auto binary = [&](ir::BinaryOp which) {
    return make(ir::Binary{which, values[0].id, values[1].id}, name, depth);
  };
  const auto call = [&](ir::Intrinsic which) {
    return make(ir::IntrinsicCall{which, {values[0].id, values[1].id, {}}}, name, depth);
  };
  switch (op) {
    case Op::None: break;
    case Op::Add: return binary(ir::BinaryOp::Add);
    case Op::Mul: return binary(ir::BinaryOp::Mul);
    case Op::Min: return call(ir::Intrinsic::Min);
    case Op::Max: return call(ir::Intrinsic::Max);
    case Op::And: return binary(ir::BinaryOp::And);
    case Op::Or: return binary(ir::BinaryOp::Or);
    case Op::Xor: return binary(ir::BinaryOp::Xor);
  }
  return poison(name);
}

}  // namespace vyre::text
