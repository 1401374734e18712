// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace raceline::probe {

inline constexpr std::size_t mebibyte = std::size_t{1} << 20U;

}  // namespace raceline::probe
