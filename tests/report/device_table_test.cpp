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
    EXPECT_THAT(table, AllOf(HasSubstr("ridge bf16"), HasSubstr(" 800 "), HasSubstr(" 400 "),
                             HasSubstr(" 30 "), HasSubstr("2.00 TB/s")));
    EXPECT_THAT(table, Not(HasSubstr(" 900 ")));
}

// A pipe has room for the types and the ridges of generations, the oldest first.
TEST(DeviceTable, a_pipe_has_types_and_ridges_by_generation) {
    Device young, old;
    young.id = "young";
    young.year = 2024;
    old.id = "old";
    old.year = 2017;
    for (Device* d : {&young, &old}) {
        d->name = "A board with a long name";
        d->memory_bytes = 16'000'000'000;
        d->rates["byte.dram_read"].value = 1e12;
    }
    old.rates["flop.fma.fp32"].value = 1.55e13;
    old.rates["flop.mma.fp16"].value = 1.16e14;
    young.rates["flop.fma.fp32"].value = 6e13;
    young.rates["flop.mma.fp16"].value = 2.5e14;
    young.rates["flop.mma.bf16"].value = 1.16e14;
    young.rates["flop.mma.e4m3"].value = 2.32e14;
    const std::string table = devices_table(std::array{young, old}, {100, false});
    for (const char* column :
         {" fp16 ", " bf16 ", " fp8 ", " fp32 ", "ridge fp16", "ridge bf16", "ridge fp8"}) {
        EXPECT_THAT(table.substr(0, table.find('\n')), HasSubstr(column));
    }
    EXPECT_LT(table.find("\nold"), table.find("\nyoung"));
    EXPECT_THAT(table.substr(table.find("\nold")), HasSubstr(" 116 "));
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
