// SPDX-License-Identifier: Apache-2.0
// Four vectors of floats at a time, from and to memory in any storage type, without a buffer in
// between. Compiled once for each SIMD target.
#if defined(RACELINE_CPU_SIMD_GROUP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_SIMD_GROUP_INL
#undef RACELINE_CPU_SIMD_GROUP_INL
#else
#define RACELINE_CPU_SIMD_GROUP_INL
#endif

#include <array>
#include <cstdint>
#include <cstring>
#include <hwy/highway.h>

#include "cpu/simd/elements-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::simd::HWY_NAMESPACE {

/// Enough independent work to hide the latency of a sum or a polynomial.
struct Group {
    Vec a, b, c, d;
};
inline constexpr auto kGroup = static_cast<std::int64_t>(4 * kLanes);

template <class Function>
HWY_INLINE Group map(const Group& x, const Function& function) {
    return {function(x.a), function(x.b), function(x.c), function(x.d)};
}

template <class Function>
HWY_INLINE Group map(const Group& x, const Group& y, const Function& function) {
    return {function(x.a, y.a), function(x.b, y.b), function(x.c, y.c), function(x.d, y.d)};
}

HWY_INLINE Group group_of(float x) {
    const Vec v = hn::Set(F(), x);
    return {v, v, v, v};
}

/// False means that there is no NaN in it. Infinities of both signs may look like one.
RACELINE_SIMD_INLINE bool may_have_nan(const Group& x) {
    const Vec sum = hn::Add(hn::Add(x.a, x.b), hn::Add(x.c, x.d));
    return !hn::AllFalse(F(), hn::IsNaN(sum));
}

RACELINE_SIMD_INLINE bool has_nan(const Group& x) {
    const auto first = hn::Or(hn::IsNaN(x.a), hn::IsNaN(x.b));
    const auto second = hn::Or(hn::IsNaN(x.c), hn::IsNaN(x.d));
    return !hn::AllFalse(F(), hn::Or(first, second));
}

HWY_INLINE Group load_floats(const float* at) {
    const F d;
    return {hn::LoadU(d, at), hn::LoadU(d, at + kLanes), hn::LoadU(d, at + 2 * kLanes),
            hn::LoadU(d, at + 3 * kLanes)};
}

/// `streams`: past the caches, to an address that is aligned to a vector.
template <bool streams, class D, class V>
HWY_INLINE void put_vector(const V& v, D d, hn::TFromD<D>* at) {
    if constexpr (streams) {
        hn::Stream(v, d, at);
    } else {
        hn::StoreU(v, d, at);
    }
}

template <bool streams>
HWY_INLINE void put_floats(const Group& x, float* at) {
    const F d;
    put_vector<streams>(x.a, d, at);
    put_vector<streams>(x.b, d, at + kLanes);
    put_vector<streams>(x.c, d, at + 2 * kLanes);
    put_vector<streams>(x.d, d, at + 3 * kLanes);
}

// A format says how elements of a type lie in memory, and in which order a group has them. All
// operands of a step have one format, so that the order does not matter to what is done to each
// element by itself.

struct FormatOfFp32 {
    static constexpr std::size_t bytes = 4;
    static HWY_INLINE Group load(const std::byte* at) {
        return load_floats(reinterpret_cast<const float*>(at));
    }
    template <bool streams>
    static HWY_INLINE void put(const Group& x, std::byte* at) {
        put_floats<streams>(x, reinterpret_cast<float*>(at));
    }
};

struct FormatOfFp16 {
    static constexpr std::size_t bytes = 2;
    static HWY_INLINE Group load(const std::byte* at) {
        constexpr std::size_t vector = kLanes * bytes;
        return {simd::HWY_NAMESPACE::load<DType::fp16>(at),
                simd::HWY_NAMESPACE::load<DType::fp16>(at + vector),
                simd::HWY_NAMESPACE::load<DType::fp16>(at + 2 * vector),
                simd::HWY_NAMESPACE::load<DType::fp16>(at + 3 * vector)};
    }
    template <bool streams>
    static HWY_INLINE void put(const Group& x, std::byte* at) {
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
        const hn::Repartition<std::uint16_t, F> d16;
        const hn::Rebind<hwy::float16_t, F> half;
        const hn::Rebind<std::uint16_t, F> half_bits;
        const auto demoted = [&](Vec v) { return hn::BitCast(half_bits, hn::DemoteTo(half, v)); };
        auto* to = reinterpret_cast<std::uint16_t*>(at);
        put_vector<streams>(hn::Combine(d16, demoted(x.b), demoted(x.a)), d16, to);
        put_vector<streams>(hn::Combine(d16, demoted(x.d), demoted(x.c)), d16, to + 2 * kLanes);
#else
        // Highway's emulation truncates.
        alignas(64) std::array<float, kGroup> floats;
        put_floats<false>(x, floats.data());
        from_float(floats.data(), 1.0F, DType::fp16, floats.size(), at);
#endif
    }
};

/// Bits of the nearest bf16, ties to even, in the upper half of each lane.
template <bool with_nan>
RACELINE_SIMD_INLINE hn::Vec<U> rounded_to_bf16(Vec x) {
    const U du;
    const auto bits = hn::BitCast(du, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto up = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF)));
    if constexpr (with_nan) {
        return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), hn::Or(bits, hn::Set(du, 0x400000)),
                              up);
    } else {
        return up;
    }
}

