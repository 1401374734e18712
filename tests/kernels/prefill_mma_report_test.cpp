// SPDX-License-Identifier: Apache-2.0
// What the compiler made of prefill_mma: registers, spills, and instructions of a block.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "kernels/prefill_mma/counts.hpp"
#include "registry/registry.hpp"
#include "tests/kernels/cubin.hpp"
#include "tests/kernels/instruction.hpp"

namespace raceline {
namespace {

namespace prefill = kernels::prefill_mma;

namespace opcode = test::opcode;

// Clocks and instructions of the loop over blocks, the one with the most products, past what
// neither multiplies nor reads fragments nor copies: softcap, masks, new bases.
test::Round block_in(const std::vector<test::Instruction>& code) {
    const auto is_product = [](const test::Instruction& x) { return x.is(opcode::hmma); };
    test::Loop found;
    std::int64_t most = 0;
    for (const test::Loop& loop : test::loops_in(code)) {
        const std::int64_t products = test::count_in(code, loop, is_product);
        if (products > most) {
            found = loop;
            most = products;
        }
    }
    return test::round_of(code, found, [](const test::Instruction& i) {
        return i.is(opcode::hmma) || i.is(opcode::ldsm) || i.is(opcode::ldgsts);
    });
}

class PrefillMmaReport : public testing::Test {
protected:
    void SetUp() override {
        if (find_kernel("prefill_mma").launch == nullptr) {
            GTEST_SKIP() << "a build without CUDA has no device code to report on";
        }
        const std::filesystem::path objects =
            std::string(RACELINE_BINARY_DIR) + "/CMakeFiles/kernel_prefill_mma_plain.dir";
        for (const auto& entry : std::filesystem::recursive_directory_iterator(objects)) {
            if (entry.path().extension() == ".o") {
                reports.merge(test::compiler_report(entry.path().string(), 90));
                code.merge(test::machine_code(entry.path().string(), 90));
            }
        }
        std::erase_if(reports, [](const auto& f) {
            return f.first.find("7forwardILi") == std::string::npos;
        });
    }
    std::map<std::string, test::FunctionReport> reports;
    std::map<std::string, std::string> code;
};

TEST_F(PrefillMmaReport, no_spills_and_the_declared_registers) {
    // Every tile in both types, and four head dims again for rows that cp.async cannot copy.
    EXPECT_EQ(reports.size(), 2 * (prefill::tiles.size() + 4));
    for (std::size_t i = 0; i < prefill::tiles.size(); ++i) {
        int most = 0;
        for (const auto& [name, report] : reports) {
            if (name.find("7forwardILi" + std::to_string(i) + "E") != std::string::npos) {
                EXPECT_EQ(report.stack_bytes, 0) << name;
                // What the system software takes of every CTA's shared memory comes on top.
                EXPECT_EQ(report.static_smem, prefill::work_bytes + 1024) << name;
                most =
                    std::max(most, name.find("Lb0EEE") != std::string::npos ? report.registers : 0);
            }
        }
        EXPECT_EQ(most, prefill::tile_registers[i])
            << find_kernel("prefill_mma").tile_text(static_cast<int>(i));
    }
}

TEST_F(PrefillMmaReport, products_fragments_and_copies_are_single_instructions) {
    for (const auto& [name, bytes] : code) {
        const auto at = name.find("7forwardILi");
        if (at == std::string::npos) {
            continue;
        }
        const prefill::Tile& t =
            prefill::tiles[static_cast<std::size_t>(std::stoi(name.substr(at + 11)))];
        const bool by_hand = name.find("Lb1EEE") != std::string::npos;
        std::map<std::uint64_t, int> found;
        for (std::size_t i = 0; i + 16 <= bytes.size(); i += 16) {
            std::uint64_t low = 0;
            std::memcpy(&low, bytes.data() + i, sizeof(low));
            ++found[low & 0xFFF];
        }
        // One block's products of one warp; the fragments' reads of one block and of Q.
        const int products = t.keys / 8 * (t.headdim + t.headdim_v) / 16 / t.sharers;
        EXPECT_EQ(found[opcode::hmma], t.row_groups() * products) << name;
        EXPECT_EQ(found[opcode::ldsm], products / 2 + t.row_groups() * t.headdim / 16) << name;
        // The first block's copies, Q's and the next block's.
        const int chunks = (t.q_bytes() + 2 * t.k_bytes() + t.stages * t.v_bytes()) / 16;
        EXPECT_EQ(found[opcode::ldgsts], by_hand ? 0 : chunks / t.threads()) << name;
    }
}

// What the clocks of a block are worked out from. Rows copied by hand are another code.
TEST_F(PrefillMmaReport, a_block_takes_the_counted_clocks_and_instructions) {
    int judged = 0;
    for (const auto& [name, bytes] : code) {
        const auto at = name.find("7forwardILi");
        if (at == std::string::npos || name.find("Lb1EEE") != std::string::npos) {
            continue;
        }
        const prefill::Tile& tile =
            prefill::tiles[static_cast<std::size_t>(std::stoi(name.substr(at + 11)))];
        const prefill::BlockCode counted = prefill::block_code(tile);
        const test::Round found = block_in(test::instructions_of(bytes));
        EXPECT_NEAR(counted.clocks / found.clocks, 1, 0.11) << name;
        EXPECT_NEAR(counted.instructions / found.instructions, 1, 0.09) << name;
        ++judged;
    }
    EXPECT_EQ(judged, 2 * static_cast<int>(prefill::tiles.size()));
}

}  // namespace
}  // namespace raceline
