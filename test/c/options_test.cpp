// SPDX-License-Identifier: Apache-2.0
// Every field of vyre_options reaches the dispatch, and callbacks get what they are to get.
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "c_test.hpp"

namespace vyre::c_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Options : public testing::Test {
 protected:
  Device device_ = open();
  std::array<uint32_t, 3> a_ = {1, 2, 3};
  std::string report_;

  // A dispatch of kTwice on the three values, or of another program with one `inout`.
  vyre_error* twice(const vyre_options& options, std::string_view text = kTwice) {
    const Pipeline pipeline = compile(device_, text);
    vyre_arg inout = VYRE_BYTES(a_.data());
    inout.size = sizeof a_;
    vyre_data* report = nullptr;
    vyre_error* const error =
        vyre_dispatch(pipeline.get(), &inout, 1, &inout, 1, &options, &report);
    if (error == nullptr) report_ = text_of(report);
    return error;
  }
};

TEST_F(Options, NumbersAndTexts) {
  vyre_options o = options_with(VYRE_SET_GRID);
  o.grid[0] = 4;
  o.grid[1] = o.grid[2] = 1;
  must(twice(o));
  EXPECT_THAT(report_, HasSubstr(R"("grid":[4,1,1])"));

  o = options_with(VYRE_SET_WORKGROUP);
  o.workgroup[0] = 32;
  o.workgroup[1] = o.workgroup[2] = 1;
  must(twice(o));
  EXPECT_THAT(report_, HasSubstr(R"("workgroup":[32,1,1])"));

  o = options_with(VYRE_SET_FIXPOINT_ITERATIONS);
  o.fixpoint_iterations = 3;
  a_ = {1, 2, 3};
  must(twice(o));
  EXPECT_THAT(a_, ElementsAre(8, 16, 24));
  o.fixpoint_iterations = 0;
  expect_error(twice(o), VYRE_INVALID_ARGUMENT, "fixpoint_iterations");

  o = options_with(VYRE_SET_MAX_OUTPUT_BYTES | VYRE_SET_LABEL);
  o.max_output_bytes = 4;
  o.label = "of the night";
  expect_error(twice(o), VYRE_LIMIT_EXCEEDED, "12");
  o = options_with(VYRE_SET_LABEL);
  expect_error(twice(o), VYRE_INVALID_ARGUMENT, "`label` is NULL");

  o = options_with(VYRE_SET_PROFILE);
  o.profile = "latency";
  must(twice(o));
  o.profile = "none such";
  expect_error(twice(o), VYRE_INVALID_ARGUMENT, "none such");

  o = options_with(VYRE_SET_QUEUE);
  o.queue = 3;
  must(twice(o));
  o.queue = 1000;
  expect_error(twice(o), VYRE_INVALID_ARGUMENT, "1000");

  o = options_with(VYRE_SET_ULP_BUDGET);
  o.ulp_budget = 4;
  must(twice(o));
}

TEST_F(Options, TimeoutEndsWhatDoesNotEnd) {
  vyre_options o = options_with(VYRE_SET_TIMEOUT);
  o.timeout_ns = 20'000'000;
  const Pipeline endless = compile(device_, kEndless);
  uint32_t flag = 0;
  vyre_arg inout = VYRE_MEMORY(&flag, 4);
  expect_error(vyre_dispatch(endless.get(), &inout, 1, &inout, 1, &o, nullptr), VYRE_TIMEOUT);
  // The device works on.
  must(twice(options_with(0)));
  // None, and the largest number.
  o.timeout_ns = 0;
  must(twice(o));
  o.timeout_ns = UINT64_MAX;
  must(twice(o));
  // Of the pipeline; a call overrides it.
  o.timeout_ns = 20'000'000;
  const Pipeline limited = compile(device_, kEndless, &o);
  expect_error(vyre_dispatch(limited.get(), &inout, 1, &inout, 1, nullptr, nullptr), VYRE_TIMEOUT);
}

