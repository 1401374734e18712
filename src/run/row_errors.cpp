// SPDX-License-Identifier: Apache-2.0
#include "run/row_errors.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "run/poison.hpp"
#include "support/check.hpp"
#include "workload/cache_reader.hpp"

namespace raceline {
namespace {

constexpr std::int64_t gathered_values = 256;  // at a time

/// Rows whose errors are looked at together: consecutive, of one sequence and KV head.
struct Group {
    std::size_t first, last;
};
std::vector<Group> groups_of(const GateAnswers& answers) {
    constexpr std::size_t longest = 64;
    const std::span<const Row> rows = answers.rows();
    const std::int64_t group = answers.workload().group();
    std::vector<Group> groups;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool joins = !groups.empty() && i - groups.back().first < longest &&
                           rows[i].sequence == rows[groups.back().first].sequence &&
                           rows[i].head / group == rows[groups.back().first].head / group;
        if (joins) {
            groups.back().last = i + 1;
        } else {
            groups.push_back({i, i + 1});
        }
    }
    return groups;
}

void add_alignment(const GateAnswers& answers, const Group& group,
                   std::span<const std::vector<float>> errors, Errors& to) {
    std::vector<QueryRow> rows;
    for (std::size_t i = group.first; i < group.last; ++i) {
        rows.push_back({answers.rows()[i].row, answers.rows()[i].head});
    }
    const Alignment along = align(answers.workload(), answers.inputs(),
                                  answers.rows()[group.first].sequence, rows, errors);
    to.aligned = std::max(to.aligned, along.single);
    to.joint = std::max(to.joint, along.joint);
}

/// LSE errors count in units of max(1, |LSE|): float32 cannot hold a large one any closer.
double lse_unit(double lse) {
    return std::max(1.0, std::abs(lse));
}

/// A row's own scale: the RMS of the answer, or of what it would be did its terms not cancel.
double scale_of(const OracleRow& exact) {
    const std::vector<double>& out = exact.out;
    const double power = std::inner_product(out.begin(), out.end(), out.begin(), 0.0);
    return std::max(std::sqrt(power / static_cast<double>(out.size())), exact.spread);
}

CacheReader cache_of(const GateAnswers& answers, const Row& at) {
    return {answers.workload(), answers.inputs(), at.sequence,
            at.head / answers.workload().group()};
}

/// On all cores. `body` does not throw.
void for_all(std::size_t count, const std::function<void(std::size_t)>& body) {
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < count; ++i) {
        body(i);
    }
}

std::int64_t row_index(const GateAnswers& answers, const Row& at) {
    const Workload& w = answers.workload();
    const auto& sums = answers.inputs().cu_seqlens_q;
    const std::int64_t first = sums.empty() ? at.sequence * w.seqlen_q : sums[at.sequence];
    return (first + at.row) * w.heads_q + at.head;
}

std::vector<double> stored_row(const GateAnswers& answers, const PackedOutputs& outputs,
                               std::int64_t index) {
    const Workload& w = answers.workload();
    std::vector<double> row(w.headdim_v);
    for (std::int64_t c = 0; c < w.headdim_v; ++c) {
        row[c] = load_element(outputs.out.data(), w.out_dtype(),
                              static_cast<std::size_t>(index * w.headdim_v + c));
    }
    return row;
}

/// Errors of one row relative to its scale, and their vector for the alignment.
std::vector<float> add_row(const std::vector<double>& got, const OracleRow& exact, double scale,
                           Errors& errors) {
    std::vector<float> vector(got.size(), 0);
    for (std::size_t c = 0; c < got.size(); ++c) {
        // A row without keys is exactly 0: any other value is infinitely wrong.
        errors.add(got[c] - exact.out[c], scale);
        if (scale > 0) {
            vector[c] = static_cast<float>((got[c] - exact.out[c]) / scale);
        }
    }
    return vector;
}

void compare_lse(const Row& at, double got, double expected, Comparison& found) {
    if (std::isinf(expected) || std::isinf(got)) {
        if (got != expected && found.why.empty()) {
            found.why = fmt::format("LSE of {} is {}, not {}", place_of(at), got, expected);
        }
        return;
    }
    found.kernel.lse = std::abs(got - expected) / lse_unit(expected);
    found.lse_worst = std::abs(got - expected);
}

Comparison compare_row(GateAnswers& answers, const PackedOutputs& outputs, std::size_t i,
                       std::vector<float>& vector) {
    const Row& at = answers.rows()[i];
    const OracleRow& exact = answers.exact()[i];
    const std::int64_t index = row_index(answers, at);
    const double scale = scale_of(exact);
    Comparison found;
    vector = add_row(stored_row(answers, outputs, index), exact, scale, found.kernel);
    for (const double x : exact.out) {
        found.largest = std::max(found.largest, scale == 0 ? 0 : std::abs(x) / scale);
    }
    found.elements = answers.workload().headdim_v;
    if (!outputs.lse.empty()) {
        compare_lse(at, static_cast<double>(outputs.lse[index]), exact.lse, found);
    }
    return found;
}

