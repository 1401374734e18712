// SPDX-License-Identifier: Apache-2.0
// The float64 answer for output rows, and the same rows rounded where a kernel rounds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workload/inputs.hpp"
#include "workload/precision.hpp"
#include "workload/workload.hpp"

namespace raceline {

struct OracleRow {
    std::vector<double> out;  ///< headdim_v values; all 0 for a row without keys
    double lse;  ///< natural log, sink included; without keys (or weights) the sink, or -inf
    /// RMS that an element of `out` would have if the rows of V were unrelated:
    /// sqrt(sum of P² · mean of V²). The scale of rounding errors where `out` itself cancels.
    double spread = 0;
    /// False where float64 itself is no measure of which outputs are finite: a value that is not
    /// finite stands behind a weight under 2^-126, which fp32 does not hold.
    bool judged = true;
};

/// Row `row` of query head `head` in sequence `sequence`, every operation in float64 on the stored
/// (already quantised) inputs. Cost: keys × (headdim + headdim_v).
OracleRow oracle_row(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                     std::int64_t row, std::int64_t head);

/// One of `count` roundings of a row that are equally right. The first takes its terms in order.
/// The others begin every sum elsewhere, at another channel of Q and K and at another key, and
/// where P's base is not the row's own maximum (base_moves) it is moved by a fraction of a power of
/// two.
struct Variant {
    std::int64_t index = 0, count = 1;
    /// Where a sum of `terms` terms begins.
    [[nodiscard]] std::int64_t start(std::int64_t terms) const { return terms * index / count; }
    [[nodiscard]] double probability_scale(const Precision& precision) const;
};

/// The same, rounding each operand, exponential, probability, partial sum and output to the type
/// that `precision` names. Two-pass softmax, sums one term after the other.
OracleRow rounded_row(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                      std::int64_t row, std::int64_t head, const Precision& precision,
                      const Variant& variant = {});

/// Many rows of one sequence that share a KV head, reading the cache once: exact, and rounded.
struct QueryRow {
    std::int64_t row, head;
};
std::vector<OracleRow> oracle_rows(const Workload& workload, const Inputs& inputs,
                                   std::int64_t sequence, std::span<const QueryRow> rows);
std::vector<OracleRow> rounded_rows(const Workload& workload, const Inputs& inputs,
                                    std::int64_t sequence, std::span<const QueryRow> rows,
                                    const Precision& precision, const Variant& variant = {});

/// What error vectors e of rows that share a KV head have in common with values v of its keys.
struct Alignment {
    double single = 0;  ///< largest |e · v| / |v| of a row and a key that it sees
    double joint = 0;   ///< of a key, over the n rows that see it: |sum of e · v| / (|v| √n)
};
/// `errors`: one (headdim_v) a row.
Alignment align(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                std::span<const QueryRow> rows, std::span<const std::vector<float>> errors);

/// Nearest value of the type, ties to even, saturating for e4m3.
double round_to(double value, Rounding type);

}  // namespace raceline
