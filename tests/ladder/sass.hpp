// SPDX-License-Identifier: Apache-2.0
// What a rung's compiled code holds: instructions of sm_90 by kind and width, and its loops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/kernels/cubin.hpp"
#include "tests/kernels/instruction.hpp"

namespace raceline::test {

/// Counts over a stretch of code, padding left out. Loads and stores by bytes a lane.
struct Mix {
    int instructions = 0, stalls = 0, fmas = 0, barriers = 0, shuffles = 0, exponentials = 0;
    int matrix = 0;          ///< HMMA
    int matrix_loads = 0;    ///< LDSM
    int warp_group_mma = 0;  ///< HGMMA
    int async_copies = 0;    ///< LDGSTS
    std::map<int, int> shared_loads, shared_stores, global_loads, global_stores;

    void add(const Instruction& i) {
        constexpr unsigned nop = 0x918;
        if (i.is(nop)) {
            return;
        }
        ++instructions;
        stalls += i.stall();
        fmas += i.is_fma() ? 1 : 0;
        barriers += i.is(0xb1d) ? 1 : 0;
        shuffles += i.is(0xf89) || i.is(0x589) || i.is(0x989) || i.is(0x389) ? 1 : 0;
        constexpr std::uint64_t ex2 = 4;  // of the multi-function unit's functions
        exponentials += i.is(0x308) && (i.high >> 9 & 7) == ex2 ? 1 : 0;
        matrix += i.is(0x23c) ? 1 : 0;
        matrix_loads += i.is(0x83b) ? 1 : 0;
        warp_group_mma += i.is(0x5f0) || i.is(0x9f0) || i.is(0xdf0) ? 1 : 0;
        async_copies += i.is(0xfae) ? 1 : 0;
        shared_loads[i.bytes()] += i.is(0x984) ? 1 : 0;
        shared_stores[i.bytes()] += i.is(0x388) || i.is(0x988) ? 1 : 0;
        global_loads[i.bytes()] += i.is(0x981) ? 1 : 0;
        global_stores[i.bytes()] += i.is(0x986) ? 1 : 0;
    }
    [[nodiscard]] static int total(const std::map<int, int>& by_width) {
        int sum = 0;
        for (const auto& [bytes, count] : by_width) {
            sum += count;
        }
        return sum;
    }
};

/// One __global__ function.
struct Function {
    FunctionReport report;
    std::string code;
    Mix all;                 ///< without the branch to itself that follows the code
    std::vector<Mix> loops;  ///< stretches from a target back to its branch, inner ones included

    /// The longest loop.
    [[nodiscard]] const Mix& loop() const {
        return *std::max_element(loops.begin(), loops.end(), [](const Mix& a, const Mix& b) {
            return a.instructions < b.instructions;
        });
    }
};

inline Function function_of(const std::string& code, const FunctionReport& report) {
    const std::vector<Instruction> list = instructions_of(code);
    Function f{report, code, {}, {}};
    for (std::size_t i = 0; i < list.size(); ++i) {
        constexpr unsigned branch = 0x947;
        const std::int64_t target = static_cast<std::int64_t>(i) + 1 + list[i].distance();
        const auto at = static_cast<std::int64_t>(i);
        const bool to_itself = list[i].is(branch) && target == at;
        if (!to_itself) {
            f.all.add(list[i]);
        }
        if (list[i].is(branch) && target >= 0 && target < at) {
            Mix& loop = f.loops.emplace_back();
            for (auto j = static_cast<std::size_t>(target); j <= i; ++j) {
                loop.add(list[j]);
            }
        }
    }
    return f;
}

/// Every __global__ function of a rung by mangled name, as compiled for sm_90 (`variant` plain) or
/// sm_90a. Empty in a build without CUDA.
inline std::map<std::string, Function> functions_of(const std::string& rung,
                                                    const std::string& variant = "plain") {
    const std::filesystem::path objects =
        std::string(RACELINE_BINARY_DIR) + "/CMakeFiles/kernel_" + rung + "_" + variant + ".dir";
    std::map<std::string, Function> all;
    if (!std::filesystem::exists(objects)) {
        return all;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(objects)) {
        if (entry.path().extension() != ".o") {
            continue;
        }
        const auto reports = compiler_report(entry.path().string(), 90);
        for (const auto& [name, code] : machine_code(entry.path().string(), 90)) {
            all[name] = function_of(code, reports.at(name));
        }
    }
    return all;
}

/// Passes that one access of a warp takes: 128 bytes of lanes at a time, and in each as many as the
/// bank that is asked for most different words. Where every lane shares its address with a
/// neighbour, one or two lanes on, a pass fills two registers (see
/// ladder/prefill/online/online.cpp). `address(lane)` is in bytes.
template <class Address>
int shared_passes(int bytes, const Address& address) {
    bool next = bytes > 4, next_but_one = bytes > 4;
    for (int lane = 0; lane < 32; ++lane) {
        next = next && address(lane) == address(lane ^ 1);
        next_but_one = next_but_one && address(lane) == address(lane ^ 2);
    }
    const int together = 128 / std::max(bytes, 4) * (next || next_but_one ? 2 : 1);
    int passes = 0;
    for (int first = 0; first < 32; first += together) {
        std::map<int, std::map<std::int64_t, int>> words;
        for (int lane = first; lane < first + together && lane < 32; ++lane) {
            for (std::int64_t word = address(lane) / 4; word * 4 < address(lane) + bytes; ++word) {
                words[static_cast<int>(word % 32)][word] = 1;
            }
        }
        int most = 0;
        for (const auto& [bank, different] : words) {
            most = std::max(most, static_cast<int>(different.size()));
        }
        passes += most;
    }
    return passes;
}

}  // namespace raceline::test
