// SPDX-License-Identifier: Apache-2.0
// Registers and shared memory that counts() declares, against what the compiler did. The objects
// exist only in a build with CUDA; the reader of cubins is tested through them.
#include <filesystem>
#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "tests/kernels/cubin.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using Reports = std::map<std::string, test::FunctionReport>;

Reports reports_of(const std::string& kernel) {
    const std::filesystem::path objects =
        std::string(RACELINE_BINARY_DIR) + "/CMakeFiles/kernel_" + kernel + "_plain.dir";
    Reports all;
    if (std::filesystem::exists(objects)) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(objects)) {
            if (entry.path().extension() == ".o") {
                all.merge(test::compiler_report(entry.path().string(), 90));
            }
        }
    }
    return all;
}

// The functions whose mangled name holds all of `parts`.
std::vector<test::FunctionReport> matching(const Reports& all, const std::string& part) {
    std::vector<test::FunctionReport> found;
    for (const auto& [name, report] : all) {
        if (name.find(part) != std::string::npos) {
            found.push_back(report);
        }
    }
    return found;
}

class CompilerReport : public testing::Test {
protected:
    void SetUp() override {
        if (find_kernel("simt").launch == nullptr) {
            GTEST_SKIP() << "a build without CUDA has no device code to report on";
        }
    }
    Device h200 = datasheet_device("h200");
};

// What Hopper's system software takes of every CTA's shared memory (CUDA programming guide).
constexpr std::int64_t reserved_smem = 1024;

TEST_F(CompilerReport, nothing_spills) {
    for (const char* kernel : {"simt", "simt_tree", "naive", "combine_cuda", "crossentropy_cuda"}) {
        const Reports all = reports_of(kernel);
        EXPECT_FALSE(all.empty()) << kernel;
        for (const auto& [name, report] : all) {
            EXPECT_EQ(report.stack_bytes, 0) << name;
        }
    }
}

// Of simt or of simt_tree, every instance.
void expect_declared_registers(const Kernel& kernel, const Device& h200, const std::string& shape) {
    const Reports all = reports_of(std::string(kernel.name));
    int compared = 0;
    for (int width : {32, 64, 128, 192, 256, 512}) {
        Workload w = parse_shape(shape);
        w.headdim_v = width;
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (!kernel.why_not(w, tile, h200).empty()) {
                continue;
            }
            const auto found = matching(
                all, "7forwardILi" + std::to_string(tile) + "ELi" + std::to_string(width) + "E");
            ASSERT_EQ(found.size(), 1U) << kernel.tile_text(tile) << " V " << width;
            EXPECT_EQ(kernel.counts(w, tile, h200).front().registers, found[0].registers)
                << kernel.tile_text(tile) << " V " << width;
            ++compared;
        }
    }
    EXPECT_EQ(compared, static_cast<int>(matching(all, "7forwardILi").size()));
}

TEST_F(CompilerReport, simt_declares_its_registers) {
    const std::string shape = "b=1,h=4,q=32,k=256,d=64,dtype=bf16";
    expect_declared_registers(find_kernel("simt"), h200, shape);
    expect_declared_registers(find_kernel("simt_tree"), h200, shape + ",tree=1");
}

TEST_F(CompilerReport, simt_declares_its_merge) {
    const Kernel& kernel = find_kernel("simt");
    const auto launches =
        kernel.counts(parse_shape("b=1,h=4,q=1,k=65536,d=64,dtype=bf16"), 0, h200);
    ASSERT_EQ(launches.size(), 2U);
    const auto found = matching(reports_of("simt"), "5merge");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(launches[1].registers, found[0].registers);
    EXPECT_EQ(launches[1].smem_bytes, found[0].static_smem - reserved_smem);
}

TEST_F(CompilerReport, naive_declares_its_registers) {
    const Reports all = reports_of("naive");
    const Kernel& kernel = find_kernel("naive");
    for (const Counts& launch :
         kernel.counts(parse_shape("b=1,h=4,q=64,k=256,d=64,dtype=fp32"), 0, h200)) {
        const auto found = matching(all, launch.launch);
        ASSERT_FALSE(found.empty()) << launch.launch;
        for (const auto& report : found) {
            EXPECT_EQ(launch.registers, report.registers) << launch.launch;
        }
    }
}

}  // namespace
}  // namespace raceline
