// SPDX-License-Identifier: Apache-2.0
#include "api/packed_queries.hpp"

#include <algorithm>
#include <string_view>

#include "api/call.hpp"
#include "api/refusal.hpp"
#include "support/check.hpp"
#include "workload/band.hpp"

namespace raceline::api {
namespace {

constexpr std::int64_t most_sequences = 1'000'000;
// New tokens of a sequence, at most, where the caller gives no bound: what decode_sm90 takes.
constexpr std::int64_t default_tokens = 16;

std::int64_t most_tokens(const DecodeArgs& args) {
    return args.max_seqlen_q == 0 ? default_tokens : args.max_seqlen_q;
}

std::string_view not_given(const DecodeArgs& args) {
    return args.max_seqlen_q == 0 ? " where none is given" : "";
}

}  // namespace

bool is_packed(const DecodeArgs& args) {
    return args.cu_seqlens_count != 0;
}

std::int64_t tokens_of(const DecodeArgs& args) {
    return is_packed(args) ? args.q.shape[0] : args.q.shape[0] * args.q.shape[1];
}

void check_packing(const DecodeArgs& args) {
    const bool packed = is_packed(args);
    require(packed || args.cu_seqlens_q == nullptr, bad,
            "cu_seqlens_q is given, but cu_seqlens_count is 0; it must be batch + 1");
    require(packed || args.max_seqlen_q == 0, bad,
            "max_seqlen_q is {} without cu_seqlens_q; it is for a packed q", args.max_seqlen_q);
}

// Batch and new tokens of a packed q; where the sums are, the host need not be. Whichever sequences
// are long, keys are read for each: nobody is without a token in what plans and predictions go by.
void read_packed_sizes(const DecodeArgs& args, Workload& w) {
    const std::int64_t total = args.q.shape[0];
    require(args.cu_seqlens_count >= 1 && args.cu_seqlens_count <= most_sequences + 1, bad,
            "cu_seqlens_count is {}; it must be batch + 1, at most {}", args.cu_seqlens_count,
            most_sequences + 1);
    w.batch = args.cu_seqlens_count - 1;
    require(total <= longest_sequence, bad, "q has {} tokens; prefix sums count up to {}", total,
            longest_sequence);
    require(args.max_seqlen_q >= 0, bad, "max_seqlen_q is {}; it must be 0 (16 at most) or more",
            args.max_seqlen_q);
    const std::int64_t bound = most_tokens(args);
    w.seqlen_q = std::min(bound, total);
    require(w.seqlen_q * w.batch >= total, bad,
            "max_seqlen_q is {}{}; the {} tokens of q need {} sequences of so many, cu_seqlens_q "
            "has {}",
            bound, not_given(args), total, total / bound + (total % bound == 0 ? 0 : 1), w.batch);
    if (total > 0) {
        const std::int64_t others = std::max<std::int64_t>(w.batch - 1, 1);
        const std::int64_t share = std::max<std::int64_t>(divide_up(total - w.seqlen_q, others), 1);
        w.seqlens_q.assign(static_cast<std::size_t>(w.batch), share);
        w.seqlens_q.front() = w.seqlen_q;
    }
}

std::vector<std::int64_t> read_query_lengths(const DecodeArgs& args,
                                             std::span<const std::int32_t> sums) {
    std::vector<std::int64_t> lengths;
    const std::int64_t longest =
        read_prefix_sums("cu_seqlens_q", sums, "q", args.q.shape[0], lengths);
    require(longest <= most_tokens(args), bad,
            "max_seqlen_q is {}{}; cu_seqlens_q has a sequence of {} tokens", most_tokens(args),
            not_given(args), longest);
    return lengths;
}

}  // namespace raceline::api
