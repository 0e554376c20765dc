// SPDX-License-Identifier: Apache-2.0
// Every field of Capabilities and of DeviceProfile changes a dispatch: what it does, its code or
// its report. A row changes one field of a device and compares both; a field without a row does not
// compile.
#include <array>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "driver/observe.hpp"
#include "vyre/backend/reference.hpp"
#include "vyre/device/registry.hpp"

namespace vyre::driver_test {
namespace {

using backend::NullCall;
using backend::NullLaunch;
using device::BackendInfo;
using device::Capabilities;
using device::DeviceProfile;
using run::Argument;
using testing::HasSubstr;

// ---- what is compared

BackendInfo able() {
  BackendInfo info = backend::null_info();
  info.capabilities.speculation = info.capabilities.persistent_threads = true;
  return info;
}

std::string on(const BackendInfo& info, const Shot& shot) {
  return observe(backend::NullOptions{.info = info}, shot);
}

// A statement over four words.
template <const char* statement>
std::string word(const BackendInfo& info) {
  static const std::string kText = fmt::format(
      "program p {{ workgroup 4; over 1; inout a : u32[4]; let i = gid.x; {} }}", statement);
  return on(info, {.text = kText, .inputs = {{1, 2, 3, 4}}});
}
// Over four f32.
template <const char* statement>
std::string real(const BackendInfo& info) {
  static const std::string kText = fmt::format(
      "program p {{ workgroup 4; over 1; inout a : f32[4]; let i = gid.x; {} }}", statement);
  return on(info, {.text = kText, .inputs = {{1, 2, 3, 4}}});
}
// A buffer of this type, copied.
template <const char* type>
std::string copied(const BackendInfo& info) {
  static const std::string kText = fmt::format(
      "program p {{ workgroup 1; over 1; in a : {0}[8]; out o : {0}[8]; "
      "for i in 0 .. 8 {{ o[i] = a[i]; }} }}",
      type);
  const size_t words = kText.find("64") != std::string::npos   ? 16
                       : kText.find("16") != std::string::npos ? 4
                                                               : 2;
  return on(info, {.text = kText, .inputs = {Words(words, 0)}});
}

constexpr std::string_view kBarrier = R"(program p {
  workgroup 64;
  inout a : u32[];
  let x = a[gid.x];
  a[gid.x] += a[0];
  barrier grid;
  a[gid.x] += a[0] + x;
})";
constexpr std::string_view kFixpoint = R"(program p {
  workgroup 1;
  over 1;
  inout a : u32[1];
  fixpoint max 4 over (a) { atomic_max(a[0], 1); }
})";
constexpr std::string_view kOne =
    "program p { workgroup 4; over 1; inout a : u32[4]; a[gid.x] = 1; }";

std::string with_barrier(const BackendInfo& info) {
  return on(info, {.text = kBarrier, .inputs = {Words(128, 1)}, .config = {.grid = {{2, 1, 1}}}});
}
std::string forced(const BackendInfo& info, const run::DispatchConfig& config) {
  return on(info, {.text = kOne, .inputs = {{1, 2, 3, 4}}, .config = config});
}

// The choice between the device and one that is registered as better, but can do nothing.
std::string choice(const BackendInfo& info) {
  const auto row = [](std::string id, uint32_t rank, const BackendInfo& what) {
    return device::BackendDescriptor{
        .id = id,
        .kind = device::Kind::Gpu,
        .rank = rank,
        .dispatches = true,
        .enumerate =
            [=] {
              return std::vector<device::DeviceFacts>{
                  {.id = id, .capabilities = what.capabilities, .profile = what.profile}};
            },
        .open = [=](uint32_t) -> Result<std::shared_ptr<device::Backend>> {
          return backend::open_null({.info = what});
        },
        .site = __FILE__};
  };
  const auto registry = device::Registry::make({row("changed", 2, info), row("plain", 1, able())});
  EXPECT_TRUE(registry);
  device::Selection selection;
  EXPECT_TRUE(registry->acquire_preferred({}, &selection));
  return to_string(selection);
}

