// SPDX-License-Identifier: Apache-2.0
// Vector code that kernels on CPUs share, compiled once for each SIMD target: conversion of storage
// types, 2^x, tanh.
#if defined(RACELINE_CPU_SIMD_ELEMENTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_SIMD_ELEMENTS_INL
#undef RACELINE_CPU_SIMD_ELEMENTS_INL
#else
#define RACELINE_CPU_SIMD_ELEMENTS_INL
#endif

#include <bit>
#include <cstdint>
#include <cstring>
#include <hwy/highway.h>
#include <limits>

#include "raceline/dtype.hpp"

// What kernels call for each few vectors. The portable target does an operation on a vector as a
// loop over its lanes: inlined everywhere, such loops took half of the time that kernels of the CPU
// take to compile, for a target that only CPUs without SSE4.1 run. As calls they take these up to
// four times as long (rmsnorm in bf16; adam 1.5 times, softmax as before).
#undef RACELINE_SIMD_INLINE
#if HWY_TARGET == HWY_EMU128
#define RACELINE_SIMD_INLINE inline HWY_NOINLINE
#else
#define RACELINE_SIMD_INLINE HWY_INLINE
#endif

HWY_BEFORE_NAMESPACE();
namespace raceline::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::RebindToSigned<F>;
using U = hn::RebindToUnsigned<F>;
using Vec = hn::Vec<F>;
inline constexpr std::size_t kLanes = HWY_MAX_BYTES / sizeof(float);

// Far below every score in powers of two, yet finite: a row without keys so far stays at it, and
// differences from it never become NaN.
inline constexpr float kNoPeak = -1e30F;

/// 2^x; NaN gives NaN, and +inf what is not finite. Minimax polynomial of degree 5 for the
/// fraction, 7.5e-8 relative; with roundings under 1.5 ulp. Results under 2^-126 are 0.
RACELINE_SIMD_INLINE Vec exp2(Vec x) {
    const F d;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    // One instruction each for the fraction and for the power; -inf comes out as 0.
    const Vec f{_mm512_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
    Vec p = hn::MulAdd(f, hn::Set(d, 1.877576700e-03F), hn::Set(d, 8.989340024e-03F));
    p = hn::MulAdd(p, f, hn::Set(d, 5.582631812e-02F));
    p = hn::MulAdd(p, f, hn::Set(d, 2.401536170e-01F));
    p = hn::MulAdd(p, f, hn::Set(d, 6.931530732e-01F));
    p = hn::MulAdd(p, f, hn::Set(d, 9.999999251e-01F));
    return Vec{_mm512_scalef_ps(p.raw, x.raw)};
#else
    const I di;
    const Vec limit = hn::Set(d, -126.0F);
    // NaN must come through. x86 gives the second operand where either is NaN, ARM gives NaN;
    // elsewhere, also in the portable target that CPUs without SSE4 take, it is put back.
    const Vec z = hn::Max(limit, x);
    // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits: with the
    // exponent's bias added it becomes the power of two itself by a shift. The product with it is
    // exact, and keeps NaN, which a sum of bits would not.
    const Vec magic = hn::Set(d, 12582912.0F + 127.0F);
    const Vec shifted = hn::Add(z, magic);
    const Vec f = hn::Sub(z, hn::Sub(shifted, magic));
    Vec p = hn::MulAdd(f, hn::Set(d, 1.327647217e-03F), hn::Set(d, 9.675541331e-03F));
    p = hn::MulAdd(p, f, hn::Set(d, 5.550713273e-02F));
    p = hn::MulAdd(p, f, hn::Set(d, 2.402211972e-01F));
    p = hn::MulAdd(p, f, hn::Set(d, 6.931469671e-01F));
    p = hn::MulAdd(p, f, hn::Set(d, 1.000000072e+00F));
    const Vec power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
    const Vec y = hn::IfThenZeroElse(hn::Lt(x, limit), hn::Mul(p, power));
#if HWY_TARGET != HWY_EMU128 && (HWY_ARCH_X86 || HWY_ARCH_ARM_A64)
    return y;
#else
    return hn::IfThenElse(hn::IsNaN(x), x, y);
#endif
#endif
}

/// (2^f - 1) / f on [-1/2, 1/2], Taylor to 1e-9.
HWY_INLINE Vec power_minus_one(Vec f) {
    const F d;
    Vec p = hn::MulAdd(f, hn::Set(d, 1.525273e-05F), hn::Set(d, 1.540353e-04F));
    p = hn::MulAdd(p, f, hn::Set(d, 1.333355815e-03F));
    p = hn::MulAdd(p, f, hn::Set(d, 9.618129108e-03F));
    p = hn::MulAdd(p, f, hn::Set(d, 5.550410866e-02F));
    p = hn::MulAdd(p, f, hn::Set(d, 2.402265070e-01F));
    return hn::MulAdd(p, f, hn::Set(d, 6.931471806e-01F));
}

/// e^x to 1 ulp: x log2(e) is taken in two pieces, so that its rounding does not grow with x.
/// Results under 2^-126 are 0; NaN gives NaN.
RACELINE_SIMD_INLINE Vec exp(Vec x) {
    const F d;
    const I di;
    const Vec log2_e = hn::Set(d, 1.44269502162933349609F);
    const Vec rest = hn::Set(d, 1.92596299112661746887e-8F);
    // Over 128 and under -127 every power is inf or 0 already; in this order x86 lets NaN through.
    const Vec near = hn::Min(hn::Set(d, 89.0F), hn::Max(hn::Set(d, -88.0F), x));
    const Vec n = hn::Round(hn::Mul(near, log2_e));
    const Vec f = hn::MulAdd(near, rest, hn::MulSub(near, log2_e, n));
    const Vec mantissa = hn::MulAdd(power_minus_one(f), f, hn::Set(d, 1.0F));
    // The power in two factors, of which neither leaves the range of exponents.
    const auto whole = hn::ConvertTo(di, n);
    const auto half = hn::ShiftRight<1>(whole);
    const auto power_of = [&](auto exponent) {
        return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(di, 127))));
    };
    const Vec y = hn::Mul(hn::Mul(mantissa, power_of(half)), power_of(hn::Sub(whole, half)));
    const Vec value = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33F)), y);
    return hn::IfThenElse(hn::IsNaN(x), x, value);
}

