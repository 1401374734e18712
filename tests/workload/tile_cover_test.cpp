// SPDX-License-Identifier: Apache-2.0
#include "workload/tile_cover.hpp"

#include <gtest/gtest.h>

#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// Every tile looked at, pair by pair.
TileCover looked_at(const Workload& w, std::int64_t rows, std::int64_t keys) {
    TileCover c;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        for (std::int64_t r = 0; r < w.length_q(b); r += rows) {
            double visited = 0;
            for (std::int64_t k = 0; k < w.length_k(b); k += keys) {
                bool any = false;
                for (std::int64_t row = r; row < std::min(r + rows, w.length_q(b)); ++row) {
                    const auto seen = w.visible(b, row);
                    const auto last = std::min({seen.last, k + keys, w.length_k(b)});
                    const auto count = last - std::max(seen.first, k);
                    any |= count > 0;
                    c.row_visits += count > 0 ? static_cast<double>(w.heads_q) : 0;
                    c.pairs += count > 0 ? static_cast<double>(count * w.heads_q) : 0;
                }
                visited += any ? 1 : 0;
            }
            c.row_tiles += static_cast<double>(w.heads_q);
            c.tiles += visited * static_cast<double>(w.heads_q);
            c.most_tiles = std::max(c.most_tiles, visited);
        }
    }
    return c;
}

TEST(TileCover, is_what_a_walk_over_all_tiles_finds) {
    for (const char* shape :
         {"b=2,h=3,q=37,k=70,d=64", "b=1,h=2,q=70,k=37,d=64,causal",
          "b=2,h=2,q=64,k=64,d=64,causal", "b=1,h=2,q=5,k=100,d=64,causal", "b=1,h=1,q=3,k=0,d=64",
          "b=3,h=2,q=1,k=65,d=64", "b=1,h=2,q=90,k=90,d=64,causal,window=20",
          "b=3,h=2,q=3;0;40,k=100;0;7,d=64,causal"}) {
        const Workload w = parse_shape(shape);
        for (const auto& [rows, keys] : {std::pair{8, 32}, std::pair{32, 32}, std::pair{64, 16}}) {
            const TileCover fast = cover_tiles(w, rows, keys);
            const TileCover slow = looked_at(w, rows, keys);
            EXPECT_EQ(fast.row_tiles, slow.row_tiles) << shape;
            EXPECT_EQ(fast.tiles, slow.tiles) << shape;
            EXPECT_EQ(fast.row_visits, slow.row_visits) << shape;
            EXPECT_EQ(fast.most_tiles, slow.most_tiles) << shape;
            EXPECT_EQ(fast.pairs, slow.pairs) << shape;
        }
    }
}

}  // namespace
}  // namespace raceline
