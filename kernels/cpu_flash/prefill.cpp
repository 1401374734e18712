// SPDX-License-Identifier: Apache-2.0
// One prefill task: a block of query rows (times group heads) against a range of keys. Rows lie in
// lanes; for each block of keys, panel by panel: scores, mask, online softmax, output.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu_flash/prefill.cpp"
// clang-format off: the targets are chosen before Highway is seen
#include "cpu/simd/highway_targets.hpp"
#include <hwy/foreach_target.h>
// clang-format on
#include <algorithm>
#include <hwy/highway.h>

#include "kernels/cpu_flash/dot-inl.hpp"
#include "kernels/cpu_flash/gemm-inl.hpp"
#include "kernels/cpu_flash/panel-inl.hpp"
#include "kernels/cpu_flash/plan.hpp"
#include "kernels/cpu_flash/rows.hpp"
#include "kernels/cpu_flash/scratch.hpp"
#include "kernels/cpu_flash/tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

/// What all panels and blocks of one task and head share.
struct Work : TaskCall {
    std::int64_t head;  ///< K/V head
    PrefillScratch at;
    ScoreForm form;
    CacheScales scales;

    Work(const Task& t, std::int64_t h)
        : TaskCall(t),
          head(h),
          at(t.tile_rows, t.tile_keys, args.headdim, args.headdim_v),
          scales(cache_scales(args, t.work_tile.sequence, h)) {
        form = score_form(args, scales.k);
    }
    [[nodiscard]] float* floats(std::int64_t offset) const { return task.scratch + offset; }
    [[nodiscard]] std::int32_t* integers(std::int64_t offset) const {
        return reinterpret_cast<std::int32_t*>(task.scratch + offset);
    }
    [[nodiscard]] std::int64_t query(std::int64_t row) const {
        return (task.work_tile.row0 + row) / task.problem->group();
    }
    [[nodiscard]] std::int64_t query_head(std::int64_t row) const {
        return head * task.problem->group() + (task.work_tile.row0 + row) % task.problem->group();
    }
};

/// A run of rows side by side in lanes: at most kPanel, fewer vectors for the last rows.
struct Panel {
    std::int64_t row0, rows;
    std::int64_t low, high;          ///< keys that some row sees
    std::int64_t all_low, all_high;  ///< keys that every row sees
};

/// Key limits of each lane, relative to the first key of the work tile. Lanes past the last row
/// repeat its limits, so that they never force a mask.
inline Panel open_panel(const Work& w, std::int64_t row0) {
    const WorkTile& work_tile = w.task.work_tile;
    Panel panel{row0,           std::min<std::int64_t>(kPanel, work_tile.rows - row0),
                work_tile.key1, work_tile.key0,
                work_tile.key0, work_tile.key1};
    std::int32_t* first = w.integers(w.at.first) + row0;
    std::int32_t* last = w.integers(w.at.last) + row0;
    for (std::int64_t r = 0; r < static_cast<std::int64_t>(kPanel); ++r) {
        const std::int64_t row = row0 + std::min(r, panel.rows - 1);
        const KeySpan span = visible_keys(*w.task.problem, work_tile.sequence, w.query(row));
        const std::int64_t low = std::clamp(span.first, work_tile.key0, work_tile.key1);
        const std::int64_t high = std::clamp(span.last, low, work_tile.key1);
        first[r] = static_cast<std::int32_t>(low - work_tile.key0);
        last[r] = static_cast<std::int32_t>(high - work_tile.key0);
        panel.low = std::min(panel.low, low);
        panel.high = std::max(panel.high, high);
        panel.all_low = std::max(panel.all_low, low);
        panel.all_high = std::min(panel.all_high, high);
    }
    return panel;
}

