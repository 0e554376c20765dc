// SPDX-License-Identifier: Apache-2.0
// One race, on a buffer that nothing else touches, where every lane comes by.
#include <algorithm>
#include <array>

#include "generator/maker.hpp"

namespace vyre::generator {

using namespace ir;

namespace {

void collect(const Program& p, Block block, std::vector<StmtId>& all) {
  for (const StmtId id : p.items(block)) {
    all.push_back(id);
    for_each_block(p[id], [&](Block inner) { collect(p, inner, all); });
  }
}

std::vector<StmtId> in_source_order(const Program& p) {
  std::vector<StmtId> all;
  for (const Fn& fn : p.fns) collect(p, fn.body, all);
  collect(p, p.body, all);
  return all;
}

}  // namespace

StmtId Maker::racing(Stmt stmt) {
  emit(std::move(stmt));
  return items_.back();
}

void Maker::read_racing(Memory memory, ExprId index) {
  const LocalId id = new_local(Local::Kind::Let, "raced", std::nullopt);
  planted_second_ = racing(Let{id, p_.add(Load{memory, index})});
}

void Maker::plant_in_buffer(uint64_t shape) {
  const BufferId id = declare(BufferKind::Out, Type::U32, lanes_, false);
  const Memory memory = Memory::of(id);
  planted_.buffer = p_[id].name;
  const auto mirrored = [&] { return binary({BinaryOp::Sub, u32(lanes_ - 1), lane_id()}); };
  const auto next = [&] {
    return binary({BinaryOp::Rem, binary({BinaryOp::Add, lane_id(), u32(1)}), u32(lanes_)});
  };
  const auto write_own = [&] {
    const ExprId at = lane_id();
    planted_first_ = racing(Store{memory, at, std::nullopt, value(Type::U32, Level::Lane)});
  };
  switch (shape) {
    case 0:
      planted_.shape = "missing barrier";
      write_own();
      if (rnd_.one_in(2)) let_statement(false);
      read_racing(memory, next());
      break;
    case 1: {
      planted_.shape = "plain against atomic";
      const ExprId zero = u32(rnd_.below(lanes_));
      const uint64_t element = std::get<IntLiteral>(p_[zero]).magnitude;
      Atomic atomic{AtomicOp::Add, memory, zero, {u32(1), {}}, MemoryOrder::Relaxed};
      planted_first_ = racing(Eval{p_.add(atomic)});
      read_racing(memory, u32(element));
      break;
    }
    case 2: {
      planted_.shape = "two lanes write one element";
      const ExprId at = binary({BinaryOp::Div, lane_id(), u32(2)});
      planted_first_ = planted_second_ =
          racing(Store{memory, at, std::nullopt, value(Type::U32, Level::Lane)});
      break;
    }
    default:
      planted_.shape = "workgroup barrier instead of grid barrier";
      write_own();
      emit(Barrier{Scope::Workgroup});
      read_racing(memory, mirrored());
      break;
  }
}

void Maker::plant_in_shared(uint64_t shape) {
  const BufferId id = declare(BufferKind::Shared, Type::U32, group_lanes_, false);
  const Memory memory = Memory::of(id);
  planted_.buffer = p_[id].name;
  const ExprId at = local_id();
  planted_first_ = racing(Store{memory, at, std::nullopt, value(Type::U32, Level::Lane)});
  if (shape == 0) {
    planted_.shape = "subgroup barrier instead of workgroup barrier";
    emit(Barrier{Scope::Subgroup});
  } else {
    planted_.shape = "missing barrier on shared memory";
  }
  read_racing(memory, binary({BinaryOp::Sub, u32(group_lanes_ - 1), local_id()}));
}

void Maker::plant_copy(bool source) {
  const BufferId from = declare(BufferKind::Out, Type::U32, lanes_, false);
  const BufferId to = declare(BufferKind::Shared, Type::U32, group_lanes_, false);
  const uint16_t tag = next_tag_++;
  AsyncCopy copy;
  copy.tag = tag;
  copy.dst = Memory::of(to);
  copy.src = Memory::of(from);
  copy.dst_index = u32(0);
  copy.src_index = binary({BinaryOp::Mul, group_id(), u32(group_lanes_)});
  copy.count = u32(group_lanes_);
  planted_first_ = racing(copy);
  if (source) {
    planted_.shape = "source of an async copy written before the wait";
    planted_.buffer = p_[from].name;
    const ExprId at = lane_id();
    planted_second_ =
        racing(Store{Memory::of(from), at, std::nullopt, value(Type::U32, Level::Lane)});
  } else {
    planted_.shape = "async data used before the wait";
    planted_.buffer = p_[to].name;
    read_racing(Memory::of(to), local_id());
  }
  emit(Wait{tag});
}

void Maker::plant() {
  std::vector<uint64_t> shapes = {2};
  shapes.push_back(0);
  if (options_.atomics) shapes.push_back(1);
  if (options_.workgroup_barriers) shapes.push_back(3);
  if (options_.shared) shapes.push_back(5);
  if (options_.shared && options_.subgroups) shapes.push_back(4);
  if (options_.shared && options_.async) shapes.insert(shapes.end(), {6, 7});
  const uint64_t shape = rnd_.pick(shapes);
  const auto make = [&] {
    if (shape < 4)
      plant_in_buffer(shape);
    else if (shape < 6)
      plant_in_shared(shape - 4);
    else
      plant_copy(shape == 7);
  };
  plant_pending_ = false;
  if (rnd_.one_in(4)) {
    const LocalId i = new_local(Local::Kind::For, "i", std::nullopt);
    const Within more(multiplier_, multiplier_ * 2);
    const Block body = block(make);
    const ExprId zero = u32(0);
    emit(For{i, zero, u32(1 + rnd_.below(2)), {}, false, body});
  } else if (rnd_.one_in(3)) {
    const Block body = block(make);
    emit(Nested{body});
  } else {
    make();
  }
  may_end_ = true;
}

Planted Maker::planted_lines(const Program& printed) const {
  Planted result = planted_;
  const std::vector<StmtId> here = in_source_order(p_);
  const std::vector<StmtId> there = in_source_order(printed);
  const auto line = [&](StmtId id) -> uint32_t {
    const auto at = std::find(here.begin(), here.end(), id);
    if (at == here.end() || here.size() != there.size()) return 0;
    return printed.position_of(there[static_cast<size_t>(at - here.begin())]).line;
  };
  result.first_line = line(planted_first_);
  result.second_line = line(planted_second_);
  return result;
}

}  // namespace vyre::generator
