// SPDX-License-Identifier: Apache-2.0
// The loops that instructions.hpp counts, against the machine code of every compiled tile. The few
// bits that are read of it (opcode, branch distance, stall count) are those that nvdisasm shows.
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

#include "kernels/simt/instructions.hpp"
#include "tests/kernels/cubin.hpp"

namespace raceline {
namespace {

namespace simt = kernels::simt;

struct Instruction {
    std::uint64_t low, high;
    [[nodiscard]] bool is_fma() const { return (low & 0x1FF) == 0x023; }
    [[nodiscard]] bool is_shared_load() const { return (low & 0xFFF) == 0x984; }
    [[nodiscard]] bool is_branch() const { return (low & 0xFFF) == 0x947; }
    /// Instructions from the next one to where the branch leads.
    [[nodiscard]] std::int64_t distance() const {
        const auto upper = static_cast<std::int64_t>(low) >> 34;
        return (upper * 256 + static_cast<std::int64_t>((low >> 16) & 0xFF)) * 4 / 16;
    }
    [[nodiscard]] int stall() const { return static_cast<int>((high >> 41) & 0xF); }
};

struct LoopCount {
    int instructions = 0, fmas = 0, shared_loads = 0, stalls = 0;
};

// Every stretch from a target back to its branch.
std::vector<LoopCount> loops_of(const std::string& code) {
    std::vector<Instruction> all(code.size() / sizeof(Instruction));
    std::memcpy(all.data(), code.data(), all.size() * sizeof(Instruction));
    std::vector<LoopCount> loops;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::int64_t target = static_cast<std::int64_t>(i) + 1 + all[i].distance();
        if (!all[i].is_branch() || target < 0 || target >= static_cast<std::int64_t>(i)) {
            continue;
        }
        LoopCount loop;
        for (auto j = static_cast<std::size_t>(target); j <= i; ++j) {
            ++loop.instructions;
            loop.fmas += all[j].is_fma() ? 1 : 0;
            loop.shared_loads += all[j].is_shared_load() ? 1 : 0;
            loop.stalls += std::max(1, all[j].stall());
        }
        loops.push_back(loop);
    }
    return loops;
}

class SimtInstructions : public testing::Test {
protected:
    void SetUp() override {
        const std::filesystem::path objects =
            std::string(RACELINE_BINARY_DIR) + "/CMakeFiles/kernel_simt_plain.dir";
        if (!std::filesystem::exists(objects)) {
            GTEST_SKIP() << "a build without CUDA has no machine code";
        }
        for (const auto& entry : std::filesystem::recursive_directory_iterator(objects)) {
            if (entry.path().extension() == ".o") {
                code.merge(test::machine_code(entry.path().string(), 90));
            }
        }
    }

    // One loop of `tile` has exactly these FMAs and loads; its length and clocks are as declared.
    void expect_loop(int tile, int width, int fmas, int loads, simt::Code declared) const {
        const std::string name =
            "7forwardILi" + std::to_string(tile) + "ELi" + std::to_string(width) + "E";
        int found = 0;
        for (const auto& [mangled, bytes] : code) {
            if (mangled.find(name) == std::string::npos) {
                continue;
            }
            for (const LoopCount& loop : loops_of(bytes)) {
                if (loop.fmas == fmas && loop.shared_loads == loads) {
                    ++found;
                    EXPECT_NEAR(declared.instructions, loop.instructions,
                                4 + 0.05 * loop.instructions)
                        << name;
                    EXPECT_GE(declared.clocks, loop.stalls * 0.97) << name;
                }
            }
        }
        EXPECT_EQ(found, 1) << name << ": " << fmas << " FMAs, " << loads << " loads";
    }

    std::map<std::string, std::string> code;
};

TEST_F(SimtInstructions, the_loops_are_as_long_as_declared) {
    int compared = 0;
    for (std::size_t t = 0; t < simt::tiles.size(); ++t) {
        const simt::Tile& tile = simt::tiles[t];
        const int rows = tile.rows_per_lane();
        const int keys = tile.keys_per_lane();
        for (int width : simt::v_widths) {
            if (!simt::compiled(tile, width)) {
                continue;
            }
            const int quads = width / 32;
            expect_loop(static_cast<int>(t), width, 8 * rows * keys, 2 * (rows + keys),
                        simt::score_pair(rows, keys));
            expect_loop(static_cast<int>(t), width, 16 * rows * quads, rows + 4 * quads,
                        simt::accumulate_quad(rows, quads));
            ++compared;
        }
    }
    EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace raceline
