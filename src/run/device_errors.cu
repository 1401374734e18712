// SPDX-License-Identifier: Apache-2.0
// Outputs against the float64 answer, every element, on a GPU.
#include <cfloat>

#include "run/device_reference.hpp"
#include "run/device_tile.cuh"
#include "timing/cuda_runtime.hpp"

namespace raceline::device_gate {
namespace {

constexpr int warps = 8;  // of a CTA of the row kernels; a warp takes a row at a time
constexpr unsigned grid = 2048;

__device__ __forceinline__ double warp_sum(double x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x += __shfl_xor_sync(0xFFFFFFFFU, x, lanes);
    }
    return x;
}
__device__ __forceinline__ float warp_max(float x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, lanes));
    }
    return x;
}

/// Bits of a float that is not negative sort as it does; the row stands below them. NaN and
/// infinity are the largest there are.
__device__ __forceinline__ void keep_largest(std::uint64_t* to, float x, std::int64_t row) {
    const unsigned bits = x != x ? 0x7FFFFFFFU : __float_as_uint(x);
    atomicMax(reinterpret_cast<unsigned long long*>(to),
              (static_cast<unsigned long long>(bits) << 32) | static_cast<unsigned>(row));
}
__device__ __forceinline__ void keep_first(std::uint64_t* to, std::int64_t index) {
    atomicMin(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(index));
}

__device__ __forceinline__ double output(const Outputs& outputs, std::int64_t i) {
    return static_cast<double>(load(outputs.out, outputs.dtype, i));
}

__device__ void compare_lse(const Answers& exact, const Outputs& outputs, std::int64_t row,
                            Found* found) {
    if (outputs.lse == nullptr && outputs.lse_rounded == nullptr) {
        return;
    }
    const double expected = exact.lse[row];
    const double got = outputs.lse != nullptr
                           ? static_cast<double>(outputs.lse[row])
                           : static_cast<double>(__double2float_rn(outputs.lse_rounded[row]));
    if (!isfinite(expected) || !isfinite(got)) {
        if (got != expected) {
            keep_first(&found->bad_lse, row);
        }
        return;
    }
    const double error = fabs(got - expected);
    keep_largest(&found->lse, static_cast<float>(error / fmax(1.0, fabs(expected))), row);
    atomicMax(reinterpret_cast<unsigned long long*>(&found->lse_error),
              static_cast<unsigned long long>(__double_as_longlong(error)));
}

/// A warp a row: its scale, then the errors of its elements.
__global__ void __launch_bounds__(warps * 32)
    element_errors(const __grid_constant__ DrawnCall p, const __grid_constant__ Answers exact,
                   const __grid_constant__ Outputs outputs, float* errors, std::int64_t rows,
                   Found* found) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto* const truth = static_cast<const double*>(exact.out);
    const auto wide = static_cast<int>(padded(p.headdim_v));
    double squares = 0;
    for (std::int64_t row = blockIdx.x * warps + threadIdx.x / 32; row < rows;
         row += std::int64_t{gridDim.x} * warps) {
        const std::int64_t first = row * p.headdim_v;
        double power = 0;
        for (int c = lane; c < p.headdim_v; c += 32) {
            power += truth[first + c] * truth[first + c];
        }
        const double scale = fmax(sqrt(warp_sum(power) / p.headdim_v), exact.spread[row]);
        float worst = 0;
        float largest = 0;
        for (int c = lane; c < p.headdim_v; c += 32) {
            const double got = output(outputs, first + c);
            const double error = got - truth[first + c];
            // A row without keys is exactly 0: any other value is infinitely wrong.
            const double relative = error == 0 ? 0 : error / scale;
            if (!isfinite(got)) {
                keep_first(&found->bad_element, first + c);
            }
            squares += relative * relative;
            const auto size = static_cast<float>(fabs(relative));
            worst = size != size ? static_cast<float>(INFINITY) : fmaxf(worst, size);
            largest = scale > 0 ? fmaxf(largest, static_cast<float>(fabs(truth[first + c]) / scale))
                                : largest;
            errors[row * wide + c] = isfinite(relative) ? static_cast<float>(relative) : 0;
        }
        for (int c = p.headdim_v + lane; c < wide; c += 32) {
            errors[row * wide + c] = 0;
        }
        worst = warp_max(worst);
        largest = warp_max(largest);
        if (lane == 0) {
            keep_largest(&found->worst, worst, row);
            keep_largest(&found->largest, largest, row);
            compare_lse(exact, outputs, row, found);
        }
    }
    squares = warp_sum(squares);
    if (lane == 0) {
        atomicAdd(&found->squares, squares);
    }
}

