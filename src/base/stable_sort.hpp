// SPDX-License-Identifier: Apache-2.0
// A stable sort by way of indices, which break ties: std::stable_sort takes a temporary buffer that
// clang reports as deprecated in libstdc++ 12.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace vyre::base {

// key(item) is compared by <.
template <class T, class Key>
void stable_sort(std::vector<T>& list, Key&& key) {
  std::vector<size_t> order(list.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto first = key(list[a]);
    const auto second = key(list[b]);
    return first < second || (!(second < first) && a < b);
  });
  std::vector<T> sorted;
  sorted.reserve(list.size());
  for (const size_t index : order) sorted.push_back(std::move(list[index]));
  list = std::move(sorted);
}

}  // namespace vyre::base
