// SPDX-License-Identifier: Apache-2.0
#include "run/gate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "run/poison.hpp"
#include "support/check.hpp"
#include "workload/oracle.hpp"

namespace raceline {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// ---- The bound. Everything that decides between accepted and refused stands in this section; its
// reasons are in docs/correctness.md. ----

constexpr double rms_factor = 2;    // times the rounding reference's relative RMS
constexpr double worst_factor = 3;  // times its worst element, and its worst LSE
// Where rows are few, and so rounded several times, a squared error of the whole call may be this
// many standard deviations above the mean: as far as one single rounding goes, the heaviest key's
// of a row in which no other counts, whose largest square is 3.8 above (e4m3, mantissas of which
// every logarithm is as likely).
constexpr double deviations = 5;

/// Half the distance between 1 and the next value.
double unit_roundoff(Rounding type) {
    switch (type) {
        case Rounding::fp64: return 0x1p-53;
        case Rounding::fp32: return 0x1p-24;
        case Rounding::fp32_rz: return 0x1p-23;
        case Rounding::e4m3_sum: return 0x1p-13;
        case Rounding::tf32:
        case Rounding::fp16: return 0x1p-11;
        case Rounding::bf16: return 0x1p-8;
        case Rounding::e4m3: return 0x1p-4;
    }
    return 0;
}

/// Where the reference happens to be exact (one key, equal logits) a kernel still may round in its
/// accumulator type: an exponential off by two ulp (4 roundoffs), its product with V, the sum, the
/// reciprocal of the denominator, the product with it. Relative to the element.
double floor_of(const Precision& precision) {
    return 8 * unit_roundoff(precision.accumulators);
}

/// Errors of a set of rows, each row relative to its own scale.
struct Errors {
    double squares = 0, worst = 0, lse = 0;
    void add(double error, double scale) {
        const double relative = error == 0 ? 0 : std::abs(error) / scale;
        squares += relative * relative;
        worst = std::max(worst, relative);
    }
};

/// What a comparison of some rows adds up to.
struct Comparison {
    Errors kernel;
    std::vector<Errors> references;  ///< one a rounding
    double largest = 0;              ///< largest |element| of the answer / its row's scale
    std::int64_t elements = 0;
    std::string why;
};

/// LSE errors count in units of max(1, |LSE|): float32 cannot hold a large one any closer.
double lse_unit(double lse) {
    return std::max(1.0, std::abs(lse));
}

/// What the roundings of a reference come to.
struct Reference {
    double rms = 0, worst = 0, lse = 0;
    double high_rms = 0;  ///< of a call whose squared errors are `deviations` above the mean
};

Reference reference_of(const Comparison& found, double elements) {
    Reference all;
    const auto count = static_cast<double>(found.references.size());
    double mean = 0;
    double mean_square = 0;
    for (const Errors& one : found.references) {
        const double square = one.squares / elements;
        mean += square / count;
        mean_square += square * square / count;
        all.worst = std::max(all.worst, one.worst);
        all.lse = std::max(all.lse, one.lse);
    }
    all.rms = std::sqrt(mean);
    const double variance = std::max(0.0, mean_square - mean * mean);
    all.high_rms = std::sqrt(mean + deviations * std::sqrt(variance));
    return all;
}

void decide(Correctness& verdict, const Comparison& found, const Precision& precision,
            bool with_lse) {
    const double count = static_cast<double>(std::max<std::int64_t>(1, found.elements));
    const double least = floor_of(precision);
    verdict.relative_rms = std::sqrt(found.kernel.squares / count);
    verdict.worst = found.kernel.worst;
    const Reference reference = reference_of(found, count);
    verdict.bound = std::max({rms_factor * reference.rms, reference.high_rms, least});
    verdict.bound_worst = std::max(worst_factor * reference.worst, least * found.largest);
    const double bound_lse =
        std::max(worst_factor * reference.lse, 8 * unit_roundoff(Rounding::fp32));
    verdict.why = found.why;
    if (!verdict.why.empty()) {
    } else if (!(verdict.relative_rms <= verdict.bound)) {
        verdict.why = fmt::format("relative RMS error {:.3g} exceeds {:.3g}", verdict.relative_rms,
                                  verdict.bound);
    } else if (!(verdict.worst <= verdict.bound_worst)) {
        verdict.why = fmt::format("worst element is off by {:.3g} of its row's RMS, over {:.3g}",
                                  verdict.worst, verdict.bound_worst);
    } else if (with_lse && !(found.kernel.lse <= bound_lse)) {
        verdict.why = fmt::format("LSE is off by {:.3g} of max(1, |LSE|), over {:.3g}",
                                  found.kernel.lse, bound_lse);
    }
    verdict.passed = verdict.why.empty();
}

// ---- The comparison. ----

/// Index of the first token of a sequence in packed (tokens, heads) storage.
std::int64_t first_token(const Workload& w, const Inputs& inputs, std::int64_t sequence) {
    return inputs.cu_seqlens_q.empty() ? sequence * w.seqlen_q : inputs.cu_seqlens_q[sequence];
}

struct Judged {
    const Workload& workload;
    const Inputs& inputs;
    const Precision& precision;
    std::span<const std::byte> out;
    std::span<const float> lse;
};

/// `i`: the row's place among those that `answers` holds.
void compare_row(const Judged& what, std::size_t i, GateAnswers& answers, double& lse_worst,
                 Comparison& found) {
    const Row& at = answers.rows()[i];
    const OracleRow& exact = answers.exact()[i];
    const auto& references = answers.rounded(what.precision);
    const Workload& w = what.workload;
    const std::int64_t index =
        (first_token(w, what.inputs, at.sequence) + at.row) * w.heads_q + at.head;
    const std::vector<double>& truth = exact.out;
    const double power = std::inner_product(truth.begin(), truth.end(), truth.begin(), 0.0);
    const double rms = std::sqrt(power / static_cast<double>(truth.size()));
    const double scale = std::max(rms, exact.spread);
    for (std::size_t c = 0; c < truth.size(); ++c) {
        const double got = load_element(what.out.data(), w.out_dtype(),
                                        index * w.headdim_v + static_cast<std::int64_t>(c));
        // A row without keys is exactly 0: any other value is infinitely wrong.
        found.kernel.add(got - truth[c], scale);
        for (std::size_t n = 0; n < references.size(); ++n) {
            found.references[n].add(references[n][i].out[c] - truth[c], scale);
        }
        found.largest = std::max(found.largest, scale == 0 ? 0 : std::abs(truth[c]) / scale);
        ++found.elements;
    }
    if (what.lse.empty()) {
        return;
    }
    const double got = static_cast<double>(what.lse[index]);
    const double expected = exact.lse;
    if (std::isinf(expected) || std::isinf(got)) {
        if (got != expected && found.why.empty()) {
            found.why = fmt::format("LSE of {} is {}, not {}", place_of(at), got, expected);
        }
        return;
    }
    const double unit = lse_unit(expected);
    found.kernel.lse = std::max(found.kernel.lse, std::abs(got - expected) / unit);
    for (std::size_t n = 0; n < references.size(); ++n) {
        const double rounded = round_to(references[n][i].lse, Rounding::fp32);
        found.references[n].lse =
            std::max(found.references[n].lse, std::abs(rounded - expected) / unit);
    }
    lse_worst = std::max(lse_worst, std::abs(got - expected));
}

Comparison compare_rows(const Judged& what, GateAnswers& answers, double& lse_worst) {
    Comparison all;
    all.references.resize(answers.rounded(what.precision).size());
    for (std::size_t i = 0; i < answers.rows().size(); ++i) {
        compare_row(what, i, answers, lse_worst, all);
    }
    return all;
}

}  // namespace

