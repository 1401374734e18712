// SPDX-License-Identifier: Apache-2.0
#include "model/error_band.hpp"

#include <cmath>

#include "support/check.hpp"

namespace raceline {

Regime regime_of(double seconds) {
    if (seconds < 20e-6) {
        return Regime::under_20us;
    }
    return seconds > 100e-6 ? Regime::over_100us : Regime::from_20us_to_100us;
}

std::string_view regime_name(Regime regime) {
    switch (regime) {
        case Regime::under_20us: return "<20us";
        case Regime::from_20us_to_100us: return "20-100us";
        case Regime::over_100us: return ">100us";
    }
    return "";
}

std::optional<Interval> error_band(std::span<const double> residuals, double seconds) {
    for (const double residual : residuals) {
        require(std::isfinite(residual) && residual > -1, Status::invalid_argument,
                "residual {} cannot be: it is predicted / measured - 1, a number above -1",
                residual);
    }
    if (residuals.size() < residuals_for_band) {
        return std::nullopt;
    }
    return Interval{seconds / (1 + quantile(residuals, 0.95)),
                    seconds / (1 + quantile(residuals, 0.05))};
}

}  // namespace raceline
