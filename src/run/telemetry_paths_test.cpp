// SPDX-License-Identifier: Apache-2.0
// D-OBS.4: every counter moves in a dispatch, on every path that can move it, by exactly so much.
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>

#include <unistd.h>

#include "base/errors.hpp"
#include "pipeline/cache_test.hpp"
#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using backend::NullCall;
using device::TelemetryField;
using device::TelemetrySnapshot;
using enum TelemetryField;

// A batch has two items, a sequence one item that is repeated once.
enum class Path : uint8_t { Blocking, Into, AsyncWait, Batch, Sequence, Resident, Prewarm };
constexpr size_t kPaths = 7;
constexpr std::array<const char*, kPaths> kPathNames = {
    "dispatch", "dispatch_into", "dispatch_async + wait_into", "dispatch_batch", "run_sequence",
    "resident", "prewarm"};

// ---- scenarios

constexpr std::string_view kCopy = R"(program copied {
  workgroup 4;
  over 1;
  in a : u32[4];
  out o : u32[4];
  o[gid.x] = a[gid.x];
})";
constexpr std::string_view kBarrier = R"(program barrier_inside {
  workgroup 4;
  over 1;
  inout a : u32[32];
  a[gid.x] = a[gid.x] + 1;
  barrier grid;
  a[gid.x] = a[gid.x] + a[0];
})";
constexpr std::string_view kTrap = R"(program traps {
  workgroup 1;
  over 1;
  inout a : u32[1];
  a[0] = 3;
  barrier grid;
  trap(7, a[0]);
})";
constexpr std::string_view kOutside = R"(program outside {
  workgroup 1;
  over 1;
  inout a : u32[1];
  a[gid.x + 5] = 1;
})";

enum class On : uint8_t {
  Null,
  Split,           // without a grid barrier of its own
  AtHost,          // which keeps no buffers either
  Few,             // two workgroups at once
  Clean,           // memory is cleared
  SplitReference,  // which runs kernels
};

// What happens before the path is taken.
enum class Before : uint8_t {
  Nothing,
  Known,       // the code is in memory
  Damaged,     // it is on disk, but not as it was written
  Unreadable,  // the disk does not answer
  Lost,        // the device will be
  Tried,       // a dispatch has found out what there is to tune
  Tuned,       // another device has tuned, and kept a record on disk
};

struct Scenario {
  std::string_view text;
  uint32_t input_words = 4;
  bool has_output = false;  // besides the input
  On on = On::Null;
  DispatchConfig over{};  // of the call
  Before before = Before::Nothing;
  std::optional<size_t> slot_bytes{};  // capacity of the caller's slot; nothing: there is none
  bool fails = false;
};

const Scenario& plain() {
  static const Scenario kOne{.text = kCopy, .has_output = true};
  return kOne;
}
const Scenario& with_slot() {
  static const Scenario kOne{.text = kCopy, .has_output = true, .slot_bytes = 32};
  return kOne;
}
const Scenario& with_small_slot() {
  static const Scenario kOne{.text = kCopy, .has_output = true, .slot_bytes = 4};
  return kOne;
}
const Scenario& native() {
  static const Scenario kOne{.text = kBarrier, .input_words = 32};
  return kOne;
}
const Scenario& split() {
  static const Scenario kOne{.text = kBarrier, .input_words = 32, .on = On::Split};
  return kOne;
}
const Scenario& at_host() {
  static const Scenario kOne{.text = kBarrier, .input_words = 32, .on = On::AtHost};
  return kOne;
}
const Scenario& persistent() {
  static const Scenario kOne{
      .text = kBarrier,
      .input_words = 32,
      .on = On::Few,
      .over = {.workgroup = check::Axes{8, 1, 1}, .grid = check::Axes{4, 1, 1}}};
  return kOne;
}
const Scenario& repeated() {
  static const Scenario kOne{
      .text = kBarrier, .input_words = 32, .over = {.fixpoint_iterations = 3}};
  return kOne;
}
template <Before before>
const Scenario& other_code() {
  static const Scenario kOne{
      .text = kCopy, .has_output = true, .over = {.checked = true}, .before = before};
  return kOne;
}
const Scenario& lost() {
  static const Scenario kOne{.text = kCopy,
                             .has_output = true,
                             .over = {.checked = true},
                             .before = Before::Lost,
                             .fails = true};
  return kOne;
}
const Scenario& traps() {
  static const Scenario kOne{
      .text = kTrap, .input_words = 1, .on = On::SplitReference, .fails = true};
  return kOne;
}
const Scenario& out_of_bounds() {
  static const Scenario kOne{.text = kOutside,
                             .input_words = 1,
                             .on = On::SplitReference,
                             .over = {.checked = true},
                             .fails = true};
  return kOne;
}
const Scenario& clean() {
  static const Scenario kOne{.text = kCopy, .has_output = true, .on = On::Clean};
  return kOne;
}

