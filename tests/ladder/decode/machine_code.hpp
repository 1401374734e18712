// SPDX-License-Identifier: Apache-2.0
// What a test asks of a rung's machine code for sm_90: which instructions, how many, in which loop.
// The few bits that are read of an instruction (opcode, width, branch distance, stall count) are
// those that nvdisasm shows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/kernels/cubin.hpp"

namespace raceline::test {

struct Instruction {
    std::uint64_t low, high;
    [[nodiscard]] int opcode() const { return static_cast<int>(low & 0xFFF); }
    [[nodiscard]] bool is(int code) const { return opcode() == code; }
    [[nodiscard]] int width_field() const { return static_cast<int>((high >> 9) & 7); }
    [[nodiscard]] bool loads_global() const { return is(0x981); }
    [[nodiscard]] bool loads_global_16_bytes() const { return is(0x981) && width_field() == 6; }
    [[nodiscard]] bool copies_global_to_shared() const { return is(0xfae); }
    /// DEPBAR.LE SB0, n
    [[nodiscard]] bool waits_for_groups_but(int groups) const {
        return is(0x91a) && ((low >> 38) & 0x3F) == static_cast<std::uint64_t>(groups);
    }
    [[nodiscard]] bool stores_shared() const { return is(0x388); }
    [[nodiscard]] bool loads_shared() const { return is(0x984); }
    [[nodiscard]] bool is_shuffle() const {
        return is(0xf89) || is(0x589) || is(0x389) || is(0x989);
    }
    /// F2FP.F16.E4M3.UNPACK_B: two E4M3 to two halves.
    [[nodiscard]] bool unpacks_e4m3() const { return is(0x23e) && (high & 0x2000000) != 0; }
    /// HGMMA, with A in registers or in shared memory.
    [[nodiscard]] bool is_group_product() const { return is(0x5f0) || is(0x9f0) || is(0xdf0); }
    [[nodiscard]] bool is_permute() const { return (low & 0x1FF) == 0x016; }
    /// HMUL2: two halves by two.
    [[nodiscard]] bool multiplies_halves() const { return (low & 0x1FF) == 0x032; }
    [[nodiscard]] bool is_matrix_product() const { return is(0x23c); }
    [[nodiscard]] bool is_add() const { return (low & 0x1FF) == 0x021; }
    [[nodiscard]] int destination() const { return static_cast<int>((low >> 16) & 0xFF); }
    [[nodiscard]] bool reads(int reg) const {
        return static_cast<int>((low >> 24) & 0xFF) == reg ||
               static_cast<int>((low >> 32) & 0xFF) == reg;
    }
    [[nodiscard]] bool is_fma() const { return (low & 0x1FF) == 0x023; }
    [[nodiscard]] bool is_special() const { return is(0x308); }
    [[nodiscard]] bool is_branch() const { return is(0x947); }
    /// Instructions from the next one to where the branch leads.
    [[nodiscard]] std::int64_t distance() const {
        const auto upper = static_cast<std::int64_t>(low) >> 34;
        return (upper * 256 + static_cast<std::int64_t>((low >> 16) & 0xFF)) * 4 / 16;
    }
    [[nodiscard]] int stall() const { return static_cast<int>((high >> 41) & 0xF); }
};

using Code = std::vector<Instruction>;

template <class Is>
int count_if(const Code& code, Is is) {
    return static_cast<int>(std::count_if(code.begin(), code.end(), is));
}

/// Every stretch from a target back to its branch; inner loops are also part of outer ones.
inline std::vector<Code> loops_of(const Code& code) {
    std::vector<Code> loops;
    for (std::size_t i = 0; i < code.size(); ++i) {
        const std::int64_t target = static_cast<std::int64_t>(i) + 1 + code[i].distance();
        if (code[i].is_branch() && target >= 0 && target < static_cast<std::int64_t>(i)) {
            loops.emplace_back(code.begin() + target,
                               code.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
    }
    return loops;
}

/// The device functions of ladder/<rung>, by mangled name. Empty in a build without CUDA.
class RungCode {
public:
    explicit RungCode(const std::string& rung) {
        for (const char* variant : {"plain", "sm90a"}) {
            const std::filesystem::path objects = std::string(RACELINE_BINARY_DIR) +
                                                  "/CMakeFiles/kernel_" + rung + "_" + variant +
                                                  ".dir";
            if (!std::filesystem::exists(objects)) {
                continue;
            }
            for (const auto& entry : std::filesystem::recursive_directory_iterator(objects)) {
                if (entry.path().extension() == ".o") {
                    read(entry.path().string());
                }
            }
        }
    }

    [[nodiscard]] const std::map<std::string, Code>& functions() const { return functions_; }
    [[nodiscard]] const std::map<std::string, FunctionReport>& reports() const { return reports_; }
    /// The one function whose mangled name holds `part`; empty if there is none or several.
    [[nodiscard]] Code function(const std::string& part) const { return one_of(functions_, part); }
    [[nodiscard]] FunctionReport report(const std::string& part) const {
        return one_of(reports_, part);
    }

private:
    template <class T>
    static T one_of(const std::map<std::string, T>& all, const std::string& part) {
        T found{};
        int matches = 0;
        for (const auto& [name, value] : all) {
            if (name.find(part) != std::string::npos) {
                found = value;
                ++matches;
            }
        }
        return matches == 1 ? found : T{};
    }
    void read(const std::string& object) {
        reports_.merge(compiler_report(object, 90));
        for (const auto& [name, bytes] : machine_code(object, 90)) {
            Code code(bytes.size() / sizeof(Instruction));
            std::memcpy(code.data(), bytes.data(), code.size() * sizeof(Instruction));
            functions_[name] = code;
        }
    }
    std::map<std::string, Code> functions_;
    std::map<std::string, FunctionReport> reports_;
};

}  // namespace raceline::test
