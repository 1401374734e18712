// SPDX-License-Identifier: Apache-2.0
// Products of tiles of bf16 by Intel's AMX (TDPBF16PS, Intel SDM vol. 2): 16 rows by 16 lanes, 32
// elements deep. Its operands are those of DotEngine, but for V: a tile wants the keys of a column
// side by side, so that V is transposed as it is packed. Reached only where products_of() says so.
#if defined(RACELINE_CPU_FLASH_TILES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_FLASH_TILES_INL
#undef RACELINE_CPU_FLASH_TILES_INL
#else
#define RACELINE_CPU_FLASH_TILES_INL
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/cpu_flash/dot-inl.hpp"

#define RACELINE_TILES_TARGET                                                                \
    __attribute__((target(                                                                   \
        "amx-tile,amx-bf16,avx512bf16,avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi," \
        "bmi2,lzcnt,popcnt,sse4.2,pclmul,aes")))

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86
struct TileEngine : DotEngine {
    static constexpr std::int64_t keys_at_once = 32;

    /// The shapes of this thread's tiles: all are 16 rows of 64 bytes.
    RACELINE_TILES_TARGET static HWY_NOINLINE void open() {
        static constexpr Bf16TileShapes shapes;
        _tile_loadconfig(&shapes);
    }
    /// A thread that keeps tiles has 8 KiB more to save at each switch.
    RACELINE_TILES_TARGET static HWY_NOINLINE void close() { _tile_release(); }

    static std::int64_t value_row(const PrefillScratch& /*at*/, std::int64_t tile_keys) {
        return spread_row(tile_keys / 2);
    }
    static Broadcasts<Unit> values(const Unit* v, std::int64_t first, std::int64_t row) {
        return {v + first / 2, row, 1};
    }

    /// Up to 32 rows and two vectors of C. Tiles 0 to 3 are sums, 4 and 5 of A, 6 and 7 of B.
    template <int vectors, bool more_rows, bool more_lanes>
    RACELINE_TILES_TARGET static HWY_INLINE void block(Broadcasts<Unit> a, const Unit* b, float* c,
                                                       std::size_t depth, bool accumulate) {
        constexpr std::size_t line = vectors * 64;  // bytes from row to row of B and C
        float* lower = c + 16 * vectors * 16;
        if (accumulate) {
            _tile_loadd(0, c, line);
            if constexpr (more_lanes) {
                _tile_loadd(1, c + 16, line);
            }
            if constexpr (more_rows) {
                _tile_loadd(2, lower, line);
            }
            if constexpr (more_rows && more_lanes) {
                _tile_loadd(3, lower + 16, line);
            }
        } else {
            _tile_zero(0);
            _tile_zero(1);
            _tile_zero(2);
            _tile_zero(3);
        }
        const std::size_t row = static_cast<std::size_t>(a.row) * sizeof(Unit);
        for (std::size_t k = 0; k < depth; k += 16) {
            const Unit* right = b + k * vectors * 16;
            _tile_loadd(4, a.data + k, row);
            _tile_loadd(6, right, line);
            _tile_dpbf16ps(0, 4, 6);
            if constexpr (more_lanes) {
                _tile_loadd(7, right + 16, line);
                _tile_dpbf16ps(1, 4, 7);
            }
            if constexpr (more_rows) {
                _tile_loadd(5, a.data + 16 * a.row + static_cast<std::ptrdiff_t>(k), row);
                _tile_dpbf16ps(2, 5, 6);
            }
            if constexpr (more_rows && more_lanes) {
                _tile_dpbf16ps(3, 5, 7);
            }
        }
        _tile_stored(0, c, line);
        if constexpr (more_lanes) {
            _tile_stored(1, c + 16, line);
        }
        if constexpr (more_rows) {
            _tile_stored(2, lower, line);
        }
        if constexpr (more_rows && more_lanes) {
            _tile_stored(3, lower + 16, line);
        }
    }

    template <int vectors, bool more_rows>
    RACELINE_TILES_TARGET static HWY_INLINE void rows_of(Broadcasts<Unit> a, const Unit* b,
                                                         float* c, std::size_t depth,
                                                         bool accumulate) {
        RACELINE_UNROLL
        for (int v = 0; v + 1 < vectors; v += 2) {
            block<vectors, more_rows, true>(a, b + v * 16, c + v * 16, depth, accumulate);
        }
        if constexpr (vectors % 2 != 0) {
            constexpr int last = vectors - 1;
            block<vectors, more_rows, false>(a, b + last * 16, c + last * 16, depth, accumulate);
        }
    }

    /// As gemm(): rows and pairs are multiples of 16, and the pairs of a row stand side by side.
    template <int vectors>
    RACELINE_TILES_TARGET static HWY_NOINLINE void multiply(Broadcasts<Unit> a, std::size_t rows,
                                                            const Unit* b, float* c,
                                                            std::size_t depth, bool accumulate) {
        // g++ takes loads of tiles for assembly that reads no memory.
        asm volatile("" : : : "memory");
        std::size_t r = 0;
        const auto at = [&](std::size_t first) {
            return Broadcasts<Unit>{a.data + static_cast<std::ptrdiff_t>(first) * a.row, a.row, 1};
        };
        for (; r + 32 <= rows; r += 32) {
            rows_of<vectors, true>(at(r), b, c + r * vectors * 16, depth, accumulate);
        }
        if (r < rows) {
            rows_of<vectors, false>(at(r), b, c + r * vectors * 16, depth, accumulate);
        }
        asm volatile("" : : : "memory");
    }

    /// (columns, keys): a column's keys stand in pairs, zeros behind the last. Of K, which
    /// DotEngine packs, the rest of a tile may be anything: its scores are masked.
    static void pack_values(const CacheRows& v, std::int64_t key0, std::int64_t count,
                            std::size_t columns, float* to, std::int64_t stride) {
        constexpr std::int64_t pairs_at_once = keys_at_once / 2;
        const auto padded = static_cast<std::int64_t>(columns + 15) / 16 * 16;
        HWY_ALIGN float rows[pairs_at_once * kHeaddimMost];
        for (std::int64_t j = 0; j < count; j += keys_at_once) {
            const std::int64_t keys = std::min(count - j, keys_at_once);
            DotEngine::pack_values(v, key0 + j, keys, columns, rows, padded);
            const std::int64_t pairs = (keys + 1) / 2;
            std::fill(rows + pairs * padded, rows + pairs_at_once * padded, 0.0F);
            rows_to_panel(rows, static_cast<std::size_t>(padded), columns, to + j / 2,
                          static_cast<std::size_t>(stride));
        }
    }
};
#endif

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
