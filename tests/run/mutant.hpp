// SPDX-License-Identifier: Apache-2.0
// A plain blocked attention with split KV, as a kernel would be written, that can be told to make
// one classic mistake. The gate must accept it without and refuse it with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "workload/inputs.hpp"
#include "workload/oracle.hpp"

namespace raceline::mutation {

enum class Mistake {
    none,
    folded_exponential,  ///< no mistake: exp2 with the scale folded into its argument
    dropped_block,       ///< 64 keys (or a page) in the middle are skipped
    lost_split,          ///< one of four partial results is not merged
    wrong_scale,         ///< 1 % too large
    stale_maximum,       ///< the accumulator is not rescaled when the maximum grows
    shifted_mask,        ///< every row sees one key too many
    unread_tail,         ///< the last key is never read
    wrong_kv_head,       ///< heads are matched modulo instead of by group
    no_softcap,
    no_sink,
    unwritten_row,
    narrow_accumulator,  ///< a bf16 one
    flipped_tree_bit,    ///< of the last token: it sees its sequence's first new token, or not
    no_tree,             ///< every row sees all new tokens
    older_key_scale,     ///< a key takes the scale of the key before it
    older_value_scale,   ///< the same of a value
};

struct Result {
    std::vector<std::byte> out;
    std::vector<float> lse;
};

/// Rounds as this implementation does: operands and P in the storage type, sums in fp32.
inline Precision precision_of(const Workload& w) {
    const Rounding type = w.dtype == DType::fp32   ? Rounding::fp32
                          : w.dtype == DType::fp16 ? Rounding::fp16
                                                   : Rounding::bf16;
    return {type, Rounding::fp32, type, Rounding::fp32, type};
}

class Kernel {
public:
    Kernel(const Workload& w, const Inputs& in, const AttentionCall& args, Mistake mistake)
        : a_(args),
          mistake_(mistake),
          precision_(precision_of(w)),
          q_(unpack(in.q, w.dtype)),
          k_(unpack(in.k, w.kv_dtype)),
          v_(w.mla ? k_ : unpack(in.v, w.kv_dtype)) {
        if (mistake == Mistake::wrong_scale) {
            a_.scale *= 1.01F;
        }
        if (mistake == Mistake::no_softcap) {
            a_.softcap = 0;
        }
        if (mistake == Mistake::no_sink) {
            a_.sinks = nullptr;
        }
        if (mistake == Mistake::no_tree) {
            a_.tree = nullptr;
        }
    }

    void run() const {
#pragma omp parallel for collapse(2) schedule(dynamic)
        for (int b = 0; b < a_.batch; ++b) {
            for (int h = 0; h < a_.heads_q; ++h) {
                const bool forgetful =
                    mistake_ == Mistake::unwritten_row && b == a_.batch / 2 && h == a_.heads_q / 2;
                for (int i = 0; i < length_q(b); ++i) {
                    if (!forgetful || i != length_q(b) / 2) {
                        row(b, i, h);
                    }
                }
            }
        }
    }

private:
    static constexpr int splits = 4;
    struct Partial {
        float largest = -std::numeric_limits<float>::infinity(), sum = 0;
        std::vector<float> out;
    };

    [[nodiscard]] int length_q(int b) const {
        return a_.cu_seqlens_q != nullptr ? a_.cu_seqlens_q[b + 1] - a_.cu_seqlens_q[b]
                                          : a_.seqlen_q;
    }
    [[nodiscard]] int length_k(int b) const {
        return a_.seqlens_k != nullptr      ? a_.seqlens_k[b]
               : a_.cu_seqlens_k != nullptr ? a_.cu_seqlens_k[b + 1] - a_.cu_seqlens_k[b]
                                            : a_.seqlen_k;
    }
    static std::int64_t element(const TensorArg& t, const int* starts, int b, int i, int h) {
        const std::int64_t base = starts != nullptr ? starts[b] * t.seq_stride : b * t.batch_stride;
        return base + i * t.seq_stride + h * t.head_stride;
    }
    [[nodiscard]] std::int64_t cached(const TensorArg& t, int b, int j, int h) const {
        if (a_.block_table == nullptr) {
            return element(t, a_.cu_seqlens_k, b, j, h);
        }
        const int page = a_.block_table[b * a_.block_table_stride + j / a_.page_size];
        return page * t.batch_stride + (j % a_.page_size) * t.seq_stride + h * t.head_stride;
    }
    static std::vector<float> unpack(const std::vector<std::byte>& from, DType dtype) {
        const auto size = static_cast<std::size_t>(bytes_of(dtype));
        std::vector<float> values(from.size() / size);
#pragma omp parallel for
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>(load_element(from.data(), dtype, i));
        }
        return values;
    }

