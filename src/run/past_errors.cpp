// SPDX-License-Identifier: Apache-2.0
#include "run/past_errors.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace raceline {
namespace {

std::string device_key(std::string_view id, std::string_view name) {
    return std::string(id == "cpu" || id == "cuda" ? name : id);
}

template <class Error>
using ByModel = std::map<int, std::vector<Error>>;  // the newest model first

// A model that was mended errs no longer as it did: older ones only fill up what a band needs.
template <class Error>
std::vector<Error> newest(const ByModel<Error>& models) {
    std::vector<Error> errors;
    for (const auto& [newer, of_model] : models) {
        if (errors.size() >= residuals_for_band) {
            break;
        }
        errors.insert(errors.end(), of_model.begin(), of_model.end());
    }
    return errors;
}

}  // namespace

PastErrors::PastErrors(std::span<const build_info::EmbeddedResidual> residuals) {
    std::map<Key, ByModel<double>> groups;
    std::map<KeyOfAll, ByModel<Past>> all_regimes;
    for (const auto& past : residuals) {
        const KeyOfAll key{device_key(past.device_id, past.device_name), std::string(past.kernel),
                           past.cold};
        groups[std::tuple_cat(key, std::tuple(regime_of(past.predicted)))][past.newer_models]
            .push_back(past.residual);
        all_regimes[key][past.newer_models].push_back({past.predicted, past.residual});
    }
    for (const auto& [key, group] : groups) {
        if (const auto band = error_band(newest(group), 1)) {
            bands_.emplace(key, *band);
        }
    }
    for (const auto& [key, group] : all_regimes) {
        std::vector<Past> errors = newest(group);
        if (errors.size() >= residuals_for_band) {
            std::sort(errors.begin(), errors.end(), [](const Past& a, const Past& b) {
                return std::tie(a.predicted, a.residual) < std::tie(b.predicted, b.residual);
            });
            nearby_.emplace(key, std::move(errors));
        }
    }
}

std::optional<Interval> PastErrors::band(std::string_view kernel, const Device& device, bool cold,
                                         double seconds) const {
    const auto found = bands_.find(
        {device_key(device.id, device.name), std::string(kernel), cold, regime_of(seconds)});
    if (found == bands_.end()) {
        return std::nullopt;
    }
    return Interval{seconds * found->second.low, seconds * found->second.high};
}

double PastErrors::expected(std::string_view kernel, const Device& device, bool cold,
                            double seconds) const {
    const auto found =
        nearby_.find({device_key(device.id, device.name), std::string(kernel), cold});
    if (found == nearby_.end()) {
        return seconds;
    }
    const std::vector<Past>& errors = found->second;
    // A window of 20 slides up while what it takes in is nearer than what it leaves.
    std::size_t first = 0;
    const auto farther = [&](std::size_t low, std::size_t high) {
        return seconds / errors[low].predicted > errors[high].predicted / seconds;
    };
    while (first + residuals_for_band < errors.size() &&
           farther(first, first + residuals_for_band)) {
        ++first;
    }
    std::vector<double> residuals;
    residuals.reserve(residuals_for_band);
    for (std::size_t i = 0; i < residuals_for_band; ++i) {
        residuals.push_back(errors[first + i].residual);
    }
    return seconds / (1 + quantile(residuals, 0.5));
}

const PastErrors& committed_errors() {
    static const PastErrors errors(build_info::residuals());
    return errors;
}

}  // namespace raceline
