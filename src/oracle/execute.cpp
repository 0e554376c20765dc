// SPDX-License-Identifier: Apache-2.0
// What one lane does between the places where it waits for others.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/stable_sort.hpp"
#include "check/prints.hpp"
#include "ir/print_format.hpp"
#include "oracle/machine.hpp"

namespace vyre::oracle {

using namespace ir;

namespace {

// The element an index means, if there is one.
std::optional<uint64_t> element_at(Type index_type, uint64_t bits, uint64_t count) {
  if (index_type == Type::I32) bits = static_cast<uint64_t>(int64_t{static_cast<int32_t>(bits)});
  // A negative 64-bit index is larger than any count when read as unsigned.
  if (bits >= count) return std::nullopt;
  return bits;
}

// Whether min or max of floats changes the element: only to a number, and only if the old value is
// none or v orders strictly before (max: after) it. -0 orders before +0.
bool replaces(AtomicOp op, Type type, uint64_t old, uint64_t v) {
  const auto number = [&](uint64_t bits) {
    return type == Type::F64
               ? std::bit_cast<double>(bits)
               : static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  };
  const double before = number(old);
  const double given = number(v);
  if (std::isnan(given)) return false;
  if (std::isnan(before)) return true;
  if (before != given) return (given < before) == (op == AtomicOp::Min);
  return std::signbit(before) != std::signbit(given) &&
         std::signbit(given) == (op == AtomicOp::Min);
}

uint64_t apply_atomic(const Instr& instr, Type element, std::byte* at, const uint64_t* frame,
                      bool& wrote) {
  const Type type = widened(element);
  const uint64_t old = load_element(element, at);
  const uint64_t operand = frame[instr.b];
  const auto combine = [&](BinaryOp op) { return scalar_fn(op, type)(old, operand, 0); };
  const auto pick = [&](Intrinsic op) { return scalar_fn(op, type)(old, operand, 0); };
  uint64_t now = old;
  wrote = true;
  switch (static_cast<AtomicOp>(instr.what)) {
    case AtomicOp::Add: now = combine(BinaryOp::Add); break;
    case AtomicOp::Sub: now = combine(BinaryOp::Sub); break;
    case AtomicOp::Min:
    case AtomicOp::Max:
      if (is_float(type)) {
        wrote = replaces(static_cast<AtomicOp>(instr.what), type, old, operand);
        now = operand;
      } else {
        now = pick(static_cast<AtomicOp>(instr.what) == AtomicOp::Min ? Intrinsic::Min
                                                                      : Intrinsic::Max);
      }
      break;
    case AtomicOp::And: now = combine(BinaryOp::And); break;
    case AtomicOp::Or: now = combine(BinaryOp::Or); break;
    case AtomicOp::Xor: now = combine(BinaryOp::Xor); break;
    case AtomicOp::Nand:
      now = scalar_fn(UnaryOp::BitNot, type)(combine(BinaryOp::And), 0, 0);
      break;
    case AtomicOp::Exchange:
    case AtomicOp::Store: now = operand; break;
    case AtomicOp::Cas:
      wrote = old == operand;
      if (wrote) now = frame[instr.c];
      break;
    case AtomicOp::Load: wrote = false; break;
  }
  if (wrote) store_element(element, at, now);
  return old;
}

uint64_t mask_of(Type type) {
  return bits_of(type) == 64 ? ~uint64_t{0} : 0xFFFF'FFFF;
}

// Of the numbers from slot a on and below slot b in steps of slot c.
uint64_t last_value(const Instr& i, const uint64_t* frame) {
  const uint64_t most = (frame[i.b] - frame[i.a] - 1) & mask_of(i.type);
  return (frame[i.a] + most / frame[i.c] * frame[i.c]) & mask_of(i.type);
}

// Control flow inside of a lane. False: it goes on at the next instruction.
inline bool jumps(const Instr& i, Lane& lane, uint64_t*& frame, Pc& pc) {
  if (i.op == Op::Return) {
    if (i.a != kNoTarget) frame[1] = frame[i.a];
    const uint32_t boundary = static_cast<uint32_t>(frame[0] >> 32);
    pc = static_cast<Pc>(frame[0]);
    lane.frame -= boundary;
    frame -= boundary;
    return true;
  }
  if (i.op == Op::JumpIf && frame[i.a] == 0) return false;
  if (i.op == Op::JumpUnless && frame[i.a] != 0) return false;
  if (i.op == Op::ForNext) {
    // The variable is below the bound, so their distance fits the unsigned type.
    const uint64_t mask = mask_of(i.type);
    if (((frame[i.b] - frame[i.a]) & mask) <= frame[i.c]) return false;
    frame[i.a] = (frame[i.a] + frame[i.c]) & mask;
  }
  if (i.op == Op::ForPrev) {
    // It started at a value of the loop, so it meets the first one.
    if (frame[i.a] == frame[i.b]) return false;
    frame[i.a] = (frame[i.a] - frame[i.c]) & mask_of(i.type);
  }
  if (i.op == Op::Call) {
    frame[i.dst] = (uint64_t{i.dst} << 32) | (pc + 1);
    lane.frame += i.dst;
    frame += i.dst;
  }
  pc = i.target;
  return true;
}

}  // namespace

Machine::MemoryView Machine::view(MemoryRow row, Group& group, uint64_t* frame) {
  const MemoryInfo& info = code_.memories[row];
  switch (info.kind) {
    case MemoryInfo::Kind::Buffer: return {buffers_[row].data(), launch_.counts[row], info.element};
    case MemoryInfo::Kind::Shared:
      return {reinterpret_cast<std::byte*>(group.shared.data()) + info.offset, info.count,
              info.element};
    case MemoryInfo::Kind::Table: return {tables_.data() + info.offset, info.count, info.element};
    case MemoryInfo::Kind::Array:
      return {reinterpret_cast<std::byte*>(frame + info.offset), info.count, info.element};
  }
  return {};
}

namespace {

uint64_t axis_length(const Code& code, const check::Launch& launch, const Instr& instr,
                     const uint64_t* frame) {
  const MemoryRow row = resolve(instr.memory, frame);
  const MemoryInfo& info = code.memories[row];
  return info.kind == MemoryInfo::Kind::Buffer ? launch.axes[row][instr.imm] : info.axes[instr.imm];
}

// One more axis of an index by axes. In a plan its length is a value.
uint64_t axis_step(const Code& code, const check::Launch& launch, const Instr& instr,
                   const uint64_t* frame) {
  const uint64_t length =
      instr.what != 0 ? frame[instr.c] : axis_length(code, launch, instr, frame);
  const __int128 index = integer_value(instr.type, frame[instr.b]);
  const uint64_t before = frame[instr.a];
  if (before == kOutsideAxis || index < 0 || index >= static_cast<__int128>(length))
    return kOutsideAxis;
  return before * length + static_cast<uint64_t>(index);
}

}  // namespace

uint64_t Machine::builtin(const Instr& instr, const Group& group, uint32_t lane) const {
  const uint32_t axis = instr.b;
  const auto local = [&](uint32_t a) {
    const check::Axes& size = launch_.workgroup;
    if (a == 0) return lane % size[0];
    if (a == 1) return lane / size[0] % size[1];
    return lane / size[0] / size[1];
  };
  switch (static_cast<Builtin>(instr.a)) {
    case Builtin::Gid: return group.wid[axis] * launch_.workgroup[axis] + local(axis);
    case Builtin::Lid: return local(axis);
    case Builtin::Wid: return group.wid[axis];
    case Builtin::NumWorkgroups: return launch_.grid[axis];
    case Builtin::WorkgroupSize: return launch_.workgroup[axis];
    case Builtin::SubgroupLane: return lane % options_.subgroup_size;
    case Builtin::SubgroupId: return lane / options_.subgroup_size;
    case Builtin::SubgroupSize: return options_.subgroup_size;
    case Builtin::FixpointPasses: return fixpoint_passes_;
    case Builtin::FixpointConverged: return fixpoint_converged_ ? 1 : 0;
  }
  return 0;
}

void Machine::stop(const Stop& stop) {
  if (!stop_ || stop.lane < stop_->lane) stop_ = stop;
}

// Time, cancellation and progress; true: the lane must not go on.
bool Machine::poll(Pc pc) {
  constexpr uint64_t kStatementsPerPoll = uint64_t{1} << 14;
  until_poll_ = kStatementsPerPoll;
  const auto fail = [&](std::string message) {
    error_ = Error{.code = ErrorCode::Timeout,
                   .message = std::move(message),
                   .context = {},
                   .at = position_of(checked_, code_, pc),
                   .diagnostics = {}};
    return true;
  };
  if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed))
    return fail("the dispatch was cancelled. Fix: run it again");
  if (options_.timeout.count() == 0 && !options_.on_progress) return false;
  const auto now = std::chrono::steady_clock::now();
  if (options_.on_progress && now >= next_progress_) {
    next_progress_ = now + std::chrono::milliseconds(50);
    options_.on_progress({.statements = totals_.statements,
                          .phase = totals_.phases,
                          .workgroups_done = launch_.workgroups() - unstarted_,
                          .workgroups = launch_.workgroups()});
  }
  if (options_.timeout.count() != 0 && now >= deadline_)
    return fail(
        "the dispatch ran longer than its time limit; a lane was here. Fix: look for a loop that "
        "waits for another lane without a barrier, use smaller inputs, or allow more time");
  return false;
}

