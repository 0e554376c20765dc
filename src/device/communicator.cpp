// SPDX-License-Identifier: Apache-2.0
#include "vyre/device/communicator.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace vyre::device {

namespace {

class SelfCommunicator : public Communicator {
 public:
  [[nodiscard]] uint32_t rank() const override { return 0; }
  [[nodiscard]] uint32_t size() const override { return 1; }

  Result<void> exchange(const Exchange& x) override {
    if (x.op == ir::CollectiveOp::AllReduce || x.op == ir::CollectiveOp::Broadcast) return {};
    const uint64_t element = bytes_of(x.element);
    if (x.src.size() != x.dst.size())
      return std::unexpected(Error{
          .code = ErrorCode::InvalidArgument,
          .message = fmt::format(
              "{} on one rank copies `{}` ({} elements) to `{}` ({} elements). Fix: with R ranks "
              "the one is R times as long as the other",
              ir::name_of(x.op), x.src_name, x.src.size() / element, x.dst_name,
              x.dst.size() / element),
          .context = {},
          .at = {},
          .diagnostics = {}});
    std::ranges::copy(x.src, x.dst.begin());
    return {};
  }
};

}  // namespace

Communicator& self_communicator() {
  static SelfCommunicator self;
  return self;
}

}  // namespace vyre::device
