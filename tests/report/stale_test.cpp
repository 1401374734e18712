// SPDX-License-Identifier: Apache-2.0
#include "report/stale.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "receipt/row.hpp"
#include "run/run_case.hpp"
#include "support/build_info.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr const char* old_source_of_gqa =
    "467e45bb1212dcaf67615082a6e831ec9ea45af2a047b60435dde66a9197b352";

class Stale : public testing::Test {
protected:
    Stale() : kernel_(find_kernel("cpu_flash")) {
        Case which;
        which.kernel = &kernel_;
        which.workload = parse_shape("b=1,h=2,q=16,k=16,d=64,dtype=fp32");
        row_ = make_row(RowContext{}, "check", kernel_.source_hash,
                        row_to_json(row_case(which, live_cpu())));
    }
    const Kernel& kernel_;
    Json row_;
};

TEST_F(Stale, a_row_of_this_very_code_is_not) {
    EXPECT_TRUE(row_.at("code_hash").get<std::string>().starts_with("host:"));
    EXPECT_FALSE(is_stale(row_, kernel_));
}

TEST_F(Stale, machine_code_decides_where_both_have_it) {
    row_["source_hash"] = "another, by a renamed variable";
    EXPECT_FALSE(is_stale(row_, kernel_));
    row_["code_hash"] = "host:0123";
    row_["source_hash"] = kernel_.source_hash;
    EXPECT_TRUE(is_stale(row_, kernel_));
}

TEST_F(Stale, the_source_decides_where_code_cannot_be_compared) {
    const auto decided_by_source = [&](const Json& row) {
        Json changed = row;
        changed["source_hash"] = "another";
        return !is_stale(row, kernel_) && is_stale(changed, kernel_);
    };
    Json other = row_;
    other["code_hash"] = "host:0123";
    other["environment"]["compiler"] = "another 1.0";
    EXPECT_TRUE(decided_by_source(other)) << "another compiler makes other code";
    other = row_;
    other["code_hash"] = "sm_120:0123";
    EXPECT_TRUE(decided_by_source(other)) << "not built for that architecture";
    other = row_;
    other.erase("code_hash");
    EXPECT_TRUE(decided_by_source(other)) << "rows of before";
}

TEST(MachineCode, decides_on_pages_where_the_file_knows_both_sources) {
    const Kernel& kernel = find_kernel("gqa");
    const Json row{{"kernel", "gqa"}, {"source_hash", kernel.source_hash}};
    EXPECT_FALSE(code_has_changed_since(row));
    Json other = row;
    other["source_hash"] = "another";
    EXPECT_TRUE(code_has_changed_since(other));
    // The source of commit 60f3acc, before the rungs of a track shared code: the same machine code.
    other["source_hash"] = old_source_of_gqa;
    EXPECT_NE(remembered_machine_code("gqa", old_source_of_gqa), "");
    EXPECT_EQ(code_has_changed_since(other),
              remembered_machine_code("gqa", old_source_of_gqa) !=
                  remembered_machine_code("gqa", kernel.source_hash));
    other["kernel"] = "one_that_has_left";
    EXPECT_TRUE(code_has_changed_since(other));
}

// `tools/machine_code.py build/raceline` writes what this asks for.
TEST(MachineCode, of_this_tree_stands_in_the_file) {
    int compared = 0;
    for (const Kernel& kernel : all_kernels()) {
        if (kernel.engine != Engine::cuda) {
            continue;
        }
        const std::string known = remembered_machine_code(kernel.name, kernel.source_hash);
        EXPECT_NE(known, "") << kernel.name;
        // Other compilers make other code.
        if (kernel.launch != nullptr && build_info::cuda() == "13.0.88") {
            EXPECT_EQ(known, machine_code_of(kernel)) << kernel.name;
            ++compared;
        }
    }
    if (compared == 0) {
        GTEST_SKIP() << "a build without this CUDA has no machine code to compare";
    }
}

TEST(CodeHash, every_kernel_has_one_for_what_it_was_built_for) {
    Device h200 = datasheet_device("h200");
    for (const Kernel& kernel : all_kernels()) {
        const bool built = kernel.engine == Engine::cpu || kernel.compiled();
        const std::string_view hash = code_hash_of(kernel, h200);
        EXPECT_EQ(built, !code_hashes_of(kernel).empty()) << kernel.name;
        if (kernel.engine == Engine::cpu) {
            EXPECT_TRUE(hash.starts_with("host:")) << kernel.name;
        } else if (built && !hash.empty()) {
            EXPECT_TRUE(hash.starts_with("sm_90:")) << kernel.name;
        }
        for (const Kernel& other : all_kernels()) {
            EXPECT_TRUE(&kernel == &other || hash.empty() || hash != code_hash_of(other, h200))
                << kernel.name << " and " << other.name;
        }
    }
    h200.compute_capability = 80;
    EXPECT_EQ(code_hash_of(find_kernel("simt"), h200).find("sm_9"), std::string_view::npos);
}

}  // namespace
}  // namespace raceline
