// SPDX-License-Identifier: Apache-2.0
#include "vyre/backend/reference.hpp"

#include <algorithm>
#include <thread>

#include <gmock/gmock.h>

#include "oracle/oracle_test.hpp"
#include "vyre/device/buffer.hpp"
#include "vyre/device/interpreted.hpp"

namespace vyre::backend {
namespace {

using namespace device;
using oracle::checked_program;
using oracle::grid_program;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

using Words = std::vector<uint32_t>;

class Program {
 public:
  explicit Program(std::string_view text, bool whole = false) {
    interpreted.program = std::make_shared<const check::CheckedProgram>(checked_program(text));
    entry.name = "test";
    for (const ir::Buffer& buffer : interpreted.program->program.buffers)
      entry.bindings.push_back(
          {.name = buffer.name, .shared = buffer.kind == ir::BufferKind::Shared});
    entry.whole = whole;
    entry.barriers_inside = whole && interpreted.program->has_grid_barrier;
  }
  [[nodiscard]] Artifact artifact() const {
    Artifact artifact;
    artifact.entries = {entry};
    artifact.programs = {std::make_shared<const InterpretedProgram>(interpreted)};
    return artifact;
  }
  Entry entry;
  InterpretedProgram interpreted;
};

class ReferenceTest : public testing::Test {
 protected:
  void open(ReferenceOptions options = {}) { device_ = *open_reference(std::move(options)); }

  void load(const Program& program) {
    if (!device_) open();
    auto loaded = device_->load(program.artifact());
    ASSERT_TRUE(loaded) << loaded.error().message;
    code_ = std::move(*loaded);
  }
  // Buffers by argument; nothing at all for a shared one that is not kept.
  void bind(const std::vector<Words>& contents) {
    buffers_.clear();
    regions_.clear();
    for (const Words& words : contents) {
      buffers_.push_back(*device_->allocate(words.size() * 4));
      regions_.push_back(words.empty() ? Region{} : buffers_.back().whole());
    }
    write(contents);
  }
  void write(const std::vector<Words>& contents) {
    std::vector<Transfer> transfers;
    transfers.reserve(contents.size());
    for (size_t i = 0; i < contents.size(); ++i)
      transfers.push_back(
          {.device = buffers_[i].whole(),
           .host = reinterpret_cast<std::byte*>(const_cast<uint32_t*>(contents[i].data()))});
    ASSERT_TRUE(device_->transfer(transfers));
  }
  Words read(size_t argument) {
    Words words(buffers_[argument].bytes() / 4);
    const Transfer transfer{.direction = Transfer::Direction::ToHost,
                            .device = buffers_[argument].whole(),
                            .host = reinterpret_cast<std::byte*>(words.data())};
    EXPECT_TRUE(device_->transfer({&transfer, 1}));
    return words;
  }
  Launch launch(uint32_t groups, uint32_t lanes) {
    return {.pipeline = code_.handle(),
            .arguments = regions_,
            .workgroup = {lanes, 1, 1},
            .grid = {groups, 1, 1}};
  }
  Result<Completion> run(const std::vector<Step>& steps, Submission submission = {}) {
    submission.steps = steps;
    const auto ticket = device_->submit(submission);
    if (!ticket) return std::unexpected(ticket.error());
    return device_->wait(*ticket);
  }