template <Tune how, Before before>
const Scenario& tuning() {
  static const Scenario kOne{
      .text = kBarrier,
      .input_words = 32,
      .on = On::Few,
      .over = {.workgroup = check::Axes{8, 1, 1}, .grid = check::Axes{8, 1, 1}, .tune = how},
      .before = before};
  return kOne;
}

// ---- the table

struct Cell {
  uint64_t value = 0;
  bool at_least = false;
  const char* why_not = nullptr;  // the path cannot move it
  constexpr Cell(int exactly)     // NOLINT(google-explicit-constructor)
      : value(static_cast<uint64_t>(exactly)) {}
  constexpr Cell(const char* reason) : why_not(reason) {}  // NOLINT(google-explicit-constructor)
  constexpr Cell(uint64_t least, bool) : value(least), at_least(true) {}
};
constexpr Cell kSome = {1, true};

constexpr const char* kRunsNothing = "it runs nothing";
constexpr const char* kInBuffers = "all data stays on the device";
constexpr const char* kNoSlots = "dispatch() begins without slots";
constexpr const char* kNeedsBuffers = "the device keeps no buffers";
constexpr const char* kByRecover = "recover() alone counts it";
constexpr const char* kReadsOnly = "it only reads what was tuned";
constexpr const char* kTakesMany = "a search takes more dispatches than a call";
constexpr const char* kOwnMemory = "it needs no memory but the caller's buffers";

struct Row {
  TelemetryField field;
  const Scenario& (*scenario)();
  std::array<Cell, kPaths> cells;
};

