// SPDX-License-Identifier: Apache-2.0
// This file is compiled once a SIMD target by Highway's foreach_target.
#include "probe/vector.hpp"

#include <algorithm>
#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "probe/vector.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Chains are written out by name: vectors of targets without a fixed width cannot stand in arrays.
#ifndef RACELINE_CHAINS_4
#define RACELINE_CHAINS_4(X) X(0) X(1) X(2) X(3)
#define RACELINE_CHAINS_8(X) RACELINE_CHAINS_4(X) X(4) X(5) X(6) X(7)
#define RACELINE_CHAINS_12(X) RACELINE_CHAINS_8(X) X(8) X(9) X(10) X(11)
#define RACELINE_CHAINS_20(X) RACELINE_CHAINS_12(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19)
#endif

HWY_BEFORE_NAMESPACE();
namespace raceline::probe::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

using Bytes = hn::ScalableTag<std::uint32_t>;
using Floats = hn::ScalableTag<float>;
using FloatBits = hn::RebindToSigned<Floats>;

std::size_t lane_count() {
    return hn::Lanes(Floats());
}

// What a loop computed must look used, or the compiler drops the loop.
template <class Tag, class Vector>
void keep(Tag tag, Vector vector) {
    volatile auto sink = hn::GetLane(hn::SumOfLanes(tag, vector));
    static_cast<void>(sink);
}

enum class Pattern { linear, four_streams, prefetched };

// One step takes 8 vectors: in a row, or two from each of four fronts.
template <Pattern pattern>
void read(const std::byte* from, std::size_t bytes, std::uint64_t rounds) {
    const Bytes tag;
    const std::size_t lanes = hn::Lanes(tag);
    const auto* base = reinterpret_cast<const std::uint32_t*>(from);
    const std::size_t count = bytes / sizeof(std::uint32_t);
    constexpr bool four = pattern == Pattern::four_streams;
    const std::size_t front = four ? count / 4 : 2 * lanes;
    const std::size_t advance = four ? 2 * lanes : 8 * lanes;
    const std::size_t end = four ? front : count;
#define RACELINE_DECLARE(i) auto sum##i = hn::Zero(tag);
    RACELINE_CHAINS_8(RACELINE_DECLARE)
#undef RACELINE_DECLARE
    for (std::uint64_t round = 0; round < rounds; ++round) {
        for (std::size_t at = 0; at < end; at += advance) {
            const std::uint32_t* p = base + at;
            if constexpr (pattern == Pattern::prefetched) {
                // 2 KiB ahead; the whole step's lines, also where a vector is a quarter of one.
                hwy::Prefetch(p + 512);
                hwy::Prefetch(p + 512 + 2 * lanes);
                hwy::Prefetch(p + 512 + 4 * lanes);
                hwy::Prefetch(p + 512 + 6 * lanes);
            }
#define RACELINE_ADD(i) \
    sum##i = hn::Add(sum##i, hn::Load(tag, p + ((i) / 2) * front + ((i) % 2) * lanes));
            RACELINE_CHAINS_8(RACELINE_ADD)
#undef RACELINE_ADD
        }
    }
    sum0 = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
    sum4 = hn::Add(hn::Add(sum4, sum5), hn::Add(sum6, sum7));
    keep(tag, hn::Add(sum0, sum4));
}

template <bool streaming>
void store(hn::Vec<Bytes> value, Bytes tag, std::uint32_t* to) {
    if constexpr (streaming) {
        hn::Stream(value, tag, to);
    } else {
        hn::Store(value, tag, to);
    }
}

template <bool streaming>
void write(std::byte* to, std::size_t bytes, std::uint64_t rounds) {
    const Bytes tag;
    const std::size_t lanes = hn::Lanes(tag);
    auto* base = reinterpret_cast<std::uint32_t*>(to);
    const std::size_t count = bytes / sizeof(std::uint32_t);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const auto value = hn::Set(tag, static_cast<std::uint32_t>(round) + 0x3f800001U);
        for (std::size_t at = 0; at < count; at += 4 * lanes) {
#define RACELINE_STORE(i) store<streaming>(value, tag, base + at + (i) * lanes);
            RACELINE_CHAINS_4(RACELINE_STORE)
#undef RACELINE_STORE
        }
    }
    hwy::FlushStream();
}

