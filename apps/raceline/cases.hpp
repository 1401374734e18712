// SPDX-License-Identifier: Apache-2.0
// Cases of a command: where their rows go, and how they run one after the other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"
#include "report/case_table.hpp"
#include "run/backend.hpp"
#include "run/run_case.hpp"

namespace raceline::cli {

/// The receipt file that --receipts names, if it does.
std::optional<ReceiptWriter> named_receipts(const Options& options);

/// Rows go to `writer`, if there is one, and with --json to stdout. Refusals are rows where the
/// user has named kernels.
RowSink sink_of(const Options& options, ReceiptWriter* writer);

/// Whether a case is of a kernel that nobody named and that computes another operation.
bool is_beside_the_point(const Case& one, const Options& options);

struct Outcome {
    int ran = 0, failed = 0;
    int stopped = 0;      ///< the exit code where a signal ended the run before its end; else 0
    std::string refusal;  ///< where nothing ran, and for one reason: that, as a clause
};
/// How cases of a command are run, and what is said of them.
struct Run {
    std::string_view done;  ///< what becomes of a case: "measured", "checked"
    std::string file;       ///< where rows are kept; empty: nowhere
    bool passing = false;   ///< the file goes where no case comes to its end
    std::string heading;    ///< said before the first case that the device runs, if there is one
    CaseTable::Columns columns = CaseTable::Columns::all;
    std::function<CaseResult(const Case&)> one;
};
/// Runs each case, with progress and an idea of how long the rest takes; prints their table without
/// --json, and names the commands that show failures again. After Ctrl-C or a termination signal
/// it finishes the case in hand, and says what was kept.
Outcome run_each(const std::vector<Case>& cases, const Options& options, const Device& device,
                 const Run& run);

/// The exit code; throws Error(unsupported) if no kernel ran.
int exit_of(const Outcome& outcome);

}  // namespace raceline::cli
