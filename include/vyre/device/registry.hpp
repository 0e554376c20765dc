// SPDX-License-Identifier: Apache-2.0
// Which backends there are, what devices they see, and which one is taken when none is named.
// The choice is made from facts alone and is written down, so that it can be explained and tested.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::device {

// A device as it is seen without opening it.
struct DeviceFacts {
  std::string id;  // "cuda", "cuda:1"
  Capabilities capabilities = {};
  DeviceProfile profile = {};
  std::string unusable = {};      // why it cannot be opened; empty: it can, as far as one sees
  std::string architecture = {};  // BackendInfo::architecture
};

// A backend. Each folder src/backend/<id> defines one function `BackendDescriptor
// <id>_descriptor()`.
struct BackendDescriptor {
  std::string id;
  Kind kind = Kind::Null;
  uint32_t rank = 0;                       // the smaller, the earlier
  bool dispatches = false;                 // runs programs
  std::vector<std::string> features = {};  // for people
  uint64_t acquisition_cost_us = 0;        // declared, not measured: choices have to repeat
  // Cheap: creates no context. A driver library that is missing is a device with a reason.
  std::function<std::vector<DeviceFacts>()> enumerate = {};
  std::function<Result<std::shared_ptr<Backend>>(uint32_t)> open = {};
  std::string site = {};  // the source file of the row
};

struct SelectionPolicy {
  bool allow_cpu = false;
};

// Why a device was chosen: everything that was looked at, best first.
struct Selection {
  struct Candidate {
    DeviceFacts facts;
    std::string backend;
    uint32_t index = 0;
    Kind kind = Kind::Gpu;
    uint32_t score = 0;
    uint32_t rank = 0;
    uint64_t acquisition_cost_us = 0;
    std::string failure;  // why it was not taken; empty for the winner and for those behind it
  };
  std::string winner;  // id of the device; empty: none
  std::vector<Candidate> candidates;
};
// One line for the winner and one for each candidate with all its facts; ends with a newline.
std::string to_string(const Selection& selection);

class Registry {
 public:
  // InvalidArgument for two rows with one id (naming both sites), an id that is no word, and a row
  // without its functions.
  static Result<Registry> make(std::vector<BackendDescriptor> rows);

  // By rank, then id.
  [[nodiscard]] std::span<const BackendDescriptor> registered_backends() const { return rows_; }
  // False for an unknown id.
  [[nodiscard]] bool backend_dispatches(std::string_view id) const;
  // The rank; UINT32_MAX for an unknown id.
  [[nodiscard]] uint32_t backend_precedence(std::string_view id) const;

  // A device by its id, of any kind: "cuda" is the first one, "cuda:1" the second. Unavailable for
  // what is not there; errors of opening it gain a line of context.
  [[nodiscard]] Result<std::shared_ptr<Backend>> acquire(std::string_view id) const;

  // The best device that runs programs and is no oracle: GPUs before CPUs; then capability score,
  // timing quality and memory bandwidth, higher first; rank, acquisition cost and id, lower first.
  // Only the winner is opened, the next one if that fails. Unavailable if nothing is left. `trace`
  // is written in any case.
  [[nodiscard]] Result<std::shared_ptr<Backend>> acquire_preferred(
      const SelectionPolicy& policy = {}, Selection* trace = nullptr) const;

 private:
  [[nodiscard]] const BackendDescriptor* find(std::string_view id) const;
  [[nodiscard]] Selection rank_devices(const SelectionPolicy& policy) const;

  std::vector<BackendDescriptor> rows_;
};

// The backends of this program. The list is written by the build (cmake/VyreBackend.cmake), in the
// library vyre_backends.
const Registry& registry();

}  // namespace vyre::device
