// SPDX-License-Identifier: Apache-2.0
#include "vyre/ir/ops.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "vyre/ir/types.hpp"

namespace vyre::ir {

namespace {

struct NamedOp {
  std::string_view name;
  int arity;
};

#define VYRE_ROW(id, name, arity) NamedOp{name, arity},
constexpr std::array kIntrinsics = {VYRE_INTRINSICS(VYRE_ROW)};
constexpr std::array kAtomics = {VYRE_ATOMICS(VYRE_ROW)};
constexpr std::array kSubgroupOps = {VYRE_SUBGROUP_OPS(VYRE_ROW)};
#undef VYRE_ROW
static_assert(kIntrinsics.size() == kIntrinsicCount && kAtomics.size() == kAtomicCount &&
              kSubgroupOps.size() == kSubgroupOpCount);

constexpr std::array<std::string_view, kBuiltinCount> kBuiltins = {
    "gid",           "lid",         "wid",           "num_workgroups",  "workgroup_size",
    "subgroup_lane", "subgroup_id", "subgroup_size", "fixpoint_passes", "fixpoint_converged"};
constexpr std::array<std::string_view, 4> kOrders = {"relaxed", "acquire", "release", "acq_rel"};
constexpr std::array<std::string_view, 4> kCollectives = {"all_reduce", "broadcast", "all_gather",
                                                          "reduce_scatter"};
constexpr std::array<std::string_view, 6> kReduceOps = {"add", "min", "max", "and", "or", "xor"};
constexpr std::array<std::string_view, 3> kScopes = {"subgroup", "workgroup", "grid"};
constexpr std::array<std::string_view, 3> kUnary = {"-", "!", "~"};

struct BinaryRow {
  std::string_view spelling;
  int precedence;
};
// clang-format off
constexpr std::array<BinaryRow, 18> kBinary = {{{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<", 3},  {"<=", 3},
                                                {">", 3},  {">=", 3}, {"|", 4},  {"^", 5},  {"&", 6},  {"<<", 7},
                                                {">>", 7}, {"+", 8},  {"-", 8},  {"*", 9},  {"/", 9},  {"%", 9}}};
// clang-format on

// Words of the grammar other than type and built-in names.
constexpr std::array kKeywords = std::to_array<std::string_view>(
    {"program",   "workgroup", "over",       "const",   "require",  "fn",      "buffer",   "let",
     "var",       "if",        "else",       "for",     "in",       "step",    "while",    "break",
     "continue",  "return",    "region",     "barrier", "subgroup", "grid",    "fixpoint", "max",
     "async",     "copy",      "wait",       "trap",    "resume",   "uniform", "inout",    "out",
     "writeonly", "shared",    "persistent", "as",      "true",     "false"});

// Built-in functions that have no row in an operator table.
constexpr std::array kOtherFunctions =
    std::to_array<std::string_view>({"len", "bitcast", "grid_load", "workgroup_load"});

template <class Enum, size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<Enum>(it - names.begin());
}

template <size_t N>
std::unordered_map<std::string_view, size_t> index_of(const std::array<NamedOp, N>& rows) {
  std::unordered_map<std::string_view, size_t> map;
  for (size_t i = 0; i < N; ++i) map.emplace(rows[i].name, i);
  return map;
}

template <class Enum>
std::optional<Enum> find(const std::unordered_map<std::string_view, size_t>& map,
                         std::string_view name) {
  const auto it = map.find(name);
  if (it == map.end()) return std::nullopt;
  return static_cast<Enum>(it->second);
}

template <class Enum>
constexpr size_t at(Enum e) {
  return static_cast<size_t>(e);
}

}  // namespace

int precedence_of(BinaryOp op) {
  return kBinary[at(op)].precedence;
}
std::string_view spelling_of(UnaryOp op) {
  return kUnary[at(op)];
}
std::string_view spelling_of(BinaryOp op) {
  return kBinary[at(op)].spelling;
}

std::string_view name_of(Intrinsic op) {
  return kIntrinsics[at(op)].name;
}
int arity_of(Intrinsic op) {
  return kIntrinsics[at(op)].arity;
}
std::optional<Intrinsic> intrinsic_from_name(std::string_view name) {
  static const auto map = index_of(kIntrinsics);
  return find<Intrinsic>(map, name);
}

std::string_view name_of(AtomicOp op) {
  return kAtomics[at(op)].name;
}
int arity_of(AtomicOp op) {
  return kAtomics[at(op)].arity;
}
std::optional<AtomicOp> atomic_from_name(std::string_view name) {
  static const auto map = index_of(kAtomics);
  return find<AtomicOp>(map, name);
}

std::string_view name_of(SubgroupOp op) {
  return kSubgroupOps[at(op)].name;
}
int arity_of(SubgroupOp op) {
  return kSubgroupOps[at(op)].arity;
}
std::optional<SubgroupOp> subgroup_from_name(std::string_view name) {
  static const auto map = index_of(kSubgroupOps);
  return find<SubgroupOp>(map, name);
}

std::string_view name_of(MemoryOrder order) {
  return kOrders[at(order)];
}
std::optional<MemoryOrder> order_from_name(std::string_view name) {
  return find<MemoryOrder>(kOrders, name);
}
std::string_view name_of(Builtin builtin) {
  return kBuiltins[at(builtin)];
}
std::optional<Builtin> builtin_from_name(std::string_view name) {
  return find<Builtin>(kBuiltins, name);
}
std::string_view name_of(Scope scope) {
  return kScopes[at(scope)];
}
std::string_view name_of(CollectiveOp op) {
  return kCollectives[at(op)];
}
std::optional<CollectiveOp> collective_from_name(std::string_view name) {
  return find<CollectiveOp>(kCollectives, name);
}
std::string_view name_of(ReduceOp op) {
  return kReduceOps[at(op)];
}
std::optional<ReduceOp> reduce_from_name(std::string_view name) {
  return find<ReduceOp>(kReduceOps, name);
}

bool is_reserved(std::string_view name) {
  static const std::unordered_set<std::string_view> words = [] {
    std::unordered_set<std::string_view> all(kKeywords.begin(), kKeywords.end());
    all.insert(kOtherFunctions.begin(), kOtherFunctions.end());
    all.insert(kBuiltins.begin(), kBuiltins.end());
    all.insert(kCollectives.begin(), kCollectives.end());
    for (int op = 0; op < kIntrinsicCount; ++op)
      if (!is_second_edition(static_cast<Intrinsic>(op))) all.insert(kIntrinsics[at(op)].name);
    for (const NamedOp& op : kAtomics) all.insert(op.name);
    for (const NamedOp& op : kSubgroupOps) all.insert(op.name);
    for (int t = 0; t < kTypeCount; ++t) all.insert(name_of(static_cast<Type>(t)));
    return all;
  }();
  return words.contains(name);
}

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace vyre::ir
