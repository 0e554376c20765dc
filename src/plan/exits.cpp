// SPDX-License-Identifier: Apache-2.0
#include "plan/exits.hpp"

#include <algorithm>

namespace vyre::plan {

using namespace ir;

Level ExitRewriter::flow_of_exits(StmtId id) const {
  Level flow = Level::Grid;
  for_each_stmt(d_.p, id, [&](StmtId s) {
    if (is_exit(s)) flow = std::max(flow, d_.c.flow_levels[s.index()]);
  });
  return flow;
}

StmtList ExitRewriter::rewrite(std::span<const StmtId> given, bool tail, bool in_loop) {
  const StmtList items(given.begin(), given.end());  // blocks move while nodes are added
  StmtList out;
  for (size_t i = 0; i < items.size(); ++i) {
    const StmtId id = items[i];
    if (!may_exit(id)) {
      out.push_back(id);
      continue;
    }
    const bool last = i + 1 == items.size();
    if (is_exit(id)) {
      exit(id, !tail || in_loop, out);
      if (in_loop) out.push_back(d_.stmt(Break{}, {}, d_.c.flow_levels[id.index()]));
      return out;  // what follows is never reached
    }
    const Stmt s = d_.p[id];
    const bool loop = std::holds_alternative<For>(s) || std::holds_alternative<While>(s);
    std::vector<StmtList> blocks;
    for_each_block(s, [&](Block b) {
      blocks.push_back(rewrite(d_.p.items(b), tail && last && !loop, in_loop || loop));
    });
    out.push_back(d_.with_blocks(id, blocks));
    if (in_loop) {
      // An exit of this loop's own body has left it already; one further in has left that loop
      // only.
      if (loop)
        out.push_back(d_.when(d_.negate(going_on()), {d_.stmt(Break{}, {}, flow_of_exits(id))}));
      continue;
    }
    if (last) return out;
    const StmtList rest = rewrite(std::span(items).subspan(i + 1), tail, false);
    out.push_back(d_.when(going_on(), rest));
    return out;
  }
  return out;
}

}  // namespace vyre::plan