/// tanh(x) through 2^y - 1, which keeps small arguments exact to a few ulp.
RACELINE_SIMD_INLINE Vec tanh(Vec x) {
    const F d;
    const I di;
    const Vec one = hn::Set(d, 1.0F);
    // tanh(|x|) = e / (e + 2) with e = 2^y - 1 and y = 2 |x| log2(e); over 10 it is 1 in fp32.
    // In this order x86 lets NaN through.
    const Vec y = hn::Mul(hn::Min(hn::Set(d, 10.0F), hn::Abs(x)), hn::Set(d, 2.885390082F));
    const Vec n = hn::Round(y);
    const Vec f = hn::Sub(y, n);
    const Vec p = power_minus_one(f);
    const auto bits = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
    const Vec power = hn::BitCast(d, bits);
    const Vec e = hn::MulAdd(hn::Mul(p, f), power, hn::Sub(power, one));
    const Vec bent = hn::CopySignToAbs(hn::Div(e, hn::Add(e, hn::Set(d, 2.0F))), x);
#if HWY_TARGET != HWY_EMU128 && (HWY_ARCH_X86 || HWY_ARCH_ARM_A64)
    return bent;
#else
    return hn::IfThenElse(hn::IsNaN(x), x, bent);
#endif
}

/// One element as float.
inline float load_one(const void* at, DType type) {
    switch (type) {
        case DType::fp32: {
            float x;
            std::memcpy(&x, at, 4);
            return x;
        }
        case DType::fp16: {
            std::uint16_t bits;
            std::memcpy(&bits, at, 2);
            const std::uint32_t moved = static_cast<std::uint32_t>(bits & 0x7FFF) << 13;
            const float size = (bits & 0x7C00) == 0x7C00 ? std::bit_cast<float>(moved | 0x7F800000)
                                                         : std::bit_cast<float>(moved) * 0x1p112F;
            return (bits & 0x8000) ? -size : size;
        }
        case DType::bf16: {
            std::uint16_t bits;
            std::memcpy(&bits, at, 2);
            return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
        }
        default: {  // e4m3: one sign, four exponent (bias 7), three mantissa bits; no infinity
            std::uint8_t bits;
            std::memcpy(&bits, at, 1);
            if ((bits & 0x7F) == 0x7F) {
                return std::numeric_limits<float>::quiet_NaN();
            }
            const float size =
                std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0x7F) << 20) * 0x1p120F;
            return (bits & 0x80) ? -size : size;
        }
    }
}

