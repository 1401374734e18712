// SPDX-License-Identifier: Apache-2.0
// One decode task: the few rows of a sequence against a range of keys, for a range of K/V heads.
// Chunk by chunk: all scores, softmax, all of V. Each K and V byte is read once, in the order in
// which it lies in memory, a few keys at a time that are far apart (kStreams).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu_flash/decode.cpp"
// clang-format off: the targets are chosen before Highway is seen
#include "cpu/simd/highway_targets.hpp"
#include <hwy/foreach_target.h>
// clang-format on
#include <algorithm>
#include <hwy/highway.h>

#include "kernels/cpu_flash/decode-inl.hpp"
#include "kernels/cpu_flash/decode_dot-inl.hpp"
#include "kernels/cpu_flash/panel-inl.hpp"
#include "kernels/cpu_flash/plan.hpp"
#include "kernels/cpu_flash/rows.hpp"
#include "kernels/cpu_flash/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

/// What all heads and chunks of one task share.
struct Decode : TaskCall {
    DecodeScratch at;
    std::int64_t rows, chunk;     ///< rows of a head; keys of a chunk
    CacheRows k, v;               ///< of the task's first head
    std::int64_t k_next, v_next;  ///< bytes from head to head

    explicit Decode(const Task& t)
        : TaskCall(t),
          at(*t.problem),
          rows(t.work_tile.rows),
          chunk(decode_chunk(t.head1 - t.head0, rows)),
          k(cache_rows(args, args.k, t.work_tile.sequence, t.head0)),
          v(cache_rows(args, args.v, t.work_tile.sequence, t.head0)) {
        const auto bytes = static_cast<std::int64_t>(bytes_of(args.kv_dtype));
        k_next = args.k.head_stride * bytes;
        v_next = args.v.head_stride * bytes;
        if (args.k.data == args.v.data) {
            // One cache for both: a chunk's K is still in the L2 cache when it is read as V.
            constexpr std::int64_t kept = 256 << 10;
            const std::int64_t row = (t.head1 - t.head0) * args.headdim * bytes;
            chunk = std::clamp<std::int64_t>(kept / row / 64 * 64, 64, chunk);
        }
    }
    [[nodiscard]] std::int64_t query(std::int64_t row) const { return row / task.problem->group(); }
    /// Row r of head h, counted from the task's first head, in one of the arrays of the scratch.
    [[nodiscard]] RowBlock block(std::int64_t array, std::int64_t stride, std::int64_t h,
                                 std::int64_t r) const {
        return {task.scratch + at.head_stride * h + array + r * stride,
                static_cast<std::size_t>(stride)};
    }
    [[nodiscard]] RowBlock q(std::int64_t h, std::int64_t r) const {
        return block(at.q, at.q_row, h, r);
    }
    [[nodiscard]] RowBlock out(std::int64_t h, std::int64_t r) const {
        return block(at.out, at.out_row, h, r);
    }
    [[nodiscard]] float& peak(std::int64_t h, std::int64_t r) const {
        return *block(at.peak, 1, h, r).data;
    }
    [[nodiscard]] float& sum(std::int64_t h, std::int64_t r) const {
        return *block(at.sum, 1, h, r).data;
    }
    [[nodiscard]] RowBlock scores(std::int64_t h, std::int64_t r) const {
        return {task.scratch + at.scores + (h * rows + r) * chunk, static_cast<std::size_t>(chunk)};
    }
};

template <class Engine>
void open_head(const Decode& w, std::int64_t h) {
    const std::int64_t group = w.task.problem->group();
    const std::int64_t head = w.task.head0 + h;
    const float sign = score_form(w.args, 1.0F).sign;
    for (std::int64_t r = 0; r < w.rows; ++r) {
        float* row = w.q(h, r).data;
        std::fill_n(row, w.at.q_row, 0.0F);
        to_float(query_row(w.args, w.args.q, w.task.work_tile.sequence, w.query(r),
                           head * group + r % group),
                 w.args.dtype, w.headdim, row);
        for (std::size_t c = 0; c < w.headdim && sign < 0; ++c) {
            row[c] = -row[c];
        }
        Engine::pack_query(row, static_cast<std::size_t>(w.at.q_row));
        std::fill_n(w.out(h, r).data, w.at.out_row, 0.0F);
        w.peak(h, r) = kNoPeak;
        w.sum(h, r) = 0;
    }
}

/// Scales of a chunk's keys and values, place by place; null where they have none.
struct PlaceScales {
    const float *keys, *values;
};

/// Scores times the keys' scales.
void scale_scores(float* scores, const float* scales, std::size_t count) {
    const F d;
    for (std::size_t j = 0; j < count; j += kLanes) {
        hn::Store(hn::Mul(hn::Load(d, scores + j), hn::LoadU(d, scales + j)), d, scores + j);
    }
}
/// Weights times the values' scales. A weight of 0 stays 0: a scale that nobody sees may be NaN.
void scale_weights(float* weights, const float* scales, std::size_t count) {
    const F d;
    for (std::size_t j = 0; j < count; j += kLanes) {
        const Vec weight = hn::Load(d, weights + j);
        const Vec scaled = hn::Mul(weight, hn::LoadU(d, scales + j));
        hn::Store(hn::IfThenElseZero(hn::Ne(weight, hn::Zero(d)), scaled), d, weights + j);
    }
}

