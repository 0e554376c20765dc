// SPDX-License-Identifier: Apache-2.0
#include "text/scope.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace vyre::text {

void Scopes::declare_global(std::string_view name, Symbol symbol) {
  Globals& globals = globals_[unit_];
  if (globals.symbols.emplace(name, symbol).second) globals.names.push_back(name);
}

std::optional<Symbol> Scopes::global(uint32_t unit, std::string_view name) const {
  if (unit >= globals_.size()) return std::nullopt;
  const auto found = globals_[unit].symbols.find(name);
  if (found == globals_[unit].symbols.end()) return std::nullopt;
  return found->second;
}

void Scopes::set_unit(uint32_t unit) {
  if (unit >= globals_.size()) globals_.resize(unit + 1);
  unit_ = unit;
}

void Scopes::pop() {
  VYRE_CHECK(!marks_.empty());
  while (locals_.size() > marks_.back()) {
    const Entry& entry = locals_.back();
    if (entry.shadowed == kNone) {
      innermost_.erase(entry.name);
    } else {
      innermost_[entry.name] = entry.shadowed;
    }
    locals_.pop_back();
  }
  marks_.pop_back();
}

void Scopes::declare(std::string_view name, Symbol symbol) {
  const auto [it, fresh] = innermost_.emplace(name, locals_.size());
  locals_.push_back({name, symbol, fresh ? kNone : it->second});
  it->second = locals_.size() - 1;
}

void Scopes::enter_function() {
  push();
  function_bases_.push_back({locals_.size(), std::nullopt});
}

void Scopes::leave_function() {
  pop();
  function_bases_.pop_back();
}

void Scopes::enter_lambda() {
  const size_t around = function_base();
  enter_function();
  function_bases_.back().around = around;
}

Found Scopes::find(std::string_view name) const {
  using Where = Found::Where;
  const auto local = innermost_.find(name);
  if (local != innermost_.end() && local->second >= function_base())
    return {Where::Visible, locals_[local->second].symbol};
  // In a lambda: what its function sees, and in the program itself also the buffers.
  const std::optional<size_t> around = in_function() ? function_bases_.back().around : std::nullopt;
  const bool in_program = around && function_bases_.size() == 1;
  if (around && local != innermost_.end() && local->second >= *around)
    return {Where::Around, locals_[local->second].symbol};
  if (const std::optional<Symbol> global = this->global(unit_, name)) {
    const bool buffer = global->kind == Symbol::Kind::Buffer;
    if (buffer && in_program) return {Where::Around, *global};
    return {in_function() && buffer ? Where::Hidden : Where::Visible, *global};
  }
  if (in_function() && local != innermost_.end() &&
      locals_[local->second].symbol.kind != Symbol::Kind::Unknown)
    return {Where::Hidden, locals_[local->second].symbol};
  if (in_function() && top_locals_.contains(name)) return {Where::Hidden, {}};
  return {};
}

std::string_view Scopes::nearest(std::string_view name, bool callable) const {
  // Enough for a person's program, and a bound for a text that declares millions of names.
  static constexpr size_t kMaxCandidates = 5000;
  static constexpr size_t kMaxNameBytes = 64;
  if (name.size() > kMaxNameBytes) return {};
  const size_t limit = name.size() <= 3 ? 1 : 2;
  std::string_view best;
  size_t best_distance = limit + 1;
  size_t tried = 0;
  const auto consider = [&](std::string_view candidate, Symbol symbol) {
    ++tried;
    const bool calls = symbol.kind == Symbol::Kind::Fn || symbol.kind == Symbol::Kind::Generic ||
                       symbol.kind == Symbol::Kind::Target;
    if (symbol.kind == Symbol::Kind::Unknown || calls != callable) return;
    if (candidate == name || candidate.size() > kMaxNameBytes) return;
    const size_t distance = edit_distance(name, candidate, best_distance - 1);
    // A name of which every letter changed is not a likely reading.
    if (distance < best_distance && distance < std::max(name.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  };
  for (size_t i = locals_.size();
       i > function_base() && tried <= kMaxCandidates && best_distance > 1; --i)
    consider(locals_[i - 1].name, locals_[i - 1].symbol);
  const Globals& globals = globals_[unit_];
  for (size_t i = 0; i < globals.names.size() && tried <= kMaxCandidates && best_distance > 1;
       ++i) {
    const Symbol symbol = globals.symbols.at(globals.names[i]);
    if (!in_function() || symbol.kind != Symbol::Kind::Buffer) consider(globals.names[i], symbol);
  }
  return best;
}

std::string_view nearest_builtin(std::string_view name, bool callable) {
  const size_t limit = name.size() <= 3 ? 1 : 2;
  std::string_view best;
  size_t best_distance = limit + 1;
  const auto consider = [&](std::string_view candidate) {
    const size_t distance = edit_distance(name, candidate, best_distance - 1);
    if (distance >= best_distance || distance >= candidate.size()) return;
    best = candidate;
    best_distance = distance;
  };
  if (!callable) {
    for (int i = 0; i < ir::kBuiltinCount; ++i) consider(ir::name_of(static_cast<ir::Builtin>(i)));
    return best;
  }
  for (int i = 0; i < ir::kIntrinsicCount; ++i)
    consider(ir::name_of(static_cast<ir::Intrinsic>(i)));
  for (int i = 0; i < ir::kAtomicCount; ++i) consider(ir::name_of(static_cast<ir::AtomicOp>(i)));
  for (int i = 0; i < ir::kSubgroupOpCount; ++i)
    consider(ir::name_of(static_cast<ir::SubgroupOp>(i)));
  for (const std::string_view other : {"len", "bitcast", "grid_load", "workgroup_load"})
    consider(other);
  return best;
}

size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  static constexpr size_t kMax = 64;
  if (a.size() > kMax || b.size() > kMax) return limit + 1;
  if ((a.size() > b.size() ? a.size() - b.size() : b.size() - a.size()) > limit) return limit + 1;
  // One row of the usual table, plus the row before it for swapped neighbours.
  std::array<size_t, kMax + 1> before{};
  std::array<size_t, kMax + 1> previous{};
  std::array<size_t, kMax + 1> row{};
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    size_t smallest = row[0];
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, previous[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
      smallest = std::min(smallest, row[j]);
    }
    if (smallest > limit) return limit + 1;
    before = previous;
    previous = row;
  }
  return std::min(previous[b.size()], limit + 1);
}

}  // namespace vyre::text
