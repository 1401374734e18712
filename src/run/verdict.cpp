// SPDX-License-Identifier: Apache-2.0
#include "run/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "support/check.hpp"

namespace raceline {
namespace {

// Everything that decides between accepted and refused stands in this file; its reasons are in
// docs/correctness.md.

constexpr double rms_factor = 2;    // times the rounding reference's relative RMS
constexpr double worst_factor = 3;  // times its worst element, LSE and error along a value
// Where rows are few, and so rounded several times, a squared error of the whole call may be this
// many standard deviations above the mean: as far as one single rounding goes, the heaviest key's
// of a row in which no other counts, whose largest square is 3.8 above (e4m3, mantissas of which
// every logarithm is as likely).
constexpr double deviations = 5;

/// Where the reference happens to be exact (one key, equal logits) a kernel still may round in its
/// accumulator type: an exponential off by two ulp (4 roundoffs), its product with V, the sum, the
/// reciprocal of the denominator, the product with it. Relative to the element.
double floor_of(const Precision& precision) {
    return 8 * unit_roundoff(precision.accumulators);
}

/// Of the LSE, which is stored in fp32, relative to max(1, |LSE|). A logit's sum, whose terms may
/// cancel where inputs have outliers, its products with the scale and log2 e, its difference to the
/// maximum, the exponential, the sum of these, the logarithm and its product with ln 2: eight
/// roundings of up to two roundoffs. A single reference shows the largest of few rows, and a right
/// kernel was once 3.4 times beyond it.
constexpr double lse_roundoffs = 16;

std::string reason_against(const Correctness& c, double lse, double bound_lse) {
    if (!(c.relative_rms <= c.bound)) {
        return fmt::format("relative RMS error {:.3g} exceeds {:.3g}", c.relative_rms, c.bound);
    }
    if (!(c.worst <= c.bound_worst)) {
        return fmt::format("worst element is off by {:.3g} of its row's RMS, over {:.3g}", c.worst,
                           c.bound_worst);
    }
    if (!(c.aligned <= c.bound_aligned)) {
        return fmt::format(
            "a row's errors point along one key's value by {:.3g} of its RMS, over {:.3g}: a key "
            "is lost, or has a wrong weight",
            c.aligned, c.bound_aligned);
    }
    if (!(lse <= bound_lse)) {
        return fmt::format("LSE is off by {:.3g} of max(1, |LSE|), over {:.3g}", lse, bound_lse);
    }
    return {};
}

}  // namespace

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

void Errors::add(double error, double scale) {
    const double relative = error == 0 ? 0 : std::abs(error) / scale;
    squares += relative * relative;
    // A NaN must not hide behind what it is compared with.
    worst = std::isnan(relative) ? relative : std::max(worst, relative);
}

void Errors::take(const Errors& other) {
    squares += other.squares;
    worst = std::isnan(other.worst) ? other.worst : std::max(worst, other.worst);
    lse = std::max(lse, other.lse);
    aligned = std::max(aligned, other.aligned);
    joint = std::max(joint, other.joint);
}

Reference reference_of(std::span<const Errors> roundings, double elements, bool scatter) {
    Reference all;
    const auto count = static_cast<double>(roundings.size());
    double mean = 0;
    double mean_square = 0;
    for (const Errors& one : roundings) {
        const double square = one.squares / std::max(1.0, elements);
        mean += square / count;
        mean_square += square * square / count;
        all.worst = std::max(all.worst, one.worst);
        all.lse = std::max(all.lse, one.lse);
        all.aligned = std::max(all.aligned, one.aligned);
        all.joint = std::max(all.joint, one.joint);
    }
    all.rms = std::sqrt(mean);
    all.few_keys = roundings.size() > 1 || !scatter;
    const double variance = std::max(0.0, mean_square - mean * mean);
    all.high_rms = std::sqrt(mean + deviations * std::sqrt(variance));
    return all;
}

Correctness decide(const Comparison& found, const Reference& reference, const Precision& precision,
                   bool with_lse) {
    Correctness verdict;
    const double count = static_cast<double>(std::max<std::int64_t>(1, found.elements));
    const double least = floor_of(precision);
    verdict.relative_rms = std::sqrt(found.kernel.squares / count);
    verdict.worst = found.kernel.worst;
    verdict.lse_worst = found.lse_worst;
    verdict.cases = found.rows;
    verdict.bound = std::max({rms_factor * reference.rms, reference.high_rms, least});
    verdict.bound_worst = std::max(worst_factor * reference.worst, least * found.largest);
    // No longer than the vector of the floor's errors itself. Of few rows, or rows of one key, one
    // may be the rounding of a single key's probability and of what becomes of it, along that key's
    // value: the bound is then no less than both can be, which few references do not show.
    const double root = std::sqrt(static_cast<double>(found.width));
    const double one_key = unit_roundoff(precision.probabilities) + unit_roundoff(precision.output);
    const double floor =
        std::max(least * found.largest * root, reference.few_keys ? one_key * root : 0.0);
    const double single = std::max(worst_factor * reference.aligned, floor);
    const double joint = std::max(worst_factor * reference.joint, floor);
    // Reported is the one that uses more of its bound.
    const bool alone = found.kernel.aligned * joint > found.kernel.joint * single;
    verdict.aligned = alone ? found.kernel.aligned : found.kernel.joint;
    verdict.bound_aligned = alone ? single : joint;
    const double bound_lse =
        std::max(worst_factor * reference.lse, lse_roundoffs * unit_roundoff(Rounding::fp32));
    verdict.why = !found.why.empty()
                      ? found.why
                      : reason_against(verdict, with_lse ? found.kernel.lse : 0, bound_lse);
    verdict.passed = verdict.why.empty();
    return verdict;
}

Correctness verdict_of_values(std::string why, double errors) {
    Correctness verdict;
    verdict.relative_rms = verdict.worst = verdict.aligned = errors;
    verdict.bound = verdict.bound_worst = verdict.bound_aligned = errors;
    verdict.why = std::move(why);
    verdict.passed = verdict.why.empty();
    return verdict;
}

Correctness worse_of(const Correctness& a, const Correctness& b) {
    // A failure outranks any pass; among equals the one that uses more of its bound is reported,
    // whole, so that error and bound in a row belong together.
    const auto share = [](const Correctness& c) {
        return c.bound > 0 ? c.relative_rms / c.bound : 0;
    };
    const bool take_b = a.passed != b.passed ? a.passed : share(b) > share(a);
    Correctness worse = take_b ? b : a;
    worse.cases = a.cases + b.cases;
    worse.draws = a.draws;
    worse.draws.insert(worse.draws.end(), b.draws.begin(), b.draws.end());
    return worse;
}

}  // namespace raceline
