// SPDX-License-Identifier: Apache-2.0
#include "check/cover.hpp"

#include <algorithm>

namespace vyre::check::cover {

namespace {

struct Bounds {
  Wide low = 0;
  Wide high = 0;  // counts
  [[nodiscard]] bool empty() const { return low > high; }
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

bool huge(Wide value) {
  return value > kHuge || value < -kHuge;
}

Wide floor_div(Wide a, Wide b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
Wide ceil_div(Wide a, Wide b) {
  return -floor_div(-a, b);
}

void trim(Form& form) {
  while (!form.factors.empty() && form.factors.back() == 0) form.factors.pop_back();
}

// A box of unknowns: each may have any value within its bounds, whatever the others are. Only the
// three of an axis depend on each other: gid = wid * size + lid.
class Box {
 public:
  Box(const Launch& launch, size_t unknowns) : launch_(launch) {
    for (size_t axis = 0; axis < 3; ++axis) {
      const Wide size = launch.workgroup[axis];
      const Wide groups = launch.grid[axis];
      bounds_[kGid + axis] = {0, size * groups - 1};
      bounds_[kLid + axis] = {0, size - 1};
      bounds_[kWid + axis] = {0, groups - 1};
    }
    // More iterations than a buffer has elements.
    bounds_.resize(std::max<size_t>(unknowns, kFirstIteration), {0, Wide{1} << 33});
    full_ = bounds_;
  }

  // Leaves out what the guard of a single unknown does.
  void narrow(const Guard& guard) {
    uint32_t only = 0;
    for (uint32_t u = 0; u < guard.form.factors.size(); ++u) {
      if (guard.form.factors[u] == 0) continue;
      if (u + 1 != guard.form.factors.size()) return;
      only = u;
    }
    const Wide factor = guard.form.factor(only);
    if (factor == 0) return;
    const Wide low = guard.low - guard.form.offset;
    const Wide high = guard.high - guard.form.offset;
    Bounds& b = bounds_[only];
    b.low = std::max(b.low, ceil_div(factor > 0 ? low : high, factor));
    b.high = std::min(b.high, floor_div(factor > 0 ? high : low, factor));
  }

  [[nodiscard]] bool empty() const { return std::ranges::any_of(bounds_, &Bounds::empty); }

  [[nodiscard]] bool passes(const Guard& guard) const {
    Bounds range{guard.form.offset, guard.form.offset};
    for (uint32_t u = 0; u < guard.form.factors.size(); ++u) {
      const Wide factor = guard.form.factors[u];
      range.low += factor * (factor > 0 ? bounds_[u].low : bounds_[u].high);
      range.high += factor * (factor > 0 ? bounds_[u].high : bounds_[u].low);
    }
    return range.low >= guard.low && range.high <= guard.high;
  }

  // The form in unknowns that do not depend on each other. None where that is not known: a part of
  // gid may leave any part of lid and wid.
  [[nodiscard]] std::optional<Form> independent(Form form) const {
    form.factors.resize(std::max<size_t>(form.factors.size(), kFirstIteration));
    for (uint32_t axis = 0; axis < 3; ++axis) {
      Wide& gid = form.factors[kGid + axis];
      Wide& lid = form.factors[kLid + axis];
      Wide& wid = form.factors[kWid + axis];
      if (is_full(kGid + axis)) {
        wid += gid * launch_.workgroup[axis];
        lid += gid;
        gid = 0;
        if (huge(lid) || huge(wid)) return std::nullopt;
      } else if (!is_full(kLid + axis) || !is_full(kWid + axis) || lid != 0 || wid != 0) {
        return std::nullopt;
      }
    }
    trim(form);
    return form;
  }

  [[nodiscard]] const Bounds& of(uint32_t unknown) const { return bounds_[unknown]; }

 private:
  [[nodiscard]] bool is_full(uint32_t unknown) const { return bounds_[unknown] == full_[unknown]; }

  const Launch& launch_;
  std::vector<Bounds> bounds_ = std::vector<Bounds>(kFirstIteration);
  std::vector<Bounds> full_;
};

// wid * size + lid is gid.
Form with_gid(Form form, const Launch& launch) {
  form.factors.resize(std::max<size_t>(form.factors.size(), kFirstIteration));
  for (uint32_t axis = 0; axis < 3; ++axis) {
    const Wide lid = form.factors[kLid + axis];
    if (lid == 0 || form.factors[kWid + axis] != lid * launch.workgroup[axis]) continue;
    form.factors[kGid + axis] += lid;
    form.factors[kLid + axis] = form.factors[kWid + axis] = 0;
  }
  trim(form);
  return form;
}

// All numbers from the smallest to the largest value of the form, if it leaves none out.
std::optional<Bounds> all_between(const Form& form, const Box& box) {
  struct Stride {
    Wide each, most;
  };
  Wide low = form.offset;
  std::vector<Stride> strides;
  for (uint32_t u = 0; u < form.factors.size(); ++u) {
    const Wide factor = form.factors[u];
    const Bounds& b = box.of(u);
    low += factor * (factor > 0 ? b.low : b.high);
    if (factor != 0) strides.push_back({factor > 0 ? factor : -factor, b.high - b.low});
  }
  std::ranges::sort(strides, {}, &Stride::each);
  Wide length = 1;
  for (const Stride& s : strides) {
    if (s.most == 0) continue;
    if (s.each > length) return std::nullopt;
    length += s.each * s.most;
    if (huge(length)) length = kHuge;
  }
  return Bounds{low, low + length - 1};
}

}  // namespace

Form Form::of_unknown(uint32_t unknown) {
  Form form;
  form.factors.resize(unknown + 1);
  form.factors[unknown] = 1;
  return form;
}

std::optional<Form> add(const Form& a, const Form& b, Wide times) {
  auto more = scale(b, times);
  if (!more) return std::nullopt;
  Form sum = a;
  sum.factors.resize(std::max(a.factors.size(), more->factors.size()));
  for (size_t i = 0; i < more->factors.size(); ++i) sum.factors[i] += more->factors[i];
  sum.offset += more->offset;
  if (huge(sum.offset) || std::ranges::any_of(sum.factors, huge)) return std::nullopt;
  trim(sum);
  return sum;
}

std::optional<Form> scale(const Form& a, Wide times) {
  if (times == 0) return Form{};
  // Products of two that pass this fit in a Wide.
  constexpr Wide kMost = Wide{1} << 54;
  const auto large = [](Wide value) { return value > kMost || value < -kMost; };
  if (times == 1) return a;
  if (large(times) || large(a.offset) || std::ranges::any_of(a.factors, large)) return std::nullopt;
  Form product = a;
  for (Wide& factor : product.factors) factor *= times;
  product.offset *= times;
  if (huge(product.offset) || std::ranges::any_of(product.factors, huge)) return std::nullopt;
  return product;
}

bool covers(const Form& index, Wide highest, std::span<const Guard> guards, const Launch& launch,
            uint64_t count) {
  const Wide last = Wide{count} - 1;
  if (last > highest) return false;
  const Form at = with_gid(index, launch);
  std::vector<Guard> apart;  // that speak of something else than the index
  size_t unknowns = at.factors.size();
  for (const Guard& given : guards) {
    Guard guard = given;
    guard.form = with_gid(guard.form, launch);
    if (guard.form.factors != at.factors) {
      unknowns = std::max(unknowns, guard.form.factors.size());
      apart.push_back(std::move(guard));
      continue;
    }
    // Lanes whose index is an element: all have to pass.
    const Wide shift = guard.form.offset - at.offset;
    if (shift < guard.low || last + shift > guard.high) return false;
  }
  Box box(launch, unknowns);
  for (const Guard& guard : apart) box.narrow(guard);
  if (box.empty()) return false;
  // All lanes of the box pass.
  if (!std::ranges::all_of(apart, [&](const Guard& guard) { return box.passes(guard); }))
    return false;
  const auto form = box.independent(at);
  if (!form) return false;
  const auto reached = all_between(*form, box);
  return reached && reached->low <= 0 && reached->high >= last;
}

}  // namespace vyre::check::cover
