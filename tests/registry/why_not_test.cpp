// SPDX-License-Identifier: Apache-2.0
// What several engines ask of a workload and of a launch's arguments.
#include "registry/why_not.hpp"

#include <array>
#include <gtest/gtest.h>

#include "registry/launch_args.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

struct Tile {
    std::int32_t headdim, headdim_v;
};
constexpr std::array tiles{Tile{256, 256}, Tile{64, 64}, Tile{192, 128}, Tile{128, 128}};

TEST(WhyNot, the_narrowest_tile_that_holds_both_head_dims_serves) {
    EXPECT_EQ(narrowest(tiles, {64, 64}), (HeadDims{64, 64}));
    EXPECT_EQ(narrowest(tiles, {72, 8}), (HeadDims{128, 128}));
    EXPECT_EQ(narrowest(tiles, {136, 128}), (HeadDims{192, 128}));
    EXPECT_EQ(narrowest(tiles, {136, 136}), (HeadDims{256, 256}));
    EXPECT_EQ(narrowest(tiles, {264, 64}), (HeadDims{0, 0}));
}

TEST(WhyNot, head_dims_are_refused_in_this_order) {
    const auto asked = [](const char* shape, const Tile& tile) {
        return why_not_head_dims(parse_shape(shape), tiles, tile);
    };
    EXPECT_EQ(asked("h=1,q=8,k=8,d=60,dtype=bf16", tiles[1]),
              "head dims 60 and 60 must be multiples of 8");
    EXPECT_EQ(asked("h=1,q=8,k=8,d=264,dtype=bf16", tiles[0]),
              "head dims 264 and 264 are over 256");
    EXPECT_EQ(asked("h=1,q=8,k=8,d=56,dtype=bf16", tiles[3]),
              "tiles of head dims 64 and 64 serve head dims 56 and 56");
    EXPECT_EQ(asked("h=1,q=8,k=8,d=56,dtype=bf16", tiles[1]), "");
}

TEST(WhyNot, a_tile_of_one_width_is_told_by_one) {
    const auto asked = [](const char* shape, std::int64_t granule, HeadDim serving) {
        return why_not_widths(parse_shape(shape), granule, serving, HeadDim{128});
    };
    EXPECT_EQ(asked("h=1,q=8,k=8,d=80/72,dtype=bf16", 16, {128}),
              "head dims 80 and 72 must be multiples of 16");
    EXPECT_EQ(asked("h=1,q=8,k=8,d=264,dtype=bf16", 8, {0}), "head dims 264 and 264 are over 256");
    EXPECT_EQ(asked("h=1,q=8,k=8,d=56,dtype=bf16", 8, {64}),
              "tiles of head dim 64 serve head dims 56 and 56");
    EXPECT_EQ(asked("h=1,q=8,k=8,d=120,dtype=bf16", 8, {128}), "");
}

TEST(WhyNot, a_device_is_refused_by_what_it_is) {
    Device device;
    device.kind = DeviceKind::cpu;
    EXPECT_EQ(why_not_cuda(device), "it needs a CUDA device");
    EXPECT_EQ(why_not_hopper(device), "it needs a Hopper GPU (compute capability 9.0)");
    device.kind = DeviceKind::cuda;
    device.compute_capability = 80;
    EXPECT_EQ(why_not_cuda(device), "");
    EXPECT_EQ(why_not_hopper(device), "it needs a Hopper GPU (compute capability 9.0)");
    device.compute_capability = 90;
    EXPECT_EQ(why_not_hopper(device), "");
}

TEST(LaunchArgs, chunks_need_address_strides_and_width) {
    alignas(16) std::array<std::uint16_t, 16> memory{};
    const TensorArg good{memory.data(), 64, 16, 8};
    EXPECT_TRUE(in_chunks(good, 16, DType::bf16));
    EXPECT_FALSE(in_chunks(good, 12, DType::bf16));
    EXPECT_TRUE(in_chunks(good, 12, DType::bf16, 8));
    for (const TensorArg bad :
         {TensorArg{memory.data() + 1, 64, 16, 8}, TensorArg{memory.data(), 60, 16, 8},
          TensorArg{memory.data(), 64, 12, 8}, TensorArg{memory.data(), 64, 16, 4}}) {
        EXPECT_FALSE(in_chunks(bad, 16, DType::bf16));
    }
}

TEST(LaunchArgs, a_softcap_takes_the_scale_into_its_tanh) {
    AttentionArgs a;
    a.scale = 0.5F;
    EXPECT_FLOAT_EQ(positive_score_scale("engine", a).log2, 0.72134752F);
    EXPECT_EQ(positive_score_scale("engine", a).cap_inner, 0);
    a.softcap = 20;
    EXPECT_FLOAT_EQ(positive_score_scale("engine", a).log2, 28.8539F);
    EXPECT_FLOAT_EQ(positive_score_scale("engine", a).cap_inner, 0.025F);
    a.scale = -1;
    EXPECT_THROW(positive_score_scale("engine", a), Error);
    // Not every engine needs a positive scale. A cap that no score comes near is none.
    a.scale = -0.5F;
    EXPECT_FLOAT_EQ(score_scale(a).cap_inner, -0.025F);
    a.softcap = 1e38F;
    EXPECT_EQ(score_scale(a).cap_inner, 0);
    EXPECT_FLOAT_EQ(score_scale(a).log2, -0.72134752F);
}

}  // namespace
}  // namespace raceline
