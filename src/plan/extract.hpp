// SPDX-License-Identifier: Apache-2.0
// Copies statements of a Draft into a program of their own, with all facts: only what they use is
// declared there.
#pragma once

#include <map>
#include <optional>

#include "plan/draft.hpp"

namespace vyre::plan {

class Extractor {
 public:
  // Shared buffers become ordinary ones if `shared_as_buffers`.
  Extractor(const Draft& d, std::string name, bool shared_as_buffers = false);
  virtual ~Extractor() = default;

  // Instead of the draft's.
  void set_row_workgroup(uint32_t lanes) {
    c_.workgroup = {lanes, 1, 1};
    c_.workgroup_axes = 1;
  }

  struct Extracted {
    check::CheckedProgram program;
    std::vector<Argument> arguments;  // by BufferId
    ir::LocalId live;
  };
  // `items`: the whole body. `live`: a local to be found again.
  Extracted run(const StmtList& items, ir::LocalId live = {});

  // The buffer's number in the new program, if it is declared there.
  [[nodiscard]] std::optional<ir::BufferId> buffer(ir::BufferId id) const;

 private:
  void note_uses(const StmtList& items);
  void note_memory(ir::Memory m, bool written);
  void note_call(const ir::Call& call);
  void note_body(ir::StmtId id);
  void note_const(ir::ConstId id);
  bool writes_param(ir::FnId fn, size_t param);
  void declare();
  ir::Memory memory(ir::Memory m);
  ir::LocalId local(ir::LocalId id);
  ir::ExprId expr(ir::ExprId id);
  ir::StmtId stmt(ir::StmtId id);
  ir::Block block(std::span<const ir::StmtId> items);
  ir::LocId loc(ir::LocId id);
  ir::ExprId add(ir::Expr e, std::optional<ir::Type> type, ir::LocId loc);

  const Draft& d_;
  bool shared_as_buffers_;
  check::CheckedProgram c_;
  std::vector<Argument> arguments_;
  struct Use {
    bool used = false;
    bool written = false;
  };
  std::vector<Use> uses_;
  std::vector<bool> fns_used_;
  std::map<uint32_t, bool> writes_param_;
  std::vector<bool> consts_used_;
  std::vector<ir::ConstId> consts_;
  std::unordered_map<uint32_t, ir::LocId> locs_;
  std::vector<ir::BufferId> buffers_;
  std::vector<ir::FnId> fns_;
  std::map<uint32_t, ir::LocalId> locals_;
  std::unordered_set<std::string> names_;  // that are taken
};

}  // namespace vyre::plan
