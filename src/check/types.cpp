// SPDX-License-Identifier: Apache-2.0
// Types of statements: destinations, conditions, bounds, results.
#include <algorithm>

#include <fmt/core.h>

#include "check/constants.hpp"
#include "check/typer.hpp"
#include "ir/message.hpp"
#include "ir/print_format.hpp"
#include "ir/properties.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::check {

using namespace ir;

namespace {

class StatementTypes {
 public:
  explicit StatementTypes(State& s) : s_(s), p_(s.p), typer_(s) {}

  void run() {
    for (const Fn& fn : p_.fns) {
      for (LocalId param : p_.params(fn.params))
        s_.facts.local_types[param.index()] = p_[param].type;
    }
    for (const Fn& fn : p_.fns) {
      fn_ = &fn;
      block(fn.body);
    }
    fn_ = nullptr;
    block(p_.body);
  }

 private:
  void block(Block b) {
    for (StmtId id : p_.items(b)) {
      stmt(id);
      for_each_block(p_[id], [&](Block inner) { block(inner); });
    }
  }

  void stmt(StmtId id) {
    match(
        p_[id], [&](const Let& st) { let(st); }, [&](const DeclareArray& st) { array(st); },
        [&](const Assign& st) { assign(id, st); }, [&](const Store& st) { store(id, st); },
        [&](const Eval& st) { eval(st); },
        [&](const If& st) { typer_.require_bool(st.condition, "the condition of `if`"); },
        [&](const For& st) { for_loop(st); },
        [&](const While& st) { typer_.require_bool(st.condition, "the condition of `while`"); },
        [](const Break&) {}, [](const Continue&) {}, [&](const Return& st) { result(id, st); },
        [](const Nested&) {}, [](const Region&) {}, [](const Barrier&) {},
        [&](const Fixpoint& st) { fixpoint(st); }, [&](const AsyncCopy& st) { copy(id, st); },
        [](const Wait&) {},
        [&](const Trap& st) { typer_.require(st.value, Type::U32, "the value of a trap"); },
        [](const Resume&) {}, [&](const Collective& st) { collective(id, st); },
        [&](const Swap& st) { swap(id, st); },
        [&](const Print& st) { printed(id, "print", st.format, st.args); },
        [&](const Assert& st) {
          typer_.require_bool(st.condition, "the condition of `assert`");
          is_printable("assert", st.condition);
          printed(id, "assert", st.format, st.args);
        });
  }

  void let(const Let& st) {
    const Local& local = p_[st.local];
    auto& type = s_.facts.local_types[st.local.index()];
    type = local.type;
    if (local.type)
      typer_.require(st.value, *local.type, quoted(local.name));
    else
      type = typer_.infer(st.value);
  }

  void array(const DeclareArray& st) {
    const Local& local = p_[st.local];
    s_.facts.local_types[st.local.index()] = local.type;
    array_values(local);
    const auto axes = p_.values(local.axes);
    if (!local.count.valid() && axes.empty()) {
      s_.report(Code::BadCount, st.local,
                fmt::format("the private array `{}` has no element count", local.name),
                fmt::format("write a count from 1 to {}", kMaxArrayElements));
      return;
    }
    if (axes.size() > kMaxAxes || axes.size() == 1) {
      s_.report(Code::BadShape, st.local, fmt::format("`{}` has {} axes", local.name, axes.size()),
                fmt::format("use at most {} axes", kMaxAxes));
      return;
    }
    uint64_t count = 1;
    for (const ExprId length : axes.empty() ? std::span(&local.count, 1) : axes) {
      const auto elements = array_length(local, length);
      if (!elements) return;
      count *= *elements;
      if (count <= kMaxArrayElements) continue;
      s_.report(
          Code::BadCount, length,
          fmt::format("the private array `{}` would have {} elements", local.name, count),
          fmt::format("use 1 to {} elements, or a shared or global buffer", kMaxArrayElements));
      return;
    }
    s_.facts.array_counts[st.local.index()] = static_cast<uint32_t>(count);
    if (local.values.count > count)
      s_.report(Code::BadArrayValues, p_.values(local.values)[count],
                fmt::format("the private array `{}` has {} element{} and {} values", local.name,
                            count, count == 1 ? "" : "s", local.values.count),
                fmt::format("leave out values, or declare {} elements", local.values.count));
  }