TEST_F(Options, StateAndCheckedAndTiming) {
  vyre_options o = options_with(VYRE_SET_TIMING);
  o.timing = VYRE_TIMING_REGIONS;
  must(twice(o));
  EXPECT_THAT(report_, HasSubstr(R"("breakdown":{"segments":[{"launches":1)"));
  o.timing = 9;
  expect_error(twice(o), VYRE_INVALID_ARGUMENT, "`timing` is 9");

  o = options_with(VYRE_SET_CHECKED);
  o.checked = 1;
  expect_error(twice(o, "program p { workgroup 1; over 1; inout a : u32[]; a[a[0] + 7] = 1; }"),
               VYRE_OUT_OF_BOUNDS, "test.vyre:1:");
  o.checked = 2;
  expect_error(twice(o), VYRE_INVALID_ARGUMENT, "Fix: give 0 or 1");
  o = options_with(VYRE_SET_UNTRUSTED | VYRE_SET_MAX_STATE_BYTES);
  o.untrusted = 1;
  o.max_state_bytes = 1 << 20;
  must(twice(o));
}

TEST_F(Options, Choices) {
  const uint64_t bit[] = {VYRE_SET_SPECULATION, VYRE_SET_PERSISTENT_THREAD, VYRE_SET_COOPERATIVE,
                          VYRE_SET_TUNE};
  uint32_t vyre_options::* const field[] = {&vyre_options::speculation,
                                            &vyre_options::persistent_thread,
                                            &vyre_options::cooperative, &vyre_options::tune};
  const uint32_t last[] = {VYRE_CHOICE_DISABLE, VYRE_CHOICE_DISABLE, VYRE_COOPERATIVE_REQUIRE,
                           VYRE_TUNE_ON};
  for (size_t i = 0; i < 4; ++i) {
    vyre_options o = options_with(bit[i]);
    must(twice(o));
    o.*field[i] = last[i] + 1;
    expect_error(twice(o), VYRE_INVALID_ARGUMENT, "one of the numbers of vyre.h");
    o.*field[i] = UINT32_MAX;
    expect_error(twice(o), VYRE_INVALID_ARGUMENT);
  }
  // The cpu device has no speculation to force.
  vyre_options o = options_with(VYRE_SET_SPECULATION);
  o.speculation = VYRE_CHOICE_FORCE;
  expect_error(twice(o), VYRE_UNSUPPORTED, "speculation");
  o.speculation = VYRE_CHOICE_DISABLE;
  must(twice(o));
  o = options_with(VYRE_SET_TUNE);
  o.tune = VYRE_TUNE_READ;
  must(twice(o));
}

TEST_F(Options, GridFromABuffer) {
  const std::array<uint32_t, 4> grid = {99, 2, 1, 1};
  const Buffer buffer = upload(device_, grid.data(), sizeof grid);
  vyre_options o = options_with(VYRE_SET_GRID_FROM);
  o.grid_from = buffer.get();
  o.grid_from_offset = 4;
  must(twice(o));
  EXPECT_THAT(a_, ElementsAre(2, 4, 6));
  o.grid_from_offset = 3;
  expect_error(twice(o), VYRE_INVALID_ARGUMENT);
  o.grid_from = nullptr;
  expect_error(twice(o), VYRE_INVALID_ARGUMENT, "`grid_from` is NULL");
}

TEST_F(Options, Progress) {
  struct Seen {
    uint64_t calls = 0, done = 0, of = 0;
  } seen;
  const Device reference = open("reference");  // which says it often
  const Pipeline endless = compile(reference, kEndless);
  vyre_options o = options_with(VYRE_SET_PROGRESS | VYRE_SET_TIMEOUT);
  o.timeout_ns = 300'000'000;
  o.progress_user = &seen;
  o.progress = [](uint64_t done, uint64_t of, void* user) {
    auto& s = *static_cast<Seen*>(user);
    ++s.calls;
    s.done = done;
    s.of = of;
  };
  uint32_t flag = 0;
  vyre_arg inout = VYRE_MEMORY(&flag, 4);
  expect_error(vyre_dispatch(endless.get(), &inout, 1, &inout, 1, &o, nullptr), VYRE_TIMEOUT);
  EXPECT_GE(seen.calls, 1U);
  EXPECT_LE(seen.done, seen.of);
  EXPECT_EQ(seen.of, 1U);
  o.progress = nullptr;
  expect_error(twice(o), VYRE_INVALID_ARGUMENT, "`progress` is NULL");
}