/// Q of a panel into lanes, and its softmax state cleared.
template <class Engine, int vectors>
void load_panel(const Work& w, const Panel& panel) {
    const std::size_t padded = static_cast<std::size_t>(whole_lines(w.args.headdim));
    float* rows = w.floats(w.at.s);
    auto* lanes =
        reinterpret_cast<typename Engine::Unit*>(w.floats(w.at.q)) + panel.row0 * w.args.headdim;
    for (std::size_t v = 0; v < vectors; ++v) {
        for (std::size_t r = 0; r < kLanes; ++r) {
            const std::int64_t row = panel.row0 + static_cast<std::int64_t>(v * kLanes + r);
            float* to = rows + r * padded;
            if (row >= panel.row0 + panel.rows) {
                std::fill(to, to + padded, 0.0F);
                continue;
            }
            const std::byte* q = query_row(w.args, w.args.q, w.task.work_tile.sequence,
                                           w.query(row), w.query_head(row));
            to_float(q, w.args.dtype, w.headdim, to);
            std::fill(to + w.headdim, to + padded, 0.0F);
        }
        Engine::pack_queries(rows, padded, w.headdim, w.form.sign,
                             reinterpret_cast<float*>(lanes + v * kLanes), vectors * kLanes);
    }
    std::fill_n(w.floats(w.at.peak) + panel.row0, vectors * kLanes, kNoPeak);
    std::fill_n(w.floats(w.at.sum) + panel.row0, vectors * kLanes, 0.0F);
    std::fill_n(w.floats(w.at.o) + panel.row0 * w.args.headdim_v, vectors * kLanes * w.headdim_v,
                0.0F);
}

/// Scores of keys [low, high) that the tree takes away become -inf, row by row: they are few.
template <int vectors>
void hide_by_tree(const Work& w, const Panel& panel, std::int64_t low, std::int64_t high,
                  float* scores) {
    for (std::int64_t r = 0; r < panel.rows; ++r) {
        const TreeRow row =
            tree_row(w.args, *w.task.problem, w.task.work_tile.sequence, w.query(panel.row0 + r));
        row.hidden(low, high, [&](std::int64_t key) {
            scores[(key - low) * std::int64_t(vectors * kLanes) + r] =
                -std::numeric_limits<float>::infinity();
        });
    }
}

/// One panel against one packed block of keys [key0, key1).
template <class Engine, int vectors>
void step_panel(const Work& w, const Panel& panel, std::int64_t key0, std::int64_t key1) {
    using Unit = typename Engine::Unit;
    // Keys come in pairs or tiles where the products take these, counted from the block's first
    // key.
    constexpr std::int64_t at_once = Engine::keys_at_once;
    std::int64_t low = std::max(key0, panel.low);
    low -= (low - key0) % at_once;
    std::int64_t high = std::min(key1, panel.high);
    if (low >= high) {
        return;
    }
    const std::int64_t seen = high;
    if constexpr (at_once > 2) {  // a pair's missing key is no row of the scores
        high = low + (high - low + at_once - 1) / at_once * at_once;
    }
    const auto keys = static_cast<std::size_t>(high - low);
    float* scores = w.floats(w.at.s);
    const auto* q = reinterpret_cast<const Unit*>(w.floats(w.at.q)) + panel.row0 * w.args.headdim;
    const auto* k = reinterpret_cast<const Unit*>(w.floats(w.at.k)) + (low - key0) * w.at.k_row;
    Engine::template multiply<vectors>({k, w.at.k_row, 1}, keys, q, scores,
                                       Engine::steps(w.headdim), false);
    if (w.form.inner > 0) {
        cap_scores<vectors>(scores, keys, w.form.inner, w.form.limit);
    }
    if (low < panel.all_low || high > panel.all_high) {
        mask_scores<vectors>(scores, keys, low - w.task.work_tile.key0,
                             w.integers(w.at.first) + panel.row0,
                             w.integers(w.at.last) + panel.row0);
    }
    if (w.args.tree != nullptr) {
        hide_by_tree<vectors>(w, panel, low, seen, scores);
    }
    const PanelState state{w.floats(w.at.peak) + panel.row0, w.floats(w.at.sum) + panel.row0,
                           w.floats(w.at.o) + panel.row0 * w.args.headdim_v, w.headdim_v};
    raise_peak<vectors>(scores, keys, w.form.factor, state);
    Engine::template exponentials<vectors>(scores, keys, w.form.factor, state);
    const auto* v = reinterpret_cast<const Unit*>(w.floats(w.at.v));
    const std::int64_t v_row = Engine::value_row(w.at, w.task.tile_keys);
    Engine::template multiply<vectors>(Engine::values(v, low - key0, v_row), w.headdim_v,
                                       reinterpret_cast<const Unit*>(scores), state.out,
                                       Engine::steps(keys), true);
}

