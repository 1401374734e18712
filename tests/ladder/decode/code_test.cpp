// SPDX-License-Identifier: Apache-2.0
// What each decode rung names must be in its machine code, and what its counts() declare must be
// what the compiler did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "tests/ladder/decode/code_case.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using namespace test;

const char* const all_rungs[] = {
    "splitkv",          "paged",         "gqa",     "gqa_wmma",
    "gqa_doublebuffer", "gqa_occupancy", "gqa_ilp", "gqa_scorestationary",
    "fp8_kv",           "nvfp4_kv",      "mla",     "mla_tensor"};

TEST_F(DecodeCode, nothing_spills) {
    for (const char* rung : all_rungs) {
        const RungCode code(rung);
        EXPECT_FALSE(code.reports().empty()) << rung;
        for (const auto& [name, report] : code.reports()) {
            EXPECT_EQ(report.stack_bytes, 0) << name;
        }
    }
}

struct Variant {
    const char* mangled;
    const char* shape;
};
constexpr Variant splitkv_variants[] = {{"7partialIfLi64E", "h=1,d=64,dtype=fp32"},
                                        {"7partialIfLi128E", "h=1,d=128,dtype=fp32"},
                                        {"7partialI6__halfLi64E", "h=1,d=64,dtype=fp16"},
                                        {"7partialI6__halfLi128E", "h=1,d=128,dtype=fp16"}};

// splitkv and paged are compiled for the same types and head dims.
class SameVariants : public DecodeCode, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Rungs, SameVariants, testing::Values("splitkv", "paged"));

TEST_P(SameVariants, declare_what_was_compiled) {
    const RungCode code(GetParam());
    const Kernel& kernel = find_kernel(GetParam());
    for (const auto& [mangled, shape] : splitkv_variants) {
        const Workload w = parse_shape(std::string(shape) + ",q=1,k=4096");
        const auto launches = kernel.counts(w, 0, h200);
        EXPECT_EQ(launches.at(0).registers, code.report(mangled).registers) << mangled;
        const Code loop = loop_with_shuffles(code.function(mangled), 5);
        EXPECT_NEAR(declared_per_round(kernel, w, h200), static_cast<double>(loop.size()), 1)
            << mangled;
    }
    for (const char* merge :
         {"5mergeIfLi64E", "5mergeIfLi128E", "5mergeI6__halfLi64E", "5mergeI6__halfLi128E"}) {
        const auto launches = kernel.counts(parse_shape("h=1,q=1,k=4096,d=64,dtype=fp16"), 0, h200);
        EXPECT_EQ(launches.at(1).registers, code.report(merge).registers) << merge;
    }
}

TEST_P(SameVariants, keep_loads_under_way) {
    const RungCode code(GetParam());
    for (const auto& [mangled, shape] : splitkv_variants) {
        EXPECT_GE(loads_under_way(code.function(mangled)), 8) << mangled;
    }
}

// Page arithmetic is a shift and a mask: the loop over keys reads no global memory, the loop that
// stages has one table entry for two rows' loads, and neither divides.
TEST_F(DecodeCode, paged_hoists_the_page) {
    const RungCode code("paged");
    for (const auto& [mangled, shape] : splitkv_variants) {
        const Code keys = loop_with_shuffles(code.function(mangled), 5);
        EXPECT_EQ(test::count_if(keys, [](auto i) { return i.loads_global(); }), 0) << mangled;
        bool found = false;
        for (const Code& loop : test::loops_of(code.function(mangled))) {
            if (loads_under_way(loop) == 8 && loop.size() < 200) {
                found = true;
                EXPECT_EQ(test::count_if(loop, [](auto i) { return i.loads_global(); }), 12)
                    << mangled;
                EXPECT_EQ(test::count_if(loop, [](auto i) { return i.is_special(); }), 0)
                    << mangled << ": an integer division takes a reciprocal";
            }
        }
        EXPECT_TRUE(found) << mangled;
    }
}

// Rungs that are compiled like gqa and have its loop over keys.
class LikeGqa : public DecodeCode, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Rungs, LikeGqa,
                         testing::Values("gqa", "gqa_doublebuffer", "gqa_occupancy"));

