// SPDX-License-Identifier: Apache-2.0
// prefill_sm90's schedule, layouts, counts and compiler's report; the kernel itself runs in
// test_emulated_sm90.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <vector>

#define __device__
#include "gpu/ptx/wgmma_descriptor.cuh"
#undef __device__
#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "kernels/prefill_sm90/counts.hpp"
#include "kernels/prefill_sm90/fragment.hpp"
#include "model/constant.hpp"
#include "registry/registry.hpp"
#include "tests/kernels/cubin.hpp"
#include "tests/kernels/instruction.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

namespace prefill = kernels::prefill_sm90;

TEST(PrefillSm90Schedule, every_item_is_done_once_and_long_ones_first) {
    for (const schedule::Order order :
         {schedule::Order{5, 12, 4}, {5, 13, 4}, {1, 1, 1}, {7, 3, 3}, {2, 300, 66}}) {
        for (int ctas : {1, 2, 5, 132}) {
            std::set<std::pair<int, int>> seen;
            for (int cta = 0; cta < ctas; ++cta) {
                for (int round = 0;; ++round) {
                    const int index = schedule::index_of(cta, ctas, round, order.work_tiles());
                    if (index == order.work_tiles()) {
                        break;
                    }
                    const schedule::WorkTile item = order.work_tile(index);
                    ASSERT_TRUE(seen.emplace(item.row_tile, item.head).second);
                    ASSERT_LT(item.row_tile, order.row_tiles);
                    ASSERT_LT(item.head, order.heads);
                }
            }
            EXPECT_EQ(static_cast<int>(seen.size()), order.work_tiles());
        }
        EXPECT_EQ(order.work_tile(0).row_tile, order.row_tiles - 1);
        EXPECT_EQ(order.work_tile(order.work_tiles() - 1).row_tile, 0);
        // Within a group of heads no work tile has more rows' keys than the one before.
        for (int i = 1; i < order.work_tiles(); ++i) {
            if (order.work_tile(i).head / order.heads_per_group ==
                order.work_tile(i - 1).head / order.heads_per_group) {
                EXPECT_LE(order.work_tile(i).row_tile, order.work_tile(i - 1).row_tile);
            }
        }
    }
}

TEST(PrefillSm90Schedule, blocks_hold_the_keys_of_their_rows_and_no_block_too_many) {
    for (const char* shape :
         {"q=300,k=300", "q=300,k=300,causal", "q=100,k=517,causal", "q=517,k=100,causal",
          "q=300,k=400,window=60", "q=4,k=0,causal", "q=500,k=200,window=30,causal"}) {
        const Workload w = parse_shape(std::string("b=1,h=1,d=64,") + shape);
        for (const prefill::Tile& tile : prefill::tiles) {
            const schedule::Plan plan =
                prefill::make_plan(problem_of(w), tile, datasheet_device("h200"));
            for (int item = 0; item < plan.order.row_tiles; ++item) {
                const Rows rows =
                    schedule::rows_of_tile(item, static_cast<std::int32_t>(w.seqlen_q), tile.rows);
                std::int64_t from = w.seqlen_k, to = 0;
                for (std::int64_t row = rows.first; row < rows.end; ++row) {
                    const Workload::KeyRange keys = w.visible(0, row);
                    if (keys.first < keys.last) {
                        from = std::min(from, keys.first);
                        to = std::max(to, keys.last);
                    }
                }
                const Blocks blocks = plan.band.blocks(rows, tile.keys);
                if (from >= to) {
                    EXPECT_EQ(blocks.count(), 0) << shape << " row " << rows.first;
                    continue;
                }
                EXPECT_EQ(blocks.first, from / tile.keys) << shape << " row " << rows.first;
                EXPECT_EQ(blocks.last, (to + tile.keys - 1) / tile.keys) << shape;
            }
        }
    }
}

TEST(PrefillSm90Schedule, no_cta_gets_much_more_than_its_share) {
    const Device h200 = datasheet_device("h200");
    const Kernel& kernel = find_kernel("prefill_sm90");
    for (const Workload& w : make_suite("training-16k").workloads) {
        int tile = 0;
        while (!kernel.why_not(w, tile, h200).empty()) {
            ++tile;
        }
        // 132 CTAs leave up to 8 % of a wave of equal work tiles idle at these shapes (rows of
        // 192).
        EXPECT_LE(kernel.counts(w, tile, h200).front().imbalance, 1.09) << format_shape(w);
    }
}

