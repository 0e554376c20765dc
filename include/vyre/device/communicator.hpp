// SPDX-License-Identifier: Apache-2.0
// How the ranks of a job exchange data at a collective. Not a backend: it composes with any device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "vyre/base/result.hpp"
#include "vyre/ir/ops.hpp"
#include "vyre/ir/types.hpp"

namespace vyre::device {

// A collective statement as it is executed: the caller's rank has these bytes.
struct Exchange {
  ir::CollectiveOp op = ir::CollectiveOp::AllReduce;
  ir::ReduceOp reduce = ir::ReduceOp::Add;
  ir::Type element = ir::Type::U32;
  uint32_t root = 0;
  uint32_t group = 0;
  std::string_view src_name = {}, dst_name = {};
  std::span<const std::byte> src = {};
  std::span<std::byte> dst = {};  // all_reduce, broadcast: the same bytes as src
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  [[nodiscard]] virtual uint32_t rank() const = 0;
  [[nodiscard]] virtual uint32_t size() const = 0;
  // Every rank takes part in the same order. InvalidArgument for lengths that do not fit.
  virtual Result<void> exchange(const Exchange& exchange) = 0;
};

// A job of one rank.
Communicator& self_communicator();

}  // namespace vyre::device
