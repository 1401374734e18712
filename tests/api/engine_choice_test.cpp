// SPDX-License-Identifier: Apache-2.0
// Which engine a call gets: the least predicted time, the same one whatever was called before.
#include "api/engine_choice.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

#include "registry/registry.hpp"
#include "support/check.hpp"
#include "tune/best_tile.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::api {
namespace {

TEST(RoundedSize, KeepsFourSignificantBitsRoundedUp) {
    for (const std::int64_t exact : {0, 1, 15, 16, 18, 20, 32, 36, 1024, 1152, 32768}) {
        EXPECT_EQ(rounded_size(exact), exact);
    }
    EXPECT_EQ(rounded_size(17), 18);
    EXPECT_EQ(rounded_size(33), 36);
    EXPECT_EQ(rounded_size(1025), 1152);
    EXPECT_EQ(rounded_size(2147483647), 2147483647);
    for (std::int64_t n = 1; n < 100000; n += 7) {
        EXPECT_GE(rounded_size(n), n);
        EXPECT_LE(static_cast<double>(rounded_size(n)), 1.125 * static_cast<double>(n));
        EXPECT_EQ(rounded_size(rounded_size(n)), rounded_size(n));
    }
}

TEST(EngineChoice, HasTheLeastPredictedTimeOfAllEngines) {
    const Device& device = device_of(Place::cpu, 0);
    for (const char* shape : {"b=1,h=16,q=1024,k=1024,d=64,dtype=fp32,causal",
                              "b=8,h=32/8,q=1,k=4096,d=128,dtype=bf16"}) {
        const Workload workload = parse_shape(shape);
        const EngineChoice choice = remembered_engine(workload, Place::cpu, 0, "");
        const auto seconds = [&](const Kernel& kernel, int tile) {
            return predict(device, kernel.counts(workload, tile, device), launch_case(device, 0))
                .seconds;
        };
        const double chosen = seconds(*choice.kernel, choice.tile);
        EXPECT_FALSE(choice.kernel->ladder);
        for (const Kernel& kernel : all_kernels()) {
            for (int tile = 0; tile < kernel.tile_count(); ++tile) {
                if (!kernel.ladder && why_not(kernel, workload, device).empty() &&
                    kernel.why_not(workload, tile, device).empty()) {
                    EXPECT_LE(chosen, seconds(kernel, tile)) << kernel.name << tile;
                }
            }
        }
    }
}

// More shapes than are remembered, in random order and again in another: a shape's engine is its
// own, whoever came first and whatever was forgotten in between.
TEST(EngineChoice, DoesNotDependOnTheOrderOfCalls) {
    std::vector<Workload> shapes;
    for (const int headdim : {16, 64, 128, 256}) {
        for (const int q : {1, 20, 70, 130, 200, 300, 500, 513, 1000, 1001, 2000}) {
            shapes.push_back(parse_shape(
                fmt::format("b=2,h=8/2,q={0},k={0},d={1},dtype=fp32,causal", q, headdim)));
        }
    }
    // What each shape gets if it comes first of all.
    const Device& device = device_of(Place::cpu, 0);
    std::vector<EngineChoice> alone;
    std::set<int> tiles;
    for (const Workload& shape : shapes) {
        alone.push_back(choose_engine(representative(shape), device, 0, {}));
        tiles.insert(alone.back().tile);
    }
    ASSERT_GT(tiles.size(), 1U) << "shapes that all take one tile prove nothing";
    for (const unsigned seed : {1, 2, 3}) {
        std::vector<std::size_t> order(shapes.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), std::mt19937(seed));
        for (const std::size_t i : order) {
            const EngineChoice again = remembered_engine(shapes[i], Place::cpu, 0, "");
            EXPECT_EQ(again.kernel, alone[i].kernel) << format_shape(shapes[i]);
            EXPECT_EQ(again.tile, alone[i].tile) << format_shape(shapes[i]);
            EXPECT_EQ(again.device, alone[i].device);
        }
        // More decisions than are kept: 32 × 144.
        for (int headdim = 1; headdim <= 32; ++headdim) {
            for (int i = 0; i < 144; ++i) {
                Workload other = parse_shape("b=1,h=1,q=1,k=20,d=8,dtype=fp32");
                other.headdim = other.headdim_v = headdim;
                other.heads_q = other.heads_kv = 1 + i;
                remembered_engine(other, Place::cpu, 0, "");
            }
        }
    }
}

TEST(EngineChoice, NearlyEqualShapesShareTheirRepresentative) {
    const Workload a = representative(parse_shape("b=2,h=4,q=1,k=1000,d=64"));
    const Workload b = representative(parse_shape("b=2,h=4,q=1,k=1001,d=64"));
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.seqlen_k, 1024);
    const Workload ragged = representative(parse_shape("b=3,h=4,q=10;20;30,k=40;50;60,d=64"));
    EXPECT_NO_THROW(validate(ragged));
    EXPECT_EQ(ragged.seqlens_q.front(), 30);
}

TEST(EngineChoice, BackendByNameAndRefusalsWithEveryReason) {
    const Workload workload = parse_shape("b=1,h=2,q=4,k=4,d=64,dtype=fp32");
    EXPECT_EQ(remembered_engine(workload, Place::cpu, 0, "cpu_flash").kernel->name, "cpu_flash");
    try {
        remembered_engine(workload, Place::cpu, 0, "simt");
        ADD_FAILURE() << "simt does not run on a CPU";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::unsupported);
        EXPECT_THAT(error.what(), testing::HasSubstr("simt: it runs on CUDA GPUs"));
    }
    try {
        remembered_engine(parse_shape("b=1,h=2,q=4,k=4,d=1000,dtype=fp32"), Place::cpu, 0, "");
        ADD_FAILURE() << "no engine takes head dim 1000";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::unsupported);
        EXPECT_THAT(error.what(), testing::HasSubstr("cpu_flash: head dim 1000"));
    }
}

// A backend is named in any spelling.
TEST(EngineChoice, TakesANameInCapitalLetters) {
    const Device& device = device_of(Place::cpu, 0);
    const Workload workload = parse_shape("h=2,q=64,k=64,d=64,dtype=fp32");
    EXPECT_EQ(choose_engine(workload, device, 0, {.backend = "CPU-Flash"}).kernel->name,
              "cpu_flash");
    EXPECT_EQ(&find_kernel("Prefill_SM90"), &find_kernel("prefill_sm90"));
}

}  // namespace
}  // namespace raceline::api
