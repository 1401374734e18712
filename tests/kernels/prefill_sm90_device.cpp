// SPDX-License-Identifier: Apache-2.0
// prefill_sm90 and prefill_mma on a live Hopper GPU with strides that the command line cannot name,
// and bit-equal from run to run. A program of its own, run by tools/device_prefill.sh; ctest has no
// entry for it.
#include <cstring>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "run/gate.hpp"
#include "timing/cuda_runtime.hpp"
#include "workload/inputs.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// `rows` rows of `width` elements, `gap` NaNs behind each and `offset` before the first.
struct Rows {
    std::size_t rows, width, gap, offset;
    cuda::DeviceBuffer memory{2 * (rows * (width + gap) + offset + 8)};

    void upload(const std::byte* packed) const {
        std::vector<std::uint16_t> host(memory.bytes() / 2, 0xffff);
        for (std::size_t i = 0; packed != nullptr && i < rows; ++i) {
            std::memcpy(&host[offset + i * (width + gap)], packed + 2 * i * width, 2 * width);
        }
        cuda::upload(memory.data(), host.data(), memory.bytes());
    }
    [[nodiscard]] std::vector<std::uint16_t> download() const {
        std::vector<std::uint16_t> host(memory.bytes() / 2), packed;
        cuda::download(host.data(), memory.data(), memory.bytes());
        for (std::size_t i = 0; i < rows; ++i) {
            const auto row = host.begin() + static_cast<std::ptrdiff_t>(offset + i * (width + gap));
            packed.insert(packed.end(), row, row + static_cast<std::ptrdiff_t>(width));
            for (std::size_t g = 0; g < gap; ++g) {
                EXPECT_EQ(row[static_cast<std::ptrdiff_t>(width + g)], 0xffff) << "row " << i;
            }
        }
        return packed;
    }
    [[nodiscard]] TensorArg argument(std::int64_t seqlen, std::int64_t heads) const {
        const auto pitch = static_cast<std::int64_t>(width + gap);
        return {memory.data() + 2 * offset, seqlen * heads * pitch, heads * pitch, pitch};
    }
};

Rows rows_of(std::int64_t rows, std::int64_t width, std::size_t gap, std::size_t offset) {
    return {static_cast<std::size_t>(rows), static_cast<std::size_t>(width), gap, offset};
}

void every_tile(const Kernel& kernel, const std::string& shape, std::size_t gap,
                std::size_t offset) {
    const Workload w = parse_shape(shape);
    const Device device = datasheet_device("h200");
    const Inputs in = make_inputs(w, {.seed = 11});
    const Rows q = rows_of(w.tokens_q() * w.heads_q, w.headdim, gap, offset);
    const Rows k = rows_of(w.tokens_k() * w.heads_kv, w.headdim, gap, offset);
    const Rows v = rows_of(w.tokens_k() * w.heads_kv, w.headdim_v, gap, offset);
    const Rows out = rows_of(w.tokens_q() * w.heads_q, w.headdim_v, gap, offset);
    q.upload(in.q.data());
    k.upload(in.k.data());
    v.upload(in.v.data());
    AttentionArgs args = make_args(w, in, {});
    args.q = q.argument(w.seqlen_q, w.heads_q);
    args.k = k.argument(w.seqlen_k, w.heads_kv);
    args.v = v.argument(w.seqlen_k, w.heads_kv);
    args.out = out.argument(w.seqlen_q, w.heads_q);
    int ran = 0;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (!kernel.why_not(w, tile, device).empty()) {
            continue;
        }
        std::vector<std::uint16_t> first;
        for (int again = 0; again < 5; ++again) {
            out.upload(nullptr);
            kernel.launch(args, tile, device, nullptr, nullptr);
            cuda::synchronize();
            const std::vector<std::uint16_t> got = out.download();
            first = again == 0 ? got : first;
            EXPECT_EQ(got, first) << shape << ' ' << kernel.tile_text(tile) << ": another answer";
        }
        const Correctness c =
            judge(w, in, kernel.precision(w), std::as_bytes(std::span(first)), {}, 11);
        EXPECT_TRUE(c.passed) << shape << ' ' << kernel.tile_text(tile) << ": " << c.why;
        ++ran;
    }
    EXPECT_GT(ran, 0) << shape;
}

