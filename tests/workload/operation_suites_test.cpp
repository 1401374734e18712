// SPDX-License-Identifier: Apache-2.0
#include "workload/operation_suites.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "support/check.hpp"
#include "workload/operation.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& suite) {
    try {
        make_suite(suite);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::invalid_argument);
        return error.what();
    }
    ADD_FAILURE() << suite << " was accepted";
    return {};
}

TEST(OperationSuites, HaveEveryOperationBesideAttention) {
    std::set<std::string> seen{"attention", "combine"};  // combine has a suite of its own
    for (const Workload& w : make_suite("operations").workloads) {
        seen.insert(w.op);
    }
    for (const OperationRecord* operation : all_operations()) {
        EXPECT_TRUE(seen.contains(std::string(operation->name.value))) << operation->name.value;
    }
}

TEST(OperationSuites, ASeedDrawsTheSameAgain) {
    const auto first = make_suite("operations:7").workloads;
    EXPECT_EQ(first, make_suite("operations:7").workloads);
    EXPECT_NE(first, make_suite("operations:8").workloads);
    EXPECT_EQ(first.size(), 20U);
    for (const Workload& w : first) {
        EXPECT_LE(w.bytes_read() + w.bytes_written(), 1e9) << format_shape(w);
        EXPECT_GE(w.bytes_read() + w.bytes_written(), 1e5) << format_shape(w);
    }
}

// What a seed draws is named in receipts and must stay.
TEST(OperationSuites, TheFirstDrawsOfSeedSeven) {
    const auto drawn = make_suite("operations:7").workloads;
    EXPECT_EQ(format_shape(drawn[0]), "op=linear+bias,m=8,n=6144,k=6144,dtype=bf16");
    EXPECT_EQ(format_shape(drawn[19]), "op=gemm,m=41,n=2048,k=14336,dtype=bf16");
}

TEST(AnyOperations, ASeedDrawsTheSameAgain) {
    const Suite first = make_suite("Operations-Any:7");
    EXPECT_EQ(first.name, "operations-any:7");
    EXPECT_EQ(first.workloads, make_suite("operations-any:7").workloads);
    EXPECT_NE(first.workloads, make_suite("operations-any:8").workloads);
    ASSERT_EQ(first.workloads.size(), 20U);
    EXPECT_EQ(format_shape(first.workloads[0]),
              "op=combine,parts=40,rows=12,heads=2,d=53,dtype=fp32");
    EXPECT_EQ(format_shape(first.workloads[19]),
              "op=linear+bias+gelu,m=15,n=10464,k=4848,dtype=fp16");
}

/// Sizes of many seeds; those of widths in elements.
struct AnySizes {
    std::set<std::string> operations;
    std::int64_t least_width = most_extent, most_width = 0;
    int widths = 0, whole_chunks = 0, no_eights = 0;
    double least_bytes = 1e18, most_bytes = 0;
    static constexpr std::int64_t most_extent = std::int64_t{1} << 40;

    void add_width(const Workload& w, std::int64_t width) {
        least_width = std::min(least_width, width);
        most_width = std::max(most_width, width);
        ++widths;
        no_eights += width % 8 != 0 ? 1 : 0;
        whole_chunks += static_cast<int>(bytes_of(w.dtype)) * width % 16 == 0 ? 1 : 0;
    }
    void add(const Workload& w) {
        EXPECT_EQ(parse_shape(format_shape(w)), w) << format_shape(w);
        operations.insert(w.op);
        const double bytes = bytes_of_inputs(w) + bytes_of_outputs(w);
        least_bytes = std::min(least_bytes, bytes);
        most_bytes = std::max(most_bytes, bytes);
        EXPECT_LE(w.flops(), 7e10) << format_shape(w);
        if (w.op == "linear") {
            EXPECT_EQ(w.extent("n") % 8 + w.extent("k") % 8, 0) << format_shape(w);
        } else if (w.op == "rows" || w.op == "adam" || w.op == "crossentropy") {
            add_width(w, w.extent(grid_width));
        } else {
            add_width(w, w.extent("d"));
        }
    }
};

