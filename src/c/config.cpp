// SPDX-License-Identifier: Apache-2.0
#include "c/config.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "c/boundary.hpp"
#include "vyre/device/communicator.hpp"
#include "vyre/ir/host.hpp"
#include "vyre/ir/program.hpp"

// The buffers of a dispatch while its trap handler runs.
struct vyre_memory {
  vyre::HandlerBuffers& buffers;
  const vyre::ir::Program& program;
};

namespace vyre::c {

namespace {

constexpr uint64_t kAllFields = (VYRE_SET_PRINT_TO << 1) - 1;

Result<void> call_handler(vyre_trap_handler handler, void* user, const Source& source,
                          std::span<const TrapReport> reports, HandlerBuffers& buffers) {
  std::vector<vyre_trap> traps;
  traps.reserve(reports.size());
  for (const TrapReport& r : reports)
    traps.push_back({r.tag, r.value, r.lane, r.at.line, r.at.column});
  vyre_memory memory{buffers, source.checked->program};
  vyre_error* const error = handler(traps.data(), traps.size(), &memory, user);
  if (error != nullptr) return std::unexpected(take_error(error));
  return {};
}

void call_printer(vyre_printer printer, void* user, const PrintReport& printed) {
  std::vector<vyre_print_line> lines;
  lines.reserve(printed.lines.size());
  for (const PrintLine& l : printed.lines)
    lines.push_back({.phase = l.phase,
                     .text = l.text.c_str(),
                     .size = l.text.size(),
                     .lane = l.lane,
                     .line = l.at.line,
                     .column = l.at.column});
  printer(lines.data(), lines.size(), printed.dropped, user);
}

// The ranks of the caller.
class CallerCommunicator final : public device::Communicator {
 public:
  explicit CallerCommunicator(const vyre_communicator& given) : given_(given) {}
  [[nodiscard]] uint32_t rank() const override { return given_.rank; }
  [[nodiscard]] uint32_t size() const override { return given_.size; }
  Result<void> exchange(const device::Exchange& e) override {
    const std::string operation(name_of(e.op));
    const std::string reduce(name_of(e.reduce));
    const std::string element(name_of(e.element));
    const std::string source_name(e.src_name);
    const std::string target_name(e.dst_name);
    const vyre_exchange exchange{.operation = operation.c_str(),
                                 .reduce = reduce.c_str(),
                                 .element = element.c_str(),
                                 .source_name = source_name.c_str(),
                                 .target_name = target_name.c_str(),
                                 .source = e.src.data(),
                                 .source_bytes = e.src.size(),
                                 .target = e.dst.data(),
                                 .target_bytes = e.dst.size(),
                                 .root = e.root,
                                 .group = e.group};
    vyre_error* const error = given_.exchange(&exchange, given_.user);
    if (error != nullptr) return std::unexpected(take_error(error));
    return {};
  }

 private:
  vyre_communicator given_;
};

// The fields that are set, one function for each kind.
class Reader {
 public:
  Reader(const vyre_options& options, std::shared_ptr<const Source> source)
      : o_(options), source_(std::move(source)) {}

  Result<Config> read() {
    if ((o_.set & ~kAllFields) != 0)
      return fail(ErrorCode::Unsupported,
                  fmt::format("`set` of vyre_options has 0x{:x}, which this library (interface {}) "
                              "does not know. Fix: use a newer library, or leave the field out",
                              o_.set & ~kAllFields, VYRE_ABI_VERSION));
    numbers();
    VYRE_TRY(texts());
    VYRE_TRY(choices());
    VYRE_TRY(pointers());
    return std::move(config_);
  }

 private:
  [[nodiscard]] bool has(uint64_t field) const { return (o_.set & field) != 0; }

  void numbers() {
    run::DispatchConfig& d = config_.dispatch;
    if (has(VYRE_SET_ULP_BUDGET)) d.ulp_budget = o_.ulp_budget;
    if (has(VYRE_SET_TIMEOUT)) {
      constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      d.timeout = std::chrono::nanoseconds(static_cast<int64_t>(std::min(o_.timeout_ns, kMost)));
    }
    if (has(VYRE_SET_MAX_STATE_BYTES)) d.max_state_bytes = o_.max_state_bytes;
    if (has(VYRE_SET_MAX_OUTPUT_BYTES)) d.max_output_bytes = o_.max_output_bytes;
    if (has(VYRE_SET_WORKGROUP)) d.workgroup = std::to_array(o_.workgroup);
    if (has(VYRE_SET_GRID)) d.grid = std::to_array(o_.grid);
    if (has(VYRE_SET_FIXPOINT_ITERATIONS)) d.fixpoint_iterations = o_.fixpoint_iterations;
    if (has(VYRE_SET_QUEUE)) d.queue = o_.queue;
    if (has(VYRE_SET_PRINT_BYTES)) d.print_bytes = o_.print_bytes;
  }

