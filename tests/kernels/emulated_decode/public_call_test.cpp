// SPDX-License-Identifier: Apache-2.0
// What decode hands to decode_sm90 of a packed q: the host knows a bound of each sequence's tokens
// and their total, the kernel reads the sums.
#include <gtest/gtest.h>

#include "api/call.hpp"
#include "registry/registry.hpp"
#include "tests/api/workload_call.hpp"
#include "tests/proof/proof.hpp"

namespace raceline {
namespace {

// Through every tile that takes the call. How many there were.
int run_tiles(const Kernel& kernel, const std::string& shape, std::int64_t bound) {
    const Device device = test::small_hopper_gpu(5);
    int checked = 0;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        tests::WorkloadCall given(shape);
        DecodeArgs args = given.decode_args();
        args.max_seqlen_q = bound;
        const api::Call call = api::check_decode(args, {}, api::Pointers::needed);
        if (!kernel.why_not(call.workload, tile, device).empty()) {
            continue;
        }
        const tests::Workspace workspace(kernel.workspace(call.workload, tile, device));
        kernel.launch(call.args, tile, device, workspace.execution.workspace, nullptr);
        const Correctness verdict = given.verdict(kernel.precision(given.workload));
        EXPECT_TRUE(verdict.passed) << shape << ", at most " << bound << ", "
                                    << kernel.tile_text(tile) << ": " << verdict.why;
        EXPECT_TRUE(given.out.guards_hold() && given.lse.guards_hold());
        ++checked;
    }
    return checked;
}

TEST(EmulatedDecodeSm90, takes_packed_queries_whose_bound_is_loose) {
    for (const char* shape : {"b=4,h=8/2,q=5;0;1;2,k=300;17;90;0,d=64,dtype=bf16,page=16,causal",
                              "b=3,h=8/2,q=1;7;2,k=200,d=128,dtype=fp16,causal,window=50",
                              "b=2,h=8/4,q=3;1,k=90;300,d=64,dtype=bf16,kv=e4m3,page=64,causal"}) {
        for (const std::int64_t bound : {7, 16}) {
            EXPECT_GE(run_tiles(find_kernel("decode_sm90"), shape, bound), 1) << shape;
        }
    }
    EXPECT_EQ(run_tiles(find_kernel("decode_sm90"),
                        "b=2,h=8/2,q=17;1,k=90;20,d=64,dtype=bf16,page=16", 17),
              0);
}

TEST(EmulatedDecodeSm90, takes_trees_of_packed_queries) {
    for (const std::int64_t bound : {6, 16}) {
        EXPECT_GE(run_tiles(find_kernel("decode_sm90_tree"),
                            "b=3,h=8/2,q=4;0;6,k=90;3;300,d=64,dtype=bf16,page=16,tree=4", bound),
                  1);
    }
}

}  // namespace
}  // namespace raceline
