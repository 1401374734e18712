// SPDX-License-Identifier: Apache-2.0
#include "run/device_draw.hpp"
#include "run/device_rounding.cuh"
#include "timing/cuda_runtime.hpp"
#include "workload/draw.hpp"
#include "workload/normal.hpp"

namespace raceline::device_gate {
namespace {

__device__ void store(void* to, DType dtype, std::int64_t i, float x) {
    switch (dtype) {
        case DType::fp32: static_cast<float*>(to)[i] = x; break;
        case DType::fp16: static_cast<__half*>(to)[i] = __float2half_rn(x); break;
        case DType::bf16: static_cast<__nv_bfloat16*>(to)[i] = __float2bfloat16_rn(x); break;
        default: static_cast<__nv_fp8_e4m3*>(to)[i] = __nv_fp8_e4m3(x); break;
    }
}

/// Four neighbours of one token have one random number, as on the host.
__global__ void fill_rows(const __grid_constant__ Fill f) {
    const std::int64_t run = f.heads * f.width;
    const std::int64_t fours = (run + 3) / 4;
    const std::int64_t all = fours * f.tokens;
    for (std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; n < all;
         n += std::int64_t{gridDim.x} * blockDim.x) {
        const std::int64_t token = n / fours;
        const std::int64_t first = n % fours * 4;
        const std::int64_t row = f.slots != nullptr ? f.slots[token] : token;
        std::uint64_t random =
            random_bits(f.key, static_cast<std::uint64_t>(token) * (longest_run / 4) +
                                   static_cast<std::uint64_t>(first / 4));
        for (int e = 0; e < 4 && first + e < run; ++e, random >>= 16) {
            const std::int64_t head = (first + e) / f.width;
            const std::int64_t channel = (first + e) % f.width;
            float x = load(f.table, f.dtype, static_cast<std::int64_t>(random & 0xFFFF));
            const bool loud = (channel == f.loud_channel || channel == f.loud_second) &&
                              (!f.every_other_row || is_outlier_row(token, head, f.seed));
            const float factor = loud ? f.loud_factor : f.factor;
            // Untouched means bit for bit: adding 0 would make -0 positive.
            x = factor == 1 && f.bias == 0 ? x : __fadd_rn(__fmul_rn(x, factor), f.bias);
            store(f.to, f.dtype, row * run + first + e, x);
        }
    }
}

}  // namespace

void fill(const Fill& what) {
    if (what.tokens == 0) {
        return;
    }
    constexpr unsigned blocks = 4096;
    fill_rows<<<blocks, 256>>>(what);
    cuda::check_launch("the gate's draw of inputs");
}

}  // namespace raceline::device_gate
