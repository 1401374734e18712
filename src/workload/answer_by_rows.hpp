// SPDX-License-Identifier: Apache-2.0
// The answers of an operation that computes each row of an output by itself: one function for the
// float64 answer and for the rounded one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workload/operation.hpp"
#include "workload/oracle.hpp"

namespace raceline {

/// Calls `of(row, its)`, which fills in the `width` values of a row, for each of the rows.
template <class Of>
std::vector<double> each_row(std::span<const std::int64_t> rows, std::int64_t width, const Of& of) {
    std::vector<double> all(rows.size() * width);
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < rows.size(); ++i) {
        of(rows[i], std::span(all).subspan(i * width, width));
    }
    return all;
}

/// OperationRecord::answer. `values(workload, inputs, tensor, row, round, its)` fills in one row of
/// an output tensor, and passes through `round` what a kernel in fp32 rounds.
template <auto values>
std::vector<double> answer_by_rows(const Workload& w, const OperationData& in, std::size_t tensor,
                                   std::span<const std::int64_t> rows) {
    const auto exact = [](double x) { return x; };
    return each_row(rows, in.tensors[tensor].width, [&](std::int64_t row, std::span<double> its) {
        values(w, in, tensor, row, exact, its);
    });
}

/// OperationRecord::rounded. What is stored in another type than the workload's is rounded to that.
template <auto values>
std::vector<double> rounded_by_rows(const Workload& w, const OperationData& in, std::size_t tensor,
                                    std::span<const std::int64_t> rows,
                                    const Precision& precision) {
    const TensorSpec& output = in.tensors[tensor];
    const Rounding stored = output.dtype == w.dtype ? precision.output : rounding_of(output.dtype);
    const auto round = [&](double x) { return round_to(x, precision.accumulators); };
    return each_row(rows, output.width, [&](std::int64_t row, std::span<double> its) {
        values(w, in, tensor, row, round, its);
        for (double& x : its) {
            x = round_to(x, stored);
        }
    });
}

}  // namespace raceline
