// SPDX-License-Identifier: Apache-2.0
// A callable that a function takes and calls while it runs: two words, no allocation, no template
// in the function that takes it. It does not own the callable, so it must not outlive the call.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace vyre {

template <class Signature>
class FunctionRef;

template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  // Not explicit: callers pass lambdas. What a callable returns is dropped where Result is void.
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Result, Callable&, Args...>)
  FunctionRef(Callable&& callable)  // NOLINT(google-explicit-constructor,bugprone-forwarding-*)
      : callable_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* at, Args... args) -> Result {
          return static_cast<Result>(
              (*static_cast<std::remove_reference_t<Callable>*>(at))(std::forward<Args>(args)...));
        }) {}

  Result operator()(Args... args) const { return call_(callable_, std::forward<Args>(args)...); }

 private:
  void* callable_;
  Result (*call_)(void*, Args...);
};

}  // namespace vyre
