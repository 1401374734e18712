// SPDX-License-Identifier: Apache-2.0
// Device memory of one or many calls: inputs, outputs and the gaps between them, in one allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "timing/cuda_runtime.hpp"
#include "workload/attention_call.hpp"
#include "workload/inputs.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// `count` copies of what one call touches. Everything starts as 0xFF bytes, a NaN in every
/// floating type: outputs are poisoned, and the gaps behind them show writes past the end.
class CudaArena {
public:
    /// Bytes of one set, for planning how many fit.
    static std::size_t set_bytes(const Workload& workload, const Inputs& inputs);

    CudaArena(const Workload& workload, const Inputs& inputs, int count);

    /// Lengths, tables, trees, sinks and scales of the inputs into set `index`; then Q, K and V.
    void upload_structure(int index) const;
    void upload_data(int index) const;
    /// Q, K and V of set `index`, as they lie there.
    void download_data(int index, Inputs& to) const;
    /// All inputs from another arena of the same workload: a copy within the device.
    void copy_inputs(int index, const CudaArena& from, int from_index) const;

    [[nodiscard]] AttentionCall args(int index) const;
    [[nodiscard]] std::vector<std::byte> out(int index) const;
    [[nodiscard]] std::vector<float> lse(int index) const;
    [[nodiscard]] const void* out_address(int index) const;
    [[nodiscard]] const float* lse_address(int index) const;
    /// Whether two sets have the same outputs, bit for bit.
    [[nodiscard]] bool same_outputs(int index, int other) const;
    /// Empty, or which output of the set was written past its end.
    [[nodiscard]] std::string overrun(int index) const;

private:
    enum Part : std::size_t {
        q,
        k,
        v,
        sinks,
        tree,
        cu_q,
        cu_k,
        seqlens,
        table,
        k_scale,
        v_scale,
        q_scale,
        k_token_scale,
        v_token_scale,
        o,
        l,
        parts
    };
    struct Layout {
        std::array<std::size_t, parts> offset{}, bytes{};
        std::size_t total = 0;
    };
    static Layout make_layout(const Workload& workload, const Inputs& inputs);
    [[nodiscard]] std::array<const void*, parts> sources() const;
    [[nodiscard]] std::byte* at(int index, Part part) const;

    const Workload& workload_;
    const Inputs& inputs_;
    Layout layout_;
    cuda::DeviceBuffer memory_;
};

/// Two places on the device of so many bytes, with 256 bytes behind them that are alike.
struct SamePlaces {
    const std::byte *one, *other;
    std::size_t bytes;
};
/// Whether all of them hold the same, compared on the device.
bool equal_on_device(const std::vector<SamePlaces>& places);

/// Bytes behind `used` that must still hold the poison; true if they do.
inline constexpr std::size_t red_zone_bytes = 256;
bool red_zone_intact(const std::byte* device_end);

}  // namespace raceline