TEST_P(LikeGqa, declare_what_was_compiled) {
    const RungCode code(GetParam());
    const Kernel& kernel = find_kernel(GetParam());
    for (const char* type : {"fp32", "fp16"}) {
        for (const auto& [mangled, shape, rows] : packed_variants(type)) {
            const Workload w = parse_shape(shape + ",q=1,k=4096");
            EXPECT_EQ(kernel.counts(w, 0, h200).front().registers, code.report(mangled).registers)
                << mangled;
            // One load of K and one of V for all rows; five shuffles for each.
            const Code loop = loop_with_shuffles(code.function(mangled), 5 * rows);
            EXPECT_EQ(test::count_if(loop, [](auto i) { return i.loads_shared(); }), 2) << mangled;
            EXPECT_NEAR(declared_per_round(kernel, w, h200), static_cast<double>(loop.size()), 2)
                << mangled;
        }
    }
}

TEST_F(DecodeCode, gqa_keeps_loads_under_way) {
    const RungCode code("gqa");
    for (const char* type : {"fp32", "fp16"}) {
        for (const auto& [mangled, shape, rows] : packed_variants(type)) {
            EXPECT_GE(loads_under_way(code.function(mangled)), 8) << mangled;
        }
    }
}

// Half the tile and few enough registers: twice the CTAs fit an SM.
TEST_F(DecodeCode, gqa_occupancy_fits_twice) {
    const RungCode code("gqa_occupancy");
    for (const char* type : {"fp32", "fp16"}) {
        for (const auto& [mangled, shape, rows] : packed_variants(type)) {
            const Workload w = parse_shape(shape + ",q=1,k=65536");
            const Counts half = find_kernel("gqa_occupancy").counts(w, 0, h200).front();
            const Counts whole = find_kernel("gqa").counts(w, 0, h200).front();
            EXPECT_EQ(h200.smem_bytes_per_unit / (whole.smem_bytes + 1024), 2);
            EXPECT_EQ(h200.smem_bytes_per_unit / (half.smem_bytes + 1024), 4);
            EXPECT_LE(code.report(mangled).registers * half.threads * 4, h200.registers_per_unit);
            EXPECT_NEAR(static_cast<double>(half.ctas) / static_cast<double>(whole.ctas), 2, 0.02);
        }
    }
}

// Between a shuffle and the addition that waits for it stands work of other keys: instructions, on
// average over the loop. One chain alone has none.
double work_between(const Code& loop) {
    double instructions = 0;
    int shuffles = 0;
    for (auto i = loop.begin(); i != loop.end(); ++i) {
        const auto use = std::find_if(i, loop.end(), [&](const Instruction& later) {
            return later.is_add() && later.reads(i->destination());
        });
        if (i->is_shuffle() && use != loop.end()) {
            instructions += static_cast<double>(use - i - 1);
            ++shuffles;
        }
    }
    return shuffles > 0 ? instructions / shuffles : 0;
}

TEST_F(DecodeCode, gqa_ilp_has_independent_chains) {
    const RungCode code("gqa_ilp");
    const RungCode before("gqa");
    const Kernel& kernel = find_kernel("gqa_ilp");
    for (const char* type : {"fp32", "fp16"}) {
        for (const auto& [mangled, shape, rows] : packed_variants(type)) {
            const Workload w = parse_shape(shape + ",q=1,k=4096");
            EXPECT_EQ(kernel.counts(w, 0, h200).front().registers, code.report(mangled).registers)
                << mangled;
            const Code loop = loop_with_shuffles(code.function(mangled), 4 * 5 * rows);
            EXPECT_NEAR(declared_per_round(kernel, w, h200), static_cast<double>(loop.size()),
                        1 + 0.02 * static_cast<double>(loop.size()))
                << mangled;
            EXPECT_GE(work_between(loop), 3) << mangled;
        }
    }
    EXPECT_LT(work_between(loop_with_shuffles(before.function("7partialI6__halfLi128ELi1E"), 5)),
              2);
}

// The loop over tiles starts copies, then waits for all groups but the latest, then computes.
TEST_F(DecodeCode, gqa_doublebuffer_copies_while_it_computes) {
    const RungCode code("gqa_doublebuffer");
    for (const auto& [mangled, shape, rows] : packed_variants("fp16")) {
        bool found = false;
        for (const Code& loop : test::loops_of(code.function(mangled))) {
            const auto first_of = [&](auto is) {
                return std::find_if(loop.begin(), loop.end(), is) - loop.begin();
            };
            const auto copy = first_of([](auto i) { return i.copies_global_to_shared(); });
            const auto wait = first_of([](auto i) { return i.waits_for_groups_but(1); });
            const auto shuffle = first_of([](auto i) { return i.is_shuffle(); });
            const auto end = static_cast<std::ptrdiff_t>(loop.size());
            found = found || (copy < wait && wait < shuffle && shuffle < end);
        }
        EXPECT_TRUE(found) << mangled;
        EXPECT_EQ(loads_under_way(code.function(mangled)), 0) << mangled;
    }
}

