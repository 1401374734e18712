// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include "selection.hpp"
#include "support/check.hpp"
#include "terminal.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::cli {

std::optional<ReceiptWriter> named_receipts(const Options& options) {
    return options.receipts.empty() ? std::optional<ReceiptWriter>()
                                    : std::optional<ReceiptWriter>(std::in_place, options.receipts);
}

RowSink sink_of(const Options& options, ReceiptWriter* writer) {
    RowSink sink{.context = &options.context, .writer = writer, .emit = {}};
    sink.refusals = !options.kernels.empty();
    if (options.json) {
        sink.emit = print_row;
    }
    return sink;
}

Outcome run_each(const std::vector<Case>& cases, const Options& options, const Device& device,
                 CaseTable::Columns columns, const std::function<CaseResult(const Case&)>& run) {
    CaseTable table(device);
    Outcome outcome;
    std::vector<std::string> again;
    {
        Progress progress(static_cast<int>(cases.size()));
        int done = 0;
        for (const Case& one : cases) {
            progress.step(done++,
                          fmt::format("{} {}", one.kernel->name, format_shape(one.workload)));
            const CaseResult result = run(one);
            if (result.failed()) {
                ++outcome.failed;
                again.push_back(command_of(one, device));
            }
            outcome.ran += result.correctness ? 1 : 0;
            table.add(one, result);
        }
    }
    if (!options.json) {
        fmt::print("{}", table.str(columns));
    }
    say_again(again);
    return outcome;
}

int exit_of(const Outcome& outcome) {
    require(outcome.ran > 0, Status::unsupported,
            "no kernel ran: none of those asked for supports any of the shapes");
    return outcome.failed == 0 ? exit_ok : exit_failed;
}

}  // namespace raceline::cli
