// SPDX-License-Identifier: Apache-2.0
// Rewrites a list of statements so that leaving it early becomes a flag: what follows a statement
// that may leave runs only if it did not, and loops around it end. Used for `return` of inlined
// functions and for lanes that end in the native route.
#pragma once

#include <span>

#include "plan/draft.hpp"

namespace vyre::plan {

class ExitRewriter {
 public:
  explicit ExitRewriter(Draft& d) : d_(d) {}
  virtual ~ExitRewriter() = default;

  // `tail`: nothing follows the list, so the flag need not be read (it is still set).
  StmtList rewrite(std::span<const ir::StmtId> given, bool tail, bool in_loop);

 protected:
  [[nodiscard]] virtual bool is_exit(ir::StmtId id) const = 0;
  // What stands for the exit. `needs_flag`: something will ask whether it happened.
  virtual void exit(ir::StmtId id, bool needs_flag, StmtList& out) = 0;
  virtual ir::ExprId going_on() = 0;

  [[nodiscard]] bool may_exit(ir::StmtId id) const {
    return any_stmt_below(d_.p, id, [&](ir::StmtId s) { return is_exit(s); });
  }

  [[nodiscard]] Level flow_of_exits(ir::StmtId id) const;

  Draft& d_;
};

}  // namespace vyre::plan