// Who finishes work: the thread that waits for it, as far as one tries.
std::string finished_by(const BackendInfo& info) {
  std::thread::id ran_on;
  backend::NullOptions options{.info = info};
  options.on_launch = [&](const NullLaunch&) -> Result<void> {
    ran_on = std::this_thread::get_id();
    return {};
  };
  const auto device = run::Device::over(backend::open_null(options), {.cache_directory = {}});
  const auto compiled = device.compile(program_of(kOne));
  const Words words = {1, 2, 3, 4};
  const std::vector<Argument> inputs = {words};
  const int most = info.capabilities.async_compute ? 1000 : 20;
  for (int i = 0; i < most; ++i) {
    auto pending = compiled->pipeline.dispatch_async({.inputs = inputs});
    EXPECT_TRUE(pending && pending->wait());
    if (ran_on == std::this_thread::get_id()) return "the thread that waits";
  }
  return "a thread of the queue";
}

std::string count_of(NullCall::Kind kind, const BackendInfo& info, const Shot& shot,
                     uint64_t resident = ~uint64_t{0}) {
  const auto backend = backend::open_null({.info = info, .resident_groups = resident});
  const auto device = run::Device::over(backend, {.cache_directory = {}});
  const std::string seen = observe(device, shot);
  return fmt::format("{} calls; {}", calls_of(*backend, kind), seen);
}

// Submissions of a fixpoint between buffers.
std::string submissions(const BackendInfo& info) {
  BackendInfo split = info;
  split.capabilities.cooperative_grid_barrier = false;
  const auto device =
      run::Device::over(backend::open_null({.info = split}), {.cache_directory = {}});
  const auto compiled = device.compile(program_of(kFixpoint));
  const auto buffer = device.allocate(4);
  const std::array<Argument, 1> inputs = {*buffer};
  const std::array<run::SequenceItem, 1> items = {
      {{.pipeline = compiled->pipeline, .arguments = {.inputs = inputs}}}};
  const auto report = device.run_sequence(items, 1);
  return report ? fmt::format("{} submissions", report->submissions) : to_string(report.error());
}

// Grids that are in a buffer.
std::string grid_reads(const BackendInfo& info) {
  const auto backend = backend::open_null({.info = info});
  const auto device = run::Device::over(backend, {.cache_directory = {}});
  const auto grid = device.upload(bytes_of(Words{1, 1, 1}));
  const auto compiled =
      device.compile(program_of("program p { workgroup 4; inout a : u32[4]; a[gid.x] = 1; }"),
                     {.grid_from = run::GridFrom{.buffer = &*grid}});
  const Words words = {1, 2, 3, 4};
  backend->clear_record();
  EXPECT_TRUE(compiled->pipeline.dispatch({words}));
  size_t reads = 0;
  for (const NullCall& call : backend->record())
    if (call.kind == NullCall::Kind::Read && call.bytes == 12) ++reads;
  return fmt::format("{} grids read back", reads);
}

std::string subgroups(const BackendInfo& info) {
  auto backend = backend::open_reference({.subgroup_size = info.capabilities.subgroup_size});
  return observe(run::Device::over(*backend, {.cache_directory = {}}),
                 {.text = "program p { workgroup 4; over 1; out o : u32[4]; "
                          "o[gid.x] = subgroup_size; }"});
}

std::string allocated(const BackendInfo& info) {
  const auto device =
      run::Device::over(backend::open_null({.info = info}), {.cache_directory = {}});
  const auto buffer = device.allocate(1024);
  return buffer ? "allocated" : to_string(buffer.error());
}

// ---- Capabilities

constexpr char kSum[] = "a[i] = subgroup_add(a[i]);";
constexpr char kShuffle[] = "a[i] = subgroup_shuffle(a[i], 0);";
constexpr char kMulHi[] = "a[i] = mul_hi(a[i], 3);";
constexpr char kTrap[] = "trap(1, a[i]);";
constexpr char kAdd[] = "a[i] = a[i] + 1.0;";
constexpr char kUpdate[] = "a[i] *= 2.0;";
constexpr char kFma[] = "a[i] = fma(a[i], 2.0, 1.0);";
constexpr char kDivision[] = "a[i] = a[i] / 3.0;";
constexpr char kSqrt[] = "a[i] = sqrt(a[i]);";
constexpr char kConversion[] = "a[i] = i as f32;";
constexpr char kF16[] = "f16";
constexpr char kBf16[] = "bf16";
constexpr char kU8[] = "u8";
constexpr char kU16[] = "u16";
constexpr char kU64[] = "u64";
constexpr char kF64[] = "f64";

struct CapabilityRow {
  const char* name;
  void (*change)(Capabilities&);
  std::string (*query)(const BackendInfo&);
  const char* shows;  // of the changed device, so that it changes for this reason
};

