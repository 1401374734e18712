// SPDX-License-Identifier: Apache-2.0
#include "run/point_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "model/work_point.hpp"

namespace raceline {
namespace {

using testing::Contains;

TEST(PointNames, AreReadInAnySpelling) {
    const Device h200 = datasheet_device("h200");
    const auto named = [&](const std::string& engine, const std::string& memory) {
        return with_known_names(h200, {.engine = engine, .memory = memory});
    };
    for (const auto& [written, known] : {std::pair{"BF16", "bf16"},
                                         {"bfloat16", "bf16"},
                                         {"FP8", "e4m3"},
                                         {"half", "fp16"},
                                         {"WGMMA.BF16", "wgmma.bf16"},
                                         {"wgmma.bfloat16", "wgmma.bf16"},
                                         {"FLOP.FMA.FP32", "flop.fma.fp32"},
                                         {"OP.EX2", "op.ex2"},
                                         {"EX2", "ex2"},
                                         {"tensor", "tensor"},
                                         {"", ""}}) {
        EXPECT_EQ(named(written, "dram").engine, known) << written;
    }
    for (const auto& [written, known] : {std::pair{"DRAM", "dram"},
                                         {"L2", "l2"},
                                         {"smem-lsu", "smem_lsu"},
                                         {"BYTE.L2", "byte.l2"},
                                         {"l9", "l9"}}) {
        EXPECT_EQ(named("bf16", written).memory, known) << written;
    }
}

// What is offered is accepted.
TEST(PointNames, AreThoseThatAVerdictTakes) {
    for (const char* id : {"h200", "cpu", "mi300x"}) {
        const Device device = datasheet_device(id);
        for (const std::string& engine : engine_names(device)) {
            EXPECT_NO_THROW(judge_point(device, {.flops = 1e9, .engine = engine})) << engine;
        }
        for (const std::string& memory : memory_names(device)) {
            EXPECT_NO_THROW(judge_point(device, {.bytes = 1e9, .memory = memory})) << memory;
        }
    }
    EXPECT_THAT(engine_names(datasheet_device("h200")), Contains("wgmma.bf16"));
    EXPECT_THAT(memory_names(datasheet_device("h200")), Contains("dram"));
}

}  // namespace
}  // namespace raceline
