// SPDX-License-Identifier: Apache-2.0
#include "report/size_sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "model/speed_of_light.hpp"
#include "support/check.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

const LaunchCase graph{.cold = true, .launch_path = "graph"};

TEST(SizeSweep, ReadsRanges) {
    const SizeRange range = parse_size_range("m=1:4096");
    EXPECT_EQ(range.field, "m");
    EXPECT_EQ(range.first, 1);
    EXPECT_EQ(range.last, 4096);
    for (const char* wrong :
         {"m", "m=1", "=1:2", "m=1:x", "m=0:4", "m=4:4", "m=5:4", "m=1:2:3", ""}) {
        EXPECT_THROW(parse_size_range(wrong), Error) << wrong;
    }
}

// The sizes that it names are the ones at which the bound's limiter changes.
TEST(SizeSweep, NamesTheCrossing) {
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    const std::string text = size_sweep_text("op=linear,n=4096,k=4096", DType::bf16,
                                             parse_size_range("m=1:4096"), device, graph);
    const auto limiter = [&](std::int64_t m) {
        return speed_of_light(device, parse_shape(fmt::format("op=linear,n=4096,k=4096,m={}", m)),
                              graph)
            .limiter;
    };
    std::int64_t last = 1;
    while (limiter(last + 1) == "dram") {
        ++last;
    }
    EXPECT_THAT(
        text, HasSubstr(fmt::format("up to m={} dram bounds it, from m={} on flop.wgmma.bf16", last,
                                    last + 1)));
    EXPECT_THAT(size_sweep_text("h=32/8,q=1,d=128", DType::bf16, parse_size_range("k=4096:65536"),
                                device, graph),
                HasSubstr("dram bounds it everywhere"));
}

TEST(SizeSweep, RefusesAFieldThatTheShapeHasAlready) {
    const Device device = datasheet_device("h200");
    EXPECT_THROW(size_sweep_text("op=linear,m=1,n=4,k=4", DType::bf16, parse_size_range("m=1:4"),
                                 device, graph),
                 Error);
}

}  // namespace
}  // namespace raceline