TEST_F(Options, Print) {
  std::vector<std::string> seen;
  vyre_options o = options_with(VYRE_SET_PRINT | VYRE_SET_PRINT_BYTES | VYRE_SET_PRINT_TO);
  o.print = 1;
  o.print_bytes = 1 << 16;
  o.print_user = &seen;
  o.print_to = [](const vyre_print_line* lines, size_t count, uint64_t dropped, void* user) {
    auto& to = *static_cast<std::vector<std::string>*>(user);
    EXPECT_EQ(dropped, 0U);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(lines[i].lane, i);
      EXPECT_EQ(lines[i].line, 5U);
      EXPECT_EQ(lines[i].text[lines[i].size], '\0');
      to.emplace_back(lines[i].text, lines[i].size);
    }
  };
  constexpr std::string_view kPrint =
      "program p {\n  workgroup 4;\n  over len(a);\n  inout a : u32[];\n"
      "  if gid.x < len(a) { print(\"a is {}\", a[gid.x]); }\n}";
  must(twice(o, kPrint));
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_THAT(seen, ElementsAre("a is 1", "a is 2", "a is 3"));
  o.print = 2;
  expect_error(twice(o, kPrint), VYRE_INVALID_ARGUMENT, "`print` is 2");
  o.print = 1;
  o.print_bytes = UINT64_MAX;
  expect_error(twice(o, kPrint), VYRE_INVALID_ARGUMENT, "print_bytes");
  o.print_bytes = 4096;
  o.print_to = nullptr;
  expect_error(twice(o, kPrint), VYRE_INVALID_ARGUMENT, "`print_to` is NULL");
}

TEST_F(Options, CancelBeforeAndWhileItRuns) {
  vyre_cancel* made = nullptr;
  must(vyre_cancel_new(&made));
  const Cancel cancel(made);
  vyre_options o = options_with(VYRE_SET_CANCEL);
  o.cancel = made;
  must(twice(o));
  vyre_cancel_request(made);
  expect_error(twice(o), VYRE_TIMEOUT, "cancel");
  vyre_program* program = nullptr;
  expect_error(vyre_program_parse(kAdd.data(), kAdd.size(), nullptr, &o, &program), VYRE_TIMEOUT);
  EXPECT_EQ(program, nullptr);
  o.cancel = nullptr;
  expect_error(twice(o), VYRE_INVALID_ARGUMENT, "`cancel` is NULL");
}

// ---- traps

constexpr std::string_view kPaging = R"(program paging {
  workgroup 64;
  over len(want);
  in    want  : u32[];
  inout pages : u32[];
  out   y     : u32[] @count(len(want));
  let i = gid.x;
  if i >= len(want) { return; }
  let p = want[i];
  if pages[p] == 0 { trap(1, p); }
  resume(1);
  y[i] = pages[p];
}
)";

using Handler = std::function<vyre_error*(const vyre_trap*, size_t, vyre_memory*)>;
vyre_error* call_handler(const vyre_trap* traps, size_t count, vyre_memory* memory, void* user) {
  return (*static_cast<Handler*>(user))(traps, count, memory);
}

class Traps : public Options {
 protected:
  std::array<uint32_t, 3> y_{};
  vyre_error* run(Handler handler) {
    const Pipeline pipeline = compile(device_, kPaging);
    std::array<uint32_t, 3> want = {2, 0, 2};
    std::array<uint32_t, 3> pages = {50, 0, 0};
    std::array<vyre_arg, 2> in = {{{want.data(), 12, nullptr, 0}, {pages.data(), 12, nullptr, 0}}};
    std::array<vyre_arg, 2> out = {{VYRE_NOWHERE, {y_.data(), 12, nullptr, 0}}};
    vyre_options o = options_with(VYRE_SET_TRAP_HANDLER);
    o.trap_handler = call_handler;
    o.trap_user = &handler;
    return vyre_dispatch(pipeline.get(), in.data(), 2, out.data(), 2, &o, nullptr);
  }
};

