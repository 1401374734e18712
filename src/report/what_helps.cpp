// SPDX-License-Identifier: Apache-2.0
#include "report/what_helps.hpp"

#include <algorithm>
#include <span>

#include "model/constant.hpp"
#include "model/occupancy.hpp"
#include "model/prediction.hpp"
#include "model/rates.hpp"
#include "registry/kernel.hpp"

namespace raceline {
namespace {

constexpr double more = 1.1;
constexpr std::string_view all_floors = "floor";

// Whether a rate of the device is one of the resource.
bool is_rate_of(std::string_view id, std::string_view resource) {
    if (resource == dram) {
        return id.starts_with("byte.dram_");
    }
    return id.starts_with(resource) && (id.size() == resource.size() || id[resource.size()] == '.');
}

// Chains of dependent instructions are counted in clocks: they go with it.
Device with_all_rates(Device device, double factor) {
    for (auto& [id, rate] : device.rates) {
        rate.value *= is_time_id(id) || is_size_id(id) ? 1 : factor;
        rate.clock_hz *= factor;
    }
    device.clock_hz *= factor;
    device.sustained_clock_hz *= factor;
    // With the watts that it takes: else the board's limit would take back what it gives.
    Power& power = device.power;
    power.limit_w = power.idle_w + factor * (power.limit_w - power.idle_w);
    return device;
}

double term_seconds(const Prediction& prediction, std::string_view name) {
    for (const auto& [term, seconds] : prediction.layer2) {
        if (term == name) {
            return seconds;
        }
    }
    return 0;
}

// The term that grew most, if by more than half a percent of the time.
std::string grown_term(const Prediction& before, const Prediction& after) {
    std::string name;
    double most = 0.005 * before.seconds;
    for (const auto& [term, seconds] : after.layer2) {
        if (const double more_of_it = seconds - term_seconds(before, term); more_of_it > most) {
            most = more_of_it;
            name = term;
        }
    }
    return name;
}

bool is_resource_of(const Prediction& prediction, std::string_view name) {
    return std::ranges::any_of(prediction.layer1.seconds,
                               [&](const auto& resource) { return resource.first == name; });
}

// The limiter, or where no resource limits the one that decides for most of the time; or "".
std::string busiest_resource(const Prediction& prediction) {
    if (is_resource_of(prediction, prediction.limiter)) {
        return prediction.limiter;
    }
    std::string name;
    double most = 0;
    for (const auto& [term, seconds] : prediction.layer2) {
        if (is_resource_of(prediction, term) && seconds > most) {
            most = seconds;
            name = term;
        }
    }
    return name;
}

LaunchFill fill_of(const Device& device, std::span<const Counts> launches, const LaunchCase& how) {
    const Counts* longest = nullptr;
    double most = -1;
    for (const Counts& launch : launches) {
        const double seconds = predict(device, std::span(&launch, 1), how).seconds;
        if (launch.ctas > 0 && seconds > most) {
            most = seconds;
            longest = &launch;
        }
    }
    LaunchFill fill;
    if (longest != nullptr) {
        int units = std::max(1, device.units);
        if (device.kind == DeviceKind::cpu && how.threads > 0) {
            units = std::min(units, how.threads);
        }
        fill.ctas = longest->ctas;
        fill.a_unit = occupancy(device, *longest);
        fill.at_once = std::max<std::int64_t>(
            1, slots(units, static_cast<int>(fill.a_unit), longest->cluster));
        fill.imbalance = std::max(1.0, longest->imbalance);
    }
    return fill;
}

}  // namespace

Device with_rate_of(Device device, std::string_view resource, double factor) {
    for (auto& [id, rate] : device.rates) {
        if (is_rate_of(id, resource)) {
            rate.value *= factor;
        }
    }
    return device;
}

std::optional<HiddenWork> hidden_work(const Case& which, const Device& device,
                                      const Prediction& prediction) {
    const std::string busiest = busiest_resource(prediction);
    if (busiest.empty()) {
        return std::nullopt;
    }
    const ConstantWatch watch(prediction.calibrated.left_out ? ConstantWatch::Calibrated::stand_in
                                                             : ConstantWatch::Calibrated::value);
    const auto launches = which.kernel->counts(which.workload, which.tile, device);
    const Prediction then =
        predict(with_rate_of(device, busiest, more), launches, which.options.how);
    const std::string name = grown_term(prediction, then);
    const bool has_rate = std::ranges::any_of(
        device.rates, [&](const auto& rate) { return is_rate_of(rate.first, name); });
    if (is_resource_of(prediction, name) || !has_rate || term_seconds(prediction, name) > 0) {
        return std::nullopt;
    }
    return HiddenWork{.resource = name, .seconds = term_seconds(then, name)};
}

WhatHelps what_helps(const Case& which, const Device& device, Calibration calibration) {
    const ConstantWatch watch(calibration == Calibration::used
                                  ? ConstantWatch::Calibrated::value
                                  : ConstantWatch::Calibrated::stand_in);
    const auto launches = which.kernel->counts(which.workload, which.tile, device);
    const LaunchCase& how = which.options.how;
    const Prediction now = predict(device, launches, how);
    const auto seconds_on = [&](const Device& other) {
        return predict(other, launches, how).seconds;
    };
    const auto saved = [&](double seconds) { return 1 - seconds / now.seconds; };
    WhatHelps helps;
    for (const auto& [resource, busy] : now.layer1.seconds) {
        const Prediction then = predict(with_rate_of(device, resource, more), launches, how);
        helps.rates.push_back(
            {resource, then.seconds, saved(then.seconds), grown_term(now, then), then.sm_clock_hz});
    }
    // Equal gains in the order of their names. (std::stable_sort uses what clang calls deprecated.)
    std::ranges::sort(helps.rates, [](const RateGain& a, const RateGain& b) {
        return a.saved != b.saved ? a.saved > b.saved : a.resource < b.resource;
    });
    helps.saved_by_all = saved(seconds_on(with_all_rates(device, more)));
    helps.saved_by_launches = saved(seconds_on(with_rate_of(device, all_floors, 1 / more)));
    if (how.launch_path == "stream") {
        LaunchCase by_graph = how;
        by_graph.launch_path = "graph";
        helps.graph_seconds = predict(device, launches, by_graph).seconds;
    }
    helps.fill = fill_of(device, launches, how);
    return helps;
}

}  // namespace raceline
