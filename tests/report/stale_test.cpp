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

TEST(CodeHash, every_kernel_has_one_for_what_it_was_built_for) {
    Device h200 = datasheet_device("h200");
    for (const Kernel& kernel : all_kernels()) {
        const bool built = kernel.engine == Engine::cpu || kernel.launch != nullptr;
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