template <bool streaming>
void copy(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t rounds) {
    const Bytes tag;
    const std::size_t lanes = hn::Lanes(tag);
    auto* target = reinterpret_cast<std::uint32_t*>(to);
    const auto* source = reinterpret_cast<const std::uint32_t*>(from);
    const std::size_t count = bytes / sizeof(std::uint32_t);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        for (std::size_t at = 0; at < count; at += 4 * lanes) {
#define RACELINE_LOAD(i) const auto value##i = hn::Load(tag, source + at + (i) * lanes);
#define RACELINE_STORE(i) store<streaming>(value##i, tag, target + at + (i) * lanes);
            RACELINE_CHAINS_4(RACELINE_LOAD)
            RACELINE_CHAINS_4(RACELINE_STORE)
#undef RACELINE_LOAD
#undef RACELINE_STORE
        }
    }
    hwy::FlushStream();
}

// x -> x * factor + term with its fixed point near 1: never a denormal, never infinite.
#define RACELINE_START(i) \
    [[maybe_unused]] auto x##i = hn::Set(tag, 1.0F + 0.01F * static_cast<float>(i));
#define RACELINE_FMA(i)         \
    if constexpr ((i) < chains) \
        x##i = hn::MulAdd(x##i, factor, term);
#define RACELINE_TOTAL(i)       \
    if constexpr ((i) < chains) \
        total = hn::Add(total, x##i);

template <int chains>
double fma(std::uint64_t rounds) {
    const Floats tag;
    volatile float opaque = 0.999F;
    const auto factor = hn::Set(tag, opaque);
    const auto term = hn::Set(tag, 1.0F - opaque);
    RACELINE_CHAINS_20(RACELINE_START)
    for (std::uint64_t round = 0; round < rounds * 64; ++round) {
        RACELINE_CHAINS_20(RACELINE_FMA)
    }
    auto total = hn::Zero(tag);
    RACELINE_CHAINS_20(RACELINE_TOTAL)
    keep(tag, total);
    return static_cast<double>(rounds * 64 * chains * 2 * lane_count());
}

// Running maxima and running sums side by side, as a softmax has them.
double simd_mix(std::uint64_t rounds) {
    const Floats tag;
    volatile float opaque = 1e-3F;
    const auto step = hn::Set(tag, opaque);
    auto bound = hn::Set(tag, 1.0F);
    RACELINE_CHAINS_12(RACELINE_START)
    for (std::uint64_t round = 0; round < rounds * 64; ++round) {
        bound = hn::Add(bound, step);
#define RACELINE_MIX(i) x##i = ((i) % 2) == 0 ? hn::Max(x##i, bound) : hn::Add(x##i, step);
        RACELINE_CHAINS_12(RACELINE_MIX)
#undef RACELINE_MIX
    }
    constexpr int chains = 12;
    auto total = bound;
    RACELINE_CHAINS_12(RACELINE_TOTAL)
    keep(tag, total);
    return static_cast<double>(rounds * 64 * 13 * lane_count());
}

#undef RACELINE_START
#undef RACELINE_FMA
#undef RACELINE_TOTAL

// 2^x = 2^n · 2^f, n the nearest integer. Adding 1.5·2^23 rounds x and leaves n in the low bits of
// the sum, from where a shift moves it into the exponent. 2^f: Chebyshev interpolation of degree 5
// on [-1/2, 1/2], relative error 1.0e-7 before rounding.
hn::Vec<Floats> exp2_lanes(Floats tag, hn::Vec<Floats> x) {
    const FloatBits bits;
    x = hn::Max(x, hn::Set(tag, -126.0F));
    const auto magic = hn::Set(tag, 12582912.0F);
    const auto shifted = hn::Add(x, magic);
    const auto f = hn::Sub(x, hn::Sub(shifted, magic));
    auto p = hn::Set(tag, 1.3390863e-3F);
    p = hn::MulAdd(p, f, hn::Set(tag, 9.6760319e-3F));
    p = hn::MulAdd(p, f, hn::Set(tag, 5.5503571e-2F));
    p = hn::MulAdd(p, f, hn::Set(tag, 2.4022107e-1F));
    p = hn::MulAdd(p, f, hn::Set(tag, 6.9314719e-1F));
    p = hn::MulAdd(p, f, hn::Set(tag, 1.0000001F));
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(bits, shifted));
    return hn::BitCast(tag, hn::Add(hn::BitCast(bits, p), exponent));
}

