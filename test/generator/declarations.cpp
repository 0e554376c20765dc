// SPDX-License-Identifier: Apache-2.0
// The frame of a program: grid, constants, buffers with attributes, header, and the data to run on.
#include <algorithm>
#include <array>
#include <bit>

#include "generator/maker.hpp"
#include "ir/scalar.hpp"

namespace vyre::generator {

using namespace ir;

Maker::Maker(uint64_t seed, const GeneratorOptions& options)
    : rnd_(seed ^ 0x6e5a9e4d1c3b2f70), options_(options) {
  if (!options_.grid_barriers)
    options_.fixpoints = options_.traps = options_.collectives = options_.swaps = false;
  // By the seed alone: the programs of the others are what they were before there were swaps.
  options_.swaps = options_.swaps && seed % 4 == 0;
  if (!options_.workgroup_barriers) options_.async = false;
  if (!options_.floats) options_.doubles = options_.transcendental = false;
}

std::string Maker::fresh(std::string_view prefix) {
  for (;;)
    if (std::string name = std::string(prefix) + std::to_string(names_++); !is_reserved(name))
      return name;
}

bool Maker::has(Type type) const {
  switch (type) {
    case Type::Bool:
    case Type::U32:
    case Type::I32: return true;
    case Type::U64:
    case Type::I64: return options_.wide;
    case Type::F32: return options_.floats;
    case Type::F64: return options_.doubles;
    case Type::U8:
    case Type::I8:
    case Type::U16:
    case Type::I16: return options_.storage_types;
    case Type::F16:
    case Type::BF16: return options_.storage_types && options_.floats;
  }
  return false;
}

Type Maker::any_type() {
  static constexpr std::array kTypes = {
      Type::U32, Type::U32, Type::U32, Type::U32, Type::U32,  Type::I32, Type::I32, Type::I32,
      Type::F32, Type::F32, Type::F32, Type::F32, Type::Bool, Type::U64, Type::I64, Type::F64};
  for (;;)
    if (const Type type = rnd_.pick(kTypes); has(type)) return type;
}

Type Maker::element_type() {
  if (!rnd_.one_in(3)) return any_type();
  for (;;)
    if (const Type type = static_cast<Type>(rnd_.below(kTypeCount)); has(type)) return type;
}

void Maker::choose_grid() {
  static constexpr std::array<uint32_t, 20> kSizes = {1, 2, 3, 3, 4,  4,  5,  5,  6,  6,
                                                      7, 8, 8, 9, 10, 12, 16, 31, 33, 64};
  const uint32_t most = std::max(options_.max_lanes, 12U);
  for (;;) {
    axes_ = options_.many_axes && rnd_.one_in(3) ? 2 + static_cast<uint32_t>(rnd_.below(2)) : 1;
    size_ = {1, 1, 1};
    grid_ = {1, 1, 1};
    if (axes_ == 1) {
      size_[0] = rnd_.pick(kSizes);
      grid_[0] = 1 + static_cast<uint32_t>(rnd_.below(rnd_.one_in(8) ? 6 : 3));
    } else {
      for (size_t i = 0; i < axes_; ++i) {
        size_[i] = 1 + static_cast<uint32_t>(rnd_.below(rnd_.one_in(3) ? 8 : 5));
        grid_[i] = 1 + static_cast<uint32_t>(rnd_.below(2));
      }
    }
    group_lanes_ = size_[0] * size_[1] * size_[2];
    lanes_ = group_lanes_ * grid_[0] * grid_[1] * grid_[2];
    if (lanes_ > most) continue;
    // Every shape of race needs two workgroups of two subgroups of four lanes.
    if (options_.plant_race && (group_lanes_ < 6 || lanes_ == group_lanes_)) continue;
    return;
  }
}

void Maker::declare_consts() {
  const auto add = [&](Type type, bool table) {
    std::vector<ExprId> values;
    const uint64_t count = table ? 1 + rnd_.below(5) : 1;
    for (uint64_t i = 0; i < count; ++i) {
      std::vector<ConstId> same;
      for (const ConstId id : scalars_)
        if (p_[id].type == type) same.push_back(id);
      if (!same.empty() && is_number(type) && rnd_.one_in(3))
        values.push_back(binary({rnd_.one_in(2) ? BinaryOp::Add : BinaryOp::Mul,
                                 p_.add(ConstRef{rnd_.pick(same)}), literal(type)}));
      else
        values.push_back(literal(type, rnd_.one_in(2)));
    }
    const Range range = p_.add_values(values);
    return p_.add(Const{fresh(table ? "Table" : "K"), type, table, range});
  };
  for (uint64_t n = 1 + rnd_.below(3); n != 0; --n) scalars_.push_back(add(any_type(), false));
  for (uint64_t n = rnd_.below(3); n != 0; --n) tables_.push_back(add(any_type(), true));
}

BufferId Maker::declare(BufferKind kind, Type element, uint32_t count, bool dynamic) {
  static constexpr std::array<std::string_view, kBufferKindCount> kNames = {
      "in_", "uni", "io", "out_", "wo", "sh", "ps", "sc"};
  Buffer buffer;
  buffer.name = fresh(kNames[static_cast<size_t>(kind)]);
  buffer.kind = kind;
  buffer.element = element;
  const bool output = kind == BufferKind::Out || kind == BufferKind::WriteOnly;
  if (!dynamic || kind == BufferKind::Shared) {
    buffer.count = u32(count);
  } else if (output) {
    // A buffer of known size before it, if one has just this size.
    std::vector<BufferId> same;
    for (uint32_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] == count && p_.buffers[i].kind != BufferKind::Shared)
        same.push_back(BufferId{i});
    buffer.size = same.empty() ? binary({BinaryOp::Add, u32(count / 2), u32(count - count / 2)})
                               : p_.add(Len{Memory::of(rnd_.pick(same))});
  }
  const BufferId id = p_.add(std::move(buffer));
  counts_.push_back(count);
  return id;
}

