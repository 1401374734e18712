// SPDX-License-Identifier: Apache-2.0
// Writes a receipt file of many sound rows, for tests of how a page of them opens:
//   page_many_rows OUT COUNT FROM... [--extreme]
// Predictions and measurements of the named files again and again, each time with new identities,
// at another time, and measured a little slower. With --extreme the first two measured times are
// the smallest double above zero and one near the largest.
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "receipt/file.hpp"
#include "support/sha256.hpp"

namespace {

using raceline::Json;

// As random as a real one: what is all alike would compress better than receipts do.
std::string identity(const Json& id, std::size_t round) {
    return raceline::sha256_hex(fmt::format("{} {}", id.get<std::string>(), round)).substr(0, 32);
}

Json changed(Json row, std::size_t round) {
    row["id"] = identity(row.at("id"), round);
    row["written"] = fmt::format("2026-12-{:02}{}", 1 + round % 28,
                                 row.at("written").get<std::string>().substr(10));
    if (row.contains("prediction_id")) {
        row["prediction_id"] = identity(row.at("prediction_id"), round);
        for (const char* const time : {"seconds_median", "seconds_low", "seconds_high"}) {
            row["measurement"][time] =
                row["measurement"][time].get<double>() * (1 + 0.0137 * static_cast<double>(round));
        }
    }
    row.erase("prev");
    row.erase("hash");
    return row;
}

bool is_timed(const Json& row) {
    const std::string kind = row.at("kind");
    return kind == "prediction" || (kind == "measurement" && row.contains("measurement") &&
                                    row.at("measurement").is_object());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::cerr << "usage: page_many_rows OUT COUNT FROM...\n";
        return 2;
    }
    const bool extreme = argv[argc - 1] == std::string("--extreme");
    std::vector<Json> rows;
    for (int i = 3; i < argc - (extreme ? 1 : 0); ++i) {
        for (const Json& row : raceline::read_receipts(argv[i]).rows) {
            if (is_timed(row)) {
                rows.push_back(row);
            }
        }
    }
    raceline::ReceiptWriter writer(argv[1]);
    constexpr double extremes[]{5e-324, 1e308};
    std::size_t measured = 0;
    const std::size_t count = std::strtoull(argv[2], nullptr, 10);
    for (std::size_t i = 0; i < count; ++i) {
        Json row = changed(rows.at(i % rows.size()), 1 + i / rows.size());
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
