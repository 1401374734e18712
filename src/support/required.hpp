// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <utility>

namespace raceline {

/// A value that must be given: leaving it out of a record does not compile.
template <class T>
struct Required {
    T value;
    template <class U>
        requires std::convertible_to<U, T>
    constexpr Required(U&& given) : value(std::forward<U>(given)) {}  // NOLINT
    Required() = delete;
};

}  // namespace raceline
