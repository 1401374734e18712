// SPDX-License-Identifier: Apache-2.0
// Tiles of a kernel that exists here only: four tiles whose times follow from their fields.
#include "tune/best_tile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "raceline/error.hpp"

namespace raceline {
namespace {

struct Tile {
    std::int32_t m;
    std::int32_t n;
    static constexpr std::array<TileField, 2> fields{"m", "n"};
};
constexpr std::array<Tile, 4> tiles{{{64, 32}, {64, 64}, {128, 64}, {128, 256}}};

std::string supports(const Workload& workload, const Tile& tile, const Device&) {
    if (workload.headdim > 128) {
        return "head dim " + std::to_string(workload.headdim) + " is over 128";
    }
    return tile.n > 128 ? "n " + std::to_string(tile.n) + " is over 128" : "";
}

// m = 128 is twice as fast as m = 64; n makes no difference.
std::vector<Counts> counts(const Workload&, const Tile& tile, const Device&) {
    Counts launch;
    launch.launch = "main";
    launch.work = {{"flop.fma.fp32", 128e9 / tile.m}};
    return {launch};
}

Precision precision(const Workload&) {
    return {Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32};
}

std::size_t workspace(const Workload&, const Tile&, const Device&) {
    return 0;
}

const KernelRecord<Tile> record{
    .name = std::string_view("tuned"),
    .summary = std::string_view("test"),
    .engine = Engine::cpu,
    .tiles = std::span<const Tile>(tiles),
    .functions = {supports, counts, precision, workspace},
};

class BestTile : public testing::Test {
protected:
    Kernel kernel{record};
    Workload workload;
    Device device;
    void SetUp() override {
        device.id = "fixture";
        device.rates["flop.fma.fp32"].value = 1e12;
    }
    std::vector<int> select(std::string_view text) {
        return select_tiles(kernel, text, workload, device, {});
    }
    // Status and sentence of the refusal.
    std::pair<Status, std::string> refusal(std::string_view text) {
        try {
            select(text);
        } catch (const Error& error) {
            return {error.status(), error.what()};
        }
        return {Status::ok, "accepted"};
    }
};

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST_F(BestTile, RankedFastestFirstAndOnlyThoseThatSupport) {
    const std::vector<TileChoice> ranked = ranked_tiles(kernel, workload, device, {});
    ASSERT_EQ(ranked.size(), 3U);
    EXPECT_EQ(ranked[0].tile, 2);
    EXPECT_EQ(ranked[1].tile, 0) << "equal times stay in the kernel's order";
    EXPECT_EQ(ranked[2].tile, 1);
    EXPECT_DOUBLE_EQ(ranked[0].prediction.seconds, 1e-3);
    EXPECT_DOUBLE_EQ(ranked[1].prediction.seconds, 2e-3);
    workload.headdim = 256;
    EXPECT_TRUE(ranked_tiles(kernel, workload, device, {}).empty());
}

// The second tile is fast by a constant that was fitted to it, and slow by what stands in for it.
constexpr Constant fitted = calibrated("best_tile_test.fitted", 1, "no receipt", 100, "a guess");
std::vector<Counts> fitted_counts(const Workload&, const Tile& tile, const Device&) {
    Counts launch;
    launch.launch = "main";
    launch.work = {{"flop.fma.fp32", tile.n == 64 ? fitted * 1e9 : 10e9}};
    return {launch};
}

TEST_F(BestTile, WithoutCalibratedConstantsIsTheBestByTheirStandIns) {
    const std::span<const Tile> two(tiles.data(), 2);
    const KernelRecord<Tile> fitted_record{
        .name = std::string_view("fitted"),
        .summary = std::string_view("test"),
        .engine = Engine::cpu,
        .tiles = two,
        .functions = {supports, fitted_counts, precision, workspace}};
    const Kernel with_constant{fitted_record};
    const auto best = [&](Calibration calibration) {
        return select_tiles(with_constant, "best", workload, device, {}, calibration);
    };
    EXPECT_THAT(best(Calibration::used), ElementsAre(1));
    EXPECT_THAT(best(Calibration::left_out), ElementsAre(0));
    const auto ranked = ranked_tiles(with_constant, workload, device, {}, Calibration::left_out);
    EXPECT_DOUBLE_EQ(ranked[1].prediction.seconds, 0.1) << "the stand-in's time";
    EXPECT_THAT(best(Calibration::used), ElementsAre(1)) << "the stand-ins are gone again";
}

TEST_F(BestTile, ByName) {
    EXPECT_THAT(select("best"), ElementsAre(2));
    EXPECT_THAT(select("all"), ElementsAre(0, 1, 2));
}

TEST_F(BestTile, ByFields) {
    EXPECT_THAT(select("m=128,n=64"), ElementsAre(2));
    EXPECT_THAT(select("n=64,m=128"), ElementsAre(2)) << "in any order";
    EXPECT_THAT(select("m=64"), ElementsAre(0, 1)) << "a subset selects every match";
    EXPECT_THAT(select("m=128"), ElementsAre(2)) << "of those that support the workload";
}

TEST_F(BestTile, RefusesWhatNoTileHas) {
    EXPECT_THAT(refusal("m=96"),
                Pair(Status::invalid_argument,
                     AllOf(HasSubstr("m=96"), HasSubstr("m=64,128"), HasSubstr("n=32,64,256"))));
    EXPECT_THAT(refusal("k=64"), Pair(Status::invalid_argument, HasSubstr("'k'")));
    EXPECT_THAT(refusal("mm=64"), Pair(Status::invalid_argument, HasSubstr("did you mean 'm'")));
    EXPECT_THAT(refusal("m=64,m=64"), Pair(Status::invalid_argument, HasSubstr("twice")));
}

TEST_F(BestTile, RefusesWhatIsNoTile) {
    for (const char* text : {"", "m", "m=", "m=x", "m=64,", "fastest", "m=99999999999999999999"}) {
        EXPECT_THAT(refusal(text), Pair(Status::invalid_argument, HasSubstr("best, all")))
            << "'" << text << "'";
    }
}

TEST_F(BestTile, SaysWhyATileDoesNotSupportTheWorkload) {
    EXPECT_THAT(refusal("n=256"), Pair(Status::unsupported, HasSubstr("n 256 is over 128")));
    EXPECT_THAT(refusal("n=256"),
                Pair(Status::unsupported, HasSubstr("nearest of those that are is n=64 or n=32")));
    EXPECT_THAT(refusal("m=96"),
                Pair(Status::invalid_argument, HasSubstr("is m=128 or m=64; its fields")));
    workload.headdim = 256;
    EXPECT_THAT(refusal("best"), Pair(Status::unsupported, HasSubstr("head dim 256 is over 128")));
    EXPECT_THAT(refusal("all"), Pair(Status::unsupported, HasSubstr("tuned")));
}

}  // namespace
}  // namespace raceline
