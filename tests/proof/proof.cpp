// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/proof.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "registry/registry.hpp"
#include "support/check.hpp"
#include "workload/operation.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::test {
namespace {

// No length is a multiple of a tile; more queries than keys and fewer; no keys at all.
constexpr const char* shapes[] = {
    "b=1,h=2,q=70,k=133,d=64,dtype=bf16,causal",
    "b=2,h=4/2,q=33,k=65,d=128,dtype=fp16",
    "b=1,h=2,q=70,k=37,d=128,dtype=fp32,causal",
    "b=1,h=2,q=37,k=70,d=64,dtype=fp16,causal",
    "b=1,h=1,q=40,k=200,d=64,dtype=e4m3,causal",
    "b=1,h=2,q=64,k=77,d=256,dtype=e4m3",
    "b=1,h=4/2,q=50,k=90,d=64,dtype=bf16,window=20",
    "b=2,h=2,q=50;3,k=90;40,d=64,dtype=bf16,causal,sinks",
    "b=2,h=8/2,q=1,k=333,d=64,dtype=fp16,page=64",
    "b=1,h=8,q=1,k=389,d=128,dtype=fp32",
    "b=2,h=8/2,q=1,k=100;333,d=128,dtype=fp16,kv=e4m3,page=16",
    "b=2,h=8/2,q=1,k=100;333,d=128,dtype=bf16,kv=e4m3,scales=token,page=16",
    "b=1,h=8/1,q=1,k=333,d=64,dtype=fp16,kv=nvfp4",
    "b=1,h=16,q=1,k=200,mla=512+64,dtype=fp16",
    "b=1,h=1,q=128,k=128,d=64,dtype=fp16",
    "b=1,h=2,q=37,k=70,d=64,dtype=fp32",
    "b=1,h=2,q=3,k=0,d=64,dtype=fp16",
    "b=1,h=2,q=3,k=0,d=64,dtype=fp32",
    "b=2,h=4/2,q=7,k=90,d=64,dtype=bf16,tree=3",
    "h=8/2,q=16;1;9,k=100;1;9,d=128,dtype=fp16,kv=e4m3,page=16,sinks,tree=4",
    "h=3/1,q=32;5,k=200;3,d=64,dtype=fp32,softcap=20,tree=5",
    "op=combine,parts=3,rows=7,heads=5,d=64,dtype=bf16",
    "op=combine,parts=17,rows=5,heads=3,d=72,dtype=fp16,sinks=1",
    "op=combine,parts=1,rows=3,heads=2,d=33,dtype=fp32",
    "op=combine,parts=9,rows=2,heads=1,d=520,dtype=bf16",
    "op=combine,parts=8,rows=11,heads=8,d=128,dtype=bf16",
    "op=combine,parts=8,rows=11,heads=8,d=128,dtype=fp32,sinks=1",
    "op=combine,parts=2,rows=1,heads=1,d=1,dtype=fp16",
    "op=combine,parts=40,rows=3,heads=7,d=256,dtype=fp16",
    "op=combine,parts=4,rows=100,heads=1,d=8,dtype=bf16,sinks=1",
    "op=combine,parts=5,rows=9,heads=6,d=100,dtype=fp32",
};

/// These, and the examples of all operations in every type that they take.
std::vector<Workload> problems() {
    std::vector<Workload> list;
    for (const char* shape : shapes) {
        list.push_back(parse_shape(shape));
    }
    for (const OperationRecord* operation : all_operations()) {
        for (const std::string_view example : operation->examples.value) {
            for (const DType dtype : {DType::bf16, DType::fp32, DType::fp16}) {
                try {
                    list.push_back(parse_shape(example, dtype));
                } catch (const Error&) {
                    continue;  // it does not take this type
                }
            }
        }
    }
    return list;
}

std::vector<int> tiles_of(const Kernel& kernel, const Workload& w, const Device& device) {
    std::vector<int> able;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (kernel.why_not(w, tile, device).empty()) {
            able.push_back(tile);
        }
    }
    return able;
}

// Of the tiles that serve a problem another one for each problem, then the first and the last.
constexpr int rounds = 3;
int tile_of_round(const std::vector<int>& able, int round, std::size_t served) {
    const std::size_t n = able.size();
    const int next = able[(served + served / n) % n];  // a round later one further
    const int chosen[rounds] = {next, able.front(), able.back()};
    const bool again = std::find(chosen, chosen + round, chosen[round]) != chosen + round;
    return again ? -1 : chosen[round];
}

}  // namespace

int prove(Backend& backend, const Kernel& kernel, int most) {
    CaseOptions options;
    options.seed = 11;
    options.draws = {Draw::outliers, Draw::non_finite};
    const std::vector<Workload> all = problems();
    int ran = 0;
    for (int round = 0; round < rounds; ++round) {
        std::size_t served = 0;
        for (const Workload& w : all) {
            const std::vector<int> able = tiles_of(kernel, w, backend.device());
            const int tile = able.empty() ? -1 : tile_of_round(able, round, served++);
            if (tile >= 0 && ran < most) {
                const Correctness verdict = backend.check(kernel, tile, w, options);
                EXPECT_TRUE(verdict.passed) << kernel.name << ' ' << format_shape(w) << ' '
                                            << kernel.tile_text(tile) << ": " << verdict.why;
                ++ran;
            }
        }
    }
    return ran;
}

Device small_hopper_gpu(int units) {
    Device d;
    d.kind = DeviceKind::cuda;
    d.compute_capability = 90;
    d.units = units;
    d.smem_bytes_per_unit = 233472;
    d.smem_bytes_per_cta = 232448;
    d.threads_per_unit = 2048;
    d.registers_per_unit = 65536;
    d.memory_bytes = std::int64_t{1} << 36;
    d.l2_bytes = 1 << 19;  // so that heads are worked on in groups
    d.rates["flop.mma.bf16"].value = d.rates["flop.mma.fp16"].value = 1e12;
    return d;
}

}  // namespace raceline::test