template <int vectors>
void close_panel(const Work& w, const Panel& panel) {
    const std::size_t padded = static_cast<std::size_t>(whole_lines(w.args.headdim_v));
    float* rows = w.floats(w.at.s);
    for (std::size_t v = 0; v < vectors; ++v) {
        panel_to_rows(w.floats(w.at.o) + panel.row0 * w.args.headdim_v + v * kLanes,
                      vectors * kLanes, w.headdim_v, rows, padded);
        const auto first = static_cast<std::int64_t>(v * kLanes);
        const std::int64_t end = std::min<std::int64_t>(panel.rows, first + kLanes);
        for (std::int64_t r = first; r < end; ++r) {
            const std::int64_t row = panel.row0 + r;
            close_row(w.task, w.head, row, w.floats(w.at.peak)[row], w.floats(w.at.sum)[row],
                      rows + (r - first) * static_cast<std::int64_t>(padded));
        }
    }
}

/// Calls f with the number of vectors that the panel's rows need, as a constant.
template <class Function>
HWY_INLINE void with_vectors(const Panel& panel, const Function& f) {
    if constexpr (kVectorsMost == 4) {
        if (panel.rows > static_cast<std::int64_t>(2 * kLanes)) {
            return f.template run<4>(panel);
        }
    }
    if (panel.rows > static_cast<std::int64_t>(kLanes)) {
        return f.template run<2>(panel);
    }
    f.template run<1>(panel);
}

template <class Engine>
struct Load {
    const Work& w;
    template <int vectors>
    void run(const Panel& panel) const {
        load_panel<Engine, vectors>(w, panel);
    }
};
template <class Engine>
struct Step {
    const Work& w;
    std::int64_t key0, key1;
    template <int vectors>
    void run(const Panel& panel) const {
        step_panel<Engine, vectors>(w, panel, key0, key1);
    }
};
struct Close {
    const Work& w;
    template <int vectors>
    void run(const Panel& panel) const {
        close_panel<vectors>(w, panel);
    }
};

/// Packed rows of keys or values take their tokens' scales. Only of rows of floats.
void scale_rows(const TokenScales& scales, std::int64_t key0, std::int64_t count,
                std::size_t columns, float* rows, std::int64_t stride) {
    for (std::int64_t j = 0; j < count && scales.data != nullptr; ++j) {
        const float scale = scales.of(key0 + j);
        for (std::size_t c = 0; c < columns; ++c) {
            rows[j * stride + static_cast<std::int64_t>(c)] *= scale;
        }
    }
}

/// Asks for rows that are packed next, into the L2 cache: a head's rows lie apart, which the
/// hardware does not follow, and the block before them takes long enough.
void ask_for(const CacheRows& cache, std::int64_t key0, std::int64_t key1, std::size_t columns) {
    constexpr std::size_t line = 64;
    const std::size_t bytes = columns * static_cast<std::size_t>(bytes_of(cache.dtype));
    for (std::int64_t key = key0; key < key1; ++key) {
        const std::byte* row = cache.row(key);
        for (std::size_t at = 0; at < bytes; at += line) {
            __builtin_prefetch(row + at, 0, 2);
        }
    }
}

