// SPDX-License-Identifier: Apache-2.0
// The model's choice among the tiles of the Hopper engines, beside what all of them took on an
// H200.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "device/catalog.hpp"
#include "receipt/past_measurement.hpp"
#include "registry/registry.hpp"
#include "tune/best_tile.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// Seconds of a shape, by tile as JSON: the mean of the rounds' medians.
using Candidates = std::map<std::string, double>;

/// The newest sweep over all of a kernel's tiles on an H200, and others by the same build, in the
/// tree or in the index; names begin with date and suite and end with the commit.
std::vector<PastFile> newest_sweeps(const std::string& kernel) {
    std::map<std::string, std::vector<PastFile>> by_commit;
    std::string newest;
    std::string commit;
    for (PastFile& file : read_past_of_tree(std::string(RACELINE_SOURCE_DIR) + "/receipts")) {
        const std::filesystem::path path(file.path);
        const std::string name = path.stem().string();
        if (path.parent_path().filename() == "h200" &&
            name.find("-" + kernel + "-tiles-") != std::string::npos) {
            const std::string of = name.substr(name.rfind('-') + 1);
            const std::string written = file.measurements.at(0).written;
            by_commit[of].push_back(std::move(file));
            if (written > newest) {
                newest = written;
                commit = of;
            }
        }
    }
    return by_commit[commit];
}

Json tile_json(const TileFields& tile) {
    Json object;
    for (const auto& [name, value] : tile) {
        object[std::string(name)] = value;
    }
    return object;
}

std::map<std::string, Candidates> measured_tiles(const std::vector<PastFile>& files) {
    std::map<std::string, std::map<std::string, std::vector<double>>> all;
    for (const PastFile& file : files) {
        for (const PastMeasurement& m : file.measurements) {
            all[m.workload.dump()][m.tile.dump()].push_back(m.measured);
        }
    }
    std::map<std::string, Candidates> shapes;
    for (const auto& [shape, tiles] : all) {
        for (const auto& [tile, rounds] : tiles) {
            shapes[shape][tile] = std::accumulate(rounds.begin(), rounds.end(), 0.0) /
                                  static_cast<double>(rounds.size());
        }
    }
    return shapes;
}

/// A kernel, and the shapes of its sweep at which the choice is more than 4 % from the best: by how
/// much at most.
struct Sweep {
    const char* kernel;
    std::map<std::string, double> further;
    Accuracy accuracy = Accuracy::accurate;  ///< with which these tiles may be chosen
    bool among_measured = false;             ///< tiles have been added since
};

class TileChoice : public testing::TestWithParam<Sweep> {};

// The same binary, measured twice in one visit, differed by up to 7 % on these shapes: there are
// two rounds, of prefill_sm90 in one visit, of prefill_sm90_fp8 in two.
TEST_P(TileChoice, is_within_four_per_cent_of_the_best_measured_tile_but_for_named_shapes) {
    const Kernel& kernel = find_kernel(GetParam().kernel);
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    int judged = 0;
    std::size_t named = 0;
    for (const auto& [shape, candidates] : measured_tiles(newest_sweeps(GetParam().kernel))) {
        if (candidates.size() < 6) {
            continue;  // the sweep ended here
        }
        Workload w = workload_from_json(Json::parse(shape));
        const std::string name = format_shape(w);
        w.accuracy = GetParam().accuracy;
        auto ranked =
            ranked_tiles(kernel, w, device, {.cold = true, .launch_path = "stream", .threads = 0});
        if (GetParam().among_measured) {
            std::erase_if(ranked, [&](const auto& choice) {
                return !candidates.contains(tile_json(kernel.tile(choice.tile)).dump());
            });
        }
        ASSERT_FALSE(ranked.empty()) << shape;
        const auto chosen = candidates.find(tile_json(kernel.tile(ranked.front().tile)).dump());
        ASSERT_NE(chosen, candidates.end())
            << name << ": " << kernel.tile_text(ranked.front().tile) << " not measured";
        const auto best =
            std::min_element(candidates.begin(), candidates.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        const auto known = GetParam().further.find(name);
        const bool is_named = known != GetParam().further.end();
        const double distance = chosen->second / best->second;
        EXPECT_LE(distance, is_named ? known->second : 1.04)
            << name << ": chosen " << chosen->first << ", best " << best->first;
        EXPECT_TRUE(!is_named || distance > 1.04) << name << " need not be named";
        named += is_named ? 1 : 0;
        ++judged;
    }
    EXPECT_GE(judged, 36);
    EXPECT_EQ(named, GetParam().further.size());
}

INSTANTIATE_TEST_SUITE_P(H200, TileChoice,
                         // Named: see docs/notebooks/prefill_sm90_fp8.md.
                         testing::Values(Sweep{"prefill_sm90", {}, Accuracy::accurate, false},
                                         Sweep{"prefill_sm90_fp8",
                                               {{"b=16,h=16,q=1024,k=1024,d=128,dtype=e4m3", 1.07},
                                                {"b=32,h=16,q=512,k=512,d=128,dtype=e4m3", 1.05}},
                                               Accuracy::fast,
                                               true}),
                         [](const auto& instance) { return std::string(instance.param.kernel); });

}  // namespace
}  // namespace raceline
