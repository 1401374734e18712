// SPDX-License-Identifier: Apache-2.0
#include "run/operation_gate.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <set>

#include "support/check.hpp"
#include "workload/inputs.hpp"
#include "workload/normal.hpp"

namespace raceline {
namespace {

// Operations of one verdict, each done in float64 and once more rounded; a row costs some more for
// being asked for.
constexpr double operation_work_limit = 2e8;
constexpr double operation_row_cost = 64;
constexpr std::int64_t fewest_operation_rows = 8;
// Errors that a bound is taken from: where outputs have fewer elements, other inputs of the same
// kind are rounded, too. Their answers also say how large such a row is: a row of few elements is
// near 0 by chance, and its errors, which follow from the terms of its sums, are not.
constexpr std::int64_t enough_reference_errors = 32;
constexpr std::int64_t elements_of_block = 1 << 15;  // of an answer: what a core does at a time

std::vector<std::int64_t> rows_to_judge(const TensorSpec& tensor, double operations,
                                        std::uint64_t seed) {
    const double cost = operations / static_cast<double>(std::max<std::int64_t>(1, tensor.rows)) +
                        static_cast<double>(tensor.width) + operation_row_cost;
    const double fits =
        std::max(static_cast<double>(fewest_operation_rows), operation_work_limit / cost);
    std::vector<std::int64_t> rows;
    if (static_cast<double>(tensor.rows) <= fits) {
        rows.resize(tensor.rows);
        std::iota(rows.begin(), rows.end(), 0);
        return rows;
    }
    std::set<std::int64_t> chosen{0, tensor.rows - 1};
    for (std::uint64_t i = 0; static_cast<double>(chosen.size()) < fits; ++i) {
        chosen.insert(
            static_cast<std::int64_t>(random_below(stream_key(seed, 0x67617465), i, tensor.rows)));
    }
    return {chosen.begin(), chosen.end()};
}

// Kernels may take numbers below the least normal one of fp32, 2^-126, for 0. In a row of at least
// this size that is no more than fp32 rounds.
constexpr double least_row = 0x1p-102;

/// What the errors of a row are measured against: the root mean square of its answer, of logarithms
/// at least 1, of others that are not all 0 at least `least_row`.
double scale_of_row(const TensorSpec& tensor, std::span<const double> row) {
    const double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    const double rms =
        std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, row.size())));
    if (tensor.logarithm) {
        return std::max(1.0, rms);
    }
    return rms > 0 ? std::max(least_row, rms) : 0;
}

std::span<const double> values_of_row(const std::vector<double>& values, std::size_t i,
                                      std::int64_t width) {
    return std::span(values).subspan(i * width, width);
}

std::vector<double> load_row(const TensorSpec& tensor, std::span<const std::byte> stored,
                             std::int64_t row) {
    std::vector<double> values(tensor.width);
    for (std::int64_t c = 0; c < tensor.width; ++c) {
        values[c] = load_element(stored.data(), tensor.dtype, row * tensor.width + c);
    }
    return values;
}

/// f(rows) of blocks of rows, on all cores: a row of an answer follows from the inputs alone.
template <class Function>
std::vector<double> by_blocks(std::span<const std::int64_t> rows, std::int64_t width,
                              const Function& function) {
    const std::int64_t of_block =
        std::max<std::int64_t>(1, elements_of_block / std::max<std::int64_t>(1, width));
    const std::int64_t count = std::ssize(rows);
    std::vector<double> values(count * width);
    std::exception_ptr failed;
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t first = 0; first < count; first += of_block) {
        try {
            const auto block = rows.subspan(first, std::min(of_block, count - first));
            std::ranges::copy(function(block), values.begin() + first * width);
        } catch (...) {
#pragma omp critical
            failed = std::current_exception();
        }
    }
    if (failed) {
        std::rethrow_exception(failed);
    }
    return values;
}

void add_errors(const TensorSpec& tensor, std::span<const double> got,
                std::span<const double> exact, double least_scale, Comparison& to) {
    const double scale = std::max(scale_of_row(tensor, exact), least_scale);
    for (std::size_t c = 0; c < got.size(); ++c) {
        // Infinities that are right, such as the logarithm of nothing, are no error, nor are those
        // of numbers that the tensor's type does not hold.
        const bool same =
            got[c] == exact[c] ||
            (std::isinf(got[c]) && round_to(exact[c], rounding_of(tensor.dtype)) == got[c]);
        to.kernel.add(same ? 0 : got[c] - exact[c], std::isfinite(scale) ? scale : 1);
        if (scale > 0 && std::isfinite(scale)) {
            to.largest = std::max(to.largest, std::abs(exact[c]) / scale);
        }
    }
    to.elements += std::ssize(got);
    ++to.rows;
}