/// Errors e of rows along the value v of a key that they see: |e · v| / |v| of each row, and
/// |sum of e · v| / (|v| √n) of the n rows of the tile that see it.
__global__ void __launch_bounds__(threads)
    aligned_errors(const __grid_constant__ DrawnCall p, const float* errors, Found* found) {
    extern __shared__ float memory[];
    __shared__ float inverse[tile_keys];
    __shared__ float sums[16][tile_keys];  // of four rows each
    __shared__ float counts[16][tile_keys];
    const RowTile tile = p.tiles[blockIdx.x];
    const int tx = static_cast<int>(threadIdx.x) % 16;
    const int ty = static_cast<int>(threadIdx.x) / 16;
    PlacedRow rows[4];
    SeenKeys row_keys[4];
    for (int i = 0; i < 4; ++i) {
        rows[i] = place(p, tile, ty * 4 + i);
        row_keys[i] = rows[i].token < 0 ? SeenKeys{0, 0} : p.row_keys[rows[i].token];
    }
    float largest[4] = {0, 0, 0, 0};
    float joint = 0;  // of this thread's key in each block
    const int depth = static_cast<int>(padded(p.headdim_v));
    const std::int64_t keys_from = first_key(p, tile);
    const PlacedRow copied = place(p, tile, copied_row());
    const Copied row{copied.token < 0 ? nullptr : errors + copied.index(p) * depth};
    for (std::int64_t first = tile.keys.first; first < tile.keys.last; first += tile_keys) {
        float s[4][4];
        const std::int64_t at_key = first + copied_row();
        const Copied key{at_key < tile.keys.last ? p.operands.v + (keys_from + at_key) * depth
                                                 : nullptr};
        score_tile<Sum::nearest>(s, depth, row, key, memory);
        if (threadIdx.x < tile_keys) {
            const bool exists = first + threadIdx.x < tile.keys.last;
            const float power =
                exists ? p.operands.mean_squares[keys_from + first + threadIdx.x] * p.headdim_v : 0;
            inverse[threadIdx.x] = power > 0 ? rsqrtf(power) : 0;
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const std::int64_t at = first + tx * 4 + j;
            float sum = 0;
            float count = 0;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (row_keys[i].sees(at)) {
                    const float along = s[i][j] * inverse[tx * 4 + j];
                    largest[i] = fmaxf(largest[i], fabsf(along));
                    sum += along;
                    count += 1;
                }
            }
            sums[ty][tx * 4 + j] = sum;
            counts[ty][tx * 4 + j] = count;
        }
        __syncthreads();
        if (threadIdx.x < tile_keys) {
            float sum = 0;
            float count = 0;
            for (int part = 0; part < 16; ++part) {
                sum += sums[part][threadIdx.x];
                count += counts[part][threadIdx.x];
            }
            joint = count > 0 ? fmaxf(joint, fabsf(sum) * rsqrtf(count)) : joint;
        }
    }
    joint = warp_max(joint);
    if (threadIdx.x < tile_keys && threadIdx.x % 32 == 0 && tile.rows > 0) {
        keep_largest(&found->joint, joint, place(p, tile, 0).index(p));
    }
    for (int i = 0; i < 4; ++i) {
        for (int lanes = 1; lanes < 16; lanes *= 2) {
            largest[i] = fmaxf(largest[i], __shfl_xor_sync(0xFFFFFFFFU, largest[i], lanes));
        }
        if (tx == 0 && rows[i].token >= 0) {
            keep_largest(&found->aligned, largest[i], rows[i].index(p));
        }
    }
}

