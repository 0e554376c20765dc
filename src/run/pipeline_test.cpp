// SPDX-License-Identifier: Apache-2.0
// Compiling, caching and dispatching pipelines.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "run/driver_test.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::run {
namespace {

using backend::NullCall;
using backend::NullLaunch;
using device::Axes;
using device::FormatSet;
using pipeline::MissReason;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kEcho = R"(program echo {
  workgroup 4;
  over len(a);
  in a : u8[];
  out o : u8[] @count(len(a));
  if gid.x < len(a) { o[gid.x] = a[gid.x]; }
})";

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "vyre_run_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::shared_ptr<const check::CheckedProgram> checked(std::string_view text) {
  return std::make_shared<const check::CheckedProgram>(*check::check_valid(program(text)));
}

// Where all the parts of a program are; what is copied is somewhere else.
std::vector<const void*> places_of(const ir::Program& p) {
  return {p.consts.data(),         p.buffers.data(),
          p.require_list.data(),   p.fns.data(),
          p.locals.data(),         p.exprs.data(),
          p.stmts.data(),          p.block_items.data(),
          p.expr_lists.data(),     p.param_lists.data(),
          p.args.data(),           p.positions.files.data(),
          p.positions.locs.data(), p.positions.exprs.data(),
          p.positions.stmts.data()};
}

// D-PIPE.1: a moved program is not copied, nor a shared one; one by reference is, and stays.
TEST(Pipelines, AMovedProgramIsNotCopied) {
  constexpr std::string_view kAllParts = R"(program parts {
    workgroup 4;
    const Table : u32[] = { 1, 2 };
    const One : u32 = 1;
    in a : u32[];
    out o : u32[4];
    require len(a) == 4, "four";
    fn add(x : u32, y : u32) -> u32 { return x + y; }
    o[gid.x] = min(add(a[gid.x], One), Table[1]);
  })";
  const Device device = reference();
  ir::Program moved = program(kAllParts);
  const ir::Program same = moved;
  const auto places = places_of(moved);
  for (const void* place : places) EXPECT_NE(place, nullptr) << "there is nothing to copy";
  const auto by_move = device.compile(std::move(moved));
  ASSERT_TRUE(by_move);
  EXPECT_EQ(places_of(by_move->pipeline.program().program), places);
  const auto before = places_of(same);
  const auto by_reference = device.compile(same);
  ASSERT_TRUE(by_reference);
  EXPECT_EQ(places_of(same), before);
  EXPECT_EQ(same, by_move->pipeline.program().program);
  auto unshared = *check::check_valid(program(kAllParts));
  const auto checked_places = places_of(unshared.program);
  const auto by_checked = device.compile(std::move(unshared));
  ASSERT_TRUE(by_checked);
  EXPECT_EQ(places_of(by_checked->pipeline.program().program), checked_places);
  const auto shared = checked(kAllParts);
  const auto by_share = device.compile(shared);
  ASSERT_TRUE(by_share);
  EXPECT_EQ(&by_share->pipeline.program(), shared.get());
  EXPECT_EQ(by_reference->pipeline.id(), by_share->pipeline.id());
}

// As bytes from elsewhere could have it: the statements without the region around them.
ir::Program without_region(ir::Program p) {
  const auto* region = std::get_if<ir::Region>(&p[p.items(p.body)[0]]);
  EXPECT_NE(region, nullptr);
  if (region != nullptr) p.body = region->body;
  return p;
}