/// Of each row by `one`, on all cores; added up in the order of rows, so that a sum is the same
/// however many cores there are.
template <class Function>
Comparison errors_of_rows(std::int64_t count, const Function& one) {
    std::vector<Comparison> rows(count);
#pragma omp parallel for schedule(dynamic, 16)
    for (std::int64_t i = 0; i < count; ++i) {
        one(i, rows[i]);
    }
    Comparison all;
    for (const Comparison& row : rows) {
        all.kernel.take(row.kernel);
        all.largest = std::max(all.largest, row.largest);
        all.elements += row.elements;
    }
    all.rows = count;
    return all;
}

std::string element_text(const TensorSpec& tensor, std::int64_t element) {
    return fmt::format("element {} of row {} of '{}'", element % tensor.width,
                       element / tensor.width, tensor.name);
}

std::string find_unwritten(const TensorSpec& tensor, std::span<const std::byte> stored) {
    std::int64_t found = tensor.elements();
#pragma omp parallel for schedule(static) reduction(min : found)
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        if (std::isnan(load_element(stored.data(), tensor.dtype, i))) {
            found = std::min(found, i);
        }
    }
    return found == tensor.elements()
               ? std::string()
               : element_text(tensor, found) + " was never written, or is NaN";
}

}  // namespace

OperationAnswers::OperationAnswers(const Workload& workload, std::uint64_t seed, Draw draw)
    : OperationAnswers(workload, find_operation(workload.op).inputs(workload, seed, draw)) {}

OperationAnswers::OperationAnswers(const Workload& workload, OperationData inputs)
    : workload_(workload), operation_(find_operation(workload.op)), inputs_(std::move(inputs)) {
    for (std::size_t i = 0; i < inputs_.tensors.size(); ++i) {
        if (inputs_.tensors[i].output) {
            std::vector<std::int64_t> rows =
                rows_to_judge(inputs_.tensors[i], operation_.operations(workload), inputs_.seed);
            std::vector<double> exact =
                by_blocks(rows, inputs_.tensors[i].width, [&](std::span<const std::int64_t> block) {
                    return operation_.answer(workload, inputs_, i, block);
                });
            outputs_.push_back({i, std::move(rows), std::move(exact), {}, {}, 0});
        }
    }
}

Correctness OperationAnswers::judge(const Precision& precision,
                                    std::span<const std::span<const std::byte>> outputs) {
    require(outputs.size() == outputs_.size(), Status::invalid_argument,
            "{} outputs were given: {} has {}", outputs.size(), workload_.op, outputs_.size());
    Correctness verdict;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        Correctness found = judge_output(outputs_[i], precision, outputs[i]);
        verdict = i == 0 ? std::move(found) : worse_of(verdict, found);
    }
    return verdict;
}

Correctness OperationAnswers::judge_output(Output& output, const Precision& precision,
                                           std::span<const std::byte> stored) {
    const TensorSpec& tensor = spec(output);
    require(stored.size() == tensor.bytes(), Status::invalid_argument,
            "output '{}' has {} bytes, not {}", tensor.name, stored.size(), tensor.bytes());
    if (inputs_.draw == Draw::non_finite) {
        Correctness verdict = verdict_of_values(compare_finite(output, precision, stored), 0);
        verdict.cases = std::ssize(output.rows);
        return verdict;
    }
    draw_others(output);
    if (std::string why = find_unwritten(tensor, stored); !why.empty()) {
        return verdict_of_values(std::move(why), std::numeric_limits<double>::quiet_NaN());
    }
    Comparison found = errors_of_rows(std::ssize(output.rows), [&](std::int64_t i, Comparison& to) {
        add_errors(tensor, load_row(tensor, stored, output.rows[i]),
                   values_of_row(output.exact, i, tensor.width), output.least_scale, to);
    });
    found.width = tensor.width;
    Correctness verdict = decide(found, reference(output, precision), precision, false);
    if (!verdict.passed) {
        verdict.why = fmt::format("output '{}': {}", tensor.name, verdict.why);
    }
    return verdict;
}

