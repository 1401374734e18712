// SPDX-License-Identifier: Apache-2.0
// What products are said to move.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// One row by many columns is padded to a tile of several rows. Its weights are read once all the
// same, however many waves of CTAs that takes.
TEST(LinearCounts, a_product_of_few_rows_reads_its_weights_once) {
    for (const char* device : {"h200", "a100-80"}) {
        for (const char* sizes : {"n=57344,k=8192", "n=128256,k=4096", "n=40000,k=8192"}) {
            for (const int m : {1, 3, 8}) {
                const Workload w =
                    parse_shape(fmt::format("op=linear,m={},{},dtype=bf16", m, sizes));
                const Counts c =
                    find_kernel("linear_cublaslt").counts(w, 0, datasheet_device(device)).front();
                EXPECT_LE(c.reread.front().bytes, 0.01 * w.bytes_read())
                    << device << ' ' << m << ' ' << sizes;
            }
        }
    }
}

// On a CPU the steps behind a product take time of their own, after the tile that they change.
TEST(LinearCounts, steps_behind_a_product_take_time_on_a_cpu) {
    const auto counts_of = [](const char* steps) {
        const Workload w = parse_shape(fmt::format("op={},m=4096,n=4096,k=1,dtype=fp32", steps));
        return find_kernel("linear_onednn").counts(w, 0, datasheet_device("cpu")).front();
    };
    EXPECT_FALSE(counts_of("linear").work.contains("op.simd"));
    const Counts once = counts_of("linear+gelu");
    const Counts twice = counts_of("linear+gelu+gelu");
    EXPECT_GT(once.work.at("op.simd"), 4096.0 * 4096);
    EXPECT_DOUBLE_EQ(twice.work.at("op.simd"), 2 * once.work.at("op.simd"));
    EXPECT_DOUBLE_EQ(once.steps.front().work.at("op.simd") * static_cast<double>(once.ctas),
                     once.work.at("op.simd"));
    EXPECT_EQ(once.overlap.back(), std::vector<std::string>{"op.simd"});
}

// A time of a library that has no code for the device would be taken for one.
TEST(LinearSupports, says_where_the_library_does_not_run) {
    const auto reason = [](const char* dtype, const char* device) {
        const Workload w = parse_shape(fmt::format("op=linear,m=8,n=64,k=64,dtype={}", dtype));
        return find_kernel("linear_cublaslt").why_not(w, 0, datasheet_device(device));
    };
    for (const char* dtype : {"fp32", "fp16", "bf16"}) {
        EXPECT_EQ(reason(dtype, "v100"),
                  "cuBLASLt of CUDA 13 needs compute capability 7.5 or later, not 7.0");
        EXPECT_EQ(reason(dtype, "a100-80"), "");
    }
    EXPECT_EQ(reason("bf16", "t4"),
              "cuBLASLt multiplies bf16 from compute capability 8.0 on, not on 7.5");
    EXPECT_EQ(reason("fp16", "t4"), "");
}

}  // namespace
}  // namespace raceline
