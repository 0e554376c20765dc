// SPDX-License-Identifier: Apache-2.0
// Examples about programs, facts and texts.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "examples/example.hpp"

namespace vyre::test {
namespace {

// Kahn: whoever waits for nobody is made, stage by stage.
Values build_order(const Values& in) {
  const auto before = in.get("before");
  const auto after = in.get("after");
  const uint32_t targets = in.get("targets")[0];
  std::vector<uint32_t> waits(targets);
  for (const uint32_t target : after) ++waits[target];
  std::vector<uint32_t> stage(targets);
  std::vector<uint32_t> width(targets);
  std::vector<uint32_t> ready;
  for (uint32_t t = 0; t < targets; ++t)
    if (waits[t] == 0) ready.push_back(t);
  for (uint32_t now = 0; !ready.empty(); ++now) {
    width[now] = static_cast<uint32_t>(ready.size());
    std::vector<uint32_t> next;
    for (const uint32_t target : ready) {
      stage[target] = now;
      for (size_t e = 0; e < before.size(); ++e)
        if (before[e] == target && --waits[after[e]] == 0) next.push_back(after[e]);
    }
    ready = std::move(next);
  }
  return Values().set("stage", stage).set("width", width);
}

TEST(Example, BuildOrder) {
  // Dependencies from smaller to larger numbers cannot form a circle.
  std::vector<uint32_t> before = some_numbers(200, 0, 80);
  std::vector<uint32_t> after = some_numbers(200, 0, 80, 2);
  for (size_t e = 0; e < before.size(); ++e) {
    if (before[e] > after[e]) std::swap(before[e], after[e]);
    if (before[e] == after[e]) ++after[e];
  }
  std::vector<uint32_t> chain_before;
  std::vector<uint32_t> chain_after;
  for (uint32_t t = 69; t > 0; --t) {
    chain_before.push_back(t - 1);
    chain_after.push_back(t);
  }
  expect_example(
      "build_order", build_order,
      {Values().set("targets", {1}).set("before", {}).set("after", {}),
       Values().set("targets", {81}).set("before", before).set("after", after),
       Values().set("targets", {70}).set("before", chain_before).set("after", chain_after)});
}

TEST(Example, BuildOrderReportsACircle) {
  const Example example("build_order");
  const auto outcome = example.run(
      Values().set("targets", {4}).set("before", {0, 1, 2, 3}).set("after", {1, 2, 3, 1}));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::Trapped);
  const auto self = example.run(Values().set("targets", {1}).set("before", {0}).set("after", {0}));
  ASSERT_FALSE(self.has_value());
  EXPECT_EQ(self.error().code, ErrorCode::Trapped);
}

// With a list of blocks to look at again, from the last one on.
Values liveness(const Values& in) {
  const auto next = in.get("next");
  const auto use = in.get("use");
  const auto def = in.get("def");
  const size_t blocks = use.size();
  std::vector<uint32_t> live_in(blocks);
  std::vector<uint32_t> live_out(blocks);
  std::vector<size_t> work(blocks);
  std::iota(work.begin(), work.end(), 0);
  while (!work.empty()) {
    const size_t b = work.back();
    work.pop_back();
    uint32_t after = 0;
    for (const uint32_t follower : {next[2 * b], next[2 * b + 1]})
      if (follower < blocks) after |= live_in[follower];
    live_out[b] = after;
    const uint32_t before = use[b] | (after & ~def[b]);
    if (before == live_in[b]) continue;
    live_in[b] = before;
    for (size_t p = 0; p < blocks; ++p)
      if (next[2 * p] == b || next[2 * p + 1] == b) work.push_back(p);
  }
  return Values().set("live_in", live_in).set("live_out", live_out);
}

TEST(Example, Liveness) {
  Values random;
  random.set("next", some_numbers(200, 0, 110));
  random.set("use", some_numbers(100, 0, 1U << 31, 2));
  random.set("def", some_numbers(100, 0, 1U << 31, 3));
  // A long way back, one variable read at its end.
  std::vector<uint32_t> next;
  for (uint32_t b = 0; b < 70; ++b) next.insert(next.end(), {b + 1, 1000});
  std::vector<uint32_t> use(70);
  use.back() = 5;
  std::vector<uint32_t> def(70);
  def[10] = 4;
  Values chain;
  chain.set("next", next).set("use", use).set("def", def);
  expect_example("liveness", liveness,
                 {Values().set("next", {}).set("use", {}).set("def", {}),
                  Values().set("next", {0, 0}).set("use", {3}).set("def", {3}), random, chain});
}

// By pairs in a list of work, instead of rules over all facts.
Values same_generation(const Values& in) {
  const auto child = in.get("child");
  const auto parent = in.get("parent");
  const uint32_t people = in.get("people")[0];
  std::map<uint32_t, std::vector<uint32_t>> children;
  for (size_t e = 0; e < child.size(); ++e) children[parent[e]].push_back(child[e]);
  std::set<std::pair<uint32_t, uint32_t>> same;
  std::vector<std::pair<uint32_t, uint32_t>> work;
  const auto siblings_of = [&](uint32_t a, uint32_t b) {
    for (const uint32_t x : children[a])
      for (const uint32_t y : children[b])
        if (same.emplace(x, y).second) work.emplace_back(x, y);
  };
  for (uint32_t p = 0; p < people; ++p) siblings_of(p, p);
  while (!work.empty()) {
    const auto [a, b] = work.back();
    work.pop_back();
    siblings_of(a, b);
  }
  std::vector<uint32_t> matrix(size_t{people} * people);
  for (const auto& [x, y] : same) matrix[size_t{x} * people + y] = 1;
  return Values().set("same", matrix);
}

TEST(Example, SameGeneration) {
  Values tree;  // each but the first is a child of somebody before
  std::vector<uint32_t> child;
  std::vector<uint32_t> parent;
  const auto numbers = some_numbers(30, 0, 1000);
  for (uint32_t x = 1; x < 30; ++x) {
    child.push_back(x);
    parent.push_back(numbers[x] % x);
  }
  tree.set("people", {30}).set("child", child).set("parent", parent);
  Values tangled;
  tangled.set("people", {9})
      .set("child", some_numbers(11, 0, 9))
      .set("parent", some_numbers(11, 0, 9, 4));
  expect_example("same_generation", same_generation,
                 {Values().set("people", {2}).set("child", {}).set("parent", {}),
                  Values().set("people", {1}).set("child", {0}).set("parent", {0}), tree, tangled});
}

// From left to right, looking for the two-character marks.
Values dfa(const Values& in) {
  const auto text = in.get<uint8_t>("text");
  const std::string_view all(reinterpret_cast<const char*>(text.data()), text.size());
  std::vector<uint8_t> comment(all.size());
  size_t at = 0;
  while ((at = all.find("/*", at)) != std::string_view::npos) {
    const size_t end = all.find("*/", at + 2);
    const size_t last = end == std::string_view::npos ? all.size() : end + 1;
    std::fill(comment.begin() + static_cast<ptrdiff_t>(at) + 1,
              comment.begin() + static_cast<ptrdiff_t>(last), uint8_t{1});
    if (end == std::string_view::npos) break;
    at = end + 2;
  }
  return Values().set("comment", comment);
}

std::vector<uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

TEST(Example, Dfa) {
  std::vector<Values> more;
  for (const std::string_view text :
       {"", "*", "/", "/*", "a/*b*/c/**/d/***/e/*/f*/g//*h", "/*/ */ /* // **/ x */ y"})
    more.push_back(Values().set("text", bytes_of(text)));
  std::string comment(300, 'x');  // a comment over more than one workgroup
  comment.replace(100, 2, "/*").replace(290, 2, "*/");
  more.push_back(Values().set("text", bytes_of(comment)));
  expect_example("dfa", dfa, more);
}

Values find(const Values& in) {
  const auto text = in.get<uint8_t>("text");
  const auto pattern = in.get<uint8_t>("pattern");
  uint32_t first = UINT32_MAX;
  uint32_t count = 0;
  auto at = text.begin();
  while ((at = std::search(at, text.end(), pattern.begin(), pattern.end())) != text.end()) {
    if (count++ == 0) first = static_cast<uint32_t>(at - text.begin());
    ++at;
  }
  if (text.empty()) first = 0;  // no lane runs, outputs stay zeros
  return Values().set("first", {first}).set("count", {count});
}

TEST(Example, Find) {
  const auto search = [](std::string_view text, std::string_view pattern) {
    return Values().set("text", bytes_of(text)).set("pattern", bytes_of(pattern));
  };
  std::string edge(600, '-');
  edge.replace(254, 4, "abcd").replace(596, 4, "abcd");
  expect_example("find", find,
                 {search("", "a"), search("a", "a"), search("a", "ab"), search("aaaaa", "aa"),
                  search("abcabd", "abd"), search(edge, "abcd"), search(edge, "abce")});
}

// By permutations of columns.
Values queens(const Values& in) {
  std::vector<int> column(in.get("n")[0]);
  for (size_t row = 0; row < column.size(); ++row) column[row] = static_cast<int>(row);
  uint32_t count = 0;
  do {
    bool good = true;
    for (size_t a = 0; a < column.size() && good; ++a)
      for (size_t b = a + 1; b < column.size() && good; ++b)
        good = std::abs(column[a] - column[b]) != static_cast<int>(b - a);
    count += good ? 1 : 0;
  } while (std::next_permutation(column.begin(), column.end()));
  return Values().set("count", {count});
}

TEST(Example, Queens) {
  expect_example("queens", queens,
                 {Values().set("n", {3}), Values().set("n", {4}), Values().set("n", {6}),
                  Values().set("n", {9})});
}

TEST(Example, QueensRefusesOtherBoards) {
  for (const uint32_t n : {0U, 2U, 17U}) {
    const auto outcome = Example("queens").run(Values().set("n", {n}));
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().code, ErrorCode::InvalidArgument);
  }
}