  std::optional<uint64_t> array_length(const Local& local, ExprId id) {
    if (!typer_.require_integer(id, "the element count")) return std::nullopt;
    const auto count = evaluate(p_, s_.facts, id);
    if (!count) {
      s_.report(Code::NotConstant, id,
                fmt::format("the element count of `{}` is not constant", local.name),
                "use literals and constants only");
    } else if (count->bits == 0 || count->bits > kMaxArrayElements) {
      s_.report(
          Code::BadCount, id,
          is_signed(count->type) ? fmt::format("the private array `{}` would have {} elements",
                                               local.name, as_signed(*count))
                                 : fmt::format("the private array `{}` would have {} elements",
                                               local.name, count->bits),
          fmt::format("use 1 to {} elements, or a shared or global buffer", kMaxArrayElements));
    } else {
      return count->bits;
    }
    return std::nullopt;
  }

  void array_values(const Local& local) {
    for (const ExprId value : p_.values(local.values)) {
      typer_.require(value, *local.type, fmt::format("an element of `{}`", local.name));
      if (s_.facts.expr_types[value.index()] && !evaluate(p_, s_.facts, value))
        s_.report(Code::NotConstant, value,
                  fmt::format("a value that `{}` starts with is not constant", local.name),
                  "use literals, constants, operators and exactly defined functions only, or "
                  "assign the element afterwards");
    }
  }

  void assign(StmtId id, const Assign& st) {
    const Local& local = p_[st.local];
    const auto type = s_.facts.local_types[st.local.index()];
    if (local.kind == Local::Kind::Array || local.kind == Local::Kind::BufferParam) {
      s_.report(Code::WrongKindOfName, id,
                fmt::format("`{}` cannot be assigned as a whole", local.name),
                fmt::format("assign an element: `{}[i] = …`", local.name));
      typer_.infer(st.value);
      return;
    }
    if (local.kind != Local::Kind::Var) {
      const std::string_view what = local.kind == Local::Kind::For     ? "a loop variable"
                                    : local.kind == Local::Kind::Param ? "a parameter"
                                                                       : "declared with `let`";
      s_.report(Code::AssignToImmutable, id,
                fmt::format("`{}` is {} and cannot change", local.name, what),
                local.kind == Local::Kind::Let
                    ? fmt::format("declare it with `var {} = …`", local.name)
                    : fmt::format("copy it first: `var my_{} = {};`", local.name, local.name))
          .notes.push_back(s_.note(st.local, "it is declared here"));
    }
    if (!type) {
      typer_.infer(st.value);
    } else if (st.op) {
      typer_.check_op_assign(st.value, *st.op, *type, st.value, quoted(local.name));
    } else {
      typer_.require(st.value, *type, quoted(local.name));
    }
  }

  void store(StmtId id, const Store& st) {
    typer_.index(st.memory, st.index);
    if (st.memory.kind == Memory::Kind::Table)
      s_.report(Code::AssignToImmutable, id,
                fmt::format("the table `{}` is constant", name_of(p_, st.memory)),
                "use a private array or a buffer for values that change");
    const Type type = widened(element_type(p_, st.memory));
    const std::string what = fmt::format("an element of `{}`", name_of(p_, st.memory));
    if (st.op)
      typer_.check_op_assign(st.value, *st.op, type, st.value, what);
    else
      typer_.require(st.value, type, what);
  }

  void eval(const Eval& st) {
    const Expr& e = p_[st.value];
    typer_.infer_effect(st.value);
    if (std::holds_alternative<Call>(e) || std::holds_alternative<Atomic>(e) ||
        std::holds_alternative<Poison>(e))
      return;
    s_.report(Code::NoEffect, st.value, "this expression has no effect as a statement",
              "assign its value: `let x = …;`, or remove it");
  }

