// SPDX-License-Identifier: Apache-2.0
#include "run/past_errors.hpp"

#include <vector>

namespace raceline {
namespace {

std::string device_key(std::string_view id, std::string_view name) {
    return std::string(id == "cpu" || id == "cuda" ? name : id);
}

using ByModel = std::map<int, std::vector<double>>;  // the newest model first

// A model that was mended errs no longer as it did: older ones only fill up what a band needs.
std::vector<double> newest(const ByModel& models) {
    std::vector<double> residuals;
    for (const auto& [newer, of_model] : models) {
        if (residuals.size() >= residuals_for_band) {
            break;
        }
        residuals.insert(residuals.end(), of_model.begin(), of_model.end());
    }
    return residuals;
}

}  // namespace

PastErrors::PastErrors(std::span<const build_info::EmbeddedResidual> residuals) {
    std::map<Key, ByModel> groups;
    std::map<KeyOfAll, ByModel> all_regimes;
    for (const auto& past : residuals) {
        const KeyOfAll key{device_key(past.device_id, past.device_name), std::string(past.kernel),
                           past.cold};
        groups[std::tuple_cat(key, std::tuple(regime_of(past.predicted)))][past.newer_models]
            .push_back(past.residual);
        all_regimes[key][past.newer_models].push_back(past.residual);
    }
    for (const auto& [key, group] : groups) {
        const std::vector<double> errors = newest(group);
        if (const auto band = error_band(errors, 1)) {
            bands_.emplace(key, *band);
            medians_.emplace(key, quantile(errors, 0.5));
        }
    }
    for (const auto& [key, group] : all_regimes) {
        const std::vector<double> errors = newest(group);
        if (errors.size() >= residuals_for_band) {
            medians_of_all_.emplace(key, quantile(errors, 0.5));
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
    const KeyOfAll key{device_key(device.id, device.name), std::string(kernel), cold};
    const auto regime = medians_.find(std::tuple_cat(key, std::tuple(regime_of(seconds))));
    if (regime != medians_.end()) {
        return seconds / (1 + regime->second);
    }
    const auto all = medians_of_all_.find(key);
    return all != medians_of_all_.end() ? seconds / (1 + all->second) : seconds;
}

const PastErrors& committed_errors() {
    static const PastErrors errors(build_info::residuals());
    return errors;
}

}  // namespace raceline
