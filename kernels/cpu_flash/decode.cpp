// SPDX-License-Identifier: Apache-2.0
// One decode task: the few rows of a sequence against a range of keys, for a range of K/V heads.
// Heads lie side by side in a cache row, so that a chunk of keys is walked head by head before the
// next chunk: memory is read in long runs, and each K and V byte once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu_flash/decode.cpp"
// clang-format off: the targets are chosen before Highway is seen
#include "kernels/cpu_flash/highway_targets.hpp"
#include <hwy/foreach_target.h>
// clang-format on
#include <algorithm>
#include <hwy/highway.h>

#include "kernels/cpu_flash/decode-inl.hpp"
#include "kernels/cpu_flash/decode_scratch.hpp"
#include "kernels/cpu_flash/engine.hpp"
#include "kernels/cpu_flash/rows.hpp"
#include "kernels/cpu_flash/softmax-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

/// One K/V head of a task: its rows of Q, its outputs and softmax state.
struct DecodeHead {
    const Task& task;
    const AttentionArgs& args;
    DecodeScratch at;
    std::int64_t head;
    float *q, *out, *peak, *sum, *scores;
    ScoreForm form;
    CacheRows k, v;

    DecodeHead(const Task& t, std::int64_t h)
        : task(t),
          args(*t.args),
          at(*t.problem),
          head(h),
          form(score_form(args, cache_scales(args, t.piece.sequence, h).k)),
          k(cache_rows(args, args.k, t.piece.sequence, h)),
          v(cache_rows(args, args.v, t.piece.sequence, h)) {
        float* base = t.scratch + at.head_stride * (h - t.head0);
        q = base + at.q;
        out = base + at.out;
        peak = base + at.peak;
        sum = base + at.sum;
        scores = t.scratch + at.scores;
    }
    [[nodiscard]] std::int64_t query(std::int64_t row) const { return row / task.problem->group; }
    [[nodiscard]] std::int64_t query_head(std::int64_t row) const {
        return head * task.problem->group + row % task.problem->group;
    }
};

/// Puts whole units of `row` into the order of registers, or back.
template <DType type>
void reorder(float* row, std::size_t count, bool back) {
    if constexpr (type == DType::bf16) {
        float unit[kUnit];
        for (std::size_t c = 0; c < count; c += kUnit) {
            std::copy_n(row + c, kUnit, unit);
            for (std::size_t i = 0; i < kUnit; ++i) {
                (back ? row[c + unit_order<type>(i)] : row[c + i]) =
                    back ? unit[i] : unit[unit_order<type>(i)];
            }
        }
    }
}

template <DType type>
void open_head(const DecodeHead& h) {
    for (std::int64_t r = 0; r < h.task.piece.rows; ++r) {
        float* row = h.q + r * h.at.q_row;
        std::fill_n(row, h.at.q_row, 0.0F);
        to_float(query_row(h.args, h.args.q, h.task.piece.sequence, h.query(r), h.query_head(r)),
                 h.args.dtype, static_cast<std::size_t>(h.args.headdim), row);
        for (std::int64_t c = 0; c < h.args.headdim && h.form.sign < 0; ++c) {
            row[c] = -row[c];
        }
        reorder<type>(row, static_cast<std::size_t>(h.at.q_row), false);
        h.peak[r] = kNoPeak;
        h.sum[r] = 0;
    }
    std::fill_n(h.out, h.task.piece.rows * h.at.out_row, 0.0F);
}