#define RACELINE_EXP(i)                         \
    [[maybe_unused]] auto y##i = hn::Zero(tag); \
    if constexpr ((i) < vectors)                \
        y##i = exp2_lanes(tag, hn::Load(tag, from + at + (i) * lanes));
#define RACELINE_STORE(i)        \
    if constexpr ((i) < vectors) \
        hn::Store(y##i, tag, to + at + (i) * lanes);

template <int vectors>
void exp2(float* to, const float* from, std::size_t count, std::uint64_t rounds) {
    const Floats tag;
    const std::size_t lanes = hn::Lanes(tag);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        for (std::size_t at = 0; at < count; at += vectors * lanes) {
            RACELINE_CHAINS_8(RACELINE_EXP)
            RACELINE_CHAINS_8(RACELINE_STORE)
        }
    }
}

#undef RACELINE_EXP
#undef RACELINE_STORE

}  // namespace

VectorLoops loops(std::string_view target) {
    VectorLoops set;
    set.target = target;
    set.vector_bytes = static_cast<int>(lane_count() * sizeof(float));
    set.read_linear = read<Pattern::linear>;
    set.read_four_streams = read<Pattern::four_streams>;
    set.read_prefetched = read<Pattern::prefetched>;
    set.write_regular = write<false>;
    set.write_streaming = write<true>;
    set.copy_regular = copy<false>;
    set.copy_streaming = copy<true>;
    set.fma_12 = fma<12>;
    set.fma_20 = fma<20>;
    set.simd_mix = simd_mix;
    set.exp2_by_4 = exp2<4>;
    set.exp2_by_8 = exp2<8>;
    return set;
}

}  // namespace raceline::probe::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace raceline::probe {

// Highway's own dispatch only ever gives the best target; the probes want the narrower ones too.
std::vector<VectorLoops> vector_loops() {
    std::vector<VectorLoops> sets;
    // Where the baseline is all that is compiled, there is none to offer.
    [[maybe_unused]] const auto offer = [&sets](std::int64_t target, std::string_view name,
                                                auto* loops) {
        if ((hwy::SupportedTargets() & target) == 0) {
            return;
        }
        const VectorLoops set = loops(name);
        const bool known = std::any_of(sets.begin(), sets.end(), [&](const VectorLoops& other) {
            return other.vector_bytes == set.vector_bytes;
        });
        if (!known) {
            sets.push_back(set);
        }
    };
#if HWY_TARGETS & HWY_AVX3
    offer(HWY_AVX3, "avx3", &N_AVX3::loops);
#endif
#if HWY_TARGETS & HWY_AVX2
    offer(HWY_AVX2, "avx2", &N_AVX2::loops);
#endif
#if HWY_TARGETS & HWY_SSE4
    offer(HWY_SSE4, "sse4", &N_SSE4::loops);
#endif
#if HWY_TARGETS & HWY_SSSE3
    offer(HWY_SSSE3, "ssse3", &N_SSSE3::loops);
#endif
#if HWY_TARGETS & HWY_SVE2
    offer(HWY_SVE2, "sve2", &N_SVE2::loops);
#endif
#if HWY_TARGETS & HWY_SVE
    offer(HWY_SVE, "sve", &N_SVE::loops);
#endif
#if HWY_TARGETS & HWY_NEON
    offer(HWY_NEON, "neon", &N_NEON::loops);
#endif
    if (sets.empty()) {
        sets.push_back(HWY_STATIC_DISPATCH(loops)("baseline"));
    }
    return sets;
}

}  // namespace raceline::probe
#endif  // HWY_ONCE