// Keys one after the other, the largest first: then none is ever driven out.
Values hash_table(const Values& in) {
  const uint32_t slots = in.get("slots")[0];
  std::map<uint32_t, uint32_t, std::greater<>> counts;
  for (const uint32_t key : in.get("keys"))
    if (key != 0) ++counts[key];
  std::vector<uint32_t> table(slots);
  std::vector<uint32_t> count(slots);
  for (const auto& [key, times] : counts) {
    const uint32_t scattered = key * 0x9E3779B1;
    auto slot = static_cast<uint32_t>(uint64_t{scattered} * slots >> 32);
    while (table[slot] != 0) slot = (slot + 1) % slots;
    table[slot] = key;
    count[slot] = times;
  }
  std::vector<uint32_t> answer;
  for (const uint32_t query : in.get("queries"))
    answer.push_back(counts.contains(query) ? counts[query] : 0);
  return Values().set("table", table).set("count", count).set("answer", answer);
}

TEST(Example, HashTable) {
  Values full;  // one slot is free
  full.set("slots", {201}).set("keys", some_numbers(200, 1, UINT32_MAX));
  full.set("queries", some_numbers(250, 1, UINT32_MAX));  // all keys and 50 others
  Values many;
  many.set("slots", {400})
      .set("keys", some_numbers(390, 1, 60))
      .set("queries", some_numbers(80, 0, 80));
  expect_example(
      "hash_table", hash_table,
      {Values().set("slots", {1}).set("keys", {}).set("queries", {0, 7}),
       Values().set("slots", {2}).set("keys", {UINT32_MAX}).set("queries", {UINT32_MAX}),
       Values().set("slots", {5}).set("keys", {3, 3, 0}).set("queries", {}), full, many});
}

}  // namespace
}  // namespace vyre::test
