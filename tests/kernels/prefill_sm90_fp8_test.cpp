// SPDX-License-Identifier: Apache-2.0
// prefill_sm90_fp8's layouts, counts and compiler's report; the kernel itself runs in
// test_emulated_sm90_fp8.
#include <algorithm>
#include <array>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <vector>

#define __device__
#include "gpu/ptx/wgmma_descriptor_k_major.cuh"
#undef __device__
#include "device/catalog.hpp"
#include "kernels/prefill_sm90/counts.hpp"
#include "kernels/prefill_sm90/fragment.hpp"
#include "registry/registry.hpp"
#include "tests/kernels/cubin.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

namespace prefill = kernels::prefill_sm90_fp8;

TEST(PrefillSm90Fp8Schedule, every_item_is_done_once_and_long_ones_first) {
    for (const schedule::Order order :
         {schedule::Order{5, 12, 4}, {5, 13, 4}, {1, 1, 1}, {7, 3, 3}}) {
        std::set<std::pair<int, int>> seen;
        for (int cta = 0; cta < 5; ++cta) {
            for (int round = 0;; ++round) {
                const int index = schedule::index_of(cta, 5, round, order.work_tiles());
                if (index == order.work_tiles()) {
                    break;
                }
                const schedule::WorkTile item = order.work_tile(index);
                ASSERT_TRUE(seen.emplace(item.row_tile, item.head).second);
            }
        }
        EXPECT_EQ(static_cast<int>(seen.size()), order.work_tiles());
        EXPECT_EQ(order.work_tile(0).row_tile, order.row_tiles - 1);
    }
}

TEST(PrefillSm90Fp8Layout, descriptors_are_encoded_as_the_manual_says) {
    // Bits 0-13 address, 16-29 leading, 32-45 stride (all / 16), 62-63 mode 1, 2, 3.
    EXPECT_EQ(ptx::wgmma_descriptor_k_major<128>(0x8400), 0x4000004000010840U);
    EXPECT_EQ(ptx::wgmma_descriptor_k_major<64>(0x8400), 0x8000002000010840U);
    EXPECT_EQ(ptx::wgmma_descriptor_k_major<32>(0x8400), 0xc000001000010840U);
}

// Eight 16-byte rows that one instruction reads or writes lie in eight different groups of banks.
template <int row_bytes>
void expect_no_bank_conflicts(int rows, int chunks) {
    std::set<int> seen;
    for (int chunk = 0; chunk < chunks; ++chunk) {
        for (int row = 0; row < rows; row += 8) {
            std::set<int> banks;
            for (int r = row; r < row + 8; ++r) {
                const int byte = kernels::hopper::swizzled_bytes<row_bytes>(r, chunk, rows);
                banks.insert(byte % 128);
                seen.insert(byte);
            }
            EXPECT_EQ(banks.size(), 8U) << row_bytes << " row " << row << " chunk " << chunk;
        }
    }
    EXPECT_EQ(static_cast<int>(seen.size()), rows * chunks);
    EXPECT_EQ(*seen.rbegin(), (rows * chunks - 1) * 16);
}
TEST(PrefillSm90Fp8Layout, swizzled_slabs_are_permutations_free_of_bank_conflicts) {
    expect_no_bank_conflicts<128>(96, 16);
    expect_no_bank_conflicts<64>(128, 4);
    expect_no_bank_conflicts<64>(64, 12);
    expect_no_bank_conflicts<32>(128, 6);
}

// PTX ISA, register fragments of wgmma: accumulators of columns 8j + 2t + e, an 8-bit A operand of
// columns 4t + 16·(word / 2) + byte. What a thread packs must be the keys whose positions these
// are.
TEST(PrefillSm90Fp8Layout, packed_probabilities_meet_their_keys) {
    for (int t = 0; t < 4; ++t) {
        for (int step = 0; step < 3; ++step) {
            for (int word = 0; word < 4; ++word) {
                for (int byte = 0; byte < 4; ++byte) {
                    const int element = kernels::hopper::operand_source(step, word, byte);
                    EXPECT_EQ(element / 2 % 2, word % 2);  // row lane / 4 or 8 further on
                    const int key = 8 * (element / 4) + 2 * t + element % 2;
                    EXPECT_EQ(kernels::hopper::key_position(key),
                              32 * step + 16 * (word / 2) + 4 * t + byte);
                }
            }
        }
    }
}

