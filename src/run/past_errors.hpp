// SPDX-License-Identifier: Apache-2.0
// The band of a prediction, from the errors of earlier ones.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "device/device.hpp"
#include "model/error_band.hpp"
#include "support/build_info.hpp"

namespace raceline {

/// Errors of one kernel on one device in one regime stand for each other; those of another kernel
/// or machine say nothing here. "cpu" is every CPU and "cuda" every GPU without a file of its own:
/// of these only the same processor's count, as with their ceilings. Of the models that predicted,
/// the newest count, as many as make up the 20 that a band needs.
class PastErrors {
public:
    explicit PastErrors(std::span<const build_info::EmbeddedResidual> residuals);

    /// None if fewer than 20 are at hand. The regime is that of the predicted time: what will be
    /// measured is not known yet.
    [[nodiscard]] std::optional<Interval> band(std::string_view kernel, const Device& device,
                                               bool cold, double seconds) const;

    /// What a prediction comes to once that much of its error is taken out as three of four among
    /// 20 errors agree on, whatever their regime: only of the newest models that make up 20. Of
    /// these, of predictions up to twice or half as long the newest models' first, and of one model
    /// the nearest; then the nearest of the others, by ratio. Unchanged if there are not 20 in all,
    /// or if a fourth is too long and a fourth too short. What is printed as expected, and what
    /// engines are compared by: one whose predictions are a third low should not win by a tenth.
    [[nodiscard]] double expected(std::string_view kernel, const Device& device, bool cold,
                                  double seconds) const;
    /// These 20, in ascending order; empty if there are not so many.
    [[nodiscard]] std::vector<double> errors_near(std::string_view kernel, const Device& device,
                                                  bool cold, double seconds) const;

private:
    using Key = std::tuple<std::string, std::string, bool, Regime>;  ///< device, kernel, cold
    using KeyOfAll = std::tuple<std::string, std::string, bool>;     ///< the same, all regimes
    std::map<Key, Interval> bands_;  ///< of a prediction of one second: bands scale with it
    struct Past {
        int newer_models;
        double predicted, residual;
    };
    std::map<KeyOfAll, std::vector<Past>> all_;  ///< of groups of 20 or more
};

/// Of the receipts that were committed when this was built; worked out at the first call.
const PastErrors& committed_errors();

}  // namespace raceline
