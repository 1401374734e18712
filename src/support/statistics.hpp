// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace raceline {

struct Interval {
    double low, high;
};

/// Median of the samples (mean of the two middle ones if even). Throws if empty.
double median(std::span<const double> samples);

/// Quantile with linear interpolation between order statistics, q in [0, 1].
double quantile(std::span<const double> samples, double q);

/// 95 % confidence interval of the median from order statistics, distribution-free: the number of
/// samples below the median is binomial with p = 1/2 (David and Nagaraja, Order Statistics, 3rd
/// edition, section 7.1; Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2).
/// Fewer than 6 samples cannot give 95 %: the full range is returned.
Interval median_interval(std::span<const double> samples);

/// Accuracy of predictions: errors are predicted / measured - 1, `bias` is their mean with sign,
/// `within_10` the share of absolute errors of at most 10 %. All are fractions, not percent. Throws
/// if there are no pairs, counts differ, or a measured time is not positive.
struct PredictionAccuracy {
    std::size_t count;
    double mean_absolute, median_absolute, p90_absolute, bias, within_10, within_20;
};
PredictionAccuracy accuracy(std::span<const double> predicted, std::span<const double> measured);

}  // namespace raceline
