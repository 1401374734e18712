// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "options.hpp"
#include "report/case_table.hpp"
#include "selection.hpp"
#include "support/check.hpp"
#include "terminal.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::cli {

int run_bench(const Options& options) {
    const auto backend = select_backend(options);
    const std::vector<Case> cases = select_cases(options, backend->device());
    const std::string what =
        cases.empty() || cases.front().suite.empty() ? "shape" : cases.front().suite;
    ReceiptWriter writer(options.receipts.empty() ? default_receipt_path(what) : options.receipts);
    if (writer.repaired() > 0) {
        say("{}: cut an unfinished last line of {} bytes that a killed run had left", writer.path(),
            writer.repaired());
    }
    RowSink sink{.context = &options.context, .writer = &writer, .emit = {}};
    sink.refusals = !options.kernels.empty();
    if (options.json) {
        sink.emit = print_row;
    }
    const Device& device = backend->device();
    say("{} ({}), rates {}", device.name, device.id, device.rates_id);
    CaseTable table(device);
    int failed = 0;
    std::vector<std::string> again;
    int ran = 0;
    int done = 0;
    {
        Progress progress(static_cast<int>(cases.size()));
        for (const Case& one : cases) {
            progress.step(done++,
                          fmt::format("{} {}", one.kernel->name, format_shape(one.workload)));
            const CaseResult result = run_case(one, *backend, sink);
            if (result.failed()) {
                ++failed;
                again.push_back(command_of(one, backend->device()));
            }
            ran += result.correctness ? 1 : 0;
            table.add(one, result);
        }
    }
    if (!options.json) {
        fmt::print("{}", table.str(CaseTable::Columns::all));
    }
    say_again(again);
    say("receipts: {}", writer.path());
    require(ran > 0, Status::unsupported,
            "no kernel ran: none of those asked for supports any of the shapes");
    return failed == 0 ? exit_ok : exit_failed;
}

}  // namespace raceline::cli
