// SPDX-License-Identifier: Apache-2.0
#include "receipt/residuals.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace raceline {
namespace {

std::string case_key(const Json& row) {
    return row.at("device").dump() + row.at("kernel").dump() + row.at("tile").dump() +
           row.at("workload").dump() + row.at("case").dump();
}

bool is_timed(const Json& row) {
    return row.at("kind") == "measurement" && row.at("measurement").is_object() &&
           row.at("measurement").at("seconds_median").get<double>() > 0 &&
           row.at("correctness").at("passed").get<bool>();
}

struct Predicted {
    double seconds = 0;
    std::string model;
};

// A measured case with what says how old it and its model are. RFC 3339 in UTC sorts as text.
struct Dated {
    std::string written, model;
    Residual residual;
};

Residual residual_of(const Json& row, double predicted) {
    const Json& device = row.at("device");
    const double measured = row.at("measurement").at("seconds_median").get<double>();
    return {device.at("id").get<std::string>(),
            device.at("name").get<std::string>(),
            row.at("kernel").get<std::string>(),
            row.at("case").at("cold").get<bool>(),
            0,
            predicted,
            predicted / measured - 1};
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

std::vector<Residual> residuals_of(std::span<const Json> rows) {
    std::map<std::string, Predicted> predicted;  // by id
    std::map<std::string, Dated> newest;         // by case
    for (const Json& row : rows) {
        try {
            if (row.at("kind") == "prediction") {
                const Json& prediction = row.at("prediction");
                predicted[row.at("id").get<std::string>()] = {
                    prediction.at("seconds").get<double>(),
                    prediction.at("model_hash").get<std::string>()};
            } else if (is_timed(row)) {
                const auto found = predicted.find(row.at("prediction_id").get<std::string>());
                Dated& kept = newest[case_key(row)];
                if (const auto date = row.at("written").get<std::string>();
                    found != predicted.end() && kept.written < date) {
                    kept = {date, found->second.model, residual_of(row, found->second.seconds)};
                }
            }
        } catch (const Json::exception&) {
            continue;  // a row of a newer version must not take the others with it
        }
    }
    std::vector<Dated> dated;
    for (auto& [key, one] : newest) {
        if (!one.written.empty()) {
            dated.push_back(std::move(one));
        }
    }
    count_newer_models(dated);
    std::vector<Residual> all;
    std::ranges::transform(dated, std::back_inserter(all), &Dated::residual);
    return all;
}

}  // namespace raceline
