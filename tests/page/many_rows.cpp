// SPDX-License-Identifier: Apache-2.0
// Writes a receipt file of many sound rows, for tests of how a page of them opens:
//   page_many_rows OUT COUNT FROM... [--extreme]
// Predictions and measurements of the named files again and again, each time with new identities,
// at another time, and measured a little slower. With --extreme the first two measured times are
// the smallest double above zero and one near the largest.
//   page_many_rows OUT COUNT FROM... --suite serving
// The same of drawn shapes, seed after seed, each predicted by the model, so that no two rows say
// the same: of the files are the kernels and what else stands in a row. Every measured number is
// another one, too.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/catalog.hpp"
#include "receipt/file.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "run/run_case.hpp"
#include "support/sha256.hpp"
#include "workload/suites.hpp"

namespace {

using raceline::Json;

// As random as a real one: what is all alike would compress better than receipts do.
std::string identity(const Json& id, std::size_t round) {
    return raceline::sha256_hex(fmt::format("{} {}", id.get<std::string>(), round)).substr(0, 32);
}

Json renewed(Json row, std::size_t round) {
    row["id"] = identity(row.at("id"), round);
    row["written"] = fmt::format("2026-10-{:02}{}", 1 + round % 28,
                                 row.at("written").get<std::string>().substr(10));
    if (row.contains("prediction_id")) {
        row["prediction_id"] = identity(row.at("prediction_id"), round);
    }
    row.erase("prev");
    row.erase("hash");
    return row;
}

Json slower(Json row, std::size_t round) {
    if (row.contains("prediction_id")) {
        for (const char* const time : {"seconds_median", "seconds_low", "seconds_high"}) {
            row["measurement"][time] =
                row["measurement"][time].get<double>() * (1 + 0.0137 * static_cast<double>(round));
        }
    }
    return row;
}

bool is_timed(const Json& row) {
    const std::string kind = row.at("kind");
    return kind == "prediction" || (kind == "measurement" && row.contains("measurement") &&
                                    row.at("measurement").is_object());
}

// A prediction of a file and the measurement that answers it.
struct Pair {
    Json prediction, measurement;
};

std::vector<Pair> pairs_of(const std::vector<Json>& rows) {
    std::map<std::string, const Json*> predictions;
    std::vector<Pair> pairs;
    for (const Json& row : rows) {
        if (row.at("kind") == "prediction") {
            predictions[row.at("id").get<std::string>()] = &row;
        } else if (const auto of = predictions.find(row.at("prediction_id").get<std::string>());
                   of != predictions.end()) {
            pairs.push_back({*of->second, row});
        }
    }
    return pairs;
}

// Shapes of NAME:1, NAME:2 and so on; how many of them were drawn is their round.
class Shapes {
public:
    explicit Shapes(std::string suite) : name_(std::move(suite)) {}
    raceline::Workload next() {
        while (at_ == drawn_.workloads.size()) {
            drawn_ = raceline::make_suite(fmt::format("{}:{}", name_, ++seed_));
            at_ = 0;
        }
        ++round_;
        return drawn_.workloads[at_++];
    }
    [[nodiscard]] std::string suite() const { return fmt::format("{}:{}", name_, seed_); }
    [[nodiscard]] std::size_t round() const { return round_; }

private:
    std::string name_;
    std::uint64_t seed_ = 0;
    raceline::Suite drawn_;
    std::size_t at_ = 0, round_ = 0;
};

const raceline::Device& device_called(const std::string& id) {
    static std::map<std::string, raceline::Device> known;
    const auto [at, fresh] = known.try_emplace(id);
    if (fresh) {
        at->second = raceline::datasheet_device(id);
        raceline::apply_committed_rates(at->second);
    }
    return at->second;
}

// The model's row of a drawn shape, by the kernel of the pair in a tile that serves it.
std::optional<Json> predicted(const Pair& like, const raceline::Workload& workload,
                              const std::string& suite, std::size_t round) {
    const raceline::Device& device =
        device_called(like.prediction.at("device").at("id").get<std::string>());
    const raceline::Kernel& kernel =
        raceline::find_kernel(like.prediction.at("kernel").get<std::string>());
    std::vector<int> tiles;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (raceline::why_not(kernel, workload, tile, device).empty()) {
            tiles.push_back(tile);
        }
    }
    if (tiles.empty()) {
        return std::nullopt;
    }
    raceline::CaseOptions options;
    options.how = {.cold = true, .launch_path = "graph"};
    const raceline::Case which{suite, &kernel, tiles[round % tiles.size()], workload, options};
    Json row = like.prediction;
    const Json drawn =
        row_to_json(raceline::prediction_row(which, device, raceline::explain_case(which, device)));
    for (const auto& [name, value] : drawn.items()) {
        if (name != "device") {
            row[name] = value;
        }
    }
    return row;
}

