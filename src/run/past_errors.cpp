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
    for (const auto& past : residuals) {
        groups[{device_key(past.device_id, past.device_name), std::string(past.kernel), past.cold,
                regime_of(past.predicted)}][past.newer_models]
            .push_back(past.residual);
    }
    for (const auto& [key, group] : groups) {
        if (const auto band = error_band(newest(group), 1)) {
            bands_.emplace(key, *band);
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

const PastErrors& committed_errors() {
    static const PastErrors errors(build_info::residuals());
    return errors;
}

}  // namespace raceline