TEST(PrefillSm90Schedule, multiplication_divides) {
    for (const std::int32_t by : {1, 2, 3, 5, 7, 64, 100, 127, 128, 129, 4095, 65537, 2147483647}) {
        const schedule::Divider divider(by);
        for (std::int64_t n = 0; n < (std::int64_t{1} << 31); n = n * 5 / 4 + 1) {
            for (const std::int64_t m : {n, n / by * by, n / by * by + by - 1}) {
                if (m < (std::int64_t{1} << 31)) {
                    EXPECT_EQ(divider.divide(static_cast<std::int32_t>(m)), m / by)
                        << m << '/' << by;
                }
            }
        }
        EXPECT_EQ(divider.divide(2147483647), 2147483647 / by);
    }
}

// An engine whose predictions are too low must not take shapes from one whose predictions are
// right.
TEST(PrefillSm90Record, the_api_takes_it_for_all_of_training_16k) {
    Device h200 = datasheet_device("h200");
    apply_committed_rates(h200);
    for (const Workload& w : make_suite("training-16k").workloads) {
        EXPECT_EQ(api::choose_engine(w, h200, 0, {.backend = {}, .must_run = false}).kernel->name,
                  "prefill_sm90")
            << format_shape(w);
    }
}

// What a warpgroup leaves out is counted for no one: under a causal mask the upper rows of a tile
// end blocks earlier, and rows past the end are no work at all.
TEST(PrefillSm90Counts, leave_out_what_no_row_of_a_warpgroup_sees) {
    const Device h200 = datasheet_device("h200");
    const prefill::Tile tile{64, 64, 192, 128, 2, 1};
    const auto share = [&](const char* shape) {
        const Workload w = parse_shape(shape);
        return prefill::share_of(w, prefill::make_plan(problem_of(w), tile, h200), tile);
    };
    const schedule::Share whole = share("b=1,h=1,q=192,k=256,d=64");
    EXPECT_DOUBLE_EQ(whole.blocks, 2);
    EXPECT_DOUBLE_EQ(whole.worked, 2);
    // Rows end at 64: one warpgroup of three works.
    EXPECT_DOUBLE_EQ(share("b=1,h=1,q=64,k=256,d=64").worked, 2.0 / 3);
    // Warpgroups see 64, 128 and 192 keys: one, one and two blocks.
    EXPECT_DOUBLE_EQ(share("b=1,h=1,q=192,k=192,d=64,causal").worked, 4.0 / 3);
}

// Who takes turns goes on with the others; who does not has its own clock.
TEST(PrefillSm90Counts, warpgroups_in_step_wait_for_those_with_more_blocks) {
    const Device h200 = datasheet_device("h200");
    const auto taken = [&](const char* shape, std::int32_t stages, std::int32_t turns) {
        const Workload w = parse_shape(shape);
        const prefill::Tile tile{64, 64, 192, 128, stages, turns};
        return prefill::share_of(w, prefill::make_plan(problem_of(w), tile, h200), tile)
            .most.worked;
    };
    // Two work tiles a CTA: who has more of one has less of the other.
    const char* causal = "b=2,h=132,q=192,k=192,d=64,causal";
    EXPECT_DOUBLE_EQ(taken(causal, 4, 0), 2 * 4.0 / 3);
    EXPECT_GT(taken(causal, 4, 1), 2 * 1.4);
    EXPECT_LT(taken(causal, 4, 1), 2 * 2);
    EXPECT_DOUBLE_EQ(taken(causal, 2, 0), taken(causal, 4, 1));
    const char* alone = "b=1,h=1,q=192,k=192,d=64,causal";
    EXPECT_DOUBLE_EQ(taken(alone, 4, 0), taken(causal, 4, 1) / 2);
    EXPECT_DOUBLE_EQ(taken("b=1,h=1,q=192,k=256,d=64", 4, 1), 2);
}

TEST(PrefillSm90Layout, descriptors_are_encoded_as_the_manual_says) {
    // Bits 0-13 address, 16-29 leading, 32-45 stride (all / 16), 62-63 mode 1.
    EXPECT_EQ(ptx::wgmma_descriptor_k_major_128b(0x8400), 0x4000004000010840U);
    EXPECT_EQ(ptx::wgmma_descriptor_mn_major_128b(0x8400, 128 * 128), 0x4000004004000840U);
}

