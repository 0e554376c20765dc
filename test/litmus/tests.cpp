// SPDX-License-Identifier: Apache-2.0
// The tests. Orders are those of docs/language.md: relaxed unless said, no sequentially consistent
// ones, so that store buffering and independent reads are forbidden only where read-modify-writes
// put the threads in an order.
#include <algorithm>

#include "litmus/litmus.hpp"

namespace vyre::litmus {

namespace {

bool all_different(const Outcome& o) {
  std::array<uint32_t, 4> r = o.r;
  std::ranges::sort(r);
  return std::ranges::adjacent_find(r) == r.end();
}

// ---- one location

std::vector<Test> coherence_tests() {
  constexpr std::string_view kTwoStores = "atomic_store(@x, 1); @D atomic_store(@x, 2);";
  return {
      {.name = "CoRR",
       .rule = "two loads of one location do not go back in its order of stores",
       .code = {.threads = {kTwoStores, "@0 = atomic_load(@x); @D @1 = atomic_load(@x);"}},
       .is_forbidden = [](const Outcome& o) { return o.r[0] > o.r[1]; },
       .mutants = {{"loads exchanged",
                    {.threads = {kTwoStores, "@1 = atomic_load(@x); @D @0 = atomic_load(@x);"}}}}},
      {.name = "CoWW",
       .rule = "of two stores of one thread the later one stays",
       .code = {.threads = {kTwoStores, "@0 = atomic_load(@x);"}},
       .is_forbidden = [](const Outcome& o) { return o.x != 2; },
       .mutants = {{"stores exchanged",
                    {.threads = {"atomic_store(@x, 2); @D atomic_store(@x, 1);",
                                 "@0 = atomic_load(@x);"}}}}},
      {.name = "CoWR",
       .rule = "a load after a store does not see what was there before it",
       .code = {.threads = {"atomic_store(@x, 1); @0 = atomic_load(@x);", "atomic_store(@x, 2);"}},
       .is_forbidden = [](const Outcome& o) { return o.r[0] == 0 || (o.r[0] == 2 && o.x == 1); },
       .mutants = {{"load before the store",
                    {.threads = {"@0 = atomic_load(@x); atomic_store(@x, 1);",
                                 "atomic_store(@x, 2);"}}}}},
      {.name = "CoRW",
       .rule = "a store after a load comes after what the load has seen",
       .code = {.threads = {"@0 = atomic_load(@x); @D atomic_store(@x, 1);",
                            "@D atomic_store(@x, 2);"}},
       .is_forbidden = [](const Outcome& o) { return o.r[0] == 1 || (o.r[0] == 2 && o.x == 2); },
       .mutants = {{"store before the load",
                    {.threads = {"atomic_store(@x, 1); @D @0 = atomic_load(@x);",
                                 "@D atomic_store(@x, 2);"}}}}},
      {.name = "one_value",
       .rule = "a racing load has one value, however often it is used",
       .code = {.threads = {"@x = 1; @D @x = 2;", "let v = @x; @0 = v; @D @1 = v;"}},
       .is_forbidden = [](const Outcome& o) { return o.r[0] != o.r[1]; },
       .mutants = {{"two loads",
                    {.threads = {"atomic_store(@x, 1); @D atomic_store(@x, 2);",
                                 "@0 = atomic_load(@x); @D @1 = atomic_load(@x);"}}}}},
  };
}

// ---- messages by release and acquire

std::vector<Test> message_tests() {
  constexpr std::string_view kSend = "atomic_store(@x, 1); @D atomic_store(@y, 1, release);";
  constexpr std::string_view kTake = "@0 = atomic_load(@y, acquire); @D @1 = atomic_load(@x);";
  constexpr std::string_view kSendEarly = "atomic_store(@y, 1); @D atomic_store(@x, 1);";
  constexpr std::string_view kTakeLate = "@1 = atomic_load(@x); @D @0 = atomic_load(@y);";
  constexpr std::string_view kTakePlain =
      "let flag = atomic_load(@y, acquire); @0 = flag; @D if flag == 1 { @1 = @x; }";
  const auto missed = [](const Outcome& o) { return o.r[0] == 1 && o.r[1] == 0; };
  return {
      {.name = "MP",
       .rule = "who has seen the flag sees the message",
       .code = {.threads = {kSend, kTake}},
       .is_forbidden = missed,
       .mutants = {{"flag first", {.threads = {kSendEarly, kTake}}},
                   {"message read first", {.threads = {kSend, kTakeLate}}}}},
      {.name = "MP_plain",
       .rule = "the message may be a plain store and load",
       .code = {.threads = {"@x = 1; @D atomic_store(@y, 1, release);", kTakePlain}},
       .is_forbidden = missed,
       .mutants = {{"flag first", {.threads = {"atomic_store(@y, 1); @D @x = 1;", kTakePlain}}}}},
      {.name = "MP_chain",
       .rule = "a relaxed read-modify-write hands a release on",
       .code = {.threads = {kSend, "@2 = atomic_add(@y, 1);", kTake}},
       .is_forbidden =
           [](const Outcome& o) {
             return o.r[1] == 0 && (o.r[0] == 2 || (o.r[0] == 1 && o.r[2] == 1));
           },
       .mutants = {{"flag first", {.threads = {kSendEarly, "@2 = atomic_add(@y, 1);", kTake}}},
                   {"message read first",
                    {.threads = {kSend, "@2 = atomic_add(@y, 1);", kTakeLate}}}},
       .threads = 3},
      {.name = "LB",
       .rule = "two threads do not both see what the other stores afterwards",
       .code = {.threads = {"@0 = atomic_load(@x, acquire); @D atomic_store(@y, 1, release);",
                            "@1 = atomic_load(@y, acquire); @D atomic_store(@x, 1, release);"}},
       .is_forbidden = [](const Outcome& o) { return o.r[0] == 1 && o.r[1] == 1; },
       .mutants = {{"store before the load",
                    {.threads = {"atomic_store(@y, 1); @D @0 = atomic_load(@x);",
                                 "@1 = atomic_load(@y); @D atomic_store(@x, 1);"}}}}},
      {.name = "S",
       .rule = "a store after the flag was seen comes after the stores before the flag",
       .code = {.threads = {"atomic_store(@x, 2); @D atomic_store(@y, 1, release);",
                            "@0 = atomic_load(@y, acquire); @D atomic_store(@x, 1);"}},
       .is_forbidden = [](const Outcome& o) { return o.r[0] == 1 && o.x == 2; },
       .mutants = {{"flag first",
                    {.threads = {"atomic_store(@y, 1); @D atomic_store(@x, 2);",
                                 "@0 = atomic_load(@y); @D atomic_store(@x, 1);"}}}}},
      {.name = "WRC",
       .rule = "a message that was passed on has arrived",
       .code = {.threads = {"atomic_store(@x, 1, release);",
                            "@0 = atomic_load(@x, acquire); @D atomic_store(@y, 1, release);",
                            "@1 = atomic_load(@y, acquire); @D @2 = atomic_load(@x);"}},
       .is_forbidden = [](const Outcome& o) { return o.r[0] == 1 && o.r[1] == 1 && o.r[2] == 0; },
       .mutants = {{"last loads exchanged",
                    {.threads = {"atomic_store(@x, 1);",
                                 "@0 = atomic_load(@x); @D atomic_store(@y, 1);",
                                 "@2 = atomic_load(@x); @D @D @1 = atomic_load(@y);"}}}},
       .threads = 3},
      {.name = "ISA2",
       .rule = "a message follows two flags",
       .code = {.threads = {"atomic_store(@x, 1); @D atomic_store(@y, 1, release);",
                            "@0 = atomic_load(@y, acquire); @D atomic_store(@z, 1, release);",
                            "@1 = atomic_load(@z, acquire); @D @2 = atomic_load(@x);"}},
       .is_forbidden = [](const Outcome& o) { return o.r[0] == 1 && o.r[1] == 1 && o.r[2] == 0; },
       .mutants = {{"last loads exchanged",
                    {.threads = {"atomic_store(@x, 1); atomic_store(@y, 1);",
                                 "@0 = atomic_load(@y); @D atomic_store(@z, 1);",
                                 "@2 = atomic_load(@x); @D @D @1 = atomic_load(@z);"}}}},
       .threads = 3},
  };
}

// ---- orders that read-modify-writes make

std::vector<Test> order_tests() {
  return {
      {.name = "SB",
       .rule = "of two threads that write and then read, one sees the other (read-modify-writes)",
       .code = {.threads = {"atomic_exchange(@x, 1, acq_rel); @0 = atomic_add(@y, 0, acq_rel);",
                            "atomic_exchange(@y, 1, acq_rel); @1 = atomic_add(@x, 0, acq_rel);"}},
       .is_forbidden = [](const Outcome& o) { return o.r[0] == 0 && o.r[1] == 0; },
       .mutants =
           {{"relaxed stores and loads",
             {.threads = {"atomic_store(@x, 1); @0 = atomic_load(@y);",
                          "atomic_store(@y, 1); @1 = atomic_load(@x);"}}},
            {"release stores, acquire loads",
             {.threads = {"atomic_store(@x, 1, release); @0 = atomic_load(@y, acquire);",
                          "atomic_store(@y, 1, release); @1 = atomic_load(@x, acquire);"}}}}},
      {.name = "R",
       .rule = "who writes last over a release sees what came before it (read-modify-writes)",
       .code = {.threads = {"atomic_store(@x, 1); atomic_exchange(@y, 1, acq_rel);",
                            "atomic_exchange(@y, 2, acq_rel); @0 = atomic_load(@x);"}},
       .is_forbidden = [](const Outcome& o) { return o.y == 2 && o.r[0] == 0; },
       .mutants = {{"relaxed stores",
                    {.threads = {"atomic_store(@x, 1); atomic_store(@y, 1);",
                                 "atomic_store(@y, 2); @0 = atomic_load(@x);"}}}}},
      {.name = "2+2W",
       .rule = "two threads do not both come last with their first store (read-modify-writes)",
       .code =
           {.threads = {"atomic_exchange(@x, 1, acq_rel); @D atomic_exchange(@y, 2, acq_rel);",
                        "atomic_exchange(@y, 1, acq_rel); @D atomic_exchange(@x, 2, acq_rel);"}},
       .is_forbidden = [](const Outcome& o) { return o.x == 1 && o.y == 1; },
       .mutants = {{"one pair exchanged",
                    {.threads = {"atomic_exchange(@y, 2); @D atomic_exchange(@x, 1);",
                                 "atomic_exchange(@y, 1); @D atomic_exchange(@x, 2);"}}}}},
      {.name = "IRIW",
       .rule = "two readers see two writes in one order (read-modify-writes)",
       .code =
           {.threads = {"atomic_exchange(@x, 1, acq_rel);",
                        "@0 = atomic_add(@x, 0, acq_rel); @D @1 = atomic_add(@y, 0, acq_rel);",
                        "atomic_exchange(@y, 1, acq_rel);",
                        "@2 = atomic_add(@y, 0, acq_rel); @D @3 = atomic_add(@x, 0, acq_rel);"}},
       .is_forbidden = [](const Outcome& o) { return o.r == std::array<uint32_t, 4>{1, 0, 1, 0}; },
       .mutants = {{"one reader's reads exchanged",
                    {.threads = {"atomic_exchange(@x, 1);",
                                 "@1 = atomic_load(@y); @D @0 = atomic_load(@x);",
                                 "atomic_exchange(@y, 1);",
                                 "@2 = atomic_load(@y); @D @3 = atomic_load(@x);"}}}},
       .threads = 4},
  };
}

// ---- read-modify-writes are whole

std::vector<Test> atomicity_tests() {
  return {
      {.name = "add",
       .rule = "every addition counts, and each has a number of its own",
       .code = {.body = "for t in 0 .. 4 { atomic_add(@x, 1); } "
                        "r[4 * i + role] = atomic_add(@x, 1);"},
       .is_forbidden = [](const Outcome& o) { return o.x != 20 || !all_different(o); },
       .mutants = {{"load and store",
                    {.body =
                         "for t in 0 .. 4 { let a = atomic_load(@x); atomic_store(@x, a + 1); } "
                         "let v = atomic_load(@x); atomic_store(@x, v + 1); "
                         "r[4 * i + role] = v;"}}},
       .threads = 4},
      {.name = "cas",
       .rule = "one compare-and-swap wins",
       .code = {.body = "r[4 * i + role] = atomic_cas(@x, 0, role + 1, acq_rel);"},
       .is_forbidden =
           [](const Outcome& o) {
             return std::ranges::count(o.r, 0U) != 1 || o.x == 0 || o.r[o.x - 1] != 0;
           },
       .mutants = {{"load, compare and store",
                    {.body =
                         "let v = atomic_load(@x); @D if v == 0 { atomic_store(@x, role + 1); } "
                         "r[4 * i + role] = v;"}}},
       .threads = 4},
      {.name = "exchange",
       .rule = "every value is handed on once",
       .code = {.body = "r[4 * i + role] = atomic_exchange(@x, role + 1);"},
       .is_forbidden =
           [](const Outcome& o) { return !all_different(o) || std::ranges::count(o.r, o.x) != 0; },
       .mutants = {{"load and store",
                    {.body = "let v = atomic_load(@x); @D atomic_store(@x, role + 1); "
                             "r[4 * i + role] = v;"}}},
       .threads = 4},
      {.name = "max",
       .rule = "the largest value stays",
       .code = {.body = "for t in 0 .. 4 { atomic_max(@x, 4 * t + role); }"},
       .is_forbidden = [](const Outcome& o) { return o.x != 15; },
       .mutants = {{"load, compare and store",
                    {.body = "for t in 0 .. 4 { let v = atomic_load(@x); @D "
                             "if v < 4 * t + role { atomic_store(@x, 4 * t + role); } }"}}},
       .threads = 4},
      {.name = "neighbours",
       .rule = "stores to different bytes do not disturb each other",
       .code = {.body = "for t in 0 .. 3 { @x = 16 * t + role + 1; }"},
       .is_forbidden = [](const Outcome& o) { return o.x != 0x24232221; },
       .mutants = {{"bytes of a word",
                    {.body = "for t in 0 .. 3 { let w = y[16 * i]; "
                             "y[16 * i] = (w & ~(255 << (8 * role))) | "
                             "((16 * t + role + 1) << (8 * role)); } "
                             "@x = (y[16 * i] >> (8 * role)) & 255;"}}},
       .threads = 4,
       .layout = Layout::Bytes},
  };
}

// ---- barriers

std::vector<Test> barrier_tests() {
  constexpr std::string_view kStore = "if role == 0 { @x = 1; } else { @y = 1; } ";
  constexpr std::string_view kLoad = "if role == 0 { @0 = @y; } else { @1 = @x; }";
  static const std::string kGrid = std::string(kStore) + "barrier grid; " + std::string(kLoad);
  static const std::string kGroup =
      std::string(kStore) + "barrier workgroup; " + std::string(kLoad);
  static const std::string kNone = std::string(kStore) + std::string(kLoad);
  const auto missed = [](const Outcome& o) { return o.r[0] != 1 || o.r[1] != 1; };
  return {
      {.name = "barrier_grid",
       .rule = "what was stored before a grid barrier is seen after it",
       .code = {.body = kGrid},
       .is_forbidden = missed,
       .mutants = {{"no barrier", {.body = kNone}}}},
      {.name = "barrier_workgroup",
       .rule = "what was stored before a workgroup barrier is seen after it",
       .code = {.body = kGroup},
       .is_forbidden = missed,
       .mutants = {{"no barrier", {.body = kNone}}},
       .layout = Layout::Workgroup},
      {.name = "barrier_shared",
       .rule = "the same for shared memory",
       .code = {.body = "s[lid.x] = 1; barrier workgroup; r[4 * i + role] = s[63 - lid.x];"},
       .is_forbidden = missed,
       .mutants = {{"no barrier", {.body = "s[lid.x] = 1; r[4 * i + role] = s[63 - lid.x];"}}},
       .layout = Layout::Workgroup},
  };
}

}  // namespace

const std::vector<Test>& tests() {
  static const std::vector<Test> kTests = [] {
    std::vector<Test> all;
    for (auto part : {coherence_tests, message_tests, order_tests, atomicity_tests, barrier_tests})
      for (Test& test : part()) all.push_back(std::move(test));
    return all;
  }();
  return kTests;
}

}  // namespace vyre::litmus
