// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "raceline/error.hpp"

namespace raceline::api {

/// What a wrong argument is refused with.
inline constexpr auto bad = Status::invalid_argument;

}  // namespace raceline::api