// D-PIPE.1: a program and a config with which everything is wrong. What is mended is what was
// complained about, one after the other, so that every message hides all that come after it.
TEST(Pipelines, RefusalsComeInTheirOrder) {
  backend::NullOptions options;
  options.info.capabilities.max_workgroup_size = {64, 8, 8};
  options.info.capabilities.max_invocations_per_workgroup = 256;
  options.info.capabilities.max_workgroups = {100, 100, 100};
  options.info.capabilities.shared_bytes = 64;
  options.info.capabilities.max_bindings = 2;
  options.info.capabilities.f64 = false;
  Fake fake(options);
  std::string text =
      "program p { workgroup 4; inout a : u32[]; in b : u32[]; in c : u32[]; inout d : f64[]; "
      "shared s : u32[17]; s[0] = 1.5; a[0] = b[0] + c[0] + s[0]; d[0] = 1.0; }";
  DispatchConfig config = {.workgroup = check::Axes{65, 0, 9},
                           .grid = check::Axes{1, 101, 1},
                           .speculation = Choice::Force};
  bool has_region = false;
  const auto mend = [&](std::string_view wrong, std::string_view right) {
    const size_t at = text.find(wrong);
    ASSERT_NE(at, std::string::npos) << wrong;
    text.replace(at, wrong.size(), right);
  };
  const auto compiled = [&] {
    ir::Program p = program(text);
    return fake.device.compile(has_region ? std::move(p) : without_region(std::move(p)), config);
  };
  const auto refused = [&](ErrorCode code, std::string_view message) {
    const auto result = compiled();
    ASSERT_FALSE(result) << message;
    EXPECT_EQ(result.error().code, code);
    EXPECT_THAT(result.error().message, HasSubstr(std::string(message)));
    EXPECT_THAT(result.error().message, HasSubstr("Fix:"));
    EXPECT_EQ(fake.backend->calls(), 0U) << "the device was called for what is refused";
    EXPECT_EQ(fake.device.telemetry().generated + fake.device.telemetry().planned, 0U) << message;
  };
  refused(ErrorCode::InvalidProgram,
          "`p`: the top level of `p` is not a top-level Region-wrapped "
          "Program");
  has_region = true;
  refused(ErrorCode::InvalidProgram, "`p`: ");
  mend("s[0] = 1.5", "s[0] = 1");
  refused(ErrorCode::InvalidArgument, "axis y of the workgroup is 0");
  config.workgroup = check::Axes{65, 8, 1};
  refused(ErrorCode::LimitExceeded,
          "axis x of the workgroup (65) is more than device `null` "
          "allows (64)");
  config.workgroup = check::Axes{64, 8, 1};
  refused(ErrorCode::LimitExceeded,
          "the number of lanes of a workgroup (512) is more than device "
          "`null` allows (256)");
  config.workgroup.reset();
  refused(ErrorCode::LimitExceeded,
          "axis y of the grid in workgroups (101) is more than device "
          "`null` allows (100)");
  config.grid = check::Axes{1, 100, 1};
  refused(ErrorCode::LimitExceeded,
          "the shared memory of a workgroup in bytes (68) is more than "
          "device `null` allows (64)");
  mend("u32[17]", "u32[16]");
  refused(ErrorCode::LimitExceeded,
          "the number of buffers (4) is more than device `null` allows "
          "(2)");
  mend("in b : u32[]; in c : u32[]; ", "");
  mend("b[0] + c[0] + ", "");
  refused(ErrorCode::Unsupported, "the program needs f64");
  mend("inout d : f64[]; ", "");
  mend("d[0] = 1.0; ", "");
  refused(ErrorCode::Unsupported, "speculation is forced");
  config.speculation.reset();
  const auto right = compiled();
  ASSERT_TRUE(right) << to_string(right.error());
  EXPECT_EQ(fake.backend->loaded(), 1U);
  // The grid of a call is checked by the call.
  const auto grid =
      right->pipeline.dispatch({std::vector<uint32_t>{1}}, {.grid = check::Axes{1, 101, 1}});
  ASSERT_FALSE(grid);
  EXPECT_THAT(grid.error().message, HasSubstr("axis y of the grid in workgroups (101)"));
  EXPECT_EQ(fake.backend->launches(), 0U);
}

