// SPDX-License-Identifier: Apache-2.0
// The places of a program at which printed code may stop, in the order in which they are printed.
// Printing again gives the same places, so nothing has to be kept beside the code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/kernel.hpp"
#include "vyre/base/diagnostic.hpp"
#include "vyre/base/result.hpp"
#include "vyre/ir/types.hpp"

namespace vyre::codegen::c {

struct Site {
  Position at;
  uint16_t tag = 0;         // of a trap
  std::string memory = {};  // of an access; empty: the stop says which
  ir::Type index_type = ir::Type::U32;
};

// Between lanes and workgroups.
inline constexpr uint32_t kNoSite = ~uint32_t{0};

class Sites {
 public:
  uint32_t add(Site site) {
    sites_.push_back(std::move(site));
    return static_cast<uint32_t>(sites_.size() - 1);
  }
  [[nodiscard]] size_t count() const { return sites_.size(); }
  // Memories that functions are given, by number from 1.
  uint16_t memory(const std::string& name);

  [[nodiscard]] Error explain(const device::KernelStop& stop) const;

 private:
  std::vector<Site> sites_;
  std::vector<std::string> memories_;
};

}  // namespace vyre::codegen::c