TEST(PrefillSm90Fp8Layout, outputs_are_neighbouring_columns) {
    std::set<int> rows;
    for (int column = 0; column < 64; ++column) {
        rows.insert(kernels::hopper::value_row(column));
    }
    EXPECT_EQ(rows.size(), 64U);
    for (int t = 0; t < 4; ++t) {
        for (int group = 0; group < 4; ++group) {
            for (int c = 0; c < 4; ++c) {
                const int element = kernels::hopper::output_source(group, 1, c);
                EXPECT_EQ(element / 2 % 2, 1);
                EXPECT_EQ(8 * (element / 4) + 2 * t + element % 2,
                          kernels::hopper::value_row(16 * group + 4 * t + c));
            }
        }
    }
}

TEST(PrefillSm90Fp8Counts, count_what_two_blocks_do) {
    // One head, 128 rows, 200 keys: one work tile of two blocks of 128.
    const Workload w = parse_shape("b=1,h=1,q=128,k=200,d=128,dtype=e4m3");
    const auto count = [&](const prefill::Tile& tile) {
        return prefill::counts(w, tile, datasheet_device("h200")).at(0);
    };
    const Counts c = count({128, 128, 128, 3, 0, 0, 0});
    EXPECT_DOUBLE_EQ(c.work.at("flop.wgmma.e4m3"), 2.0 * 128 * 256 * (128 + 128));
    EXPECT_DOUBLE_EQ(c.work.at("op.ex2"), 2.0 * 128 * 128);
    EXPECT_DOUBLE_EQ(c.work.at("byte.dram_read"), 1.0 * (128 + 200 + 200) * 128);
    EXPECT_DOUBLE_EQ(c.work.at("byte.dram_write"), 2.0 * 128 * 128 + 4 * 128);
    EXPECT_DOUBLE_EQ(c.work.at("byte.smem_lsu"), 2.0 * 2 * 128 * 128);
    double flops = 0;
    for (const Step& step : c.steps) {
        const auto found = step.work.find("flop.wgmma.e4m3");
        flops += found == step.work.end() ? 0 : step.repeat * found->second;
    }
    EXPECT_DOUBLE_EQ(flops, c.work.at("flop.wgmma.e4m3"));
    // Promotion is one more addition an output and block, and is said to cost time.
    const Counts promoted = count({128, 128, 128, 2, 1, 1, 0});
    EXPECT_DOUBLE_EQ(promoted.work.at("flop.fma.fp32") - c.work.at("flop.fma.fp32"),
                     2.0 * 2 * 128 * 128);
    EXPECT_GT(promoted.steps.at(3).clocks, c.steps.at(3).clocks);
}

TEST(PrefillSm90Fp8Counts, v_transposed_before_is_a_launch_and_no_work_of_the_other) {
    const Device h200 = datasheet_device("h200");
    const auto count = [&](const char* shape, int prepared) {
        return prefill::counts(parse_shape(shape), {128, 128, 128, 3, 0, 0, prepared}, h200);
    };
    // One query head of two on each KV head, two blocks; 80 columns of V make 128 of an image.
    const char* shape = "b=1,h=4/2,q=128,k=200,d=128/80,dtype=e4m3";
    const std::vector<Counts> both = count(shape, 1);
    const Counts& before = both.at(0);
    EXPECT_EQ(before.launch, "transpose");
    EXPECT_EQ(before.ctas, 2 * 2);
    EXPECT_DOUBLE_EQ(before.work.at("byte.dram_read"), 2.0 * 200 * 80);
    EXPECT_DOUBLE_EQ(before.work.at("byte.dram_write"), 2.0 * 2 * 128 * 128);
    EXPECT_DOUBLE_EQ(before.work.at("byte.smem_lsu"), 2.0 * 2 * 2 * 128 * 128);
    const Counts alone = count(shape, 0).at(0);
    const Counts& main = both.at(1);
    EXPECT_EQ(main.launch, "main");
    EXPECT_FALSE(main.work.contains("byte.smem_lsu"));
    EXPECT_EQ(main.work.at("flop.wgmma.e4m3"), alone.work.at("flop.wgmma.e4m3"));
    // V is not read, and columns that it does not have are.
    EXPECT_DOUBLE_EQ(alone.work.at("byte.dram_read") - main.work.at("byte.dram_read"),
                     2.0 * 200 * 80);
    EXPECT_DOUBLE_EQ(main.work.at("byte.l2") - alone.work.at("byte.l2"), 4.0 * 200 * (128 - 80));
    EXPECT_DOUBLE_EQ(main.reread.at(0).bytes, 2.0 * 2 * 128 * 128);
    EXPECT_EQ(count("b=1,h=2,q=128,k=0,d=128,dtype=e4m3", 1).size(), 1U);
    // Of four sequences, the blocks that hold a key, and a CTA for every place.
    const Counts ragged = count("b=4,h=1,q=9,k=0;129;1;128,d=128,dtype=e4m3", 1).at(0);
    EXPECT_DOUBLE_EQ(ragged.work.at("byte.dram_write"), (2.0 + 1 + 1) * 128 * 128);
    EXPECT_EQ(ragged.ctas, 258 / 128 + 4);
}

