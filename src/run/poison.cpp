// SPDX-License-Identifier: Apache-2.0
#include "run/poison.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/check.hpp"

namespace raceline {
namespace {

/// First element of `count` whose exponent bits are all ones (NaN or infinity), or -1.
template <class Bits>
std::int64_t first_not_finite(const void* data, std::int64_t count, Bits exponent) {
    const auto* bytes = static_cast<const std::byte*>(data);
    std::int64_t found = count;
#pragma omp parallel for schedule(static) reduction(min : found)
    for (std::int64_t i = 0; i < count; ++i) {
        Bits bits;
        std::memcpy(&bits, bytes + i * static_cast<std::int64_t>(sizeof(Bits)), sizeof(Bits));
        if ((bits & exponent) == exponent) {
            found = std::min(found, i);
        }
    }
    return found == count ? -1 : found;
}

std::int64_t first_not_finite(std::span<const std::byte> out, DType dtype, std::int64_t count) {
    switch (dtype) {
        case DType::fp32: return first_not_finite<std::uint32_t>(out.data(), count, 0x7f800000U);
        case DType::fp16: return first_not_finite<std::uint16_t>(out.data(), count, 0x7c00);
        case DType::bf16: return first_not_finite<std::uint16_t>(out.data(), count, 0x7f80);
        default: return first_not_finite<std::uint8_t>(out.data(), count, 0x7f);
    }
}

}  // namespace

Row row_at(const Workload& w, std::int64_t index) {
    std::int64_t token = index / w.heads_q;
    std::int64_t sequence = 0;
    while (sequence + 1 < w.batch && token >= w.length_q(sequence)) {
        token -= w.length_q(sequence++);
    }
    return {sequence, token, index % w.heads_q};
}

std::string place_of(const Row& at) {
    return fmt::format("row {} of head {} in sequence {}", at.row, at.head, at.sequence);
}

std::string find_poison(const Workload& w, std::span<const std::byte> out,
                        std::span<const float> lse) {
    const std::int64_t rows = w.tokens_q() * w.heads_q;
    const std::int64_t bad = first_not_finite(out, w.out_dtype(), rows * w.headdim_v);
    if (bad >= 0) {
        const double value = load_element(out.data(), w.out_dtype(), bad);
        return fmt::format("element {} of {} {}", bad % w.headdim_v,
                           place_of(row_at(w, bad / w.headdim_v)),
                           std::isnan(value) ? "was never written, or is NaN" : "is infinite");
    }
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(lse.size()); ++i) {
        if (std::isnan(lse[i]) || lse[i] == std::numeric_limits<float>::infinity()) {
            return fmt::format("LSE of {} {}", place_of(row_at(w, i)),
                               std::isnan(lse[i]) ? "was never written, or is NaN" : "is +inf");
        }
    }
    return {};
}

}  // namespace raceline
