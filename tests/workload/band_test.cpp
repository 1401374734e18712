// SPDX-License-Identifier: Apache-2.0
// The mask, from its words to the keys that a row sees: the function that folds it and the Band
// that turns it into indices, against the definition key by key.
#include "workload/band.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "workload/inputs.hpp"
#include "workload/problem.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// Row i stands beside key i + (k - q); causal hides what lies behind it, a window what lies further
// than its sides. Written from docs/shapes.md, not from the code.
bool is_visible(const Workload& w, std::int64_t i, std::int64_t key) {
    const std::int64_t beside = i + w.seqlen_k - w.seqlen_q;
    if (w.mask == Mask::causal && key > beside) {
        return false;
    }
    if (w.window && w.window->left >= 0 && key < beside - w.window->left) {
        return false;
    }
    return !(w.window && w.window->right >= 0 && key > beside + w.window->right);
}

std::vector<Workload> workloads() {
    std::vector<Workload> all;
    for (const char* lengths :
         {"q=7,k=7", "q=3,k=11", "q=11,k=3", "q=9,k=40", "q=4,k=0", "q=1,k=5"}) {
        for (const char* mask :
             {"", ",causal", ",window=4", ",window=4,causal", ",window=2:3", ",window=0:0",
              ",window=99:99", ",window=inf:1", ",window=inf:6,causal"}) {
            all.push_back(parse_shape(std::string("b=2,h=4/2,d=64,") + lengths + mask));
        }
    }
    return all;
}

template <class AnyBand>
void expect_visible(const Workload& w, const AnyBand& band, const char* of) {
    for (int i = 0; i < w.seqlen_q; ++i) {
        for (int key = 0; key < w.seqlen_k; ++key) {
            EXPECT_EQ(key >= band.begin(i) && key < band.end(i), is_visible(w, i, key))
                << of << ": " << format_shape(w) << " row " << i << " key " << key;
        }
    }
}

TEST(Band, has_the_keys_that_mask_and_window_leave) {
    for (const Workload& w : workloads()) {
        const Window side = folded_window(w);
        expect_visible(w, problem_of(w).band(), "of a workload");
        expect_visible(w, WideBand{w.seqlen_q, w.seqlen_k, side.left, side.right}, "wide");
        for (std::int64_t i = 0; i < w.seqlen_q; ++i) {
            const auto [first, last] = w.visible(1, i);
            for (std::int64_t key = 0; key < w.seqlen_k; ++key) {
                EXPECT_EQ(key >= first && key < last, is_visible(w, i, key)) << format_shape(w);
            }
        }
    }
}

TEST(Band, of_a_launch_is_that_of_its_workload) {
    for (const Workload& w : workloads()) {
        AttentionArgs args;
        set_sizes(args, w);
        const Problem of_args = problem_of(args);
        const Problem of_workload = problem_of(w);
        expect_visible(w, of_args.band(), "of arguments");
        EXPECT_EQ(of_args.group(), of_workload.group());
        EXPECT_EQ(of_args.seqlen_k, of_workload.seqlen_k);
        EXPECT_EQ(of_args.window.left, of_workload.window.left) << format_shape(w);
        EXPECT_EQ(of_args.window.right, of_workload.window.right) << format_shape(w);
        EXPECT_EQ(of_args.uneven(), of_workload.uneven()) << format_shape(w);
    }
}

TEST(Band, whole_blocks_are_seen_by_all_rows_and_the_others_by_some) {
    for (const Workload& w : workloads()) {
        const Band band = problem_of(w).band();
        for (int keys : {1, 2, 5}) {
            for (int row = 0; row < w.seqlen_q; row += 3) {
                const int rows = std::min<int>(3, static_cast<int>(w.seqlen_q) - row);
                const Blocks any = band.blocks(row, rows, keys);
                const Blocks all = band.plain(row, rows, keys);
                int masked = 0;
                for (int block = 0; block * keys < w.seqlen_k; ++block) {
                    int seen = 0;
                    for (int key = block * keys; key < (block + 1) * keys; ++key) {
                        for (int i = row; i < row + rows; ++i) {
                            seen += key < w.seqlen_k && is_visible(w, i, key) ? 1 : 0;
                        }
                    }
                    const bool in_any = block >= any.first && block < any.last;
                    EXPECT_TRUE(in_any || seen == 0) << format_shape(w) << " block " << block;
                    const bool whole = seen == rows * keys;
                    EXPECT_EQ(in_any && block >= all.first && block < all.last, whole)
                        << format_shape(w) << " rows " << row << " block " << block << " of "
                        << keys;
                    masked += in_any && !whole ? 1 : 0;
                }
                EXPECT_EQ(band.masked(row, rows, keys), masked) << format_shape(w);
            }
        }
    }
}

TEST(Band, of_sides_beyond_the_lengths_does_not_overflow) {
    Workload w = parse_shape("b=1,h=1,q=1000,k=1000,d=64,window=2147483647:2147483647");
    const Band band = problem_of(w).band();
    EXPECT_EQ(band.begin(999), 0);
    EXPECT_EQ(band.end(0), 1000);
}

}  // namespace
}  // namespace raceline
