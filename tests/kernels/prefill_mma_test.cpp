// SPDX-License-Identifier: Apache-2.0
// prefill_mma's schedule, layouts, counts and record; the kernel itself runs in test_emulated_mma,
// what the compiler made of it is in prefill_mma_report_test.cpp.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <vector>

#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "kernels/prefill_mma/counts.hpp"
#include "kernels/prefill_mma/fragment.hpp"
#include "kernels/prefill_mma/params.hpp"
#include "model/occupancy.hpp"
#include "registry/registry.hpp"
#include "registry/why_not.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

namespace prefill = kernels::prefill_mma;

TEST(PrefillMmaSchedule, every_item_is_done_once_and_long_ones_first) {
    for (const prefill::Order order :
         {prefill::Order{5, 12, 4}, {5, 13, 4}, {1, 1, 1}, {7, 3, 3}, {2, 300, 66}}) {
        std::set<std::pair<int, int>> seen;
        for (int i = 0; i < order.work_tiles(); ++i) {
            const schedule::WorkTile item = order.work_tile(i);
            ASSERT_TRUE(seen.emplace(item.row_tile, item.head).second);
            ASSERT_TRUE(item.row_tile >= 0 && item.row_tile < order.row_tiles);
            ASSERT_TRUE(item.head >= 0 && item.head < order.heads);
            const schedule::WorkTile before = order.work_tile(std::max(0, i - 1));
            if (item.head / order.heads_per_group == before.head / order.heads_per_group) {
                EXPECT_LE(item.row_tile, before.row_tile);
            } else {
                EXPECT_GT(item.head, before.head);
            }
        }
    }
}

// Row by row, those behind the last one included: what the kernel asks of a warp's rows.
int masked_blocks(const Band& band, const Blocks& blocks, int first, const prefill::Tile& tile) {
    int masked = 0;
    for (int block = blocks.first; block < blocks.last; ++block) {
        bool seen = true;
        for (int row = first; row < first + tile.rows; ++row) {
            seen = seen && block * tile.keys >= band.begin(row) &&
                   (block + 1) * tile.keys <= band.end(row);
        }
        masked += seen ? 0 : 1;
    }
    return masked;
}

TEST(PrefillMmaSchedule, blocks_hold_the_keys_of_their_rows_and_no_block_too_many) {
    for (const char* shape :
         {"q=300,k=300", "q=300,k=300,causal", "q=100,k=517,causal", "q=517,k=100,causal",
          "q=300,k=400,window=60", "q=300,k=400,window=20:9", "q=4,k=0,causal",
          "q=500,k=200,window=30,causal", "q=300,k=362,causal", "q=300,k=400,window=98:200",
          "q=300,k=363,window=65:65"}) {
        const Workload w = parse_shape(std::string("b=1,h=1,d=64,") + shape);
        for (const prefill::Tile& tile : prefill::tiles) {
            const prefill::Plan plan =
                prefill::make_plan(problem_of(w), tile, datasheet_device("h200"));
            for (int first = 0; first < w.seqlen_q; first += tile.rows) {
                std::int64_t from = w.seqlen_k, to = 0;
                const std::int64_t end = std::min<std::int64_t>(first + tile.rows, w.seqlen_q);
                for (std::int64_t row = first; row < end; ++row) {
                    const Workload::KeyRange keys = w.visible(0, row);
                    if (keys.first < keys.last) {
                        from = std::min(from, keys.first);
                        to = std::max(to, keys.last);
                    }
                }
                const Blocks blocks = plan.band.blocks(first, tile.rows, tile.keys);
                if (from >= to) {
                    EXPECT_EQ(blocks.count(), 0) << shape << " row " << first;
                    continue;
                }
                EXPECT_EQ(blocks.first, from / tile.keys) << shape << " row " << first;
                EXPECT_EQ(blocks.last, (to + tile.keys - 1) / tile.keys) << shape;
                EXPECT_EQ(plan.band.masked(first, tile.rows, tile.keys),
                          masked_blocks(plan.band, blocks, first, tile))
                    << shape << " row " << first;
            }
        }
    }
}

