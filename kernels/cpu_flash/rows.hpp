// SPDX-License-Identifier: Apache-2.0
// Addresses of rows in the caller's memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/cpu_flash/plan.hpp"
#include "kernels/cpu_flash/scratch.hpp"
#include "workload/seen_keys.hpp"

namespace raceline::kernels::cpu_flash {

/// Rows of K or V of one sequence and head, contiguous or by pages.
struct CacheRows {
    const std::byte* data;
    std::int64_t row_bytes;
    std::int64_t page_bytes;
    const std::int32_t* pages;  ///< null: contiguous
    std::int64_t page_size;
    DType dtype;

    [[nodiscard]] const std::byte* row(std::int64_t key) const {
        if (!pages) {
            return data + key * row_bytes;
        }
        return data + pages[key / page_size] * page_bytes + key % page_size * row_bytes;
    }
};

inline CacheRows cache_rows(const AttentionArgs& a, const TensorArg& tensor, std::int64_t sequence,
                            std::int64_t head) {
    const auto bytes = static_cast<std::int64_t>(bytes_of(a.kv_dtype));
    CacheRows rows{static_cast<const std::byte*>(tensor.data),
                   tensor.seq_stride * bytes,
                   tensor.batch_stride * bytes,
                   nullptr,
                   a.page_size,
                   a.kv_dtype};
    if (!rows.data) {
        return rows;  // a cache without a single key: nothing is read
    }
    rows.data += head * tensor.head_stride * bytes;
    if (a.block_table) {
        rows.pages = a.block_table + sequence * a.block_table_stride;
    } else if (a.cu_seqlens_k) {
        rows.data += a.cu_seqlens_k[sequence] * rows.row_bytes;
    } else {
        rows.data += sequence * rows.page_bytes;
    }
    return rows;
}

/// Row r of a work tile's rows (query r / group, head r % group of the group) in a tensor like Q.
inline std::int64_t query_offset(const AttentionArgs& a, const TensorArg& tensor,
                                 std::int64_t sequence, std::int64_t query, std::int64_t head) {
    const std::int64_t start = a.cu_seqlens_q ? a.cu_seqlens_q[sequence] * tensor.seq_stride
                                              : sequence * tensor.batch_stride;
    return start + query * tensor.seq_stride + head * tensor.head_stride;
}

inline std::byte* query_row(const AttentionArgs& a, const TensorArg& tensor, std::int64_t sequence,
                            std::int64_t query, std::int64_t head) {
    const auto bytes = static_cast<std::int64_t>(bytes_of(a.dtype));
    return static_cast<std::byte*>(tensor.data) +
           query_offset(a, tensor, sequence, query, head) * bytes;
}

inline float* lse_at(const AttentionArgs& a, std::int64_t sequence, std::int64_t query,
                     std::int64_t head) {
    if (!a.lse) {
        return nullptr;
    }
    const std::int64_t start = a.cu_seqlens_q ? a.cu_seqlens_q[sequence] * a.lse_seq_stride
                                              : sequence * a.lse_batch_stride;
    return a.lse + start + query * a.lse_seq_stride + head * a.lse_head_stride;
}

/// What turns a row's peak and sum into its answer.
struct RowEnd {
    float factor;  ///< on the accumulated output
    float lse;     ///< natural log, sink included
};
/// `peak` in powers of two; `value_scale` is that of a quantised V.
RowEnd end_row(const AttentionArgs& args, std::int64_t head, float peak, float sum,
               float value_scale);

/// Writes the answer of row `row` of a sequence and K/V head, with its LSE: query row / group of
/// head row % group within the group.
void write_row(const AttentionArgs& args, std::int64_t group, std::int64_t sequence,
               std::int64_t head_kv, std::int64_t row, float peak, float sum, const float* out);

/// Writes what a task found for row `row` of its work tile: the answer into the caller's output, or
/// the part into its slot.
void close_row(const Task& task, std::int64_t head_kv, std::int64_t row, float peak, float sum,
               const float* out);

/// Dequantisation scales of one sequence and K/V head; 1 where there are none.
struct CacheScales {
    float k, v;
};
inline CacheScales cache_scales(const AttentionArgs& a, std::int64_t sequence, std::int64_t head) {
    const std::int64_t at = sequence * a.heads_kv + head;
    return {a.k_scale ? a.k_scale[at] : 1.0F, a.v_scale ? a.v_scale[at] : 1.0F};
}

/// Scales of the keys or values of one sequence and K/V head, where each token has one.
struct TokenScales {
    const float* data = nullptr;  ///< null: none
    std::int64_t stride = 0, page_stride = 0;
    const std::int32_t* pages = nullptr;  ///< null: contiguous
    std::int64_t page_size = 0;

