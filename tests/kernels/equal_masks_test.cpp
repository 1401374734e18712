// SPDX-License-Identifier: Apache-2.0
// Masks that hide the same keys are one problem, however they are said: the same kernels serve it,
// and each of them is predicted to take the same time.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "device/catalog.hpp"
#include "model/prediction.hpp"
#include "registry/registry.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/workload.hpp"

namespace raceline {
namespace {

struct SameMasks {
    std::string shape;
    std::vector<std::string> masks;
};

const std::vector<SameMasks>& same_masks() {
    static const std::vector<SameMasks> all{
        {"b=2,h=8/2,q=1,k=300,d=64",
         {"", ",causal", ",window=299:0", ",window=inf:0", ",window=5000:7"}},
        {"h=2,q=64,k=64,d=64,dtype=fp16", {",causal", ",window=inf:0", ",window=63:0"}},
        {"h=2,q=64,k=64,d=64,dtype=fp16", {"", ",window=63:63", ",window=999:999"}},
        {"h=4/1,q=100,k=3000,d=128,dtype=bf16",
         {",causal", ",window=2999:0", ",window=100000,causal"}},
        {"h=4/1,q=100,k=3000,d=128,dtype=bf16", {",window=50:0", ",window=50,causal"}},
        {"h=4/1,q=300;200,k=400;1000,d=128,dtype=bf16", {"", ",window=999:299"}},
    };
    return all;
}

// Of each kernel and tile that serves a shape the predicted time, of the others why not.
std::vector<std::string> answers(const Workload& w, const Device& device) {
    std::vector<std::string> all;
    const LaunchCase how{};
    for (const Kernel& kernel : all_kernels()) {
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            const std::string why = kernel.why_not(w, tile, device);
            const std::string answer =
                why.empty()
                    ? fmt::format("{}",
                                  predict(device, kernel.counts(w, tile, device), how).seconds)
                    : why;
            all.push_back(fmt::format("{} {}: {}", kernel.name, tile, answer));
        }
    }
    return all;
}

TEST(EqualMasks, are_served_and_predicted_alike) {
    for (const char* id : {"h200", "cpu"}) {
        const Device device = datasheet_device(id);
        for (const auto& [shape, masks] : same_masks()) {
            const auto first = answers(parse_shape(shape + masks.front()), device);
            for (const std::string& mask : masks) {
                EXPECT_EQ(answers(parse_shape(shape + mask), device), first) << id << shape << mask;
            }
        }
    }
}

TEST(EqualMasks, are_folded_into_one_window) {
    for (const auto& [shape, masks] : same_masks()) {
        const Window first = folded_window(parse_shape(shape + masks.front()));
        for (const std::string& mask : masks) {
            EXPECT_EQ(folded_window(parse_shape(shape + mask)), first) << shape << mask;
        }
    }
    // One key more is hidden.
    EXPECT_EQ(folded_window(parse_shape("h=1,q=3,k=9,d=64,window=7:inf")).left, 7);
    EXPECT_EQ(folded_window(parse_shape("h=1,q=3,k=9,d=64,window=inf:1")).right, 1);
}

}  // namespace
}  // namespace raceline