bool Machine::access(Group& group, uint32_t index, Pc pc, uint64_t* frame) {
  const Instr& i = code_.instrs[pc];
  const MemoryRow row = resolve(i.memory, frame);
  const MemoryView memory = view(row, group, frame);
  const std::optional<uint64_t> element = element_at(i.type, frame[i.a], memory.count);
  const bool quiet = i.op == Op::Load && i.what != 0;
  if (!element) {
    if (options_.checked && !quiet) {
      stop({.kind = Stop::Kind::OutOfBounds,
            .lane = global_id(group, index),
            .pc = pc,
            .memory = row,
            .index = integer_value(i.type, frame[i.a]),
            .count = memory.count});
      leave(group, index, LaneState::Ended);
      return false;
    }
    if (i.op != Op::Store) frame[i.dst] = 0;
    return true;
  }
  const bool tracked = races_ && !quiet && code_.memories[row].kind <= MemoryInfo::Kind::Shared;
  const auto accessor = [&]() -> Accessor {
    const uint32_t id = global_id(group, index);
    return {id, group.id, index / options_.subgroup_size, id, pc};
  };
  std::byte* const at = memory.data + *element * bytes_of(memory.element);
  if (i.op == Op::Load) {
    frame[i.dst] = load_element(memory.element, at);
    if (tracked) races_->access(row, *element, Race::Access::Read, accessor());
  } else if (i.op == Op::Store) {
    store_element(memory.element, at, frame[i.b]);
    if (tracked) {
      const Accessor by = accessor();
      races_->access(row, *element, Race::Access::Write, by);
      races_->forget_release(row, *element, by);
    }
  } else {
    bool wrote = false;
    frame[i.dst] = apply_atomic(i, memory.element, at, frame, wrote);
    if (row < slice_.agreed.size() && slice_.agreed[row] &&
        static_cast<AtomicOp>(i.what) == AtomicOp::Store &&
        agreed_.try_emplace({row, *element}, frame[i.b]).first->second != frame[i.b])
      ++disagreements_;
    if (tracked) {
      const Accessor by = accessor();
      races_->access(row, *element, wrote ? Race::Access::AtomicWrite : Race::Access::AtomicRead,
                     by);
      races_->order(row, *element, static_cast<MemoryOrder>(i.order),
                    static_cast<AtomicOp>(i.what) != AtomicOp::Store, wrote, by);
    }
  }
  return true;
}