void Maker::attributes(BufferId id) {
  const auto number = [&](uint32_t n) { return u32(n); };
  Buffer& b = p_.buffers[id.index()];
  // Beyond what every allocation has, up to what each kind of memory may have.
  if (rnd_.one_in(8)) b.align = number(1U << rnd_.below(b.kind == BufferKind::Shared ? 11 : 15));
  if (rnd_.one_in(8)) b.locality = static_cast<Locality>(1 + rnd_.below(3));
  if (rnd_.one_in(10)) b.coalesce_axis = static_cast<uint8_t>(rnd_.below(3));
  if (b.kind == BufferKind::Shared) return;
  if (rnd_.one_in(8)) b.binding = number(20 + id.value);
  const bool returned =
      b.kind == BufferKind::Out || b.kind == BufferKind::WriteOnly || b.kind == BufferKind::InOut;
  if (returned && rnd_.one_in(16)) {
    const uint32_t size = bytes_of(b.element);
    const uint32_t first = static_cast<uint32_t>(rnd_.below(3));
    b.range_first = number(first * size);
    b.range_last = number((first + static_cast<uint32_t>(rnd_.below(40))) * size);
  }
  if (b.kind == BufferKind::InOut && b.count.valid() && rnd_.one_in(6)) b.live_out = true;
}

void Maker::declare_buffers() {
  const auto any_count = [&]() -> uint32_t {
    switch (rnd_.below(16)) {
      case 0: return 0;
      case 1: return 1;
      case 2: return lanes_ / 2 + 1;
      case 3: return lanes_ + 3;
      default: return lanes_;
    }
  };
  const auto flip = [&] { return rnd_.one_in(2); };
  const auto several = [&](BufferKind kind, uint64_t least, uint64_t more) {
    for (uint64_t n = least + rnd_.below(more + 1); n != 0; --n) {
      uint32_t count = any_count();
      if (kind == BufferKind::Uniform) count = 1 + static_cast<uint32_t>(rnd_.below(6));
      if (kind == BufferKind::Shared)
        count = rnd_.one_in(4) ? 1 + static_cast<uint32_t>(rnd_.below(group_lanes_ * 2ULL))
                               : group_lanes_;
      const Type type = element_type();
      attributes(declare(kind, type, count, flip()));
    }
  };
  several(BufferKind::In, 1, 2);
  several(BufferKind::Uniform, 1, 0);
  several(BufferKind::InOut, 1, 2);
  several(BufferKind::Out, 1, 1);
  several(BufferKind::WriteOnly, 0, 1);
  if (options_.persistent && rnd_.one_in(4)) several(BufferKind::Persistent, 1, 0);
  if (options_.shared) several(BufferKind::Shared, 1, 1);
  if (options_.collectives && rnd_.one_in(3)) {
    const Type type = any_type();
    const BufferId src =
        declare(rnd_.one_in(2) ? BufferKind::InOut : BufferKind::Out, type, lanes_, false);
    twins_ = {src, declare(BufferKind::Out, type, lanes_, false)};
  }
  if (options_.swaps) {
    const Type type = element_type();
    for (uint64_t n = 2 + rnd_.below(2); n != 0; --n)
      swapped_.push_back(
          declare(rnd_.one_in(2) ? BufferKind::InOut : BufferKind::Out, type, lanes_, flip()));
  }
  for (uint32_t i = 0; i < p_.buffers.size(); ++i) {
    const Buffer& b = p_.buffers[i];
    const bool fixed = b.kind == BufferKind::In || b.kind == BufferKind::Uniform;
    mems_.push_back({.memory = Memory::of(BufferId{i}),
                     .element = b.element,
                     .count = counts_[i],
                     .readable = b.kind != BufferKind::WriteOnly,
                     .writable = !fixed,
                     .constant = fixed,
                     .shared = b.kind == BufferKind::Shared,
                     .atomics = !fixed && b.kind != BufferKind::WriteOnly &&
                                (options_.wide_atomics || bytes_of(b.element) != 8)});
  }
  states_.assign(mems_.size(), {});
  for (size_t i = 0; i < mems_.size(); ++i)
    states_[i] = any_state(mems_[i], Scope::Grid, states_[i]);
  // Those below have one use each and no role.
  observed_ = declare(BufferKind::Out, Type::U32, lanes_, false);
  if (options_.atomics && rnd_.one_in(3)) {
    tickets_ = declare(BufferKind::InOut, Type::U32, 1, false);
    histogram_ = declare(BufferKind::Out, Type::U32, 8, false);
  }
  if (options_.atomics && rnd_.one_in(3)) {
    arrivals_ = declare(BufferKind::Out, Type::U32, 1, false);
    total_ = declare(BufferKind::Out, Type::U32, 1, false);
  }
}