  std::shared_ptr<Backend> device_;
  LoadedArtifact code_;
  std::vector<Buffer> buffers_;
  std::vector<Region> regions_;
};

TEST_F(ReferenceTest, RunsWholeProgramsWithTheirBarriers) {
  load(Program(grid_program("inout a : u32[]; out o : u32[8];",
                            "a[gid.x] = gid.x; barrier grid; o[gid.x] = a[7 - gid.x];", 8, 2),
               true));
  bind({Words(8, 9), Words(8, 9)});
  const auto done = run({launch(4, 2)});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(read(1), (Words{7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(done->launches, 1u);
  ASSERT_TRUE(done->whole);
  EXPECT_EQ(done->whole->phases, 1u);
  EXPECT_TRUE(done->timings.device_ns);
  EXPECT_FALSE(done->timings.enqueue_ns);
  EXPECT_FALSE(done->lane_stop);
}

TEST_F(ReferenceTest, ReportsTheFixpointsOfWholePrograms) {
  load(Program(grid_program("inout a : u32[4];",
                            "fixpoint max 10 over (a) { a[gid.x] = min(a[gid.x] + 1, 3); }", 4, 2),
               true));
  bind({{0, 1, 2, 3}});
  const auto done = run({launch(2, 2), launch(2, 2)});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(read(0), Each(3u));
  EXPECT_THAT(done->whole->fixpoints,
              ElementsAre(FixpointReport{4, true}, FixpointReport{1, true}));
}

class Services : public HostServices {
 public:
  std::function<Result<void>(std::span<const TrapReport>, HandlerBuffers&)> on_resume;
  uint64_t total = 0;
  Result<void> resume(std::span<const TrapReport> reports, HandlerBuffers& buffers) override {
    return on_resume(reports, buffers);
  }
  void progress(uint64_t /*done*/, uint64_t of) override { total = of; }
};

TEST_F(ReferenceTest, AResumeCallsTheHost) {
  load(Program(grid_program("inout table : u32[4]; out o : u32[4];",
                            "if table[gid.x] == 0 { trap(1, 50 + gid.x); } resume(1);"
                            "o[gid.x] = table[gid.x];",
                            4, 2),
               true));
  bind({{9, 0, 0, 9}, Words(4)});
  Services host;
  host.on_resume = [&](std::span<const TrapReport> reports, HandlerBuffers& buffers) {
    for (const TrapReport& r : reports)
      std::memcpy(buffers.write(ir::BufferId{0}).data() + size_t{4} * r.lane, &r.value, 4);
    EXPECT_TRUE(device_->allocate(64));  // nothing is locked
    return Result<void>();
  };
  const auto done = run({launch(2, 2)}, {.host = &host});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(read(1), ElementsAre(9, 51, 52, 9));
  EXPECT_EQ(done->whole->resumed.size(), 2u);
  EXPECT_EQ(host.total, 2u);

  write({{9, 0, 0, 9}, Words(4)});
  host.on_resume = [](std::span<const TrapReport>, HandlerBuffers&) -> Result<void> {
    return std::unexpected(Error{.code = ErrorCode::InvalidArgument,
                                 .message = "no such page. Fix: none",
                                 .context = {},
                                 .at = {},
                                 .diagnostics = {}});
  };
  uint32_t failed_step = 7;
  const auto failed = run({Fill{}, launch(2, 2)}, {.host = &host, .failed_step = &failed_step});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(failed_step, 1u);
}

TEST_F(ReferenceTest, AStopOfAWholeProgramIsTheSubmissionsError) {
  load(Program(grid_program("out o : u32[4];", "if gid.x > 1 { trap(3, gid.x); }", 4, 2), true));
  bind({Words(4)});
  const auto done = run({launch(2, 2)});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Trapped);
  EXPECT_THAT(done.error().message, HasSubstr("lane 2"));
}

// ---- segments

TEST_F(ReferenceTest, SegmentsSeeWhatTheOnesBeforeWrote) {
  load(Program(grid_program("inout a : u32[];", "a[gid.x] += gid.x + len(a);", 4, 2)));
  bind({Words(4, 10)});
  const auto done = run({launch(2, 2), launch(2, 2)});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(read(0), ElementsAre(18, 20, 22, 24));
  EXPECT_EQ(done->launches, 2u);
  EXPECT_FALSE(done->whole);
}

TEST_F(ReferenceTest, ArgumentsMayBePartsOfBuffers) {
  load(Program(grid_program("inout a : u32[];", "a[gid.x] = len(a);", 8, 2)));
  bind({Words(8, 1)});
  regions_[0] = *buffers_[0].region(8, 12);
  ASSERT_TRUE(run({launch(4, 2)}));
  EXPECT_THAT(read(0), ElementsAre(1, 1, 3, 3, 3, 1, 1, 1));
}

TEST_F(ReferenceTest, ArgumentsHaveToFit) {
  load(Program(grid_program("inout a : u32[]; in b : u32[4];", "a[gid.x] = b[gid.x];", 8, 2)));
  bind({Words(8, 1), Words(4)});
  const auto message = [&] {
    const auto done = run({launch(4, 2)});
    return done ? "" : to_string(done.error());
  };
  EXPECT_EQ(message(), "");
  regions_[0].bytes = 7;
  EXPECT_THAT(message(), HasSubstr("7 bytes for buffer `a` with elements of 4 bytes"));
  regions_[0].bytes = 36;
  EXPECT_THAT(message(), HasSubstr("argument 0 of `test` is 36 bytes at 0 of handle"));
  regions_[0].bytes = 32;
  regions_[1].bytes = 12;
  EXPECT_THAT(message(), HasSubstr("12 bytes for buffer `b`"));
  regions_.pop_back();
  EXPECT_THAT(message(), HasSubstr("1 arguments for 2 buffers"));
}

Program shared_program(bool restore, bool save) {
  Program program(grid_program("shared s : u32[2]; inout o : u32[];",
                               "s[lid.x] += gid.x + 1; o[gid.x] = s[lid.x];", 4, 2));
  program.entry.bindings[0].restore = restore;
  program.entry.bindings[0].save = save;
  return program;
}

TEST_F(ReferenceTest, SharedMemoryIsRestoredAndSaved) {
  load(shared_program(true, true));
  bind({{10, 20, 30, 40}, Words(4)});
  ASSERT_TRUE(run({launch(2, 2)}));
  EXPECT_THAT(read(1), ElementsAre(11, 22, 33, 44));
  EXPECT_THAT(read(0), ElementsAre(11, 22, 33, 44));
  load(shared_program(false, true));
  ASSERT_TRUE(run({launch(2, 2)}));
  EXPECT_THAT(read(0), ElementsAre(1, 2, 3, 4));
  load(shared_program(true, false));
  ASSERT_TRUE(run({launch(2, 2)}));
  EXPECT_THAT(read(1), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(read(0), ElementsAre(1, 2, 3, 4));
  load(shared_program(false, false));
  regions_[0] = {};
  ASSERT_TRUE(run({launch(2, 2)}));
  EXPECT_THAT(read(1), ElementsAre(1, 2, 3, 4));
  load(shared_program(true, false));
  const auto failed = run({launch(2, 2)});
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("too few bytes to keep the shared memory `s`"));
}

// Every workgroup notes when it runs.
TEST_F(ReferenceTest, BlocksRunTheirShareForwardAndBackwardAlternately) {
  load(Program(grid_program("inout n : u32[1]; inout order : u32[];",
                            "order[atomic_add(n[0], 1)] = wid.x;", 5, 1)));
  bind({{0}, Words(10, 99)});
  Launch x = launch(5, 1);
  x.blocks = 2;
  ASSERT_TRUE(run({x, x}));
  EXPECT_EQ(read(1), (Words{0, 2, 4, 1, 3, 4, 2, 0, 3, 1}));
}

TEST_F(ReferenceTest, BarriersInsideNeedAllWorkgroupsAtOnce) {
  Program program(grid_program("inout a : u32[]; out o : u32[4];",
                               "a[gid.x] = gid.x; barrier grid; o[gid.x] = a[3 - gid.x];", 4, 2));
  program.entry.barriers_inside = true;
  open({.resident_groups = 2});
  load(program);
  EXPECT_EQ(code_.max_resident_groups(0), 2u);
  bind({Words(4), Words(4)});
  Launch x = launch(2, 2);
  auto done = run({x});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("is not launched as a cooperative kernel"));
  x.cooperative = true;
  ASSERT_TRUE(run({x}));
  EXPECT_THAT(read(1), ElementsAre(3, 2, 1, 0));
  x.grid = {3, 1, 1};
  done = run({x});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::CooperativeResidencyExceeded);
  x.blocks = 2;
  done = run({x});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Internal);
}

TEST_F(ReferenceTest, HoldsLanesToTheBarriersTheyShare) {
  Program program(grid_program("inout a : u32[];",
                               "if gid.x == 1 { return; } barrier grid; a[gid.x] = 1;", 4, 2));
  program.entry.barriers_inside = true;
  load(program);
  bind({Words(4)});
  Launch x = launch(2, 2);
  x.cooperative = true;
  const auto done = run({x});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Internal);
  EXPECT_THAT(done.error().message, HasSubstr("a lane ends while others wait"));
}