    [[nodiscard]] bool dropped(int b, int j) const {
        const int width = a_.page_size != 0 ? a_.page_size : 64;
        return mistake_ == Mistake::dropped_block && j / width == length_k(b) / 2 / width;
    }

    [[nodiscard]] bool hidden(int b, int i, int j) const {
        const int token = j - (length_k(b) - length_q(b));
        if (a_.tree == nullptr || token < 0) {
            return false;
        }
        const int first = a_.cu_seqlens_q != nullptr ? a_.cu_seqlens_q[b] : b * a_.seqlen_q;
        const bool flipped =
            mistake_ == Mistake::flipped_tree_bit && i == length_q(b) - 1 && token == 0;
        return ((a_.tree[first + i] >> token & 1U) != 0) == flipped;
    }

    [[nodiscard]] float token_scale(const ScaleArg& t, int b, int j, int h, Mistake older) const {
        if (t.data == nullptr) {
            return 1;
        }
        const TensorArg as_tensor{nullptr, t.batch_stride, t.seq_stride, t.head_stride};
        return t.data[cached(as_tensor, b, mistake_ == older && j > 0 ? j - 1 : j, h)];
    }

    [[nodiscard]] float logit(const std::vector<float>& q, int b, int j, int kv) const {
        const std::int64_t at = cached(a_.k, b, j, kv);
        float s = 0;
        for (int c = 0; c < a_.headdim; ++c) {
            s += q[c] * k_[at + c];
        }
        s *= token_scale(a_.k_token_scale, b, j, kv, Mistake::older_key_scale);
        s *= a_.scale * (a_.k_scale != nullptr ? a_.k_scale[b * a_.heads_kv + kv] : 1.0F);
        return a_.softcap > 0 ? a_.softcap * std::tanh(s / a_.softcap) : s;
    }

    [[nodiscard]] Partial split(const std::vector<float>& q, int b, int i, int first, int last,
                                int kv) const {
        Partial part;
        part.out.assign(a_.headdim_v, 0);
        for (int from = first; from < last; from += 64) {
            std::vector<float> s;
            const float before = part.largest;
            for (int j = from; j < std::min(last, from + 64); ++j) {
                s.push_back(dropped(b, j) || hidden(b, i, j)
                                ? -std::numeric_limits<float>::infinity()
                                : logit(q, b, j, kv));
                part.largest = std::isnan(s.back()) ? s.back() : std::max(part.largest, s.back());
            }
            if (part.largest == -std::numeric_limits<float>::infinity()) {
                continue;
            }
            const float rescale = mistake_ == Mistake::stale_maximum && part.sum > 0
                                      ? 1
                                      : std::exp(before - part.largest);
            part.sum *= rescale;
            for (float& o : part.out) {
                o *= rescale;
            }
            add_block(part, s, b, from, kv);
        }
        return part;
    }

    /// exp(s - m), or as one exp2 whose argument has the conversion folded in.
    [[nodiscard]] float exponential(float s, float m) const {
        constexpr float log2e = 1.4426950408889634F;
        return mistake_ == Mistake::folded_exponential ? std::exp2(std::fma(s, log2e, -(m * log2e)))
                                                       : std::exp(s - m);
    }