/// kLanes elements as float. `type` is a template parameter in inner loops.
template <DType type>
RACELINE_SIMD_INLINE Vec load(const void* at) {
    const F d;
    const U du;
    if constexpr (type == DType::fp32) {
        return hn::LoadU(d, static_cast<const float*>(at));
    } else if constexpr (type == DType::fp16) {
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
        const hn::Rebind<hwy::float16_t, F> dh;
        return hn::PromoteTo(d, hn::LoadU(dh, static_cast<const hwy::float16_t*>(at)));
#else
        // Highway's emulation makes finite numbers of NaN and infinities.
        const hn::Rebind<std::uint16_t, F> dh;
        const auto bits = hn::PromoteTo(du, hn::LoadU(dh, static_cast<const std::uint16_t*>(at)));
        const auto size = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7FFF)));
        const auto most = hn::Set(du, 0x0F800000);
        const auto finite = hn::BitCast(du, hn::Mul(hn::BitCast(d, size), hn::Set(d, 0x1p112F)));
        const auto other = hn::Or(size, hn::Set(du, 0x7F800000));
        const auto made = hn::IfThenElse(hn::Eq(hn::And(size, most), most), other, finite);
        const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000)));
        return hn::BitCast(d, hn::Or(made, sign));
#endif
    } else if constexpr (type == DType::bf16) {
        const hn::Rebind<std::uint16_t, F> dh;
        const auto bits = hn::PromoteTo(du, hn::LoadU(dh, static_cast<const std::uint16_t*>(at)));
        return hn::BitCast(d, hn::ShiftLeft<16>(bits));
    } else {
        const hn::Rebind<std::uint8_t, F> db;
        const auto bits = hn::PromoteTo(du, hn::LoadU(db, static_cast<const std::uint8_t*>(at)));
        const auto size = hn::ShiftLeft<20>(hn::And(bits, hn::Set(du, 0x7F)));
        // Exponent bias 7 -> 127; subnormals come out right because the product normalises them.
        const Vec value = hn::Mul(hn::BitCast(d, size), hn::Set(d, 0x1p120F));
        const auto sign = hn::ShiftLeft<24>(hn::And(bits, hn::Set(du, 0x80)));
        const auto nan = hn::Eq(size, hn::Set(du, 0x07F00000));
        const auto made = hn::Or(hn::BitCast(du, value), sign);
        return hn::BitCast(d, hn::IfThenElse(nan, hn::Set(du, 0x7FC00000), made));
    }
}

/// What load_pair_e4m3() leaves to its caller: its floats are elements divided by this.
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
inline constexpr float kE4m3Unit = 256;
#else
inline constexpr float kE4m3Unit = 1;
#endif

/// 2 kLanes elements of e4m3 as floats, each divided by kE4m3Unit. Where the CPU widens fp16 that
/// is half of the operations: the bits of e4m3, moved by seven places, are those of the fp16 that
/// is 2^8 times smaller, and all ones stand for NaN in both.
RACELINE_SIMD_INLINE void load_pair_e4m3(const std::byte* at, Vec& a, Vec& b) {
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
    const F d;
    const hn::Repartition<std::int16_t, F> words;
    const hn::Rebind<std::int8_t, decltype(words)> stored;
    const auto wide =
        hn::PromoteTo(words, hn::LoadU(stored, reinterpret_cast<const std::int8_t*>(at)));
    const auto moved =
        hn::And(hn::ShiftLeft<7>(wide), hn::Set(words, static_cast<std::int16_t>(0xBF80)));
    const auto size = hn::Set(words, std::int16_t{0x3F80});
    const auto nan = hn::VecFromMask(words, hn::Eq(hn::And(moved, size), size));
    const hn::Repartition<hwy::float16_t, F> halves;
    const hn::Half<decltype(halves)> half;
    const auto both = hn::BitCast(halves, hn::Or(moved, nan));
    a = hn::PromoteTo(d, hn::LowerHalf(half, both));
    b = hn::PromoteTo(d, hn::UpperHalf(half, both));
#else
    a = load<DType::e4m3>(at);
    b = load<DType::e4m3>(at + kLanes);
#endif
}