/// Whether float64 says which outputs of the row are finite. A warp a row; `values` are few.
__device__ bool is_judged(const DrawnCall& p, const Answers& exact, const RowTile& tile,
                          const PlacedRow& at, int row_in_tile, const BadValue* values, int count,
                          int lane) {
    const SeenKeys its_keys = p.row_keys[at.token];
    const std::int64_t row = at.index(p);
    if (its_keys.count() > 0 && exact.largest[row] == -static_cast<double>(INFINITY)) {
        return false;
    }
    const double scale = p.scale * scale_of(p.q_scale, p, tile) * scale_of(p.k_scale, p, tile);
    for (int n = 0; n < count; ++n) {
        if (values[n].sequence != tile.sequence || values[n].head_kv != tile.head_kv) {
            continue;
        }
        if (!its_keys.sees(values[n].key)) {
            return false;  // masked: a kernel may multiply it by 0
        }
        const int depth = static_cast<int>(padded(p.headdim));
        const float* const q =
            p.operands.q + (first_row(p, tile) + tile.first_row + row_in_tile) * depth;
        const float* const k = p.operands.k + (first_key(p, tile) + values[n].key) * depth;
        double product = 0;
        for (int c = lane; c < p.headdim; c += 32) {
            product += static_cast<double>(q[c]) * static_cast<double>(k[c]);
        }
        const std::int64_t at_key = first_key(p, tile) + values[n].key;
        double logit = warp_sum(product) * scale_of_key(p.key_scales, at_key) * scale;
        logit = p.softcap > 0 ? p.softcap * tanh(logit / p.softcap) : logit;
        const double weight = exp(logit - exact.largest[row]) / exact.sum[row];
        if (weight < static_cast<double>(FLT_MIN)) {
            return false;
        }
    }
    return true;
}

__global__ void __launch_bounds__(warps * 32)
    finite_errors(const __grid_constant__ DrawnCall p, const __grid_constant__ Answers exact,
                  const __grid_constant__ Outputs outputs, const BadValue* values, int count,
                  Found* found) {
    const RowTile tile = p.tiles[blockIdx.x];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto* const truth = static_cast<const double*>(exact.out);
    for (int r = static_cast<int>(threadIdx.x) / 32; r < tile.rows; r += warps) {
        const PlacedRow at = place(p, tile, r);
        const std::int64_t row = at.index(p);
        const bool judged = is_judged(p, exact, tile, at, r, values, count, lane);
        for (int c = lane; judged && c < p.headdim_v; c += 32) {
            const std::int64_t i = row * p.headdim_v + c;
            if (isfinite(output(outputs, i)) != isfinite(truth[i])) {
                keep_first(&found->bad_element, i);
            }
        }
        const double expected = exact.lse[row];
        const bool weightless = p.row_keys[at.token].count() > 0 &&
                                exact.largest[row] == -static_cast<double>(INFINITY);
        if (lane == 0 && outputs.lse != nullptr && !weightless) {
            const auto got = static_cast<double>(outputs.lse[row]);
            const bool wrong = expected == -static_cast<double>(INFINITY)
                                   ? got != expected
                                   : isfinite(got) != isfinite(expected);
            if (wrong) {
                keep_first(&found->bad_lse, row);
            }
        }
    }
}

__global__ void different(const unsigned* a, const unsigned* b, std::int64_t words,
                          unsigned long long* count) {
    unsigned long long mine = 0;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words;
         i += std::int64_t{gridDim.x} * blockDim.x) {
        mine += a[i] != b[i] ? 1 : 0;
    }
    if (mine > 0) {
        atomicAdd(count, mine);
    }
}

}  // namespace

void compare(const DrawnCall& problem, const Answers& exact, const Outputs& outputs, float* errors,
             std::int64_t rows, Found* found) {
    if (rows == 0) {
        return;
    }
    element_errors<<<grid, warps * 32>>>(problem, exact, outputs, errors, rows, found);
    cuda::check_launch("the gate's errors of elements");
    constexpr int bytes = 2 * depth_step * pitch<float> * static_cast<int>(sizeof(float));
    aligned_errors<<<static_cast<unsigned>(problem.tile_count), threads, bytes>>>(problem, errors,
                                                                                  found);
    cuda::check_launch("the gate's errors along values");
}

void compare_finite(const DrawnCall& problem, const Answers& exact, const Outputs& outputs,
                    const BadValue* values, int value_count, std::int64_t rows, Found* found) {
    if (rows == 0) {
        return;
    }
    finite_errors<<<static_cast<unsigned>(problem.tile_count), warps * 32>>>(
        problem, exact, outputs, values, value_count, found);
    cuda::check_launch("the gate's comparison of what is finite");
}

void count_different(const void* a, const void* b, std::int64_t words, std::uint64_t* count) {
    different<<<grid, 256>>>(static_cast<const unsigned*>(a), static_cast<const unsigned*>(b),
                             words, reinterpret_cast<unsigned long long*>(count));
    cuda::check_launch("the gate's comparison of bits");
}

}  // namespace raceline::device_gate
