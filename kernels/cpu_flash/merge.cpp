// SPDX-License-Identifier: Apache-2.0
// Partial results of split rows become answers: weighted by 2^(own peak - common peak).
#include <algorithm>
#include <cmath>

#include "kernels/cpu_flash/engine.hpp"
#include "kernels/cpu_flash/rows.hpp"

namespace raceline::kernels::cpu_flash {
namespace {

void merge_row(const MergeTask& t, std::int64_t row, float* out) {
    const AttentionArgs& a = *t.args;
    const std::int64_t rows = t.split.rows;
    const auto slot = [&](std::int64_t i) {
        return t.partials + (t.split.slot + i * a.heads_kv + t.head) * t.slot_stride;
    };
    const auto ends = [&](std::int64_t i) { return slot(i) + rows * a.headdim_v + 2 * row; };
    float peak = ends(0)[0];
    for (std::int64_t i = 1; i < t.split.pieces; ++i) {
        peak = std::max(peak, ends(i)[0]);
    }
    std::fill_n(out, a.headdim_v, 0.0F);
    float sum = 0;
    for (std::int64_t i = 0; i < t.split.pieces; ++i) {
        const float weight = std::exp2(ends(i)[0] - peak);
        const float* part = slot(i) + row * a.headdim_v;
        sum += weight * ends(i)[1];
        for (std::int64_t c = 0; c < a.headdim_v; ++c) {
            out[c] += weight * part[c];
        }
    }
    const std::int64_t query = (t.split.row0 + row) / t.problem->group;
    const std::int64_t head = t.head * t.problem->group + (t.split.row0 + row) % t.problem->group;
    const RowEnd end = end_row(a, head, peak, sum, cache_scales(a, t.split.sequence, t.head).v);
    store_output(out, end.factor, a.dtype, a.headdim_v,
                 query_row(a, a.out, t.split.sequence, query, head));
    if (float* lse = lse_at(a, t.split.sequence, query, head)) {
        *lse = end.lse;
    }
}

}  // namespace

void run_merge(const MergeTask& task) {
    for (std::int64_t row = 0; row < task.split.rows; ++row) {
        merge_row(task, row, task.scratch);
    }
}

}  // namespace raceline::kernels::cpu_flash