// Where a sum or a step is larger than what a kernel computes in can hold, the rounded answer says
// what becomes of it.
std::string OperationAnswers::compare_finite(const Output& output, const Precision& precision,
                                             std::span<const std::byte> stored) const {
    const TensorSpec& tensor = spec(output);
    for (std::size_t i = 0; i < output.rows.size(); ++i) {
        const std::vector<double> got = load_row(tensor, stored, output.rows[i]);
        const std::span<const double> exact = values_of_row(output.exact, i, tensor.width);
        std::vector<double> rounded;
        const auto differs = [&](std::int64_t c, std::span<const double> from) {
            return std::isfinite(got[c]) != std::isfinite(from[c]);
        };
        for (std::int64_t c = 0; c < tensor.width; ++c) {
            if (differs(c, exact) && rounded.empty()) {
                rounded = operation_.rounded(workload_, inputs_, output.tensor,
                                             std::span(&output.rows[i], 1), precision);
            }
            if (differs(c, exact) && differs(c, rounded)) {
                return fmt::format("{} is {}, but {} in float64",
                                   element_text(tensor, output.rows[i] * tensor.width + c), got[c],
                                   exact[c]);
            }
        }
    }
    return {};
}

/// Number 1, 2, … of the same kind.
OperationData OperationAnswers::other_inputs(std::int64_t number) const {
    return operation_.inputs(workload_, stream_key(inputs_.seed, number), inputs_.draw);
}

void OperationAnswers::draw_others(Output& output) const {
    const TensorSpec& tensor = spec(output);
    const std::int64_t elements = std::max<std::int64_t>(1, std::ssize(output.exact));
    if (elements >= enough_reference_errors || !output.others.empty()) {
        return;
    }
    std::vector<double> scales;
    for (std::int64_t n = 1; n * elements < enough_reference_errors; ++n) {
        std::vector<double> exact =
            operation_.answer(workload_, other_inputs(n), output.tensor, output.rows);
        for (std::int64_t i = 0; i < std::ssize(output.rows); ++i) {
            const double scale = scale_of_row(tensor, values_of_row(exact, i, tensor.width));
            if (std::isfinite(scale)) {
                scales.push_back(scale);
            }
        }
        output.others.push_back(std::move(exact));
    }
    if (!scales.empty()) {
        const auto middle = scales.begin() + std::ssize(scales) / 2;
        std::ranges::nth_element(scales, middle);
        output.least_scale = *middle;
    }
}

const Reference& OperationAnswers::reference(Output& output, const Precision& precision) {
    for (const auto& [known, reference] : output.references) {
        if (known == precision) {
            return reference;
        }
    }
    const std::int64_t width = spec(output).width;
    std::vector<Errors> errors;
    const auto add = [&](const OperationData& in, const std::vector<double>& exact) {
        const std::vector<double> rounded =
            by_blocks(output.rows, width, [&](std::span<const std::int64_t> block) {
                return operation_.rounded(workload_, in, output.tensor, block, precision);
            });
        errors.push_back(
            errors_of_rows(std::ssize(output.rows), [&](std::int64_t i, Comparison& to) {
                add_errors(spec(output), values_of_row(rounded, i, width),
                           values_of_row(exact, i, width), output.least_scale, to);
            }).kernel);
    };
    add(inputs_, output.exact);
    for (std::int64_t i = 0; i < std::ssize(output.others); ++i) {
        add(other_inputs(i + 1), output.others[i]);
    }
    const auto elements = static_cast<double>(std::max<std::size_t>(1, output.exact.size()));
    Reference all = reference_of(errors, elements);
    // Each element is rounded as it is stored. The mean over many is lower than the largest of
    // these errors, and that over a few need not be.
    if (!output.others.empty()) {
        all.high_rms = std::max(all.high_rms, unit_roundoff(precision.output));
    }
    output.references.emplace_back(precision, all);
    return output.references.back().second;
}

StoredOutputs OperationAnswers::right_outputs(const Precision& precision) const {
    StoredOutputs stored;
    for (const Output& output : outputs_) {
        const TensorSpec& tensor = spec(output);
        std::vector<std::int64_t> rows(tensor.rows);
        std::iota(rows.begin(), rows.end(), 0);
        const std::vector<double> values =
            by_blocks(rows, tensor.width, [&](std::span<const std::int64_t> block) {
                return operation_.rounded(workload_, inputs_, output.tensor, block, precision);
            });
        std::vector<std::byte>& bytes = stored.emplace_back(tensor.bytes());
        for (std::size_t i = 0; i < values.size(); ++i) {
            store_element(bytes.data(), tensor.dtype, i, values[i]);
        }
    }
    return stored;
}

}  // namespace raceline
