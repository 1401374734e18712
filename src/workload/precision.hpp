// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "raceline/dtype.hpp"

namespace raceline {

/// A type that values are rounded to, to nearest except where the name says otherwise.
/// fp32_rz: fp32 rounded toward zero at every addition, as NVIDIA's tensor cores add (Fasi, Higham,
/// Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, PeerJ Computer Science 7, 2021).
/// e4m3_sum, of accumulators only: as Hopper's tensor cores add products of e4m3, 32 at a time
/// (workload/rounded_sum.hpp). How many keys such a sum of P·V has is the precision's to say.
enum class Rounding : std::int32_t { fp64, fp32, tf32, bf16, fp16, e4m3, fp32_rz, e4m3_sum };

/// To what storing in a type rounds.
constexpr Rounding rounding_of(DType type) {
    switch (type) {
        case DType::fp16: return Rounding::fp16;
        case DType::bf16: return Rounding::bf16;
        case DType::e4m3: return Rounding::e4m3;
        default: return Rounding::fp32;
    }
}

/// Whether every value of a storage type is a value of `type`, so that rounding changes nothing.
constexpr bool holds(Rounding type, DType stored) {
    switch (type) {
        case Rounding::fp64:
        case Rounding::fp32:
        case Rounding::fp32_rz:
        case Rounding::e4m3_sum: return true;
        case Rounding::tf32: return stored != DType::fp32;
        case Rounding::bf16: return stored == DType::bf16 || stored == DType::e4m3;
        case Rounding::fp16: return stored == DType::fp16 || stored == DType::e4m3;
        case Rounding::e4m3: return stored == DType::e4m3;
    }
    return false;
}

/// Where a kernel rounds. The gate rounds its reference at the same places and takes its bound
/// from that reference's error, so that a kernel is held to its own arithmetic and no other.
struct Precision {
    Rounding products;       ///< operands of both matrix products, as they enter the multiplier
    Rounding exponentials;   ///< result of exp
    Rounding probabilities;  ///< P as it enters the second product
    Rounding accumulators;   ///< partial sums of both products and of the denominator
    Rounding output;         ///< O as stored
    /// What P, at most 1, is multiplied by before it is rounded: a narrow type's range is used as
    /// the kernel uses it. Not a power of two where the kernel's P is not relative to the row's own
    /// maximum (`scale_of_older_base`).
    double probability_scale = 1;
    /// Of accumulators e4m3_sum: keys whose products with P the tensor core adds up before the sum
    /// is added to fp32 registers; 0: all of a row's.
    std::int64_t promoted_keys = 0;
    /// Of accumulators e4m3_sum: a score goes through the tensor core once more with nothing to
    /// add, and is cut again: head dims that a tile pads.
    bool padded_products = false;

    bool operator==(const Precision&) const = default;
};

/// `probability_scale` of a kernel whose P stands relative to an older base than the row's maximum.
/// Relative to the maximum the heaviest key's P would be exactly 1 and free of error; relative to
/// an older base it is rounded like any other, and the factor moves it by the root mean square of
/// such an error. `mantissa_bits` are those that `probabilities` keeps behind the leading one;
/// every logarithm of a mantissa is taken to be as likely (docs/decisions/0008).
constexpr double scale_of_older_base(int mantissa_bits) {
    constexpr double rms_over_spacing = 0.2123;  // sqrt((1 - 1/4) / (2 ln 2) / 12)
    double spacing = 1;
    for (int bit = 0; bit < mantissa_bits; ++bit) {
        spacing /= 2;
    }
    return 1 + rms_over_spacing * spacing;
}

}  // namespace raceline