TEST(PrefillSm90Layout, a_swizzled_slab_is_a_permutation_free_of_bank_conflicts) {
    std::set<int> seen;
    for (int row = 0; row < 80; ++row) {
        for (int piece = 0; piece < 16; ++piece) {
            seen.insert(kernels::hopper::swizzled_bytes(row, piece, 80));
        }
    }
    EXPECT_EQ(seen.size(), 80U * 16);
    EXPECT_EQ(*seen.rbegin(), 80 * 16 * 16 - 16);
    // One column of eight rows covers all 32 banks.
    std::set<int> banks;
    for (int row = 8; row < 16; ++row) {
        banks.insert(kernels::hopper::swizzled_bytes(row, 3, 80) % 128);
    }
    EXPECT_EQ(banks.size(), 8U);
}

// A place for a warpgroup's outputs must not cost more than the next work tile's Q for one
// warpgroup.
TEST(PrefillSm90Layout, outputs_have_places_where_they_fit_beside_the_next_q) {
    int with_places = 0;
    for (const prefill::Tile& tile : prefill::tiles) {
        const prefill::SharedLayout layout = prefill::shared_layout(tile);
        for (const int start : {layout.out, layout.k, layout.v}) {
            EXPECT_EQ(start % 1024, 0);
        }
        EXPECT_EQ(layout.out, layout.q_stages * tile.q_stage_bytes());
        EXPECT_EQ(layout.k - layout.out, layout.out_buffers * tile.out_buffer_bytes());
        EXPECT_EQ(layout.descriptors % 16, 0);
        EXPECT_TRUE(prefill::fits(layout));
        if (prefill::stores_boxes(tile)) {
            EXPECT_EQ(layout.out_buffers, tile.warpgroups());
            EXPECT_GE(layout.q_stages, 2 * tile.warpgroups() - 1);
            ++with_places;
        } else {
            EXPECT_FALSE(prefill::fits(
                prefill::layout_of(tile, 2 * tile.warpgroups() - 1, tile.warpgroups())));
        }
        EXPECT_EQ(prefill::stores_boxes(tile),
                  tile.headdim == 64 || (tile.headdim == 128 && tile.keys <= 128) ||
                      (tile.headdim == 192 && tile.rows == 128 && tile.keys <= 96));
    }
    EXPECT_EQ(with_places, 14);
}

TEST(PrefillSm90Counts, count_what_two_blocks_do) {
    // One head, 128 rows, 200 keys: one work tile of two blocks of 128.
    const Workload w = parse_shape("b=1,h=1,q=128,k=200,d=128,dtype=bf16");
    const prefill::Tile tile{128, 128, 128, 128, 2, 1};
    const auto launches = prefill::counts(w, tile, datasheet_device("h200"));
    ASSERT_EQ(launches.size(), 1U);
    const Counts& c = launches[0];
    EXPECT_DOUBLE_EQ(c.work.at("flop.wgmma.bf16"), 2.0 * 128 * 256 * (128 + 128));
    EXPECT_DOUBLE_EQ(c.work.at("op.ex2"), 2.0 * 128 * 128);
    EXPECT_DOUBLE_EQ(c.work.at("byte.dram_read"), 2.0 * (128 + 200 + 200) * 128);
    EXPECT_DOUBLE_EQ(c.work.at("byte.dram_write"), 2.0 * 128 * 128 + 4 * 128);
    EXPECT_EQ(c.ctas, 1);
    double flops = 0;
    for (const Step& step : c.steps) {
        const auto found = step.work.find("flop.wgmma.bf16");
        flops += found == step.work.end() ? 0 : step.repeat * found->second;
    }
    EXPECT_DOUBLE_EQ(flops, c.work.at("flop.wgmma.bf16"));
}

