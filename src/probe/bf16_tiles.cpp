// SPDX-License-Identifier: Apache-2.0
// Products of tiles by intrinsics, which Highway has none for. The target stands on the function,
// as in dot_bf16.cpp.
#include "probe/bf16_tiles.hpp"

#include "support/bf16_tiles.hpp"

#if defined(__x86_64__)
#include <array>
#include <immintrin.h>
#endif

namespace raceline::probe {

#if defined(__x86_64__)

// A product takes 16 cycles in which another one cannot begin, and is added to its sum 52 cycles
// after it began: four sums keep the unit busy (Intel's optimization reference manual, AMX).
__attribute__((target("amx-tile,amx-bf16,avx512f"))) double bf16_tiles(std::uint64_t rounds) {
    const Bf16TileShapes shapes;
    // 1 and -1 in turns: the sums stay small.
    alignas(64) std::array<std::uint32_t, 256> operand{};
    operand.fill(0xbf803f80U);
    asm volatile("" : : : "memory");
    _tile_loadconfig(&shapes);
    _tile_loadd(4, operand.data(), 64);
    _tile_loadd(5, operand.data(), 64);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (std::uint64_t step = 0; step < rounds * 64; ++step) {
        _tile_dpbf16ps(0, 4, 5);
        _tile_dpbf16ps(1, 4, 5);
        _tile_dpbf16ps(2, 4, 5);
        _tile_dpbf16ps(3, 4, 5);
    }
    _tile_release();
    return static_cast<double>(rounds) * 64 * 4 * bf16_tile_flops;
}

#else

double bf16_tiles(std::uint64_t /*rounds*/) {
    return 0;
}

#endif

}  // namespace raceline::probe
