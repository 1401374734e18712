// SPDX-License-Identifier: Apache-2.0
// Errors of a row along the values of its keys.
#include <algorithm>
#include <cmath>

#include "workload/cache_reader.hpp"
#include "workload/oracle.hpp"

namespace raceline {
namespace {

constexpr std::int64_t gathered_values = 256;  // at a time

double dot(const float* a, const float* b, std::int64_t count) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) {
        sum += a[i] * b[i];
    }
    return static_cast<double>(sum);
}

}  // namespace

Alignment align(const Workload& w, const Inputs& inputs, std::int64_t sequence,
                std::span<const QueryRow> rows, std::span<const std::vector<float>> errors) {
    std::vector<SeenKeys> seen;
    std::int64_t first = w.length_k(sequence);
    std::int64_t last = 0;
    for (const QueryRow& row : rows) {
        seen.push_back(seen_keys_of(w, inputs, sequence, row.row));
        if (seen.back().first < seen.back().last) {
            first = std::min(first, seen.back().first);
            last = std::max(last, seen.back().last);
        }
    }
    const CacheReader cache(w, inputs, sequence, rows.front().head / w.group());
    Alignment largest;
    std::vector<float> values;
    for (std::int64_t from = first; from < last; from += gathered_values) {
        const std::int64_t count = std::min(gathered_values, last - from);
        cache.values(from, count, values);
        for (std::int64_t j = 0; j < count; ++j) {
            const float* v = values.data() + j * w.headdim_v;
            const double length = std::sqrt(dot(v, v, w.headdim_v));
            double sum = 0;
            double number = 0;
            for (std::size_t r = 0; r < rows.size() && length > 0; ++r) {
                if (seen[r].sees(from + j)) {
                    const double along = dot(v, errors[r].data(), w.headdim_v) / length;
                    largest.single = std::max(largest.single, std::abs(along));
                    sum += along;
                    ++number;
                }
            }
            largest.joint = std::max(largest.joint, std::abs(sum) / std::sqrt(number + 1e-30));
        }
    }
    return largest;
}

}  // namespace raceline
