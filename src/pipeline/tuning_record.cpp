// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tuning_record.hpp"

#include <concepts>
#include <string_view>
#include <utility>

namespace vyre::pipeline {

namespace {

constexpr std::string_view kMark = "vyre tuning 1\n";
constexpr int kRoutes = 4;

class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : left_(bytes) {}
  template <std::unsigned_integral T>
  T next() {
    uint64_t value = 0;
    ok_ = ok_ && left_.size() >= sizeof(T);
    if (!ok_) return 0;
    for (size_t i = 0; i < sizeof(T); ++i) value |= std::to_integer<uint64_t>(left_[i]) << (8 * i);
    left_ = left_.subspan(sizeof(T));
    return static_cast<T>(value);
  }
  [[nodiscard]] bool at_end() const { return ok_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool ok_ = true;
};

template <std::unsigned_integral T>
void put(std::vector<std::byte>& bytes, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i)));
}

}  // namespace

std::vector<std::byte> encode(const plan::TuningRecord& record) {
  std::vector<std::byte> bytes;
  for (const char c : kMark) bytes.push_back(static_cast<std::byte>(c));
  const plan::RouteVariant v = record.adopted.value_or(plan::RouteVariant());
  put(bytes, static_cast<uint8_t>(record.adopted.has_value()));
  put(bytes, static_cast<uint8_t>(std::to_underlying(v.route)));
  put(bytes, static_cast<uint8_t>(v.is_1d));
  put(bytes, v.workgroups_per_block);
  put(bytes, v.unrolled_iterations);
  put(bytes, v.interleave);
  put(bytes, v.lanes);
  put(bytes, record.default_ns);
  put(bytes, record.adopted_ns);
  put(bytes, record.runs);
  put(bytes, record.candidates);
  return bytes;
}

std::optional<plan::TuningRecord> decode_tuning_record(std::span<const std::byte> bytes) {
  if (bytes.size() < kMark.size()) return std::nullopt;
  for (size_t i = 0; i < kMark.size(); ++i)
    if (bytes[i] != static_cast<std::byte>(kMark[i])) return std::nullopt;
  Numbers in(bytes.subspan(kMark.size()));
  const auto adopted = in.next<uint8_t>();
  const auto route = in.next<uint8_t>();
  const auto is_1d = in.next<uint8_t>();
  plan::RouteVariant v;
  v.workgroups_per_block = in.next<uint32_t>();
  v.unrolled_iterations = in.next<uint32_t>();
  v.interleave = in.next<uint32_t>();
  v.lanes = in.next<uint32_t>();
  plan::TuningRecord record;
  record.default_ns = in.next<uint64_t>();
  record.adopted_ns = in.next<uint64_t>();
  record.runs = in.next<uint32_t>();
  record.candidates = in.next<uint32_t>();
  if (!in.at_end() || adopted > 1 || route >= kRoutes || is_1d > 1) return std::nullopt;
  v.route = static_cast<plan::Route>(route);
  v.is_1d = is_1d == 1;
  // Nothing is adopted that is not faster.
  if (adopted == 1 ? record.adopted_ns >= record.default_ns
                   : record.adopted_ns != 0 || v != plan::RouteVariant())
    return std::nullopt;
  if (adopted == 1) record.adopted = v;
  return record;
}

}  // namespace vyre::pipeline
