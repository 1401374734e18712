// SPDX-License-Identifier: Apache-2.0
// Reads inputs back by their meaning (sequence, token, head), whatever their layout. Written for
// the oracle and apart from make_args, so that an error in one does not hide in the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workload/inputs.hpp"
#include "workload/workload.hpp"

namespace raceline {

class CacheReader {
public:
    CacheReader(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                std::int64_t kv_head);

    /// Keys [first, first + count) transposed to (headdim, count), as stored and without scale:
    /// a float holds every storage type exactly.
    void keys(std::int64_t first, std::int64_t count, std::vector<float>& transposed) const;
    /// Values [first, first + count) as (count, headdim_v).
    void values(std::int64_t first, std::int64_t count, std::vector<float>& rows) const;
    /// Scales of tokens [first, first + count), of keys or of values; empty without such scales.
    [[nodiscard]] std::vector<float> key_scales(std::int64_t first, std::int64_t count) const;
    [[nodiscard]] std::vector<float> value_scales(std::int64_t first, std::int64_t count) const;
    /// Row `row` of query head `head` of the sequence.
    [[nodiscard]] std::vector<double> query(std::int64_t row, std::int64_t head) const;

    [[nodiscard]] double query_scale() const;
    [[nodiscard]] double key_scale() const;
    [[nodiscard]] double value_scale() const;

private:
    [[nodiscard]] std::int64_t slot(std::int64_t token) const;
    /// The first elements of this KV head's row of a slot; rows have `row` elements.
    void load(const std::vector<std::byte>& cache, std::int64_t slot, std::int64_t row,
              std::span<float> out) const;
    [[nodiscard]] std::vector<float> scales_of_tokens(const std::vector<float>& scales,
                                                      std::int64_t first, std::int64_t count) const;
    [[nodiscard]] double scale_of(const std::vector<float>& scales) const;
    const Workload& workload_;
    const Inputs& inputs_;
    std::int64_t sequence_, kv_head_;
};

}  // namespace raceline
