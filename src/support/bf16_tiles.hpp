// SPDX-License-Identifier: Apache-2.0
// Intel's Advanced Matrix Extensions (AMX): products of tiles of bf16.
#pragma once

#include <array>
#include <cstdint>

namespace raceline {

/// Whether this CPU multiplies tiles of bf16 and the operating system lets this process do it.
/// The first call asks Linux; its answer holds for all threads until the process ends.
///
/// From then on each signal stack (sigaltstack) must be large enough to save the tiles, about 12
/// KiB (getauxval(AT_MINSIGSTKSZ)). If a thread already has a smaller one, the answer is no. A
/// smaller one that is set up later fails with ENOMEM.
bool may_use_bf16_tiles();

/// What is multiplied at a time: 16 rows of 32 elements by 32 rows of 16, into 16 x 16 floats.
constexpr int bf16_tile_rows = 16;
constexpr int bf16_tile_depth = 32;
constexpr double bf16_tile_flops = 2.0 * bf16_tile_rows * bf16_tile_rows * bf16_tile_depth;

/// What a thread tells the CPU before it uses tiles (_tile_loadconfig): all eight are 16 rows of 64
/// bytes. Intel SDM vol. 2, "LDTILECFG".
struct alignas(64) Bf16TileShapes {
    std::uint8_t palette = 1, start = 0;
    std::array<std::uint8_t, 14> reserved{};
    std::array<std::uint16_t, 16> bytes{64, 64, 64, 64, 64, 64, 64, 64};
    std::array<std::uint8_t, 16> rows{16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace raceline
