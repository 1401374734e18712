// SPDX-License-Identifier: Apache-2.0
// Attention as a record: what it is made of stands in src/workload (inputs, oracle, shapes) and
// src/run/gate.hpp, which judges its kernels by more than the record says (rows that share a KV
// head, errors along one key's value).
#include <algorithm>
#include <array>
#include <cstring>

#include "workload/answer_by_rows.hpp"
#include "workload/inputs.hpp"
#include "workload/normal.hpp"
#include "workload/operation.hpp"
#include "workload/oracle.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::operations::attention {
namespace {

constexpr std::array<std::string_view, 1> examples{"h=2,q=17,k=48,d=64"};

enum Tensor : std::size_t { q, k, v, sinks, out, lse };

/// Lengths, block tables and scales are no tensors here: they follow from workload and seed.
std::vector<TensorSpec> tensors(const Workload& w) {
    const Inputs in = make_inputs(w, {.data = false});
    const std::int64_t rows = w.tokens_q() * w.heads_q;
    return {{"q", w.dtype, rows, w.headdim},
            {"k", w.kv_dtype, in.slots * w.heads_kv, w.headdim},
            {"v", w.kv_dtype, w.mla ? 0 : in.slots * w.heads_kv, w.headdim_v},
            {"sinks", DType::fp32, w.sinks ? w.heads_q : 0, 1},
            {"out", w.out_dtype(), rows, w.headdim_v, true},
            {"lse", DType::fp32, rows, 1, true}};
}

OperationData inputs(const Workload& w, std::uint64_t seed, Draw draw) {
    Inputs in = make_inputs(w, {.seed = seed, .draw = draw});
    OperationData data{seed, draw, tensors(w), std::vector<std::vector<std::byte>>(6)};
    data.data[q] = std::move(in.q);
    data.data[k] = std::move(in.k);
    data.data[v] = std::move(in.v);
    const std::span<const std::byte> logits = std::as_bytes(std::span(in.sinks));
    data.data[sinks].assign(logits.begin(), logits.end());
    return data;
}

Inputs inputs_of(const Workload& w, const OperationData& data) {
    Inputs in = make_inputs(w, {.seed = data.seed, .draw = data.draw, .data = false});
    in.q = data.data[q];
    in.k = data.data[k];
    in.v = data.data[v];
    in.sinks.resize(data.data[sinks].size() / sizeof(float));
    std::memcpy(in.sinks.data(), data.data[sinks].data(), data.data[sinks].size());
    return in;
}

/// `of(inputs, sequence, row, head)` for each of the rows, of (tokens, heads).
template <class Of>
std::vector<double> rows_by(const Workload& w, const OperationData& data, std::size_t tensor,
                            std::span<const std::int64_t> rows, const Of& of) {
    const Inputs in = inputs_of(w, data);
    return each_row(rows, tensor == lse ? 1 : w.headdim_v, [&](std::int64_t at, auto its) {
        std::int64_t token = at / w.heads_q;
        std::int64_t sequence = 0;
        while (sequence + 1 < w.batch && token >= w.length_q(sequence)) {
            token -= w.length_q(sequence++);
        }
        const OracleRow row = of(in, sequence, token, at % w.heads_q);
        if (tensor == lse) {
            its.front() = row.lse;
        } else {
            std::ranges::copy(row.out, its.begin());
        }
    });
}

std::vector<double> answer(const Workload& w, const OperationData& data, std::size_t tensor,
                           std::span<const std::int64_t> rows) {
    return rows_by(w, data, tensor, rows,
                   [&](const Inputs& in, auto... at) { return oracle_row(w, in, at...); });
}

std::vector<double> rounded(const Workload& w, const OperationData& data, std::size_t tensor,
                            std::span<const std::int64_t> rows, const Precision& precision) {
    return rows_by(w, data, tensor, rows, [&](const Inputs& in, auto... at) {
        OracleRow row = rounded_row(w, in, at..., precision);
        row.lse = round_to(row.lse, Rounding::fp32);
        return row;
    });
}

/// One row of O, seeded, and its bytes.
std::span<std::byte> a_row(const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
    const auto bytes =
        static_cast<std::size_t>(static_cast<double>(w.headdim_v) * bytes_of(w.out_dtype()));
    const std::size_t rows = outputs[0].size() / bytes;
    return std::span(outputs[0]).subspan(random_below(stream_key(seed, 0), 0, rows) * bytes, bytes);
}

constexpr std::array mutations{
    Mutation{"row_unwritten",
             [](const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
                 std::ranges::fill(a_row(w, outputs, seed), std::byte{0xff});
             }},
    Mutation{"row_of_zeros",
             [](const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
                 std::ranges::fill(a_row(w, outputs, seed), std::byte{0});
             }},
    Mutation{"row_reversed",
             [](const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
                 std::ranges::reverse(a_row(w, outputs, seed));
             }},
    Mutation{"lse_off_by_one",
             [](const Workload& /*w*/, StoredOutputs& outputs, std::uint64_t seed) {
                 std::vector<std::byte>& stored = outputs[1];
                 const auto at = random_below(stream_key(seed, 0), 0, stored.size() / 4);
                 const double value = load_element(stored.data(), DType::fp32, at);
                 store_element(stored.data(), DType::fp32, at, value + 1);
             }}};

double bytes_read(const Workload& w) {
    return w.bytes_q() + w.bytes_kv();
}

double bytes_written(const Workload& w) {
    return w.bytes_out();
}

double operations(const Workload& w) {
    return w.flops();
}

const OperationRecord record = with_matrix_products(record_of(
    "attention", "softmax(scale * Q K^T) V, by query heads and KV heads",
    {examples, attention_fields(), all_draws, mutations},
    {raceline::validate, tensors, inputs, answer, rounded, operations, bytes_read, bytes_written}));

}  // namespace
}  // namespace raceline::operations::attention

RACELINE_OPERATION(attention, record)
