// SPDX-License-Identifier: Apache-2.0
// Rows of a table, gathered by index: what a model's first layer does with its tokens.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "support/check.hpp"
#include "workload/answer_by_rows.hpp"
#include "workload/inputs.hpp"
#include "workload/normal.hpp"
#include "workload/operation.hpp"

namespace raceline::operations::embedding {
namespace {

constexpr std::array fields{OperationField{"tokens", "rows that are gathered", FieldKind::count},
                            OperationField{"vocab", "rows of the table", FieldKind::count},
                            OperationField{"d", "columns", FieldKind::count}};
constexpr std::array draws{Draw::plain, Draw::non_finite};
constexpr std::array<std::string_view, 3> examples{"op=embedding,tokens=20,vocab=50,d=72",
                                                   "op=embedding,tokens=3,vocab=1000,d=33",
                                                   "op=embedding,tokens=70,vocab=7,d=128"};

enum Tensor : std::size_t { table, ids, out };

void validate(const Workload& w) {
    for (const OperationField& field : fields) {
        require(w.extent(field.name) >= 1, Status::invalid_argument,
                "{} is 0: it must be 1 or more", field.name);
    }
    require(w.dtype != DType::nvfp4, Status::invalid_argument,
            "dtype is nvfp4: embedding takes fp32, fp16, bf16 or e4m3");
}

std::vector<TensorSpec> tensors(const Workload& w) {
    const std::int64_t tokens = w.extent("tokens");
    return {{"table", w.dtype, w.extent("vocab"), w.extent("d")},
            {"ids", DType::fp32, tokens, 1, false, w.extent("vocab")},
            {"out", w.dtype, tokens, w.extent("d"), true}};
}

constexpr auto values = [](const Workload& /*w*/, const OperationData& in, std::size_t /*tensor*/,
                           std::int64_t row, const auto& /*round*/, std::span<double> its) {
    const std::int64_t from = in.index(ids, row) * std::ssize(its);
    for (std::int64_t c = 0; c < std::ssize(its); ++c) {
        its[c] = in.at(table, from + c);
    }
};

constexpr std::array mutations{
    Mutation{"rows_swapped",
             [](const Workload& w, StoredOutputs& outputs, std::uint64_t /*seed*/) {
                 const auto bytes = static_cast<std::size_t>(bytes_of(w.dtype) *
                                                             static_cast<double>(w.extent("d")));
                 std::byte* row = outputs[0].data();
                 std::swap_ranges(row, row + bytes, outputs[0].data() + outputs[0].size() - bytes);
             }},
    Mutation{"tail_lost", [](const Workload& /*w*/, StoredOutputs& outputs, std::uint64_t seed) {
                 const std::size_t bytes = 1 + random_below(stream_key(seed, 0), 0, 4);
                 std::memset(outputs[0].data() + outputs[0].size() - bytes, 0, bytes);
             }}};

/// Of rows drawn evenly, as many are different on average.
double bytes_read(const Workload& w) {
    const auto vocab = static_cast<double>(w.extent("vocab"));
    const auto tokens = static_cast<double>(w.extent("tokens"));
    const double different = vocab * -std::expm1(tokens * std::log1p(-1 / vocab));
    const double rows = vocab > 1 ? different : 1;
    return rows * static_cast<double>(w.extent("d")) * bytes_of(w.dtype) +
           tokens * sizeof(std::int32_t);
}

double operations(const Workload& /*w*/) {
    return 0;
}

const OperationRecord record = record_of("embedding", "rows of a table, gathered by index",
                                         {examples, fields, draws, mutations},
                                         {validate, tensors, normal_inputs, answer_by_rows<values>,
                                          rounded_by_rows<values>, operations, bytes_read});

}  // namespace
}  // namespace raceline::operations::embedding

RACELINE_OPERATION(embedding, record)
