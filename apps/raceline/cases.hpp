// SPDX-License-Identifier: Apache-2.0
// Cases of a command: where their rows go, and how they run one after the other.
#pragma once

#include <functional>
#include <optional>
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

struct Outcome {
    int ran = 0, failed = 0;
};
/// Runs each case by `run`, with progress, prints their table without --json, and names the
/// commands that show failures again.
Outcome run_each(const std::vector<Case>& cases, const Options& options, const Device& device,
                 CaseTable::Columns columns, const std::function<CaseResult(const Case&)>& run);

/// The exit code; throws Error(unsupported) if no kernel ran.
int exit_of(const Outcome& outcome);

}  // namespace raceline::cli