template <class Engine>
void prefill(const Task& task, std::int64_t head) {
    const Work w(task, head);
    Engine::open();
    const std::int64_t v_row = Engine::value_row(w.at, task.tile_keys);
    constexpr std::int64_t most_panels = 512 / kLanes;
    Panel panels[most_panels];
    const auto count = (task.work_tile.rows + std::int64_t(kPanel) - 1) / std::int64_t(kPanel);
    for (std::int64_t i = 0; i < count; ++i) {
        panels[i] = open_panel(w, i * std::int64_t(kPanel));
        with_vectors(panels[i], Load<Engine>{w});
    }
    const CacheRows k = cache_rows(*task.args, task.args->k, task.work_tile.sequence, head);
    const CacheRows v = cache_rows(*task.args, task.args->v, task.work_tile.sequence, head);
    for (std::int64_t key = task.work_tile.key0; key < task.work_tile.key1; key += task.tile_keys) {
        const std::int64_t end = std::min(task.work_tile.key1, key + task.tile_keys);
        Engine::pack_keys(k, key, end - key, w.headdim, w.floats(w.at.k), w.at.k_row);
        Engine::pack_values(v, key, end - key, w.headdim_v, w.floats(w.at.v), v_row);
        const std::int64_t sequence = task.work_tile.sequence;
        scale_rows(token_scales(w.args, w.args.k_token_scale, sequence, head), key, end - key,
                   w.headdim, w.floats(w.at.k), w.at.k_row);
        scale_rows(token_scales(w.args, w.args.v_token_scale, sequence, head), key, end - key,
                   w.headdim_v, w.floats(w.at.v), w.at.v_row);
        const std::int64_t next = std::min(task.work_tile.key1, end + task.tile_keys);
        ask_for(k, end, next, w.headdim);
        ask_for(v, end, next, w.headdim_v);
        for (std::int64_t i = 0; i < count; ++i) {
            with_vectors(panels[i], Step<Engine>{w, key, end});
        }
    }
    for (std::int64_t i = 0; i < count; ++i) {
        with_vectors(panels[i], Close{w});
    }
    Engine::close();
}

/// Products in fp32; storage of every type is widened on the way into scratch.
struct FmaEngine : Fma {
    static constexpr std::int64_t keys_at_once = 1;

    static void open() {}
    static void close() {}
    static std::size_t steps(std::size_t depth) { return depth; }
    static std::int64_t value_row(const PrefillScratch& at, std::int64_t /*tile_keys*/) {
        return at.v_row;
    }
    static Broadcasts<float> values(const float* v, std::int64_t first, std::int64_t row) {
        return {v + first * row, 1, row};
    }
    template <int vectors>
    static void multiply(Broadcasts<float> a, std::size_t rows, const float* b, float* c,
                         std::size_t depth, bool accumulate) {
        gemm<FmaEngine, vectors>(a, rows, b, c, depth, accumulate);
    }
    static void pack_queries(float* rows, std::size_t row_stride, std::size_t columns, float sign,
                             float* panel, std::size_t stride) {
        if (sign < 0) {
            for (std::size_t i = 0; i < kLanes * row_stride; ++i) {
                rows[i] = -rows[i];
            }
        }
        rows_to_panel(rows, row_stride, columns, panel, stride);
    }
    static void pack_keys(const CacheRows& k, std::int64_t key0, std::int64_t count,
                          std::size_t columns, float* to, std::int64_t stride) {
        pack_floats(k, key0, count, columns, to, static_cast<std::size_t>(stride));
    }
    static constexpr auto pack_values = &pack_keys;
    template <int vectors>
    static void exponentials(float* scores, std::size_t keys, float factor,
                             const PanelState& state) {
        HWY_NAMESPACE::exponentials<vectors>(scores, keys, factor, state);
    }
};

void store(const float* from, float factor, DType type, std::int64_t count, void* to) {
    from_float(from, factor, type, static_cast<std::size_t>(count), to);
}

void prefill_task(const Task& task) {
    for (std::int64_t head = task.head0; head < task.head1; ++head) {
#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86
        if (task.products == Products::tiles) {
            prefill<TileEngine>(task, head);
            continue;
        }
        if (task.products == Products::pairs) {
            prefill<DotEngine>(task, head);
            continue;
        }
#endif
        prefill<FmaEngine>(task, head);
    }
}

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace raceline::kernels::cpu_flash {
HWY_EXPORT(prefill_task);
HWY_EXPORT(store);
void store_output(const float* from, float factor, DType type, std::int64_t count, void* to) {
    HWY_DYNAMIC_DISPATCH(store)(from, factor, type, count, to);
}
void run_prefill(const Task& task) {
    HWY_DYNAMIC_DISPATCH(prefill_task)(task);
}
}  // namespace raceline::kernels::cpu_flash
#endif
