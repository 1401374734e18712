// SPDX-License-Identifier: Apache-2.0
// One draw of a workload's inputs, made on a GPU.
#pragma once

#include <cstdint>

#include "run/cuda_arena.hpp"
#include "workload/inputs.hpp"

namespace raceline {

/// Inputs of a workload on the current GPU, bit for bit those that make_inputs makes on the host.
/// nvfp4 caches are made there and uploaded. The workload must outlive it.
class DeviceInputs {
public:
    DeviceInputs(const Workload& workload, std::uint64_t seed, Draw draw);
    DeviceInputs(DeviceInputs&&) = delete;

    /// Structure and sizes; the data of Q, K and V for nvfp4 alone.
    [[nodiscard]] const Inputs& structure() const { return inputs_; }
    /// The same with the data, brought back from the GPU.
    [[nodiscard]] Inputs with_data() const;
    /// Where they lie.
    [[nodiscard]] const CudaArena& arena() const { return untouched_; }
    /// Device address of each token's place in a paged cache (token_slots); else null.
    [[nodiscard]] const std::int64_t* slots() const;

private:
    void draw_inputs();
    void place_single_values() const;

    const Workload& workload_;
    std::uint64_t seed_;
    Draw draw_;
    Inputs inputs_;
    CudaArena untouched_;
    cuda::DeviceBuffer slots_;
};

}  // namespace raceline
