// SPDX-License-Identifier: Apache-2.0
// What all ways to run a chain share: what a launch is given, sums over the lanes of a row, and
// what each step does to an element.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/device.hpp"
#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/tile/base_two.cuh"
#include "gpu/tile/chunk.cuh"
#include "kernels/rows_cuda/tile.hpp"

namespace raceline::kernels::rows_cuda {

/// What a launch is given of its matrices.
struct RowPlaces {
    char* tensors[OperationArgs::most];
    RowLayout layout;
    std::int32_t head;  ///< columns that rope turns together
    float eps;
};
/// Where the program is not known when it is compiled.
struct Params : RowPlaces {
    RowProgram program;
    std::int32_t first_reduction;  ///< number of the first reduction, or of the end
    Access access;                 ///< of a flat program: of the matrix as one row
    KeptLayout kept;               ///< of rows that stay in shared memory (kept_rows.cuh)
    std::uint32_t* handed_out;     ///< where these are counted, if their layout hands them out
};

inline constexpr unsigned all_lanes = 0xFFFFFFFFU;

/// Larger of two, NaN if either is.
struct Largest {
    __device__ __forceinline__ float operator()(float a, float b) const {
        return a > b || a != a ? a : b;
    }
};
struct Sum {
    __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};

/// Over all lanes of a row; each gets the result. `partial`: two rows of 32 floats in shared
/// memory, used in turn, so that one barrier a reduction is enough.
template <int lanes, class Operator>
__device__ __forceinline__ float over_row(float mine, Operator op, float* partial, int turn) {
#pragma unroll
    for (int apart = lanes < 32 ? lanes / 2 : 16; apart > 0; apart /= 2) {
        mine = op(mine, __shfl_xor_sync(all_lanes, mine, apart));
    }
    if constexpr (lanes > 32) {
        constexpr int warps = lanes / 32;
        float* row = partial + 32 * (turn & 1);
        const unsigned lane = threadIdx.x % 32;
        if (lane == 0) {
            row[threadIdx.x / 32] = mine;
        }
        __syncthreads();
        mine = row[lane % warps];
#pragma unroll
        for (int apart = warps / 2; apart > 0; apart /= 2) {
            mine = op(mine, __shfl_xor_sync(all_lanes, mine, apart));
        }
    }
    return mine;
}

/// To fp32's rounding where results are stored in fp32; else far below theirs, and faster.
template <DType type>
__device__ __forceinline__ float exponential(float x) {
    return type == DType::fp32 ? expf(x) : ptx::ex2_approx_ftz_f32(x * log2_e);
}

/// x / (1 + e^-y): with x = y that is silu, with x = 1 the sigmoid.
template <DType type>
__device__ __forceinline__ float over_one_plus(float x, float y) {
    const float sum = 1.0F + exponential<type>(-y);
    return type == DType::fp32 ? x / sum : x * ptx::rcp_approx_ftz_f32(sum);
}

/// Of a hyperbola. In 16 bits: near 0 a power series, off by a share of 2^-22 where it ends; else
/// 1 - 2 / (1 + e^2x), whose share is below 2^-19 from there on.
template <DType type>
__device__ __forceinline__ float tangent(float x) {
    if constexpr (type == DType::fp32) {
        return tanhf(x);
    }
    constexpr float near = 0.125F;
    const float square = x * x;
    const float series = fmaf(x * square, fmaf(square, 2.0F / 15.0F, -1.0F / 3.0F), x);
    const float far =
        fmaf(-2.0F, ptx::rcp_approx_ftz_f32(1.0F + exponential<type>(2.0F * x)), 1.0F);
    return fabsf(x) < near ? series : far;
}

/// What becomes of an element; `other` is the operand's, or the statistic.
template <DType type, RowOp op>
__device__ __forceinline__ float applied(float v, [[maybe_unused]] float other) {
    if constexpr (op == RowOp::relu) {
        return v < 0.0F ? 0.0F : v;
    } else if constexpr (op == RowOp::gelu) {
        const float inner = fmaf(static_cast<float>(gelu_k) * v * v, v, v);
        return over_one_plus<type>(v, 2.0F * static_cast<float>(gelu_c) * inner);
    } else if constexpr (op == RowOp::silu) {
        return over_one_plus<type>(v, v);
    } else if constexpr (op == RowOp::sigmoid) {
        return over_one_plus<type>(1.0F, v);
    } else if constexpr (op == RowOp::tanh) {
        return tangent<type>(v);
    } else if constexpr (op == RowOp::exp) {
        return exponential<type>(v);
    } else if constexpr (op == RowOp::square) {
        return v * v;
    } else if constexpr (op == RowOp::sub_matrix) {
        return v - other;
    } else if constexpr (op == RowOp::mul_matrix || op == RowOp::mul_vector ||
                         op == RowOp::mul_statistic) {
        return v * other;
    } else {
        return v + other;
    }
}

struct EveryChunk {
    __device__ constexpr bool operator()(int /*chunk*/) const { return true; }
};

/// The same for the chunks that a thread holds, those that `goes_over` says: with the statistic, or
/// with an operand's chunks.
template <DType type, RowOp op, int chunks, int per_chunk, class GoesOver = EveryChunk>
__device__ __forceinline__ void apply_to_all(float (&x)[chunks][per_chunk], float statistic,
                                             GoesOver goes_over = {}) {
#pragma unroll
    for (int c = 0; c < chunks; ++c) {
        if (goes_over(c)) {
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
                x[c][e] = applied<type, op>(x[c][e], statistic);
            }
        }
    }
}
template <DType type, RowOp op, int chunks, int per_chunk, class GoesOver = EveryChunk>
__device__ __forceinline__ void apply_chunks(float (&x)[chunks][per_chunk],
                                             const uint4 (&operands)[chunks],
                                             GoesOver goes_over = {}) {
#pragma unroll
    for (int c = 0; c < chunks; ++c) {
        if (goes_over(c)) {
            float operand[per_chunk];
            gpu::widen<type>(operands[c], operand);
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
                x[c][e] = applied<type, op>(x[c][e], operand[e]);
            }
        }
    }
}