    [[nodiscard]] float of(std::int64_t key) const {
        return pages ? data[pages[key / page_size] * page_stride + key % page_size * stride]
                     : data[key * stride];
    }
};
TokenScales token_scales(const AttentionCall& call, const ScaleArg& scale, std::int64_t sequence,
                         std::int64_t head);

/// What the tree leaves a row of the sequence's last keys.
struct TreeRow {
    std::int64_t first_new;  ///< key of the sequence's first new token; negative in a short cache
    std::uint32_t word;      ///< bit j: the row sees key first_new + j

    /// `hide(key)` for every key of [first, end) that the tree takes away.
    template <class Hide>
    void hidden(std::int64_t first, std::int64_t end, const Hide& hide) const {
        for (std::int64_t key = std::max(first, first_new); key < end; ++key) {
            if (!bit_is_set(word, key - first_new)) {
                hide(key);
            }
        }
    }
};
/// Of a call with a tree.
TreeRow tree_row(const AttentionCall& call, const TaskProblem& problem, std::int64_t sequence,
                 std::int64_t query);

/// How a raw product q·k becomes a power of two: 2^(factor * score), where score is the product
/// times `sign`, or for a soft cap limit * tanh(product * sign * inner).
struct ScoreForm {
    float sign;  ///< into Q: exact in every type, and leaves the factor positive
    float factor;
    float inner;  ///< 0: no soft cap
    float limit;
};
ScoreForm score_form(const AttentionArgs& args, float k_scale);

/// Keys [first, end) dealt to the streams in equal ranges: place kStreams * j + i of a list is key
/// first + j + i * steps. Behind the last key it is repeated.
struct Chunk {
    std::int64_t first, end, steps;

    Chunk(std::int64_t key0, std::int64_t key1)
        : first(key0), end(key1), steps((key1 - key0 + kStreams - 1) / kStreams) {}
    [[nodiscard]] std::size_t places() const { return static_cast<std::size_t>(kStreams * steps); }

    void list(const CacheRows& cache, const std::byte** at) const {
        for (std::int64_t i = 0; i < kStreams; ++i) {
            for (std::int64_t j = 0; j < steps; ++j) {
                at[kStreams * j + i] = cache.row(std::min(first + j + i * steps, end - 1));
            }
        }
    }
    /// The keys' scales, place by place, behind the last place as many zeros as make whole lines.
    void list(const TokenScales& scales, float* at) const {
        std::fill_n(at, whole_lines(static_cast<std::int64_t>(places())), 0.0F);
        for (std::int64_t i = 0; i < kStreams; ++i) {
            for (std::int64_t j = 0; j < steps; ++j) {
                at[kStreams * j + i] = scales.of(std::min(first + j + i * steps, end - 1));
            }
        }
    }
    /// Scores of keys outside the span become -inf; most chunks lie inside.
    void hide(KeySpan span, float* scores) const {
        constexpr float none = -std::numeric_limits<float>::infinity();
        for (std::int64_t i = 0; i < kStreams; ++i) {
            const std::int64_t from = first + i * steps;
            const std::int64_t low = std::clamp<std::int64_t>(span.first - from, 0, steps);
            const std::int64_t high =
                std::clamp<std::int64_t>(std::min(span.last, end) - from, low, steps);
            for (std::int64_t j = 0; j < low; ++j) {
                scores[kStreams * j + i] = none;
            }
            for (std::int64_t j = high; j < steps; ++j) {
                scores[kStreams * j + i] = none;
            }
        }
    }
    /// The same of keys that the tree takes away.
    void hide(const TreeRow& row, float* scores) const {
        row.hidden(first, end, [&](std::int64_t key) {
            const std::int64_t stream = (key - first) / steps;
            const std::int64_t step = (key - first) % steps;
            scores[kStreams * step + stream] = -std::numeric_limits<float>::infinity();
        });
    }
};

}  // namespace raceline::kernels::cpu_flash
