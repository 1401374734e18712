// SPDX-License-Identifier: Apache-2.0
// The gate on a live GPU: its draws are the host's, its bounds those of the host, and it refuses
// what is wrong in one place. A program of its own, run by tools/device_evidence.sh; ctest has no
// entry for it.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <string>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "run/device_gate.hpp"
#include "run/run_case.hpp"
#include "spoiled.hpp"
#include "timing/cuda_runtime.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using test::HostOutputs;
using test::Spoil;

TEST(DeviceDraws, are_the_hosts_bit_for_bit) {
    for (const char* shape :
         {"b=2,h=4/2,q=33,k=65,d=64,dtype=bf16,causal",
          "b=3,h=4/2,q=1,k=100,d=80,dtype=fp16,page=16",
          "h=4/2,q=100;37;0;1,k=333;512;3;700,d=64,dtype=fp32,causal",
          "h=8/2,q=40,k=300,d=128,dtype=e4m3", "h=16,q=1,k=700,mla=64+16,dtype=bf16",
          "b=2,h=8/2,q=1,k=1000,d=128,dtype=bf16,kv=e4m3,page=64",
          "b=2,h=8/2,q=1,k=1000,d=128,dtype=bf16,kv=e4m3,scales=token,page=64"}) {
        const Workload w = parse_shape(shape);
        for (const Draw draw : all_draws) {
            const Inputs host = make_inputs(w, {.seed = 9, .draw = draw});
            const Inputs fetched = DeviceInputs(w, 9, draw).with_data();
            EXPECT_TRUE(fetched.q == host.q) << "q of " << shape << ' ' << name_of(draw);
            EXPECT_TRUE(fetched.k == host.k) << "k of " << shape << ' ' << name_of(draw);
            EXPECT_TRUE(fetched.v == host.v) << "v of " << shape << ' ' << name_of(draw);
            EXPECT_EQ(fetched.block_table, host.block_table) << shape;
        }
    }
}

// What a copy or a fill returns from must be there for a stream that waits for no other: a kernel
// that reads a block table too early follows what was there before, and that only now and then.
TEST(DeviceCopies, are_done_when_they_return) {
    constexpr std::size_t bytes = std::size_t{4} << 30;
    const cuda::DeviceBuffer from(bytes);
    const cuda::DeviceBuffer to(bytes);
    const cuda::Stream stream;
    const auto last_byte = [&](const cuda::DeviceBuffer& of) {
        unsigned char last = 0;
        EXPECT_EQ(cudaMemcpyAsync(&last, of.data() + bytes - 1, 1, cudaMemcpyDeviceToHost,
                                  static_cast<cudaStream_t>(stream.get())),
                  cudaSuccess);
        stream.synchronize();
        return last;
    };
    for (int round = 1; round <= 5; ++round) {
        const auto byte = static_cast<unsigned char>(round);
        cuda::fill(from.data(), byte, bytes);
        EXPECT_EQ(last_byte(from), byte);
        cuda::copy(to.data(), from.data(), bytes);
        EXPECT_EQ(last_byte(to), byte);
    }
}

/// Outputs of a right kernel, in an arena of their own.
struct RightCall {
    Workload w;
    const Kernel& kernel;
    Device device = datasheet_device("h200");
    DeviceDraw drawn;
    CudaArena arena;
    int tile = 0;

    RightCall(const std::string& shape, const char* name, Draw draw, std::uint64_t seed)
        : w(parse_shape(shape)),
          kernel(find_kernel(name)),
          drawn(w, seed, draw),
          arena(w, drawn.inputs().structure(), 1) {
        while (!kernel.why_not(w, tile, device).empty() && tile + 1 < kernel.tile_count()) {
            ++tile;
        }
        arena.copy_inputs(0, drawn.inputs().arena(), 0);
        launch(arena.args(0));
    }
    void launch(const AttentionArgs& args) const {
        const cuda::DeviceBuffer scratch(kernel.workspace(w, tile, device));
        const cuda::Stream stream;
        cuda::synchronize();
        kernel.launch(args, tile, device, scratch.data(), stream.get());
        stream.synchronize();
    }
    [[nodiscard]] HostOutputs outputs() const { return {arena.out(0), arena.lse(0)}; }
    void put(const HostOutputs& outputs) const {
        cuda::upload(const_cast<void*>(arena.out_address(0)), outputs.out.data(),
                     outputs.out.size());
        cuda::upload(const_cast<float*>(arena.lse_address(0)), outputs.lse.data(),
                     outputs.lse.size() * sizeof(float));
    }
    Correctness verdict() { return drawn.judge(kernel.precision(w), arena, 0); }
    [[nodiscard]] Inputs data() const { return drawn.inputs().with_data(); }
};

