// SPDX-License-Identifier: Apache-2.0
// Device memory of one or many calls of an operation, as cuda_arena.hpp has it for attention.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "run/operation_gate.hpp"
#include "timing/cuda_runtime.hpp"

namespace raceline {

/// `count` copies of what one call touches, with inputs in place. Everything else starts as 0xFF
/// bytes: outputs are poisoned, and the gaps behind them show writes past the end. The answers must
/// outlive it.
class OperationArena {
public:
    /// Bytes of one set, for planning how many fit.
    static std::size_t set_bytes(std::span<const TensorSpec> tensors);

    OperationArena(const OperationAnswers& answers, int count);

    [[nodiscard]] OperationArgs args(int index) const;
    [[nodiscard]] StoredOutputs outputs(int index) const;
    /// Whether two sets have the same outputs, bit for bit.
    [[nodiscard]] bool same_outputs(int index, int other) const;
    /// Empty, or which output of the set was written past its end.
    [[nodiscard]] std::string overrun(int index) const;

private:
    [[nodiscard]] std::byte* at(int index, std::size_t tensor) const;

    const OperationAnswers& answers_;
    std::vector<std::size_t> offsets_;  ///< of the tensors in a set, and its end
    cuda::DeviceBuffer memory_;
};

}  // namespace raceline
