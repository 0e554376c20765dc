// SPDX-License-Identifier: Apache-2.0
// Where every function of vyre.h comes in. Nothing leaves but values: what fails inside, also for
// want of memory, becomes a vyre_error.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/stop.hpp"
#include "c/handle.hpp"
#include "vyre/base/result.hpp"

namespace vyre::c {

using Json = nlohmann::ordered_json;

// Never NULL: without memory, an error that says so and needs none. The source gives carets; null:
// there is none.
vyre_error* make_error(const Error& error, const Source* source) noexcept;
vyre_error* out_of_memory() noexcept;
// For what nothing of this library throws, so that a callback has.
vyre_error* thrown(const Source* source) noexcept;
// What a callback of the caller gave, as an error of the library; releases it.
Error take_error(vyre_error* error);

// What `work` (Result<void>()) gives.
template <class Work>
vyre_error* guarded(const Source* source, Work&& work) noexcept {
  try {
    const Result<void> done = std::forward<Work>(work)();
    return done ? nullptr : make_error(done.error(), source);
  } catch (const Stopped& stopped) {
    return make_error(error_of(stopped), source);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {  // what no memory could hold
    return out_of_memory();
  } catch (const std::system_error&) {  // no thread
    return out_of_memory();
  } catch (...) {
    return thrown(source);
  }
}
template <class Work>
vyre_error* guarded(Work&& work) noexcept {
  return guarded(nullptr, std::forward<Work>(work));
}

// InvalidArgument, naming the argument.
std::unexpected<Error> null_argument(std::string_view name);
inline Result<void> require(const void* pointer, std::string_view name) {
  if (pointer == nullptr) return null_argument(name);
  return {};
}
// Bytes of the caller: a null pointer only with 0 bytes, and no more than an address space has.
Result<void> require_bytes(const void* pointer, uint64_t bytes, std::string_view name);
// The struct of a caller whose header is as old as this one, or newer.
Result<void> require_struct(size_t given, size_t known, std::string_view name);

// A new handle for the caller, when all else is done.
void give(vyre_data** to, std::string bytes);
// Bytes that are no UTF-8 (names of files) become U+FFFD.
void give(vyre_data** to, const Json& json);

}  // namespace vyre::c
