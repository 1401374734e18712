// SPDX-License-Identifier: Apache-2.0
// What host and device say alike of rungs whose CTAs have tiles of query rows.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::tracks {

struct RowsTile {
    std::int32_t rows;  ///< query rows of a CTA: what shares a staged K or V

    static constexpr std::array<TileField, 1> fields{"rows"};
};

inline constexpr int tile_keys = 32;  ///< of a staged K or V

}  // namespace raceline::kernels::tracks
