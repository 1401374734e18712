// SPDX-License-Identifier: Apache-2.0
// One pass over each row: a block's sum of exponentials is taken relative to the largest logit so
// far, and older sums are scaled to it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/crossentropy_cpu/launch.cpp"
// clang-format off: the targets are chosen before Highway is seen
#include "cpu/simd/highway_targets.hpp"
#include <hwy/foreach_target.h>
// clang-format on
#include <algorithm>
#include <cmath>
#include <hwy/highway.h>
#include <limits>

#include "cpu/simd/elements-inl.hpp"
#include "device/device.hpp"
#include "kernels/crossentropy_cpu/tile.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::crossentropy_cpu::HWY_NAMESPACE {

using namespace raceline::simd::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace)

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The largest of a block, NaN if it holds one. The end is padded with -inf.
float largest_of(const float* x, std::size_t count) {
    const F d;
    Vec largest = hn::Set(d, -infinity);
    auto seen = hn::FirstN(d, 0);
    for (std::size_t i = 0; i < count; i += kLanes) {
        const Vec v = hn::Load(d, x + i);
        seen = hn::Or(seen, hn::IsNaN(v));
        largest = hn::Max(largest, v);
    }
    return hn::AllFalse(d, seen) ? hn::GetLane(hn::MaxOfLanes(d, largest))
                                 : std::numeric_limits<float>::quiet_NaN();
}

float sum_of(const float* x, std::size_t count, float largest) {
    const F d;
    const Vec base = hn::Set(d, largest);
    Vec sum = hn::Zero(d);
    for (std::size_t i = 0; i < count; i += kLanes) {
        sum = hn::Add(sum, exp(hn::Sub(hn::Load(d, x + i), base)));
    }
    return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// Logarithm of the sum of exponentials.
float lse_of(const std::byte* row, DType type, std::int64_t width, std::int64_t block) {
    alignas(64) float x[longest_block + kLanes];
    float largest = -infinity;
    float sum = 0;
    for (std::int64_t first = 0; first < width; first += block) {
        const auto count = static_cast<std::size_t>(std::min(block, width - first));
        to_float(row + first * static_cast<std::int64_t>(bytes_of(type)), type, count, x);
        std::fill(x + count, x + count + kLanes, -infinity);
        const float here = largest_of(x, count);
        if (std::isnan(here) || here == infinity) {
            return std::numeric_limits<float>::quiet_NaN();  // as inf - inf is
        }
        if (here > largest) {
            sum *= largest == -infinity ? 0.0F : std::exp(largest - here);
            largest = here;
        }
        sum += largest == -infinity ? 0.0F : sum_of(x, count, largest);
    }
    return largest + std::log(sum);
}

void run_row(const OperationArgs& args, std::int64_t row, std::int64_t block) {
    const OperationTensor& logits = args.tensors[0];
    const auto bytes = static_cast<std::int64_t>(bytes_of(logits.dtype));
    const std::byte* from = static_cast<const std::byte*>(logits.data) + row * logits.width * bytes;
    const std::int32_t target = static_cast<const std::int32_t*>(args.tensors[1].data)[row];
    const float lse = lse_of(from, logits.dtype, logits.width, block);
    static_cast<float*>(args.tensors[2].data)[row] =
        lse - load_one(from + target * bytes, logits.dtype);
    static_cast<float*>(args.tensors[3].data)[row] = lse;
}

}  // namespace raceline::kernels::crossentropy_cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace raceline::kernels::crossentropy_cpu {
HWY_EXPORT(run_row);

void launch(const OperationArgs& args, int tile, const Device& device, void* /*workspace*/,
            void* /*stream*/) {
    const std::int64_t block = tile_list.at(static_cast<std::size_t>(tile)).block;
#pragma omp parallel for schedule(dynamic, 4) num_threads(std::max(1, device.units))
    for (std::int64_t row = 0; row < args.tensors[0].rows; ++row) {
        HWY_DYNAMIC_DISPATCH(run_row)(args, row, block);
    }
}
}  // namespace raceline::kernels::crossentropy_cpu
#endif
