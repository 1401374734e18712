// SPDX-License-Identifier: Apache-2.0
// One call of prefill_sm90_fp8 on the emulated machine, with any strides.
#pragma once

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "kernels/prefill_sm90/e4m3_tile.hpp"
#include "registry/kernel.hpp"
#include "tests/kernels/emulated_sm90/strided.hpp"
#include "workload/inputs.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {
Kernel kernel();
void launch(const AttentionArgs&, int tile, const Device&, void* workspace, void* stream);
}  // namespace raceline::kernels::prefill_sm90_fp8

namespace raceline::test {

namespace fp8 = kernels::prefill_sm90_fp8;

/// The call as it must ask for this tile: some serve fast calls alone.
inline Workload asking_for(const Workload& w, int tile) {
    Workload asking = w;
    const bool accurate = fp8::tiles[static_cast<std::size_t>(tile)].accurate();
    asking.accuracy = accurate ? Accuracy::accurate : Accuracy::fast;
    return asking;
}

/// Elements behind each (token, head): of the inputs, and of the output; before the output's first.
struct Layout {
    std::size_t gap = 0, out_gap = 0, out_offset = 0;
};

inline TensorArg with_strides(const TensorArg& packed, void* data, std::int64_t row,
                              std::size_t gap) {
    const std::int64_t pitch = row + static_cast<std::int64_t>(gap);
    return {data, packed.batch_stride / row * pitch, packed.seq_stride / row * pitch,
            packed.head_stride / row * pitch};
}

template <class T>
const T* or_null(const std::vector<T>& list) {
    return list.empty() ? nullptr : list.data();
}

/// Scratch as the API takes it, starting at a multiple of 64 bytes and of no more. It is NaN before
/// the call; bytes behind its end are looked at.
class Scratch {
public:
    explicit Scratch(std::size_t bytes) : bytes_(bytes), memory_(bytes + 3 * 64, std::byte{0xff}) {
        while (reinterpret_cast<std::uintptr_t>(memory_.data() + before_) % 128 != 64) {
            ++before_;
        }
    }
    [[nodiscard]] std::byte* start() { return memory_.data() + before_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] bool overrun() const {
        return std::any_of(memory_.begin() + static_cast<std::ptrdiff_t>(before_ + bytes_),
                           memory_.end(), [](std::byte b) { return b != std::byte{0xff}; });
    }

private:
    std::size_t bytes_, before_ = 0;
    std::vector<std::byte> memory_;
};

struct Answer {
    Inputs in;
    std::vector<std::uint16_t> out;  ///< packed
    std::vector<float> lse;
    Scratch scratch;
};

/// `change` may alter what the call reads.
inline Answer answer_of(const Workload& w, int tile, const Device& device, const Layout& layout,
                        std::uint64_t seed, const std::function<void(Inputs&)>& change = nullptr) {
    static const Kernel kernel = fp8::kernel();
    Answer a{make_inputs(w, {.seed = seed}), {}, {}, Scratch(kernel.workspace(w, tile, device))};
    Inputs& in = a.in;
    if (change) {
        change(in);
    }
    const auto d = static_cast<std::size_t>(w.headdim);
    const auto dv = static_cast<std::size_t>(w.headdim_v);
    const auto rows_q = static_cast<std::size_t>(w.tokens_q() * w.heads_q);
    const auto rows_k = static_cast<std::size_t>(w.tokens_k() * w.heads_kv);
    using Byte = std::uint8_t;
    Strided<Byte> q(in.q.data(), rows_q, d, d + layout.gap, 0);
    Strided<Byte> k(in.k.data(), rows_k, d, d + layout.gap, 0);
    Strided<Byte> v(in.v.data(), rows_k, dv, dv + layout.gap, 0);
    Strided<std::uint16_t> out(nullptr, rows_q, dv, dv + layout.out_gap, layout.out_offset);
    a.lse.assign(in.lse_elements + 1, std::nanf(""));
    InputPointers at;
    at.lse = a.lse.data();
    at.sinks = or_null(in.sinks);
    at.cu_seqlens_q = or_null(in.cu_seqlens_q);
    at.cu_seqlens_k = or_null(in.cu_seqlens_k);
    at.q_scale = or_null(in.q_scale);
    at.k_scale = or_null(in.k_scale);
    at.v_scale = or_null(in.v_scale);
    AttentionArgs args = make_args(w, in, at);
    args.q = with_strides(args.q, q.start, w.headdim, layout.gap);
    args.k = with_strides(args.k, k.start, w.headdim, layout.gap);
    args.v = with_strides(args.v, v.start, w.headdim_v, layout.gap);
    args.out = with_strides(args.out, out.start, w.headdim_v, layout.out_gap);
    fp8::launch(args, tile, device, a.scratch.start(), nullptr);

    EXPECT_FALSE(a.scratch.overrun());
    a.out.resize(rows_q * dv);
    for (std::size_t i = 0; i < rows_q; ++i) {
        const std::uint16_t* row = out.start + i * (dv + layout.out_gap);
        std::memcpy(a.out.data() + i * dv, row, dv * 2);
        for (std::size_t g = 0; g < layout.out_gap; ++g) {
            EXPECT_EQ(row[dv + g], 0xffff) << "row " << i;
        }
    }
    EXPECT_TRUE(std::isnan(a.lse.back()));
    a.lse.pop_back();
    return a;
}

}  // namespace raceline::test
