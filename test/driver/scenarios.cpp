// SPDX-License-Identifier: Apache-2.0
#include "driver/scenarios.hpp"

#include <array>
#include <deque>
#include <string>

#include "driver/heap.hpp"
#include "figure.hpp"
#include "vyre/base/trace.hpp"

namespace vyre::driver_test {

using run::Argument;
using run::Arguments;
using run::Buffer;
using run::DispatchConfig;
using run::Outputs;
using run::Pipeline;

// The expression is a call of the driver and makes no memory of its own.
#define DRIVE(expr)        \
  [&] {                    \
    const InDriver driven; \
    return expr;           \
  }()
#define TRY(expr) \
  if (auto ok_ = DRIVE(expr); !ok_) return std::unexpected(std::move(ok_.error()))
#define TAKE(var, result)                                                       \
  auto var##_result_ = (result);                                                \
  if (!var##_result_) return std::unexpected(std::move(var##_result_.error())); \
  auto var = std::move(*var##_result_)
#define TRY_ASSIGN(var, expr) TAKE(var, DRIVE(expr))

namespace {

constexpr std::array<uint32_t, 1> kTwo = {2};
constexpr std::array<uint32_t, 1> kThree = {3};
constexpr std::array<uint32_t, 4> kLow = {4, 0, 1, 2};
constexpr std::array<uint32_t, 4> kGrid = {0, 2, 1, 1};

WorldOptions native() {
  return {};
}
WorldOptions blocks() {
  return {.blocks = 2};
}
WorldOptions resident() {
  return {.barriers = false};
}
WorldOptions resident_host_loops() {
  return {.barriers = false, .loops = false};
}
WorldOptions host() {
  return {.barriers = false, .resident = false, .loops = false};
}

void append(Bytes& all, std::span<const std::byte> bytes) {
  all.insert(all.end(), bytes.begin(), bytes.end());
}
Bytes joined(const Outputs& outputs) {
  Bytes all;
  for (const auto& slot : outputs) append(all, slot);
  return all;
}

Result<Pipeline> compiled(World& w, const Program& program, const DispatchConfig& config = {}) {
  TRY_ASSIGN(result, w.device.compile(program, config));
  return std::move(result.pipeline);
}

Result<Buffer> uploaded(World& w, std::span<const uint32_t> words) {
  return DRIVE(w.device.upload(std::as_bytes(words)));
}

// ---- bytes of the host, on every route

Result<Bytes> blocking(World& w) {
  TAKE(scale, compiled(w, programs().scale));
  TRY_ASSIGN(result, scale.dispatch({kTwo, count_to(9)}));
  return joined(result.outputs);
}

Result<Bytes> into_slots(World& w) {
  TAKE(scale, compiled(w, programs().scale));
  const auto a = count_to(5);
  const Argument inputs[] = {kThree, a};
  Outputs slots(1);
  slots[0].reserve(64);
  for (int i = 0; i < 3; ++i) TRY(scale.dispatch_into({.inputs = inputs}, slots));
  return joined(slots);
}

Result<Bytes> barriers(World& w) {
  TAKE(split, compiled(w, programs().split));
  TRY_ASSIGN(result, split.dispatch({kTwo, count_to(8)}));
  return joined(result.outputs);
}

Result<Bytes> barriers_in_loop(World& w) {
  TAKE(loop, compiled(w, programs().loop));
  TRY_ASSIGN(result, loop.dispatch({kThree, count_to(8)}));
  return joined(result.outputs);
}

Result<Bytes> fixpoint(World& w) {
  TAKE(settle, compiled(w, programs().settle));
  TRY_ASSIGN(result, settle.dispatch({kLow}));
  return joined(result.outputs);
}

Result<Bytes> iterations(World& w) {
  DispatchConfig config;
  config.fixpoint_iterations = 10;
  TAKE(saturate, compiled(w, programs().saturate, config));
  TRY_ASSIGN(result, saturate.dispatch({kLow}));
  return joined(result.outputs);
}

Result<Bytes> resumed(World& w) {
  DispatchConfig config;
  config.trap_handler = std::make_shared<const TrapHandler>(
      [](std::span<const TrapReport> reports, HandlerBuffers& buffers) -> Result<void> {
        const auto d = buffers.write(ir::BufferId{0});
        for (const TrapReport& report : reports)
          if (report.lane * 4 < d.size()) d[size_t{report.lane} * 4] = std::byte{50};
        return {};
      });
  TAKE(resumed, compiled(w, programs().resumed, config));
  TRY_ASSIGN(result, resumed.dispatch({count_to(4)}));
  return joined(result.outputs);
}

Result<Bytes> checked(World& w) {
  DispatchConfig config;
  config.checked = true;
  TAKE(scale, compiled(w, programs().scale, config));
  TAKE(split, compiled(w, programs().split));
  TRY_ASSIGN(first, scale.dispatch({kTwo, count_to(6)}));
  TRY_ASSIGN(second, split.dispatch({kTwo, count_to(4)}, config));
  Bytes all = joined(first.outputs);
  append(all, joined(second.outputs));
  return all;
}

Result<Bytes> several_shapes(World& w) {
  TAKE(scale, compiled(w, programs().scale));
  Bytes all;
  for (const uint32_t n : {1U, 40U, 7U, 200U}) {
    TRY_ASSIGN(result, scale.dispatch({kTwo, count_to(n)}));
    append(all, joined(result.outputs));
  }
  DispatchConfig config;
  config.workgroup = check::Axes{8, 1, 1};
  TRY_ASSIGN(result, scale.dispatch({kThree, count_to(9)}, config));
  append(all, joined(result.outputs));
  return all;
}

Result<Bytes> batch(World& w) {
  TAKE(scale, compiled(w, programs().scale));
  const auto a = count_to(4);
  const auto b = count_to(6);
  const Argument first[] = {kTwo, a};
  const Argument second[] = {kThree, b};
  const Arguments items[] = {{.inputs = first}, {.inputs = second}};
  std::vector<Outputs> rows;
  TRY(scale.dispatch_batch(items, rows));
  Bytes all = joined(rows[0]);
  append(all, joined(rows[1]));
  return all;
}

// ---- buffers

Result<Bytes> resident_arguments(World& w) {
  TAKE(add, compiled(w, programs().add));
  TAKE(a, uploaded(w, count_to(8)));
  TAKE(b, uploaded(w, count_to(8)));
  TRY_ASSIGN(c, w.device.allocate(32));
  const Argument inputs[] = {a, b};
  const Buffer* const outputs[] = {&c};
  TRY(add.dispatch({.inputs = inputs, .outputs = outputs}));
  return DRIVE(w.device.read(c));
}

Result<Bytes> mixed_arguments(World& w) {
  TAKE(split, compiled(w, programs().split));
  TAKE(d, uploaded(w, count_to(8)));
  const Argument inputs[] = {kTwo, d};
  TRY_ASSIGN(result, split.dispatch({.inputs = inputs}));
  Bytes all = joined(result.outputs);
  TRY_ASSIGN(bytes, w.device.read(d));
  append(all, bytes);
  return all;
}

Result<Bytes> persistent(World& w) {
  TAKE(keep, compiled(w, programs().keep));
  TAKE(p, uploaded(w, count_to(4)));
  const Argument inputs[] = {p};
  Bytes all;
  for (int i = 0; i < 2; ++i) {
    TRY_ASSIGN(result, keep.dispatch({.inputs = inputs}));
    append(all, joined(result.outputs));
  }
  return all;
}

Result<Bytes> grid_from(World& w) {
  TAKE(scale, compiled(w, programs().scale));
  TAKE(grid, uploaded(w, kGrid));
  DispatchConfig config;
  config.grid_from = run::GridFrom{&grid, 4};
  TRY_ASSIGN(result, scale.dispatch({kTwo, count_to(8)}, config));
  return joined(result.outputs);
}

Result<Bytes> grid_from_with_barriers(World& w) {
  TAKE(split, compiled(w, programs().split));
  TAKE(grid, uploaded(w, std::span(kGrid).subspan(1)));
  DispatchConfig config;
  config.grid_from = run::GridFrom{&grid, 0};
  TRY_ASSIGN(result, split.dispatch({kTwo, count_to(8)}, config));
  return joined(result.outputs);
}

Result<Bytes> transfers(World& w) {
  TAKE(a, uploaded(w, count_to(16)));
  TRY_ASSIGN(b, w.device.allocate(64));
  TRY_ASSIGN(none, w.device.allocate(0));
  TRY(w.device.fill(b, std::byte{7}));
  const Bytes three(3, std::byte{9});
  const run::Write writes[] = {{&a, 12, three}, {&b, 0, three}};
  TRY(w.device.write_many(writes));
  TRY(w.device.write(b, three, 20));
  const run::ReadRange ranges[] = {{&a, 0, 8}, {&a, 8, 8}, {&b, 0, 4}, {&a, 4, 2}, {&none, 0, 0}};
  TRY_ASSIGN(read, w.device.read_ranges(ranges));
  Bytes all = joined(read);
  TRY(w.device.copy(a, b));
  Bytes some(10);
  TRY(w.device.read_range(b, 5, some));
  append(all, some);
  TRY_ASSIGN(whole, w.device.read(b));
  append(all, whole);
  return all;
}

// ---- later

Result<Bytes> async(World& w) {
  TAKE(split, compiled(w, programs().split));
  Bytes all;
  std::vector<run::Pending> pending;
  for (uint32_t i = 1; i < 4; ++i) {
    const auto k = count_to(1);
    const auto d = count_to(4 * i);
    const Argument inputs[] = {k, d};
    DispatchConfig config;
    config.queue = i % 2;
    TRY_ASSIGN(one, split.dispatch_async({.inputs = inputs}, config));
    pending.push_back(std::move(one));
  }
  Outputs slots;
  std::optional<Error> first;
  for (run::Pending& one : pending) {
    const auto report = DRIVE(one.wait_into(slots));
    if (!report && !first) first = report.error();
    append(all, joined(slots));
  }
  if (first) return std::unexpected(std::move(*first));
  return all;
}

Result<Bytes> async_dropped(World& w) {
  TAKE(add, compiled(w, programs().add));
  TAKE(a, uploaded(w, count_to(8)));
  TRY_ASSIGN(c, w.device.allocate(32));
  const Argument inputs[] = {a, a};
  const Buffer* const outputs[] = {&c};
  TRY(add.dispatch_async({.inputs = inputs, .outputs = outputs}));
  TRY(w.device.flush());
  return DRIVE(w.device.read(c));
}

Result<Bytes> sequence(World& w, const DispatchConfig& config) {
  TAKE(add, compiled(w, programs().add));
  TAKE(split, compiled(w, programs().split));
  TAKE(a, uploaded(w, count_to(8)));
  TRY_ASSIGN(c, w.device.allocate(32));
  TRY_ASSIGN(e, w.device.allocate(32));
  const Argument add_inputs[] = {a, a};
  const Buffer* const add_outputs[] = {&c};
  const Argument split_inputs[] = {kTwo, c};
  const Buffer* const split_outputs[] = {&c, &e};
  const run::SequenceItem items[] = {
      {add, {.inputs = add_inputs, .outputs = add_outputs}},
      {split, {.inputs = split_inputs, .outputs = split_outputs}, config}};
  const run::ReadRange ranges[] = {{&c, 0, 32}, {&e, 4, 8}};
  std::vector<Bytes> results;
  TRY(w.device.run_sequence({.repeated = items, .repeats = 3, .ranges = ranges}, &results));
  return joined(results);
}
Result<Bytes> sequence_deferred(World& w) {
  return sequence(w, {});
}
// Repeated until nothing changes, so the host has to look.
Result<Bytes> sequence_not_deferred(World& w) {
  DispatchConfig config;
  config.fixpoint_iterations = 2;
  return sequence(w, config);
}

// ---- life

Result<Bytes> compile_and_prewarm(World& w) {
  TRY(w.device.prewarm(programs().scale));
  TRY_ASSIGN(from_program, w.device.compile(programs().add->program));
  ir::Program copy = programs().split->program;
  TRY_ASSIGN(moved, w.device.compile(std::move(copy)));
  TRY_ASSIGN(again, w.device.compile(programs().scale));
  Bytes all;
  for (const run::CompileResult* result : {&from_program, &moved, &again})
    append(all, std::as_bytes(std::span(result->manifest.pipeline_id)));
  const pipeline::Manifest manifest = moved.pipeline.manifest();
  append(all, std::as_bytes(std::span(manifest.program_digest)));
  return all;
}

Result<Bytes> prepare_and_flush(World& w) {
  TRY(w.device.prepare());
  TRY(w.device.flush());
  return Bytes{std::byte{1}};
}

Result<Bytes> recovered(World& w) {
  TAKE(before, blocking(w));
  TRY(w.device.recover());
  TAKE(after, blocking(w));
  append(before, after);
  return before;
}

Result<Bytes> shut_down(World& w) {
  World other = w;
  other.device = run::Device::over(w.backend, {.cache_directory = {}});
  TAKE(bytes, resident_arguments(other));
  TRY(other.device.shutdown());
  const auto late = DRIVE(other.device.allocate(4));
  if (late) return Bytes{};
  if (late.error().code != ErrorCode::PoisonedState) return std::unexpected(late.error());
  append(bytes, Bytes{std::byte{1}});
  return bytes;
}

Result<Bytes> timeouts(World& w) {
  DispatchConfig config;
  config.timeout = std::chrono::hours(1);
  TAKE(split, compiled(w, programs().split, config));
  TRY_ASSIGN(result, split.dispatch({kTwo, count_to(8)}));
  Bytes all = joined(result.outputs);
  const std::atomic<bool> cancelled = true;
  config.cancel = &cancelled;
  const auto late = DRIVE(split.dispatch({kTwo, count_to(8)}, config));
  if (late) return Bytes{};
  if (late.error().code != ErrorCode::Timeout) return std::unexpected(late.error());
  append(all, Bytes{std::byte{1}});
  return all;
}

Result<Bytes> traced(World& w) {
  Trace trace;
  w.device.set_trace(&trace);
  auto bytes = [&]() -> Result<Bytes> {
    TAKE(first, barriers(w));
    TAKE(second, resident_arguments(w));
    append(first, second);
    return first;
  }();
  w.device.set_trace(nullptr);
  return bytes;
}

}  // namespace

void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

namespace {

// What one leaves behind, the next one finds: two scenarios one after the other in one world. Left
// out are those that leave nothing to work with or whose calls nobody can count.
void add_pairs(std::vector<Scenario>& all, size_t wanted) {
  static std::deque<std::string> names;
  const size_t plain = all.size();
  const auto stands_alone = [&](const Scenario& s) {
    return s.drops || s.varies || s.name == "shut_down" || s.name == "recovered";
  };
  for (size_t step = 1; step < plain; ++step)
    for (size_t i = 0; i < plain && all.size() < wanted; ++i) {
      const Scenario& first = all[i];
      const Scenario& second = all[(i + step) % plain];
      if (stands_alone(first) || stands_alone(second)) continue;
      if (second.options.resident && !first.options.resident) continue;  // it needs buffers there
      const auto both = [one = first.run, two = second.run](World& world) -> Result<Bytes> {
        TAKE(bytes, one(world));
        TAKE(more, two(world));
        append(bytes, more);
        return bytes;
      };
      names.push_back(std::string(first.name) + "_then_" + std::string(second.name));
      // A world of the first one may lead the second to another route, with the same bytes.
      Scenario pair{names.back(), first.options, both};
      all.push_back(std::move(pair));
    }
}

std::vector<Scenario> plain_scenarios() {
  return {
      {"blocking", native(), blocking},
      {"blocking_through_the_host", host(), blocking},
      {"into_slots", native(), into_slots},
      {"several_shapes", native(), several_shapes},
      {"resident_arguments", native(), resident_arguments},
      {"mixed_arguments", resident(), mixed_arguments},
      {"persistent", native(), persistent},
      {"barriers_native", native(), barriers},
      {"barriers_virtual", blocks(), barriers},
      {"barriers_resident", resident(), barriers},
      {"barriers_host", host(), barriers},
      {"loop_native", native(), barriers_in_loop},
      {"loop_resident", resident(), barriers_in_loop},
      {"loop_resident_host_loops", resident_host_loops(), barriers_in_loop},
      {"loop_host", host(), barriers_in_loop},
      {"fixpoint_device", resident(), fixpoint},
      {"fixpoint_by_host", resident_host_loops(), fixpoint},
      {"iterations_device", resident(), iterations},
      {"iterations_by_host", resident_host_loops(), iterations},
      {"iterations_host", host(), iterations},
      {"resumed", resident(), resumed},
      {"checked", resident(), checked},
      {"checked_virtual", native(), checked},
      {"batch", native(), batch},
      {"async", resident(), async, false, true},
      {"async_through_the_host", host(), async, false, true},
      {"async_dropped", native(), async_dropped, true},
      {"sequence_deferred", resident(), sequence_deferred},
      {"sequence_deferred_without_loops", resident_host_loops(), sequence_deferred},
      {"sequence_not_deferred", resident(), sequence_not_deferred},
      {"grid_from", native(), grid_from},
      {"grid_from_without_indirect", {.indirect = false}, grid_from},
      {"grid_from_with_barriers", resident(), grid_from_with_barriers},
      {"transfers", native(), transfers},
      {"compile_and_prewarm", native(), compile_and_prewarm},
      {"prepare_and_flush", native(), prepare_and_flush},
      {"recovered", native(), recovered},
      {"shut_down", native(), shut_down},
      {"timeouts", resident(), timeouts},
      {"traced", resident(), traced},
  };
}

}  // namespace

// VYRE_FAULT_SCENARIOS=200 is the nightly figure.
std::span<const Scenario> scenarios() {
  static const std::vector<Scenario>* const all = [] {
    auto* const list = new std::vector<Scenario>(plain_scenarios());
    add_pairs(*list, test::figure("VYRE_FAULT_SCENARIOS", 0));
    return list;
  }();
  return *all;
}

}  // namespace vyre::driver_test