constexpr CapabilityRow kCapabilities[] = {
    {"subgroup_ops", [](auto& c) { c.subgroup_ops = false; }, word<kSum>, "(subgroup_ops)"},
    {"subgroup_shuffle", [](auto& c) { c.subgroup_shuffle = false; }, word<kShuffle>,
     "(subgroup_shuffle)"},
    {"f16_storage", [](auto& c) { c.f16_storage = false; }, copied<kF16>, "(f16_storage)"},
    {"bf16_storage", [](auto& c) { c.bf16_storage = false; }, copied<kBf16>, "(bf16_storage)"},
    {"storage_8bit", [](auto& c) { c.storage_8bit = false; }, copied<kU8>, "(storage_8bit)"},
    {"storage_16bit", [](auto& c) { c.storage_16bit = false; }, copied<kU16>, "(storage_16bit)"},
    {"i64", [](auto& c) { c.i64 = false; }, copied<kU64>, "(i64)"},
    {"f64", [](auto& c) { c.f64 = false; }, copied<kF64>, "the program needs f64"},
    {"i64_atomics", [](auto& c) { c.i64_atomics = false; },
     [](const BackendInfo& info) {
       return on(info, {.text = "program p { workgroup 1; over 1; inout a : u64[1]; "
                                "atomic_add(a[0], 1); }",
                        .inputs = {{1, 0}}});
     },
     "(i64_atomics)"},
    {"f32_atomic_add", [](auto& c) { c.f32_atomic_add = false; },
     [](const BackendInfo& info) {
       return on(info, {.text = "program p { workgroup 1; over 1; inout a : f32[1]; "
                                "atomic_add(a[0], 1.0); }",
                        .inputs = {{1}}});
     },
     "(f32_atomic_add)"},
    {"tensor_cores", [](auto& c) { c.tensor_cores = true; }, choice, "chosen: changed"},
    {"async_compute", [](auto& c) { c.async_compute = true; }, finished_by, "that waits"},
    {"indirect", [](auto& c) { c.indirect = false; }, grid_reads, "1 grids read back"},
    {"speculation", [](auto& c) { c.speculation = false; },
     [](const BackendInfo& info) { return forced(info, {.speculation = run::Choice::Force}); },
     "speculation is forced"},
    {"persistent_threads", [](auto& c) { c.persistent_threads = false; },
     [](const BackendInfo& info) {
       return forced(info, {.persistent_thread = run::Choice::Force});
     },
     "persistent_thread is forced"},
    {"cooperative_grid_barrier", [](auto& c) { c.cooperative_grid_barrier = false; }, with_barrier,
     "route resident"},
    {"device_loops", [](auto& c) { c.device_loops = false; }, submissions, "2 submissions"},
    {"whole_programs", [](auto& c) { c.whole_programs = true; }, with_barrier, "route native"},
    {"resident_buffers", [](auto& c) { c.resident_buffers = false; },
     [](const BackendInfo& info) {
       BackendInfo split = info;
       split.capabilities.cooperative_grid_barrier = false;
       return with_barrier(split);
     },
     "route host"},
    {"host_split", [](auto& c) { c.host_split = false; },
     [](const BackendInfo& info) {
       BackendInfo split = info;
       split.capabilities.cooperative_grid_barrier = false;
       return with_barrier(split);
     },
     "does not allow to split the program"},
    {"trap_propagation", [](auto& c) { c.trap_propagation = false; }, word<kTrap>,
     "(trap_propagation)"},
    {"mul_hi", [](auto& c) { c.mul_hi = false; }, word<kMulHi>, "(mul_hi)"},
    {"strict_f32", [](auto& c) { c.strict_f32 = false; }, real<kAdd>, "(strict_f32)"},
    {"f32_subnormals", [](auto& c) { c.f32_subnormals = false; }, real<kUpdate>,
     "(f32_subnormals)"},
    {"exact_fma", [](auto& c) { c.exact_fma = false; }, real<kFma>, "(exact_fma)"},
    {"exact_division", [](auto& c) { c.exact_division = false; }, real<kDivision>,
     "(exact_division)"},
    {"exact_sqrt", [](auto& c) { c.exact_sqrt = false; }, real<kSqrt>, "(exact_sqrt)"},
    {"exact_conversions", [](auto& c) { c.exact_conversions = false; }, real<kConversion>,
     "(exact_conversions)"},
    {"max_workgroup_size", [](auto& c) { c.max_workgroup_size[0] = 3; }, word<kMulHi>,
     "axis x of the workgroup"},
    {"max_invocations_per_workgroup", [](auto& c) { c.max_invocations_per_workgroup = 3; },
     word<kMulHi>, "the number of lanes of a workgroup"},
    {"max_workgroups", [](auto& c) { c.max_workgroups[0] = 1; }, with_barrier,
     "axis x of the grid"},
    {"shared_bytes", [](auto& c) { c.shared_bytes = 15; },
     [](const BackendInfo& info) {
       return on(info, {.text = "program p { workgroup 4; over 1; inout a : u32[4]; "
                                "shared s : u32[4]; s[lid.x] = 1; a[gid.x] = s[lid.x]; }",
                        .inputs = {{1, 2, 3, 4}}});
     },
     "the shared memory of a workgroup"},
    {"storage_buffer_bytes", [](auto& c) { c.storage_buffer_bytes = 512; }, allocated,
     "is larger than device"},
    {"max_bindings", [](auto& c) { c.max_bindings = 0; }, word<kMulHi>, "the number of buffers"},
    {"subgroup_size", [](auto& c) { c.subgroup_size = 8; }, subgroups, "08 00 00 00"},
    {"formats", [](auto& c) { c.formats = {device::Format::Spirv}; }, word<kMulHi>, "spirv"},
};