Json correctness_to_json(const Correctness& correctness) {
    const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    Json object;
    object["passed"] = correctness.passed;
    object["relative_rms"] = number(correctness.relative_rms);
    object["worst"] = number(correctness.worst);
    object["bound"] = number(correctness.bound);
    object["bound_worst"] = number(correctness.bound_worst);
    object["lse_worst"] = number(correctness.lse_worst);
    object["cases"] = correctness.cases;
    if (!correctness.why.empty()) {
        object["why"] = correctness.why;
    }
    return object;
}

Correctness judge(GateAnswers& answers, const Precision& precision, std::span<const std::byte> out,
                  std::span<const float> lse) {
    const Workload& workload = answers.workload();
    const auto rows = static_cast<std::size_t>(workload.tokens_q() * workload.heads_q);
    const std::size_t bytes =
        rows * workload.headdim_v * static_cast<std::size_t>(bytes_of(workload.out_dtype()));
    require(out.size() == bytes, Status::invalid_argument, "the output has {} bytes, not {}",
            out.size(), bytes);
    require(lse.empty() || lse.size() == rows, Status::invalid_argument,
            "the LSE has {} elements, not {}", lse.size(), rows);
    Correctness verdict;
    verdict.why = find_poison(workload, out, lse);
    if (!verdict.why.empty()) {
        verdict.relative_rms = verdict.worst = verdict.bound = verdict.bound_worst = nothing;
        return verdict;
    }
    const Judged what{workload, answers.inputs(), precision, out, lse};
    const Comparison found = compare_rows(what, answers, verdict.lse_worst);
    verdict.cases = static_cast<std::int64_t>(answers.rows().size());
    decide(verdict, found, precision, !lse.empty());
    return verdict;
}

Correctness judge(const Workload& workload, const Inputs& inputs, const Precision& precision,
                  std::span<const std::byte> out, std::span<const float> lse, std::uint64_t seed) {
    GateAnswers answers(workload, inputs, seed);
    return judge(answers, precision, out, lse);
}

}  // namespace raceline