void Maker::headers() {
  for (size_t i = 0; i < axes_; ++i) p_.workgroup[i] = u32(size_[i]);
  if (rnd_.one_in(4)) {
    const BufferId id{static_cast<uint32_t>(rnd_.below(p_.buffers.size()))};
    p_.add(Require{binary({BinaryOp::Eq, p_.add(Len{Memory::of(id)}), u32(counts_[id.index()])}),
                   "a \"size\" that fits", static_cast<uint32_t>(p_.buffers.size())});
  }
  if (!options_.plant_race && rnd_.one_in(200)) {
    // Nothing runs.
    for (size_t i = 0; i < axes_; ++i) p_.over[i] = u32(0);
    grid_ = {0, 0, 0};
    return;
  }
  if (rnd_.one_in(3)) return;  // the caller says how many
  for (size_t i = 0; i < axes_; ++i) {
    const uint32_t n = size_[i] * grid_[i] - static_cast<uint32_t>(rnd_.below(size_[i]));
    std::vector<BufferId> same;
    for (uint32_t b = 0; b < counts_.size(); ++b)
      if (counts_[b] == n) same.push_back(BufferId{b});
    if (!same.empty() && rnd_.one_in(2))
      p_.over[i] = p_.add(Len{Memory::of(rnd_.pick(same))});
    else
      p_.over[i] = rnd_.one_in(3) ? binary({BinaryOp::Add, u32(n - n / 3), u32(n / 3)}) : u32(n);
  }
}

// ---- data

namespace {

constexpr std::array<uint64_t, 14> kWhole = {0,          1,          2,          3,
                                             7,          31,         32,         0x7fffffff,
                                             0x80000000, 0xffffffff, 0xfffffffe, 0x7fffffffffffffff,
                                             1ULL << 63, ~0ULL};
// The last six are NaNs: a payload that f16 keeps, one that bf16 keeps too, one that neither does;
// signalling and quiet.
constexpr std::array<uint32_t, 24> kFloats = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x40490fdb, 0x7f7fffff, 0xff7fffff,
    0x00000001, 0x80000001, 0x00800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x4b800000, 0x4f800000,
    0xcf000000, 0x3dcccccd, 0x7f802000, 0xffc06000, 0x7fa10000, 0xff810000, 0x7f800001, 0xffc01235};

// With the payload of a NaN as it is: a conversion would make it quiet.
uint64_t double_bits(uint32_t narrow) {
  if ((narrow & 0x7fffffff) <= 0x7f800000)
    return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(narrow)));
  return (uint64_t{narrow >> 31} << 63) | (uint64_t{0x7ff} << 52) |
         (uint64_t{narrow & 0x7fffff} << 29) | 5;
}

}  // namespace

std::vector<std::byte> Maker::input_bytes(Type element, uint32_t count) {
  std::vector<std::byte> bytes(size_t{count} * bytes_of(element));
  const Type type = widened(element);
  for (uint32_t i = 0; i < count; ++i) {
    Bits bits = 0;
    if (type == Type::Bool) {
      bits = rnd_.below(2);
    } else if (is_float(type)) {
      const uint32_t narrow =
          rnd_.one_in(2)
              ? rnd_.pick(kFloats)
              : std::bit_cast<uint32_t>(static_cast<float>(rnd_.below(200)) * 0.25F - 20.0F);
      bits = type == Type::F32 ? narrow : double_bits(narrow);
    } else {
      bits = rnd_.one_in(4) ? rnd_.pick(kWhole) : rnd_.below(rnd_.one_in(2) ? 8 : 100);
    }
    store_element(element, bytes.data() + size_t{i} * bytes_of(element), bits);
  }
  return bytes;
}

std::vector<std::vector<std::byte>> Maker::make_inputs() {
  std::vector<std::vector<std::byte>> inputs;
  for (size_t i = 0; i < p_.buffers.size(); ++i) {
    const Buffer& b = p_.buffers[i];
    const bool given = b.kind == BufferKind::In || b.kind == BufferKind::Uniform ||
                       b.kind == BufferKind::Persistent ||
                       (b.kind == BufferKind::InOut && !b.live_out);
    if (given) inputs.push_back(input_bytes(b.element, counts_[i]));
  }
  return inputs;
}

}  // namespace vyre::generator
