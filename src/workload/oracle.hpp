// SPDX-License-Identifier: Apache-2.0
// The float64 answer for one output row, and the same row rounded where a kernel rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/inputs.hpp"
#include "workload/precision.hpp"
#include "workload/workload.hpp"

namespace raceline {

struct OracleRow {
    std::vector<double> out;  ///< headdim_v values; all 0 for a row without keys
    double lse;               ///< natural log, sink included; -inf for a row without keys
};

/// Row `row` of query head `head` in sequence `sequence`, every operation in float64 on the stored
/// (already quantised) inputs. Cost: keys × (headdim + headdim_v).
OracleRow oracle_row(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                     std::int64_t row, std::int64_t head);

/// The same, rounding each operand, exponential, probability, partial sum and output to the type
/// that `precision` names. Two-pass softmax in key order.
OracleRow rounded_row(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                      std::int64_t row, std::int64_t head, const Precision& precision);

/// Nearest value of the type, ties to even, saturating for e4m3.
double round_to(double value, Rounding type);

}  // namespace raceline