// D-GRID.2, A (config): what a call forces and the device cannot is refused wherever a config comes
// in, not only by compile(), and nothing is launched for it.
TEST(Pipelines, WhatACallForcesIsRefusedOnEveryPath) {
  struct Forced {
    DispatchConfig config;
    bool device::Capabilities::* needs;
    std::string_view text;
  };
  const std::vector<Forced> all = {
      {{.speculation = Choice::Force}, &device::Capabilities::speculation, "speculation is forced"},
      {{.persistent_thread = Choice::Force},
       &device::Capabilities::persistent_threads,
       "persistent_thread is forced"},
      {{.cooperative = Cooperative::Require},
       &device::Capabilities::cooperative_grid_barrier,
       "a cooperative launch is forced"}};
  constexpr std::string_view kSet = "program set { workgroup 1; inout a : u32[]; a[0] = 1; }";
  for (const auto& [config, needs, text] : all) {
    SCOPED_TRACE(text);
    for (const bool can : {false, true}) {
      SCOPED_TRACE(can);
      backend::NullOptions options;
      options.info.capabilities.*needs = can;
      Fake fake(options);
      const Pipeline set = compile(fake.device, kSet);
      const Buffer buffer = *fake.device.allocate(4);
      const std::vector<Argument> inputs = {buffer};
      const Arguments arguments = {.inputs = inputs};
      Outputs slots;
      std::vector<Outputs> rows;
      ASSERT_TRUE(set.dispatch_into(arguments, slots)) << "the same call without it";
      const uint64_t before = fake.backend->launches();
      uint64_t paths = 0;
      const auto expect = [&](std::string_view path, const auto& result) {
        ++paths;
        ASSERT_EQ(result.has_value(), can) << path;
        if (can) return;
        EXPECT_EQ(result.error().code, ErrorCode::Unsupported) << path;
        EXPECT_THAT(result.error().message, HasSubstr(std::string(text))) << path;
        EXPECT_THAT(result.error().message, HasSubstr("Fix:")) << path;
      };
      expect("dispatch", set.dispatch(arguments, config));
      expect("into", set.dispatch_into(arguments, slots, config));
      expect("batch", set.dispatch_batch({&arguments, 1}, rows, config));
      auto pending = set.dispatch_async(arguments, config);
      expect("async", pending);
      if (pending) {
        EXPECT_TRUE(pending->wait());
      }
      const std::vector<SequenceItem> items = {{set, arguments, config}};
      expect("sequence", fake.device.run_sequence(items, 1));
      EXPECT_EQ(fake.backend->launches() - before, can ? paths : 0U);
      expect("compile", fake.device.compile(checked(kSet), config));
      expect("prewarm", fake.device.prewarm(checked(kSet), config));
      EXPECT_TRUE(set.dispatch_into(arguments, slots)) << "nothing of a refused call stays";
    }
  }
}

// D-PIPE.1: the region rule comes first also where nothing has a position, and so no order but that
// of the codes.
TEST(Pipelines, TopLevelStatementsNeedARegion) {
  ir::Program bare =
      without_region(program("program p { workgroup 1; inout a : u32[]; a[0] = 1.5; }"));
  bare.positions = {};
  bare.buffers[0].name = std::string(300, 'a');
  const auto compiled = reference().compile(std::move(bare));
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::InvalidProgram);
  EXPECT_THAT(compiled.error().message, HasSubstr("top-level Region-wrapped Program"));
  ASSERT_EQ(compiled.error().diagnostics.size(), 3U);
  EXPECT_EQ(compiled.error().diagnostics[0].code, Code::NameTooLong);
}

// D-PIPE.1: a device that this build cannot generate code for.
TEST(Pipelines, AnUnknownFormatIsRefused) {
  backend::NullOptions options;
  options.info.capabilities.formats = {device::Format::Spirv, device::Format::Cubin};
  const auto compiled = Fake(options).device.compile(program(kEcho));
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(compiled.error().message, HasSubstr("loads cubin,spirv"));
  EXPECT_THAT(compiled.error().message, HasSubstr("Fix:"));
}

// D-PIPE.1: what the device made of the code is what is launched, and its residency decides.
TEST(Pipelines, WhatTheDeviceReturnsIsUsedAsItIs) {
  backend::NullOptions options;
  options.resident_groups = 3;
  Fake fake(options);
  const Pipeline two = compile(fake.device, kTwoSegments);
  const auto run = [&](uint32_t groups) {
    fake.backend->clear_record();
    const auto result =
        two.dispatch({std::vector<uint32_t>{1}}, {.grid = check::Axes{groups, 1, 1}});
    EXPECT_TRUE(result) << to_string(result.error());
    return result ? result->report.route : plan::Route::Host;
  };
  const auto loaded = fake.backend->record();
  ASSERT_EQ(loaded.size(), 1U);
  ASSERT_EQ(loaded[0].kind, NullCall::Kind::Load);
  EXPECT_EQ(run(3), plan::Route::Native);
  for (const NullCall& call : fake.backend->record()) {
    if (call.kind == NullCall::Kind::Launch) {
      EXPECT_EQ(call.handle, loaded[0].handle);
    }
  }
  EXPECT_EQ(fake.backend->launches(), 1U);
  EXPECT_EQ(run(4), plan::Route::Persistent);
}

