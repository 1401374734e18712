// SPDX-License-Identifier: Apache-2.0
// Clocks of prefill_mma's warps in each other's way: bounds of the network, and predictions beside
// what an H200 took.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/catalog.hpp"
#include "kernels/prefill_mma/clocks.hpp"
#include "model/prediction.hpp"
#include "receipt/file.hpp"
#include "registry/registry.hpp"
#include "support/statistics.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

namespace prefill = kernels::prefill_mma;

constexpr double hopper = 2700;  // flops a clock and SM by mma.sync

double block_among(const prefill::GroupClocks& block, int groups) {
    return prefill::clocks_behind(block, prefill::queues_among(block, groups));
}

TEST(PrefillMmaClocks, two_groups_by_hand) {
    const prefill::GroupClocks block{100, 40, 20, 10, 30, 5};
    EXPECT_DOUBLE_EQ(block_among(block, 1), 100);
    // The other is at the stations for 40, 20, 10 and 30 of 100 clocks; copies for 5 at the second.
    EXPECT_DOUBLE_EQ(block_among(block, 2), 100 + 40 * 0.4 + 20 * 0.25 + 10 * 0.1 + 30 * 0.3);
    // Another piece of work meets the same two at their blocks.
    const prefill::Queues queues = prefill::queues_among(block, 2);
    EXPECT_DOUBLE_EQ(prefill::clocks_behind({7, 0, 1, 0, 2, 0}, queues), 7 + 0.25 + 2 * 0.3);
}

// Registers hold four groups of any tile.
TEST(PrefillMmaClocks, more_groups_are_slower_and_no_station_serves_more_than_it_can) {
    for (const prefill::Tile& tile : prefill::tiles) {
        const prefill::GroupClocks block = prefill::block_clocks(tile, hopper, false);
        EXPECT_DOUBLE_EQ(block_among(block, 1), block.chain);
        const double busiest =
            std::max({block.tensor, block.shared + block.copies, block.exponentials, block.issued});
        for (int groups = 1; groups <= 4; ++groups) {
            EXPECT_GT(block_among(block, groups + 1), block_among(block, groups));
            EXPECT_GE(block_among(block, groups), groups * busiest)
                << tile.headdim << ' ' << tile.keys << ' ' << groups;
        }
    }
}

TEST(PrefillMmaClocks, slower_products_and_a_softcap_lengthen_a_block) {
    for (const prefill::Tile& tile : prefill::tiles) {
        const prefill::GroupClocks plain = prefill::block_clocks(tile, hopper, false);
        EXPECT_GT(prefill::block_clocks(tile, 1024, false).chain, plain.chain);
        EXPECT_GE(prefill::block_clocks(tile, 1024, false).chain, 4 * 4096.0 / 1024);
        EXPECT_GT(prefill::block_clocks(tile, hopper, true).chain, plain.chain);
        EXPECT_GT(prefill::block_clocks(tile, hopper, true).exponentials, plain.exponentials);
    }
}

/// Predicted again by this code / measured - 1, by head dim.
using Errors = std::map<std::int64_t, std::vector<double>>;

int tile_of(const Kernel& kernel, Json fields) {
    if (!fields.contains("sharers")) {
        fields["sharers"] = 1;  // rows from before warps shared any
    }
    for (int i = 0; i < kernel.tile_count(); ++i) {
        if (std::ranges::all_of(kernel.tile(i), [&](const auto& field) {
                return fields.at(std::string(field.first)) == field.second;
            })) {
            return i;
        }
    }
    return -1;
}

Errors errors_of(const std::string& path, const Device& device) {
    const Kernel& kernel = find_kernel("prefill_mma");
    Errors errors;
    for (const Json& row : read_receipts(path).rows) {
        if (row.value("kernel", "") != "prefill_mma" || !row.contains("measurement")) {
            continue;
        }
        const Workload w = workload_from_json(row.at("workload"));
        const int tile = tile_of(kernel, row.at("tile"));
        if (tile < 0) {
            continue;  // one that is no more
        }
        const Prediction predicted = predict(device, kernel.counts(w, tile, device),
                                             {.cold = row.at("case").at("cold"),
                                              .launch_path = row.at("case").at("launch_path"),
                                              .threads = 0});
        const double measured = row.at("measurement").at("seconds_median");
        errors[w.headdim].push_back(std::abs(predicted.seconds / measured - 1));
    }
    return errors;
}

std::vector<std::string> receipts_named(const std::string& part) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(RACELINE_SOURCE_DIR) / "receipts/h200")) {
        if (entry.path().filename().string().find(part) != std::string::npos) {
            found.push_back(entry.path().string());
        }
    }
    return found;
}

Device measured_h200() {
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    return device;
}

// The one fitted number saw the rows of head dim 128 of one of these files; 64 and 256 it did not.
TEST(PrefillMmaPredictions, of_training_shapes_are_within_six_per_cent_in_the_median) {
    const Device h200 = measured_h200();
    const auto files = receipts_named("-compare-prefill_mma-");
    ASSERT_FALSE(files.empty());
    for (const std::string& file : files) {
        const Errors errors = errors_of(file, h200);
        ASSERT_EQ(errors.size(), 3U) << file;
        for (const auto& [headdim, of] : errors) {
            EXPECT_EQ(of.size(), 12U) << file;
            EXPECT_LE(median(of), 0.06) << file << " d" << headdim;
            EXPECT_LE(*std::ranges::max_element(of), 0.15) << file << " d" << headdim;
        }
    }
}

// Of random shapes none was fitted: one row a head, ragged batches, windows, sinks and softcaps.
TEST(PrefillMmaPredictions, of_random_shapes_are_within_twelve_per_cent_in_the_median) {
    const Device h200 = measured_h200();
    std::vector<double> all;
    for (const std::string& file : receipts_named("-random-")) {
        for (const auto& [headdim, of] : errors_of(file, h200)) {
            all.insert(all.end(), of.begin(), of.end());
        }
    }
    ASSERT_GE(all.size(), 48U);
    EXPECT_LE(median(all), 0.12);
    EXPECT_LE(*std::ranges::max_element(all), 0.25);
}

}  // namespace
}  // namespace raceline
