// SPDX-License-Identifier: Apache-2.0
// What a launch of another operation than attention gets. Trivially copyable, so that it can be a
// __grid_constant__ kernel parameter; includes nothing that a device translation unit may not see.
#pragma once

#include <array>
#include <cstdint>

#include "raceline/dtype.hpp"

namespace raceline {

/// A contiguous (rows, width) tensor.
struct OperationTensor {
    void* data = nullptr;
    std::int64_t rows = 0, width = 0;  ///< elements
    DType dtype = DType::fp32;
};

/// In the order in which the operation's record lists its tensors, and its fields of each kind: a
/// grid counts as two extents.
struct OperationArgs {
    static constexpr int most = 16;  ///< of each; a record with more is refused
    std::array<OperationTensor, most> tensors{};
    std::array<std::int64_t, most> extents{};
    std::array<double, most> scalars{};
    DType dtype = DType::fp32;               ///< the workload's
    std::array<std::int32_t, most> codes{};  ///< OperationRecord::codes
    std::int32_t code_count = 0;
};

}  // namespace raceline
