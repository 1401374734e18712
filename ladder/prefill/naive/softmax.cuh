// SPDX-License-Identifier: Apache-2.0
// A warp's row of S in global memory.
#pragma once

#include <cmath>
#include <cuda_runtime.h>

#include "gpu/tile/warp_scores.cuh"

namespace raceline::kernels::naive {

/// Of a row of scores.
struct Totals {
    float highest, sum;
};
/// Maximum, exponentials and their sum, division: three sweeps of a warp over its row.
inline __device__ Totals softmax_row(float* line, int keys, int lane) {
    float highest = -INFINITY;
    for (int key = lane; key < keys; key += 32) {
        highest = fmaxf(highest, line[key]);
    }
    highest = gpu::max_over_warp(highest);
    float sum = 0;
    for (int key = lane; key < keys; key += 32) {
        const float x = expf(line[key] - highest);
        line[key] = x;
        sum += x;
    }
    sum = gpu::sum_over_warp(sum);
    for (int key = lane; key < keys; key += 32) {
        line[key] /= sum;
    }
    return {highest, sum};
}

}  // namespace raceline::kernels::naive
