// SPDX-License-Identifier: Apache-2.0
// decode_sm90's cuts, counts and record, and what the compiler made of it; the kernel itself runs
// in test_emulated_decode_sm90.
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "kernels/decode_sm90/params.hpp"
#include "registry/registry.hpp"
#include "tests/kernels/cubin.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

namespace decode = kernels::decode_sm90;

TEST(DecodeSm90Cuts, parts_cover_the_line_once_and_are_equal_but_for_a_block) {
    for (const int blocks : {1, 7, 8, 263, 264, 265, 4096, 99991}) {
        for (const int ctas : {1, 2, 132, 264}) {
            for (const int least : {1, 8, 16}) {
                const decode::Cuts cuts(blocks, ctas, least);
                EXPECT_LE(cuts.parts, ctas);
                EXPECT_TRUE(cuts.parts == 1 || cuts.each >= least) << blocks << ' ' << ctas;
                EXPECT_EQ(cuts.begin(0), 0);
                EXPECT_EQ(cuts.begin(cuts.parts), blocks);
                for (int part = 0; part < cuts.parts; ++part) {
                    const int own = cuts.begin(part + 1) - cuts.begin(part);
                    EXPECT_TRUE(own == cuts.each || own == cuts.each + 1);
                    EXPECT_EQ(cuts.part_of(cuts.begin(part)), part);
                    EXPECT_EQ(cuts.part_of(cuts.begin(part + 1) - 1), part);
                }
            }
        }
    }
}

TEST(DecodeSm90Cuts, units_cut_by_themselves_are_covered_once_and_no_part_has_two) {
    for (const int units : {1, 3, 8, 64}) {
        for (const int blocks : {1, 5, 128, 513}) {
            for (const int parts_of_unit : {1, 2, 16}) {
                const auto cuts = decode::Cuts::of_units(units, blocks, parts_of_unit);
                EXPECT_EQ(cuts.begin(0), 0);
                EXPECT_EQ(cuts.begin(cuts.parts), units * blocks);
                for (int part = 0; part < cuts.parts; ++part) {
                    const int begin = cuts.begin(part), last = cuts.begin(part + 1) - 1;
                    EXPECT_LE(begin, last);
                    EXPECT_EQ(begin / blocks, last / blocks) << units << ' ' << blocks;
                    EXPECT_EQ(cuts.part_of(begin), part);
                    EXPECT_EQ(cuts.part_of(last), part);
                }
            }
        }
    }
}

TEST(DecodeSm90Cuts, a_unit_is_cut_by_itself_where_idle_ctas_cost_less_than_a_second_end) {
    const decode::Tile& tile = decode::tiles[3];  // 32 keys of 128 columns, 16 KiB a block pair
    ASSERT_EQ(tile.keys, 32);
    ASSERT_EQ(tile.headdim, 128);
    const auto cut = [&](int units, int keys) {
        return decode::cuts_of_equal(units, keys / tile.keys, 132, decode::CutRule(tile));
    };
    EXPECT_EQ(cut(8, 8192).of_unit, 16);       // 128 CTAs of 132
    EXPECT_EQ(cut(64, 8192).of_unit, 2);       // likewise
    EXPECT_EQ(cut(20, 8192).of_unit, 6);       // 120: 64 KiB more each
    EXPECT_EQ(cut(45, 8192).of_unit, 0);       // 90 would have 660 KiB more each: one line
    EXPECT_EQ(cut(512, 8192).of_unit, 0);      // more units than CTAs
    EXPECT_EQ(cut(8, 2048).of_unit, 16);       // a block a warp at least
    EXPECT_EQ(cut(8, 4 * 4 * 32).of_unit, 1);  // four blocks a warp stay whole
    EXPECT_EQ(cut(8, 4 * 4 * 32 + 1 * 32).of_unit, 4);
}