TEST_F(ReferenceTest, HoldsLanesToAnAgreement) {
  Program program(
      grid_program("inout a : u32[]; in v : u32[];", "atomic_store(a[0], v[gid.x]);", 2, 2));
  program.interpreted.agreed = {true, false};
  load(program);
  bind({{0}, {5, 5}});
  ASSERT_TRUE(run({launch(1, 2)}));
  bind({{0}, {5, 6}});
  const auto done = run({launch(1, 2)});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("lanes disagree about a uniform value"));
}

TEST_F(ReferenceTest, LanesOutOfBoundsAreReported) {
  load(Program(grid_program("inout a : u32[];", "a[gid.x] = 7;", 6, 2)));
  bind({Words(3)});
  auto done = run({launch(3, 2)});
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->lane_stop);
  done = run({launch(3, 2), launch(3, 2)}, {.checked = true});
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(done->lane_stop);
  EXPECT_EQ(done->lane_stop->lane, 3u);
  EXPECT_EQ(done->lane_stop->error.code, ErrorCode::OutOfBounds);
  EXPECT_EQ(done->launches, 2u);
}

TEST_F(ReferenceTest, ReadsTheGridFromMemory) {
  load(Program(grid_program("inout n : u32[];", "atomic_add(n[3], num_workgroups.y);", 1, 1)));
  bind({{2, 3, 1, 0}});
  Launch x = launch(9, 1);
  x.grid_from = Word{buffers_[0].handle(), 0};
  ASSERT_TRUE(run({x}));
  EXPECT_EQ(read(0)[3], 18u);
  write({{0xFFFF'FFFF, 1, 1, 0}});
  const auto done = run({x});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::LimitExceeded);
}

TEST_F(ReferenceTest, StopsInsideALaunch) {
  load(Program(grid_program("inout a : u32[];", "while a[0] == 0 { a[1] += 1; }", 1, 1)));
  bind({{0, 0}});
  auto done = run({launch(1, 1)},
                  {.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20)});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Timeout);
  std::atomic<bool> cancel = false;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    cancel = true;
  });
  done = run({launch(1, 1)}, {.cancel = &cancel});
  other.join();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("cancelled"));
}

