// SPDX-License-Identifier: Apache-2.0
#include "receipt/past_measurement.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>

namespace raceline {
namespace {

struct Predicted {
    double seconds = 0;
    std::string model, limiter;
};

bool is_timed(const Json& row) {
    return (row.at("kind") == "measurement" || row.at("kind") == "comparison") &&
           row.at("measurement").is_object() &&
           row.at("measurement").at("seconds_median").get<double>() > 0 &&
           row.at("correctness").at("passed").get<bool>();
}

PastMeasurement measurement_of(const Json& row, const std::map<std::string, Predicted>& predicted) {
    const auto found = predicted.find(row.at("prediction_id").get<std::string>());
    const Predicted before = found == predicted.end() ? Predicted{} : found->second;
    return {row.at("kind").get<std::string>(),
            row.at("suite").get<std::string>(),
            row.at("device"),
            row.at("kernel").get<std::string>(),
            row.at("tile"),
            row.at("workload"),
            row.at("case"),
            before.model,
            before.limiter,
            row.at("written").get<std::string>(),
            before.seconds,
            row.at("measurement").at("seconds_median").get<double>()};
}

std::string message(const std::string& path, std::size_t line, std::string_view what) {
    return path + ": line " + std::to_string(line) + ": " + std::string(what);
}

PastFile read_receipt(const std::string& path, std::istream& in) {
    std::vector<Json> rows;
    for (std::string line; std::getline(in, line);) {
        // Corrupt lines are the business of `report --check`; a build goes on without them.
        if (Json row = Json::parse(line, nullptr, false); row.is_object()) {
            rows.push_back(std::move(row));
        }
    }
    return {path, past_measurements(rows)};
}

std::vector<PastFile> read_index(const std::string& path, std::istream& in) {
    std::vector<PastFile> files;
    std::size_t number = 0;
    for (std::string text; std::getline(in, text);) {
        ++number;
        try {
            const Json line = Json::parse(text);
            files.push_back({line.at("path").get<std::string>(), past_measurements_of_line(line)});
        } catch (const Json::exception& e) {
            throw std::runtime_error(message(path, number, e.what()));
        }
    }
    return files;
}

}  // namespace

std::vector<PastMeasurement> past_measurements(std::span<const Json> rows) {
    std::map<std::string, Predicted> predicted;  // by id
    std::vector<PastMeasurement> all;
    for (const Json& row : rows) {
        try {
            if (row.at("kind") == "prediction") {
                const Json& prediction = row.at("prediction");
                predicted[row.at("id").get<std::string>()] = {
                    prediction.at("seconds").get<double>(),
                    prediction.at("model_hash").get<std::string>(),
                    prediction.at("limiter").get<std::string>()};
            } else if (is_timed(row)) {
                all.push_back(measurement_of(row, predicted));
            }
        } catch (const Json::exception&) {
            continue;
        }
    }
    return all;
}

std::vector<PastFile> read_past(const std::string& path) {
    std::ifstream in(path);
    if (!in) {
        throw std::runtime_error("cannot read " + path);
    }
    if (std::filesystem::path(path).filename() == "index.jsonl") {
        return read_index(path, in);
    }
    return {read_receipt(path, in)};
}

std::vector<PastFile> read_past_of_tree(const std::string& folder) {
    namespace fs = std::filesystem;
    std::vector<PastFile> all;
    const auto add = [&all](const fs::path& path) {
        std::ranges::move(read_past(path.string()), std::back_inserter(all));
    };
    for (const auto& device : fs::directory_iterator(folder)) {
        if (!device.is_directory()) {
            continue;
        }
        for (const auto& entry : fs::directory_iterator(device.path())) {
            if (entry.path().extension() == ".jsonl") {
                add(entry.path());
            }
        }
    }
    if (const fs::path index = fs::path(folder) / "index.jsonl"; fs::exists(index)) {
        add(index);
    }
    std::ranges::sort(all, {}, [](const PastFile& file) {
        // Files are named by the way they were found, lines of the index from the tree's root.
        const fs::path path(file.path);
        return path.parent_path().filename() / path.filename();
    });
    return all;
}

std::string first_sight_key(const Json& device, std::string_view kernel, const Json& tile,
                            const Json& workload, const Json& launch) {
    const auto id = device.at("id").get<std::string>();
    const bool one_of_many = id == "cpu" || id == "cuda";
    return id + '\n' + (one_of_many ? device.at("name").get<std::string>() : "") + '\n' +
           std::string(kernel) + '\n' + tile.dump() + workload.dump() + launch.dump();
}

}  // namespace raceline