/// A chunk's scores of one row -> exponentials; to whole vectors with zeros.
void weigh(const Decode& w, const ScoreForm& form, const PlaceScales& scales, const Chunk& chunk,
           std::int64_t h, std::int64_t r) {
    const F d;
    const std::size_t padded = (chunk.places() + kLanes - 1) / kLanes * kLanes;
    float* scores = w.scores(h, r).data;
    constexpr float none = -std::numeric_limits<float>::infinity();
    if (scales.keys != nullptr) {
        scale_scores(scores, scales.keys, padded);
    }
    if (form.inner > 0) {
        cap_scores<1>(scores, padded / kLanes, form.inner, form.limit);
    }
    std::fill(scores + chunk.places(), scores + padded, none);
    const std::int64_t sequence = w.task.work_tile.sequence;
    chunk.hide(visible_keys(*w.task.problem, sequence, w.query(r)), scores);
    if (w.args.tree != nullptr) {
        chunk.hide(tree_row(w.args, *w.task.problem, sequence, w.query(r)), scores);
    }
    Vec most = hn::Set(d, none);
    for (std::size_t j = 0; j < padded; j += kLanes) {
        most = hn::Max(most, hn::Load(d, scores + j));
    }
    const float top = hn::GetLane(hn::MaxOfLanes(d, most)) * form.factor;
    float& row_peak = w.peak(h, r);
    if (top > row_peak + kPeakSlack) {
        const float scale = hn::GetLane(exp2(hn::Set(d, row_peak - top)));
        row_peak = top;
        w.sum(h, r) *= scale;
        float* out = w.out(h, r).data;
        for (std::int64_t c = 0; c < w.at.out_row; c += kLanes) {
            hn::Store(hn::Mul(hn::Load(d, out + c), hn::Set(d, scale)), d, out + c);
        }
    }
    const Vec factor = hn::Set(d, form.factor);
    const Vec peak = hn::Set(d, row_peak);
    Vec sum = hn::Zero(d);
    for (std::size_t j = 0; j < padded; j += kLanes) {
        const Vec p = exp2(hn::MulSub(hn::Load(d, scores + j), factor, peak));
        sum = hn::Add(sum, p);
        hn::Store(p, d, scores + j);
    }
    w.sum(h, r) += hn::GetLane(hn::SumOfLanes(d, sum));
    if (scales.values != nullptr) {
        scale_weights(scores, scales.values, padded);
    }
}

/// Applies f<rows>(first row) to all rows, several at once where registers allow.
template <class Function>
HWY_INLINE void by_rows(std::int64_t rows, const Function& f) {
    std::int64_t r = 0;
    if constexpr (kRowsAtOnce == 4) {
        for (; r + 4 <= rows; r += 4) {
            f.template run<4>(r);
        }
    }
    for (; r + 2 <= rows; r += 2) {
        f.template run<2>(r);
    }
    if (r < rows) {
        f.template run<1>(r);
    }
}

/// One step of one head: its K rows against the rows of Q, or its V rows into the output. See
/// Widened for `streamed`.
struct HeadStep {
    const Decode& w;
    const StepRows& cache;  ///< of K or of V
    std::int64_t head;
    std::size_t step;
    std::size_t columns;
};
template <class Engine, bool streamed>
struct DotStep : HeadStep {
    template <int rows>
    HWY_INLINE void run(std::int64_t r) const {
        RowBlock scores = w.scores(head, r);
        scores.data += step * kStreams;
        Engine::template dots<rows, streamed>(cache, columns, w.q(head, r), scores);
    }
};
template <class Engine, bool streamed>
struct WeighStep : HeadStep {
    template <int rows>
    HWY_INLINE void run(std::int64_t r) const {
        Engine::template weigh<rows, streamed>(cache, columns, w.scores(head, r), step,
                                               w.out(head, r));
    }
};

/// A head's step for all its rows, widened first if the engine says so.
template <class Engine, template <class, bool> class Step>
HWY_INLINE void run_rows(const HeadStep& of) {
    const Decode& w = of.w;
    if constexpr (Engine::widens) {
        if (w.rows > kRowsAtOnce) {
            const auto stride = static_cast<std::size_t>(w.at.wide_row);
            float* const wide = w.task.scratch + w.at.wide;
            Engine::widen(of.cache, of.columns, wide, stride);
            StepRows rows;
            for (std::size_t i = 0; i < kStreams; ++i) {
                rows[i] = reinterpret_cast<const std::byte*>(wide + i * stride);
            }
            const std::size_t whole = (of.columns + kUnit - 1) / kUnit * kUnit;
            return by_rows(w.rows,
                           Step<Widened<DType::fp32>, false>{{w, rows, of.head, of.step, whole}});
        }
    }
    by_rows(w.rows, Step<Engine, true>{of});
}

