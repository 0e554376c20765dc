// SPDX-License-Identifier: Apache-2.0
#include "device/check_steps.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/match.hpp"

namespace vyre::device {

namespace {

class Checker {
 public:
  Checker(std::span<const Step> steps, const BackendInfo& info) : steps_(steps), info_(info) {}

  Result<void> run() { return list(0, steps_.size(), 0); }

 private:
  static constexpr uint32_t kMaxDepth = 256;

  std::unexpected<Error> wrong(ErrorCode code, size_t step, std::string_view what) {
    return std::unexpected(Error{
        .code = code,
        .message = fmt::format(
            "step {} of {} for device `{}`: {}. Fix: {}", step, steps_.size(), info_.id, what,
            code == ErrorCode::Unsupported ? "let the driver run loops (device_loops is false)"
                                           : "report this as a bug of the driver"),
        .context = {},
        .at = {},
        .diagnostics = {}});
  }

  // Steps first..last-1, with everything they own.
  Result<void> list(size_t first, size_t last, uint32_t depth) {
    if (depth > kMaxDepth) return wrong(ErrorCode::Internal, first, "loops are nested too deep");
    for (size_t i = first; i < last;) {
      size_t own = 0;
      const char* problem = nullptr;
      const auto word = [&](const Word& w) {
        if (!w.buffer.valid() || w.offset % 4 != 0) problem = "a word without a place";
      };
      bool loop = false;
      std::array<size_t, 2> parts = {0, 0};
      match(
          steps_[i],
          [&](const Launch& x) {
            if (!x.pipeline.valid()) problem = "a launch without code";
            if (x.grid_from) word(*x.grid_from);
            if (x.grid_from && !info_.capabilities.indirect)
              problem = "a grid in device memory, which the device cannot read";
          },
          [&](const Copy& x) {
            if (x.to.bytes != x.from.bytes) problem = "a copy of two lengths";
          },
          [](const Fill&) {}, [&](const SetWord& x) { word(x.to); },
          [&](const Compare& x) {
            word(x.differs);
            if (x.a.bytes != x.b.bytes) problem = "a comparison of two lengths";
          },
          [&](const Transfer& x) {
            if (x.device.bytes != 0 && x.host == nullptr) problem = "a transfer without host bytes";
          },
          [&](const Exit& x) { word(x.word); },
          [&](const While& x) {
            loop = true;
            word(x.word);
            parts = {x.condition_steps, x.body_steps};
          },
          [&](const Repeat& x) {
            loop = true;
            for (const auto* w : {&x.most_from, &x.until_zero, &x.result, &x.total})
              if (*w) word(**w);
            parts = {x.body_steps, 0};
          },
          [&](const Branch& x) {
            loop = true;
            word(x.word);
            parts = {x.then_steps, x.else_steps};
          });
      if (problem != nullptr) return wrong(ErrorCode::Internal, i, problem);
      if (loop && !info_.capabilities.device_loops)
        return wrong(ErrorCode::Unsupported, i, "a loop or branch");
      for (const size_t part : parts) {
        if (part > last - i - 1 - own)
          return wrong(ErrorCode::Internal, i, "owns more steps than there are");
        if (part == 0) continue;
        VYRE_TRY(list(i + 1 + own, i + 1 + own + part, depth + 1));
        own += part;
      }
      i += 1 + own;
    }
    return {};
  }

  std::span<const Step> steps_;
  const BackendInfo& info_;
};

}  // namespace

Result<void> check_steps(std::span<const Step> steps, const BackendInfo& info) {
  return Checker(steps, info).run();
}

}  // namespace vyre::device
