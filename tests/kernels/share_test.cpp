// SPDX-License-Identifier: Apache-2.0
// How a persistent forward kernel's work tiles fall to CTAs and what they cost there (gpu/tile),
// and what prefill_sm90 counts for a CTA that is alone with one work tile.
#include "schedule/share.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

#include "device/catalog.hpp"
#include "kernels/prefill_sm90/counts.hpp"
#include "model/prediction.hpp"
#include "schedule/queueing.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

namespace prefill = kernels::prefill_sm90;

const prefill::Tile drifting{128, 128, 192, 64, 3, 0};

Device committed_h200() {
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    return device;
}

std::map<std::string, Step> steps_of(const char* shape, const prefill::Tile& tile) {
    std::map<std::string, Step> steps;
    const std::vector<Counts> launches =
        prefill::counts(parse_shape(shape), tile, committed_h200());
    for (const Step& step : launches.back().steps) {
        steps.emplace(step.name, step);
    }
    return steps;
}

// Work tiles of so many blocks, drawn by two CTAs: what each has to do in the end.
std::pair<double, double> drawn(const std::vector<double>& blocks, double ahead) {
    schedule::Plan plan{};
    plan.ctas = 2;
    const auto loads = schedule::handed_out(
        plan, static_cast<std::int32_t>(blocks.size()), ahead, [&](std::int32_t index) {
            const double of_item = blocks[static_cast<std::size_t>(index)];
            return schedule::Load{.worked = of_item, .work_tiles = 1, .taken = of_item};
        });
    return {loads[0].taken, loads[1].taken};
}

// Whoever is done first has 10 and 3 of four work tiles of 10, 1, 1 and 1 blocks; but drawn when
// the first begins, the third is that one's CTA's.
TEST(Share, an_item_is_drawn_so_many_blocks_before_it_begins) {
    constexpr double whole_items = 100;
    EXPECT_EQ(drawn({10, 1, 1, 1}, whole_items), std::pair(11.0, 2.0));
    // The second CTA's work tiles go on beginning long before the first's next one.
    EXPECT_EQ(drawn({10, 1, 1, 1, 1, 1}, whole_items), std::pair(11.0, 4.0));
    // Who begins ten blocks first draws first, and has both.
    EXPECT_EQ(drawn({2, 1, 1, 10, 4}, whole_items), std::pair(3.0, 15.0));

    EXPECT_EQ(drawn({10, 1, 1, 1}, 0), std::pair(10.0, 3.0));
    EXPECT_EQ(drawn({2, 1, 1, 10, 4}, 0), std::pair(12.0, 6.0));
    // The second CTA draws the last work tile at 7 blocks, the first, three before its end, as
    // well.
    EXPECT_EQ(drawn({10, 6, 4, 4}, 3), std::pair(14.0, 10.0));
}

// Three work tiles of 3, 2 and 1 blocks: one CTA has the first, the other the others.
TEST(Share, what_stands_between_items_counts_for_who_is_busy_longest) {
    const Workload w = parse_shape("b=1,h=1,q=384,k=384,d=128,causal");
    const prefill::Tile tile{128, 128, 128, 128, 4, 0};
    schedule::Plan plan = prefill::make_plan(problem_of(w), tile, committed_h200());
    plan.ctas = 2;
    plan.handed_out = false;
    // A block of two warpgroups takes 1,000 clocks, of one 500: nobody waits.
    const schedule::Share share = schedule::share_of(
        w, plan, tile, [](int warpgroups) { return 500.0 * warpgroups; },
        [](int, double) { return 2000.0; });
    EXPECT_EQ(share.most.work_tiles, 2);
    EXPECT_DOUBLE_EQ(share.most.worked, 3);
    EXPECT_DOUBLE_EQ(share.most.taken, 3 + 2 * 2);
    EXPECT_DOUBLE_EQ(share.imbalance, 7 / ((6 + 3 * 2) / 2.0));
}

