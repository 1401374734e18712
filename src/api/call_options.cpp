// SPDX-License-Identifier: Apache-2.0
// What forward and decode share.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "api/call.hpp"
#include "api/engine_choice.hpp"
#include "api/refusal.hpp"
#include "support/check.hpp"
#include "support/float_range.hpp"
#include "support/rounding.hpp"
#include "workload/inputs.hpp"
#include "workload/plainest.hpp"

namespace raceline::api {
namespace {

// A side of a window has 64 bits in a call and 31 in a problem; a longer one hides nothing.
std::int64_t side_of_window(std::int64_t given) {
    return given < 0 || given > std::numeric_limits<std::int32_t>::max() ? -1 : given;
}

}  // namespace

void check_outputs_apart(const Call& call) {
    check_apart(call.out, call.read);
    check_apart(call.out, {call.lse});
    check_apart(call.lse, call.read);
}

void apply_options(const AttentionOptions& options, Call& call) {
    require(options.softcap == 0 || is_positive_float(options.softcap), bad,
            "softcap is {}; it must be 0 (none) or a positive float32", options.softcap);
    require(!options.scale || is_positive_float(*options.scale), bad,
            "scale is {}; it must be a float32 above 0", options.scale.value_or(0));
    require(options.threads >= 0 && options.threads <= most_threads, bad,
            "threads is {}; it must be 0 (all) to {}", options.threads, most_threads);
    require(options.accuracy == Accuracy::accurate || options.accuracy == Accuracy::fast, bad,
            "accuracy is {}; it must be 0 (accurate) or 1 (fast)",
            static_cast<int>(options.accuracy));
    Workload& w = call.workload;
    w.accuracy = options.accuracy;
    w.mask = options.causal ? Mask::causal : Mask::full;
    if (options.window) {
        w.window =
            Window{side_of_window(options.window->first), side_of_window(options.window->second)};
    }
    w.softcap = options.softcap;
    w.sinks = options.sinks != nullptr;
    w.scale = options.scale;
    w = canonical(std::move(w));
    call.args.sinks = options.sinks;
}

void apply_sizes(Call& call) {
    const Workload& w = call.workload;
    set_sizes(call.args, w);
    if (!call.empty()) {  // a workload has at least one sequence and one head
        validate(w);
    }
}

void apply_lse(const TensorView& lse, bool fixed, AttentionArgs& args) {
    if (lse.data == nullptr) {
        return;
    }
    const std::size_t seq = fixed ? 1 : 0;
    args.lse = static_cast<float*>(lse.data);
    args.lse_batch_stride = fixed ? kernel_stride(lse, 0) : 0;
    args.lse_seq_stride = kernel_stride(lse, seq);
    args.lse_head_stride = kernel_stride(lse, seq + 1);
}

TensorArg argument_of(const TensorView& view, bool fixed) {
    const std::size_t seq = fixed ? 1 : 0;
    return {view.data, fixed ? kernel_stride(view, 0) : 0, kernel_stride(view, seq),
            kernel_stride(view, seq + 1)};
}

std::int64_t read_prefix_sums(std::string_view name, std::span<const std::int32_t> sums,
                              std::string_view tensor, std::int64_t total,
                              std::vector<std::int64_t>& lengths) {
    require(sums.front() == 0, bad, "{}[0] is {}; prefix sums start at 0", name, sums.front());
    std::int64_t longest = 0;
    lengths.reserve(sums.size() - 1);
    for (std::size_t b = 0; b + 1 < sums.size(); ++b) {
        require(sums[b + 1] >= sums[b], bad,
                "{0}[{1}] is {2} after {3}: sequence {4} would have a negative length; prefix "
                "sums must not fall",
                name, b + 1, sums[b + 1], sums[b], b);
        lengths.push_back(std::int64_t{sums[b + 1]} - sums[b]);
        longest = std::max(longest, lengths.back());
    }
    require(sums.back() == total, bad, "{} ends at {}; it must end at {}'s {} tokens", name,
            sums.back(), tensor, total);
    return longest;
}

void check_compute_dtype(const TensorView& q) {
    require(q.dtype == DType::fp32 || q.dtype == DType::fp16 || q.dtype == DType::bf16, bad,
            "q has dtype {}; queries are fp32, fp16 or bf16", name_of(q.dtype));
}

void check_heads(const Workload& w) {
    require(w.headdim >= 1, bad, "q's head dim is {}; it must be at least 1", w.headdim);
    require(w.headdim_v >= 1, bad, "v's head dim is {}; it must be at least 1", w.headdim_v);
    require(w.heads_q == 0 || (w.heads_kv > 0 && w.heads_q % w.heads_kv == 0), bad,
            "q has {} heads and k has {}; q's must be a multiple of k's", w.heads_q, w.heads_kv);
}

void check_lengths(std::span<const std::int32_t> lengths, std::int64_t longest) {
    for (std::size_t b = 0; b < lengths.size(); ++b) {
        require(lengths[b] >= 0 && lengths[b] <= longest, bad,
                "seqlens_k[{}] is {}; it must be 0 to max_seqlen_k ({})", b, lengths[b], longest);
    }
}

void check_tree(std::span<const std::uint32_t> words, std::int64_t tokens) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto width = static_cast<std::int64_t>(std::bit_width(words[i]));
        require(
            width <= tokens, bad,
            "tree[{}][{}] is {:#x}, with bit {} set; {} new tokens a sequence have bits 0 to {}",
            static_cast<std::int64_t>(i) / tokens, static_cast<std::int64_t>(i) % tokens, words[i],
            width - 1, tokens, tokens - 1);
    }
}

void check_packed_tree(std::span<const std::uint32_t> words, std::span<const std::int64_t> tokens) {
    std::size_t word = 0;
    for (std::size_t b = 0; b < tokens.size(); ++b) {
        for (std::int64_t i = 0; i < tokens[b]; ++i, ++word) {
            const auto width = static_cast<std::int64_t>(std::bit_width(words[word]));
            require(
                width <= tokens[b], bad,
                "tree[{}] is {:#x}, with bit {} set; the {} new tokens of sequence {} have bits "
                "0 to {}",
                word, words[word], width - 1, tokens[b], b, tokens[b] - 1);
        }
    }
}

void check_pages(std::span<const std::int32_t> lengths, std::span<const std::int32_t> table,
                 std::int64_t table_stride, std::int64_t page_size, std::int64_t pages) {
    for (std::size_t b = 0; b < lengths.size(); ++b) {
        const std::int64_t used = divide_up(lengths[b], page_size);
        for (std::int64_t i = 0; i < used; ++i) {
            // What stands past the used entries is nobody's business.
            const std::int32_t page =
                table[static_cast<std::size_t>(static_cast<std::int64_t>(b) * table_stride + i)];
            require(page >= 0 && page < pages, bad,
                    "block_table[{}][{}] is page {}; the caches have pages 0 to {}", b, i, page,
                    pages - 1);
        }
    }
}

}  // namespace raceline::api
