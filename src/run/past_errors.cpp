// SPDX-License-Identifier: Apache-2.0
#include "run/past_errors.hpp"

#include <algorithm>
#include <compare>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

namespace raceline {
namespace {

std::string device_key(std::string_view id, std::string_view name) {
    return std::string(id == "cpu" || id == "cuda" ? name : id);
}

using ByModel = std::map<int, std::vector<double>>;  // the newest model first

// A model that was mended errs no longer as it did: older ones only fill up what a band needs.
std::vector<double> newest(const ByModel& models) {
    std::vector<double> errors;
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
    std::map<Key, ByModel> groups;
    for (const auto& past : residuals) {
        const KeyOfAll key{device_key(past.device_id, past.device_name), std::string(past.kernel),
                           past.cold};
        groups[std::tuple_cat(key, std::tuple(regime_of(past.predicted)))][past.newer_models]
            .push_back(past.residual);
        all_[key].push_back({past.newer_models, past.predicted, past.residual});
    }
    for (const auto& [key, group] : groups) {
        if (const auto band = error_band(newest(group), 1)) {
            bands_.emplace(key, *band);
        }
    }
    std::erase_if(all_, [](const auto& group) { return group.second.size() < residuals_for_band; });
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

std::vector<double> PastErrors::errors_near(std::string_view kernel, const Device& device,
                                            bool cold, double seconds) const {
    const auto found = all_.find({device_key(device.id, device.name), std::string(kernel), cold});
    if (found == all_.end()) {
        return {};
    }
    struct Ranked {
        bool far;
        int newer_models;
        double times, residual;  // how many times as long, or as short
        auto operator<=>(const Ranked&) const = default;
    };
    // Errors that a mended model makes no longer are left to those that have none newer.
    std::vector<int> ages;
    for (const Past& past : found->second) {
        ages.push_back(past.newer_models);
    }
    const auto oldest = ages.begin() + residuals_for_band - 1;
    std::nth_element(ages.begin(), oldest, ages.end());
    std::vector<Ranked> ranked;
    for (const Past& past : found->second) {
        if (past.newer_models > *oldest) {
            continue;
        }
        const double times = std::max(seconds / past.predicted, past.predicted / seconds);
        ranked.push_back({times > 2, times > 2 ? 0 : past.newer_models, times, past.residual});
    }
    const auto last = ranked.begin() + residuals_for_band;
    std::nth_element(ranked.begin(), last - 1, ranked.end());
    std::vector<double> residuals;
    residuals.reserve(residuals_for_band);
    std::transform(ranked.begin(), last, std::back_inserter(residuals),
                   [](const Ranked& one) { return one.residual; });
    std::sort(residuals.begin(), residuals.end());
    return residuals;
}

double PastErrors::expected(std::string_view kernel, const Device& device, bool cold,
                            double seconds) const {
    const std::vector<double> errors = errors_near(kernel, device, cold, seconds);
    if (errors.empty()) {
        return seconds;
    }
    const double low = quantile(errors, 0.25), high = quantile(errors, 0.75);
    const double agreed = low > 0 ? low : high < 0 ? high : 0;
    return seconds / (1 + agreed);
}

const PastErrors& committed_errors() {
    static const PastErrors errors(build_info::residuals());
    return errors;
}

}  // namespace raceline