TEST_F(DecodeCode, gqa_wmma_multiplies_on_tensor_cores) {
    const RungCode code("gqa_wmma");
    const Kernel& kernel = find_kernel("gqa_wmma");
    for (const int d : {64, 128}) {
        const std::string mangled = "7partialILi" + std::to_string(d) + "E";
        const Workload w = parse_shape("h=32/4,q=1,k=4096,dtype=fp16,d=" + std::to_string(d));
        const Counts c = kernel.counts(w, 0, h200).front();
        EXPECT_EQ(c.registers, code.report(mangled).registers);
        EXPECT_GT(c.threads, 64);
        // Both products of a 16 x 16 block, two instructions each; one shuffle, of the maximum.
        const Code loop = loop_with_shuffles(code.function(mangled), 1);
        EXPECT_EQ(test::count_if(loop, [](auto i) { return i.is_matrix_product(); }),
                  2 * 2 * d / 16);
        EXPECT_NEAR(declared_per_round(kernel, w, h200), static_cast<double>(loop.size()), 3);
        EXPECT_GE(loads_under_way(code.function(mangled)), 8);
    }
}

// One CTA reads the keys of a whole group: what crosses the L2 for K and V falls by its size.
TEST(DecodePlan, gqa_reads_kv_once_a_group) {
    const Device h200 = datasheet_device("h200");
    const auto kv_bytes = [&](const char* rung, const char* heads) {
        const Workload w = parse_shape(std::string("q=1,k=65536,d=128,dtype=fp16,h=") + heads);
        const Counts c = find_kernel(rung).counts(w, 0, h200).front();
        double bytes = 0;
        for (const Step& step : c.steps) {
            bytes += step.name == "stage" ? step.repeat * step.work.at("byte.l2") : 0;
        }
        return bytes * static_cast<double>(c.ctas);
    };
    EXPECT_NEAR(kv_bytes("paged", "32/4") / kv_bytes("gqa", "32/4"), 8, 0.1);
    EXPECT_NEAR(kv_bytes("paged", "32/1") / kv_bytes("gqa", "32/1"), 32, 0.4);
}

// Splits come from the number of SMs: no constant of another device, no cap.
TEST(DecodePlan, splits_follow_the_device) {
    const Kernel& kernel = find_kernel("splitkv");
    const Workload w = parse_shape("h=8,q=1,k=16384,d=128,dtype=fp16");
    std::set<std::int64_t> seen;
    for (const char* name : {"t4", "l4", "a100-80", "h200", "b300"}) {
        Device device = datasheet_device(name);
        device.smem_bytes_per_unit = 233472;  // the same room, so that only the SMs differ
        const Counts c = kernel.counts(w, 0, device).front();
        EXPECT_LE(c.ctas, std::int64_t{2} * device.units) << name;
        EXPECT_GT(c.ctas, std::int64_t{2} * device.units - 2 * w.heads_q) << name;
        seen.insert(c.ctas);
    }
    EXPECT_EQ(seen.size(), 5U);
    const Workload one = parse_shape("h=1,q=1,k=1048576,d=128,dtype=fp16");
    EXPECT_GT(kernel.counts(one, 4, datasheet_device("h200")).front().ctas, 8000);
}

// All keys are somebody's, whatever the length.
TEST(DecodePlan, splits_cover_the_keys) {
    const Kernel& kernel = find_kernel("splitkv");
    const Device h200 = datasheet_device("h200");
    for (const int keys : {1, 3, 4, 5, 63, 777, 2047, 2048, 10007}) {
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            const Workload w =
                parse_shape("b=2,h=6,q=1,k=" + std::to_string(keys) + ",d=64,dtype=fp16");
            const Counts c = kernel.counts(w, tile, h200).front();
            double staged = 0;
            for (const Step& step : c.steps) {
                staged += step.name == "keys" ? step.repeat : 0;
            }
            EXPECT_GE(static_cast<double>(c.ctas) * staged * 4, 12.0 * keys) << keys;
            EXPECT_DOUBLE_EQ(c.work.at("byte.dram_read"), w.bytes_q() + w.bytes_kv());
        }
    }
}

}  // namespace
}  // namespace raceline
