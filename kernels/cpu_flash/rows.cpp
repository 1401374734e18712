// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu_flash/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace raceline::kernels::cpu_flash {

RowEnd end_row(const AttentionArgs& a, std::int64_t head, float peak, float sum,
               float value_scale) {
    // No keys: the sum is 0 whatever the peak was initialised with; only a sink is left.
    if (sum == 0.0F) {
        return {0.0F, a.sinks ? a.sinks[head] : -std::numeric_limits<float>::infinity()};
    }
    double total = sum;
    if (a.sinks) {
        total += std::exp2(static_cast<double>(a.sinks[head]) * std::numbers::log2e -
                           static_cast<double>(peak));
    }
    const double lse = (static_cast<double>(peak) + std::log2(total)) * std::numbers::ln2;
    return {static_cast<float>(static_cast<double>(value_scale) / total), static_cast<float>(lse)};
}

void write_row(const AttentionArgs& a, std::int64_t group, std::int64_t sequence,
               std::int64_t head_kv, std::int64_t row, float peak, float sum, const float* out) {
    const std::int64_t query = row / group;
    const std::int64_t head = head_kv * group + row % group;
    const RowEnd end = end_row(a, head, peak, sum, cache_scales(a, sequence, head_kv).v);
    store_output(out, end.factor, a.dtype, a.headdim_v, query_row(a, a.out, sequence, query, head));
    if (float* lse = lse_at(a, sequence, query, head)) {
        *lse = end.lse;
    }
}

void close_row(const Task& task, std::int64_t head_kv, std::int64_t row, float peak, float sum,
               const float* out) {
    const AttentionArgs& a = *task.args;
    const WorkTile& work_tile = task.work_tile;
    if (work_tile.slot >= 0) {
        float* slot = task.partials + (work_tile.slot + head_kv) * task.slot_stride;
        std::copy_n(out, a.headdim_v, slot + row * a.headdim_v);
        float* ends = slot + work_tile.rows * a.headdim_v + 2 * row;
        ends[0] = peak;
        ends[1] = sum;
        return;
    }
    write_row(a, task.problem->group(), work_tile.sequence, head_kv, work_tile.row0 + row, peak,
              sum, out);
}

TokenScales token_scales(const AttentionCall& a, const ScaleArg& scale, std::int64_t sequence,
                         std::int64_t head) {
    TokenScales scales{scale.data, scale.seq_stride, scale.batch_stride, nullptr, a.page_size};
    if (!scales.data) {
        return scales;
    }
    scales.data += head * scale.head_stride;
    if (a.block_table) {
        scales.pages = a.block_table + sequence * a.block_table_stride;
    } else {
        scales.data += a.cu_seqlens_k ? a.cu_seqlens_k[sequence] * scale.seq_stride
                                      : sequence * scale.batch_stride;
    }
    return scales;
}

TreeRow tree_row(const AttentionCall& call, const TaskProblem& p, std::int64_t sequence,
                 std::int64_t query) {
    const std::int64_t first =
        call.cu_seqlens_q ? call.cu_seqlens_q[sequence] : sequence * call.seqlen_q;
    return {p.lengths.k(sequence) - p.lengths.q(sequence), call.tree[first + query]};
}

ScoreForm score_form(const AttentionArgs& a, float k_scale) {
    const float scale = a.scale * k_scale;
    const float size = std::fabs(scale);
    const float sign = scale < 0 ? -1.0F : 1.0F;
    // Where the quotient is too small for a float, tanh leaves its argument as it is.
    const float inner = a.softcap > 0 ? size / a.softcap : 0;
    if (inner >= std::numeric_limits<float>::min()) {
        return {sign, std::numbers::log2e_v<float>, inner, a.softcap};
    }
    // Masked scores are -inf: a factor of 0 would turn them into NaN.
    const float factor = size * std::numbers::log2e_v<float>;
    return {sign, std::max(factor, std::numeric_limits<float>::min()), 0, 0};
}

}  // namespace raceline::kernels::cpu_flash