TEST(DecodeSm90Counts, a_block_of_a_call_is_counted_once_for_every_tile_of_rows) {
    const decode::Tile tile = decode::tiles[0];
    ASSERT_EQ(tile.keys, 32);
    EXPECT_EQ(decode::blocks_of_call(parse_shape("b=3,h=8/2,q=1,k=65,d=64,dtype=bf16"), tile),
              3 * 2 * 3);
    // Eight heads of a group and three tokens are two tiles of 16 rows.
    EXPECT_EQ(decode::blocks_of_call(parse_shape("h=8/1,q=3,k=64,d=64,dtype=bf16,causal"), tile),
              2 * 2);
    // A window reads its own keys alone, a sequence without keys is one empty block.
    EXPECT_EQ(decode::blocks_of_call(parse_shape("h=1,q=1,k=1000,d=64,dtype=bf16,window=39"), tile),
              2);
    EXPECT_EQ(
        decode::blocks_of_call(parse_shape("b=3,h=1,q=1,k=0;32;33,d=64,dtype=bf16,page=16"), tile),
        1 + 1 + 2);
}

TEST(DecodeSm90Counts, dram_has_what_the_call_cannot_do_without) {
    const Device h200 = datasheet_device("h200");
    const Kernel& kernel = find_kernel("decode_sm90");
    for (const Workload& w : make_suite("decode-grid").workloads) {
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.why_not(w, tile, h200).empty()) {
                const Counts main = kernel.counts(w, tile, h200).front();
                EXPECT_EQ(main.work.at("byte.dram_read"), w.bytes_q() + w.bytes_kv());
            }
        }
    }
}

// What reading again costs stands last: of keys and of values, each by its own columns.
TEST(DecodeSm90Counts, rows_that_share_lines_take_longer_keys_and_values_apart) {
    const Device h200 = datasheet_device("h200");
    const auto times = [&](const char* d) {
        const Workload w = parse_shape(std::string("b=64,h=32/8,q=1,k=8192,dtype=bf16,d=") + d);
        for (int tile = 0; tile < find_kernel("decode_sm90").tile_count(); ++tile) {
            if (find_kernel("decode_sm90").why_not(w, tile, h200).empty()) {
                const Counts main = find_kernel("decode_sm90").counts(w, tile, h200).front();
                return 1 + main.reread.back().bytes / w.bytes_kv();
            }
        }
        return 0.0;
    };
    EXPECT_NEAR(times("128"), 1.04, 1e-9);
    EXPECT_GT(times("120"), 1.4);
    const double both = (120 * times("120") + 128 * times("128")) / 248;
    EXPECT_NEAR(times("120/128"), both, 1e-9);
    EXPECT_NEAR(times("128/120"), both, 1e-9);
}

// One long sequence and short ones, whose units have a block or two of 32 keys: 8 x 875 and 56
// blocks on 132 CTAs, an end weighing as much as 16 blocks. The 7,952 make 60 of a part: of the
// long sequence's units a part has as many blocks, or it has four short units.
TEST(DecodeSm90Counts, no_part_holds_more_units_than_their_ends_weigh) {
    const Device h200 = datasheet_device("h200");
    const Kernel& kernel = find_kernel("decode_sm90");
    constexpr const char* skewed =
        "b=7,h=64/8,q=1,k=27971;30;30;30;30;30;38,d=128,dtype=bf16,kv=e4m3";
    constexpr const char* even =
        "b=7,h=64/8,q=1,k=4022;4023;4024;4021;4022;4023;4024,d=128,dtype=bf16,kv=e4m3";
    const auto repeat = [&](const char* shape, const char* step) {
        const int tile = kernel.find_tile({{"headdim", 128},
                                           {"keys", 32},
                                           {"warps", 8},
                                           {"stages", 3},
                                           {"residents", 1},
                                           {"eight_bits", 1}});
        const std::vector<Counts> launches = kernel.counts(parse_shape(shape), tile, h200);
        for (const Step& one : launches.front().steps) {
            if (one.name == step) {
                return one.repeat;
            }
        }
        return 0.0;
    };
    EXPECT_EQ(repeat(skewed, "query"), 4);
    EXPECT_EQ(repeat(skewed, "finish"), 4);
    EXPECT_EQ(repeat(skewed, "blocks"), 4);
    EXPECT_LE(repeat(even, "query"), 2);
    EXPECT_LE(repeat(even, "blocks"), 8);
}

