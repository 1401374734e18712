// SPDX-License-Identifier: Apache-2.0
// Errors of output rows against the float64 answer, on the host.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "run/gate.hpp"

namespace raceline {

/// Packed outputs, as inputs.hpp lays them out; lse may be empty.
struct PackedOutputs {
    std::span<const std::byte> out;
    std::span<const float> lse;
};

/// The rows of `answers`, outputs against float64.
Comparison compare_rows(GateAnswers& answers, const PackedOutputs& outputs);
/// Empty, or a sentence about the first output of the rows that is finite where float64 is not, or
/// the other way round (docs/correctness.md says which rows are no measure of that).
std::string compare_finite(GateAnswers& answers, const PackedOutputs& outputs);
/// Whether a row masks a key of its own sequence whose value is not finite: a kernel may multiply
/// it by a probability of 0, which gives NaN.
bool masks_non_finite(const GateAnswers& answers, const Row& at);
/// What the bound is made of: rows rounded several times, against float64.
Reference reference_errors(GateAnswers& answers, std::span<const std::vector<OracleRow>> roundings);

}  // namespace raceline