class PrefillOnDevice : public testing::TestWithParam<const char*> {};
TEST_P(PrefillOnDevice, reads_and_writes_any_strides_and_repeats_itself) {
    ASSERT_EQ(cuda::why_unavailable(), "");
    const Kernel& kernel = find_kernel(GetParam());
    for (const char* shape :
         {"b=2,h=4/2,q=333,k=517,d=64,causal", "b=2,h=4/2,q=333,k=517,d=128,dtype=fp16",
          "b=1,h=2,q=200,k=300,d=256,causal", "b=1,h=2,q=200,k=300,d=192/128,causal"}) {
        every_tile(kernel, shape, 0, 0);
        every_tile(kernel, shape, 8, 0);  // rows of aligned 16-byte chunks
        every_tile(kernel, shape, 0, 1);  // not so: the address
        every_tile(kernel, shape, 3, 2);  // nor this: the strides
    }
}
INSTANTIATE_TEST_SUITE_P(Hopper, PrefillOnDevice, testing::Values("prefill_sm90", "prefill_mma"));

// Work tiles are handed out to whichever CTA is free, warpgroups drift apart: no answer may show
// it.
void repeat(const Kernel& kernel, const std::string& shape, int runs) {
    const Workload w = parse_shape(shape);
    const Device device = datasheet_device("h200");
    const Inputs in = make_inputs(w, {.seed = 12, .draw = Draw::outliers});
    const Rows q = rows_of(w.tokens_q() * w.heads_q, w.headdim, 0, 0);
    const Rows k = rows_of(w.tokens_k() * w.heads_kv, w.headdim, 0, 0);
    const Rows v = rows_of(w.tokens_k() * w.heads_kv, w.headdim_v, 0, 0);
    const Rows out = rows_of(w.tokens_q() * w.heads_q, w.headdim_v, 0, 0);
    q.upload(in.q.data());
    k.upload(in.k.data());
    v.upload(in.v.data());
    AttentionArgs args = make_args(w, in, {});
    args.q = q.argument(w.seqlen_q, w.heads_q);
    args.k = k.argument(w.seqlen_k, w.heads_kv);
    args.v = v.argument(w.seqlen_k, w.heads_kv);
    args.out = out.argument(w.seqlen_q, w.heads_q);
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (!kernel.why_not(w, tile, device).empty()) {
            continue;
        }
        const cuda::DeviceBuffer scratch{kernel.workspace(w, tile, device) + 1};
        std::vector<std::byte> first(out.memory.bytes()), got(out.memory.bytes());
        int others = 0;
        for (int run = 0; run < runs; ++run) {
            cuda::fill(out.memory.data(), 0xff, out.memory.bytes());
            kernel.launch(args, tile, device, scratch.data(), nullptr);
            cuda::download(run == 0 ? first.data() : got.data(), out.memory.data(), first.size());
            others += run == 0 || got == first ? 0 : 1;
        }
        EXPECT_EQ(others, 0) << shape << ' ' << kernel.tile_text(tile) << ": of " << runs;
    }
}
TEST(PrefillSm90OnDevice, a_thousand_runs_are_equal_bit_for_bit) {
    ASSERT_EQ(cuda::why_unavailable(), "");
    const Kernel& kernel = find_kernel("prefill_sm90");
    repeat(kernel, "b=5,h=8/2,q=700,k=700,d=64,causal", 1000);
    repeat(kernel, "b=5,h=8/2,q=500,k=500,d=128,causal", 1000);
    repeat(kernel, "b=5,h=8/2,q=300,k=300,d=256,causal", 1000);
}

}  // namespace
}  // namespace raceline
