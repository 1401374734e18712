// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of each row of logits with its target: loss = LSE - logit of the target. The LSE is
// written, too, since the gradient needs it.
#include <array>
#include <cmath>
#include <cstring>

#include "support/check.hpp"
#include "workload/answer_by_rows.hpp"
#include "workload/inputs.hpp"
#include "workload/normal.hpp"
#include "workload/operation.hpp"
#include "workload/oracle.hpp"

namespace raceline::operations::crossentropy {
namespace {

constexpr std::array fields{OperationField{"n", "rows x classes of the logits", FieldKind::grid}};
constexpr std::array draws{Draw::plain, Draw::outliers, Draw::biased, Draw::non_finite};
constexpr std::array<std::string_view, 4> examples{
    "op=crossentropy,n=40x700", "op=crossentropy,n=3x33", "op=crossentropy,n=5x2048",
    "op=crossentropy,n=2x5001"};

enum Tensor : std::size_t { logits, targets, loss, lse };

void validate(const Workload& w) {
    require(w.extent(grid_rows) >= 1 && w.extent(grid_width) >= 2, Status::invalid_argument,
            "n is {}x{}: there is 1 row or more, of 2 classes or more", w.extent(grid_rows),
            w.extent(grid_width));
    require(w.dtype == DType::fp32 || w.dtype == DType::fp16 || w.dtype == DType::bf16,
            Status::invalid_argument, "dtype is {}: crossentropy takes fp32, fp16 or bf16",
            name_of(w.dtype));
}

std::vector<TensorSpec> tensors(const Workload& w) {
    const std::int64_t rows = w.extent(grid_rows);
    const std::int64_t width = w.extent(grid_width);
    return {{"logits", w.dtype, rows, width},
            {"targets", DType::fp32, rows, 1, false, width},
            {"loss", DType::fp32, rows, 1, true, 0, true},
            {"lse", DType::fp32, rows, 1, true, 0, true}};
}

// A target that is itself an outlier would have a loss near 0, of which only rounding is left: its
// neighbour is taken instead.
OperationData inputs(const Workload& w, std::uint64_t seed, Draw draw) {
    OperationData in = normal_inputs(w, seed, draw);
    const std::int64_t width = w.extent(grid_width);
    for (std::int64_t row = 0; draw == Draw::outliers && row < w.extent(grid_rows); ++row) {
        const std::int64_t target = in.index(targets, row);
        const double size = std::abs(in.at(logits, row * width + target));
        const std::int64_t other = (target + 1) % width;
        if (size > std::abs(in.at(logits, row * width + other))) {
            const auto moved = static_cast<std::int32_t>(other);
            std::memcpy(in.data[targets].data() + row * sizeof(moved), &moved, sizeof(moved));
        }
    }
    return in;
}

constexpr auto values = [](const Workload& w, const OperationData& in, std::size_t tensor,
                           std::int64_t row, const auto& round, std::span<double> its) {
    const std::int64_t width = w.extent(grid_width);
    double largest = in.at(logits, row * width);
    for (std::int64_t i = 0; i < width; ++i) {
        const double x = in.at(logits, row * width + i);
        largest = std::isnan(x) || x > largest ? x : largest;
    }
    double sum = 0;
    for (std::int64_t i = 0; i < width; ++i) {
        sum = round(sum + round(std::exp(round(in.at(logits, row * width + i) - largest))));
    }
    const double total = round(largest + round(std::log(sum)));
    const double target = in.at(logits, row * width + in.index(targets, row));
    its.front() = tensor == lse ? total : round(total - target);
};

void change_one(StoredOutputs& outputs, std::size_t output, std::uint64_t seed, double factor) {
    std::byte* stored = outputs[output].data();
    const auto at = random_below(stream_key(seed, 0), 0, outputs[output].size() / sizeof(float));
    store_element(stored, DType::fp32, at, factor * load_element(stored, DType::fp32, at));
}

constexpr std::array mutations{
    Mutation{"loss_of_base_two",
             [](const Workload&, StoredOutputs& outputs, std::uint64_t seed) {
                 change_one(outputs, 0, seed, 1.442695);
             }},
    Mutation{"class_lost", [](const Workload&, StoredOutputs& outputs, std::uint64_t seed) {
                 change_one(outputs, 1, seed, 0.9998);
             }}};

/// Of each logit: compared, subtracted, exponential, added.
double operations(const Workload& w) {
    return 4.0 * static_cast<double>(w.extent(grid_rows)) *
           static_cast<double>(w.extent(grid_width));
}

const OperationRecord record = record_of(
    "crossentropy", "cross-entropy of each row of logits with its target",
    {examples, fields, draws, mutations},
    {validate, tensors, inputs, answer_by_rows<values>, rounded_by_rows<values>, operations});

}  // namespace
}  // namespace raceline::operations::crossentropy

RACELINE_OPERATION(crossentropy, record)
