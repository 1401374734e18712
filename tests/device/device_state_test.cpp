// SPDX-License-Identifier: Apache-2.0
#include "device/device_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

Device committed_h200() {
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    return device;
}

// Each number is another, so that none can stand in the place of another or be left out.
TEST(DeviceState, every_member_comes_back) {
    const Json state = [] {
        Json all = device_state_to_json(committed_h200());
        int next = 1000;
        for (Json& value : all) {
            if (value.is_number()) {
                value = next++;
            } else if (value.is_boolean()) {
                value = true;
            } else if (value.is_string() && value != "cuda") {
                value = "text " + std::to_string(next++);
            }
        }
        return all;
    }();
    EXPECT_EQ(device_state_to_json(device_state_from_json(state)), state);
    for (const auto& [name, value] : state.items()) {
        Json without = state;
        without.erase(name);
        if (name == "power") {  // older files and CPUs have none
            EXPECT_FALSE(device_state_from_json(without).power.known());
            continue;
        }
        EXPECT_THROW(device_state_from_json(without), Error) << name;
    }
    Json of_no_kind = state;
    of_no_kind["kind"] = "tpu";
    EXPECT_THROW(device_state_from_json(of_no_kind), Error);
}

TEST(DeviceState, is_not_written_for_what_the_tree_has) {
    Device device = committed_h200();
    EXPECT_FALSE(uncommitted_state(device).has_value());
    device.live = true;
    device.driver = "another";
    EXPECT_FALSE(uncommitted_state(device).has_value()) << "the model reads neither";
    Device stated = datasheet_device("b200");
    apply_committed_rates(stated);
    EXPECT_FALSE(uncommitted_state(stated).has_value());
}

TEST(DeviceState, is_written_for_other_rates_and_for_another_machine) {
    const auto written = [](void (*change)(Device&)) {
        Device device = committed_h200();
        change(device);
        const auto content = uncommitted_state(device);
        EXPECT_TRUE(!content || content->at("device").at("id") == device.id);
        return content.has_value();
    };
    EXPECT_TRUE(written([](Device& d) { d.rates["byte.dram_read"].value *= 1.0000001; }));
    EXPECT_TRUE(written([](Device& d) { d.rates["byte.dram_read"].clock_hz += 1; }));
    EXPECT_TRUE(written([](Device& d) { d.l2_bytes += 1; }));
    EXPECT_TRUE(written([](Device& d) { d.sustained_clock_hz += 1; }));
    EXPECT_TRUE(written([](Device& d) { d.rates_id = "0123"; }));
    EXPECT_TRUE(written([](Device& d) { d.id = "cuda"; })) << "no file in devices/ describes it";
    EXPECT_TRUE(uncommitted_state(live_cpu()).has_value());
}

}  // namespace
}  // namespace raceline
