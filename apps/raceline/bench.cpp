// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <system_error>

#include "cases.hpp"
#include "fuse.hpp"
#include "interruption.hpp"
#include "report/layer_report.hpp"
#include "selection.hpp"
#include "support/text_table.hpp"
#include "terminal.hpp"

namespace raceline::cli {

namespace {

bool is_empty_file(const std::string& path) {
    std::error_code error;
    return std::filesystem::file_size(path, error) == 0 && !error;
}

void remove_unnamed(const Options& options, const std::string& path) {
    std::error_code none;
    if (options.receipts.empty()) {
        std::filesystem::remove(path, none);
    }
}

}  // namespace

int run_bench(const Options& options) {
    const StopBeforeCases stop("nothing was measured, no receipt was written");
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
    std::vector<RanCase> ran;
    const Outcome outcome = run_each(cases, options, device,
                                     {.done = "measured",
                                      .file = writer.path(),
                                      .heading = fmt::format("on {} ({})", device.name, device.id),
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
    if (is_empty_file(writer.path())) {
        remove_unnamed(options, writer.path());
    } else if (outcome.stopped == 0) {  // else it has said so
        say("receipts: {}", writer.path());
    }
    return exit_of(outcome);
}

}  // namespace raceline::cli
