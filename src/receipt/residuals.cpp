// SPDX-License-Identifier: Apache-2.0
#include "receipt/residuals.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace raceline {
namespace {

// Suites of what is rare on purpose: their errors say nothing of a usual call's, and the other way
// round.
bool is_of_odd_suite(const PastMeasurement& m) {
    return m.suite.ends_with("-odd");
}

std::string case_key(const PastMeasurement& m) {
    return m.device.dump() + m.case_key();
}

// A measured case with what says how old it and its model are. RFC 3339 in UTC sorts as text.
struct Dated {
    std::string written, model;
    Residual residual;
};

Residual residual_of(const PastMeasurement& m) {
    return {m.device.at("id").get<std::string>(),
            m.device.at("name").get<std::string>(),
            m.kernel,
            m.launch.at("cold").get<bool>(),
            0,
            m.predicted,
            m.predicted / m.measured - 1};
}

void count_newer_models(std::vector<Dated>& all) {
    using Models = std::map<std::string, std::string>;  // last date by model
    std::map<std::string, Models> models;
    const auto group_of = [](const Residual& r) {
        return r.device_id + '\n' + r.device_name + '\n' + r.kernel;
    };
    for (const Dated& one : all) {
        std::string& last = models[group_of(one.residual)][one.model];
        last = std::max(last, one.written);
    }
    for (Dated& one : all) {
        const Models& group = models[group_of(one.residual)];
        one.residual.newer_models = static_cast<int>(std::ranges::count_if(
            group, [&](const auto& other) { return other.second > group.at(one.model); }));
    }
}

}  // namespace

std::vector<Residual> residuals_of(std::span<const PastMeasurement> measurements) {
    std::map<std::string, Dated> newest;  // by case
    for (const PastMeasurement& m : measurements) {
        if (m.kind != "measurement" || m.model.empty() || !m.counts || is_of_odd_suite(m)) {
            continue;
        }
        try {
            const Residual residual = residual_of(m);
            Dated& kept = newest[case_key(m)];
            if (kept.written < m.written) {
                kept = {m.written, m.model, residual};
            }
        } catch (const Json::exception&) {
            continue;  // a device or launch of a newer version must not take the others with it
        }
    }
    std::vector<Dated> dated;
    dated.reserve(newest.size());
    for (auto& [key, one] : newest) {
        dated.push_back(std::move(one));
    }
    count_newer_models(dated);
    std::vector<Residual> all;
    std::ranges::transform(dated, std::back_inserter(all), &Dated::residual);
    return all;
}

std::vector<Residual> residuals_of(std::span<const Json> rows) {
    return residuals_of(past_measurements(rows));
}

}  // namespace raceline
