// SPDX-License-Identifier: Apache-2.0
#include "support/check.hpp"

#include "options.hpp"
#include "report/case_table.hpp"
#include "selection.hpp"
#include "terminal.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::cli {

int run_check(const Options& options) {
    const auto backend = select_backend(options);
    Options all = options;
    // The gate is about correctness, not speed: every tile, unless the user chooses.
    all.tile = options.tile.empty() ? "all" : options.tile;
    const std::vector<Case> cases = select_cases(all, backend->device());
    std::optional<ReceiptWriter> writer;
    if (!options.receipts.empty()) {
        writer.emplace(options.receipts);
    }
    RowSink sink{.context = &options.context, .writer = writer ? &*writer : nullptr, .emit = {}};
    sink.refusals = !options.kernels.empty();
    if (options.json) {
        sink.emit = print_row;
    }
    CaseTable table(backend->device());
    int failed = 0;
    std::vector<std::string> again;
    int ran = 0;
    {
        Progress progress(static_cast<int>(cases.size()));
        for (const Case& one : cases) {
            progress.step(ran, format_shape(one.workload));
            const CaseResult result = check_case(one, *backend, sink);
            if (result.failed()) {
                ++failed;
                again.push_back(command_of(one, backend->device()));
            }
            ran += result.correctness ? 1 : 0;
            table.add(one, result);
        }
    }
    if (!options.json) {
        fmt::print("{}", table.str(CaseTable::Columns::correctness));
    }
    say_again(again);
    say("{} cases checked, {} failed", ran, failed);
    require(ran > 0, Status::unsupported,
            "no kernel ran: none of those asked for supports any of the shapes");
    return failed == 0 ? exit_ok : exit_failed;
}

}  // namespace raceline::cli
