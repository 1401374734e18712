// SPDX-License-Identifier: Apache-2.0
#include "run/repredict.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "device/device_state.hpp"
#include "registry/registry.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using Answer = Repredictor::Answer;
using Outcome = Repredictor::Outcome;

std::string key_of(const DeviceName& device, const std::string& rates_id) {
    return device.id + '\n' + device.name + '\n' + rates_id;
}

const Kernel* kernel_named(std::string_view name) {
    const auto kernels = all_kernels();
    const auto found = std::ranges::find(kernels, name, &Kernel::name);
    return found == kernels.end() ? nullptr : &*found;
}

// -1: no tile has these fields, in whatever order they were written.
int tile_of(const Kernel& kernel, const Json& fields) {
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        nlohmann::json one = nlohmann::json::object();
        for (const auto& [name, value] : kernel.tile(tile)) {
            one[std::string(name)] = value;
        }
        if (one == nlohmann::json(fields)) {
            return tile;
        }
    }
    return -1;
}

// Without what comes of the receipts that were committed at the time.
Json of_the_model(Prediction prediction) {
    prediction.expected_seconds = 0;
    prediction.calibrated.errors = 0;
    prediction.calibrated.errors_hash.clear();
    Json json = row_to_json(prediction);
    json.erase("band");
    return json;
}

}  // namespace

Answer Repredictor::compare(const Prediction& written, const Prediction& now) {
    const Json before = of_the_model(written);
    const Json after = of_the_model(now);
    if (written.rates_id != now.rates_id) {
        return {Outcome::no_rates, fmt::format("it used the rates {}, and here are {}",
                                               written.rates_id, now.rates_id)};
    }
    std::string why;
    for (const auto& [name, value] : before.items()) {
        if (value != after.value(name, Json())) {
            why += fmt::format("{}{} was {}, is {}", why.empty() ? "" : "; ", name, value.dump(),
                               after.value(name, Json()).dump());
        }
    }
    return {why.empty() ? Outcome::same : Outcome::differs, why};
}

void Repredictor::take_device(const Json& row) {
    const auto state = row.find("state");
    if (state != row.end() && state->is_object()) {
        const DeviceName name = row_from_json<DeviceRow>(row).device;
        states_[key_of(name, state->value("rates_id", ""))] = *state;
    }
}

Answer Repredictor::device_of(const PredictionRow& row, Device& device) const {
    const DeviceName& name = row.about.device;
    const std::string& rates_id = row.prediction.rates_id;
    if (const auto given = states_.find(key_of(name, rates_id)); given != states_.end()) {
        device = device_state_from_json(given->second);
        return {};
    }
    const std::vector<std::string> ids = device_ids();
    if (std::ranges::find(ids, name.id) != ids.end()) {
        device = datasheet_device(name.id);
        device.name = name.name;
        device.driver = name.driver;
        apply_committed_rates(device);
    }
    if (device.rates_id != rates_id) {
        return {Outcome::no_rates,
                fmt::format("the rates {} of {} are not in the file and not the committed ones",
                            rates_id, name.id)};
    }
    return {};
}

Answer Repredictor::again(const PredictionRow& row) const {
    const Kernel* kernel = kernel_named(row.about.kernel);
    if (kernel == nullptr || model_hash_of(*kernel) != row.prediction.model_hash) {
        return {Outcome::other_model,
                fmt::format("model_hash {} of {}", row.prediction.model_hash.substr(0, 12),
                            row.about.kernel)};
    }
    Device device;
    if (Answer missing = device_of(row, device); missing.outcome != Outcome::same) {
        return missing;
    }
    Case which;
    which.kernel = kernel;
    which.tile = tile_of(*kernel, row.about.tile);
    if (which.tile < 0) {
        return {Outcome::differs,
                fmt::format("{} has no tile {} any more", kernel->name, row.about.tile.dump())};
    }
    which.workload = workload_from_json(row.about.workload);
    which.options.how = row.about.launch;
    const Calibration calibration =
        row.prediction.calibrated.left_out ? Calibration::left_out : Calibration::used;
    return compare(row.prediction, predict_case(which, device, calibration));
}

}  // namespace raceline