  Result<void> texts() {
    run::DispatchConfig& d = config_.dispatch;
    if (has(VYRE_SET_PROFILE)) {
      VYRE_TRY(require(o_.profile, "profile"));
      d.profile = o_.profile;
    }
    if (has(VYRE_SET_LABEL)) {
      VYRE_TRY(require(o_.label, "label"));
      d.label = o_.label;
    }
    return {};
  }

  // The enumerators of both sides have the same numbers.
  template <class Enum>
  Result<void> choice(uint64_t field, const char* name, uint32_t value, Enum last,
                      std::optional<Enum>& to) {
    if (!has(field)) return {};
    if (value > static_cast<uint32_t>(last))
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("`{}` is {}. Fix: give one of the numbers of vyre.h, 0 to {}", name,
                              value, static_cast<uint32_t>(last)));
    to = static_cast<Enum>(value);
    return {};
  }
  Result<void> flag(uint64_t field, const char* name, uint32_t value, std::optional<bool>& to) {
    if (!has(field)) return {};
    if (value > 1)
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("`{}` is {}. Fix: give 0 or 1", name, value));
    to = value == 1;
    return {};
  }

  Result<void> choices() {
    using run::Choice, run::Cooperative, run::Timing, run::Tune;
    static_assert(VYRE_CHOICE_DISABLE == static_cast<int>(Choice::Disable));
    static_assert(VYRE_CHOICE_FORCE == static_cast<int>(Choice::Force));
    static_assert(VYRE_COOPERATIVE_REQUIRE == static_cast<int>(Cooperative::Require));
    static_assert(VYRE_TUNE_READ == static_cast<int>(Tune::Read));
    static_assert(VYRE_TUNE_ON == static_cast<int>(Tune::On));
    static_assert(VYRE_TIMING_SEGMENTS == static_cast<int>(Timing::Segments));
    static_assert(VYRE_TIMING_REGIONS == static_cast<int>(Timing::Regions));
    run::DispatchConfig& d = config_.dispatch;
    VYRE_TRY(choice(VYRE_SET_SPECULATION, "speculation", o_.speculation, Choice::Disable,
                    d.speculation));
    VYRE_TRY(choice(VYRE_SET_PERSISTENT_THREAD, "persistent_thread", o_.persistent_thread,
                    Choice::Disable, d.persistent_thread));
    VYRE_TRY(choice(VYRE_SET_COOPERATIVE, "cooperative", o_.cooperative, Cooperative::Require,
                    d.cooperative));
    VYRE_TRY(choice(VYRE_SET_TUNE, "tune", o_.tune, Tune::On, d.tune));
    VYRE_TRY(choice(VYRE_SET_TIMING, "timing", o_.timing, Timing::Regions, d.timing));
    VYRE_TRY(flag(VYRE_SET_CHECKED, "checked", o_.checked, d.checked));
    VYRE_TRY(flag(VYRE_SET_PRINT, "print", o_.print, d.print));
    return flag(VYRE_SET_UNTRUSTED, "untrusted", o_.untrusted, d.untrusted);
  }