// Where they do not come out even the first tile has fewer groups of 64, all others their own.
TEST(Share, tiles_of_rows_are_whole_but_for_the_first) {
    for (const std::int32_t rows : {64, 128, 192, 256}) {
        for (std::int32_t length = 0; length < 1000; ++length) {
            const auto tiles = static_cast<std::int32_t>(divide_up(length, rows));
            std::int32_t done = 0;
            for (std::int32_t tile = 0; tile < tiles; ++tile) {
                const Rows r = schedule::rows_of_tile(tile, length, rows);
                ASSERT_EQ(r.first, done) << length << " by " << rows;
                ASSERT_GT(r.count(), 0) << length << " by " << rows;
                ASSERT_EQ(r.first % 64, 0) << length << " by " << rows;
                if (tile > 0) {
                    ASSERT_EQ(schedule::working_of(r), rows / 64) << length << " by " << rows;
                }
                done = r.end;
            }
            ASSERT_EQ(done, length) << rows;
            ASSERT_EQ(schedule::rows_of_tile(tiles, length, rows).count(), 0) << length;
        }
    }
}

// 512 rows by 192: 64 · (2 + 5 + 8) keys, where tiles from the first row on would read 3 + 6 + 8.
TEST(Share, under_a_causal_mask_the_tile_of_fewer_rows_reads_the_fewest_keys) {
    const Device h200 = committed_h200();
    const Workload w = parse_shape("b=1,h=1,q=512,k=512,d=128,causal");
    const schedule::Share share =
        prefill::share_of(w, prefill::make_plan(problem_of(w), drifting, h200), drifting);
    EXPECT_EQ(share.blocks, 15);
    EXPECT_EQ(share.keys, 960);
    EXPECT_EQ(share.rows, 512);
}

// Against every pair of a row and a key.
TEST(Share, masked_blocks_are_those_with_a_hidden_pair) {
    std::mt19937 random(7);
    const auto below = [&](int bound) {
        return static_cast<std::int32_t>(random() % static_cast<unsigned>(bound));
    };
    for (int round = 0; round < 300; ++round) {
        const prefill::Tile tile{64, 64, 64 * (2 + below(3)), 16 * (1 + below(12)), 2, 0};
        const Band band{1 + below(500), 1 + below(700), below(2) == 0 ? -1 : below(300),
                        below(2) == 0 ? -1 : below(300)};
        std::int32_t done = 0;
        for (std::int32_t number = 0; done < band.length_q; ++number) {
            const Rows rows = schedule::rows_of_tile(number, band.length_q, tile.rows);
            ASSERT_EQ(rows.first, done);
            done = rows.end;
            const Blocks blocks = band.blocks(rows, tile.keys);
            const auto own = schedule::own_blocks(band, rows, tile);
            double masked = 0, working = 0;
            for (int i = 0; i < tile.warpgroups(); ++i) {
                const std::int32_t first = rows.first + 64 * i;
                working += first < rows.end ? 1 : 0;
                const std::int32_t last = blocks.first + own[static_cast<std::size_t>(i)];
                for (std::int32_t block = blocks.first; block < last; ++block) {
                    bool hidden = false;
                    for (std::int32_t r = first; r < first + 64; ++r) {
                        hidden = hidden || band.begin(r) > block * tile.keys ||
                                 band.end(r) < (block + 1) * tile.keys;
                    }
                    masked += hidden ? 1 : 0;
                }
            }
            ASSERT_DOUBLE_EQ(schedule::masked_of(band, rows, tile), masked / working)
                << band.length_q << ' ' << band.length_k << ' ' << band.left << ' ' << band.right
                << ", row " << rows.first << ", " << tile.rows << " x " << tile.keys;
        }
    }
}

// Warpgroups drift apart by the stages that there are, not by a work tile.
TEST(Share, one_row_takes_one_warpgroup_whatever_others_there_are) {
    const Device h200 = committed_h200();
    const auto most = [&](const char* shape) {
        const Workload w = parse_shape(shape);
        return prefill::share_of(w, prefill::make_plan(problem_of(w), drifting, h200), drifting)
            .most;
    };
    const double alone =
        prefill::clocks_of_block(drifting, false, 1) / prefill::clocks_of_block(drifting, false, 3);
    EXPECT_GT(alone, 0.5);
    EXPECT_NEAR(most("b=4,h=66,q=1,k=1280,d=128").worked, 2 * 20 * alone, 1e-9);
    EXPECT_NEAR(most("b=4,h=66,q=1,k=1280,d=128").firsts, 2 * alone, 1e-9);
    EXPECT_EQ(most("b=4,h=66,q=1,k=1280,d=128").warpgroups, 2);
    // Two blocks: the others are not further ahead than the stages.
    EXPECT_NEAR(most("b=4,h=66,q=1,k=128,d=128").worked, 2 * 2 / 3.0, 1e-9);
}