/// Scores of keys [key0, key0 + keys) of one row -> exponentials; to whole vectors with zeros.
void weigh(const DecodeHead& h, std::int64_t row, std::int64_t key0, std::size_t keys) {
    const F d;
    const std::size_t padded = (keys + kLanes - 1) / kLanes * kLanes;
    float* scores = h.scores + row * kDecodeChunkMost;
    constexpr float none = -std::numeric_limits<float>::infinity();
    if (h.form.inner > 0) {
        cap_scores<1>(scores, padded / kLanes, h.form.inner, h.form.limit);
    }
    std::fill(scores + keys, scores + padded, none);
    const KeySpan span = visible_keys(*h.task.problem, h.task.piece.sequence, h.query(row));
    const auto end = key0 + static_cast<std::int64_t>(keys);
    if (span.first > key0) {
        std::fill_n(scores, std::min(span.first, end) - key0, none);
    }
    if (span.last < end) {
        std::fill(scores + std::max<std::int64_t>(span.last - key0, 0), scores + keys, none);
    }
    Vec most = hn::Set(d, none);
    for (std::size_t j = 0; j < padded; j += kLanes) {
        most = hn::Max(most, hn::Load(d, scores + j));
    }
    const float top = hn::GetLane(hn::MaxOfLanes(d, most)) * h.form.factor;
    if (top > h.peak[row] + kPeakSlack) {
        const float scale = hn::GetLane(exp2(hn::Set(d, h.peak[row] - top)));
        h.peak[row] = top;
        h.sum[row] *= scale;
        float* out = h.out + row * h.at.out_row;
        for (std::int64_t c = 0; c < h.at.out_row; c += kLanes) {
            hn::Store(hn::Mul(hn::Load(d, out + c), hn::Set(d, scale)), d, out + c);
        }
    }
    const Vec factor = hn::Set(d, h.form.factor);
    const Vec peak = hn::Set(d, h.peak[row]);
    Vec sum = hn::Zero(d);
    for (std::size_t j = 0; j < padded; j += kLanes) {
        const Vec p = exp2(hn::MulSub(hn::Load(d, scores + j), factor, peak));
        sum = hn::Add(sum, p);
        hn::Store(p, d, scores + j);
    }
    h.sum[row] += hn::GetLane(hn::SumOfLanes(d, sum));
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

template <DType type>
struct DotRows {
    const DecodeHead& h;
    const std::byte* const* k;
    std::size_t keys;
    Ahead ahead;
    template <int rows>
    void run(std::int64_t r) const {
        dot_rows<type, rows>(k, keys, h.q + r * h.at.q_row, static_cast<std::size_t>(h.at.q_row),
                             static_cast<std::size_t>(h.args.headdim),
                             h.scores + r * kDecodeChunkMost, kDecodeChunkMost,
                             r == 0 ? ahead : Ahead{});
    }
};
template <DType type>
struct WeighRows {
    const DecodeHead& h;
    const std::byte* const* v;
    std::size_t keys;
    Ahead ahead;
    template <int rows>
    void run(std::int64_t r) const {
        weigh_rows<type, rows>(v, keys, h.scores + r * kDecodeChunkMost, kDecodeChunkMost,
                               static_cast<std::size_t>(h.args.headdim_v), h.out + r * h.at.out_row,
                               static_cast<std::size_t>(h.at.out_row), r == 0 ? ahead : Ahead{});
    }
};

/// Part of the next chunk that is asked for while one head of this chunk is worked on: some of its
/// keys with all their heads, so that memory is asked for in the order in which it lies.
struct Share {
    std::int64_t key0, key1;
    Share(const Task& task, std::int64_t head, std::int64_t first, std::int64_t last) {
        const std::int64_t heads = task.head1 - task.head0;
        const std::int64_t nth = head - task.head0;
        key0 = first + (last - first) * nth / heads;
        key1 = first + (last - first) * (nth + 1) / heads;
    }
};

/// Addresses of rows of K or V.
struct RowList {
    static constexpr std::int64_t most = 2 * kDecodeChunkMost;
    const std::byte* at[most];
    std::size_t count = 0;

    [[nodiscard]] Ahead ahead(std::size_t keys, std::size_t bytes) const {
        return {at, count, bytes, (count + keys - 1) / keys};
    }
    void fill(const CacheRows& cache, std::int64_t key0, std::int64_t key1) {
        count = 0;
        for (std::int64_t key = key0; key < key1; ++key) {
            at[count++] = cache.row(key);
        }
    }
    void fill(const Task& task, const Share& share, const TensorArg& tensor) {
        count = 0;
        const CacheRows rows = cache_rows(*task.args, tensor, task.piece.sequence, task.head0);
        const std::int64_t next =
            tensor.head_stride * static_cast<std::int64_t>(bytes_of(rows.dtype));
        const std::int64_t heads = task.head1 - task.head0;
        for (std::int64_t key = share.key0; key < share.key1; ++key) {
            const std::byte* row = rows.row(key);
            for (std::int64_t h = 0; h < heads && count < most; ++h) {
                at[count++] = row + h * next;
            }
        }
    }
};

template <DType type>
void decode(const Task& task) {
    const Piece& piece = task.piece;
    for (std::int64_t head = task.head0; head < task.head1; ++head) {
        open_head<type>(DecodeHead(task, head));
    }
    const std::int64_t chunk = decode_chunk(*task.args);
    const auto bytes = static_cast<std::size_t>(bytes_of(type));
    const std::size_t k_bytes = static_cast<std::size_t>(task.args->headdim) * bytes;
    const std::size_t v_bytes = static_cast<std::size_t>(task.args->headdim_v) * bytes;
    RowList k;
    RowList v;
    RowList next_k;
    RowList next_v;
    for (std::int64_t key = piece.key0; key < piece.key1; key += chunk) {
        const std::int64_t end = std::min(piece.key1, key + chunk);
        const std::int64_t next_end = std::min(piece.key1, end + chunk);
        for (std::int64_t head = task.head0; head < task.head1; ++head) {
            const DecodeHead h(task, head);
            k.fill(h.k, key, end);
            v.fill(h.v, key, end);
            const Share share(task, head, end, next_end);
            next_k.fill(task, share, task.args->k);
            next_v.fill(task, share, task.args->v);
            by_rows(piece.rows, DotRows<type>{h, k.at, k.count, next_k.ahead(k.count, k_bytes)});
            for (std::int64_t row = 0; row < piece.rows; ++row) {
                weigh(h, row, key, k.count);
            }
            by_rows(piece.rows, WeighRows<type>{h, v.at, v.count, next_v.ahead(v.count, v_bytes)});
        }
    }
    for (std::int64_t head = task.head0; head < task.head1; ++head) {
        const DecodeHead h(task, head);
        for (std::int64_t row = 0; row < piece.rows; ++row) {
            float* out = h.out + row * h.at.out_row;
            reorder<type>(out, static_cast<std::size_t>(h.at.out_row), true);
            close_row(task, head, row, h.peak[row], h.sum[row], out);
        }
    }
}

/// Whether this target's code could multiply pairs of bf16, were the instruction there.
bool dot_target() {
    return HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86 != 0;
}

void decode_task(const Task& task) {
    switch (task.args->kv_dtype) {
        case DType::fp32: return decode<DType::fp32>(task);
        case DType::fp16: return decode<DType::fp16>(task);
        case DType::bf16: return decode<DType::bf16>(task);
        default: return decode<DType::e4m3>(task);
    }
}

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace raceline::kernels::cpu_flash {
// The dispatch remembers its choice; asking Highway for the targets executes CPUID, which under a
// hypervisor costs microseconds.
HWY_EXPORT(dot_target);
bool has_dot() {
#if HWY_ARCH_X86
    return __builtin_cpu_supports("avx512bf16") && HWY_DYNAMIC_DISPATCH(dot_target)();
#else
    return false;
#endif
}

bool uses_dot(DType dtype, DType kv_dtype) {
    // e4m3 has fewer exponent and mantissa bits than bf16: it is exact there.
    return dtype == DType::bf16 && (kv_dtype == DType::bf16 || kv_dtype == DType::e4m3) &&
           has_dot();
}

HWY_EXPORT(decode_task);
void run_decode(const Task& task) {
    HWY_DYNAMIC_DISPATCH(decode_task)(task);
}
}  // namespace raceline::kernels::cpu_flash
#endif
