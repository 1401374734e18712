// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "fuse.hpp"
#include "report/layer_report.hpp"
#include "selection.hpp"
#include "support/text_table.hpp"
#include "terminal.hpp"

namespace raceline::cli {

int run_bench(const Options& options) {
    const auto backend = select_backend(options);
    std::optional<Fusion> fusion;
    if (!options.fuse.empty()) {
        fusion = fusion_of(options);
    }
    const std::vector<Case> cases =
        select_cases(fusion ? with_parts(options, *fusion) : options, backend->device());
    const std::string what =
        cases.empty() || cases.front().suite.empty() ? "shape" : cases.front().suite;
    ReceiptWriter writer(options.receipts.empty() ? default_receipt_path(what) : options.receipts);
    if (writer.repaired() > 0) {
        say("{}: an unfinished last line of {}, which a killed run had left, was cut off",
            writer.path(), counted_text(writer.repaired(), "byte"));
    }
    RowSink sink = sink_of(options, &writer);
    const Device& device = backend->device();
    say("on {} ({})", device.name, device.id);
    std::vector<RanCase> ran;
    const Outcome outcome = run_each(cases, options, device,
                                     {.done = "measured",
                                      .file = writer.path(),
                                      .columns = CaseTable::Columns::all,
                                      .one = [&](const Case& one) {
                                          CaseResult result = run_case(one, *backend, sink);
                                          ran.emplace_back(one, result);
                                          return result;
                                      }});
    if (!options.json) {
        const TextStyle style = stdout_style(options);
        fmt::print("{}{}", fusion ? fusion_table(options, *fusion, device, ran, style) : "",
                   layer_text(ran, device, style));
    }
    if (outcome.stopped == 0) {  // else it has said so
        say("receipts: {}", writer.path());
    }
    return exit_of(outcome);
}

}  // namespace raceline::cli
