// SPDX-License-Identifier: Apache-2.0
#include "page/what_if.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "device/device_state.hpp"
#include "registry/registry.hpp"
#include "run/run_case.hpp"
#include "tune/best_tile.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

Device committed(const std::string& id) {
    Device device = datasheet_device(id);
    apply_committed_rates(device);
    return device;
}

Json ask(const std::string& shape, const Device& device, const std::string& kernel = "") {
    return Json::parse(what_if(Json{{"shape", shape},
                                    {"device", device_state_to_json(device)},
                                    {"kernel", kernel},
                                    {"launch_path", "graph"}}
                                   .dump()));
}

// What a call runs first, then engines, then rungs, the fastest first.
void expect_order(const Json& answer, const Workload& workload, const Device& device) {
    const auto call = api::engine_of_call(workload, device, 0);
    ASSERT_TRUE(call.has_value());
    EXPECT_EQ(answer["call"], call->kernel->name);
    EXPECT_EQ(answer["kernels"][0]["kernel"], call->kernel->name);
    EXPECT_EQ(answer["kernels"][0]["tile"], call->kernel->tile_text(call->tile));
    std::pair<bool, double> before(false, 0);
    for (std::size_t i = 1; i < answer["kernels"].size(); ++i) {
        const Json& one = answer["kernels"][i];
        if (one.contains("seconds")) {
            const std::pair<bool, double> now(find_kernel(one["kernel"].get<std::string>()).ladder,
                                              one["seconds"].get<double>());
            EXPECT_GE(now, before) << one["kernel"];
            before = now;
        }
    }
}

// A time that nobody can have is no answer by itself.
TEST(WhatIf, SaysWhatMustBeKnownBeforeATimeIsTaken) {
    const auto caveats = [](const std::string& shape, const char* id) {
        return ask(shape, committed(id)).at("kernels").at(0).at("caveats").dump();
    };
    EXPECT_NE(
        caveats("b=1024,h=128/8,q=1,k=1000000,d=128,dtype=bf16", "h200").find("would be refused"),
        std::string::npos);
    EXPECT_NE(caveats("op=linear,m=1,n=1,k=1,dtype=bf16", "b200").find("no launch floor"),
              std::string::npos);
    EXPECT_NE(caveats("h=16,q=4096,k=4096,d=128,dtype=fp16", "v100").find("capability 7.5"),
              std::string::npos);
    EXPECT_EQ(caveats("b=4,h=32/8,q=1,k=1000,d=128,dtype=bf16", "h200"), "[]");
}

TEST(WhatIf, AnswersAsPredictDoes) {
    const Device device = committed("h200");
    const LaunchCase how{.cold = true, .launch_path = "graph"};
    for (const Workload& workload : make_suite("quickstart").workloads) {
        const std::string shape = format_shape(workload);
        const Json answer = ask(shape, device);
        ASSERT_TRUE(answer.contains("kernels")) << answer.dump();
        expect_order(answer, workload, device);
        for (const Json& one : answer["kernels"]) {
            const Kernel& kernel = find_kernel(one["kernel"].get<std::string>());
            if (one.contains("reason")) {
                EXPECT_EQ(one["reason"], why_not(kernel, workload, device));
                continue;
            }
            const bool of_call = one["kernel"] == answer["call"];
            const int tile = of_call ? api::engine_of_call(workload, device, 0)->tile
                                     : select_tiles(kernel, "best", workload, device, how).front();
            CaseOptions options;
            options.how = how;
            const Prediction p = predict_case({"", &kernel, tile, workload, options}, device);
            EXPECT_EQ(one["tile"], kernel.tile_text(tile));
            EXPECT_EQ(one["limiter"], p.limiter);
            EXPECT_DOUBLE_EQ(one["seconds"].get<double>(), p.seconds) << kernel.name << shape;
        }
    }
}

TEST(WhatIf, RungsComeLastHoweverFastTheyAre) {
    const Device device = committed("h200");
    const std::string shape = "b=1,h=1,q=1,k=64,d=64,dtype=fp16";
    const Json answer = ask(shape, device);
    expect_order(answer, parse_shape(shape), device);
    double of_engines = 1, of_rungs = 1;
    for (const Json& one : answer["kernels"]) {
        if (one.contains("seconds")) {
            double& least =
                find_kernel(one["kernel"].get<std::string>()).ladder ? of_rungs : of_engines;
            least = std::min(least, one["seconds"].get<double>());
        }
    }
    EXPECT_LT(of_rungs, of_engines) << "ask about a shape of which a rung is the fastest";
}

TEST(WhatIf, AKernelThatIsNamedIsNoCalls) {
    const Json answer = ask("b=1,h=8,q=64,k=64,d=64,dtype=fp16", committed("h200"), "tiled");
    EXPECT_TRUE(answer["call"].is_null());
    EXPECT_EQ(answer["kernels"].size(), 1U);
}

TEST(WhatIf, ACeilingThatIsAssumedChangesTheAnswer) {
    Device device = committed("h200");
    const std::string shape = "b=64,h=32/8,q=1,k=8192,d=128,dtype=bf16";
    const Json before = ask(shape, device, "decode_sm90");
    device.rates["byte.dram_read"].value /= 2;
    const Json after = ask(shape, device, "decode_sm90");
    EXPECT_EQ(before["kernels"].size(), 1U);
    EXPECT_GT(after["kernels"][0]["seconds"].get<double>(),
              1.5 * before["kernels"][0]["seconds"].get<double>());
    EXPECT_GT(after["bound"]["seconds"].get<double>(), before["bound"]["seconds"].get<double>());
}

TEST(WhatIf, WhatCannotBeAnsweredIsASentence) {
    EXPECT_NE(ask("h=0", committed("h200"))["error"].get<std::string>().find("h"),
              std::string::npos);
    EXPECT_NE(
        ask("h=1,q=1,k=64,d=64", committed("h200"), "nothing")["error"].get<std::string>().find(
            "nothing"),
        std::string::npos);
    EXPECT_TRUE(Json::parse(what_if("{")).contains("error"));
    EXPECT_TRUE(Json::parse(what_if("{}")).contains("error"));
    EXPECT_TRUE(Json::parse(what_if("\"\xff\"")).contains("error"));
}

TEST(WhatIf, ADeviceThatNoKernelRunsOnStillHasABound) {
    const Json answer = ask("h=8,q=1024,k=1024,d=64", committed("mi300x"));
    EXPECT_GT(answer["bound"]["seconds"].get<double>(), 0);
    EXPECT_TRUE(answer["call"].is_null());
    for (const Json& one : answer["kernels"]) {
        EXPECT_TRUE(one.contains("reason"));
    }
}

}  // namespace
}  // namespace raceline