std::string LineWriter::text(uint32_t row, const uint64_t* frame) const {
  const PrintInfo& info = code_.prints[row];
  std::vector<uint64_t> bits;
  for (const Slot slot : info.slots) bits.push_back(frame[slot]);
  const Stmt& stmt = checked_.program[info.stmt];
  const auto* print = std::get_if<Print>(&stmt);
  return format_text(print != nullptr ? print->format : std::get<Assert>(stmt).format, info.types,
                     bits);
}

void LineWriter::add(uint32_t row, const uint64_t* frame, uint64_t phase, uint32_t lane) const {
  if (options_.printed == nullptr) return;
  PrintReport& printed = *options_.printed;
  if (printed.lines.size() >= check::print_capacity(options_.print_bytes, code_.print_words)) {
    ++printed.dropped;
    return;
  }
  printed.lines.push_back({.phase = phase,
                           .lane = lane,
                           .at = checked_.program.position_of(code_.prints[row].stmt),
                           .text = text(row, frame)});
}

void sort_lines(PrintReport& printed) {
  base::stable_sort(printed.lines,
                    [](const PrintLine& line) { return std::pair(line.phase, line.lane); });
}

void Machine::suspend(Group& group, uint32_t index, Pc pc, const uint64_t* frame) {
  const Instr& i = code_.instrs[pc];
  Lane& lane = group.lanes[index];
  if (i.op == Op::End) return leave(group, index, LaneState::Ended);
  if (i.op == Op::FixpointEnter && frame[i.a] == 0) {
    stop({.kind = Stop::Kind::FixpointZero, .lane = global_id(group, index), .pc = pc});
    return leave(group, index, LaneState::Ended);
  }
  if (i.op == Op::Assert) {
    stop({.kind = Stop::Kind::Assertion,
          .lane = global_id(group, index),
          .pc = pc,
          .text = lines_.text(i.a, frame)});
    return leave(group, index, LaneState::Ended);
  }
  if (i.op == Op::Trap && i.target == kNoTarget) {
    stop({.kind = Stop::Kind::Trap,
          .lane = global_id(group, index),
          .pc = pc,
          .tag = static_cast<uint16_t>(i.b),
          .value = static_cast<uint32_t>(frame[i.a])});
    return leave(group, index, LaneState::Ended);
  }
  if (i.op == Op::Trap) {
    lane.tag = static_cast<uint16_t>(i.b);
    lane.pc = i.target;
    reports_[lane.tag].push_back({.tag = lane.tag,
                                  .value = static_cast<uint32_t>(frame[i.a]),
                                  .lane = global_id(group, index),
                                  .at = position_of(checked_, code_, pc)});
    waiting_[lane.tag].push_back({&group, index});
    return leave(group, index, LaneState::Trapped);
  }
  lane.pc = pc;
  // The last lane to arrive may go on at once, but it yields: the others come first or later as the
  // schedule says.
  arrive(group, index,
         i.op == Op::Barrier    ? i.scope
         : i.op == Op::Subgroup ? Scope::Subgroup
         : i.op == Op::Wait     ? Scope::Workgroup
                                : Scope::Grid);
}

