// SPDX-License-Identifier: Apache-2.0
// The inner loops of the CPU probes, one set a SIMD target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace raceline::probe {

/// Loops compiled for one Highway target. Memory loops run `rounds` times over `bytes`, which is a
/// multiple of `memory_grain`; arithmetic loops return the work they did (see each).
struct VectorLoops {
    std::string_view target;  ///< avx3, avx2, sse4, neon, sve, …
    int vector_bytes = 0;

    using Read = void (*)(const std::byte* from, std::size_t bytes, std::uint64_t rounds);
    Read read_linear = nullptr;
    Read read_four_streams = nullptr;  ///< four fronts a quarter apart: four DRAM pages at a time
    Read read_prefetched = nullptr;    ///< linear, with software prefetch some lines ahead

    using Write = void (*)(std::byte* to, std::size_t bytes, std::uint64_t rounds);
    Write write_regular = nullptr;
    Write write_streaming = nullptr;  ///< non-temporal

    using Copy = void (*)(std::byte* to, const std::byte* from, std::size_t bytes,
                          std::uint64_t rounds);
    Copy copy_regular = nullptr;
    Copy copy_streaming = nullptr;

    using Arithmetic = double (*)(std::uint64_t rounds);
    Arithmetic fma_12 = nullptr;    ///< flops, in 12 independent chains (fits 16 registers)
    Arithmetic fma_20 = nullptr;    ///< flops, in 20 chains (needs 32 registers)
    Arithmetic simd_mix = nullptr;  ///< fp32 lanes of max and add, half each

    /// to[i] = 2^from[i] for |from[i]| < 126, `count` a multiple of exp_grain; relative error under
    /// 3e-7.
    using Exp2 = void (*)(float* to, const float* from, std::size_t count, std::uint64_t rounds);
    Exp2 exp2_by_4 = nullptr;  ///< four vectors at a time
    Exp2 exp2_by_8 = nullptr;
};

constexpr std::size_t memory_grain = 8192;
constexpr std::size_t exp_grain = 512;

/// The sets that this CPU can run, widest target first, one a vector width.
std::vector<VectorLoops> vector_loops();

}  // namespace raceline::probe
