// SPDX-License-Identifier: Apache-2.0
// Partial results of attention over disjoint sets of keys, brought together: out is the mean of the
// parts' outputs, weighted by exp(LSE); the LSE is that of all keys.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "support/check.hpp"
#include "workload/answer_by_rows.hpp"
#include "workload/inputs.hpp"
#include "workload/normal.hpp"
#include "workload/operation.hpp"
#include "workload/oracle.hpp"

namespace raceline::operations::combine {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::array fields{
    OperationField{"parts", "partial results", FieldKind::count},
    OperationField{"rows", "query tokens of all sequences", FieldKind::count},
    OperationField{"heads", "query heads", FieldKind::count},
    OperationField{"d", "head dim of V", FieldKind::count},
    OperationField{"sinks", "1: one more logit a head, which no part has", FieldKind::count, "0"}};
constexpr std::array draws{Draw::plain, Draw::outliers, Draw::non_finite};

constexpr std::array<std::string_view, 1> examples{"op=combine,parts=3,rows=10,heads=4,d=64"};

enum Tensor : std::size_t { out_parts, lse_parts, sinks, out, lse };

std::int64_t rows_of(const Workload& w) {
    return w.extent("rows") * w.extent("heads");
}

void validate(const Workload& w) {
    for (const char* name : {"parts", "rows", "heads", "d"}) {
        require(w.extent(name) >= 1 && w.extent(name) < (std::int64_t{1} << 31),
                Status::invalid_argument, "{} is {}: it must be 1 to 2^31 - 1", name,
                w.extent(name));
    }
    require(w.extent("sinks") == 0 || w.extent("sinks") == 1, Status::invalid_argument,
            "sinks is {}: it must be 0 or 1", w.extent("sinks"));
    require(w.dtype == DType::fp32 || w.dtype == DType::fp16 || w.dtype == DType::bf16,
            Status::invalid_argument, "dtype is {}: combine takes fp32, fp16 or bf16",
            name_of(w.dtype));
}

std::vector<TensorSpec> tensors(const Workload& w) {
    const std::int64_t parts = w.extent("parts");
    return {{"out_parts", w.dtype, parts * rows_of(w), w.extent("d")},
            {"lse_parts", DType::fp32, parts, rows_of(w)},
            {"sinks", DType::fp32, w.extent("sinks"), w.extent("heads")},
            {"out", w.dtype, rows_of(w), w.extent("d"), true},
            {"lse", DType::fp32, rows_of(w), 1, true, 0, true}};
}

/// Where a part has seen no key of a row: of every fifth row but in one part, and of non-finite
/// draws in some rows in all parts.
bool unseen(const Workload& w, Draw draw, std::uint64_t seed, std::int64_t part, std::int64_t row) {
    const auto parts = static_cast<std::uint64_t>(w.extent("parts"));
    const std::uint64_t key = stream_key(seed, stream_pages);
    const auto at = static_cast<std::uint64_t>(row);
    if (draw == Draw::non_finite && random_below(key, 2 * at, 7) == 0) {
        return true;
    }
    return random_below(key, 2 * at + 1, 5) == 0 &&
           static_cast<std::uint64_t>(part) != random_bits(key, at) % parts;
}

// LSEs lie some units apart, so that parts weigh differently. What a part without keys left as its
// output is NaN: it must not count.
OperationData inputs(const Workload& w, std::uint64_t seed, Draw draw) {
    OperationData in = normal_inputs(w, seed, draw);
    const std::int64_t rows = rows_of(w);
    const std::int64_t parts = w.extent("parts");
    const auto width = in.tensors[out_parts].bytes() / static_cast<std::size_t>(parts * rows);
    const double spread = draw == Draw::outliers ? 4 : 1;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < parts * rows; ++i) {
        const auto at = static_cast<std::size_t>(i);
        std::byte* stored = in.data[lse_parts].data();
        if (unseen(w, draw, seed, i / rows, i % rows)) {
            store_element(stored, DType::fp32, at, -infinity);
            std::fill_n(in.data[out_parts].data() + at * width, width, std::byte{0xff});
        } else {
            store_element(stored, DType::fp32, at,
                          spread * load_element(stored, DType::fp32, at) + 5);
        }
    }
    return in;
}

/// One row brought together; numbers pass through `round` where a kernel has them in fp32.
struct Combined {
    std::vector<double> weights;
    double sum = 0, lse = 0;
};
template <class Round>
Combined combined(const Workload& w, const OperationData& in, std::int64_t row,
                  const Round& round) {
    const std::int64_t parts = w.extent("parts");
    Combined result;
    double largest = w.extent("sinks") == 0 ? -infinity : in.at(sinks, row % w.extent("heads"));
    const double sink = largest;
    for (std::int64_t part = 0; part < parts; ++part) {
        largest = std::fmax(largest, in.at(lse_parts, part * rows_of(w) + row));
    }
    for (std::int64_t part = 0; part < parts; ++part) {
        const double its = in.at(lse_parts, part * rows_of(w) + row);
        result.weights.push_back(its == -infinity ? 0 : round(std::exp(round(its - largest))));
        result.sum = round(result.sum + result.weights.back());
    }
    result.sum =
        round(result.sum + (sink == -infinity ? 0 : round(std::exp(round(sink - largest)))));
    result.lse = result.sum == 0 ? -infinity : round(largest + round(std::log(result.sum)));
    return result;
}

constexpr auto values = [](const Workload& w, const OperationData& in, std::size_t tensor,
                           std::int64_t row, const auto& round, std::span<double> its) {
    const Combined of_row = combined(w, in, row, round);
    if (tensor == lse) {
        its.front() = of_row.lse;
        return;
    }
    const std::int64_t width = std::ssize(its);
    for (std::int64_t c = 0; c < width; ++c) {
        double sum = 0;
        for (std::int64_t part = 0; part < std::ssize(of_row.weights); ++part) {
            const double weight = of_row.weights[part];
            const std::int64_t stored = part * rows_of(w) + row;
            // A part without keys counts for nothing, whatever it left.
            if (weight != 0 || in.at(lse_parts, stored) != -infinity) {
                sum = round(sum + weight * in.at(out_parts, stored * width + c));
            }
        }
        its[c] = of_row.sum == 0 ? 0 : sum / of_row.sum;
    }
};

constexpr std::array mutations{
    Mutation{"row_of_zeros",
             [](const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
                 const auto bytes = outputs[0].size() / static_cast<std::size_t>(rows_of(w));
                 const auto row =
                     random_below(stream_key(seed, 0), 0, static_cast<std::uint64_t>(rows_of(w)));
                 std::fill_n(outputs[0].data() + row * bytes, bytes, std::byte{0});
             }},
    Mutation{"lse_off_by_one",
             [](const Workload& /*w*/, StoredOutputs& outputs, std::uint64_t seed) {
                 std::byte* stored = outputs[1].data();
                 const auto at = random_below(stream_key(seed, 0), 0, outputs[1].size() / 4);
                 store_element(stored, DType::fp32, at, load_element(stored, DType::fp32, at) + 1);
             }}};

double operations(const Workload& w) {
    return 2.0 * static_cast<double>(w.extent("parts") * rows_of(w) * w.extent("d"));
}

const OperationRecord record = record_of(
    "combine", "partial results of attention over disjoint keys, as one",
    {examples, fields, draws, mutations},
    {validate, tensors, inputs, answer_by_rows<values>, rounded_by_rows<values>, operations});

}  // namespace
}  // namespace raceline::operations::combine

RACELINE_OPERATION(combine, record)
