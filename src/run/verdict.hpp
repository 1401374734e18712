// SPDX-License-Identifier: Apache-2.0
// What decides between accepted and refused: errors of a kernel beside errors of references that
// round where it declares to. Where they were computed, on a CPU or on a GPU, makes no difference.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "receipt/values.hpp"
#include "workload/draw.hpp"
#include "workload/precision.hpp"

namespace raceline {

/// Every row's errors are relative to its own scale (docs/correctness.md).
struct Errors {
    double squares = 0, worst = 0, lse = 0;
    /// Errors along the value of one key (workload/oracle.hpp): what a lost, doubled or wrongly
    /// weighted key adds to the output is its value, so that this finds one of many thousands,
    /// which no single element shows. Of one row, and of rows together.
    double aligned = 0, joint = 0;
    void add(double error, double scale);
    void take(const Errors& other);
};

/// A kernel's outputs against float64.
struct Comparison {
    Errors kernel;
    double largest = 0;  ///< largest |element| of the answer / its row's scale
    double lse_worst = 0;
    std::int64_t elements = 0;
    std::int64_t rows = 0;
    std::int64_t width = 0;  ///< elements of a row
    std::string why;         ///< what no bound excuses, in a sentence
};

/// What one or several equally right roundings of the same rows come to.
struct Reference {
    double rms = 0, worst = 0, lse = 0, aligned = 0, joint = 0;
    double high_rms = 0;    ///< of a call whose squared errors are far above their mean
    bool few_keys = false;  ///< what one key's rounding comes to is not among them for sure
};
/// Half the distance between 1 and the next value: the largest relative error of one rounding.
double unit_roundoff(Rounding type);

/// `scatter`: some rows see more than one key.
Reference reference_of(std::span<const Errors> roundings, double elements, bool scatter = true);

Correctness decide(const Comparison& found, const Reference& reference, const Precision& precision,
                   bool with_lse);

/// One that no bound decides: refused if there is a reason `why`; all errors and bounds are
/// `errors`.
Correctness verdict_of_values(std::string why, double errors);

/// One verdict of two: failed if either is, errors the larger share of their bound, rows added.
Correctness worse_of(const Correctness& a, const Correctness& b);

}  // namespace raceline
