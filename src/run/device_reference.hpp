// SPDX-License-Identifier: Apache-2.0
// Attention on a GPU as the gate computes it: every output row, in float64 or rounded where a
// kernel rounds. Written apart from all kernels: plain tiles, two passes over the keys, inputs read
// by their meaning (sequence, token, head) and not by a launch's arguments. Needs no CUDA headers.
#pragma once

#include <cstdint>

#include "raceline/dtype.hpp"
#include "workload/precision.hpp"
#include "workload/seen_keys.hpp"

namespace raceline::device_gate {

/// Keys [first, last) of a sequence.
struct KeySpan {
    std::int64_t first, last;
};

/// Up to 64 rows of one sequence that share a KV head. A row is a query token and a head of the
/// group: row r is token r / group, head r % group.
struct RowTile {
    std::int64_t first_row;
    std::int32_t rows, sequence, head_kv;
    KeySpan keys;  ///< that any of its rows sees
};
inline constexpr int tile_rows = 64;

/// Q, K and V as float, which holds every storage type exactly, in the order that the gate's tiles
/// read them: rows and keys of one sequence and KV head stand together, widths are padded with 0.
struct Operands {
    float *q, *k, *v;
    float* mean_squares;  ///< of each key's value
};
/// Elements of a row in Operands.
constexpr std::int64_t padded(std::int64_t width) {
    return (width + 31) / 32 * 32;
}

/// One draw of a problem in device memory. All pointers are device addresses.
struct DrawnCall {
    const void *q, *k, *v;  ///< packed: (tokens, heads, width), caches by slot; MLA: v is k
    DType dtype, kv_dtype;
    const RowTile* tiles;
    const std::int64_t *start_q, *start_k;     ///< first token of each sequence, over the batch
    const std::int64_t* slots;                 ///< of each key of the batch; null: as they come
    const SeenKeys* row_keys;                  ///< of each query token of the batch
    const float *q_scale, *k_scale, *v_scale;  ///< (batch, heads_kv), or null for 1
    /// Of each key, in the order of Operands; null for 1.
    const float *key_scales, *value_scales;
    const float* sinks;  ///< heads_q, or null
    std::int32_t batch, tile_count, heads_q, heads_kv, headdim, headdim_v, pitch_v;
    double scale, softcap;
    std::int64_t tokens_q, tokens_k;  ///< over the batch
    Operands operands;                ///< what `gather` made
};

/// Fills the operands (at the addresses in `to`): tokens × heads rows of padded widths. Elements
/// are rounded to `products`; channels of Q and K begin at `first_channel`.
void gather(const DrawnCall& problem, const Operands& to, Rounding products,
            std::int64_t first_channel);

/// Where answers go, by row (query token × heads_q + head). T of `out` is double or float.
struct Answers {
    void* out;        ///< (rows, headdim_v)
    double* lse;      ///< natural log
    double* spread;   ///< docs/correctness.md, "Error"; null: not wanted
    double* largest;  ///< the largest logit, NaN if one is NaN
    double* sum;      ///< of exponentials relative to it
};

/// Where it rounds, and one of several equally right orders: sums begin at this part of the keys.
struct Steps {
    Precision precision;
    double first_key = 0;
    double probability_scale = 1;
};

/// Accumulators that these kernels know; others are judged on the host.
bool serves(const Precision& precision);

/// Both enqueue on the default stream. float64, and sums in double.
void answer_exactly(const DrawnCall& problem, const Answers& answers);
/// The same in float, rounded.
void answer_rounded(const DrawnCall& problem, const Steps& steps, const Answers& answers);

/// What a comparison finds; device memory, cleared by the host to `nothing_found`.
struct Found {
    double squares;
    std::uint64_t worst;      ///< float bits of the largest error, and the row it is in
    std::uint64_t lse;        ///< the same of LSE errors in units of max(1, |LSE|)
    std::uint64_t aligned;    ///< the same of errors along one key's value
    std::uint64_t joint;      ///< the same of a tile's rows together, with the tile's first row
    std::uint64_t lse_error;  ///< double bits: the largest LSE error, absolute
    std::uint64_t largest;    ///< float bits: largest |element| of the answer / its row's scale
    std::uint64_t bad_element, bad_lse;  ///< index of the first that no bound excuses
};
inline constexpr std::uint64_t none = ~std::uint64_t{0};
inline constexpr Found nothing_found{0, 0, 0, 0, 0, 0, 0, none, none};

/// Outputs to compare with float64: `out` in storage type `dtype`, LSE float (null: not compared).
struct Outputs {
    const void* out;
    DType dtype;
    const float* lse;
    const double* lse_rounded;  ///< of a rounded answer, instead of lse
};
/// Errors of every element, relative to its row's scale, into `errors` (rows, padded width) and
/// `found`; then errors along each key's value.
void compare(const DrawnCall& problem, const Answers& exact, const Outputs& outputs, float* errors,
             std::int64_t rows, Found* found);

/// A value that is not finite, as a key of one sequence and KV head.
struct BadValue {
    std::int32_t sequence, head_kv;
    std::int64_t key;
};
/// Compares which outputs are finite. Rows for which float64 is no measure are left out: those that
/// mask one of `values`, give it a weight under 2^-126, or have keys but no weight at all.
void compare_finite(const DrawnCall& problem, const Answers& exact, const Outputs& outputs,
                    const BadValue* values, int value_count, std::int64_t rows, Found* found);

/// Number of 4-byte words in which two buffers differ, added to *count (device memory).
void count_different(const void* a, const void* b, std::int64_t words, std::uint64_t* count);

}  // namespace raceline::device_gate