// clang-format off
constexpr Row kRows[] = {
  //                                          dispatch  into   async  batch  sequence       resident       prewarm
  {Dispatches,          plain,                {1,        1,     1,     2,     2,             1,             kRunsNothing}},
  {Launches,            plain,                {1,        1,     1,     2,     2,             1,             kRunsNothing}},
  {InputBytes,          plain,                {16,       16,    16,    32,    kInBuffers,    kInBuffers,    kRunsNothing}},
  {OutputBytes,         plain,                {16,       16,    16,    32,    kInBuffers,    kInBuffers,    kRunsNothing}},
  {OutputSlots,         plain,                {1,        1,     1,     2,     kInBuffers,    kInBuffers,    kRunsNothing}},
  {OutputSlotsReused,   with_slot,            {kNoSlots, 1,     1,     2,     kInBuffers,    kInBuffers,    kRunsNothing}},
  {OutputSlotsMoved,    with_small_slot,      {kNoSlots, 1,     1,     2,     kInBuffers,    kInBuffers,    kRunsNothing}},
  {OutputSlotsAppended, plain,                {1,        1,     1,     2,     kInBuffers,    kInBuffers,    kRunsNothing}},
  {OutputBytesIncoming, plain,                {16,       16,    16,    32,    kInBuffers,    kInBuffers,    kRunsNothing}},
  {OutputBytesCopied,   with_slot,            {kNoSlots, 16,    16,    32,    kInBuffers,    kInBuffers,    kRunsNothing}},
  {OutputBytesMoved,    with_small_slot,      {kNoSlots, 16,    16,    32,    kInBuffers,    kInBuffers,    kRunsNothing}},
  {OutputBytesAppended, plain,                {16,       16,    16,    32,    kInBuffers,    kInBuffers,    kRunsNothing}},
  {OutputBytesRetained, with_slot,            {16,       32,    32,    32,    kInBuffers,    kInBuffers,    kRunsNothing}},
  {GridSyncSplits,      split,                {1,        1,     1,     2,     2,             1,             kRunsNothing}},
  {GridSyncSegments,    split,                {2,        2,     2,     4,     4,             2,             kRunsNothing}},
  {GridSyncPoints,      split,                {1,        1,     1,     2,     2,             1,             kRunsNothing}},
  {LaunchesNative,      native,               {1,        1,     1,     2,     2,             1,             kRunsNothing}},
  {LaunchesPersistent,  persistent,           {1,        1,     1,     2,     2,             1,             kRunsNothing}},
  {LaunchesResident,    split,                {2,        2,     2,     4,     4,             2,             kRunsNothing}},
  {LaunchesHost,        at_host,              {2,        2,     2,     4,     kNeedsBuffers, kNeedsBuffers, kRunsNothing}},
  {LaunchesWhole,       plain,                {1,        1,     1,     2,     2,             1,             kRunsNothing}},
  {FixpointPasses,      repeated,             {1,        1,     1,     2,     2,             1,             kRunsNothing}},
  {FixpointEarlyExits,  repeated,             {1,        1,     1,     2,     2,             1,             kRunsNothing}},
  {CacheHits,           other_code<Before::Known>,      {1, 1,  1,     1,     1,             1,             1}},
  {CacheMisses,         other_code<Before::Nothing>,    {1, 1,  1,     1,     1,             1,             1}},
  {CacheUnknown,        other_code<Before::Unreadable>, {1, 1,  1,     1,     1,             1,             1}},
  {CacheCorrupt,        other_code<Before::Damaged>,    {1, 1,  1,     1,     1,             1,             1}},
  {CompileNs,           other_code<Before::Nothing>, {kSome, kSome, kSome, kSome, kSome,     kSome,         kSome}},
  {Planned,             other_code<Before::Nothing>,    {1, 1,  1,     1,     1,             1,             1}},
  {Generated,           other_code<Before::Nothing>,    {1, 1,  1,     1,     1,             1,             1}},
  {StrategiesRevised,   persistent,           {1,        1,     1,     1,     1,             1,             1}},
  {TuningTrials,        tuning<Tune::On, Before::Tried>,   {1, 1, kReadsOnly, 2, kReadsOnly, 1,            kRunsNothing}},
  {TuningAdopted,       tuning<Tune::On, Before::Tried>,   {kTakesMany, kTakesMany, kTakesMany, kTakesMany, kTakesMany, kTakesMany, kTakesMany}},
  {TuningRecordsRead,   tuning<Tune::Read, Before::Tuned>, {1, 1, 1,        1,     1,             1,             kRunsNothing}},
  {DeviceLost,          lost,                 {1,        1,     1,     1,     1,             1,             1}},
  {Recoveries,          lost,                 {kByRecover, kByRecover, kByRecover, kByRecover, kByRecover, kByRecover, kByRecover}},
  {Traps,               traps,                {1,        1,     1,     1,     1,             1,             kRunsNothing}},
  {OutOfBounds,         out_of_bounds,        {1,        1,     1,     1,     1,             1,             kRunsNothing}},
  {ClearedBytes,        clean,                {kSome,    kSome, kSome, kSome, kOwnMemory,    kOwnMemory,    kRunsNothing}},
};
// clang-format on

// A new field needs its row, in its place.
consteval bool is_complete() {
  if (std::size(kRows) != device::kTelemetryFieldCount) return false;
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].field != static_cast<TelemetryField>(i)) return false;
  return true;
}
static_assert(is_complete());

constexpr std::array<const char*, device::kTelemetryFieldCount> kFieldNames = {
#define VYRE_FIELD(enumerator, name, kind, help) #name,
    VYRE_TELEMETRY_FIELDS(VYRE_FIELD)
#undef VYRE_FIELD
};
constexpr std::array<uint64_t TelemetrySnapshot::*, device::kTelemetryFieldCount> kFieldValues = {
#define VYRE_FIELD(enumerator, name, kind, help) &TelemetrySnapshot::name,
    VYRE_TELEMETRY_FIELDS(VYRE_FIELD)
#undef VYRE_FIELD
};

// ---- taking a path

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "vyre_paths_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void damage() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (!entry.is_regular_file() || entry.file_size() < 200) continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-5, std::ios::end);
      file.put('\x55');
    }
  }

 private:
  std::filesystem::path path_;
};