TEST(DecodeSm90, workspace_depends_on_device_and_tile_alone) {
    const Device h200 = datasheet_device("h200");
    const Kernel& kernel = find_kernel("decode_sm90");
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        const std::size_t one =
            kernel.workspace(parse_shape("h=8/1,q=1,k=100,d=64,dtype=bf16"), tile, h200);
        EXPECT_EQ(
            kernel.workspace(parse_shape("b=99,h=64/8,q=4,k=90000,d=64,dtype=bf16"), tile, h200),
            one);
        EXPECT_GT(one, 0U);
    }
}

TEST(DecodeSm90, says_what_it_does_not_take) {
    const Device h200 = datasheet_device("h200");
    const Kernel& kernel = find_kernel("decode_sm90");
    const auto why = [&](const char* shape) { return kernel.why_not(parse_shape(shape), 3, h200); };
    EXPECT_EQ(why("h=32/8,q=1,k=8192,d=128,dtype=bf16"), "");
    EXPECT_EQ(why("h=32/8,q=17,k=8192,d=128,dtype=bf16"),
              "it takes up to 16 query tokens a sequence");
    EXPECT_EQ(why("h=32/8,q=1,k=8192,d=128,dtype=fp32"), "it takes Q in bf16 or fp16, not fp32");
    EXPECT_EQ(why("h=32/8,q=1,k=8192,d=128,dtype=fp16,kv=nvfp4"),
              "it takes K and V in Q's type or in e4m3, not nvfp4");
    EXPECT_EQ(why("h=32/8,q=1,k=8192,d=128,dtype=bf16,kv=e4m3"),
              "this tile reads a cache in 16 bits");
    EXPECT_EQ(why("h=32/8,q=1,k=8192,d=64,dtype=bf16"),
              "tiles of head dim 64 serve head dims 64 and 64");
    EXPECT_EQ(why("h=32/8,q=1,k=8192,d=260,dtype=bf16"),
              "head dims 260 and 260 must be multiples of 8");
    EXPECT_EQ(kernel.why_not(parse_shape("h=32/8,q=1,k=8192,d=128,dtype=bf16"), 3,
                             datasheet_device("a100-80")),
              "it needs a Hopper GPU (compute capability 9.0)");
}

// What the API runs on an H200 for a decoder's calls. Two of them are predicted at the time of
// their bytes by prefill_sm90 too, which multiplies sixteen times as much and so comes second.
TEST(DecodeSm90, serves_the_calls_of_a_decoder) {
    Device h200 = datasheet_device("h200");
    apply_committed_rates(h200);
    for (const char* suite : {"decode-grid", "decode-grid-paged", "decode-grid-e4m3"}) {
        for (const Workload& w : make_suite(suite).workloads) {
            const std::string shape = format_shape(w);
            const auto choice = api::choose_engine(w, h200, 0, {.backend = "", .must_run = false});
            EXPECT_EQ(choice.kernel->name, "decode_sm90") << shape;
        }
    }
}

// With 16 rows a unit, head dim 256 keeps registers on the stack, most over a cache in e4m3; so
// does, of two registers, head dim 128 with blocks of 32 keys in 16 bits. With eight rows none
// does.
TEST(DecodeSm90Report, no_other_tile_spills) {
    const std::filesystem::path objects =
        std::string(RACELINE_BINARY_DIR) + "/CMakeFiles/kernel_decode_sm90_sm90a.dir";
    if (!std::filesystem::exists(objects)) {
        GTEST_SKIP() << "a build without CUDA has no device code to report on";
    }
    int functions = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(objects)) {
        if (entry.path().extension() != ".o") {
            continue;
        }
        for (const auto& [name, report] : test::compiler_report(entry.path().string(), 90)) {
            if (name.find("7forwardI") == std::string::npos) {
                continue;
            }
            const bool wide = name.find("7forwardILi6E") != std::string::npos ||
                              name.find("7forwardILi14E") != std::string::npos ||
                              name.find("7forwardILi18E") != std::string::npos;
            const bool tight = name.find("7forwardILi3E") != std::string::npos;
            const bool few = name.find("ELb0ELi1E") != std::string::npos ||
                             name.find("ELb1ELi1E") != std::string::npos;
            EXPECT_LE(report.stack_bytes, few ? 0 : wide ? 496 : tight ? 8 : 0) << name;
            ++functions;
        }
    }
    EXPECT_GE(functions, 2 * static_cast<int>(decode::tiles.size()));
}

}  // namespace
}  // namespace raceline