// ---- memory

TEST_F(ReferenceTest, FreshMemoryIsNotZeros) {
  open();
  buffers_.push_back(*device_->allocate(8));
  EXPECT_THAT(read(0), Each(0xA5A5A5A5));
}

TEST_F(ReferenceTest, WithoutResidentBuffersNothingSurvivesASubmission) {
  open({.resident_buffers = false});
  load(Program(grid_program("inout a : u32[];", "a[gid.x] += 1;", 2, 2)));
  bind({{1, 2}});
  Words in = {4, 5};
  Words out(2);
  ASSERT_TRUE(run({Transfer{.device = regions_[0], .host = reinterpret_cast<std::byte*>(in.data())},
                   launch(1, 2),
                   Transfer{.direction = Transfer::Direction::ToHost,
                            .device = regions_[0],
                            .host = reinterpret_cast<std::byte*>(out.data())}}));
  EXPECT_THAT(out, ElementsAre(5, 6));
  EXPECT_THAT(read(0), Each(0xA5A5A5A5));
}

TEST_F(ReferenceTest, MemoryHasALimit) {
  open({.memory_limit = 1000});
  auto first = device_->allocate(600);
  ASSERT_TRUE(first);
  const auto second = device_->allocate(401);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::DeviceOutOfMemory);
  EXPECT_THAT(second.error().message, HasSubstr("401 bytes are requested"));
  EXPECT_THAT(second.error().message, HasSubstr("400 bytes available"));
  first->free();
  EXPECT_TRUE(device_->allocate(1000));
}

// ---- what it says about itself

TEST_F(ReferenceTest, OptionsAreCapabilities) {
  const auto has = [](const ReferenceOptions& options) {
    return reference_info(options).capabilities;
  };
  EXPECT_TRUE(has({}).whole_programs && has({}).cooperative_grid_barrier && has({}).device_loops);
  EXPECT_TRUE(has({}).resident_buffers && has({}).host_split);
  EXPECT_FALSE(has({.whole_programs = false}).whole_programs);
  EXPECT_FALSE(has({.grid_barrier = false}).cooperative_grid_barrier);
  EXPECT_FALSE(has({.resident_buffers = false}).resident_buffers);
  EXPECT_FALSE(has({.host_split = false}).host_split);
  EXPECT_FALSE(has({.device_loops = false}).device_loops);
  EXPECT_EQ(has({.subgroup_size = 8}).subgroup_size, 8u);
  EXPECT_EQ(reference_info({.id = "reference:3"}).id, "reference:3");
  EXPECT_EQ(reference_info().kind, Kind::Oracle);
  const auto odd = open_reference({.subgroup_size = 3});
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, ErrorCode::InvalidArgument);
}

TEST_F(ReferenceTest, RefusesWhatItDoesNotTake) {
  open({.whole_programs = false});
  Artifact artifact =
      Program(grid_program("out o : u32[1];", "o[0] = 1; barrier grid;", 1, 1), true).artifact();
  auto loaded = device_->load(artifact);
  ASSERT_FALSE(loaded) << "it has a grid barrier";
  EXPECT_THAT(loaded.error().message, HasSubstr("is a whole program, which it does not take"));
  artifact.programs.clear();
  loaded = device_->load(artifact);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::CompileFailed);
  artifact.format = Format::Ptx;
  loaded = device_->load(artifact);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::Unsupported);
}

// D-LIFE.1: after a recovery everything is made anew, and the same work gives the same bytes.
TEST_F(ReferenceTest, Recovers) {
  load(Program(grid_program("inout a : u32[];", "a[gid.x] += 1;", 2, 2)));
  bind({{1, 2}});
  ASSERT_TRUE(run({launch(1, 2)}));
  ASSERT_TRUE(device_->recover());
  EXPECT_FALSE(buffers_[0].check_owner(*device_));
  EXPECT_FALSE(code_.check_owner(*device_));
  load(Program(grid_program("inout a : u32[];", "a[gid.x] += 1;", 2, 2)));
  bind({{1, 2}});
  ASSERT_TRUE(run({launch(1, 2)}));
  EXPECT_THAT(read(0), ElementsAre(2, 3));
}

}  // namespace
}  // namespace vyre::backend