bool Machine::run_lane(Group& group, uint32_t index, uint64_t budget) {
  Lane& lane = group.lanes[index];
  const Instr* const code = code_.instrs.data();
  uint64_t* frame = frame_of(group, index);
  Pc pc = lane.pc;
  for (;;) {
    const Instr& i = code[pc];
    switch (i.op) {
      case Op::Step:
        if (budget == 0) {
          lane.pc = pc;
          return true;
        }
        --budget;
        ++totals_.statements;
        if (--until_poll_ == 0 && poll(pc)) {
          lane.pc = pc;
          return true;
        }
        break;
      case Op::Scalar: frame[i.dst] = i.fn(frame[i.a], frame[i.b], frame[i.c]); break;
      case Op::Constant: frame[i.dst] = i.imm; break;
      case Op::Copy: frame[i.dst] = frame[i.a]; break;
      case Op::Builtin: frame[i.dst] = builtin(i, group, index); break;
      case Op::AxisLength: frame[i.dst] = axis_length(code_, launch_, i, frame); break;
      case Op::AxisStep: frame[i.dst] = axis_step(code_, launch_, i, frame); break;
      case Op::Length: frame[i.dst] = view(resolve(i.memory, frame), group, frame).count; break;
      case Op::Load:
      case Op::Store:
      case Op::Atomic:
        if (!access(group, index, pc, frame)) return false;
        break;
      case Op::ZeroArray: std::fill_n(frame + i.dst, i.a, 0); break;
      case Op::Jump:
      case Op::JumpIf:
      case Op::JumpUnless:
      case Op::ForNext:
      case Op::ForPrev:
      case Op::Call:
      case Op::Return:
        if (jumps(i, lane, frame, pc)) continue;
        break;
      case Op::ForLast: frame[i.a] = last_value(i, frame); break;
      case Op::Retire:
        if (frame[i.a] == 0 && !lane.retired) {
          lane.retired = true;
          Group::Subgroup& s = group.subgroups[index / options_.subgroup_size];
          if (--s.live != 0 && s.arrived == s.live)
            complete_subgroup(group, index / options_.subgroup_size);
        }
        break;
      case Op::CopyAsync:
        if (!start_copy(group, index, pc, frame)) return false;
        break;
      case Op::Print:
        lines_.add(i.a, frame, totals_.phases - phases_before_, global_id(group, index));
        break;
      case Op::Assert:
        if (!options_.checked || frame[i.b] != 0) break;
        suspend(group, index, pc, frame);
        return false;
      case Op::End:
      case Op::Trap:
      case Op::FixpointEnter:
      case Op::FixpointPass:
      case Op::Resume:
      case Op::Collective:
      case Op::Swap:
      case Op::Barrier:
      case Op::Subgroup:
      case Op::Wait: suspend(group, index, pc, frame); return false;
    }
    ++pc;
  }
}