TEST(Network, who_is_alone_multiplies_values_under_exponentials) {
    EXPECT_DOUBLE_EQ(schedule::shared_clocks({512, 512, 100, 300, 256}, 1), 300 + 512 + 256 + 160);
    EXPECT_DOUBLE_EQ(schedule::shared_clocks({512, 100, 100, 300, 256}, 1), 300 + 512 + 160);
    EXPECT_GT(schedule::shared_clocks({512, 512, 100, 300, 256}, 2),
              schedule::shared_clocks({512, 512, 100, 300, 256}, 1));
}

TEST(PrefillSm90Counts, one_row_waits_for_nobody_but_memory) {
    const prefill::Tile tile{64, 64, 128, 128, 4, 0};
    const auto row = steps_of("b=1,h=32/4,q=1,k=1185,d=64", tile);
    const auto rows = steps_of("b=1,h=32/4,q=128,k=1185,d=64", tile);
    EXPECT_DOUBLE_EQ(row.at("finish").clocks, prefill::clocks_between_tiles(tile, 1));
    EXPECT_LT(row.at("finish").clocks, 0.6 * rows.at("finish").clocks);
    EXPECT_LT(row.at("first softmax").clocks, rows.at("first softmax").clocks);
    // The heaviest CTA's blocks as one warpgroup does them.
    EXPECT_NEAR(row.at("block").repeat * row.at("block").clocks,
                9 * prefill::clocks_of_block(tile, false, 1), 1e-6);
    EXPECT_EQ(row.at("start").waits, "latency.dram");
    EXPECT_GT(steps_of("b=2,h=4,q=64;64,k=64;64,d=64", tile).at("start").repeat,
              row.at("start").repeat);
}

// Without a mask only the sequence's end needs one.
TEST(PrefillSm90Counts, masks_are_counted_by_the_block) {
    const prefill::Tile tile{64, 64, 128, 128, 4, 0};
    EXPECT_EQ(steps_of("b=1,h=1,q=128,k=256,d=64", tile).at("masks").repeat, 0);
    EXPECT_EQ(steps_of("b=1,h=1,q=128,k=250,d=64", tile).at("masks").repeat, 1);
    EXPECT_EQ(steps_of("b=1,h=1,q=128,k=128,d=64,causal", tile).at("masks").repeat, 1);
    // A window of 64: both warpgroups have two blocks that they see in part, and the lower one goes
    // through the upper one's first.
    const prefill::Tile narrow{64, 64, 128, 64, 4, 0};
    EXPECT_EQ(steps_of("b=1,h=1,q=128,k=256,d=64,causal,window=64", narrow).at("masks").repeat,
              2.5);
}

TEST(PrefillSm90Counts, a_counter_that_is_drawn_from_is_cleared_first) {
    const Device h200 = committed_h200();
    const prefill::Tile tile{64, 64, 128, 128, 4, 0};
    const auto launches = [&](const char* shape) {
        return prefill::counts(parse_shape(shape), tile, h200);
    };
    EXPECT_EQ(launches("b=1,h=4,q=2048,k=2048,d=64,causal").size(), 1U) << "fewer items than CTAs";
    const std::vector<Counts> two = launches("b=4,h=16,q=2048,k=2048,d=64,causal");
    ASSERT_EQ(two.size(), 2U);
    const Prediction both = predict(h200, two, {.cold = true, .launch_path = "graph"});
    const Prediction one =
        predict(h200, std::vector{two.back()}, {.cold = true, .launch_path = "graph"});
    EXPECT_NEAR(both.seconds - one.seconds, h200.rates.at("floor.launch_graph").value, 1e-12);
}

// Instructions of a softcap stand beside exponentials, not in their units.
TEST(PrefillSm90Counts, a_softcap_takes_issue_slots) {
    const prefill::Tile tile{128, 128, 192, 64, 3, 0};
    const double more =
        prefill::clocks_of_block(tile, false, 1, 30) - prefill::clocks_of_block(tile, false, 1);
    EXPECT_DOUBLE_EQ(more, 32 * 9 * 8 / 5.0);
}

}  // namespace
}  // namespace raceline
