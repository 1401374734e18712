// SPDX-License-Identifier: Apache-2.0
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/check.hpp"

namespace raceline {
namespace {

std::vector<double> sorted(std::span<const double> samples, const char* what) {
    require(!samples.empty(), Status::invalid_argument, "{} of no samples: at least one is needed",
            what);
    for (const double sample : samples) {
        require(!std::isnan(sample), Status::invalid_argument, "{}: a sample is NaN", what);
    }
    std::vector<double> order(samples.begin(), samples.end());
    std::sort(order.begin(), order.end());
    return order;
}

double quantile_of_sorted(const std::vector<double>& order, double q) {
    const double position = q * static_cast<double>(order.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, order.size() - 1);
    // Equal neighbours skip the sum, so that infinities do not become NaN.
    return order[below] == order[above]
               ? order[below]
               : std::lerp(order[below], order[above], position - static_cast<double>(below));
}

// How many samples can be cut off each end with 2 P(B <= cut - 1) <= 0.05, B ~ Binomial(n, 1/2).
// Probabilities are kept as logarithms: 2^-n leaves the range of double at n = 1075.
std::size_t samples_to_cut(std::size_t n) {
    const auto count = static_cast<double>(n);
    double log_mass = -count * std::log(2.0);
    double tail = std::exp(log_mass);
    std::size_t cut = 0;
    while (cut < n / 2 && 2 * tail <= 0.05) {
        ++cut;
        const auto i = static_cast<double>(cut);
        log_mass += std::log((count - i + 1) / i);
        tail += std::exp(log_mass);
    }
    return cut;
}

}  // namespace

double median(std::span<const double> samples) {
    return quantile_of_sorted(sorted(samples, "median"), 0.5);
}

double quantile(std::span<const double> samples, double q) {
    require(q >= 0 && q <= 1, Status::invalid_argument, "quantile: q = {} is not in [0, 1]", q);
    return quantile_of_sorted(sorted(samples, "quantile"), q);
}

Interval median_interval(std::span<const double> samples) {
    const std::vector<double> order = sorted(samples, "median_interval");
    const std::size_t cut = samples_to_cut(order.size());
    const std::size_t first = cut == 0 ? 0 : cut - 1;
    return {order[first], order[order.size() - 1 - first]};
}

PredictionAccuracy accuracy(std::span<const double> predicted, std::span<const double> measured) {
    require(predicted.size() == measured.size(), Status::invalid_argument,
            "accuracy: {} predictions for {} measurements, one for each is needed",
            predicted.size(), measured.size());
    require(!measured.empty(), Status::invalid_argument, "accuracy of no pairs");
    std::vector<double> absolute;
    PredictionAccuracy result{measured.size(), 0, 0, 0, 0, 0, 0};
    const auto count = static_cast<double>(measured.size());
    for (std::size_t i = 0; i < measured.size(); ++i) {
        require(measured[i] > 0 && std::isfinite(measured[i]) && std::isfinite(predicted[i]),
                Status::invalid_argument,
                "accuracy: pair {} is {} s predicted, {} s measured; both must be finite and the "
                "measured time positive",
                i, predicted[i], measured[i]);
        // Differences, not quotients, decide the shares: 1.1 / 1 - 1 is a little over 0.1.
        const double difference = predicted[i] - measured[i];
        absolute.push_back(std::abs(difference) / measured[i]);
        result.mean_absolute += absolute.back() / count;
        result.bias += difference / measured[i] / count;
        result.within_10 += (std::abs(difference) <= 0.10 * measured[i] ? 1 : 0) / count;
        result.within_20 += (std::abs(difference) <= 0.20 * measured[i] ? 1 : 0) / count;
    }
    result.median_absolute = median(absolute);
    result.p90_absolute = quantile(absolute, 0.9);
    return result;
}

}  // namespace raceline
