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
#include <numbers>

#include "cpu/simd/group-inl.hpp"
#include "device/device.hpp"
#include "kernels/crossentropy_cpu/tile.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::crossentropy_cpu::HWY_NAMESPACE {

using namespace raceline::simd::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace)

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The largest of a block, NaN if it holds one. The end is padded with -inf.
/// e^(x - largest), each term to a few ulp of the largest one.
HWY_INLINE Vec power(Vec x, Vec largest) {
    return exp2(hn::Mul(hn::Sub(x, largest), hn::Set(F(), std::numbers::log2e_v<float>)));
}

HWY_INLINE Vec larger(Vec a, Vec b) {
    return hn::Max(a, b);
}

struct Block {
    alignas(64) float logits[longest_block + kGroup];
    std::int64_t count;  ///< whole groups; behind the end stands -inf
};

/// Its largest logit, NaN if there is one.
template <class Format>
float take(const std::byte* from, std::int64_t count, Block& block) {
    const F d;
    Group most = group_of(-infinity);
    bool nan = false;
    for (std::int64_t i = 0; i < count; i += kGroup) {
        const std::int64_t some = std::min(kGroup, count - i);
        const Group x = only_some<Format>(
            load_some<Format>(from + i * static_cast<std::int64_t>(Format::bytes), some), some,
            -infinity);
        nan = nan || (may_have_nan(x) && has_nan(x));
        most = map(x, most, larger);
        put_floats<false>(x, block.logits + i);
        block.count = i + kGroup;
    }
    const Vec all = larger(larger(most.a, most.b), larger(most.c, most.d));
    return nan ? std::numeric_limits<float>::quiet_NaN() : hn::GetLane(hn::MaxOfLanes(d, all));
}

float sum_of(const Block& block, float largest) {
    const F d;
    const Vec base = hn::Set(d, largest);
    Group sum = group_of(0);
    for (std::int64_t i = 0; i < block.count; i += kGroup) {
        sum = map(load_floats(block.logits + i), sum,
                  [&](Vec x, Vec to) { return hn::Add(to, power(x, base)); });
    }
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum.a, sum.b), hn::Add(sum.c, sum.d))));
}

template <class Format>
float lse_of(const std::byte* row, std::int64_t width) {
    Block block;
    float largest = -infinity;
    float sum = 0;
    for (std::int64_t first = 0; first < width; first += longest_block) {
        const float here =
            take<Format>(row + first * static_cast<std::int64_t>(Format::bytes),
                         std::min<std::int64_t>(longest_block, width - first), block);
        if (std::isnan(here) || here == infinity) {
            return std::numeric_limits<float>::quiet_NaN();  // as inf - inf is
        }
        if (here > largest) {
            sum *= largest == -infinity ? 0.0F : std::exp(largest - here);
            largest = here;
        }
        sum += largest == -infinity ? 0.0F : sum_of(block, largest);
    }
    return largest + std::log(sum);
}

float lse_of(const std::byte* row, DType type, std::int64_t width) {
    switch (type) {
        case DType::fp32: return lse_of<FormatOfFp32>(row, width);
        case DType::fp16: return lse_of<FormatOfFp16>(row, width);
        default: return lse_of<FormatOfBf16Pairs>(row, width);
    }
}

void run_row(const OperationArgs& args, std::int64_t row) {
    const OperationTensor& logits = args.tensors[0];
    const auto bytes = static_cast<std::int64_t>(bytes_of(logits.dtype));
    const std::byte* from = static_cast<const std::byte*>(logits.data) + row * logits.width * bytes;
    const std::int32_t target = static_cast<const std::int32_t*>(args.tensors[1].data)[row];
    const float lse = lse_of(from, logits.dtype, logits.width);
    static_cast<float*>(args.tensors[2].data)[row] =
        lse - load_one(from + target * bytes, logits.dtype);
    static_cast<float*>(args.tensors[3].data)[row] = lse;
}

}  // namespace raceline::kernels::crossentropy_cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace raceline::kernels::crossentropy_cpu {
HWY_EXPORT(run_row);

void launch(const OperationArgs& args, int /*tile*/, const Device& device, void* /*workspace*/,
            void* /*stream*/) {
#pragma omp parallel for schedule(dynamic, 4) num_threads(std::max(1, device.units))
    for (std::int64_t row = 0; row < args.tensors[0].rows; ++row) {
        HWY_DYNAMIC_DISPATCH(run_row)(args, row);
    }
}
}  // namespace raceline::kernels::crossentropy_cpu
#endif
