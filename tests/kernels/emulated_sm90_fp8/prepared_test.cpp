// SPDX-License-Identifier: Apache-2.0
// V transposed by a launch of its own: what that launch writes, and that the products are those of
// the same tile without.
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "kernels/prefill_sm90/e4m3_tile.hpp"
#include "kernels/prefill_sm90/fragment.hpp"
#include "tests/kernels/emulated_sm90_fp8/call.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using kernels::prefill_sm90_fp8::Tile;
using kernels::prefill_sm90_fp8::tiles;
using test::Answer;
using test::answer_of;
using test::Layout;
using test::small_hopper;

// One prepared tile that serves the call for every sort of blocks: stages and turns move no byte.
std::vector<int> prepared_tiles(const Workload& w) {
    const Kernel kernel = test::fp8::kernel();
    std::vector<int> some;
    for (int i = 0; i < kernel.tile_count(); ++i) {
        const Tile& tile = tiles[static_cast<std::size_t>(i)];
        const bool known = std::any_of(some.begin(), some.end(), [&](int other) {
            const Tile& t = tiles[static_cast<std::size_t>(other)];
            return t.keys == tile.keys && t.rows == tile.rows;
        });
        if (tile.prepared != 0 && !known &&
            kernel.why_not(test::asking_for(w, i), i, small_hopper(1)).empty()) {
            some.push_back(i);
        }
    }
    EXPECT_FALSE(some.empty());
    return some;
}

// Tiles that multiply the same blocks in the same order.
bool alike(const Tile& a, const Tile& b) {
    return a.headdim == b.headdim && a.rows == b.rows && a.keys == b.keys && a.promote == b.promote;
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

struct Case {
    const char* shape;
    Layout layout;
};
void PrintTo(const Case& c, std::ostream* out) {
    *out << c.shape;
}
class Prepared : public testing::TestWithParam<Case> {};
TEST_P(Prepared, tiles_give_bit_for_bit_what_they_give_without) {
    const Workload w = parse_shape(GetParam().shape, DType::e4m3);
    const Kernel kernel = test::fp8::kernel();
    const Device device = small_hopper(3);
    int compared = 0;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const Workload asking = test::asking_for(w, static_cast<int>(i));
        if (tiles[i].prepared == 0 ||
            !kernel.why_not(asking, static_cast<int>(i), device).empty()) {
            continue;
        }
        const auto* other = std::find_if(tiles.begin(), tiles.end(), [&](const Tile& t) {
            return t.prepared == 0 && alike(t, tiles[i]);
        });
        if (other == tiles.end()) {
            continue;  // no tile of such blocks transposes V on its way
        }
        ++compared;
        const auto answer = [&](std::size_t tile) {
            return answer_of(w, static_cast<int>(tile), device, GetParam().layout, 5);
        };
        const Answer got = answer(i);
        const Answer expected = answer(static_cast<std::size_t>(other - tiles.begin()));
        EXPECT_TRUE(same_bytes(got.out, expected.out)) << GetParam().shape << " tile " << i;
        EXPECT_TRUE(same_bytes(got.lse, expected.lse)) << GetParam().shape << " tile " << i;
    }
    EXPECT_GE(compared, 2);
}
INSTANTIATE_TEST_SUITE_P(
    EmulatedSm90, Prepared,
    testing::Values(Case{"b=1,h=2,q=200,k=500,d=64,causal", {}},
                    Case{"b=2,h=4/2,q=70,k=333,d=128,window=200", {.gap = 16, .out_gap = 8}},
                    Case{"b=1,h=2,q=140,k=240,d=192/128,causal", {}},
                    Case{"b=5,h=2/1,q=30;1;129;0;9,k=0;1;200;5;96,d=80,causal", {.gap = 48}}),
    [](const auto& info) { return std::to_string(info.index); });

// The order of bytes that the products want, from the layouts' own functions (fragment.hpp) and not
// from the code that moves them; zeros where there is no key or no column.
template <int row_bytes>
std::byte& image_byte(std::byte* image, const Tile& tile, int key, int column) {
    const int position = kernels::hopper::key_position(key);
    const int row = kernels::hopper::value_row(column);
    return image[kernels::hopper::swizzled_bytes<row_bytes>(row, position / 16, tile.headdim) +
                 position % 16];
}
std::byte& image_byte(std::byte* image, const Tile& tile, int key, int column) {
    switch (tile.key_row_bytes()) {
        case 128: return image_byte<128>(image, tile, key, column);
        case 64: return image_byte<64>(image, tile, key, column);
        default: return image_byte<32>(image, tile, key, column);
    }
}

