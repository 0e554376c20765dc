// SPDX-License-Identifier: Apache-2.0
// Stores that may not happen although nothing around them says so: in functions that are called in
// operands of && and ||, one in the other, and under loops that need not run.
#include <array>

#include "generator/maker.hpp"

namespace vyre::generator {

using namespace ir;

// A function that stores to an element and says something: at once, after it may have left, or in
// a loop that need not run.
FnId Maker::storing_function(const Mem& like, Type value_type) {
  const Within items(items_, std::vector<StmtId>());
  const LocalId buffer = new_local(Local::Kind::BufferParam, "b", like.element);
  const LocalId at = new_local(Local::Kind::Param, "at", Type::U32);
  const LocalId bits = new_local(Local::Kind::Param, "x", value_type);
  const LocalId times = new_local(Local::Kind::Param, "n", Type::U32);
  const auto store = [&] {
    return p_.add(Store{Memory::of(buffer), reference(at), std::nullopt, reference(bits)});
  };
  const auto few = [&] { return binary({BinaryOp::Lt, reference(times), u32(1 + rnd_.below(3))}); };
  std::vector<StmtId> body;
  switch (rnd_.below(4)) {
    case 0: body.push_back(store()); break;
    case 1: {
      const std::array leave = {p_.add(Return{few()})};
      body.push_back(p_.add(If{few(), p_.add_block(leave), {}}));
      body.push_back(store());
      break;
    }
    case 2: {
      const LocalId k = new_local(Local::Kind::For, "k", std::nullopt);
      const std::array one = {store()};
      For loop;
      loop.variable = k;
      loop.first = u32(rnd_.below(2));
      loop.last = reference(times);
      loop.body = p_.add_block(one);
      body.push_back(p_.add(loop));
      break;
    }
    default: {
      const LocalId k = new_local(Local::Kind::Var, "k", Type::U32);
      body.push_back(p_.add(Let{k, u32(0)}));
      const std::array iteration = {store(), p_.add(Assign{k, BinaryOp::Add, u32(1)})};
      const Block block = p_.add_block(iteration);
      body.push_back(p_.add(While{binary({BinaryOp::Lt, reference(k), reference(times)}), block}));
      break;
    }
  }
  body.push_back(p_.add(Return{few()}));
  const std::array params = {buffer, at, bits, times};
  const Range range = p_.add_params(params);
  const Block block = p_.add_block(body);
  return p_.add(Fn{fresh("f"), range, Type::Bool, block});
}

ExprId Maker::storing_call(size_t mem) {
  const Within pure(pure_, true);
  const Type type = widened(mems_[mem].element);
  const FnId fn = storing_function(mems_[mem], type);
  const ExprId at = p_.add(Cast{Type::U32, own_index(mem)});
  const ExprId bits = expr(type, Level::Lane, 2);
  // 0 to 3 times, which lanes may not agree on.
  const ExprId times = rnd_.one_in(2)
                           ? u32(rnd_.below(3))
                           : binary({BinaryOp::Rem, expr(Type::U32, Level::Lane, 1), u32(4)});
  const std::array<Arg, 4> args = {Arg(mems_[mem].memory), Arg(at), Arg(bits), Arg(times)};
  const Range range = p_.add_args(args);
  cost_ += uint64_t{multiplier_} * 8;
  return p_.add(Call{fn, range});
}

// a && b, a || b with calls on either side, also one in the other.
ExprId Maker::lazy_value(size_t mem, int depth) {
  const auto part = [&]() -> ExprId {
    if (depth != 0 && rnd_.one_in(2)) return lazy_value(mem, depth - 1);
    if (rnd_.one_in(4)) return storing_call(mem);
    const Within pure(pure_, true);
    return expr(Type::Bool, Level::Lane, 2);
  };
  const BinaryOp op = rnd_.one_in(2) ? BinaryOp::LogicalAnd : BinaryOp::LogicalOr;
  const ExprId left = part();
  const ExprId right = rnd_.one_in(3) ? part() : storing_call(mem);
  const ExprId both = binary({op, left, right});
  return rnd_.one_in(4) ? p_.add(Unary{UnaryOp::Not, both}) : both;
}

bool Maker::lazy_statement() {
  if (!options_.functions || pure_ || too_deep(4)) return false;
  const Within no_subgroup(no_subgroup_, true);  // not all lanes come to the operands
  std::vector<size_t> all;
  for (size_t i = 0; i < mems_.size(); ++i)
    if (mems_[i].writable && owned(i) && !states_[i].pinned) all.push_back(i);
  if (all.empty()) return false;
  const ExprId value = lazy_value(rnd_.pick(all), 2);
  const LocalId id = new_local(Local::Kind::Let, "lazy", std::nullopt);
  emit(Let{id, value});
  visible_.push_back({id, Type::Bool, Level::Lane, false, 0});
  if (rnd_.one_in(2)) observe(visible_.back());
  return true;
}

}  // namespace vyre::generator