TEST_F(Traps, HandlerSeesReportsAndBuffers) {
  std::vector<vyre_trap> seen;
  must(run([&](const vyre_trap* traps, size_t count, vyre_memory* memory) -> vyre_error* {
    seen.assign(traps, traps + count);
    void* bytes = nullptr;
    uint64_t size = 0;
    must(vyre_memory_get(memory, "want", VYRE_MEMORY_READ, &bytes, &size));
    EXPECT_EQ(size, 12U);
    EXPECT_EQ(static_cast<const uint32_t*>(bytes)[2], 2U);
    expect_error(vyre_memory_get(memory, "want", VYRE_MEMORY_WRITE, &bytes, &size),
                 VYRE_INVALID_ARGUMENT, "cannot be written");
    expect_error(vyre_memory_get(memory, "nothing", VYRE_MEMORY_READ, &bytes, &size),
                 VYRE_INVALID_ARGUMENT, "has no buffer `nothing`");
    expect_error(vyre_memory_get(memory, "want", 7, &bytes, &size), VYRE_INVALID_ARGUMENT);
    expect_error(vyre_memory_get(memory, nullptr, 0, &bytes, &size), VYRE_INVALID_ARGUMENT);
    must(vyre_memory_get(memory, "pages", VYRE_MEMORY_WRITE, &bytes, &size));
    static_cast<uint32_t*>(bytes)[2] = 102;
    return nullptr;
  }));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].tag, 1U);
  EXPECT_EQ(seen[0].value, 2U);
  EXPECT_EQ(seen[0].lane, 0U);
  EXPECT_EQ(seen[1].lane, 2U);
  EXPECT_EQ(seen[0].line, 10U);
  EXPECT_THAT(y_, ElementsAre(102, 50, 102));
}

TEST_F(Traps, AnErrorOfTheHandlerEndsTheDispatch) {
  expect_error(run([](const vyre_trap*, size_t, vyre_memory*) {
                 return vyre_error_make(VYRE_UNAVAILABLE, "the pager is gone. Fix: start it");
               }),
               VYRE_UNAVAILABLE, "the pager is gone");
  // A code that the library does not have.
  expect_error(
      run([](const vyre_trap*, size_t, vyre_memory*) { return vyre_error_make(5, nullptr); }),
      VYRE_UNKNOWN, "a callback has failed");
}

TEST_F(Traps, WithoutAResumeTheyAreAnError) {
  expect_error(
      twice(options_with(0),
            "program p {\n  workgroup 1;\n  over 1;\n  inout a : u32[];\n  trap(4, a[0]);\n}"),
      VYRE_TRAPPED, "test.vyre:5:3");
}

// ---- ranks

vyre_error* exchange(const vyre_exchange* e, void* user) {
  auto& log = *static_cast<std::string*>(user);
  log = std::string(e->operation) + " " + e->reduce + " " + e->element + " " + e->source_name;
  if (e->source_bytes != e->target_bytes) return vyre_error_make(VYRE_INTERNAL, "lengths");
  auto* const v = static_cast<uint32_t*>(e->target);
  for (uint64_t i = 0; i < e->target_bytes / 4; ++i) v[i] += 100;  // of the other rank
  return nullptr;
}

TEST_F(Options, Communicator) {
  std::string log;
  vyre_communicator ranks{};
  ranks.struct_size = sizeof ranks;
  ranks.rank = 1;
  ranks.size = 2;
  ranks.exchange = exchange;
  ranks.user = &log;
  vyre_options o = options_with(VYRE_SET_COMMUNICATOR);
  o.communicator = &ranks;
  constexpr std::string_view kReduce =
      "program p { workgroup 4; over len(a); inout a : u32[]; region r { if gid.x < len(a) { "
      "a[gid.x] += 1; } } all_reduce(a, add); }";
  must(twice(o, kReduce));
  EXPECT_THAT(a_, ElementsAre(102, 103, 104));
  EXPECT_EQ(log, "all_reduce add u32 a");
  ranks.rank = 2;
  expect_error(twice(o, kReduce), VYRE_INVALID_ARGUMENT, "rank 2 of 2");
  ranks.rank = 0;
  ranks.exchange = nullptr;
  expect_error(twice(o, kReduce), VYRE_INVALID_ARGUMENT, "`exchange` is NULL");
  ranks.struct_size = 4;
  expect_error(twice(o, kReduce), VYRE_INVALID_ARGUMENT, "struct_size");
}

}  // namespace
}  // namespace vyre::c_test
