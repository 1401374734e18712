// SPDX-License-Identifier: Apache-2.0
// What the compiler made of prefill_mma: registers, spills, and instructions of a block.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "kernels/prefill_mma/registers.hpp"
#include "registry/registry.hpp"
#include "tests/kernels/cubin.hpp"

namespace raceline {
namespace {

namespace prefill = kernels::prefill_mma;

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
    // The lowest 12 bits of an instruction are its opcode, as nvdisasm shows.
    constexpr std::uint64_t hmma = 0x23c, ldsm = 0x83b, ldgsts = 0xfae;
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
        EXPECT_EQ(found[hmma], t.row_groups() * products) << name;
        EXPECT_EQ(found[ldsm], products / 2 + t.row_groups() * t.headdim / 16) << name;
        // The first block's copies, Q's and the next block's.
        const int pieces = (t.q_bytes() + 2 * t.k_bytes() + t.stages * t.v_bytes()) / 16;
        EXPECT_EQ(found[ldgsts], by_hand ? 0 : pieces / t.threads()) << name;
    }
}

}  // namespace
}  // namespace raceline
