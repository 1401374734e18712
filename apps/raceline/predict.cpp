// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "options.hpp"
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
        Json content = case_to_json(one, device);
        if (result.refusal.empty()) {
            result.prediction = predict_case(one, device);
            content["prediction"] = prediction_to_json(*result.prediction);
            sink.put("prediction", one.kernel->source_hash, content);
        } else {
            content["reason"] = result.refusal;
            sink.put("refusal", one.kernel->source_hash, content);
        }
        table.add(one, result);
    }
    if (!options.json) {
        fmt::print("{}", table.str(CaseTable::Columns::prediction));
    }
    return exit_ok;
}

}  // namespace raceline::cli