TEST(DeviceGate, accepts_every_draw_and_has_the_hosts_bounds) {
    for (const char* shape :
         {"h=4/2,q=60,k=300,d=64,dtype=bf16,causal",
          "b=2,h=8/2,q=1,k=2000,d=128,dtype=fp16,page=16", "h=1,q=1,k=900,d=64,dtype=bf16",
          "h=4/2,q=30,k=100,d=64,dtype=fp32,softcap=20,sinks"}) {
        for (const Draw draw : all_draws) {
            RightCall call(shape, "simt", draw, 5);
            const Correctness device = call.verdict();
            EXPECT_TRUE(device.passed) << shape << ' ' << name_of(draw) << ": " << device.why;
            const Inputs in = call.data();
            const HostOutputs outputs = call.outputs();
            const Correctness host =
                judge(call.w, in, call.kernel.precision(call.w), outputs.out, outputs.lse, 5, draw);
            EXPECT_TRUE(host.passed) << shape << ' ' << name_of(draw) << ": " << host.why;
            EXPECT_EQ(device.cases, call.w.tokens_q() * call.w.heads_q);
            if (draw != Draw::non_finite) {
                EXPECT_NEAR(device.relative_rms / host.relative_rms, 1, 0.01) << shape;
                EXPECT_NEAR(device.bound / host.bound, 1, 0.1) << shape << ' ' << name_of(draw);
                EXPECT_NEAR(device.bound_worst / host.bound_worst, 1.2, 0.8) << shape;
                // Rows that are looked at together are others.
                EXPECT_NEAR(device.aligned / host.aligned, 1.2, 0.8) << shape;
            }
        }
    }
}

TEST(DeviceGate, refuses_what_is_wrong_in_one_place) {
    struct Case {
        const char *shape, *kernel;
        std::vector<Spoil> spoils;
    };
    const std::vector<Spoil> all{Spoil::heads_swapped, Spoil::garbage_in_one_head,
                                 Spoil::lse_in_base_2_in_one_head, Spoil::dropped_key};
    for (const Case& c :
         {Case{"h=16,q=4096,k=4096,d=128,dtype=bf16", "prefill_sm90", all},
          Case{"h=40/8,q=700,k=700,d=64,dtype=fp16,causal", "prefill_mma", all},
          Case{"h=32/8,q=1,k=65536,d=128,dtype=bf16", "simt", {Spoil::dropped_key}},
          Case{"h=32,q=1,k=65536,d=64,dtype=bf16,page=64", "simt", {Spoil::dropped_key}}}) {
        RightCall call(c.shape, c.kernel, Draw::plain, 7);
        const Correctness accepted = call.verdict();
        EXPECT_TRUE(accepted.passed) << c.shape << ": " << accepted.why;
        const HostOutputs right = call.outputs();
        const Inputs in = call.data();
        for (const Spoil what : c.spoils) {
            HostOutputs wrong = right;
            test::Spoiler(call.w, in, wrong).apply(what);
            call.put(wrong);
            EXPECT_FALSE(call.verdict().passed) << c.shape << ": " << test::name_of(what);
        }
    }
}

TEST(DeviceGate, refuses_the_scale_of_a_padded_head_dim) {
    RightCall call("h=4/2,q=1000,k=1000,d=80,dtype=bf16,causal", "prefill_sm90", Draw::plain, 8);
    EXPECT_TRUE(call.verdict().passed) << call.verdict().why;
    AttentionArgs args = call.arena.args(0);
    args.scale = 1 / std::sqrt(96.0F);
    call.launch(args);
    EXPECT_FALSE(call.verdict().passed);
}

TEST(DeviceGate, refuses_a_swallowed_nan) {
    int swallowed = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        RightCall call("h=8/4,q=500,k=500,d=64,dtype=bf16", "prefill_sm90", Draw::non_finite, seed);
        const Correctness accepted = call.verdict();
        EXPECT_TRUE(accepted.passed) << accepted.why;
        HostOutputs wrong = call.outputs();
        if (test::swallow_one(call.w, wrong)) {
            call.put(wrong);
            swallowed += call.verdict().passed ? 0 : 1;
        }
    }
    EXPECT_GE(swallowed, 3);
}

}  // namespace
}  // namespace raceline