// Of a call without gaps: the workspace as it must be, images that nobody reads untouched.
std::vector<std::byte> expected_images(const Workload& w, const Inputs& in, const Tile& tile,
                                       std::size_t bytes) {
    std::vector<std::byte> images(bytes, std::byte{0xff});
    std::int64_t token = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        const auto sequence = static_cast<std::int32_t>(b);
        const std::int64_t place = in.cu_seqlens_k.empty()
                                       ? sequence * divide_up(w.seqlen_k, tile.keys)
                                       : kernels::prefill_sm90_fp8::packed_place(
                                             static_cast<std::int32_t>(token), sequence, tile.keys);
        const std::int64_t blocks = divide_up(w.length_k(b), tile.keys);
        for (std::int64_t n = 0; n < blocks * w.heads_kv; ++n) {
            const std::int64_t head = n % w.heads_kv;
            std::byte* image = images.data() + (place * w.heads_kv + n) * tile.block_bytes();
            for (int key = 0; key < tile.keys; ++key) {
                const std::int64_t at = n / w.heads_kv * tile.keys + key;
                const std::int64_t row = (token + at) * w.heads_kv + head;
                for (int column = 0; column < tile.headdim; ++column) {
                    const bool there = at < w.length_k(b) && column < w.headdim_v;
                    image_byte(image, tile, key, column) =
                        there ? in.v[static_cast<std::size_t>(row * w.headdim_v + column)]
                              : std::byte{0};
                }
            }
        }
        token += w.length_k(b);
    }
    return images;
}

TEST(EmulatedSm90Fp8Images, are_blocks_as_shared_memory_has_them_with_zeros_behind_the_end) {
    // V is NaN in the second half of all tokens: nothing of it may come into the others' images.
    const auto some_nan = [](Inputs& in) {
        std::fill(in.v.begin() + static_cast<std::ptrdiff_t>(in.v.size() / 2), in.v.end(),
                  std::byte{0x7f});
    };
    for (const char* shape : {"b=2,h=2/2,q=1,k=300,d=128", "b=5,h=4/2,q=1,k=0;97;1;300;192,d=128",
                              "b=3,h=1,q=1,k=127;1;300,d=48", "b=1,h=2,q=1,k=500,d=64",
                              "b=2,h=1,q=1,k=100,d=160/80", "b=3,h=1,q=1,k=0;200;7,d=256"}) {
        const Workload w = parse_shape(shape, DType::e4m3);
        for (const int i : prepared_tiles(w)) {
            const Tile& tile = tiles[static_cast<std::size_t>(i)];
            Answer a = answer_of(w, i, small_hopper(1), {}, 5, some_nan);
            constexpr std::size_t before = kernels::prefill_sm90_fp8::images_offset;
            const std::vector<std::byte> got(a.scratch.start() + before,
                                             a.scratch.start() + a.scratch.bytes());
            EXPECT_TRUE(same_bytes(got, expected_images(w, a.in, tile, got.size())))
                << shape << " tile " << i;
        }
    }
}

// A packed batch in which every other sequence's V is NaN gives the others what they have without.
TEST(EmulatedSm90Fp8Images, nan_in_a_sequence_stays_there) {
    for (const char* shape :
         {"b=4,h=2/1,q=3,k=100;117;7;130,d=128", "b=4,h=1,q=3,k=100;117;7;30,d=64,causal",
          "b=4,h=1,q=3,k=100;17;7;30,d=256"}) {
        const Workload w = parse_shape(shape, DType::e4m3);
        const auto odd_nan = [&](Inputs& in) {
            const auto row = static_cast<std::size_t>(w.heads_kv * w.headdim_v);
            for (const std::size_t b : {1U, 3U}) {
                for (auto i = in.cu_seqlens_k[b] * row; i < in.cu_seqlens_k[b + 1] * row; ++i) {
                    in.v[i] = std::byte{0x7f};
                }
            }
        };
        for (const int tile : prepared_tiles(w)) {
            const Answer with = answer_of(w, tile, small_hopper(2), {}, 5, odd_nan);
            const Answer without = answer_of(w, tile, small_hopper(2), {}, 5);
            const auto sequence = static_cast<std::size_t>(3 * w.heads_q * w.headdim_v);
            for (const std::size_t b : {0U, 2U}) {
                EXPECT_EQ(0, std::memcmp(with.out.data() + b * sequence,
                                         without.out.data() + b * sequence, 2 * sequence))
                    << shape << " tile " << tile << " sequence " << b;
            }
            EXPECT_EQ(with.out[sequence] & 0x7fff, 0x7fff) << "the NaN itself is not read";
        }
    }
}

}  // namespace
}  // namespace raceline