backend::NullOptions null_options(On on) {
  backend::NullOptions options =
      on == On::Split || on == On::AtHost ? split_options() : backend::NullOptions();
  if (on == On::AtHost) options.info.capabilities.resident_buffers = false;
  if (on == On::Few) options.resident_groups = 2;
  if (on == On::Clean) options.fresh_fill.reset();
  return options;
}

// One row on one path: a device of its own, with the program compiled for the config without
// `over`.
class PathRun {
 public:
  PathRun(const Scenario& scenario, Path path)
      : s_(scenario), path_(path), input_(s_.input_words, 1) {
    const bool broken = s_.before == Before::Damaged || s_.before == Before::Unreadable;
    const bool disk = broken || s_.before == Before::Tuned;
    if (disk) open(true);
    if (broken) {
      expect_warm();
      folder_.damage();
    }
    if (s_.before == Before::Tuned) expect_tuned(500);
    open(disk);
    if (s_.before == Before::Known) expect_warm();
    pipeline_ = compile(device_, s_.text);
    if (s_.before == Before::Tried) try_once();
  }

  [[nodiscard]] bool is_possible() const {
    return device_.info().capabilities.resident_buffers ||
           (path_ != Path::Sequence && path_ != Path::Resident);
  }

  TelemetrySnapshot run() {
    upload();
    if (s_.before == Before::Lost)
      backend_->fail_calls_like(
          path_ == Path::Prewarm ? NullCall::Kind::Load : NullCall::Kind::Submit, 0,
          {.code = ErrorCode::DeviceLost,
           .message = "gone",
           .context = {},
           .at = {},
           .diagnostics = {}});
    std::optional<pipeline::test::FailAll> unreadable;
    if (s_.before == Before::Unreadable) unreadable.emplace(pipeline::files::Call::Open, EIO);
    const TelemetrySnapshot before = device_.telemetry();
    const Result<void> done = take();
    const bool fails = s_.fails && (path_ != Path::Prewarm || s_.before == Before::Lost);
    EXPECT_EQ(done.has_value(), !fails) << (done ? "" : to_string(done.error()));
    return device_.telemetry() - before;
  }

 private:
  void open(bool disk) {
    DeviceOptions options;
    options.cache_directory = disk ? folder_.path() : std::filesystem::path();
    if (s_.on == On::SplitReference) {
      device_ = Device::over(
          *backend::open_reference({.whole_programs = false, .grid_barrier = false}), options);
      return;
    }
    backend_ = backend::open_null(null_options(s_.on));
    device_ = Device::over(backend_, options);
  }
  void expect_warm() {
    const auto done = prewarm();
    EXPECT_TRUE(done) << to_string(done.error());
  }
  void try_once() {
    DispatchConfig on = s_.over;
    on.tune = Tune::On;
    EXPECT_TRUE(pipeline_.dispatch({input_}, on));
  }
  // Until a search is over, or after `most` dispatches.
  void expect_tuned(int most) {
    pipeline_ = compile(device_, s_.text);
    for (int i = 0; i < most; ++i) {
      try_once();
      if (const auto view = pipeline_.tuning(); view && view->record) return;
    }
    ADD_FAILURE() << "no search was over after " << most << " dispatches";
  }
  Result<void> prewarm() {
    auto checked = check::check_valid(program(s_.text));
    VYRE_TRY(device_.prewarm(std::make_shared<const check::CheckedProgram>(std::move(*checked)),
                             s_.over));
    return {};
  }
  void upload() {
    if (path_ != Path::Sequence && path_ != Path::Resident) return;
    buffers_.push_back(*device_.upload(bytes_of_words(input_)));
    if (s_.has_output) buffers_.push_back(*device_.allocate(input_.size() * 4));
  }
  Outputs slots() const {
    Outputs slots;
    if (s_.slot_bytes) slots.emplace_back().reserve(*s_.slot_bytes);
    return slots;
  }