// CTAs start in order, each on the place that is free first: no launch of training-16k with enough
// CTAs leaves more than a twentieth of its places' time unused.
TEST(PrefillMmaSchedule, causal_work_ends_evenly) {
    const Device h200 = datasheet_device("h200");
    for (const Workload& w : make_suite("training-16k").workloads) {
        for (const prefill::Tile& tile : prefill::tiles) {
            if (narrowest(prefill::tiles, {w.headdim, w.headdim_v}) !=
                HeadDims{tile.headdim, tile.headdim_v}) {
                continue;
            }
            const prefill::Plan plan = prefill::make_plan(problem_of(w), tile, h200);
            std::multiset<std::int64_t> busy;
            for (int i = 0; i < h200.units * tile.residents; ++i) {
                busy.insert(0);
            }
            const std::size_t places = busy.size();
            std::int64_t all = 0;
            for (int i = 0; i < plan.order.work_tiles(); ++i) {
                const int row = plan.order.work_tile(i).row_tile * tile.rows;
                const int blocks = plan.band.blocks(row, tile.rows, tile.keys).count();
                all += blocks;
                busy.insert(*busy.begin() + blocks);
                busy.erase(busy.begin());
            }
            const auto mean = static_cast<double>(all) / static_cast<double>(places);
            if (w.mask == Mask::causal && plan.order.work_tiles() >= static_cast<int>(4 * places)) {
                EXPECT_LE(static_cast<double>(*busy.rbegin()), 1.05 * mean)
                    << format_shape(w) << " rows " << tile.rows << " keys " << tile.keys;
            }
        }
    }
}

TEST(PrefillMmaLayout, a_swizzled_slab_is_a_permutation_free_of_bank_conflicts) {
    std::set<unsigned> seen;
    for (unsigned row = 0; row < 80; ++row) {
        for (unsigned chunk = 0; chunk < 16; ++chunk) {
            seen.insert(prefill::swizzled_bytes(row, chunk, 80));
        }
    }
    EXPECT_EQ(seen.size(), 80U * 16);
    EXPECT_EQ(*seen.rbegin(), 80U * 16 * 16 - 16);
}

// Eight lanes at a time, each 16 bytes: the phases of ldmatrix and of the copies' writes.
TEST(PrefillMmaLayout, ldmatrix_and_copies_meet_all_banks) {
    for (unsigned phase = 0; phase < 4; ++phase) {
        for (unsigned step = 0; step < 4; ++step) {
            std::set<unsigned> of_rows, of_columns, of_copies;
            for (unsigned lane = 8 * phase; lane < 8 * phase + 8; ++lane) {
                const prefill::Corner a = prefill::rows_first(lane);
                const prefill::Corner b = prefill::columns_first(lane);
                const auto bank = [&](prefill::Corner c) {
                    return prefill::swizzled_step(prefill::swizzled_bytes(c.row, c.chunk, 64),
                                                  step) %
                           128;
                };
                of_rows.insert(bank(a));
                of_columns.insert(bank(b));
                of_copies.insert(prefill::swizzled_bytes(lane / 8, lane % 8, 64) % 128);
            }
            EXPECT_EQ(of_rows.size(), 8U);
            EXPECT_EQ(of_columns.size(), 8U);
            EXPECT_EQ(of_copies.size(), 8U);
        }
    }
}

TEST(PrefillMmaLayout, a_step_along_a_row_is_an_exclusive_or) {
    for (unsigned row = 0; row < 16; ++row) {
        for (unsigned chunk = 0; chunk < 2; ++chunk) {
            for (unsigned step = 0; step < 4; ++step) {
                EXPECT_EQ(prefill::swizzled_step(prefill::swizzled_bytes(row, chunk, 64), step),
                          prefill::swizzled_bytes(row, chunk + 2 * step, 64));
            }
        }
    }
}

TEST(PrefillMmaCounts, count_what_two_blocks_do) {
    // One head, 128 rows, 120 keys: one CTA, two blocks of 64.
    const Workload w = parse_shape("b=1,h=1,q=128,k=120,d=128,dtype=bf16");
    const prefill::Tile tile{128, 128, 128, 64, 4, 2, 0, 2};
    const auto launches = prefill::counts(w, tile, datasheet_device("h200"));
    ASSERT_EQ(launches.size(), 1U);
    const Counts& c = launches[0];
    EXPECT_DOUBLE_EQ(c.work.at("flop.mma.bf16"), 2.0 * 128 * 128 * (128 + 128));
    EXPECT_DOUBLE_EQ(c.work.at("op.ex2"), 128.0 * 128);
    EXPECT_DOUBLE_EQ(c.work.at("byte.dram_read"), 2.0 * (128 + 120 + 120) * 128);
    EXPECT_DOUBLE_EQ(c.work.at("byte.dram_write"), 2.0 * 128 * 128 + 4 * 128);
    // Two blocks: K and V written once and read by four warps, Q read; Q and the first K written.
    EXPECT_DOUBLE_EQ(c.work.at("byte.smem_lsu"),
                     2.0 * 128 * (2 * (64 + 64) + 2 * 4 * (64 + 64) + 2 * 128 + 128 + 64));
    EXPECT_EQ(c.ctas, 1);
    EXPECT_EQ(c.smem_bytes, 128 * 256 + 2 * 2 * 64 * 256 + 112 + 64);
    double flops = 0;
    for (const Step& step : c.steps) {
        const auto found = step.work.find("flop.mma.bf16");
        flops += found == step.work.end() ? 0 : step.repeat * found->second;
    }
    EXPECT_DOUBLE_EQ(flops, c.work.at("flop.mma.bf16"));
}

