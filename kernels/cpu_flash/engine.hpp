// SPDX-License-Identifier: Apache-2.0
// Between the launch, which knows threads and tasks, and the code that exists once a SIMD target.
#pragma once

#include <cstdint>

#include "kernels/cpu_flash/plan.hpp"
#include "workload/attention_args.hpp"

namespace raceline::kernels::cpu_flash {

/// True where this process multiplies pairs of bf16: the CPU has AVX-512 BF16 and AVX-512 is among
/// the targets that may be used.
bool has_dot();

/// True for operands that are exact in bf16: there, a CPU that can multiplies pairs. Prefill brings
/// K and V into that form, e4m3 too, which has fewer exponent and mantissa bits; decode takes them
/// as they are stored.
constexpr bool multiplies_pairs(DType dtype, DType kv_dtype, bool decode) {
    return dtype == DType::bf16 &&
           (kv_dtype == DType::bf16 || (kv_dtype == DType::e4m3 && !decode));
}
bool uses_dot(DType dtype, DType kv_dtype, bool decode);

/// One task: rows of a piece, K/V heads [head0, head1).
struct Task {
    const AttentionArgs* args;
    const CutProblem* problem;
    Piece piece;
    std::int64_t head0, head1;
    std::int64_t tile_rows, tile_keys;
    bool dot;
    float* scratch;   ///< of this thread
    float* partials;  ///< slots of `slot_stride` floats
    std::int64_t slot_stride;
};
void run_prefill(const Task& task);
void run_decode(const Task& task);

/// `count` floats times `factor`, as elements of the output's type.
void store_output(const float* from, float factor, DType type, std::int64_t count, void* to);

}  // namespace raceline::kernels::cpu_flash