TEST(PrefillSm90Fp8Images, every_sequence_has_room_and_the_workspace_holds_all) {
    const Kernel& kernel = find_kernel("prefill_sm90_fp8");
    const auto prepared = *std::find_if(prefill::tiles.begin(), prefill::tiles.end(),
                                        [](const prefill::Tile& t) { return t.prepared != 0; });
    // Of a shape with two KV heads of the tile's head dim: bytes in images, of which 128 come
    // before.
    const auto images = [&](const std::string& shape, const prefill::Tile& tile) {
        const auto found = std::find(prefill::tiles.begin(), prefill::tiles.end(), tile);
        const std::string all = shape + ",h=4/2,dtype=e4m3,d=" + std::to_string(tile.headdim);
        const auto index = static_cast<int>(found - prefill::tiles.begin());
        const auto bytes =
            static_cast<int>(kernel.workspace(parse_shape(all), index, datasheet_device("h200")));
        return (bytes - 128) / static_cast<double>(2 * tile.block_bytes());
    };
    EXPECT_EQ(images("b=3,q=5,k=" + std::to_string(prepared.keys + 1), prepared), 3 * 2);
    EXPECT_EQ(images("b=3,q=5,k=200;0;1", prepared), 201 / prepared.keys + 3);
    EXPECT_EQ(images("b=3,q=5,k=0", prepared), 0);
    const auto* other = std::find_if(prefill::tiles.begin(), prefill::tiles.end(),
                                     [](const prefill::Tile& t) { return t.prepared == 0; });
    EXPECT_EQ(kernel.workspace(parse_shape("h=4,k=200,d=64,dtype=e4m3"),
                               static_cast<int>(other - prefill::tiles.begin()),
                               datasheet_device("h200")),
              schedule::workspace_bytes);
    // Places of sequences of any lengths: in order, apart, and within what there is.
    std::uint32_t random = 1;
    for (int trial = 0; trial < 2000; ++trial) {
        const int keys =
            std::array{64, 96, 128, 160, 192, 256}[static_cast<std::size_t>(trial % 6)];
        std::int32_t token = 0;
        std::int32_t end = 0;
        const int batch = 1 + trial % 7;
        for (int b = 0; b < batch; ++b) {
            const std::int32_t place = prefill::packed_place(token, b, keys);
            ASSERT_GE(place, end);
            random = random * 1664525 + 1013904223;
            const auto length = static_cast<std::int32_t>((random >> 16) % 5 * 64 + (random >> 29));
            token += length;
            end = place + (length + keys - 1) / keys;
        }
        AttentionArgs a;
        a.batch = batch;
        a.tokens_k = token;
        a.cu_seqlens_k = &token;
        ASSERT_LE(end, prefill::image_places(a, keys));
    }
}

TEST(PrefillSm90Fp8Counts, six_tiles_a_head_dim_and_their_shared_memory_fits) {
    for (const int headdim : {64, 128, 256}) {
        const auto served =
            std::count_if(prefill::tiles.begin(), prefill::tiles.end(),
                          [&](const prefill::Tile& tile) { return tile.headdim == headdim; });
        EXPECT_GE(served, 6) << headdim;
    }
    const Device h200 = datasheet_device("h200");
    for (const prefill::Tile& tile : prefill::tiles) {
        EXPECT_LE(prefill::shared_bytes(tile), h200.smem_bytes_per_cta);
    }
}