// ---- DeviceProfile

// One workgroup of 64 lanes after the other goes to few blocks, with state across the barrier.
std::string shared_out(const BackendInfo& info) {
  return observe(backend::NullOptions{.info = info, .resident_groups = 2},
                 {.text = kBarrier, .inputs = {Words(4096, 1)}, .config = {.grid = {{64, 1, 1}}}});
}

// What the second dispatch of a program without grid barriers tries.
std::string trial(const BackendInfo& info) {
  const auto device =
      run::Device::over(backend::open_null({.info = info}), {.cache_directory = {}});
  const auto compiled = device.compile(program_of("program p { workgroup 4; inout a : u32[]; "
                                                  "a[gid.x] += 1; }"),
                                       {.tune = run::Tune::On});
  if (!compiled) return to_string(compiled.error());
  std::string text;
  for (int i = 0; i < 2; ++i) {
    const auto result = compiled->pipeline.dispatch({Words(64, 1)});
    text = result ? result->report.trial : to_string(result.error());
  }
  return text;
}

struct ProfileRow {
  const char* name;
  void (*change)(DeviceProfile&);
  std::string (*query)(const BackendInfo&);
  const char* shows;
};

constexpr ProfileRow kProfiles[] = {
    {"name", [](auto& p) { p.name = "another"; }, choice, "`another`"},
    {"compute_units", [](auto& p) { p.compute_units = 32; }, shared_out, "workgroups_per_block 2"},
    {"registers_per_compute_unit", [](auto& p) { p.registers_per_compute_unit = 1 << 17; },
     shared_out, "unrolled 2"},
    {"lanes_per_compute_unit", [](auto& p) { p.lanes_per_compute_unit = 128; },
     [](const BackendInfo& info) {
       return count_of(
           NullCall::Kind::Load, info,
           {.text = kBarrier, .inputs = {Words(4096, 1)}, .config = {.grid = {{64, 1, 1}}}}, 2);
     },
     "1 calls"},
    {"barrier_blocks_per_compute_unit", [](auto& p) { p.barrier_blocks_per_compute_unit = 2; },
     [](const BackendInfo& info) {
       return on(info, {.text = "program p { workgroup 64; inout a : u32[]; "
                                "for i in 0 .. 3 { a[gid.x] += a[0]; barrier grid; } }",
                        .inputs = {Words(4096, 1)},
                        .config = {.grid = {{64, 1, 1}}}});
     },
     "route persistent"},
    {"memory_bandwidth_bytes_per_second",
     [](auto& p) { p.memory_bandwidth_bytes_per_second = 1'000; }, choice, "chosen: changed"},
    {"timing_quality", [](auto& p) { p.timing_quality = device::TimingQuality::HostEnqueueWait; },
     choice, "chosen: changed"},
    {"preferred_unroll", [](auto& p) { p.preferred_unroll = 2; }, shared_out, "interleave 2"},
    {"code_lanes", [](auto& p) { p.code_lanes = 1 + 2; }, trial, "trial 1 of"},
};

// ---- the walk

template <class Rows, size_t N>
consteval bool is_complete(const Rows& rows, const std::array<std::string_view, N>& fields) {
  if (std::size(rows) != N) return false;
  for (size_t i = 0; i < N; ++i)
    if (rows[i].name != fields[i]) return false;
  return true;
}
#define VYRE_NAME(type, name, initial) std::string_view(#name),
static_assert(is_complete(kCapabilities, std::array{VYRE_CAPABILITY_FIELDS(VYRE_NAME)}));
static_assert(is_complete(kProfiles, std::array{VYRE_DEVICE_PROFILE_FIELDS(VYRE_NAME)}));
#undef VYRE_NAME

TEST(CapabilityFields, EachChangesADispatch) {
  for (const CapabilityRow& row : kCapabilities) {
    SCOPED_TRACE(row.name);
    const BackendInfo before = able();
    BackendInfo after = before;
    row.change(after.capabilities);
    EXPECT_NE(after.capabilities, before.capabilities);
    const std::string changed = row.query(after);
    EXPECT_NE(changed, row.query(before));
    EXPECT_THAT(changed, HasSubstr(row.shows));
  }
}

// Exactness in all its places: operators, updates, functions, atomics, subgroups, conversions, and
// stores that round.
TEST(CapabilityFields, ExactnessIsNeededWhereverThereIsArithmetic) {
  const auto refusal = [](void (*change)(Capabilities&), std::string_view body,
                          std::string_view declared = "inout a : f32[4];") {
    const std::string text =
        fmt::format("program p {{ workgroup 4; over 1; {} let i = gid.x; {} }}", declared, body);
    BackendInfo info = able();
    change(info.capabilities);
    const auto device =
        run::Device::over(backend::open_null({.info = info}), {.cache_directory = {}});
    const auto compiled = device.compile(program_of(text));
    return compiled ? std::string("compiled") : compiled.error().message;
  };
  const auto strict = [](Capabilities& c) { c.strict_f32 = false; };
  for (const char* body :
       {"a[i] = a[i] - 1.0;", "a[i] += 1.0;", "var x = a[i]; x *= x; a[i] = x;",
        "a[i] = exp(a[i]);", "a[i] = sqrt(a[i]);", "a[i] = fma(a[i], a[i], a[i]);",
        "atomic_add(a[0], 1.0);", "a[i] = subgroup_add(a[i]);", "if a[i] < 1.0 { a[i] = 2.0; }"})
    EXPECT_THAT(refusal(strict, body), HasSubstr("(strict_f32)")) << body;
  for (const char* body : {"a[i] = a[3 - i];", "a[i] = 2.0;", "a[i] = bitcast<f32>(i);"})
    EXPECT_EQ(refusal(strict, body), "compiled") << body;
  const auto fma = [](Capabilities& c) { c.exact_fma = false; };
  EXPECT_THAT(refusal(fma, "a[i] = sin(a[i]);"), HasSubstr("(exact_fma)"));
  EXPECT_EQ(refusal(fma, "a[i] = a[i] * 2.0 + 1.0;"), "compiled") << "nothing is contracted";
  const auto division = [](Capabilities& c) { c.exact_division = false; };
  EXPECT_THAT(refusal(division, "a[i] /= 3.0;"), HasSubstr("(exact_division)"));
  EXPECT_EQ(refusal(division, "a[i] = a[i] / 3;", "inout a : u32[4];"), "compiled");
  const auto conversion = [](Capabilities& c) { c.exact_conversions = false; };
  EXPECT_THAT(refusal(conversion, "a[i] = 1.5;", "inout a : f16[4];"),
              HasSubstr("(exact_conversions)"));
  EXPECT_EQ(refusal(conversion, "o[i] = a[i];", "in a : f16[4]; out o : f32[4];"), "compiled");
}

TEST(ProfileFields, EachChangesADispatch) {
  for (const ProfileRow& row : kProfiles) {
    SCOPED_TRACE(row.name);
    BackendInfo before = able();
    before.profile.compute_units = 1;
    BackendInfo after = before;
    row.change(after.profile);
    EXPECT_NE(after.profile, before.profile);
    const std::string changed = row.query(after);
    EXPECT_NE(changed, row.query(before));
    EXPECT_THAT(changed, HasSubstr(row.shows));
  }
}

}  // namespace
}  // namespace vyre::driver_test
