// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "call.hpp"
#include "options.hpp"

namespace raceline::python {
namespace {

// Rows of a table may be a slice of longer ones.
const std::int32_t* table_rows(const Tensor& table, std::int64_t batch) {
    if (table.shape.size() == 2 && table.shape[0] != batch) {
        raise_value_error(
            fmt::format("block_table has {} rows; it must have one for each of q's "
                        "{} sequences",
                        table.shape[0], batch));
    }
    Tensor rows = table;
    if (rows.shape.size() == 2 && rows.strides[0] >= rows.shape[1]) {
        rows.strides[0] = rows.shape[1];
    }
    return int32_array(rows, 2);
}

void require_rank(const Tensor& tensor, std::size_t rank, const char* why = "") {
    if (tensor.shape.size() != rank) {
        raise_value_error(fmt::format("{} has {} dimensions; it must have {}{}", tensor.name,
                                      tensor.shape.size(), rank, why));
    }
}

}  // namespace

DecodeCall::DecodeCall(const Inputs& inputs) {
    const Tensor& q = keep(inputs.tensor(Argument::q));
    const Tensor& k = keep(inputs.tensor(Argument::k_cache));
    const Tensor& v = keep(inputs.tensor(Argument::v_cache));
    const bool packed = inputs.has(Argument::cu_seqlens_q);
    require_rank(q, packed ? 3 : 4, packed ? " with cu_seqlens_q" : "");
    require_rank(k, 4);
    require_rank(v, 4);
    args_.q = view_of(q);
    args_.k_cache = view_of(k);
    args_.v_cache = view_of(v);
    args_.options = inputs.options();
    const bool host = q.place == Place::cpu;
    // On a CPU a table out of range would read past the cache; looking costs next to nothing there.
    args_.options.checked =
        inputs.has(Argument::checked) ? read_bool("checked", inputs.at(Argument::checked)) : host;
    set_out_shape(q, v);
    if (inputs.has(Argument::sinks)) {
        args_.options.sinks =
            float_array(keep(inputs.tensor(Argument::sinks)), {q.shape[packed ? 1 : 2]});
    }
    read_prefix_sums(inputs);
    read_cache(inputs);
    read_scales(inputs);
    read_lengths(inputs);
    if (inputs.has(Argument::tree)) {
        // A word a token, (batch, seqlen_q) or packed.
        args_.tree =
            word_array(keep(inputs.tensor(Argument::tree)), {q.shape.begin(), q.shape.end() - 2});
    }
}

void DecodeCall::read_cache(const Inputs& inputs) {
    args_.max_seqlen_k = tensors_[1].shape[1];
    if (inputs.has(Argument::block_table)) {
        const Tensor& table = keep(inputs.tensor(Argument::block_table));
        args_.block_table = table_rows(table, batch());
        args_.block_table_stride = table.shape[0] > 1 ? table.strides[0] : table.shape[1];
        args_.max_seqlen_k *= table.shape[1];
    }
}

void DecodeCall::read_scales(const Inputs& inputs) {
    const std::vector<std::int64_t> shape{batch(), tensors_[1].shape[2]};
    const auto read = [&](Argument name, const float*& of_heads, TensorView& of_tokens) {
        if (!inputs.has(name)) {
            return;
        }
        const Tensor& scales = keep(inputs.tensor(name));
        if (scales.shape.size() == 3) {
            of_tokens = view_of(scales);
        } else {
            of_heads = float_array(scales, shape);
        }
    };
    read(Argument::k_scale, args_.k_scale, args_.k_token_scale);
    read(Argument::v_scale, args_.v_scale, args_.v_token_scale);
}

std::span<const std::int32_t> DecodeCall::host_lengths() const {
    return tensors_.front().place == Place::cpu && args_.seqlens_k != nullptr
               ? std::span(args_.seqlens_k, static_cast<std::size_t>(batch()))
               : std::span<const std::int32_t>();
}

std::span<const std::int32_t> DecodeCall::host_sums() const {
    return tensors_.front().place == Place::cpu
               ? std::span(args_.cu_seqlens_q, static_cast<std::size_t>(args_.cu_seqlens_count))
               : std::span<const std::int32_t>();
}

std::int64_t DecodeCall::batch() const {
    return args_.cu_seqlens_count > 0 ? args_.cu_seqlens_count - 1 : tensors_.front().shape[0];
}

// As with the lengths of caches: where the host can see the sums, the bound is their longest
// sequence. Elsewhere the library has one.
void DecodeCall::read_prefix_sums(const Inputs& inputs) {
    const bool bounded = inputs.has(Argument::max_seqlen_q);
    if (!inputs.has(Argument::cu_seqlens_q)) {
        if (bounded) {
            raise_value_error("max_seqlen_q is given without cu_seqlens_q; it is for a packed q");
        }
        return;
    }
    const Tensor& sums = keep(inputs.tensor(Argument::cu_seqlens_q));
    args_.cu_seqlens_q = int32_array(sums, 1);
    args_.cu_seqlens_count = sums.shape[0];
    if (args_.cu_seqlens_count == 0) {
        raise_value_error("cu_seqlens_q is empty; it needs batch + 1 entries");
    }
    if (bounded) {
        args_.max_seqlen_q = read_integer("max_seqlen_q", inputs.at(Argument::max_seqlen_q));
        if (args_.max_seqlen_q < 1) {
            raise_value_error(
                fmt::format("max_seqlen_q is {}; it must be 1 or more", args_.max_seqlen_q));
        }
        return;
    }
    const std::span<const std::int32_t> host = host_sums();
    if (host.size() > 1) {
        // A total that they do not reach is refused for that, not for the bound.
        args_.max_seqlen_q = (tensors_.front().shape[0] + batch() - 1) / batch();
    }
    for (std::size_t b = 1; b < host.size(); ++b) {
        args_.max_seqlen_q =
            std::max(args_.max_seqlen_q, std::int64_t{host[b]} - std::int64_t{host[b - 1]});
    }
}

// The bound that plans go by: given, or the longest of the lengths where the host can see them, or
// what the cache holds.
void DecodeCall::read_lengths(const Inputs& inputs) {
    const std::int64_t capacity = args_.max_seqlen_k;
    if (inputs.has(Argument::seqlens)) {
        const Tensor& lengths = keep(inputs.tensor(Argument::seqlens));
        args_.seqlens_k = int32_array(lengths, 1);
        if (lengths.shape[0] != batch()) {
            raise_value_error(
                fmt::format("seqlens has {} entries; it must have one for each of "
                            "q's {} sequences",
                            lengths.shape[0], batch()));
        }
        if (!host_lengths().empty()) {
            args_.max_seqlen_k = std::max(0, std::ranges::max(host_lengths()));
        }
    }
    if (inputs.has(Argument::max_seqlen)) {
        args_.max_seqlen_k = read_integer("max_seqlen", inputs.at(Argument::max_seqlen));
    }
    if (args_.max_seqlen_k < 0 || args_.max_seqlen_k > capacity) {
        raise_value_error(
            fmt::format("{} is {}; it must be 0 to what {} hold{}, {}",
                        inputs.has(Argument::max_seqlen) ? "max_seqlen" : "the longest of seqlens",
                        args_.max_seqlen_k,
                        inputs.has(Argument::block_table) ? "block_table's pages" : "k_cache",
                        inputs.has(Argument::block_table) ? "" : "s", capacity));
    }
}

}  // namespace raceline::python
