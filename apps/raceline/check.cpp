// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "interruption.hpp"
#include "selection.hpp"
#include "support/text_table.hpp"
#include "terminal.hpp"

namespace raceline::cli {

int run_check(const Options& options) {
    const StopBeforeCases stop("nothing was checked");
    const auto backend = select_backend(options);
    Options all = options;
    // The gate is about correctness, not speed: every tile, unless the user chooses.
    all.tile = options.tile.empty() ? "all" : options.tile;
    const std::vector<Case> cases = select_cases(all, *backend);
    std::optional<ReceiptWriter> writer = named_receipts(options);
    RowSink sink = sink_of(options, writer ? &*writer : nullptr);
    const Outcome outcome =
        run_each(cases, options, backend->device(),
                 {.done = "checked",
                  .file = options.receipts,
                  .heading = {},
                  .columns = CaseTable::Columns::correctness,
                  .one = [&](const Case& one) { return check_case(one, *backend, sink); }});
    if (outcome.refusal.empty()) {
        say("{} checked, {} failed", counted_text(static_cast<std::size_t>(outcome.ran), "case"),
            outcome.failed);
    }
    return exit_of(outcome);
}

}  // namespace raceline::cli
