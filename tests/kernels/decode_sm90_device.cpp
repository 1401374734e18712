// SPDX-License-Identifier: Apache-2.0
// decode_sm90 on a live Hopper GPU: one captured graph, replayed with other lengths, leaves bit for
// bit what fresh calls leave. A program of its own, run by tools/device_decode.sh; ctest has no
// entry for it.
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "timing/cuda_runtime.hpp"
#include "workload/inputs.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr int length_vectors = 200;
constexpr int calls_of_graph = 3;  // one behind the other in one workspace: each starts early

// A shape's tensors on the device, with lengths that can be changed.
class DeviceCase {
public:
    DeviceCase(const Workload& w, const Kernel& kernel, int tile, const Device& device)
        : kernel_(kernel), tile_(tile), device_(device), inputs_(make_inputs(w, {.seed = 3})) {
        InputPointers at;
        at.q = placed(inputs_.q);
        at.k = placed(inputs_.k);
        at.v = placed(inputs_.v);
        at.sinks = placed(inputs_.sinks);
        at.cu_seqlens_q = placed(inputs_.cu_seqlens_q);
        at.cu_seqlens_k = placed(inputs_.cu_seqlens_k);
        at.seqlens_k = placed(inputs_.seqlens_k);
        at.block_table = placed(inputs_.block_table);
        at.k_scale = placed(inputs_.k_scale);
        at.v_scale = placed(inputs_.v_scale);
        lengths_ = const_cast<std::int32_t*>(at.seqlens_k);
        out_ =
            cuda::DeviceBuffer(inputs_.out_elements * static_cast<std::size_t>(bytes_of(w.dtype)));
        lse_ = cuda::DeviceBuffer(inputs_.lse_elements * sizeof(float));
        at.out = out_.data();
        at.lse = reinterpret_cast<float*>(lse_.data());
        args_ = make_args(w, inputs_, at);
        workspace_bytes_ = kernel.workspace(w, tile, device);
    }
    // Any lengths up to those that the block table has pages for; 0, 1 and all of it among them.
    void draw_lengths(std::mt19937& random) {
        std::vector<std::int32_t> lengths;
        for (const std::int32_t longest : inputs_.seqlens_k) {
            const auto any = static_cast<std::int32_t>(random() % (longest + 1U));
            const std::int32_t few[] = {0, std::min(1, longest), longest, any / 50};
            lengths.push_back(random() % 3 == 0 ? few[random() % 4] : any);
        }
        cuda::upload(lengths_, lengths.data(), lengths.size() * sizeof(std::int32_t));
    }
    [[nodiscard]] cuda::DeviceBuffer poisoned_workspace() const {
        cuda::DeviceBuffer memory(workspace_bytes_ + 1);
        cuda::fill(memory.data(), 0xff, memory.bytes());
        return memory;
    }
    void launch(const cuda::DeviceBuffer& workspace, void* stream) const {
        kernel_.launch(args_, tile_, device_, workspace.data(), stream);
    }
    void poison() const {
        cuda::fill(out_.data(), 0xff, out_.bytes());
        cuda::fill(lse_.data(), 0xff, lse_.bytes());
    }
    [[nodiscard]] std::vector<std::byte> outputs() const {
        std::vector<std::byte> all(out_.bytes() + lse_.bytes());
        cuda::download(all.data(), out_.data(), out_.bytes());
        cuda::download(all.data() + out_.bytes(), lse_.data(), lse_.bytes());
        return all;
    }

private:
    template <class T>
    T* placed(const std::vector<T>& host) {
        if (host.empty()) {
            return nullptr;
        }
        buffers_.emplace_back(host.size() * sizeof(T));
        cuda::upload(buffers_.back().data(), host.data(), host.size() * sizeof(T));
        return reinterpret_cast<T*>(buffers_.back().data());
    }

    const Kernel& kernel_;
    int tile_;
    const Device& device_;
    Inputs inputs_;
    std::vector<cuda::DeviceBuffer> buffers_;
    cuda::DeviceBuffer out_, lse_;
    std::int32_t* lengths_ = nullptr;
    AttentionArgs args_;
    std::size_t workspace_bytes_ = 0;
};

class DecodeReplay : public testing::TestWithParam<const char*> {};

TEST_P(DecodeReplay, equals_fresh_calls_of_any_lengths) {
    if (const std::string why = cuda::why_unavailable(); !why.empty()) {
        GTEST_SKIP() << why;
    }
    const Device device = live_cuda().value();
    const Kernel& kernel = find_kernel("decode_sm90");
    const Workload w = parse_shape(GetParam());
    int tiles = 0;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (!kernel.why_not(w, tile, device).empty()) {
            continue;
        }
        ++tiles;
        DeviceCase one(w, kernel, tile, device);
        const cuda::Stream stream;
        const cuda::DeviceBuffer kept = one.poisoned_workspace();
        const cuda::Graph graph(
            stream, [&](void* its_stream, int) { one.launch(kept, its_stream); }, calls_of_graph);
        std::mt19937 random(17);
        for (int vector = 0; vector < length_vectors; ++vector) {
            one.draw_lengths(random);
            one.poison();
            graph.launch(stream);
            stream.synchronize();
            const std::vector<std::byte> replayed = one.outputs();
            const cuda::DeviceBuffer fresh = one.poisoned_workspace();
            one.poison();
            one.launch(fresh, stream.get());
            stream.synchronize();
            ASSERT_EQ(replayed, one.outputs())
                << GetParam() << ' ' << kernel.tile_text(tile) << ", lengths number " << vector;
            // NaN everywhere would be equal too.
            ASSERT_TRUE(std::any_of(replayed.begin(), replayed.end(),
                                    [](std::byte b) { return b != std::byte{0xff}; }));
        }
    }
    EXPECT_GE(tiles, device.compute_capability == 90 ? 1 : 0) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    OnHopper, DecodeReplay,
    testing::Values("b=3,h=32/8,q=1,k=9000;8999;3000,d=128,dtype=bf16,page=64",
                    "b=7,h=8/2,q=3,k=3000;2;900;4000;17;1;2500,d=128,dtype=fp16,page=16,causal",
                    "b=3,h=32/8,q=1,k=9000;8999;3000,d=128,dtype=bf16,kv=e4m3,page=64",
                    "b=5,h=8,q=1,k=5000;4999;10;300;2000,d=64,dtype=bf16,page=16,sinks",
                    "b=2,h=8/1,q=2,k=5000;4999,d=64,dtype=fp16,kv=e4m3,page=128",
                    "b=3,h=4/2,q=1,k=3000;2999;64,d=256,dtype=bf16,page=32",
                    "b=3,h=4/2,q=1,k=3000;2999;64,d=256,dtype=bf16,kv=e4m3,page=7"));

}  // namespace
}  // namespace raceline