// D-PIPE.1
TEST(Pipelines, TheEmptyProgramReturnsNothing) {
  const auto result = compile(reference(), "program empty { workgroup 1; over 1; }").dispatch({});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_TRUE(result->outputs.empty());
}

// D-PIPE.2
TEST(Pipelines, PrewarmCompilesAndRunsNothing) {
  Fake fake{{}};
  const auto cold = fake.device.prewarm(checked(kEcho));
  ASSERT_TRUE(cold) << to_string(cold.error());
  EXPECT_EQ(cold->cache_hit, CacheHit::No);
  EXPECT_THAT(cold->pipeline_id, StartsWith("null:"));
  EXPECT_EQ(cold->manifest.pipeline_id, cold->pipeline_id);
  const auto warm = fake.device.prewarm(checked(kEcho));
  ASSERT_TRUE(warm);
  EXPECT_EQ(warm->cache_hit, CacheHit::Yes);
  EXPECT_EQ(warm->pipeline_id, cold->pipeline_id);
  EXPECT_EQ(fake.backend->launches(), 0U);
  EXPECT_EQ(fake.device.cache_audit().hits, 1U);
  EXPECT_EQ(fake.device.cache_audit().misses, 1U);
}

// D-PIPE.3
TEST(Pipelines, TheManifestSaysWhatWasCompiled) {
  const Device device = reference({.whole_programs = false});
  const auto compiled = device.compile(program(kTwoSegments), {.label = "first"});
  ASSERT_TRUE(compiled);
  const pipeline::Manifest& manifest = compiled->manifest;
  EXPECT_EQ(manifest.backend_id, "reference");
  EXPECT_EQ(manifest.program_digest, ir::digest_of(program(kTwoSegments)).hex());
  EXPECT_EQ(manifest.pipeline_id, compiled->pipeline.id());
  EXPECT_EQ(manifest.compiler_build_id, pipeline::compiler_build_id());
  EXPECT_EQ(manifest.dispatch_policy, describe(pipeline::Policy{}));
  ASSERT_EQ(manifest.variants.size(), 1U);
  EXPECT_EQ(manifest.variants[0].route, "native");
  EXPECT_EQ(*pipeline::manifest_from_json(pipeline::to_json(manifest)), manifest);
  // Another route is compiled when it is needed.
  ASSERT_TRUE(compiled->pipeline.dispatch({std::vector<uint32_t>{1}}, {.checked = true}));
  EXPECT_EQ(compiled->pipeline.manifest().variants.size(), 2U);
}

