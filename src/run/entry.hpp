// SPDX-License-Identifier: Apache-2.0
// Where every call of a user comes in. Nothing leaves but values: memory or threads that the host
// does not have are an error like others, and an error of the device says what was being done.
#pragma once

#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/stop.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::run {

// "dispatching program" and its name, or "reading a buffer" and none.
struct Doing {
  std::string_view what;
  std::string_view name = {};
};

// Does not throw, however little memory there is.
Error out_of_memory(const Doing& doing) noexcept;
// Timeout, with the stage that was stopped and what was being done.
Error stopped_error(const Doing& doing, const Stopped& stopped);
// Names what was being done, unless a caller below has. The first to see a loss describes
// it; all get the same error.
void complete_error(device::Backend& backend, const Doing& doing, Error& error);

template <class Work>
std::invoke_result_t<Work> enter(const Doing& doing, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const Stopped& stopped) {
    return std::unexpected(stopped_error(doing, stopped));
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // a vector that no memory could hold
  } catch (const std::system_error&) {  // no thread
  }
  return std::unexpected(out_of_memory(doing));
}

template <class Work>
std::invoke_result_t<Work> enter(device::Backend& backend, const Doing& doing, Work&& work) {
  return enter(doing, [&] {
    auto result = std::forward<Work>(work)();
    if (!result) [[unlikely]]
      complete_error(backend, doing, result.error());
    else if (backend.is_of_parent()) [[unlikely]]  // a callback has forked: the work is not whole
      result = std::unexpected(backend.check_process().error());
    return result;
  });
}

}  // namespace vyre::run
