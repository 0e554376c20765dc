// SPDX-License-Identifier: Apache-2.0
// The C functions that printed code calls: one for each operation that C has no operator for, or
// whose operator means something else there. Only those that are used are printed, each once, after
// those that it calls itself.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vyre/ir/ops.hpp"
#include "vyre/ir/types.hpp"

namespace vyre::codegen::c {

class Library {
 public:
  explicit Library(uint32_t subgroup_size) : subgroup_size_(subgroup_size) {}

  // Each adds the function if it is new, and gives its name.
  std::string divide(ir::BinaryOp op, ir::Type type);  // of integers
  std::string intrinsic(ir::Intrinsic op, ir::Type type);
  std::string float_to_int(ir::Type from, ir::Type to);
  std::string to_bits(ir::Type type);    // of a float
  std::string from_bits(ir::Type type);  // of a float
  std::string load(ir::Type element);
  std::string store(ir::Type element);
  std::string atomic(ir::AtomicOp op, ir::Type type);
  // Subgroup operations: of all lanes one value, or one for each.
  std::string reduce(ir::SubgroupOp op, ir::Type type);
  std::string scan(ir::SubgroupOp op, ir::Type type);
  std::string shuffle(ir::SubgroupOp op, ir::Type type);
  std::string vote(ir::SubgroupOp op);
  std::string first_live();
  // Asynchronous copies, and the test for elements that one of their memories does not have.
  std::string copy();
  std::string outside_copy();
  std::string on_axis();

  [[nodiscard]] bool contains(const std::string& name) const { return names_.contains(name); }
  void add(const std::string& name, std::string_view text);  // unless there is one of this name

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  using Filling = std::vector<std::pair<std::string_view, std::string>>;
  void add_filled(const std::string& name, std::string_view pattern, ir::Type type,
                  Filling filling = {});
  std::string half_from_float();
  std::string half_to_float();
  std::string bfloat_from_float();
  std::string float_function(ir::Intrinsic op, ir::Type type, const std::string& name);
  // `a` and `b` as one value, where lanes are combined.
  std::string combined(ir::SubgroupOp op, ir::Type type);

  uint32_t subgroup_size_;
  std::set<std::string> names_;
  std::string text_;
};

}  // namespace vyre::codegen::c