TEST(PrefillSm90Fp8Record, refuses_what_it_does_not_serve_and_says_why) {
    const Kernel& kernel = find_kernel("prefill_sm90_fp8");
    const Device h200 = datasheet_device("h200");
    const auto reason = [&](const char* shape, const Device& device) {
        std::string last;
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            last = kernel.why_not(parse_shape(shape), tile, device);
            if (last.empty()) {
                return last;
            }
        }
        return last;
    };
    EXPECT_EQ(reason("h=4/2,k=300,d=128,dtype=e4m3,causal", h200), "");
    EXPECT_EQ(reason("h=4/2,k=300,d=208/48,dtype=e4m3,causal", h200), "");
    const std::pair<const char*, const char*> refused[] = {
        {"h=4,k=300,d=128,dtype=bf16", "it takes Q, K and V all in e4m3, not bf16 and bf16"},
        {"h=4,k=300,d=128,dtype=bf16,kv=e4m3",
         "it takes Q, K and V all in e4m3, not bf16 and e4m3"},
        {"h=4,k=300,d=72,dtype=e4m3", "head dims 72 and 72 must be multiples of 16"},
        {"h=4,k=300,d=512,dtype=e4m3", "head dims 512 and 512 are over 256"},
        {"h=4,k=300,d=64,dtype=e4m3,softcap=5", "it has no softcap"},
        {"h=4,k=300,d=64,dtype=e4m3,page=16",
         "it takes keys and values in one piece, not in pages"}};
    for (const auto& [shape, why] : refused) {
        EXPECT_EQ(reason(shape, h200), why) << shape;
    }
    EXPECT_EQ(reason("h=4/2,k=300,d=128,dtype=e4m3", datasheet_device("b200")),
              "it needs a Hopper GPU (compute capability 9.0)");
    // Tiles that do not promote often enough serve those who ask for it, and say so to others.
    Workload w = parse_shape("h=4/2,k=300,d=128,dtype=e4m3");
    for (int i = 0; i < kernel.tile_count(); ++i) {
        const prefill::Tile& tile = prefill::tiles[static_cast<std::size_t>(i)];
        if (tile.headdim != 128) {
            continue;
        }
        w.accuracy = Accuracy::accurate;
        const std::string why = kernel.why_not(w, i, h200);
        EXPECT_EQ(why.empty(), tile.promote != 0 && tile.keys <= 128) << kernel.tile_text(i);
        EXPECT_TRUE(why.empty() || why.find("only accuracy=fast allows it") != std::string::npos);
        w.accuracy = Accuracy::fast;
        EXPECT_EQ(kernel.why_not(w, i, h200), "") << kernel.tile_text(i);
    }
    EXPECT_EQ(kernel.precision(w).promoted_keys, 0);
    w.accuracy = Accuracy::accurate;
    EXPECT_EQ(kernel.precision(w).promoted_keys, 128);
    // What a refused call reads is the reason of the first tile, which must not be this one.
    EXPECT_TRUE(prefill::tiles.front().accurate());
}

TEST(PrefillSm90Fp8Report, no_spills_and_the_declared_registers) {
    if (find_kernel("prefill_sm90_fp8").launch == nullptr) {
        GTEST_SKIP() << "a build without CUDA has no device code to report on";
    }
    std::map<std::string, test::FunctionReport> all;
    const std::filesystem::path objects =
        std::string(RACELINE_BINARY_DIR) + "/CMakeFiles/kernel_prefill_sm90_fp8_sm90a.dir";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(objects)) {
        if (entry.path().extension() == ".o") {
            all.merge(test::compiler_report(entry.path().string(), 90));
        }
    }
    for (std::size_t i = 0; i < prefill::tiles.size(); ++i) {
        const std::string part = "7forwardILi" + std::to_string(i) + "EE";
        const auto found = std::find_if(all.begin(), all.end(), [&](const auto& f) {
            return f.first.starts_with("_Z") && f.first.find(part) != std::string::npos;
        });
        ASSERT_NE(found, all.end()) << part;
        EXPECT_EQ(found->second.stack_bytes, 0) << part;
        EXPECT_EQ(found->second.registers, prefill::register_split(prefill::tiles[i]).entry)
            << part;
    }
    int preparing = 0;
    for (const auto& [name, report] : all) {
        if (name.find("16transpose_valuesI") != std::string::npos && report.registers > 0) {
            EXPECT_EQ(report.stack_bytes, 0) << name;
            EXPECT_LE(report.registers, prefill::preparing_registers) << name;
            ++preparing;
        }
    }
    EXPECT_GT(preparing, 0);
}

}  // namespace
}  // namespace raceline
