// SPDX-License-Identifier: Apache-2.0
#include "workload/nvfp4.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "workload/cache_reader.hpp"
#include "workload/normal.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using Block = std::array<float, 16>;

Block through(const Block& values, std::vector<std::byte>* bytes = nullptr) {
    std::vector<std::byte> page(256 * 9 / 16);
    Block back{};
    store_nvfp4(page.data(), 256, 32, values);
    load_nvfp4(page.data(), 256, 32, back);
    if (bytes != nullptr) {
        *bytes = page;
    }
    return back;
}

TEST(Nvfp4, every_code_survives_and_lies_where_the_layout_says) {
    const Block codes{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};
    std::vector<std::byte> page;
    EXPECT_EQ(through(codes, &page), codes);    // the largest is 6: the scale is 1
    EXPECT_EQ(page[128 + 2], std::byte{0x38});  // in E4M3, behind 128 bytes of codes
    const std::array<int, 8> pairs{0x10, 0x32, 0x54, 0x76, 0x90, 0xba, 0xdc, 0xfe};
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        EXPECT_EQ(page[16 + i], std::byte(pairs[i])) << i;  // the first in the low half
    }
}

TEST(Nvfp4, elements_go_to_the_nearest_multiple_of_their_scale) {
    Block values;
    for (int block = 0; block < 200; ++block) {
        fill_normal(reinterpret_cast<std::byte*>(values.data()), DType::fp32, 16, 5, block);
        const float largest = *std::max_element(values.begin(), values.end(), [](float a, float b) {
            return std::abs(a) < std::abs(b);
        });
        const Block back = through(values);
        for (std::size_t i = 0; i < values.size(); ++i) {
            // Half a step at 6 is one sixth; the scale is off by a sixteenth at most.
            const double step = std::abs(largest) / 6 *
                                (std::abs(values[i]) * 6 > 3.9 * std::abs(largest) ? 1.0 : 0.5);
            EXPECT_NEAR(values[i], back[i], 1.3 * step) << block << ' ' << i;
        }
    }
    EXPECT_EQ(through(Block{}), Block{});
    Block tiny{};
    tiny[3] = 1e-6F;  // below the smallest scale
    EXPECT_EQ(through(tiny), Block{});
    Block huge{};
    huge[3] = -1e6F;  // above the largest
    EXPECT_EQ(through(huge)[3], -448.F * 6);
}

TEST(Nvfp4, pages_hold_their_scales_and_poison_the_rest) {
    const Workload w = parse_shape("b=2,h=4/2,q=1,k=37;5,d=64,dtype=fp16,kv=nvfp4,page=16");
    const Inputs in = make_inputs(w, {.seed = 2});
    const Nvfp4Pages pages(w, 2 * 64);
    EXPECT_EQ(pages.bytes(), 16 * 2 * 64 * 9 / 16);
    EXPECT_EQ(in.k.size() % static_cast<std::size_t>(pages.bytes()), 0U);
    EXPECT_GT(in.k.size(), static_cast<std::size_t>(4 * pages.bytes()));
    EXPECT_EQ(in.k_scale.size(), 4U);
    for (const std::int64_t sequence : {0, 1}) {
        const CacheReader reader(w, in, sequence, 1);
        std::vector<float> keys, values;
        reader.keys(0, w.length_k(sequence), keys);
        reader.values(0, w.length_k(sequence), values);
        double squares = 0;
        for (const float x : values) {
            ASSERT_TRUE(std::isfinite(x));
        }
        for (const float x : keys) {
            ASSERT_TRUE(std::isfinite(x));
            squares += static_cast<double>(x) * x;
        }
        // Normals, one channel of 64 of which is eight times as large: 1 + 63 / 64.
        EXPECT_NEAR(squares / static_cast<double>(keys.size()), 2, 0.8);
    }
    std::vector<float> behind(64);
    const std::int64_t last = in.block_table[1 * in.block_table_stride];
    load_nvfp4(in.k.data() + last * pages.bytes(), pages.elements, 5 * 128, behind);
    EXPECT_TRUE(std::isnan(behind[0]));
    InputPointers at;
    EXPECT_EQ(make_args(w, in, at).k.batch_stride, 16 * 2 * 64);
    // 7 tokens of 64 are no multiple of 256: the next sequence starts further on.
    const Workload odd = parse_shape("b=2,h=1,q=1,k=7,d=64,dtype=fp16,kv=nvfp4");
    EXPECT_EQ(make_args(odd, make_inputs(odd, {}), at).v.batch_stride, 512);
}

}  // namespace
}  // namespace raceline