/// One step of a chain on what a thread holds, where no code knows the chain. Reductions are not
/// among them, and what needs to know its row is for those that hold rows.
template <class Part>
__device__ __forceinline__ void take_step(Part& part, const RowInstruction& its,
                                          [[maybe_unused]] float statistic) {
    switch (its.op) {
        case RowOp::relu: part.template each<RowOp::relu>(); break;
        case RowOp::gelu: part.template each<RowOp::gelu>(); break;
        case RowOp::silu: part.template each<RowOp::silu>(); break;
        case RowOp::sigmoid: part.template each<RowOp::sigmoid>(); break;
        case RowOp::tanh: part.template each<RowOp::tanh>(); break;
        case RowOp::exp: part.template each<RowOp::exp>(); break;
        case RowOp::square: part.template each<RowOp::square>(); break;
        case RowOp::add_matrix: part.template with<RowOp::add_matrix>(its.tensor); break;
        case RowOp::sub_matrix: part.template with<RowOp::sub_matrix>(its.tensor); break;
        case RowOp::mul_matrix: part.template with<RowOp::mul_matrix>(its.tensor); break;
        case RowOp::store: part.store(its.tensor); break;
        case RowOp::add_vector:
            if constexpr (Part::in_rows) {
                part.template with<RowOp::add_vector>(its.tensor);
            }
            break;
        case RowOp::mul_vector:
            if constexpr (Part::in_rows) {
                part.template with<RowOp::mul_vector>(its.tensor);
            }
            break;
        case RowOp::add_statistic:
            if constexpr (Part::in_rows) {
                part.template each<RowOp::add_statistic>(statistic);
            }
            break;
        case RowOp::mul_statistic:
            if constexpr (Part::in_rows) {
                part.template each<RowOp::mul_statistic>(statistic);
            }
            break;
        case RowOp::rope:
            if constexpr (Part::in_rows) {
                part.rope(its.tensor);
            }
            break;
        case RowOp::reduce_max:
        case RowOp::reduce_sum:
        case RowOp::reduce_squares: break;
    }
}

/// What a reduction starts with, and one more element of it.
__device__ __forceinline__ float start_of(RowOp op) {
    return op == RowOp::reduce_max ? -INFINITY : 0.0F;
}
template <RowOp op>
__device__ __forceinline__ float reduced(float so_far, float v) {
    if constexpr (op == RowOp::reduce_max) {
        return Largest()(so_far, v);
    } else {
        return op == RowOp::reduce_sum ? so_far + v : fmaf(v, v, so_far);
    }
}

/// How two results of a reduction become one.
template <RowOp op>
using Combination = std::conditional_t<op == RowOp::reduce_max, Largest, Sum>;

/// A chunk's elements, reduced by themselves first: sums that do not wait for each other.
template <RowOp op, int n>
__device__ __forceinline__ float with_chunk(float so_far, const float (&x)[n]) {
    float of_chunk = start_of(op);
#pragma unroll
    for (int e = 0; e < n; ++e) {
        of_chunk = reduced<op>(of_chunk, x[e]);
    }
    return Combination<op>()(so_far, of_chunk);
}

}  // namespace raceline::kernels::rows_cuda
