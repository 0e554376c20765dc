// SPDX-License-Identifier: Apache-2.0
#include "cli/check_bounds.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/stop.hpp"
#include "ir/properties.hpp"
#include "vyre/text/text.hpp"

namespace vyre::cli {

namespace {

using namespace ir;

// An access of the program: by the expression or statement that has its proof.
struct Site {
  std::variant<ExprId, StmtId> node;
  Memory memory;
  ExprId index;
  LocId loc;
};

std::string name_of_memory(const Program& program, Memory memory) {
  switch (memory.kind) {
    case Memory::Kind::Table: return program[memory.table()].name;
    case Memory::Kind::Buffer: return program[memory.buffer()].name;
    case Memory::Kind::Local: return program[memory.local()].name;
  }
  return {};
}

// Every access, found as the checker finds them.
class Sites {
 public:
  explicit Sites(const Program& program) : program_(program) {
    for (const Fn& fn : program.fns) block(fn.body);
    block(program.body);
  }

  std::vector<Site> list;

 private:
  void expr(ExprId id) {
    const Expr& e = program_[id];
    for_each_operand(program_, e, [&](ExprId child) { expr(child); });
    if (reads_scalar(program_, e)) return;
    for_each_memory(program_, e, [&](const MemoryUse& use) {
      if (use.index.valid()) list.push_back({id, use.memory, use.index, program_.loc(id)});
    });
  }

  void block(Block b) {
    for (const StmtId id : program_.items(b)) {
      const Stmt& statement = program_[id];
      for_each_operand(program_, statement, [&](ExprId child) { expr(child); });
      if (const auto* store = std::get_if<Store>(&statement))
        list.push_back({id, store->memory, store->index, program_.loc(id)});
      for_each_block(statement, [&](const Block& inner) { block(inner); });
    }
  }

  const Program& program_;
};

// By place, and as they were where there are no places.
std::vector<Site> sorted(const Program& program, const std::vector<Site>& sites) {
  std::vector<std::tuple<uint32_t, uint32_t, size_t>> order;
  for (size_t i = 0; i < sites.size(); ++i) {
    const Position at = program.position(sites[i].loc);
    order.emplace_back(at.line, at.column, i);
  }
  std::ranges::sort(order);
  std::vector<Site> list;
  for (const auto& [line, column, i] : order) list.push_back(sites[i]);
  return list;
}

const check::BoundsProof* proof_of(const check::CheckedProgram& checked, const Site& site) {
  const auto* expr = std::get_if<ExprId>(&site.node);
  return expr != nullptr ? checked.proof(*expr) : checked.proof(std::get<StmtId>(site.node));
}

// The first memory whose elements decide about the value; through `let`s and `var`s as well.
class ReadMemory {
 public:
  explicit ReadMemory(const Program& program) : program_(program) {
    for (const Stmt& statement : program.stmts) {
      if (const auto* let = std::get_if<Let>(&statement)) add(let->local, let->value);
      if (const auto* assign = std::get_if<Assign>(&statement)) add(assign->local, assign->value);
    }
  }

  std::optional<Memory> find(ExprId id) {
    seen_.clear();
    return find_in(id);
  }

 private:
  void add(LocalId local, ExprId value) { values_[local.index()].push_back(value); }

  std::optional<Memory> find_in(ExprId id) {
    std::optional<Memory> found;
    for_each_memory(program_, program_[id], [&](const MemoryUse& use) {
      if (!found && use.index.valid()) found = use.memory;
    });
    for_each_operand(program_, program_[id], [&](ExprId child) {
      if (!found) found = find_in(child);
    });
    for_each_local(program_[id], [&](LocalId local, LocalAccess) {
      if (found || !seen_.insert(local.index()).second) return;
      for (const ExprId value : values_[local.index()])
        if (!found) found = find_in(value);
    });
    return found;
  }

  const Program& program_;
  std::map<size_t, std::vector<ExprId>> values_;
  std::set<size_t> seen_;
};

// ---- requirements

// len(memory) >= len(other), or a number.
struct Requirement {
  BufferId buffer;
  std::optional<BufferId> other;
  uint64_t number = 0;