// D-PIPE.9: a name that does not exist is refused, with those that do.
TEST(Pipelines, UnknownProfilesAreRefused) {
  const Fake fake{{}};
  const auto refused = fake.device.compile(program(kEcho), {.profile = "fast"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(refused.error().message,
              HasSubstr("there is no profile `fast`. Fix: use one of throughput, latency"));
  const auto compiled = fake.device.compile(program(kEcho), {.profile = "throughput"});
  ASSERT_TRUE(compiled);
  const auto of_call =
      compiled->pipeline.dispatch({std::vector<uint32_t>{1}}, {.profile = "Latency"});
  ASSERT_FALSE(of_call);
  EXPECT_EQ(of_call.error().code, ErrorCode::InvalidArgument);
}

// D-PIPE.4: every part of the key that changes is a miss, with its reason.
TEST(Pipelines, EveryPartOfTheKeyCounts) {
  const TemporaryFolder folder;
  const auto open = [&](auto change, std::string build_id = "build 1") {
    backend::NullOptions options;
    options.info.signature = "device 1, driver 1";
    options.info.version = "1";
    change(options.info);
    return Device::over(backend::open_null(options), {.cache_directory = folder.path(),
                                                      .compiler_build_id = std::move(build_id)});
  };
  const auto same = [](device::BackendInfo&) {};
  const auto hit_of = [](const Device& device, const DispatchConfig& config = {},
                         std::string_view text = kEcho) {
    const auto compiled = device.compile(program(text), config);
    EXPECT_TRUE(compiled);
    return compiled ? compiled->cache_hit : CacheHit::Unknown;
  };
  EXPECT_EQ(hit_of(open(same)), CacheHit::No);
  EXPECT_EQ(hit_of(open(same)), CacheHit::Yes) << "another process";
  // The program.
  std::string changed(kEcho);
  changed.replace(changed.find("workgroup 4"), 11, "workgroup 8");
  EXPECT_EQ(hit_of(open(same), {}, changed), CacheHit::No);
  // Every option that reaches code generation.
  const std::vector<DispatchConfig> policies = {{.workgroup = check::Axes{2, 1, 1}},
                                                {.checked = true}};
  for (const DispatchConfig& config : policies) {
    EXPECT_EQ(hit_of(open(same), config), CacheHit::No);
    EXPECT_EQ(hit_of(open(same), config), CacheHit::Yes);
  }
  // What does not reach it hits.
  EXPECT_EQ(hit_of(open(same), {.timeout = std::chrono::seconds(1), .label = "x", .queue = 1}),
            CacheHit::Yes);
  // Nor does what this device has no other code for (test/cache/policy_test.cpp has one that does).
  EXPECT_EQ(hit_of(open(same), {.profile = "latency", .ulp_budget = 4}), CacheHit::Yes);
  // Compiler, target, device, driver: each capability, too.
  EXPECT_EQ(hit_of(open(same, "build 2")), CacheHit::No);
  EXPECT_EQ(hit_of(open([](auto& i) { i.signature = "device 1, driver 2"; })), CacheHit::No);
  EXPECT_EQ(hit_of(open([](auto& i) { i.version = "2"; })), CacheHit::No);
  EXPECT_EQ(hit_of(open([](auto& i) { i.kind = device::Kind::Gpu; })), CacheHit::No);
  EXPECT_EQ(hit_of(open([](auto& i) { i.id = "other"; })), CacheHit::No);
  EXPECT_EQ(hit_of(open([](auto& i) { i.id = "null:1"; })), CacheHit::Yes)
      << "a second device of the same kind";
  const auto change = []<class T>(T& value) {
    if constexpr (std::is_same_v<T, bool>)
      value = !value;
    else if constexpr (std::is_same_v<T, Axes>)
      ++value[0];
    else if constexpr (std::is_same_v<T, FormatSet>)
      value.insert(device::Format::Spirv);
    else
      ++value;
  };
#define VYRE_FLIP(type, name, initial) \
  EXPECT_EQ(hit_of(open([&](auto& i) { change(i.capabilities.name); })), CacheHit::No) << #name;
  // Without these the program is refused.
#define VYRE_FLIP_OTHERS(type, name, initial)      \
  if (std::string_view(#name) != "storage_8bit") { \
    VYRE_FLIP(type, name, initial)                 \
  }
  VYRE_CAPABILITY_FIELDS(VYRE_FLIP_OTHERS)
#undef VYRE_FLIP_OTHERS
#undef VYRE_FLIP
  EXPECT_EQ(hit_of(open(same)), CacheHit::Yes);
}

// D-PIPE.4: each reason, from memory and from the disk alike. Where several parts differ there is
// no entry that close: that is Absent, which neither part explains.
TEST(Pipelines, AMissHasAReason) {
  const TemporaryFolder folder;
  for (const bool disk : {false, true}) {
    SCOPED_TRACE(disk ? "on disk" : "in memory");
    const Device device = Device::over(
        backend::open_null(), {.cache_directory = disk ? folder.path() : std::filesystem::path()});
    pipeline::Compiler& compiler = device.compiler();
    const auto source = pipeline::make_source(checked(kEcho));
    const auto other =
        pipeline::make_source(checked("program other { workgroup 1; inout a : u32[]; a[0] = 1; }"));
    const auto why = [&](const pipeline::Source& of, bool is_checked, bool same_build) {
      const pipeline::CacheKey key =
          pipeline::make_key(of, {.checked = is_checked}, device.info(),
                             same_build ? compiler.build_id() : std::string_view("another build"));
      return compiler.why(key);
    };
    EXPECT_EQ(why(source, false, true), MissReason::Empty);
    ASSERT_TRUE(compiler.get(source, {}));
    EXPECT_EQ(why(source, false, true), std::nullopt);
    EXPECT_EQ(why(source, true, true), MissReason::Policy);
    EXPECT_EQ(why(other, false, true), MissReason::Program);
    EXPECT_EQ(why(source, false, false), MissReason::Runtime);
    EXPECT_EQ(why(other, true, true), MissReason::Absent);
    EXPECT_EQ(why(other, false, false), MissReason::Absent);
    EXPECT_EQ(why(source, true, false), MissReason::Absent);
    EXPECT_EQ(why(other, true, false), MissReason::Absent);
    // Several that are close: one of the same program tells most.
    ASSERT_TRUE(compiler.get(other, {.checked = true}));
    EXPECT_EQ(why(other, false, true), MissReason::Policy);
    EXPECT_EQ(why(source, true, true), MissReason::Policy);
    EXPECT_EQ(why(source, true, false), MissReason::Absent);
  }
}

// D-PIPE.4: bounded, the least recently used goes first.
TEST(Pipelines, TheMemoryCacheIsBounded) {
  const auto backend = backend::open_null();
  const Device device = Device::over(backend, {.cache_directory = {}, .memory_cache_entries = 2});
  const auto text = [](int n) {
    return fmt::format("program p{} {{ workgroup 1; inout a : u32[]; a[0] = {}; }}", n, n);
  };
  const auto hit = [&](int n) { return device.compile(program(text(n)))->cache_hit; };
  EXPECT_EQ(hit(1), CacheHit::No);
  EXPECT_EQ(hit(2), CacheHit::No);
  EXPECT_EQ(hit(1), CacheHit::Yes);
  EXPECT_EQ(hit(3), CacheHit::No);
  EXPECT_EQ(hit(1), CacheHit::Yes);
  EXPECT_EQ(hit(2), CacheHit::No) << "it had to make room";
  EXPECT_EQ(device.compiler().memory().entries, 2U);
  EXPECT_EQ(backend->loaded(), 2U) << "what nobody uses is unloaded";
}

// D-PIPE.5: a damaged entry is compiled again.
TEST(Pipelines, ADamagedEntryIsAMiss) {
  const TemporaryFolder folder;
  const auto open = [&] {
    return Device::over(backend::open_null(), {.cache_directory = folder.path()});
  };
  ASSERT_EQ(open().compile(program(kEcho))->cache_hit, CacheHit::No);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file() || entry.file_size() < 200) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-5, std::ios::end);
    file.put('\x55');
  }
  const Device device = open();
  EXPECT_EQ(device.compile(program(kEcho))->cache_hit, CacheHit::No);
  EXPECT_EQ(device.telemetry().cache_corrupt, 1U);
  EXPECT_EQ(open().compile(program(kEcho))->cache_hit, CacheHit::Yes);
}

