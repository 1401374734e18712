// SPDX-License-Identifier: Apache-2.0
// Two sets of receipts, case by case: what became faster, slower, or is predicted wrongly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/timed_rows.hpp"
#include "support/text_style.hpp"

namespace raceline {

/// Between two runs a time changes by itself: a change within ladder_verdict's `no_effect`, or one
/// whose interval holds 1, is none.
enum class Change : std::int32_t { slower, same, faster };

/// A case that both sides timed.
struct CaseDiff {
    TimedCase before, after;
    double ratio = 0;                      ///< time before / time after: over 1 became faster
    double ratio_low = 0, ratio_high = 0;  ///< both medians at the far ends of their 95 % intervals
    Change change = Change::same;
    bool missed = false;  ///< the prediction of `after` is off by more than a hit may be
};

struct ReceiptDiff {
    std::vector<CaseDiff> cases;  ///< the one that became slowest first
    std::vector<TimedCase> only_before, only_after;
    std::vector<std::string> notes;  ///< of both sides, with "before: " or "after: "
    std::string before, after;       ///< what the sides are called; "" where nobody named them
};

/// All by which a case is the same one on both sides, but for its tile. It puts devices and kernels
/// together when it is sorted by.
std::string case_identity(const TimedCase& one);

/// Cases are one if device, kernel, workload and way of launching agree, and the tile if either
/// side ran several. Of a case that one side timed more than once the last time counts.
ReceiptDiff diff_of(TimedRows before, TimedRows after);

/// A table with a line a case, then what changed in numbers and by kernel.
std::string diff_text(const ReceiptDiff& diff, const TextStyle& style = {});

}  // namespace raceline
