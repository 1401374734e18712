// SPDX-License-Identifier: Apache-2.0
// What the committed counters say of faults that earlier work carried unseen: conversions in the
// timed region, tuning parameters that no kernel read, bytes that were assumed, bank conflicts.
#include <filesystem>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

#include "device/catalog.hpp"
#include "model/counts.hpp"
#include "receipt/file.hpp"
#include "registry/registry.hpp"
#include "report/ladder_data.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

/// A profiled call, beside what today's record counts for its tile.
struct Profiled {
    const Kernel* kernel = nullptr;
    int tile = -1;
    Workload workload;
    std::vector<Counts> counts;
    Json counters;

    [[nodiscard]] double total(const char* name) const {
        return counters.at("totals").at(name).get<double>();
    }
    [[nodiscard]] std::string what() const {
        return std::string(kernel->name) + ' ' + kernel->tile_text(tile) + ' ' +
               format_shape(workload);
    }
};

int tile_of(const Kernel& kernel, const Json& fields) {
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        Json own = Json::object();
        for (const auto& [name, value] : kernel.tile(tile)) {
            own[std::string(name)] = value;
        }
        if (own == fields) {
            return tile;
        }
    }
    return -1;
}

// Rows about code that has changed since say nothing of the code that there is.
class LadderReceipts : public testing::Test {
protected:
    void SetUp() override {
        namespace fs = std::filesystem;
        for (const auto& entry :
             fs::recursive_directory_iterator(fs::path(RACELINE_SOURCE_DIR) / "receipts/h200")) {
            const std::string name = entry.path().filename().string();
            const bool ladder = name.find("-ladder-") != std::string::npos ||
                                name.find("-from-scratch-") != std::string::npos;
            for (const Json& row :
                 ladder ? read_receipts(entry.path().string()).rows : std::vector<Json>{}) {
                if (row.at("kind") == "counters") {
                    add(row);
                }
            }
        }
        if (profiled_.empty()) {
            GTEST_SKIP() << "no committed counters are of the rungs as they are now";
        }
    }
    void each(const std::function<void(const Profiled&)>& visit) const {
        for (const Profiled& p : profiled_) {
            SCOPED_TRACE(p.what());
            visit(p);
        }
    }

    std::vector<Profiled> profiled_;

private:
    void add(const Json& row) {
        const Kernel* kernel = find_rung_or_engine(row.at("kernel").get<std::string>());
        if (kernel == nullptr || row.at("source_hash") != kernel->source_hash) {
            return;
        }
        Profiled p{kernel,
                   tile_of(*kernel, row.at("tile")),
                   workload_from_json(row.at("workload")),
                   {},
                   row.at("counters")};
        if (p.tile >= 0) {
            p.counts = kernel->counts(p.workload, p.tile, datasheet_device("h200"));
            profiled_.push_back(std::move(p));
        }
    }
};

// One binary timed under many names would have one grid for all of them.
TEST_F(LadderReceipts, grids_are_those_of_the_tile) {
    std::set<std::string> tiles;
    each([&](const Profiled& p) {
        const Json& launches = p.counters.at("launches");
        ASSERT_EQ(launches.size(), p.counts.size());
        for (std::size_t i = 0; i < launches.size(); ++i) {
            EXPECT_EQ(launches[i].at("ctas").get<double>(), static_cast<double>(p.counts[i].ctas));
            EXPECT_EQ(launches[i].at("threads").get<double>(), p.counts[i].threads);
        }
        tiles.insert(p.kernel->tile_text(p.tile));
    });
    EXPECT_GT(tiles.size(), 4U);
}

// What the page calls bandwidth is of bytes that were declared; these were counted. The profiler
// empties the caches between launches, so that a merge reads its parts from DRAM.
TEST_F(LadderReceipts, declared_bytes_are_those_counted) {
    int compared = 0;
    each([&](const Profiled& p) {
        if (p.kernel->rung->track != "decode") {
            return;  // S and operands are read again through caches: the page shows both
        }
        double declared =
            static_cast<double>(p.kernel->workspace(p.workload, p.tile, datasheet_device("h200")));
        for (const Counts& c : p.counts) {
            const auto read = c.work.find("byte.dram_read");
            declared += read == c.work.end() ? 0 : read->second;
        }
        EXPECT_NEAR(p.total("dram_read_bytes") / declared, 1, 0.03);
        ++compared;
    });
    EXPECT_GT(compared, 10);
}

// A cast of the cache would be a launch of its own, and write it.
TEST_F(LadderReceipts, nothing_is_converted_beside_the_kernel) {
    int seen = 0;
    each([&](const Profiled& p) {
        if (p.kernel->rung->track == "decode") {
            EXPECT_LE(p.counters.at("launches").size(), 2U);
            EXPECT_LT(p.total("dram_write_bytes"), 0.02 * p.total("dram_read_bytes"));
            ++seen;
        }
    });
    EXPECT_GT(seen, 10);
}

// 32 ways are 97 % of all passes.
TEST_F(LadderReceipts, bank_conflicts_are_few) {
    int once_wrong_seen = 0;
    each([&](const Profiled& p) {
        const double conflicts = p.total("bank_conflicts_load") + p.total("bank_conflicts_store");
        const bool once_wrong = p.kernel->name == "tiled" || p.kernel->name == "online";
        EXPECT_LE(conflicts, (once_wrong ? 0.02 : 0.15) * p.total("shared_wavefronts"));
        once_wrong_seen += once_wrong ? 1 : 0;
    });
    EXPECT_GE(once_wrong_seen, 2);
}

}  // namespace
}  // namespace raceline
