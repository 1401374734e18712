// SPDX-License-Identifier: Apache-2.0
// What the tests of the decode rungs' machine code look for.
#pragma once

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "tests/ladder/decode/machine_code.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::test {

class DecodeCode : public testing::Test {
protected:
    void SetUp() override {
        if (find_kernel("splitkv").launch == nullptr) {
            GTEST_SKIP() << "a build without CUDA has no machine code";
        }
    }
    Device h200 = datasheet_device("h200");
};

// The loop without a loop in it that has exactly so many shuffles; empty if there is not one.
inline Code loop_with_shuffles(const Code& code, int shuffles) {
    Code found;
    for (const Code& loop : test::loops_of(code)) {
        if (test::count_if(loop, [](auto i) { return i.is_shuffle(); }) == shuffles &&
            (found.empty() || loop.size() < found.size())) {
            found = loop;
        }
    }
    return found;
}

// Most 16-byte loads from global memory with no store to shared memory between them.
inline int loads_under_way(const Code& code) {
    int most = 0, now = 0;
    for (const Instruction& i : code) {
        now = i.stores_shared() ? 0 : now + (i.loads_global_16_bytes() ? 1 : 0);
        most = std::max(most, now);
    }
    return most;
}

// Instructions of a warp in one round of its loop over keys, as counts() has them.
inline double declared_per_round(const Kernel& kernel, const Workload& w, const Device& device) {
    const std::vector<Counts> launches = kernel.counts(w, 0, device);
    for (const Step& step : launches.front().steps) {
        if (step.name == "keys") {
            return step.work.at("op.issue") / (32 * 4);
        }
    }
    return 0;
}

// A rung whose partial<T, d, rows> packs a group of `rows` into every warp.
struct Packed {
    std::string mangled, shape;
    int rows;
};
inline std::vector<Packed> packed_variants(const char* type) {
    const std::string name = std::string(type) == "fp32" ? "f" : "6__half";
    std::vector<Packed> all;
    for (const char* d : {"64", "128"}) {
        for (const int rows : {1, 2, 4, 8}) {
            const std::string r = std::to_string(rows);
            all.push_back({"7partialI" + name + "Li" + d + "ELi" + r + "E",
                           "h=" + r + "/1,d=" + d + ",dtype=" + type, rows});
        }
    }
    return all;
}

// partial<d, rows> of the rungs that know fp16 alone.
inline std::vector<Packed> packed_halves(const std::string& kv = "") {
    std::vector<Packed> all;
    for (const char* d : {"64", "128"}) {
        for (const int rows : {1, 2, 4, 8}) {
            const std::string r = std::to_string(rows);
            all.push_back({std::string("7partialILi") + d + "ELi" + r + "E",
                           "h=" + r + "/1,d=" + d + ",dtype=fp16" + kv, rows});
        }
    }
    return all;
}

// A row's 32 scores are reduced once: five shuffles a row in the loop over 32 keys, whose two inner
// loops, over columns and over values, have none.
inline void expect_score_stationary(const RungCode& code, const Kernel& kernel,
                                    const Packed& variant, const Device& device) {
    const auto& [mangled, shape, rows] = variant;
    const Workload w = parse_shape(shape + ",q=1,k=4096");
    EXPECT_EQ(kernel.counts(w, 0, device).front().registers, code.report(mangled).registers)
        << mangled;
    const Code block = loop_with_shuffles(code.function(mangled), 5 * rows);
    const auto inner = test::loops_of(block);
    ASSERT_EQ(inner.size(), 3U) << mangled << ": columns, values, and the block itself";
    const auto dots = static_cast<double>(inner[0].size());
    const auto values = static_cast<double>(inner[1].size());
    const double executed = static_cast<double>(w.headdim) / 32 * dots + 4 * values +
                            static_cast<double>(block.size()) - dots - values;
    EXPECT_NEAR(declared_per_round(kernel, w, device), executed, 0.03 * executed) << mangled;
    EXPECT_EQ(test::count_if(inner[0], [](auto i) { return i.is_fma(); }), 32 * rows) << mangled;
}

}  // namespace raceline::test