template <bool with_nan, class Pack>
HWY_INLINE void pack_bf16(const Group& x, const Pack& pack) {
    pack(rounded_to_bf16<with_nan>(x.a), rounded_to_bf16<with_nan>(x.b), 0);
    pack(rounded_to_bf16<with_nan>(x.c), rounded_to_bf16<with_nan>(x.d), 1);
}

/// Elements in the order of memory.
struct FormatOfBf16 {
    static constexpr std::size_t bytes = 2;
    static HWY_INLINE Group load(const std::byte* at) {
        constexpr std::size_t vector = kLanes * bytes;
        return {simd::HWY_NAMESPACE::load<DType::bf16>(at),
                simd::HWY_NAMESPACE::load<DType::bf16>(at + vector),
                simd::HWY_NAMESPACE::load<DType::bf16>(at + 2 * vector),
                simd::HWY_NAMESPACE::load<DType::bf16>(at + 3 * vector)};
    }
    template <bool streams>
    static HWY_INLINE void put(const Group& x, std::byte* at) {
        const hn::Repartition<std::uint16_t, F> d16;
        const hn::Rebind<std::uint16_t, F> half;
        auto* to = reinterpret_cast<std::uint16_t*>(at);
        const auto pack = [&](auto low, auto high, std::size_t place) {
            const auto cut = [&](auto v) { return hn::TruncateTo(half, hn::ShiftRight<16>(v)); };
            put_vector<streams>(hn::Combine(d16, cut(high), cut(low)), d16,
                                to + place * 2 * kLanes);
        };
        if (may_have_nan(x)) {
            pack_bf16<true>(x, pack);
        } else {
            pack_bf16<false>(x, pack);
        }
    }
};

/// A vector of elements with even numbers, then one of those with odd numbers: a shift and a mask
/// take them apart, and a mask puts them together again.
struct FormatOfBf16Pairs {
    static constexpr std::size_t bytes = 2;
    static HWY_INLINE Group load(const std::byte* at) {
        const F d;
        const U du;
        const auto* from = reinterpret_cast<const std::uint32_t*>(at);
        const auto first = hn::LoadU(du, from);
        const auto second = hn::LoadU(du, from + kLanes);
        const auto even = [&](auto v) { return hn::BitCast(d, hn::ShiftLeft<16>(v)); };
        const auto odd = [&](auto v) {
            return hn::BitCast(d, hn::And(v, hn::Set(du, 0xFFFF0000)));
        };
        return {even(first), odd(first), even(second), odd(second)};
    }
    template <bool streams>
    static HWY_INLINE void put(const Group& x, std::byte* at) {
        const U du;
        auto* to = reinterpret_cast<std::uint32_t*>(at);
        const auto pack = [&](auto even, auto odd, std::size_t place) {
            const auto upper = hn::And(odd, hn::Set(du, 0xFFFF0000));
            put_vector<streams>(hn::Or(hn::ShiftRight<16>(even), upper), du, to + place * kLanes);
        };
        if (may_have_nan(x)) {
            pack_bf16<true>(x, pack);
        } else {
            pack_bf16<false>(x, pack);
        }
    }
};

/// The first `count` elements of a group; the others are 0.
template <class Format>
RACELINE_SIMD_INLINE Group load_some(const std::byte* at, std::int64_t count) {
    if (count >= kGroup) {
        return Format::load(at);
    }
    alignas(64) std::array<std::byte, static_cast<std::size_t>(kGroup) * Format::bytes> whole{};
    std::memcpy(whole.data(), at, static_cast<std::size_t>(count) * Format::bytes);
    return Format::load(whole.data());
}

/// `streams`: past the caches where the address allows it.
template <class Format>
RACELINE_SIMD_INLINE void put_some(const Group& x, std::int64_t count, bool streams,
                                   std::byte* at) {
    if (count >= kGroup) {
        if (streams && reinterpret_cast<std::uintptr_t>(at) % (kLanes * sizeof(float)) == 0) {
            Format::template put<true>(x, at);
        } else {
            Format::template put<false>(x, at);
        }
        return;
    }
    alignas(64) std::array<std::byte, static_cast<std::size_t>(kGroup) * Format::bytes> whole;
    Format::template put<false>(x, whole.data());
    std::memcpy(at, whole.data(), static_cast<std::size_t>(count) * Format::bytes);
}

/// The group with `neutral` in place of the elements behind the first `count`.
template <class Format>
RACELINE_SIMD_INLINE Group only_some(const Group& x, std::int64_t count, float neutral) {
    if (count >= kGroup) {
        return x;
    }
    // What a group of this format looks like whose first elements are 0 and whose others are not.
    alignas(64) std::array<std::byte, static_cast<std::size_t>(kGroup) * Format::bytes> others;
    Format::template put<false>(group_of(1.0F), others.data());
    std::memset(others.data(), 0, static_cast<std::size_t>(count) * Format::bytes);
    const F d;
    return map(x, Format::load(others.data()), [&](Vec v, Vec other) {
        return hn::IfThenElse(hn::Eq(other, hn::Zero(d)), v, hn::Set(d, neutral));
    });
}

}  // namespace raceline::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