  void for_loop(const For& st) {
    auto type = typer_.same_type({st.first, st.last}, std::nullopt, st.last, "the bounds of `for`");
    if (type && !is_integer(*type)) {
      s_.report(Code::IndexNotInteger, st.first,
                fmt::format("a `for` counts integers, but its bounds are {}", name_of(*type)),
                "use integer bounds and convert the variable inside the loop");
      type.reset();
    }
    s_.facts.local_types[st.variable.index()] = type;
    if (!st.step.valid()) return;
    if (const auto* literal = std::get_if<IntLiteral>(&p_[st.step]);
        literal != nullptr && literal->negative) {
      bad_step(st.step, fmt::format("the step of a `for` is -{}", literal->magnitude));
      return;
    }
    if (type)
      typer_.require(st.step, *type, "the step");
    else
      typer_.infer(st.step);
    const auto step = evaluate(p_, s_.facts, st.step);
    if (!step) {
      if (s_.facts.expr_types[st.step.index()] && !step_trap_tag(p_))
        s_.report(Code::BadLoopStep, st.step,
                  "the step of a `for` is known at run time only, and all 65536 tags are taken",
                  "leave a tag for loops whose step is not positive, or use a constant step");
    } else if (!is_integer(step->type)) {
      return;
    } else if (is_signed(step->type) ? as_signed(*step) <= 0 : step->bits == 0) {
      bad_step(st.step, is_signed(step->type)
                            ? fmt::format("the step of a `for` is {}", as_signed(*step))
                            : std::string("the step of a `for` is 0"));
    }
  }

  void bad_step(ExprId step, std::string message) {
    s_.report(Code::BadLoopStep, step, std::move(message),
              "use a step of at least 1; to count down write `for i in rev first .. last`, with "
              "the smaller bound first");
  }

  void result(StmtId id, const Return& st) {
    if (fn_ == nullptr) {
      if (!st.value.valid()) return;
      typer_.infer(st.value);
      s_.report(Code::BadReturn, id, "a `return` outside functions ends the lane and has no value",
                "write `return;` and store the value in a buffer");
      return;
    }
    if (fn_->result && st.value.valid()) {
      typer_.require(st.value, *fn_->result, fmt::format("the result of `{}`", fn_->name));
    } else if (fn_->result) {
      s_.report(Code::BadReturn, id,
                fmt::format("`{}` returns {}, but this `return` has no value", fn_->name,
                            name_of(*fn_->result)),
                "write `return …;` with a value");
    } else if (st.value.valid()) {
      typer_.infer(st.value);
      s_.report(
          Code::BadReturn, id,
          fmt::format("`{}` has no result, but this `return` has a value", fn_->name),
          fmt::format("declare the result: `fn {}(…) -> u32`, or write `return;`", fn_->name));
    }
  }

  void fixpoint(const Fixpoint& st) {
    typer_.require(st.max_passes, Type::U32, "the most passes of a `fixpoint`");
    const auto most = evaluate(p_, s_.facts, st.max_passes);
    if (most && most->type == Type::U32 && most->bits == 0)
      s_.report(Code::BadFixpointMax, st.max_passes, "a `fixpoint` of at most 0 passes",
                "allow at least one pass");
  }

  void copy(StmtId id, const AsyncCopy& st) {
    typer_.require_integer(st.dst_index, "the index");
    typer_.require_integer(st.src_index, "the index");
    typer_.require_integer(st.count, "the element count");
    if (element_type(p_, st.dst) != element_type(p_, st.src))
      s_.report(Code::BadAsyncCopy, id,
                fmt::format("`{}` has {} elements and `{}` has {}", name_of(p_, st.dst),
                            name_of(element_type(p_, st.dst)), name_of(p_, st.src),
                            name_of(element_type(p_, st.src))),
                "copy between memories of one element type");
  }

  void collective(StmtId id, const Collective& st) {
    for (ExprId word : {st.root, st.group}) {
      if (!word.valid()) continue;
      typer_.require(word, Type::U32, word == st.root ? "the root" : "the group number");
      if (s_.facts.expr_types[word.index()] && !evaluate(p_, s_.facts, word))
        s_.report(Code::NotConstant, word,
                  fmt::format("the {} of a collective is not constant",
                              word == st.root ? "root" : "group number"),
                  "use literals and constants only");
    }
    const Type type = element_type(p_, st.src);
    const bool reduces = st.op == CollectiveOp::AllReduce || st.op == CollectiveOp::ReduceScatter;
    const bool bitwise = st.reduce >= ReduceOp::And;
    if (reduces && !(bitwise ? is_integer(type) : is_number(type)))
      s_.report(Code::BadCollective, id,
                fmt::format("`{}` with `{}` does not work on {} elements", name_of(st.op),
                            name_of(st.reduce), name_of(type)),
                bitwise ? "use u32, i32, u64 or i64 elements"
                        : "use u32, i32, u64, i64, f32 or f64 elements");
    if (st.dst.valid() && element_type(p_, st.dst) != type)
      s_.report(Code::BadCollective, id,
                fmt::format("`{}` has {} elements and `{}` has {}", name_of(p_, st.src),
                            name_of(type), name_of(p_, st.dst), name_of(element_type(p_, st.dst))),
                "use buffers of one element type");
  }