TEST(PrefillMmaCounts, warps_that_share_rows_read_half_of_the_keys_and_values) {
    const Workload w = parse_shape("b=1,h=1,q=128,k=64,d=256,dtype=bf16");
    const Device h200 = datasheet_device("h200");
    const auto bytes = [&](const prefill::Tile& tile) {
        return prefill::counts(w, tile, h200).at(0).work.at("byte.smem_lsu");
    };
    // One block. Copies: Q, K and V, and the start's K. Read by eight warps: K and V, and Q once.
    const double copied = 512.0 * (128 + 64 + 64 + 64);
    EXPECT_DOUBLE_EQ(bytes({256, 256, 128, 64, 8, 2, 0, 1}),
                     copied + 512.0 * (8 * (64 + 64) + 128));
    // In pairs: half of K and of V, all of the pair's Q; P written and read.
    EXPECT_DOUBLE_EQ(bytes({256, 256, 128, 64, 8, 2, 0, 1, 2}),
                     copied + 512.0 * (4 * (64 + 64) + 2 * 128) + 2 * 128 * 64 * 2);
}

// Two CTAs of 2 and 4 blocks, of which two each need a mask; their ends are alike.
TEST(PrefillMmaCounts, the_heaviest_cta_has_more_blocks_and_the_same_ends) {
    const Workload w = parse_shape("b=1,h=1,q=256,k=256,d=128,dtype=bf16,causal");
    const prefill::Tile tile{128, 128, 128, 64, 4, 2, 0, 2};
    const Counts c = prefill::counts(w, tile, datasheet_device("h200")).at(0);
    double all = 0, block = 0;
    std::map<std::string, double> repeats;
    for (const Step& step : c.steps) {
        ASSERT_EQ(step.clocks_together.size(), 1U);  // two CTAs an SM
        EXPECT_GT(step.clocks_together[0], step.clocks);
        repeats[step.name] = step.repeat;
        all += step.repeat * step.clocks_together[0];
        block = step.name == "blocks" ? step.clocks_together[0] : block;
    }
    EXPECT_EQ(repeats, (std::map<std::string, double>{
                           {"start", 1}, {"blocks", 4}, {"masks", 2}, {"finish", 1}}));
    EXPECT_DOUBLE_EQ(c.imbalance, all / (all - block));
}

TEST(PrefillMmaCounts, registers_hold_the_declared_residents) {
    Device sm = datasheet_device("h200");
    sm.smem_bytes_per_unit = 0;  // registers alone
    for (const prefill::Tile& tile : prefill::tiles) {
        Counts c;
        c.threads = tile.threads();
        c.registers = prefill::declared_registers(tile);
        EXPECT_GE(occupancy(sm, c), tile.residents);
    }
}

TEST(PrefillMmaRecord, every_ampere_or_later_device_has_a_tile) {
    const Kernel& kernel = find_kernel("prefill_mma");
    for (const char* name : {"a100-40", "a10", "l4", "rtx4090", "rtx5090", "h200"}) {
        const Device device = datasheet_device(name);
        for (const char* dims : {"64", "128", "192/128", "256", "8", "72", "248/16"}) {
            const Workload w =
                parse_shape(std::string("b=1,h=2,q=300,k=300,dtype=fp16,causal,d=") + dims);
            EXPECT_EQ(why_not(kernel, w, device), "") << name << ' ' << dims;
        }
    }
    const Workload w = parse_shape("b=1,h=2,q=300,k=300,dtype=fp16,d=64");
    EXPECT_NE(why_not(kernel, w, datasheet_device("t4")), "");
}

TEST(PrefillMmaRecord, the_api_takes_it_where_the_kernel_for_hopper_cannot) {
    const auto chosen = [](const char* device, const char* shape) {
        return api::choose_engine(parse_shape(shape), datasheet_device(device), 0,
                                  {.backend = {}, .must_run = false})
            .kernel->name;
    };
    const char* long_prompt = "b=2,h=16,q=4096,k=4096,d=128,dtype=bf16,causal";
    EXPECT_EQ(chosen("a100-80", long_prompt), "prefill_mma");
    EXPECT_EQ(chosen("l4", long_prompt), "prefill_mma");
    EXPECT_EQ(chosen("h200", long_prompt), "prefill_sm90");
    EXPECT_EQ(chosen("h200", "b=2,h=16,q=4096,k=4096,d=128,dtype=bf16,causal,softcap=50"),
              "prefill_sm90");
}

}  // namespace
}  // namespace raceline
