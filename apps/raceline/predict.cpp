// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "options.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "report/case_table.hpp"
#include "selection.hpp"
#include "terminal.hpp"

namespace raceline::cli {

int run_predict(const Options& options) {
    const Device device = select_device(options);
    const std::vector<Case> cases = select_cases(options, device);
    std::optional<ReceiptWriter> writer;
    if (!options.receipts.empty()) {
        writer.emplace(options.receipts);
    }
    RowSink sink{.context = &options.context, .writer = writer ? &*writer : nullptr, .emit = {}};
    if (options.json) {
        sink.emit = print_row;
    }
    CaseTable table(device);
    for (const Case& one : cases) {
        CaseResult result;
        result.refusal = why_not(*one.kernel, one.workload, device);
        const RowCase about = row_case(one, device);
        if (result.refusal.empty()) {
            result.prediction = predict_case(one, device);
            sink.describe(device);
            sink.put(one.kernel->source_hash,
                     PredictionRow{.about = about, .prediction = *result.prediction});
        } else {
            sink.put(one.kernel->source_hash, RefusalRow{.about = about, .reason = result.refusal});
        }
        table.add(one, result);
    }
    if (!options.json) {
        fmt::print("{}", table.str(CaseTable::Columns::prediction));
    }
    return exit_ok;
}

}  // namespace raceline::cli
