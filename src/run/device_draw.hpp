// SPDX-License-Identifier: Apache-2.0
// The draws of workload/inputs.hpp, made on a GPU: the same counters, the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "raceline/dtype.hpp"

namespace raceline::device_gate {

/// Fills rows of a packed tensor (tokens or slots, heads, width) with normals, changed as a draw
/// asks: x · factor + bias in float, rounded into storage. All pointers are device addresses.
struct Fill {
    void* to;
    DType dtype;
    std::int64_t tokens, heads, width;
    const std::int64_t* slots;  ///< of each token; null: as they come
    std::uint64_t key;          ///< of the random stream
    float factor, bias;
    std::int64_t loud_channel;  ///< of every head, times `loud_factor`; -1: none
    std::int64_t loud_second;   ///< another one; -1: none
    float loud_factor;
    bool every_other_row;  ///< loud channels of rows with is_outlier_row alone
    std::uint64_t seed;
    const void* table;  ///< normal_table of the type
};
void fill(const Fill& what);

}  // namespace raceline::device_gate