// D-PIPE.5: a cache is never the reason of a failure, also if the device refuses what it has.
TEST(Pipelines, CachedCodeThatTheDeviceRefusesIsCompiledAgain) {
  const TemporaryFolder folder;
  const auto open = [&](const std::shared_ptr<backend::NullBackend>& backend) {
    return Device::over(backend, {.cache_directory = folder.path()});
  };
  const auto refuse_once = [](ErrorCode code) {
    auto backend = backend::open_null();
    backend->fail_calls_like(
        backend::NullCall::Kind::Load, 0,
        {.code = code, .message = "refused", .context = {}, .at = {}, .diagnostics = {}});
    return backend;
  };
  ASSERT_EQ(open(backend::open_null()).compile(program(kEcho))->cache_hit, CacheHit::No);
  for (const ErrorCode code : {ErrorCode::CompileFailed, ErrorCode::Unsupported}) {
    const Device device = open(refuse_once(code));
    const auto compiled = device.compile(program(kEcho));
    ASSERT_TRUE(compiled) << to_string(compiled.error());
    EXPECT_EQ(compiled->cache_hit, CacheHit::No);
    EXPECT_EQ(device.telemetry().cache_corrupt, 1U);
    EXPECT_EQ(open(backend::open_null()).compile(program(kEcho))->cache_hit, CacheHit::Yes);
  }
  // Nothing that other code would mend.
  const auto compiled = open(refuse_once(ErrorCode::DeviceOutOfMemory)).compile(program(kEcho));
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::DeviceOutOfMemory);
}

// D-PIPE.7: n dispatches are n executions.
TEST(Pipelines, ResultsAreNeverCached) {
  backend::NullOptions options;
  uint32_t count = 0;
  options.on_launch = on_word([&](uint32_t) { return ++count; });
  Fake fake(options);
  const Pipeline pipeline =
      compile(fake.device, "program p { workgroup 1; inout a : u32[]; a[0] = 1; }");
  const std::vector<uint32_t> zero = {0};
  for (uint32_t i = 1; i <= 10; ++i)
    EXPECT_THAT(words(pipeline.dispatch({zero})->outputs[0]), ElementsAre(i));
  EXPECT_EQ(fake.backend->launches(), 10U);
}

