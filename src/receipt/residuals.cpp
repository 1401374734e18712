// SPDX-License-Identifier: Apache-2.0
#include "receipt/residuals.hpp"

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

Residual residual_of(const Json& row, double predicted) {
    const Json& device = row.at("device");
    const double measured = row.at("measurement").at("seconds_median").get<double>();
    return {device.at("id").get<std::string>(),
            device.at("name").get<std::string>(),
            row.at("kernel").get<std::string>(),
            row.at("case").at("cold").get<bool>(),
            predicted,
            predicted / measured - 1};
}

}  // namespace

std::vector<Residual> residuals_of(std::span<const Json> rows) {
    std::map<std::string, double> predicted;  // seconds by the prediction's id
    std::map<std::string, std::pair<std::string, Residual>> newest;  // by case, with its date
    for (const Json& row : rows) {
        try {
            if (row.at("kind") == "prediction") {
                predicted[row.at("id").get<std::string>()] =
                    row.at("prediction").at("seconds").get<double>();
            } else if (is_timed(row)) {
                const auto found = predicted.find(row.at("prediction_id").get<std::string>());
                auto& [written, kept] = newest[case_key(row)];
                // RFC 3339 in UTC sorts as text.
                if (const auto date = row.at("written").get<std::string>();
                    found != predicted.end() && written < date) {
                    kept = residual_of(row, found->second);
                    written = date;
                }
            }
        } catch (const Json::exception&) {
            continue;  // a row of a newer version must not take the others with it
        }
    }
    std::vector<Residual> all;
    for (auto& [key, dated] : newest) {
        if (!dated.first.empty()) {
            all.push_back(std::move(dated.second));
        }
    }
    return all;
}

}  // namespace raceline
