// SPDX-License-Identifier: Apache-2.0
// How a program is compiled and dispatched. Every field is optional: a config given with a call
// overrides the one given at compile time field by field.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vyre/base/reports.hpp"
#include "vyre/base/result.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/device/buffer.hpp"
#include "vyre/device/communicator.hpp"
#include "vyre/ir/host.hpp"

namespace vyre::run {

// Of something a device may or may not be able to do.
enum class Choice : uint8_t { Auto, Force, Disable };
std::string_view name_of(Choice choice);
enum class Cooperative : uint8_t { Auto, Require };
std::string_view name_of(Cooperative cooperative);
// Strategies that were measured on this device (docs/design/tuning.md): not used; used where there
// is a record of them; and searched for on dispatches, where there is none.
enum class Tune : uint8_t { Off, Read, On };
std::string_view name_of(Tune tune);
std::optional<Tune> tune_from_name(std::string_view name);

// What a dispatch measures, each with what those before it do: the device's time of the whole, that
// of each segment, and that of regions and fixpoints. It costs, so it is asked for.
enum class Timing : uint8_t { None, Dispatch, Segments, Regions };
std::string_view name_of(Timing timing);

// The grid is in a buffer: three u32, read when the dispatch starts.
struct GridFrom {
  const device::Buffer* buffer = nullptr;
  uint64_t offset = 0;  // a multiple of 4
  friend bool operator==(const GridFrom&, const GridFrom&) = default;
};

using ProgressFunction = std::function<void(uint64_t done, uint64_t of)>;

// Gets what a dispatch with `print` has printed, when it is over; also one that ended with an
// error, as far as the device still answers. The lines are in the report as well, if there is one.
using PrintFunction = std::function<void(const PrintReport& printed)>;
inline constexpr uint64_t kPrintBytes = uint64_t{1} << 20;  // where print_bytes is not given
inline constexpr uint64_t kMostPrintBytes = uint64_t{1} << 30;

// X(type, name). Handlers are shared and immutable, so that a config can be copied and compared and
// a pending dispatch keeps what it needs.
// clang-format off
#define VYRE_CONFIG_FIELDS(X)                                                                        \
  X(std::string,                             profile)             /* what code is tuned for */        \
  X(uint32_t,                                ulp_budget)          /* of maths functions; 0: strict */ \
  X(std::chrono::nanoseconds,                timeout)             /* of each whole call; 0: none */   \
  X(std::string,                             label)               /* for traces and errors */         \
  X(uint64_t,                                max_state_bytes)     /* saved across grid barriers */    \
  X(uint64_t,                                max_output_bytes)                                        \
  X(check::Axes,                             workgroup)                                               \
  X(check::Axes,                             grid)                /* workgroups */                    \
  X(GridFrom,                                grid_from)                                               \
  X(uint32_t,                                fixpoint_iterations) /* of the whole program */          \
  X(Choice,                                  speculation)                                             \
  X(Choice,                                  persistent_thread)                                       \
  X(Cooperative,                             cooperative)                                             \
  X(Tune,                                    tune)                /* off */                           \
  X(bool,                                    checked)             /* out of bounds is an error */     \
  X(bool,                                    untrusted)           /* limits for a hostile program */  \
  X(Timing,                                  timing)              /* what is measured */              \
  X(std::shared_ptr<const TrapHandler>,      trap_handler)                                            \
  X(uint32_t,                                queue)                                                   \
  X(device::Communicator*,                   communicator)        /* the ranks of a job */            \
  X(const std::atomic<bool>*,                cancel)              /* set it to stop with Timeout */   \
  X(std::shared_ptr<const ProgressFunction>, progress)                                                \
  X(bool,                                    print)               /* print() writes lines */          \
  X(uint64_t,                                print_bytes)         /* memory for them; 1 MiB */        \
  X(std::shared_ptr<const PrintFunction>,    print_to)            /* once, also after an error */
// clang-format on

struct DispatchConfig {
#define VYRE_FIELD(type, name) std::optional<type> name{};
  VYRE_CONFIG_FIELDS(VYRE_FIELD)
#undef VYRE_FIELD
  friend bool operator==(const DispatchConfig&, const DispatchConfig&) = default;
};

// `over` wins where it says something. grid and grid_from exclude each other: one of `over` takes
// the place of the other of `base`.
DispatchConfig merge(const DispatchConfig& base, const DispatchConfig& over);

// InvalidArgument: fixpoint_iterations 0, grid and grid_from together, an offset that is not a
// multiple of 4, a queue, a timing or a profile that is not there, print_bytes above
// kMostPrintBytes.
inline constexpr uint32_t kQueues = 64;
Result<void> check_config(const DispatchConfig& config);

}  // namespace vyre::run
