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

// The file of a run to which the user gave none: it goes where no case of it was measured, be it
// that the run is refused, stopped or fails. Then the newest file is still the newest run.
class PassingFile {
public:
    explicit PassingFile(const std::string& path) : path_(path) {}
    PassingFile(const PassingFile&) = delete;
    PassingFile& operator=(const PassingFile&) = delete;
    ~PassingFile() {
        std::error_code none;
        if (!kept_) {
            std::filesystem::remove(path_, none);
        }
    }
    void keep() { kept_ = true; }

private:
    std::string path_;
    bool kept_ = false;
};

// A name that no file has: two runs may begin within a second.
std::string new_receipt_path(const std::string& what) {
    const std::filesystem::path first = default_receipt_path(what);
    std::filesystem::path path = first;
    for (int more = 2; std::filesystem::exists(path); ++more) {
        path = first.parent_path() / fmt::format("{}-{}.jsonl", first.stem().string(), more);
    }
    return path.string();
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
        select_cases(fusion ? with_parts(options, *fusion) : options, *backend);
    const std::string what =
        cases.empty() || cases.front().suite.empty() ? "shape" : cases.front().suite;
    const bool passing = options.receipts.empty();
    ReceiptWriter writer(passing ? new_receipt_path(what) : options.receipts);
    std::optional<PassingFile> file;
    if (passing) {
        file.emplace(writer.path());
    }
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
                                      .passing = passing,
                                      .heading = fmt::format("on {} ({})", device.name, device.id),
                                      .columns = CaseTable::Columns::all,
                                      .one = [&](const Case& one) {
                                          CaseResult result = run_case(one, *backend, sink);
                                          ran.emplace_back(one, result);
                                          if (file && result.correctness) {
                                              file->keep();
                                          }
                                          return result;
                                      }});
    if (!options.json) {
        const TextStyle style = stdout_style(options);
        fmt::print("{}{}", fusion ? fusion_table(options, *fusion, device, ran, style) : "",
                   layer_text(ran, device, style));
    }
    if (outcome.ran > 0 && outcome.stopped == 0) {  // else it has said so
        say("receipts: {}", writer.path());
    }
    return exit_of(outcome);
}

}  // namespace raceline::cli
