// SPDX-License-Identifier: Apache-2.0
// Devices side by side: dense rates by type, and from which intensity on each of them limits.
#include "report/device_table.hpp"

#include <array>
#include <gmock/gmock.h>

namespace raceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(DeviceTable, ridges_are_the_fastest_engines_rates_over_what_memory_delivers) {
    Device d;
    d.id = "board";
    d.rates["byte.dram_read"].value = 2e12;
    d.rates["flop.mma.bf16"].value = 4e14;
    d.rates["flop.wgmma.bf16"].value = 8e14;
    d.rates["flop.wgmma.bf16.burst"].value = 9e14;
    d.rates["flop.fma.fp32"].value = 6e13;
    const std::string table = devices_table(std::array{d});
    EXPECT_THAT(table, AllOf(HasSubstr("ridge bf16"), HasSubstr("800 TFLOP/s"), HasSubstr(" 400 "),
                             HasSubstr(" 30 "), HasSubstr("2.00 TB/s")));
    EXPECT_THAT(table, Not(HasSubstr("900 TFLOP/s")));
}

TEST(DeviceTable, a_type_without_an_engine_has_no_ridge) {
    Device d;
    d.id = "board";
    d.rates["byte.dram_read"].value = 2e12;
    d.rates["flop.fma.fp32"].value = 6e13;
    EXPECT_THAT(devices_table(std::array{d}),
                AllOf(HasSubstr("ridge fp32"), Not(HasSubstr("inf"))));
}

}  // namespace
}  // namespace raceline
