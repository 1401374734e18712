// SPDX-License-Identifier: Apache-2.0
// Checks that stay on in release builds. Host files only: device translation units must not
// reach formatting headers, they throw raceline::Error with a plain string.
#pragma once

#include <fmt/core.h>
#include <utility>

#include "raceline/error.hpp"

namespace raceline {

template <class... Args>
[[noreturn]] void fail(Status status, fmt::format_string<Args...> format, Args&&... args) {
    throw Error(status, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void require(bool holds, Status status, fmt::format_string<Args...> format, Args&&... args) {
    if (!holds) [[unlikely]] {
        fail(status, format, std::forward<Args>(args)...);
    }
}

}  // namespace raceline