TEST(PrefillSm90Report, no_spills_and_the_declared_registers) {
    const Kernel& kernel = find_kernel("prefill_sm90");
    if (kernel.launch == nullptr) {
        GTEST_SKIP() << "a build without CUDA has no device code to report on";
    }
    std::map<std::string, test::FunctionReport> all;
    const std::filesystem::path objects =
        std::string(RACELINE_BINARY_DIR) + "/CMakeFiles/kernel_prefill_sm90_sm90a.dir";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(objects)) {
        if (entry.path().extension() == ".o") {
            all.merge(test::compiler_report(entry.path().string(), 90));
        }
    }
    EXPECT_EQ(
        std::count_if(all.begin(), all.end(),
                      [](const auto& f) {
                          return f.first.starts_with("_Z") &&
                                 f.first.find("7forwardILi") != std::string::npos;
                      }),
        static_cast<std::ptrdiff_t>(2 * (prefill::tiles.size() + prefill::capped_tiles.size())));
    for (std::size_t i = 0; i < prefill::tiles.size(); ++i) {
        for (const char* kind : {"0ELb0", "1ELb0", "0ELb1", "1ELb1"}) {  // bf16, capped
            if (kind[4] == '1' && !prefill::caps(prefill::tiles[i])) {
                continue;
            }
            const std::string part = "7forwardILi" + std::to_string(i) + "ELb" + kind + "E";
            const auto found = std::find_if(all.begin(), all.end(), [&](const auto& f) {
                return f.first.starts_with("_Z") && f.first.find(part) != std::string::npos;
            });
            ASSERT_NE(found, all.end()) << part;
            EXPECT_EQ(found->second.stack_bytes, 0) << part;
            EXPECT_EQ(found->second.registers, prefill::register_split(prefill::tiles[i]).entry)
                << part;
        }
    }
}

// The loop over blocks is the shortest one that has products and all of a block's exponentials.
test::Round block_in(const std::vector<test::Instruction>& code, int keys) {
    const auto product = [](const test::Instruction& i) {
        return i.is(test::opcode::wgmma) || i.is(test::opcode::wgmma_from_registers);
    };
    const auto exponential = [](const test::Instruction& i) { return i.is(test::opcode::mufu); };
    test::Loop found{0, std::ssize(code)};
    for (const test::Loop& loop : test::loops_in(code)) {
        if (loop.last - loop.first < found.last - found.first &&
            test::count_in(code, loop, product) > 0 &&
            test::count_in(code, loop, exponential) >= keys / 2) {
            found = loop;
        }
    }
    return test::round_of(code, found,
                          [&](const test::Instruction& i) { return product(i) || exponential(i); });
}

// What stands in for the calibrated clocks of a block is read from the machine code.
TEST(PrefillSm90Report, a_block_takes_the_clocks_and_instructions_of_the_stand_ins) {
    if (find_kernel("prefill_sm90").launch == nullptr) {
        GTEST_SKIP() << "a build without CUDA has no device code to report on";
    }
    std::size_t judged = 0;
    const std::filesystem::path objects =
        std::string(RACELINE_BINARY_DIR) + "/CMakeFiles/kernel_prefill_sm90_sm90a.dir";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(objects)) {
        if (entry.path().extension() != ".o") {
            continue;
        }
        for (const auto& [name, bytes] : test::machine_code(entry.path().string(), 90)) {
            const auto at = name.find("7forwardILi");
            if (at == std::string::npos || name.find("Lb1EEE") != std::string::npos) {
                continue;  // not of it, or with a softcap
            }
            const prefill::Tile& tile =
                prefill::tiles[static_cast<std::size_t>(std::stoi(name.substr(at + 11)))];
            const ConstantWatch uncalibrated(ConstantWatch::Calibrated::stand_in);
            const prefill::BlockCode counted = prefill::block_code(tile);
            const test::Round found = block_in(test::instructions_of(bytes), tile.keys);
            EXPECT_NEAR(
                (counted.clocks + prefill::exponential_clocks_of_key * tile.keys) / found.clocks, 1,
                0.07)
                << name;
            EXPECT_NEAR(
                (counted.instructions + prefill::exponential_instructions_of_key * tile.keys) /
                    found.instructions,
                1, 0.08)
                << name;
            ++judged;
        }
    }
    EXPECT_EQ(judged, 2 * prefill::tiles.size());
}

TEST(PrefillSm90Report, device_code_adds_less_than_15_megabytes) {
    if (find_kernel("prefill_sm90").launch == nullptr) {
        GTEST_SKIP() << "a build without CUDA has no device code";
    }
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::string(RACELINE_BINARY_DIR) + "/CMakeFiles/kernel_prefill_sm90_sm90a.dir")) {
        if (entry.path().extension() == ".o") {
            std::ifstream file(entry.path(), std::ios::binary);
            const std::string all{std::istreambuf_iterator<char>(file), {}};
            if (all.find(".nv_debug_line_sass") != std::string::npos) {
                GTEST_SKIP() << "built with RACELINE_LINEINFO";
            }
            bytes += all.size();
        }
    }
    EXPECT_GT(bytes, 1'000'000U);
    EXPECT_LT(bytes, 15'000'000U);
}

}  // namespace
}  // namespace raceline
