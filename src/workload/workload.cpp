// SPDX-License-Identifier: Apache-2.0
#include "workload/workload.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/check.hpp"
#include "workload/band.hpp"
#include "workload/operation.hpp"
#include "workload/tree.hpp"

namespace raceline {
namespace {

/// Sum over i in [0, rows) of clamp(i + offset, 0, limit), without a loop: lengths reach 2^31.
std::int64_t sum_of_clamped(std::int64_t rows, std::int64_t offset, std::int64_t limit) {
    // Rows below `rise` clamp to 0, rows from `flat` on to the limit, between them i + offset.
    const std::int64_t rise = std::clamp<std::int64_t>(-offset, 0, rows);
    const std::int64_t flat = std::clamp<std::int64_t>(limit - offset, rise, rows);
    const std::int64_t count = flat - rise;
    const std::int64_t ends = (rise + offset) + (flat - 1 + offset);
    // One of count and ends is even: an arithmetic series of integers has an integer sum.
    const std::int64_t slope = count % 2 == 0 ? count / 2 * ends : ends / 2 * count;
    return (count == 0 ? 0 : slope) + (rows - flat) * limit;
}

double pairs_of(const Workload& w, std::int64_t length_q, std::int64_t length_k) {
    const Window window = folded_window(w);
    const std::int64_t shift = length_k - length_q;
    const std::int64_t last = window.right < 0
                                  ? length_q * length_k
                                  : sum_of_clamped(length_q, shift + window.right + 1, length_k);
    const std::int64_t first =
        window.left < 0 ? 0 : sum_of_clamped(length_q, shift - window.left, length_k);
    return static_cast<double>(last - first);
}

/// Keys of sequence b that at least one row sees: windows slide by one, so they are contiguous. In
/// a drawn tree every token sees itself.
std::int64_t keys_seen(const Workload& w, std::int64_t b) {
    const std::int64_t rows = w.length_q(b);
    if (rows == 0) {
        return 0;
    }
    const std::int64_t first = w.visible(b, 0).first;
    const std::int64_t last = w.visible(b, rows - 1).last;
    return std::max<std::int64_t>(0, last - first);
}

std::int64_t total(const std::vector<std::int64_t>& lengths, std::int64_t batch,
                   std::int64_t same) {
    return lengths.empty() ? batch * same
                           : std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

template <class Values>
const auto& field_of(const Workload& w, const Values& values, std::string_view field) {
    const auto found = values.find(field);
    require(found != values.end(), Status::invalid_argument,
            "the workload of {} has no field '{}' of this kind", w.op, field);
    return found->second;
}

}  // namespace

std::int64_t Workload::extent(std::string_view field) const {
    return field_of(*this, extents, field);
}

double Workload::scalar(std::string_view field) const {
    return field_of(*this, scalars, field);
}

const std::string& Workload::word(std::string_view field) const {
    return field_of(*this, words, field);
}

std::int64_t Workload::length_q(std::int64_t b) const {
    return seqlens_q.empty() ? seqlen_q : seqlens_q.at(static_cast<std::size_t>(b));
}

std::int64_t Workload::length_k(std::int64_t b) const {
    return seqlens_k.empty() ? seqlen_k : seqlens_k.at(static_cast<std::size_t>(b));
}

std::int64_t Workload::tokens_q() const {
    return total(seqlens_q, batch, seqlen_q);
}

std::int64_t Workload::tokens_k() const {
    return total(seqlens_k, batch, seqlen_k);
}

double Workload::scale_value() const {
    return scale.value_or(1 / std::sqrt(static_cast<double>(headdim)));
}

Window folded_window(const Workload& w) {
    Window window = w.window.value_or(Window{});
    if (w.mask == Mask::causal) {
        window.right = 0;
    }
    // A side that hides no key is no bound at all. The last query's left side reaches the first key
    // from length_k - 1 on, the first query's right side the last one from length_q - 1 on.
    const auto side = [](std::int64_t offset, std::int64_t length) {
        return offset < 0 || offset >= length - 1 ? -1 : offset;
    };
    return {side(window.left, w.seqlen_k), side(window.right, w.seqlen_q)};
}

bool has_window(const Workload& w) {
    const Window sides = folded_window(w);
    return sides.left >= 0 || sides.right > 0;
}

Workload::KeyRange Workload::visible(std::int64_t b, std::int64_t i) const {
    const Window side = folded_window(*this);
    const WideBand band{length_q(b), length_k(b), side.left, side.right};
    return {band.begin(i), band.end(i)};
}

double Workload::visited_pairs() const {
    if (tree != 0) {  // each sequence has a tree of its own
        double pairs = 0;
        for (std::int64_t b = 0; b < batch; ++b) {
            pairs += pairs_of_tree(*this, b);
        }
        return pairs;
    }
    if (!ragged()) {
        return static_cast<double>(batch) * pairs_of(*this, seqlen_q, seqlen_k);
    }
    double pairs = 0;
    for (std::int64_t b = 0; b < batch; ++b) {
        pairs += pairs_of(*this, length_q(b), length_k(b));
    }
    return pairs;
}

double Workload::flops() const {
    if (!is_attention()) {
        return find_operation(op).operations(*this);
    }
    return 2.0 * static_cast<double>(headdim + headdim_v) * static_cast<double>(heads_q) *
           visited_pairs();
}

double Workload::bytes_read() const {
    if (!is_attention()) {
        return find_operation(op).bytes_read(*this);
    }
    // Who sees no key answers without its query.
    const double keys = bytes_kv();
    return keys > 0 ? bytes_q() + keys : 0;
}

double Workload::bytes_written() const {
    return is_attention() ? bytes_out() : find_operation(op).bytes_written(*this);
}

double Workload::bytes_q() const {
    return static_cast<double>(tokens_q()) * static_cast<double>(heads_q * headdim) *
           bytes_of(dtype);
}

double Workload::bytes_kv() const {
    double tokens = 0;
    if (!ragged()) {
        tokens = static_cast<double>(batch) * static_cast<double>(keys_seen(*this, 0));
    } else {
        for (std::int64_t b = 0; b < batch; ++b) {
            tokens += static_cast<double>(keys_seen(*this, b));
        }
    }
    const std::int64_t width = mla ? headdim : headdim + headdim_v;
    const double row = static_cast<double>(width) * bytes_of(kv_dtype) +
                       (has_token_scales() ? 2.0 * sizeof(float) : 0.0);
    return tokens * static_cast<double>(heads_kv) * row;
}

double Workload::bytes_out() const {
    return static_cast<double>(tokens_q()) * static_cast<double>(heads_q * headdim_v) *
           bytes_of(out_dtype());
}

}  // namespace raceline
