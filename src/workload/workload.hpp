// SPDX-License-Identifier: Apache-2.0
// What is asked for: one problem of an operation, without data and without a device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "raceline/accuracy.hpp"
#include "raceline/dtype.hpp"

namespace raceline {

enum class Mask : std::int32_t { full = 0, causal = 1 };
/// What has a dequantisation scale of its own in an 8-bit cache: a sequence and KV head, or each
/// token of each KV head.
enum class ScaleOf : std::int32_t { head = 0, token = 1 };

/// Inclusive offsets after bottom-right alignment: query i (aligned) sees keys i-left … i+right.
/// A negative side is unbounded.
struct Window {
    std::int64_t left = -1;
    std::int64_t right = -1;
    bool operator==(const Window&) const = default;
};

struct Workload;
/// The window with causal folded in, which is a right side of 0; a side that hides no key is
/// negative. Every place that looks at a mask asks here, so that masks which hide the same keys are
/// one problem.
Window folded_window(const Workload& workload);
/// Whether it is another mask than none and causal.
bool has_window(const Workload& workload);

/// One problem. Of attention all fields but the last three count; of another operation
/// (operation.hpp) these and `dtype`, and the rest has its defaults. Of attention: tensors are
/// (batch, seqlen, heads, headdim), ragged batches are packed (total tokens, heads, headdim); paged
/// caches are (pages, page_size, heads_kv, headdim).
struct Workload {
    std::int64_t batch = 1;
    std::int64_t heads_q = 1;
    std::int64_t heads_kv = 1;
    std::int64_t seqlen_q = 1;            ///< the longest, if ragged
    std::int64_t seqlen_k = 1;            ///< the longest, if ragged
    std::vector<std::int64_t> seqlens_q;  ///< one a sequence; empty: all are seqlen_q
    std::vector<std::int64_t> seqlens_k;  ///< one a sequence; empty: all are seqlen_k
    std::int64_t headdim = 64;            ///< of Q and K
    std::int64_t headdim_v = 64;          ///< of V and the output
    DType dtype = DType::bf16;            ///< of Q; of the output, too: see out_dtype
    DType kv_dtype = DType::bf16;         ///< of K and V
    Mask mask = Mask::full;
    std::optional<Window> window;
    double softcap = 0;                ///< 0: none; else s -> softcap * tanh(s / softcap)
    bool sinks = false;                ///< one extra logit a query head, in the denominator only
    std::optional<double> scale;       ///< none: 1 / sqrt(headdim)
    std::int64_t page_size = 0;        ///< 0: contiguous
    ScaleOf scale_of = ScaleOf::head;  ///< token: only of an e4m3 cache beside 16-bit or fp32 Q
    /// 0: none; else the seed of trees of speculated tokens, one a sequence (tree.hpp): older keys
    /// are seen by all, of the sequence's last keys, one a query token, a row sees those of its
    /// own branch. In the place of mask and window.
    std::int64_t tree = 0;
    Accuracy accuracy = Accuracy::accurate;
    bool mla = false;  ///< V is the first headdim_v columns of K: one latent cache

    std::string op = "attention";  ///< a folder of operations/
    std::string pass = "forward";
    std::map<std::string, std::int64_t, std::less<>> extents;  ///< of another operation, by field
    std::map<std::string, double, std::less<>> scalars;        ///< of another operation, by field
    std::map<std::string, std::string, std::less<>> words;     ///< of another operation, by field

    bool operator==(const Workload&) const = default;

    [[nodiscard]] bool has_token_scales() const { return scale_of == ScaleOf::token; }
    [[nodiscard]] std::int64_t length_q(std::int64_t b) const;
    [[nodiscard]] std::int64_t length_k(std::int64_t b) const;
    [[nodiscard]] std::int64_t tokens_q() const;  ///< sum over the batch
    [[nodiscard]] std::int64_t tokens_k() const;  ///< sum over the batch
    [[nodiscard]] bool ragged() const { return !seqlens_q.empty() || !seqlens_k.empty(); }
    [[nodiscard]] double scale_value() const;
    [[nodiscard]] std::int64_t group() const { return heads_q / heads_kv; }
    /// Type of the output: that of Q, except that 8-bit queries give bf16.
    [[nodiscard]] DType out_dtype() const { return dtype == DType::e4m3 ? DType::bf16 : dtype; }

    /// Keys that query row i of sequence b sees: [first, last), empty if first >= last. The one
    /// place that turns mask and window into indices on the host. Under a tree all keys; which of
    /// the last ones a row does not see, a SeenKeys says (tree.hpp).
    struct KeyRange {
        std::int64_t first, last;
    };
    [[nodiscard]] KeyRange visible(std::int64_t b, std::int64_t i) const;

    /// Unmasked (query, key) pairs of one query head, summed over the batch; exact.
    [[nodiscard]] double visited_pairs() const;
    /// 2 * (headdim + headdim_v) a visited pair and query head: 4·B·H·Sq·Sk·d for full attention.
    /// Of another operation what its record says.
    [[nodiscard]] double flops() const;
    [[nodiscard]] double bytes_read() const;     ///< compulsory traffic: of attention Q, K and V
    [[nodiscard]] double bytes_written() const;  ///< compulsory traffic: of attention O
    /// Of attention: Q, K and V read once (latent once for MLA), with a float for each scale of a
    /// token, O and nothing else written.
    [[nodiscard]] double bytes_q() const;
    [[nodiscard]] double bytes_kv() const;
    [[nodiscard]] double bytes_out() const;

    [[nodiscard]] bool is_attention() const { return op == "attention"; }
    /// A field of another operation; throws Error(invalid_argument) if the workload has none.
    [[nodiscard]] std::int64_t extent(std::string_view field) const;
    [[nodiscard]] double scalar(std::string_view field) const;
    [[nodiscard]] const std::string& word(std::string_view field) const;
};

/// Throws Error(invalid_argument) naming the first field that cannot be: an operation or a pass
/// that does not exist, what an operation's record refuses; of attention heads_q not a multiple of
/// heads_kv, a negative length, lengths whose count is not batch, MLA with heads_kv != 1, …
void validate(const Workload& workload);

}  // namespace raceline