  void swap(StmtId id, const Swap& st) {
    if (std::ranges::any_of(p_.fns, [](const Fn& fn) { return fn.name == "swap"; }))
      s_.report(Code::BadSwap, id, "a function of the program is called `swap`, too",
                "give the function another name");
    if (element_type(p_, st.a) != element_type(p_, st.b))
      s_.report(Code::BadSwap, id,
                fmt::format("`{}` has {} elements and `{}` has {}, so they cannot be exchanged",
                            name_of(p_, st.a), name_of(element_type(p_, st.a)), name_of(p_, st.b),
                            name_of(element_type(p_, st.b))),
                "swap buffers of one element type");
  }

  // The format and arguments of print and assert. Each gets a type, whatever is wrong.
  void printed(StmtId id, std::string_view name, const std::string& format, Range args) {
    std::vector<std::optional<Type>> types;
    for (const ExprId arg : p_.values(args)) types.push_back(typer_.infer(arg));
    const auto bad = [&](auto at, std::string message, std::string fix) {
      s_.report(Code::BadPrint, at, std::move(message), std::move(fix));
    };
    for (const Fn& fn : p_.fns)
      if (fn.name == name)
        return bad(id,
                   fmt::format("the function `{0}` of the program takes the place of `{0}`", name),
                   "give the function another name");
    if (!is_message(format) || format.size() > kMaxFormatBytes)
      return bad(
          id,
          fmt::format("the format of `{}` is longer than {} bytes, or holds control characters",
                      name, kMaxFormatBytes),
          "use a shorter text of printable characters");
    FormatProblem problem;
    const PrintFormat parsed = parse_format(format, problem);
    if (!problem.message.empty())
      return bad(id, std::move(problem.message), std::move(problem.fix));
    if (parsed.pieces.size() != args.count)
      return bad(id,
                 fmt::format("the format of `{}` has {} place{} for {} argument{}", name,
                             parsed.pieces.size(), parsed.pieces.size() == 1 ? "" : "s", args.count,
                             args.count == 1 ? "" : "s"),
                 "write one `{}` for each argument, and `{{` for a brace in the text");
    if (args.count > kMaxPrintArguments)
      return bad(
          id,
          fmt::format("`{}` has {} arguments, more than {}", name, args.count, kMaxPrintArguments),
          "print in several lines");
    for (uint32_t i = 0; i < args.count; ++i) {
      const ExprId arg = p_.values(args)[i];
      if (!types[i] || !is_printable(name, arg)) continue;
      FormatProblem misfit = check_spec(parsed.pieces[i].spec, *types[i]);
      if (!misfit.message.empty()) bad(arg, std::move(misfit.message), std::move(misfit.fix));
    }
  }

  // Whether it may be evaluated, or not, wherever the statement stands; reports what may not.
  bool is_printable(std::string_view name, ExprId id) {
    const Expr& e = p_[id];
    std::string_view what;
    if (std::holds_alternative<Call>(e)) what = "calls a function";
    if (std::holds_alternative<Atomic>(e)) what = "has an atomic operation";
    if (std::holds_alternative<Subgroup>(e)) what = "has a subgroup operation";
    if (!what.empty()) {
      s_.report(Code::BadPrint, id, fmt::format("an argument of `{}` {}", name, what),
                "put it in a local first: `let x = …;`");
      return false;
    }
    bool plain = !std::holds_alternative<UniformLoad>(e);  // check_control() refuses it
    for_each_operand(p_, e, [&](ExprId child) { plain = is_printable(name, child) && plain; });
    return plain;
  }

  State& s_;
  const Program& p_;
  Typer typer_;
  const Fn* fn_ = nullptr;
};

}  // namespace

void check_types(State& s) {
  StatementTypes(s).run();
}

}  // namespace vyre::check