template <DType type>
HWY_INLINE void convert_row(const std::byte* from, std::size_t count, float* to) {
    constexpr auto bytes = static_cast<std::size_t>(bytes_of(type));
    const F d;
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        hn::StoreU(load<type>(from + i * bytes), d, to + i);
    }
    for (; i < count; ++i) {
        to[i] = load_one(from + i * bytes, type);
    }
}

/// `count` stored elements -> float.
inline void to_float(const void* from, DType type, std::size_t count, float* to) {
    const auto* bytes = static_cast<const std::byte*>(from);
    switch (type) {
        case DType::fp32: convert_row<DType::fp32>(bytes, count, to); break;
        case DType::fp16: convert_row<DType::fp16>(bytes, count, to); break;
        case DType::bf16: convert_row<DType::bf16>(bytes, count, to); break;
        default: convert_row<DType::e4m3>(bytes, count, to); break;
    }
}

/// Nearest bf16, ties to even. NaN keeps its top bits and its quiet bit.
inline std::uint16_t bf16_bits(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) {
        return static_cast<std::uint16_t>(bits >> 16 | 0x40);
    }
    return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// Nearest fp16, ties to even. Highway's emulation, on targets without the instruction, truncates.
inline std::uint16_t fp16_bits(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
    const std::uint32_t size = bits & 0x7FFFFFFF;
    if (size > 0x7F800000) {
        return sign | 0x7E00;
    }
    if (size < 0x38800000) {
        // Below 2^-14 halves are multiples of 2^-24: adding 1/2 makes the float's unit just that.
        const float rounded = std::bit_cast<float>(size) + 0.5F;
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(rounded) & 0x7FF));
    }
    const std::uint32_t even = size + 0xFFF + (size >> 13 & 1);
    const std::uint32_t half = (even - 0x38000000) >> 13;
    return static_cast<std::uint16_t>(sign | (half < 0x7C00 ? half : 0x7C00));
}

/// `count` floats times `factor` -> fp32, fp16 or bf16.
inline void from_float(const float* from, float factor, DType type, std::size_t count, void* to) {
    const F d;
    const U du;
    const Vec scale = hn::Set(d, factor);
    std::size_t i = 0;
    if (type == DType::fp32) {
        auto* out = static_cast<float*>(to);
        for (; i + kLanes <= count; i += kLanes) {
            hn::StoreU(hn::Mul(hn::LoadU(d, from + i), scale), d, out + i);
        }
        for (; i < count; ++i) {
            out[i] = from[i] * factor;
        }
    } else if (type == DType::fp16) {
        auto* out = static_cast<std::uint16_t*>(to);
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
        const hn::Rebind<hwy::float16_t, F> dh;
        for (; i + kLanes <= count; i += kLanes) {
            hn::StoreU(hn::DemoteTo(dh, hn::Mul(hn::LoadU(d, from + i), scale)), dh,
                       reinterpret_cast<hwy::float16_t*>(out + i));
        }
#endif
        for (; i < count; ++i) {
            out[i] = fp16_bits(from[i] * factor);
        }
    } else {
        const hn::Rebind<std::uint16_t, F> dh;
        auto* out = static_cast<std::uint16_t*>(to);
        for (; i + kLanes <= count; i += kLanes) {
            const Vec x = hn::Mul(hn::LoadU(d, from + i), scale);
            const auto bits = hn::BitCast(du, x);
            const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
            const auto up = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF)));
            const auto safe = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)),
                                             hn::Or(bits, hn::Set(du, 0x400000)), up);
            hn::StoreU(hn::TruncateTo(dh, hn::ShiftRight<16>(safe)), dh, out + i);
        }
        for (; i < count; ++i) {
            out[i] = bf16_bits(from[i] * factor);
        }
    }
}

}  // namespace raceline::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
