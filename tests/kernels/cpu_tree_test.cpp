// SPDX-License-Identifier: Apache-2.0
// Trees of new tokens on cpu_flash, by both of its ways (few rows and many), through the gate; and
// the gate itself, which must see a word that is not the one of the inputs.
#include <gtest/gtest.h>
#include <vector>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "run/backend.hpp"
#include "tests/kernels/tree_cases.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// Of the rows of the call that the kernel under test gets, the words that it gets instead.
std::vector<std::uint32_t> other_words;

void launch_with_other_words(const AttentionCall& call, int tile, const Device& device,
                             void* workspace, void* stream) {
    AttentionCall other = call;
    other.tree = other_words.data();
    find_kernel("cpu_flash").launch(other, tile, device, workspace, stream);
}

TEST(CpuTree, TwoHundredRandomTreesPassTheGate) {
    const Kernel& kernel = find_kernel("cpu_flash");
    Device device = live_cpu();
    device.units = 3;
    const auto backend = make_cpu_backend(device);
    int many_rows = 0;
    for (std::uint64_t n = 0; n < 200; ++n) {
        const std::string shape = test::tree_shape(n, n % 2 == 0 ? 32 : 6, true, true);
        const Workload w = parse_shape(shape);
        CaseOptions options;
        options.seed = n + 1;
        options.draws = {n % 3 == 0 ? Draw::non_finite : n % 3 == 1 ? Draw::outliers : Draw::plain};
        const Correctness verdict = backend->check(kernel, 0, w, options);
        EXPECT_TRUE(verdict.passed) << shape << ": " << verdict.why;
        many_rows += w.seqlen_q * w.group() > 8 ? 1 : 0;
    }
    EXPECT_GT(many_rows, 50);
    EXPECT_LT(many_rows, 150);
}

// One bit of one token, set or cleared, wherever it stands.
TEST(CpuTree, TheGateRefusesAnyOtherTree) {
    Kernel broken = find_kernel("cpu_flash");
    broken.launch = launch_with_other_words;
    const auto backend = make_cpu_backend(live_cpu());
    CaseOptions options;
    options.draws = {Draw::plain};
    for (const char* shape :
         {"h=2/1,q=5,k=500,d=64,dtype=fp32,tree=9", "b=2,h=4/2,q=7,k=60,d=64,dtype=bf16,tree=4",
          "h=2,q=3;6,k=100;30,d=64,dtype=fp16,tree=2"}) {
        const Workload w = parse_shape(shape);
        const Inputs in = make_inputs(w, {});
        other_words = in.tree;
        ASSERT_TRUE(backend->check(broken, 0, w, options).passed) << shape;
        std::size_t token = 0;
        for (std::int64_t b = 0; b < w.batch; ++b) {
            for (std::int64_t i = 0; i < w.length_q(b); ++i, ++token) {
                for (std::int64_t bit = 0; bit < w.length_q(b); ++bit) {
                    other_words = in.tree;
                    other_words[token] ^= std::uint32_t{1} << bit;
                    EXPECT_FALSE(backend->check(broken, 0, w, options).passed)
                        << shape << " token " << token << " bit " << bit;
                }
            }
        }
    }
}

TEST(CpuTree, KernelsThatKnowNoTreeSaySo) {
    const Workload w = parse_shape("h=2,q=5,k=50,d=64,dtype=bf16,tree=1");
    Device gpu;
    gpu.kind = DeviceKind::cuda;
    gpu.compute_capability = 90;
    gpu.units = 132;
    gpu.smem_bytes_per_cta = 232448;
    gpu.smem_bytes_per_unit = 233472;
    gpu.threads_per_unit = 2048;
    gpu.registers_per_unit = 65536;
    const Device cpu = live_cpu();
    int take_it = 0;
    for (const Kernel& kernel : all_kernels()) {
        const Device& device = kernel.engine == Engine::cpu ? cpu : gpu;
        const std::string reason = kernel.why_not(w, 0, device);
        if (kernel.op != "attention") {
            EXPECT_FALSE(kernel.trees);
        } else if (!kernel.trees) {
            EXPECT_EQ(reason, "it knows no tree of new tokens") << kernel.name;
        } else {
            for (int tile = 0; tile < kernel.tile_count(); ++tile) {
                take_it += kernel.why_not(w, tile, device).empty() ? 1 : 0;
            }
        }
    }
    EXPECT_GE(take_it, 3);  // cpu_flash, simt_tree, decode_sm90_tree
    const Workload plain = parse_shape("h=2,q=5,k=50,d=64,dtype=bf16");
    for (const char* name : {"simt_tree", "decode_sm90_tree"}) {
        EXPECT_NE(find_kernel(name).why_not(plain, 0, gpu).find("with a tree"), std::string::npos);
    }
}

}  // namespace
}  // namespace raceline
