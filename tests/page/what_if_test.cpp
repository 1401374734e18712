// SPDX-License-Identifier: Apache-2.0
#include "page/what_if.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

TEST(WhatIf, AnswersAsPredictDoes) {
    const Device device = committed("h200");
    const LaunchCase how{.cold = true, .launch_path = "graph"};
    for (const Workload& workload : make_suite("quickstart").workloads) {
        const std::string shape = format_shape(workload);
        const Json answer = ask(shape, device);
        ASSERT_TRUE(answer.contains("kernels")) << answer.dump();
        double before = 0;
        for (const Json& one : answer["kernels"]) {
            const Kernel& kernel = find_kernel(one["kernel"].get<std::string>());
            if (one.contains("reason")) {
                EXPECT_EQ(one["reason"], why_not(kernel, workload, device));
                continue;
            }
            const int tile = select_tiles(kernel, "best", workload, device, how).front();
            CaseOptions options;
            options.how = how;
            const Prediction p = predict_case({"", &kernel, tile, workload, options}, device);
            EXPECT_EQ(one["tile"], kernel.tile_text(tile));
            EXPECT_EQ(one["limiter"], p.limiter);
            EXPECT_DOUBLE_EQ(one["seconds"].get<double>(), p.seconds) << kernel.name << shape;
            EXPECT_GE(one["seconds"].get<double>(), before) << "the fastest first";
            before = one["seconds"].get<double>();
        }
    }
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
    for (const Json& one : answer["kernels"]) {
        EXPECT_TRUE(one.contains("reason"));
    }
}

}  // namespace
}  // namespace raceline
