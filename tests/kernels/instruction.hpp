// SPDX-License-Identifier: Apache-2.0
// Instructions of sm_90, as far as tests read them. The few bits that are read (opcode, width,
// branch distance, stall count) are those that nvdisasm shows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace raceline::test {

struct Instruction {
    std::uint64_t low, high;

    [[nodiscard]] unsigned opcode() const { return low & 0xFFF; }
    [[nodiscard]] bool is(unsigned code) const { return opcode() == code; }
    [[nodiscard]] bool is_fma() const { return (low & 0x1FF) == 0x023; }
    /// Of a load or store: bytes a lane.
    [[nodiscard]] int bytes() const {
        constexpr int widths[] = {1, 1, 2, 2, 4, 8, 16, 16};
        return widths[high >> 9 & 7];
    }
    /// Instructions from the next one to where the branch leads.
    [[nodiscard]] std::int64_t distance() const {
        const auto upper = static_cast<std::int64_t>(low) >> 34;
        return (upper * 256 + static_cast<std::int64_t>((low >> 16) & 0xFF)) * 4 / 16;
    }
    [[nodiscard]] int stall() const { return std::max(1, static_cast<int>(high >> 41 & 0xF)); }
};

inline std::vector<Instruction> instructions_of(const std::string& code) {
    std::vector<Instruction> list(code.size() / sizeof(Instruction));
    std::memcpy(list.data(), code.data(), list.size() * sizeof(Instruction));
    return list;
}

namespace opcode {
inline constexpr unsigned branch = 0x947, hmma = 0x23c, ldsm = 0x83b, ldgsts = 0xfae, mufu = 0x308,
                          wgmma = 0x9f0, wgmma_from_registers = 0x5f0;
}  // namespace opcode

/// Instructions first to last, of which the last leads back to the first.
struct Loop {
    std::int64_t first = 0, last = -1;
};

inline std::vector<Loop> loops_in(const std::vector<Instruction>& code) {
    std::vector<Loop> loops;
    for (std::int64_t i = 0; i < std::ssize(code); ++i) {
        const Instruction& at = code[static_cast<std::size_t>(i)];
        const std::int64_t target = i + 1 + at.distance();
        if (at.is(opcode::branch) && target >= 0 && target < i) {
            loops.push_back({target, i});
        }
    }
    return loops;
}

using Asked = std::function<bool(const Instruction&)>;
inline std::int64_t count_in(const std::vector<Instruction>& code, Loop loop, const Asked& asked) {
    return std::count_if(code.begin() + loop.first, code.begin() + loop.last + 1, asked);
}

/// Stall counts and instructions of one round of a loop, past whatever a branch can skip that does
/// no `work`.
struct Round {
    double clocks = 0, instructions = 0;
};
inline Round round_of(const std::vector<Instruction>& code, Loop loop, const Asked& work) {
    Round found;
    for (std::int64_t i = loop.first; i <= loop.last; ++i) {
        const Instruction& at = code[static_cast<std::size_t>(i)];
        found.clocks += at.stall();
        ++found.instructions;
        const std::int64_t target = i + 1 + at.distance();
        if (at.is(opcode::branch) && target > i && target <= loop.last &&
            count_in(code, {i, target - 1}, work) == 0) {
            i = target - 1;
        }
    }
    return found;
}

}  // namespace raceline::test