// D-PIPE.7: fields override one by one.
TEST(Pipelines, ConfigsMergeFieldByField) {
  DispatchConfig base;
  base.grid = check::Axes{3, 1, 1};
  base.checked = true;
  base.label = "base";
  const DispatchConfig merged = merge(base, {.label = "call", .queue = 2});
  EXPECT_EQ(merged.grid, (check::Axes{3, 1, 1}));
  EXPECT_EQ(merged.checked, true);
  EXPECT_EQ(merged.label, "call");
  EXPECT_EQ(merged.queue, 2U);
  EXPECT_EQ(merge(base, {}), base);

  const Device device = reference();
  const Pipeline count =
      compile(device, "program count { workgroup 1; inout n : u32[1]; atomic_add(n[0], 1); }",
              {.grid = check::Axes{3, 1, 1}});
  const std::vector<uint32_t> zero = {0};
  EXPECT_THAT(words(count.dispatch({zero})->outputs[0]), ElementsAre(3));
  EXPECT_THAT(words(count.dispatch({zero}, {.label = "x"})->outputs[0]), ElementsAre(3));
  EXPECT_THAT(words(count.dispatch({zero}, {.grid = check::Axes{7, 1, 1}})->outputs[0]),
              ElementsAre(7));
}

// D-PIPE.8
TEST(Pipelines, BatchesKeepTheirRows) {
  const Pipeline echo = compile(reference(), kEcho);
  const std::vector<uint8_t> a = {1, 2, 3};
  const std::vector<uint8_t> b = {4, 5};
  const std::vector<Argument> first = {a};
  const std::vector<Argument> second = {b};
  const std::vector<Arguments> items = {{.inputs = first}, {.inputs = second}};
  std::vector<Outputs> rows(3);
  for (Outputs& row : rows) row.emplace_back().reserve(16);
  const Outputs* const outer = rows.data();
  const std::byte* const slot = rows[1][0].data();
  const auto reports = echo.dispatch_batch(items, rows);
  ASSERT_TRUE(reports) << to_string(reports.error());
  EXPECT_EQ(reports->size(), 2U);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.data(), outer);
  EXPECT_EQ(rows[1][0].data(), slot);
  EXPECT_THAT(rows[0][0], ElementsAre(std::byte{1}, std::byte{2}, std::byte{3}));
  EXPECT_THAT(rows[1][0], ElementsAre(std::byte{4}, std::byte{5}));
  const std::vector<Arguments> wrong = {{.inputs = first}, {}};
  const auto failed = echo.dispatch_batch(wrong, rows);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().context, testing::Contains("item 1 of 2 of the batch"));
}

TEST(Pipelines, OutputsBeyondTheLimitAreRefusedBeforeAnyCopy) {
  Fake fake{{}};
  const Pipeline echo = compile(fake.device, kEcho);
  const std::vector<uint8_t> a = {1, 2, 3};
  Outputs slots = {{std::byte{9}}};
  const std::vector<Argument> inputs = {a};
  const auto result = echo.dispatch_into({.inputs = inputs}, slots, {.max_output_bytes = 2});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(result.error().message, HasSubstr("3 bytes"));
  EXPECT_THAT(result.error().message, HasSubstr("max_output_bytes = 2"));
  EXPECT_THAT(slots[0], ElementsAre(std::byte{9}));
  EXPECT_TRUE(echo.dispatch_into({.inputs = inputs}, slots, {.max_output_bytes = 3}));
}

// D-OBS.1: exactly these numbers.
TEST(Telemetry, AnEchoIntoASlotThatSuffices) {
  const Device device = reference();
  const Pipeline echo = compile(device, kEcho);
  const std::vector<uint8_t> a = {1, 2, 3};
  const std::vector<Argument> inputs = {a};
  Outputs slots(1);
  slots[0].reserve(8);
  const device::TelemetrySnapshot before = device.telemetry();
  ASSERT_TRUE(echo.dispatch_into({.inputs = inputs}, slots));
  const device::TelemetrySnapshot now = device.telemetry() - before;
  device::TelemetrySnapshot expected;
  expected.dispatches = 1;
  expected.launches = 1;
  expected.launches_whole = 1;
  expected.input_bytes = 3;
  expected.output_bytes = 3;
  expected.output_slots = 1;
  expected.output_slots_reused = 1;
  expected.output_bytes_incoming = 3;
  expected.output_bytes_copied = 3;
  expected.output_bytes_retained = slots[0].capacity();
  expected.metrics = now.metrics;  // of the backend
  EXPECT_EQ(now, expected) << device::to_json(now, "reference");
}

