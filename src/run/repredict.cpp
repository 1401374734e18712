// SPDX-License-Identifier: Apache-2.0
#include "run/repredict.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "device/device_state.hpp"
#include "receipt/runs.hpp"
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

// By the rates that this program has compiled in; one without rates_id if it knows no such device.
Device committed(const DeviceName& name) {
    Device device;
    const std::vector<std::string> ids = device_ids();
    if (std::ranges::find(ids, name.id) != ids.end()) {
        device = datasheet_device(name.id);
        device.name = name.name;
        device.driver = name.driver;
        apply_committed_rates(device);
    }
    return device;
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
    if (written.rates_id != now.rates_id && written.model_hash == now.model_hash) {
        return {Outcome::no_rates, fmt::format("it used the rates {}, and here are {}",
                                               written.rates_id, now.rates_id)};
    }
    std::string why;
    const auto differs = [&](const std::string& name, const std::string& was, const Json& is) {
        why += fmt::format("{}{} {}, is {}", why.empty() ? "" : "; ", name, was, is.dump());
    };
    for (const auto& [name, value] : before.items()) {
        if (value != after.value(name, Json())) {
            differs(name, "was " + value.dump(), after.value(name, Json()));
        }
    }
    for (const auto& [name, value] : after.items()) {
        if (!before.contains(name)) {
            differs(name, "was not there", value);
        }
    }
    return {why.empty() ? Outcome::same : Outcome::differs, why};
}

void Repredictor::take_device(const Json& row) {
    const auto state = row.find("state");
    if (state != row.end() && state->is_object()) {
        const DeviceName name = row_from_json<DeviceRow>(row).device;
        const std::string rates_id = state->value("rates_id", "");
        states_[key_of(name, rates_id)] = *state;
        now_[run_of(row) + '\n' + key_of(name, "")] = rates_id;
    }
}

std::string Repredictor::rates_fault(const Json& row) {
    const auto read = row_from_json<PredictionRow>(row);
    const DeviceName& name = read.about.device;
    const std::string& rates_id = read.prediction.rates_id;
    const auto [at, first] = now_.try_emplace(run_of(row) + '\n' + key_of(name, ""), rates_id);
    if (first || at->second == rates_id || committed(name).rates_id == rates_id) {
        return "";
    }
    return fmt::format(
        "rates_id is {}, but this run goes by the rates {} of {}, and no device row "
        "says otherwise",
        rates_id, at->second, name.id);
}

bool Repredictor::is_of(const Json& row, std::string_view commit) {
    const Json& git = row.at("git");
    return git.at("commit") == commit && !git.at("dirty").get<bool>();
}

std::string Repredictor::model_fault(const PredictionRow& row, const std::string& own) {
    if (own.empty()) {
        return fmt::format("the program of its commit has no kernel {}", row.about.kernel);
    }
    return own == row.prediction.model_hash
               ? ""
               : fmt::format("model_hash was {}, but the program of its commit has {} for {}",
                             row.prediction.model_hash, own, row.about.kernel);
}

Answer Repredictor::device_of(const PredictionRow& row, Device& device) const {
    const DeviceName& name = row.about.device;
    const std::string& rates_id = row.prediction.rates_id;
    if (const auto given = states_.find(key_of(name, rates_id)); given != states_.end()) {
        device = device_state_from_json(given->second);
        return {};
    }
    device = committed(name);
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

Answer Repredictor::again(const Json& row, std::string_view commit) const {
    const auto read = row_from_json<PredictionRow>(row);
    Answer answer = again(read);
    if (answer.outcome == Outcome::other_model && is_of(row, commit)) {
        const Kernel* kernel = kernel_named(read.about.kernel);
        answer = {Outcome::differs,
                  model_fault(read, kernel == nullptr ? "" : model_hash_of(*kernel))};
    }
    return answer;
}

}  // namespace raceline
