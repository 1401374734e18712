// SPDX-License-Identifier: Apache-2.0
// Rows dealt out to threads; parts added up in fp32, column by column.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "device/device.hpp"
#include "kernels/combine_cpu/tile.hpp"
#include "workload/combine_call.hpp"
#include "workload/inputs.hpp"

namespace raceline::kernels::combine_cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Without branches that keep the compiler from taking several at once.
float from_fp16(std::uint16_t bits) {
    const auto sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t rest = bits & 0x7FFFU;
    // Exponents differ by 112; the product is exact, of subnormal numbers too.
    const float finite = std::bit_cast<float>(rest << 13) * 0x1p112F;
    const std::uint32_t other = 0x7F800000U | (rest & 0x3FFU) << 13;
    return std::bit_cast<float>(sign |
                                (rest >= 0x7C00U ? other : std::bit_cast<std::uint32_t>(finite)));
}
float from_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// sum[i] += weight · part[i] for the `count` elements of a row.
template <class Stored, class Widen>
void add_row(float* __restrict sum, float weight, const void* part, std::int64_t count,
             const Widen& widen) {
    const auto* __restrict elements = static_cast<const Stored*>(part);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        sum[i] += weight * widen(elements[i]);
    }
}
void add_part(float* sum, float weight, const void* part, DType dtype, std::int64_t count) {
    switch (dtype) {
        case DType::fp16: add_row<std::uint16_t>(sum, weight, part, count, from_fp16); break;
        case DType::bf16: add_row<std::uint16_t>(sum, weight, part, count, from_bf16); break;
        default: add_row<float>(sum, weight, part, count, [](float x) { return x; }); break;
    }
}

std::uint16_t to_bf16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t nearest = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
    return static_cast<std::uint16_t>(x != x ? 0x7FC0U : nearest);
}
void store_row(std::byte* out, DType dtype, const float* sums, float factor, std::int64_t count) {
    auto* __restrict floats = reinterpret_cast<float*>(out);
    auto* __restrict halves = reinterpret_cast<std::uint16_t*>(out);
    if (dtype == DType::fp32) {
        for (std::int64_t i = 0; i < count; ++i) {
            floats[i] = sums[i] * factor;
        }
    } else if (dtype == DType::bf16) {
        for (std::int64_t i = 0; i < count; ++i) {
            halves[i] = to_bf16(sums[i] * factor);
        }
    } else {
        for (std::int64_t i = 0; i < count; ++i) {
            store_element(out, dtype, static_cast<std::size_t>(i),
                          static_cast<double>(sums[i] * factor));
        }
    }
}

std::int64_t bytes_of_type(DType type) {
    return type == DType::fp32 ? 4 : 2;
}

// A part whose LSE is -inf has seen no key and counts for nothing, whatever it left as output; NaN
// goes through.
void combine_row(const CombineCall& c, std::int64_t row, std::int64_t head,
                 std::vector<float>& sums) {
    const float* lse = c.lse_parts + row * c.of_lse_parts.row + head * c.of_lse_parts.head;
    const float sink = c.sinks != nullptr ? c.sinks[head] : -infinity;
    float highest = sink;
    for (std::int64_t part = 0; part < c.parts; ++part) {
        highest = std::fmax(highest, lse[part * c.of_lse_parts.part]);
    }
    float sum = sink == -infinity ? 0.0F : std::exp(sink - highest);
    std::fill(sums.begin(), sums.end(), 0.0F);
    const auto* parts = static_cast<const std::byte*>(c.out_parts);
    for (std::int64_t part = 0; part < c.parts; ++part) {
        const float its = lse[part * c.of_lse_parts.part];
        if (its == -infinity) {
            continue;
        }
        const float weight = std::exp(its - highest);
        sum += weight;
        const std::int64_t at =
            part * c.of_out_parts.part + row * c.of_out_parts.row + head * c.of_out_parts.head;
        add_part(sums.data(), weight, parts + at * bytes_of_type(c.parts_dtype), c.parts_dtype,
                 c.headdim);
    }
    auto* out = static_cast<std::byte*>(c.out) +
                (row * c.of_out.row + head * c.of_out.head) * bytes_of_type(c.out_dtype);
    const float factor = sum == 0 ? 0.0F : 1 / sum;
    store_row(out, c.out_dtype, sums.data(), factor, c.headdim);
    if (c.lse != nullptr) {
        c.lse[row * c.of_lse.row + head * c.of_lse.head] =
            sum == 0 ? -infinity : highest + std::log(sum);
    }
}

}  // namespace

void launch(const OperationArgs& args, int tile, const Device& device, void* /*workspace*/,
            void* /*stream*/) {
    const CombineCall c = combine_call_of(args);
    const std::int64_t rows = c.rows * c.heads;
    const std::int64_t task = tile_list.at(static_cast<std::size_t>(tile)).rows;
    const std::int64_t tasks = (rows + task - 1) / task;
    const auto threads = std::clamp<std::int64_t>(tasks, 1, std::max(1, device.units));
#pragma omp parallel num_threads(static_cast<int>(threads))
    {
        std::vector<float> sums(static_cast<std::size_t>(c.headdim));
#pragma omp for schedule(dynamic)
        for (std::int64_t first = 0; first < rows; first += task) {
            for (std::int64_t at = first; at < std::min(rows, first + task); ++at) {
                combine_row(c, at / c.heads, at % c.heads, sums);
            }
        }
    }
}

}  // namespace raceline::kernels::combine_cpu