    void add_block(Partial& part, const std::vector<float>& s, int b, int from, int kv) const {
        for (int j = 0; j < static_cast<int>(s.size()); ++j) {
            const float p = exponential(s[j], part.largest);
            const float scale =
                token_scale(a_.v_token_scale, b, from + j, kv, Mistake::older_value_scale);
            const std::int64_t at = cached(a_.v, b, from + j, kv);
            const auto weight = static_cast<float>(
                round_to(static_cast<double>(p * scale), precision_.probabilities));
            part.sum += p;
            for (int c = 0; c < a_.headdim_v; ++c) {
                part.out[c] += weight * v_[at + c];
                if (mistake_ == Mistake::narrow_accumulator) {
                    part.out[c] = static_cast<float>(
                        round_to(static_cast<double>(part.out[c]), Rounding::bf16));
                }
            }
        }
    }

    void row(int b, int i, int h) const {
        const int keys = length_k(b);
        const int aligned = i + keys - length_q(b);
        int last = a_.window_right < 0 ? keys : std::min(keys, aligned + a_.window_right + 1);
        const int first = a_.window_left < 0 ? 0 : std::max(0, aligned - a_.window_left);
        if (mistake_ == Mistake::shifted_mask) {
            last = std::min(keys, last + 1);
        }
        if (mistake_ == Mistake::unread_tail) {
            last = std::min(last, keys - 1);
        }
        const int kv =
            mistake_ == Mistake::wrong_kv_head ? h % a_.heads_kv : h / (a_.heads_q / a_.heads_kv);
        std::vector<float> q(a_.headdim);
        for (int c = 0; c < a_.headdim; ++c) {
            q[c] = q_[element(a_.q, a_.cu_seqlens_q, b, i, h) + c];
        }
        std::vector<Partial> parts;
        const int each = std::max(1, (last - first + splits - 1) / splits);
        for (int from = first; from < last; from += each) {
            parts.push_back(split(q, b, i, from, std::min(last, from + each), kv));
        }
        if (mistake_ == Mistake::lost_split && parts.size() > 1) {
            parts.erase(parts.begin() + 1);
        }
        merge(parts, b, i, h, kv);
    }

    void merge(const std::vector<Partial>& parts, int b, int i, int h, int kv) const {
        float largest = -std::numeric_limits<float>::infinity();
        for (const Partial& part : parts) {
            largest = std::isnan(part.largest) ? part.largest : std::max(largest, part.largest);
        }
        const bool empty = largest == -std::numeric_limits<float>::infinity();
        if (a_.sinks != nullptr) {
            largest = std::max(largest, a_.sinks[h]);
        }
        float sum = a_.sinks != nullptr ? std::exp(a_.sinks[h] - largest) : 0.0F;
        std::vector<float> out(a_.headdim_v, 0);
        for (const Partial& part : parts) {
            const float weight = empty ? 0.0F : std::exp(part.largest - largest);
            sum += weight * part.sum;
            for (int c = 0; c < a_.headdim_v; ++c) {
                out[c] += weight * part.out[c];
            }
        }
        const float v_scale = a_.v_scale != nullptr ? a_.v_scale[b * a_.heads_kv + kv] : 1.0F;
        const std::int64_t at = element(a_.out, a_.cu_seqlens_q, b, i, h);
        for (int c = 0; c < a_.headdim_v; ++c) {
            const float value = empty ? 0.0F : out[c] * v_scale / sum;
            store_element(static_cast<std::byte*>(a_.out.data), a_.dtype, at + c,
                          static_cast<double>(value));
        }
        const std::int64_t base = a_.cu_seqlens_q != nullptr
                                      ? a_.cu_seqlens_q[b] * a_.lse_seq_stride
                                      : b * a_.lse_batch_stride;
        a_.lse[base + i * a_.lse_seq_stride + h * a_.lse_head_stride] =
            sum == 0 ? -std::numeric_limits<float>::infinity() : largest + std::log(sum);
    }

    AttentionCall a_;
    Mistake mistake_;
    Precision precision_;
    std::vector<float> q_, k_, v_;
};

}  // namespace raceline::mutation