  Result<void> pointers() {
    run::DispatchConfig& d = config_.dispatch;
    if (has(VYRE_SET_GRID_FROM)) {
      VYRE_TRY(require(o_.grid_from, "grid_from"));
      config_.kept.push_back(std::make_shared<Ref<vyre_buffer>>(o_.grid_from));
      d.grid_from = run::GridFrom{&o_.grid_from->buffer, o_.grid_from_offset};
    }
    if (has(VYRE_SET_CANCEL)) {
      VYRE_TRY(require(o_.cancel, "cancel"));
      config_.kept.push_back(o_.cancel->requested);
      d.cancel = o_.cancel->requested.get();
    }
    if (has(VYRE_SET_PROGRESS)) {
      VYRE_TRY(require(reinterpret_cast<const void*>(o_.progress), "progress"));
      d.progress = std::make_shared<const run::ProgressFunction>(
          [f = o_.progress, user = o_.progress_user](uint64_t done, uint64_t of) {
            f(done, of, user);
          });
    }
    if (has(VYRE_SET_PRINT_TO)) {
      VYRE_TRY(require(reinterpret_cast<const void*>(o_.print_to), "print_to"));
      d.print_to = std::make_shared<const run::PrintFunction>(
          [f = o_.print_to, user = o_.print_user](const PrintReport& printed) {
            call_printer(f, user, printed);
          });
    }
    if (has(VYRE_SET_TRAP_HANDLER)) {
      VYRE_TRY(require(reinterpret_cast<const void*>(o_.trap_handler), "trap_handler"));
      d.trap_handler = std::make_shared<const TrapHandler>(
          [f = o_.trap_handler, user = o_.trap_user, source = source_](
              std::span<const TrapReport> reports, HandlerBuffers& buffers) {
            return call_handler(f, user, *source, reports, buffers);
          });
    }
    return has(VYRE_SET_COMMUNICATOR) ? communicator() : Result<void>();
  }
  Result<void> communicator() {
    VYRE_TRY(require(o_.communicator, "communicator"));
    const vyre_communicator& given = *o_.communicator;
    VYRE_TRY(require_struct(given.struct_size, sizeof(vyre_communicator), "vyre_communicator"));
    VYRE_TRY(require(reinterpret_cast<const void*>(given.exchange), "exchange"));
    if (given.rank >= given.size)
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("the communicator has rank {} of {}. Fix: count ranks from 0",
                              given.rank, given.size));
    const auto made = std::make_shared<CallerCommunicator>(given);
    config_.dispatch.communicator = made.get();
    config_.kept.push_back(made);
    return {};
  }

  const vyre_options& o_;
  std::shared_ptr<const Source> source_;
  Config config_;
};

}  // namespace

Result<Config> config_of(const vyre_options* options, std::shared_ptr<const Source> source) {
  if (options == nullptr) return Config{};
  VYRE_TRY(require_struct(options->struct_size, sizeof(vyre_options), "vyre_options"));
  return Reader(*options, std::move(source)).read();
}

StopCondition stop_of(const Config& config) {
  return StopCondition::after(config.dispatch.timeout.value_or(std::chrono::nanoseconds(0)),
                              config.dispatch.cancel.value_or(nullptr));
}

}  // namespace vyre::c

vyre_error* vyre_memory_get(vyre_memory* memory, const char* buffer, uint32_t access, void** bytes,
                            uint64_t* size) {
  using namespace vyre;
  return c::guarded([&]() -> Result<void> {
    VYRE_TRY(c::require(memory, "memory"));
    VYRE_TRY(c::require(buffer, "buffer"));
    VYRE_TRY(c::require(bytes, "bytes"));
    VYRE_TRY(c::require(size, "size"));
    if (access > VYRE_MEMORY_WRITE)
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("`access` is {}. Fix: give VYRE_MEMORY_READ or VYRE_MEMORY_WRITE", access));
    const std::vector<ir::Buffer>& buffers = memory->program.buffers;
    const auto found = std::ranges::find(buffers, std::string_view(buffer), &ir::Buffer::name);
    if (found == buffers.end() || found->kind == ir::BufferKind::Shared ||
        found->kind == ir::BufferKind::Scratch)
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("program `{}` has no buffer `{}` that the host can see. Fix: give the "
                      "name of one that it declares",
                      memory->program.name, buffer));
    const ir::BufferId id{static_cast<uint32_t>(found - buffers.begin())};
    if (access == VYRE_MEMORY_WRITE) {
      const bool writable = found->kind == ir::BufferKind::InOut ||
                            found->kind == ir::BufferKind::Out ||
                            found->kind == ir::BufferKind::Persistent;
      if (!writable)
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format("`{}` cannot be written by a trap handler. Fix: declare it `inout`, "
                        "`out` or `persistent`",
                        buffer));
      const std::span<std::byte> all = memory->buffers.write(id);
      *bytes = all.data();
      *size = all.size();
      return {};
    }
    const std::span<const std::byte> all = memory->buffers.read(id);
    *bytes = const_cast<std::byte*>(all.data());
    *size = all.size();
    return {};
  });
}

vyre_error* vyre_cancel_new(vyre_cancel** cancel) {
  return vyre::c::guarded([&]() -> vyre::Result<void> {
    VYRE_TRY(vyre::c::require(cancel, "cancel"));
    *cancel = new vyre_cancel;
    return {};
  });
}
void vyre_cancel_request(vyre_cancel* cancel) {
  static_assert(std::atomic<bool>::is_always_lock_free);  // for signal handlers
  if (cancel != nullptr) cancel->requested->store(true, std::memory_order_relaxed);
}
void vyre_cancel_release(vyre_cancel* cancel) {
  vyre::c::release(cancel);
}
