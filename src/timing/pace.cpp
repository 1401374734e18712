// SPDX-License-Identifier: Apache-2.0
#include "timing/pace.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace raceline {
namespace {

struct Line {
    double each = 0, factor = 0;
};

// Least squares, neither part below 0.
struct Sums {
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
    void add(double predicted, double taken) {
        count += 1;
        x += predicted;
        y += taken;
        xx += predicted * predicted;
        xy += predicted * taken;
    }
    [[nodiscard]] Line line() const {
        const double spread = count * xx - x * x;
        // Cases that are predicted alike say nothing of those that are not.
        if (spread <= 1e-9 * count * xx) {
            return {y / count, 0};
        }
        const double factor = (count * xy - x * y) / spread;
        const double each = (y - factor * x) / count;
        if (factor < 0) {
            return {y / count, 0};
        }
        return each < 0 ? Line{0, xy / xx} : Line{each, factor};
    }
};

}  // namespace

std::optional<double> Pace::left() const {
    Sums sums;
    const std::size_t ended = std::min(taken_.size(), predicted_.size());
    for (std::size_t i = 0; i < ended; ++i) {
        if (predicted_[i] > 0) {
            sums.add(predicted_[i], taken_[i]);
        }
    }
    if (sums.count == 0) {
        return std::nullopt;
    }
    const Line line = sums.line();
    double seconds = 0;
    for (std::size_t i = ended; i < predicted_.size(); ++i) {
        seconds += predicted_[i] > 0 ? line.each + line.factor * predicted_[i] : 0;
    }
    return seconds;
}

std::string rough_duration(double seconds) {
    const auto whole = static_cast<long>(std::ceil(std::clamp(seconds, 0.0, 1e9)));
    constexpr long minute = 60, hour = 60 * minute;
    if (whole < 2 * minute) {
        return fmt::format("{} s", whole);
    }
    const long minutes = (whole + minute / 2) / minute;
    return whole < 2 * hour ? fmt::format("{} min", minutes)
                            : fmt::format("{} h {} min", minutes / minute, minutes % minute);
}

}  // namespace raceline
