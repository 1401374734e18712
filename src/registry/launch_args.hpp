// SPDX-License-Identifier: Apache-2.0
// What launches of attention engines make of their arguments alike.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>

#include "raceline/error.hpp"
#include "workload/attention_args.hpp"

namespace raceline {

/// How a product of Q and K becomes a power of two, as kernels take it.
struct ScoreScale {
    float log2;       ///< softmax scale, or the cap of a softcap, × log2 e
    float cap_inner;  ///< of a softcap: scale / cap, what tanh takes products by; else 0
};
/// Where the quotient is too small for a float, tanh leaves its argument as it is: no softcap.
inline ScoreScale score_scale(const AttentionArgs& a) {
    constexpr auto log2_of_e = std::numbers::log2e_v<float>;
    const float inner = a.softcap > 0 ? a.scale / a.softcap : 0;
    if (std::abs(inner) < std::numeric_limits<float>::min()) {
        return {a.scale * log2_of_e, 0};
    }
    return {a.softcap * log2_of_e, inner};
}
/// Of an engine that takes the largest product of a row for the largest score; throws
/// Error(unsupported) unless the scale is positive. `engine` begins the sentence.
inline ScoreScale positive_score_scale(const std::string& engine, const AttentionArgs& a) {
    if (!(a.scale > 0)) {
        throw Error(Status::unsupported, engine + ": scale is " + std::to_string(a.scale) +
                                             "; it takes the largest product of a row for the "
                                             "largest score, so the scale must be positive");
    }
    return score_scale(a);
}

/// Whether rows of `width` elements can be read and written in aligned chunks of so many bytes:
/// address, every stride and the width agree.
inline bool in_chunks(const TensorArg& t, std::int64_t width, DType type, std::int64_t bytes = 16) {
    const auto divides = [&](std::int64_t elements) {
        return elements * static_cast<std::int64_t>(bytes_of(type)) % bytes == 0;
    };
    return reinterpret_cast<std::uintptr_t>(t.data) % static_cast<std::uintptr_t>(bytes) == 0 &&
           divides(t.batch_stride) && divides(t.seq_stride) && divides(t.head_stride) &&
           divides(width);
}

}  // namespace raceline