bool Machine::start_copy(Group& group, uint32_t lane, Pc pc, uint64_t* frame) {
  const CopyInfo& info = code_.copies[code_.instrs[pc].a];
  const auto number = [&](Type type, Slot slot) { return integer_value(type, frame[slot]); };
  PendingCopy copy{
      .tag = info.tag,
      .pc = pc,
      .dst = resolve(info.dst, frame),
      .src = resolve(info.src, frame),
      .dst_index = number(info.dst_type, info.dst_index),
      .src_index = number(info.src_type, info.src_index),
      .count = static_cast<uint64_t>(std::max<__int128>(number(info.count_type, info.count), 0)),
      .done = false};
  if (options_.checked && copy.count != 0) {
    for (const auto& [row, first] :
         {std::pair(copy.src, copy.src_index), {copy.dst, copy.dst_index}}) {
      const uint64_t count = view(row, group, frame).count;
      if (first >= 0 && first + copy.count <= count) continue;
      stop({.kind = Stop::Kind::OutOfBounds,
            .lane = global_id(group, lane),
            .pc = pc,
            .memory = row,
            .index = first < 0 ? first : std::max<__int128>(first, count),
            .count = count});
      leave(group, lane, LaneState::Ended);
      return false;
    }
  }
  // The arguments are uniform and the wait is a barrier: the first lane starts the copy for
  // all lanes of the workgroup.
  for (const PendingCopy& other : group.copies)
    if (other.tag == copy.tag) return true;
  group.copies.push_back(copy);
  // It may happen at any moment from here to the wait. Doing it early, late or by chance shows
  // programs that count on one of them.
  const bool early = options_.schedule == Schedule::Reversed ||
                     (options_.schedule == Schedule::Random && (random_() & 1) != 0);
  if (races_) {
    // From now on it races with whatever is not ordered before its start.
    const Accessor by = Accessor::copy(group.id, copy.tag, global_id(group, lane), pc);
    const auto record = [&](MemoryRow row, __int128 first, Race::Access access) {
      const uint64_t count = view(row, group, frame).count;
      const __int128 last = std::min<__int128>(first + copy.count, count);
      for (__int128 e = std::max<__int128>(first, 0); e < last; ++e)
        races_->access(row, static_cast<uint64_t>(e), access, by);
    };
    record(copy.src, copy.src_index, Race::Access::CopyRead);
    record(copy.dst, copy.dst_index, Race::Access::CopyWrite);
  }
  if (early) perform(group, group.copies.back());
  return true;
}

void Machine::perform(Group& group, PendingCopy& copy) {
  if (std::exchange(copy.done, true)) return;
  // Copies are between buffers and shared memory only, so there is no frame.
  const MemoryView src = view(copy.src, group, nullptr);
  const MemoryView dst = view(copy.dst, group, nullptr);
  const uint32_t size = bytes_of(src.element);
  // Nothing beyond the destination matters, so that is all that is moved.
  const __int128 from = copy.dst_index < 0 ? -copy.dst_index : 0;
  const __int128 room = static_cast<__int128>(dst.count) - copy.dst_index;
  const __int128 to = std::min<__int128>(copy.count, room);
  if (from >= to) return;
  std::vector<std::byte> moved(static_cast<size_t>(to - from) * size);  // out of bounds: zeros
  for (__int128 k = from; k < to; ++k) {
    const __int128 element = copy.src_index + k;
    if (element < 0 || element >= static_cast<__int128>(src.count)) continue;
    std::memcpy(moved.data() + static_cast<size_t>(k - from) * size,
                src.data + static_cast<size_t>(element) * size, size);
  }
  std::memcpy(dst.data + static_cast<size_t>(copy.dst_index + from) * size, moved.data(),
              moved.size());
}

}  // namespace vyre::oracle
