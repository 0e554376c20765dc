// SPDX-License-Identifier: Apache-2.0
// Copies of statements in which locals, memories and tags are others.
#pragma once

#include "plan/draft.hpp"

namespace vyre::plan {

class Copier {
 public:
  explicit Copier(Draft& d) : d_(d) {}
  virtual ~Copier() = default;
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  ir::ExprId expr(ir::ExprId id);
  ir::StmtId stmt(ir::StmtId id);
  StmtList list(std::span<const ir::StmtId> items);
  StmtList block(ir::Block b) { return list(d_.p.items(b)); }

 protected:
  virtual ir::LocalId local(ir::LocalId id) = 0;
  virtual ir::Memory memory(ir::Memory m) {
    return m.kind == ir::Memory::Kind::Local ? ir::Memory::of(local(m.local())) : m;
  }
  [[nodiscard]] virtual uint16_t tag(uint16_t t) const { return t; }

  Draft& d_;
};

}  // namespace vyre::plan
