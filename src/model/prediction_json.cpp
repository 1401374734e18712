// SPDX-License-Identifier: Apache-2.0
// The receipt's form of a prediction.
#include <nlohmann/json.hpp>

#include "model/prediction.hpp"
#include "support/check.hpp"

namespace raceline {

Json prediction_to_json(const Prediction& prediction) {
    Json layer1 = Json::object();
    for (const auto& [resource, seconds] : prediction.layer1.seconds) {
        layer1[resource] = seconds;
    }
    Json layer2 = Json::object();
    for (const auto& [term, seconds] : prediction.layer2) {
        layer2[term] = seconds;
    }
    Json band = nullptr;
    if (prediction.band) {
        band = Json::array({prediction.band->low, prediction.band->high});
    }
    return Json{{"seconds", prediction.seconds},
                {"limiter", prediction.limiter},
                {"layer1", std::move(layer1)},
                {"layer2", std::move(layer2)},
                {"band", std::move(band)},
                {"rates_id", prediction.rates_id},
                {"sm_clock_hz", prediction.sm_clock_hz},
                {"model_hash", prediction.model_hash}};
}

Prediction prediction_from_json(const Json& object) {
    Prediction prediction;
    try {
        object.at("seconds").get_to(prediction.seconds);
        object.at("limiter").get_to(prediction.limiter);
        for (const auto& [resource, seconds] : object.at("layer1").items()) {
            const double value = seconds.get<double>();
            prediction.layer1.seconds[resource] = value;
            if (value > prediction.layer1.bound_seconds) {
                prediction.layer1.bound_seconds = value;
                prediction.layer1.limiter = resource;
            }
        }
        for (const auto& [term, seconds] : object.at("layer2").items()) {
            prediction.layer2.emplace_back(term, seconds.get<double>());
        }
        if (const Json& band = object.at("band"); !band.is_null()) {
            prediction.band = Interval{band.at(0).get<double>(), band.at(1).get<double>()};
        }
        object.at("rates_id").get_to(prediction.rates_id);
        object.at("sm_clock_hz").get_to(prediction.sm_clock_hz);
        object.at("model_hash").get_to(prediction.model_hash);
    } catch (const nlohmann::json::exception& error) {
        fail(Status::corrupt, "prediction is not in the receipt's form: {}", error.what());
    }
    return prediction;
}

}  // namespace raceline