  [[nodiscard]] std::string text(const Program& program) const {
    return fmt::format(
        "len({}) >= {}", program[buffer].name,
        other ? fmt::format("len({})", program[*other].name) : std::to_string(number));
  }
};

Program with(const Program& program, const Requirement& requirement) {
  Program copy = program;
  const auto len = [&](BufferId buffer) { return copy.add(Expr{Len{Memory::of(buffer)}}); };
  const ExprId left = len(requirement.buffer);
  const ExprId right = requirement.other
                           ? len(*requirement.other)
                           : copy.add(Expr{IntLiteral{requirement.number, false, Type::U32}});
  copy.add(Require{.condition = copy.add(Expr{Binary{BinaryOp::Ge, left, right}}),
                   .message = "tried",
                   .buffers_before = static_cast<uint32_t>(copy.buffers.size())});
  return copy;
}

// Buffers whose length the caller decides.
bool has_free_length(const check::CheckedProgram& checked, BufferId buffer) {
  return !checked.buffers[buffer.index()].constant_count &&
         checked.buffers[buffer.index()].role != check::Role::Shared;
}

std::vector<Requirement> candidates(const check::CheckedProgram& checked,
                                    const std::set<uint32_t>& buffers) {
  // Each costs a run of the checker, so a large program gets fewer: all of them take seconds.
  static constexpr size_t kMost = 256;
  static constexpr size_t kMostNodes = size_t{1} << 22;
  const size_t nodes = checked.program.exprs.size() + checked.program.stmts.size();
  const size_t most = std::min(kMost, kMostNodes / std::max<size_t>(nodes, 1));
  static constexpr std::array<uint64_t, 4> kNumbers = {1, 2, 3, 4};
  std::vector<Requirement> list;
  for (const uint32_t index : buffers) {
    const BufferId buffer{index};
    for (const uint64_t number : kNumbers) list.push_back({buffer, std::nullopt, number});
    for (uint32_t other = 0; other < checked.program.buffers.size(); ++other)
      if (other != index && has_free_length(checked, BufferId{other}))
        list.push_back({buffer, BufferId{other}});
  }
  if (list.size() > most) list.resize(most);
  return list;
}

}  // namespace

namespace {

std::string index_text(const Program& program, ExprId index) {
  const auto* at = std::get_if<AxisIndex>(&program[index]);
  if (at == nullptr) return text::print_expr(program, index);
  std::string text;
  for (const ExprId each : program.values(at->indices))
    text += (text.empty() ? "" : ", ") + text::print_expr(program, each);
  return text;
}

// Why an access by axes has no proof: the axes that have none, with their lengths as declared.
std::string unproved_axes(const check::CheckedProgram& checked, const Site& site) {
  const Program& program = checked.program;
  const auto& at = std::get<AxisIndex>(program[site.index]);
  const Range declared = site.memory.buffer().valid()  ? program[site.memory.buffer()].axes
                         : site.memory.local().valid() ? program[site.memory.local()].axes
                                                       : Range{};
  std::string text;
  for (uint32_t axis = 0; axis < at.indices.count; ++axis) {
    if ((checked.axis_proofs[site.index.index()] >> axis & 1) != 0) continue;
    text += fmt::format(
        "{}`{}` by axis {} of `{}`{}", text.empty() ? "no condition that holds here bounds " : ", ",
        text::print_expr(program, program.values(at.indices)[axis]), axis,
        name_of_memory(program, site.memory),
        declared.empty()
            ? ""
            : fmt::format(" ({})", text::print_expr(program, program.values(declared)[axis])));
  }
  return text;
}

}  // namespace

std::vector<AccessBounds> bounds_of(const check::CheckedProgram& checked) {
  const Program& program = checked.program;
  const std::vector<Site> sites = sorted(program, Sites(program).list);

  std::vector<AccessBounds> list;
  std::set<uint32_t> unproved;
  ReadMemory read(program);
  for (const Site& site : sites) {
    const std::string memory = name_of_memory(program, site.memory);
    const std::string index = index_text(program, site.index);
    AccessBounds access{.at = program.position(site.loc),
                        .access = fmt::format("{}[{}]", memory, index)};
    if (const check::BoundsProof* proof = proof_of(checked, site)) {
      access.proved = true;
      access.reason = proof->reason;
    } else if (std::holds_alternative<AxisIndex>(program[site.index])) {
      access.reason = unproved_axes(checked, site);
    } else {
      const auto source = read.find(site.index);
      access.reason =
          source ? fmt::format(
                       "the index comes from `{}`, and no condition that holds here bounds "
                       "it by the length of `{}`",
                       name_of_memory(program, *source), memory)
                 : fmt::format("no condition that holds here bounds `{}` by the length of `{}`",
                               index, memory);
      const bool is_buffer = site.memory.kind == Memory::Kind::Buffer;
      if (is_buffer && has_free_length(checked, site.memory.buffer()))
        unproved.insert(site.memory.buffer().value);
    }
    list.push_back(std::move(access));
  }

  for (const Requirement& requirement : candidates(checked, unproved)) {
    poll_stop();
    const check::Checked tried = check::check(with(program, requirement));
    if (!tried.program) continue;
    for (size_t i = 0; i < sites.size(); ++i) {
      const bool same = sites[i].memory == Memory::of(requirement.buffer);
      // The weakest number is tried first.
      const bool known = !requirement.other && !list[i].requirements.empty();
      if (same && !known && !list[i].proved && proof_of(*tried.program, sites[i]) != nullptr)
        list[i].requirements.push_back(requirement.text(program));
    }
  }
  return list;
}

}  // namespace vyre::cli