std::string compare_finite_row(GateAnswers& answers, const PackedOutputs& outputs, std::size_t i) {
    const Row& at = answers.rows()[i];
    const OracleRow& exact = answers.exact()[i];
    const std::int64_t index = row_index(answers, at);
    const bool weighed = exact.judged;
    if (!outputs.lse.empty() &&
        (weighed || exact.lse != -std::numeric_limits<double>::infinity())) {
        const auto got = static_cast<double>(outputs.lse[index]);
        // -inf is the finite answer of a row without keys.
        const bool empty = exact.lse == -std::numeric_limits<double>::infinity();
        if (empty ? got != exact.lse : std::isfinite(got) != std::isfinite(exact.lse)) {
            return fmt::format("LSE of {} is {}, but {} in float64", place_of(at), got, exact.lse);
        }
    }
    const std::vector<double> row = stored_row(answers, outputs, index);
    for (std::size_t c = 0; weighed && c < row.size(); ++c) {
        if (std::isfinite(row[c]) != std::isfinite(exact.out[c])) {
            return masks_non_finite(answers, at)
                       ? std::string()
                       : fmt::format("element {} of {} is {}, but {} in float64", c, place_of(at),
                                     row[c], exact.out[c]);
        }
    }
    return {};
}

}  // namespace

bool masks_non_finite(const GateAnswers& answers, const Row& at) {
    const Workload& w = answers.workload();
    const SeenKeys its_keys = seen_keys_of(w, answers.inputs(), at.sequence, at.row);
    const CacheReader cache = cache_of(answers, at);
    std::vector<float> values;
    for (std::int64_t from = 0; from < w.length_k(at.sequence); from += gathered_values) {
        const std::int64_t count = std::min(gathered_values, w.length_k(at.sequence) - from);
        cache.values(from, count, values);
        for (std::int64_t j = 0; j < count; ++j) {
            const bool masked = !its_keys.sees(from + j);
            const auto* v = values.data() + j * w.headdim_v;
            if (masked &&
                !std::all_of(v, v + w.headdim_v, [](float x) { return std::isfinite(x); })) {
                return true;
            }
        }
    }
    return false;
}

Comparison compare_rows(GateAnswers& answers, const PackedOutputs& outputs) {
    answers.exact();  // before threads ask for it
    std::vector<Comparison> rows(answers.rows().size());
    const std::vector<Group> groups = groups_of(answers);
    for_all(groups.size(), [&](std::size_t n) {
        const auto [first, last] = groups[n];
        std::vector<std::vector<float>> errors(last - first);
        for (std::size_t i = first; i < last; ++i) {
            rows[i] = compare_row(answers, outputs, i, errors[i - first]);
        }
        add_alignment(answers, groups[n], errors, rows[first].kernel);
    });
    Comparison all;
    for (const Comparison& one : rows) {
        all.kernel.take(one.kernel);
        all.largest = std::max(all.largest, one.largest);
        all.lse_worst = std::max(all.lse_worst, one.lse_worst);
        all.elements += one.elements;
        all.why = all.why.empty() ? one.why : all.why;
    }
    all.rows = std::ssize(rows);
    all.width = answers.workload().headdim_v;
    return all;
}

std::string compare_finite(GateAnswers& answers, const PackedOutputs& outputs) {
    answers.exact();
    std::vector<std::string> reasons(answers.rows().size());
    for_all(reasons.size(),
            [&](std::size_t i) { reasons[i] = compare_finite_row(answers, outputs, i); });
    const auto first = std::find_if(reasons.begin(), reasons.end(),
                                    [](const std::string& reason) { return !reason.empty(); });
    return first == reasons.end() ? std::string() : *first;
}

Reference reference_errors(GateAnswers& answers,
                           std::span<const std::vector<OracleRow>> roundings) {
    const std::vector<OracleRow>& exact = answers.exact();
    const std::vector<Group> groups = groups_of(answers);
    std::vector<std::vector<Errors>> errors(groups.size(), std::vector<Errors>(roundings.size()));
    for_all(groups.size() * roundings.size(), [&](std::size_t task) {
        const std::size_t n = task % roundings.size();
        const Group& group = groups[task / roundings.size()];
        Errors& sum = errors[task / roundings.size()][n];
        std::vector<std::vector<float>> vectors;
        for (std::size_t i = group.first; i < group.last; ++i) {
            const OracleRow& rounded = roundings[n][i];
            vectors.push_back(add_row(rounded.out, exact[i], scale_of(exact[i]), sum));
            if (std::isfinite(exact[i].lse)) {
                const double stored = round_to(rounded.lse, Rounding::fp32);
                sum.lse =
                    std::max(sum.lse, std::abs(stored - exact[i].lse) / lse_unit(exact[i].lse));
            }
        }
        add_alignment(answers, group, vectors, sum);
    });
    std::vector<Errors> sums(roundings.size());
    for (const std::vector<Errors>& group : errors) {
        for (std::size_t n = 0; n < roundings.size(); ++n) {
            sums[n].take(group[n]);
        }
    }
    return reference_of(sums, static_cast<double>(std::ssize(exact) * answers.workload().headdim_v),
                        scattering_rows(answers.workload(), answers.rows()) > 0);
}

}  // namespace raceline