// Every number that is none of a count times a factor of its own.
void move_numbers(Json& value, std::mt19937_64& draws) {
    if (value.is_number_float() && value.get<double>() != 0) {
        constexpr double least = 0.9, more = 0.2;
        value =
            value.get<double>() * (least + more * static_cast<double>(draws() >> 11U) * 0x1.0p-53);
    } else if (value.is_structured()) {
        for (Json& part : value) {
            move_numbers(part, draws);
        }
    }
}

// What a run of the prediction might have measured.
Json measured_like(const Pair& like, const Json& prediction, std::mt19937_64& draws) {
    Json row = like.measurement;
    for (const char* const of : {"suite", "tile", "workload", "case", "op", "pass"}) {
        if (prediction.contains(of)) {
            row[of] = prediction.at(of);
        }
    }
    move_numbers(row["correctness"], draws);
    Json& measurement = row["measurement"];
    const double before = measurement.at("seconds_median").get<double>();
    for (const char* const of : {"seconds_median", "seconds_call"}) {
        move_numbers(measurement[of], draws);
    }
    if (measurement.contains("power_w")) {  // in thousandths
        move_numbers(measurement["power_w"], draws);
        measurement["power_w"] = std::round(1e3 * measurement["power_w"].get<double>()) / 1e3;
    }
    const double median = prediction.at("prediction").at("seconds").get<double>() *
                          measurement.at("seconds_median").get<double>() / before;
    measurement["seconds_median"] = median;
    measurement["seconds_low"] = median * 0.998;
    measurement["seconds_high"] = median * 1.003;
    row["prediction_id"] = prediction.at("id");
    return row;
}

void write_drawn(raceline::ReceiptWriter& writer, const std::vector<Pair>& pairs,
                 const std::string& suite, std::size_t count) {
    Shapes shapes(suite);
    std::mt19937_64 draws(1);
    for (std::size_t written = 0; written < count;) {
        const raceline::Workload workload = shapes.next();
        const Pair& like = pairs.at(shapes.round() % pairs.size());
        std::optional<Json> prediction = predicted(like, workload, shapes.suite(), shapes.round());
        if (!prediction) {
            continue;
        }
        Json measurement = measured_like(like, *prediction, draws);
        for (Json row : {std::move(*prediction), std::move(measurement)}) {
            for (Json& word : row["argv"]) {
                if (word.get<std::string>().starts_with(suite + ":")) {
                    word = shapes.suite();
                }
            }
            writer.append(renewed(std::move(row), shapes.round()));
        }
        written += 2;
    }
}

// The rows of the named files that are timed.
std::vector<Json> timed_rows(const std::vector<std::string>& files) {
    std::vector<Json> rows;
    for (const std::string& file : files) {
        std::ranges::copy_if(raceline::read_receipts(file).rows, std::back_inserter(rows),
                             is_timed);
    }
    return rows;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::cerr << "usage: page_many_rows OUT COUNT FROM... [--extreme | --suite NAME]\n";
        return 2;
    }
    std::vector<std::string> files(argv + 3, argv + argc);
    const bool extreme = files.back() == "--extreme";
    const bool drawn = files.size() > 2 && files[files.size() - 2] == "--suite";
    const std::string suite = files.back();
    files.resize(files.size() - (drawn ? 2 : extreme ? 1 : 0));
    const std::vector<Json> rows = timed_rows(files);
    raceline::ReceiptWriter writer(argv[1]);
    const std::size_t count = std::strtoull(argv[2], nullptr, 10);
    if (drawn) {
        write_drawn(writer, pairs_of(rows), suite, count);
        return 0;
    }
    constexpr double extremes[]{5e-324, 1e308};
    std::size_t measured = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t round = 1 + i / rows.size();
        Json row = slower(renewed(rows.at(i % rows.size()), round), round);
        if (extreme && row.contains("prediction_id") && measured < std::size(extremes)) {
            for (const char* const time : {"seconds_median", "seconds_low", "seconds_high"}) {
                row["measurement"][time] = extremes[measured];
            }
            ++measured;
        }
        writer.append(std::move(row));
    }
    return 0;
}