  Result<void> take() {
    std::vector<Argument> inputs;
    if (buffers_.empty())
      inputs.emplace_back(input_);
    else
      inputs.emplace_back(buffers_.front());
    const std::array<const Buffer*, 1> outputs = {buffers_.empty() ? nullptr : &buffers_.back()};
    const Arguments arguments{.inputs = inputs, .outputs = outputs};
    Outputs slots = this->slots();
    switch (path_) {
      case Path::Blocking: VYRE_TRY(pipeline_.dispatch(arguments, s_.over)); break;
      case Path::Into:
      case Path::Resident: VYRE_TRY(pipeline_.dispatch_into(arguments, slots, s_.over)); break;
      case Path::AsyncWait: {
        VYRE_TRY_ASSIGN(auto pending, pipeline_.dispatch_async(arguments, s_.over));
        VYRE_TRY(pending.wait_into(slots));
        break;
      }
      case Path::Batch: {
        const std::array<Arguments, 2> items = {arguments, arguments};
        std::vector<Outputs> rows;
        rows.push_back(this->slots());
        rows.push_back(this->slots());
        VYRE_TRY(pipeline_.dispatch_batch(items, rows, s_.over));
        break;
      }
      case Path::Sequence: {
        const std::array<SequenceItem, 1> items = {
            {{.pipeline = pipeline_, .arguments = arguments, .config = s_.over}}};
        VYRE_TRY(device_.run_sequence(items, 2));
        break;
      }
      case Path::Prewarm: VYRE_TRY(prewarm()); break;
    }
    return {};
  }

  const Scenario& s_;
  Path path_;
  Folder folder_;
  std::vector<uint32_t> input_;
  std::shared_ptr<backend::NullBackend> backend_;
  Device device_;
  Pipeline pipeline_;
  std::vector<Buffer> buffers_;
};

class TelemetryPaths : public testing::TestWithParam<size_t> {};

TEST_P(TelemetryPaths, DObs4) {
  const Row& row = kRows[GetParam()];
  // tuner_test.cpp moves what takes many dispatches.
  bool moves = row.cells[0].why_not == kByRecover || row.cells[0].why_not == kTakesMany;
  for (size_t p = 0; p < kPaths; ++p) {
    SCOPED_TRACE(kPathNames[p]);
    const Cell& cell = row.cells[p];
    PathRun taken(row.scenario(), static_cast<Path>(p));
    ASSERT_TRUE(taken.is_possible() || cell.why_not == kNeedsBuffers);
    if (!taken.is_possible()) continue;
    const TelemetrySnapshot since = taken.run();
    const uint64_t value = since.*kFieldValues[GetParam()];
    if (cell.why_not != nullptr)
      EXPECT_EQ(value, 0U) << "although " << cell.why_not;
    else if (cell.at_least)
      EXPECT_GE(value, cell.value);
    else
      EXPECT_EQ(value, cell.value);
    moves = moves || cell.why_not == nullptr;
  }
  EXPECT_TRUE(moves) << "no path moves it";
}

INSTANTIATE_TEST_SUITE_P(EachField, TelemetryPaths,
                         testing::Range(size_t{0}, device::kTelemetryFieldCount),
                         [](const auto& info) { return kFieldNames[info.param]; });

// D-OBS.4: the one counter that no dispatch moves.
TEST(TelemetryOfPaths, RecoverCountsRecoveries) {
  Fake fake({});
  const auto before = fake.device.telemetry();
  ASSERT_TRUE(fake.device.recover());
  EXPECT_EQ((fake.device.telemetry() - before).recoveries, 1U);
}

// D-OBS.4: results that no call takes are in no slot, and taken ones are in the caller's.
TEST(TelemetryOfPaths, AnAsynchronousResultCountsWhenItIsTaken) {
  Fake fake({});
  const Pipeline copy = compile(fake.device, kCopy);
  const std::vector<uint32_t> input = {1, 2, 3, 4};
  const std::vector<Argument> inputs = {input};
  auto pending = copy.dispatch_async({.inputs = inputs});
  ASSERT_TRUE(pending);
  ASSERT_TRUE(fake.device.flush());
  EXPECT_EQ(fake.device.telemetry().dispatches, 1U);
  EXPECT_EQ(fake.device.telemetry().output_slots, 0U);
  EXPECT_EQ(fake.device.telemetry().output_bytes, 0U);
  Outputs slots(1);
  slots[0].reserve(32);
  ASSERT_TRUE(pending->wait_into(slots));
  EXPECT_EQ(fake.device.telemetry().output_slots_reused, 1U);
  EXPECT_EQ(fake.device.telemetry().output_slots_appended, 0U);
  EXPECT_EQ(fake.device.telemetry().output_bytes, 16U);
}

}  // namespace
}  // namespace vyre::run
