// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "options.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "report/case_table.hpp"
#include "report/explanation.hpp"
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
    sink.refusals = !options.kernels.empty();
    if (options.json) {
        sink.emit = print_row;
    }
    const Calibration calibration = calibration_of(options);
    CaseTable table(device);
    std::string explanations;
    for (const Case& one : cases) {
        CaseResult result;
        result.refusal = why_not(*one.kernel, one.workload, device);
        const RowCase about = row_case(one, device);
        if (result.refusal.empty()) {
            ExplainedPrediction explained = explain_case(one, device, calibration);
            PredictionRow row{.about = about, .prediction = explained.prediction};
            if (options.explain) {
                row.more["constants"] = constants_to_json(explained.constants);
                explanations += explanation(one, device, explained);
            }
            sink.describe(device);
            sink.put(one.kernel->source_hash, row);
            result.prediction = std::move(explained.prediction);
        } else if (sink.refusals) {
            sink.put(one.kernel->source_hash, RefusalRow{.about = about, .reason = result.refusal});
        }
        table.add(one, result);
    }
    if (!options.json) {
        const auto columns = options.uncalibrated ? CaseTable::Columns::uncalibrated_prediction
                                                  : CaseTable::Columns::prediction;
        fmt::print("{}{}", table.str(columns), explanations);
    }
    return exit_ok;
}

}  // namespace raceline::cli
