// SPDX-License-Identifier: Apache-2.0
// match(variant, lambdas...): one lambda per alternative. Do not write a generic `auto` arm: it
// would hide an alternative that is added later.
#pragma once

#include <utility>
#include <variant>

namespace vyre {

template <class... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};

template <class Variant, class... Lambdas>
decltype(auto) match(Variant&& variant, Lambdas&&... lambdas) {
  return std::visit(Overloaded<std::decay_t<Lambdas>...>{std::forward<Lambdas>(lambdas)...},
                    std::forward<Variant>(variant));
}

}  // namespace vyre