// D-OBS.1: splits are counted once per call.
TEST(Telemetry, SplitsSegmentsAndBarriers) {
  backend::ReferenceOptions options;
  options.whole_programs = options.grid_barrier = false;
  const Device device = reference(options);
  const Pipeline pipeline = compile(device, R"(program three {
    workgroup 1;
    over 1;
    inout a : u32[];
    a[0] = 1;
    barrier grid;
    a[0] = a[0] + 1;
    barrier grid;
    a[0] = a[0] * 2;
  })");
  const auto before = device.telemetry();
  ASSERT_TRUE(pipeline.dispatch({std::vector<uint32_t>{0}}));
  const auto now = device.telemetry() - before;
  EXPECT_EQ(now.dispatches, 1U);
  EXPECT_EQ(now.launches, 3U);
  EXPECT_EQ(now.launches_resident, 3U);
  EXPECT_EQ(now.grid_sync_splits, 1U);
  EXPECT_EQ(now.grid_sync_segments, 3U);
  EXPECT_EQ(now.grid_sync_points, 2U);
}

// D-OBS.1: traps and accesses out of bounds.
TEST(Telemetry, WhatStopsAProgramIsCounted) {
  const Device device = reference();
  const std::vector<uint32_t> zero = {0};
  EXPECT_FALSE(compile(device, "program t { workgroup 1; inout a : u32[]; trap(7, a[0]); }")
                   .dispatch({zero}));
  EXPECT_FALSE(compile(device, "program b { workgroup 1; inout a : u32[]; a[gid.x + 5] = 1; }")
                   .dispatch({zero}, {.checked = true}));
  EXPECT_EQ(device.telemetry().traps, 1U);
  EXPECT_EQ(device.telemetry().out_of_bounds, 1U);
  EXPECT_EQ(device.telemetry().cache_misses, 3U) << "checked code is other code";
}

// D-OBS.2: what a trace of a dispatch holds.
TEST(Telemetry, ATraceHasEveryStage) {
  Trace trace;
  backend::ReferenceOptions options;
  options.whole_programs = options.grid_barrier = false;
  const TemporaryFolder folder;
  const Device device = Device::over(*backend::open_reference(options),
                                     {.cache_directory = folder.path(), .trace = &trace});
  const auto compiled = device.compile(program(kTwoSegments));
  ASSERT_TRUE(compiled);
  ASSERT_TRUE(compiled->pipeline.dispatch({std::vector<uint32_t>{0}}));
  const std::string json = trace.write_json();
  for (const char* category :
       {"check", "plan", "compile", "cache", "dispatch", "upload", "launch", "readback"})
    EXPECT_THAT(json, HasSubstr(fmt::format("\"cat\":\"{}\"", category)));
  EXPECT_THAT(json, HasSubstr("two, segment 1"));
  EXPECT_THAT(json, HasSubstr("second")) << "the region of a segment";
}

// A (capabilities): whatever a backend says reaches the user as it is.
TEST(Telemetry, CapabilitiesPassThroughEveryWrapper) {
  backend::NullOptions options;
  const device::BackendInfo said = options.info;
  Fake fake(options);
  EXPECT_EQ(fake.device.info().capabilities, said.capabilities);
  EXPECT_EQ(fake.device.info().profile, said.profile);
#define VYRE_DIFFERS(type, name, initial)                                          \
  {                                                                                \
    backend::NullOptions changed;                                                  \
    changed.info.capabilities.name = device::Capabilities{}.name;                  \
    const Fake other(changed);                                                     \
    EXPECT_EQ(other.device.info().capabilities.name, device::Capabilities{}.name); \
  }
  VYRE_CAPABILITY_FIELDS(VYRE_DIFFERS)
#undef VYRE_DIFFERS
}

}  // namespace
}  // namespace vyre::run
