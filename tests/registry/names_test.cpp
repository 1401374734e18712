// SPDX-License-Identifier: Apache-2.0
// A kernel, a field of its tile or a field of the workload that is named anew loses none of what
// older receipts say.
#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "raceline/error.hpp"
#include "registry/registry.hpp"
#include "report/first_sight.hpp"
#include "support/build_info.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// cpu_flash as it would stand here under another name, its tile's `rows` as `queries`.
struct Renamed {
    std::int32_t queries, keys;
    static constexpr std::array<std::string_view, 2> older{"rows", "m"};
    static constexpr std::array<TileField, 2> fields{{{"queries", older}, "keys"}};
};
constexpr std::array renamed_tiles{Renamed{1, 64}, Renamed{64, 128}};
constexpr std::array<std::string_view, 2> older_names{"cpu_flash", "cpu_online"};

std::string supports(const Workload& /*w*/, const Renamed& /*t*/, const Device& /*d*/) {
    return {};
}
std::vector<Counts> counts(const Workload& /*w*/, const Renamed& /*t*/, const Device& /*d*/) {
    return {};
}
Precision precision(const Workload& /*w*/) {
    return {};
}
std::size_t workspace(const Workload& /*w*/, const Renamed& /*t*/, const Device& /*d*/) {
    return 0;
}
const KernelRecord<Renamed> record{.name = "cpu_attention",
                                   .summary = "s",
                                   .engine = Engine::cpu,
                                   .tiles = std::span<const Renamed>(renamed_tiles),
                                   .functions = {supports, counts, precision, workspace},
                                   .formerly = older_names};

class Names : public testing::Test {
protected:
    std::vector<Kernel> kernels_{Kernel(record)};
};

TEST_F(Names, no_row_becomes_first_sight_when_names_change_and_fields_are_added) {
    const FirstSights sights(build_info::first_sights(), [this](std::string_view kernel) {
        return names_of_kernel(kernel, kernels_);
    });
    int rows = 0;
    for (const PastFile& file : read_past_of_tree(std::string(RACELINE_SOURCE_DIR) + "/receipts")) {
        for (PastMeasurement m : file.measurements) {
            if (m.kernel != "cpu_flash") {
                continue;
            }
            m.kernel = "cpu_attention";
            m.tile = Json{{"queries", m.tile.at("rows")}, {"keys", m.tile.at("keys")}};
            m.workload.update(Json{{"alibi", false}, {"rope", nullptr}, {"chunk", 0}});
            m.written = "9999-01-01T00:00:00Z";
            EXPECT_EQ(sights.of(m, m.written), Sight::seen) << file.path << m.workload;
            m.workload["alibi"] = true;
            EXPECT_EQ(sights.of(m, m.written), Sight::new_case) << file.path << m.workload;
            ++rows;
        }
    }
    EXPECT_GE(rows, 200);
}

TEST_F(Names, a_tile_is_found_by_older_names_of_its_fields) {
    const Kernel& kernel = kernels_.front();
    EXPECT_EQ(kernel.find_tile({{"queries", 64}, {"keys", 128}}), 1);
    EXPECT_EQ(kernel.find_tile({{"rows", 64}, {"keys", 128}}), 1);
    EXPECT_EQ(kernel.find_tile({{"keys", 128}, {"m", 64}}), 1);
    EXPECT_EQ(kernel.find_tile({{"rows", 64}, {"keys", 64}}), -1);
    EXPECT_EQ(kernel.find_tile({{"columns", 64}, {"keys", 128}}), -1);
    EXPECT_EQ(kernel.find_tile({{"keys", 128}}), -1);
}

// Rows of the time when a field was not there: what was is 0.
TEST(TileFields, need_not_be_named_where_they_are_0) {
    const Kernel& kernel = find_kernel("decode_sm90");
    TileFields fields = kernel.tile(0);
    for (const std::string_view last : {"token_scales", "together", "eight_bits"}) {
        ASSERT_EQ(fields.back(), (std::pair<std::string_view, std::int64_t>{last, 0}));
        fields.pop_back();
        EXPECT_EQ(kernel.find_tile(fields), 0);
    }
    fields.pop_back();
    EXPECT_EQ(kernel.find_tile(fields), -1) << "what is not 0 must be named";
}

TEST_F(Names, an_older_row_reads_as_one_of_today) {
    const Json row{{"kernel", "cpu_flash"}, {"tile", {{"rows", 64}, {"keys", 128}}}, {"id", "a"}};
    const Json now = with_names_of_today(row, kernels_);
    EXPECT_EQ(now.at("kernel"), "cpu_attention");
    EXPECT_EQ(now.at("tile").dump(), R"({"queries":64,"keys":128})");
    EXPECT_EQ(now.at("id"), "a");
    const Json left{{"kernel", "gone"}, {"tile", {{"rows", 64}}}};
    EXPECT_EQ(with_names_of_today(left, kernels_), left);
}

TEST_F(Names, of_a_kernel_are_the_same_whichever_is_asked_for) {
    const std::vector<std::string> all{"cpu_attention", "cpu_flash", "cpu_online"};
    for (const std::string& name : all) {
        EXPECT_EQ(names_of_kernel(name, kernels_), all);
    }
    EXPECT_THAT(names_of_kernel("gone", kernels_), testing::ElementsAre("gone"));
}

// No row can be of two kernels, and no tile can be read in two ways.
TEST(NamesOfKernels, belong_to_one_kernel_each) {
    std::set<std::string_view> names;
    for (const Kernel& kernel : all_kernels()) {
        EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
        for (const std::string_view older : kernel.formerly) {
            EXPECT_TRUE(names.insert(older).second) << older;
        }
        std::set<std::string_view> fields;
        for (const auto& field : kernel.tile(0)) {
            EXPECT_TRUE(fields.insert(field.first).second) << kernel.name << field.first;
        }
        for (const auto& [then, now] : kernel.older_fields()) {
            EXPECT_TRUE(fields.insert(then).second) << kernel.name << then;
        }
    }
}

// A new field of the workload has a default that leaves the case as it was: null, false, zero or
// empty, or one that src/report/first_sight.cpp names.
TEST(NormalisedCase, of_a_plain_workload_has_its_sizes_alone) {
    const Workload plain = parse_shape("h=8,q=64,k=128,d=32,dtype=fp16");
    std::set<std::string> members;
    const auto about =
        normalised_case(workload_to_json(plain), Json::object(), "attention", "forward");
    for (const auto& [name, value] : about.at("workload").items()) {
        members.insert(name);
    }
    EXPECT_THAT(members,
                testing::ElementsAre("dtype", "headdim", "heads_q", "seqlen_k", "seqlen_q"));
}

}  // namespace
}  // namespace raceline