TEST(AnyOperations, HaveEveryOperationAtSizesThatNoModelHas) {
    AnySizes sizes;
    for (int seed = 0; seed < 50; ++seed) {
        for (const Workload& w : make_suite(fmt::format("operations-any:{}", seed)).workloads) {
            sizes.add(w);
        }
    }
    for (const OperationRecord* operation : all_operations()) {
        EXPECT_TRUE(operation->name.value == "attention" ||
                    sizes.operations.contains(std::string(operation->name.value)))
            << operation->name.value;
    }
    EXPECT_LE(sizes.least_width, 2);
    EXPECT_GE(sizes.most_width, 200000);
    EXPECT_LE(sizes.most_width, 300000);
    // Both ways are seen: rows that begin at a chunk and rows that begin inside one.
    EXPECT_GT(sizes.whole_chunks, sizes.widths / 4);
    EXPECT_GT(sizes.no_eights, sizes.widths / 4);
    EXPECT_LE(sizes.least_bytes, 2e5);
    EXPECT_GE(sizes.most_bytes, 1e9);
    EXPECT_LE(sizes.most_bytes, 2e9);
}

TEST(OperationSuites, ALayerIsItsPartsInOrder) {
    const auto prefill = make_suite("layer:llama3-8b:prefill=4096").workloads;
    ASSERT_EQ(prefill.size(), 10U);
    EXPECT_EQ(format_shape(prefill[0]), "op=rmsnorm,n=4096x4096,dtype=bf16");
    EXPECT_EQ(format_shape(prefill[1]), "op=linear,m=4096,n=6144,k=4096,dtype=bf16");
    EXPECT_EQ(format_shape(prefill[3]), "h=32/8,q=4096,k=4096,d=128,dtype=bf16,causal");
    EXPECT_EQ(format_shape(prefill[6]), "op=linear,m=4096,n=28672,k=4096,dtype=bf16");
    // 2 · 218 million weights a token, as the model's size says.
    double products = 0;
    for (const Workload& w : prefill) {
        products += w.op == "linear" ? w.flops() : 0;
    }
    EXPECT_NEAR(products / 4096 / 2, 218e6, 1e6);
    EXPECT_EQ(make_suite("layer:Llama3-8B:prefill=4096").workloads, prefill);
    EXPECT_EQ(make_suite("LAYER:LLAMA3-8B:PREFILL=4096").workloads, prefill);
    const auto decode = make_suite("layer:qwen3-8b:decode=64x8192").workloads;
    // Rows have one spelling.
    const Suite large = make_suite("Layer:Qwen3-8B:Decode=64X8192");
    EXPECT_EQ(large.name, "layer:qwen3-8b:decode=64x8192");
    EXPECT_EQ(large.workloads, decode);
    EXPECT_EQ(make_suite("layer:LLAMA3-8B:prefill=4096").name, "layer:llama3-8b:prefill=4096");
    EXPECT_EQ(make_suite("OPERATIONS:7").name, "operations:7");
    EXPECT_EQ(format_shape(decode[2]), "op=rmsnorm+rope,n=2560x128,dtype=bf16");
    EXPECT_EQ(format_shape(decode[3]), "b=64,h=32/8,q=1,k=8192,d=128,dtype=bf16,causal");
}

TEST(OperationSuites, RefuseWhatIsNoLayer) {
    EXPECT_THAT(refusal("layer:llama3-8"), HasSubstr("as in layer:llama3-8b:prefill=4096"));
    EXPECT_THAT(refusal("layer:decode=1x64"), HasSubstr("as in layer:llama3-8b:decode=64x8192"));
    EXPECT_THAT(refusal("layers:llama3-8b:decode=64x8192"),
                HasSubstr("did you mean 'layer:MODEL:decode=SEQUENCESxKEYS'?"));
    EXPECT_THAT(refusal("layers:llama3-8b:prefill=64"),
                HasSubstr("did you mean 'layer:MODEL:prefill=TOKENS'?"));
    EXPECT_THAT(refusal("ramdom:7"), HasSubstr("did you mean 'random:SEED'?"));
    EXPECT_THAT(refusal("layer:lama3-8b:prefill=1"), HasSubstr("did you mean 'llama3-8b'?"));
    EXPECT_THAT(refusal("layer:llama3-8b:prefil=1"), HasSubstr("it must be prefill=TOKENS"));
    EXPECT_THAT(refusal("layer:llama3-8b:decode=64"), HasSubstr("it must be prefill=TOKENS"));
    EXPECT_THAT(refusal("layer:llama3-8b:prefill=0"), HasSubstr("1 token or more"));
    EXPECT_THAT(refusal("operations:x"), HasSubstr("needs a seed"));
    EXPECT_THAT(refusal("operations-any:"), HasSubstr("suite 'operations-any:' needs a seed"));
}

}  // namespace
}  // namespace raceline