/// All steps of a chunk, each for all heads: where heads lie side by side, memory is read in order.
template <class Engine, template <class, bool> class Step>
void run_steps(const Decode& w, const Chunk& chunk, const CacheRows& cache, std::int64_t next,
               std::size_t columns) {
    const std::byte* at[kDecodeChunkMost];
    chunk.list(cache, at);
    const std::int64_t heads = w.task.head1 - w.task.head0;
    for (std::int64_t j = 0; j < chunk.steps; ++j) {
        const std::byte* const* first = at + kStreams * j;
        StepRows rows{first[0], first[1], first[2], first[3]};
        for (std::int64_t h = 0; h < heads; ++h) {
            run_rows<Engine, Step>({w, rows, h, static_cast<std::size_t>(j), columns});
            for (auto& row : rows) {
                row += next;
            }
        }
    }
}

/// Reads them into the two arrays, if the call has any.
PlaceScales place_scales(const Decode& w, const Chunk& chunk, std::int64_t head, float* of_keys,
                         float* of_values) {
    if (w.args.k_token_scale.data == nullptr) {
        return {nullptr, nullptr};
    }
    const std::int64_t sequence = w.task.work_tile.sequence;
    chunk.list(token_scales(w.args, w.args.k_token_scale, sequence, head), of_keys);
    chunk.list(token_scales(w.args, w.args.v_token_scale, sequence, head), of_values);
    return {of_keys, of_values};
}

template <class Engine>
void decode(const Task& task) {
    const WorkTile& work_tile = task.work_tile;
    const Decode w(task);
    const std::int64_t heads = task.head1 - task.head0;
    for (std::int64_t h = 0; h < heads; ++h) {
        open_head<Engine>(w, h);
    }
    for (std::int64_t key = work_tile.key0; key < work_tile.key1; key += w.chunk) {
        const Chunk chunk(key, std::min(work_tile.key1, key + w.chunk));
        run_steps<Engine, DotStep>(w, chunk, w.k, w.k_next, w.headdim);
        for (std::int64_t h = 0; h < heads; ++h) {
            const std::int64_t head = task.head0 + h;
            const CacheScales scales = cache_scales(*task.args, work_tile.sequence, head);
            const ScoreForm form = score_form(*task.args, scales.k);
            float of_keys[kDecodeChunkMost];
            float of_values[kDecodeChunkMost];
            const PlaceScales of_places = place_scales(w, chunk, head, of_keys, of_values);
            for (std::int64_t r = 0; r < w.rows; ++r) {
                weigh(w, form, of_places, chunk, h, r);
                Engine::pack_weights(w.scores(h, r).data, static_cast<std::size_t>(w.chunk));
            }
        }
        run_steps<Engine, WeighStep>(w, chunk, w.v, w.v_next, w.headdim_v);
    }
    for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t r = 0; r < w.rows; ++r) {
            float* out = w.out(h, r).data;
            Engine::unpack_output(out, static_cast<std::size_t>(w.at.out_row));
            close_row(task, task.head0 + h, r, w.peak(h, r), w.sum(h, r), out);
        }
    }
}

/// Whether this target's code could multiply pairs of bf16, were the instruction there.
bool dot_target() {
    return HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86 != 0;
}

void decode_task(const Task& task) {
#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86
    if (task.products == Products::pairs) {
        return decode<Pairs>(task);
    }
    // Where more rows read a key than share a load, widening it once was faster.
    if (task.args->kv_dtype == DType::e4m3 && has_lookup() && task.work_tile.rows <= kRowsAtOnce) {
        return decode<LookedUp>(task);
    }
#endif
    switch (task.args->kv_dtype) {
        case DType::fp32: return decode<Widened<DType::fp32>>(task);
        case DType::fp16: return decode<Widened<DType::fp16>>(task);
        case DType::bf16: return decode<Widened<DType::bf16>>(task);
        default: return decode<Widened<DType::e4m3>>(task);
    }
}

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace raceline::kernels::cpu_flash {
// Through the dispatch, which remembers what it chose: to ask Highway for the targets each time
// would execute CPUID, which costs microseconds under a hypervisor.
HWY_EXPORT(dot_target);
bool has_dot() {
#if HWY_ARCH_X86
    return __builtin_cpu_supports("avx512bf16") && HWY_DYNAMIC_DISPATCH(dot_target)();
#else
    return false;
#endif
}

bool has_lookup() {
#if HWY_ARCH_X86
    return __builtin_cpu_supports("avx512vbmi") != 0;
#else
    return false;
#endif
}

Products products_of(const TypesOfCall& call) {
    return products_on(call, has_dot(), may_use_bf16_tiles());
}

HWY_EXPORT(decode_task);
void run_decode(const Task& task) {
    HWY_DYNAMIC_DISPATCH(decode_task)(task);
}
}  // namespace raceline::kernels::cpu_flash
#endif
