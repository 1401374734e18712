// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "options.hpp"
#include "receipt/file.hpp"
#include "receipt/past_measurement.hpp"
#include "report/ladder_report.hpp"
#include "report/receipt_report.hpp"
#include "support/check.hpp"
#include "terminal.hpp"

namespace raceline::cli {
namespace {

namespace fs = std::filesystem;

// The newest file where `bench` puts receipts by default.
std::string newest_receipt() {
    const fs::path folder = fs::path(default_receipt_path("any")).parent_path();
    fs::path newest;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
        const bool receipt = entry.path().extension() == ".jsonl";
        if (receipt && (newest.empty() || entry.last_write_time() > fs::last_write_time(newest))) {
            newest = entry.path();
        }
    }
    require(!newest.empty(), Status::invalid_argument,
            "no receipts in {}: run `raceline bench` first, or name a file", folder.string());
    return newest.string();
}

// One a tree: reading its history takes a while.
class Trees {
public:
    const CommittedEvidence& of(const std::string& file) {
        auto& known = trees_[tree_of(file)];
        if (!known) {
            known = std::make_unique<CommittedEvidence>(tree_of(file));
        }
        return *known;
    }
    void add_histories(ReceiptReport& report) const {
        for (const auto& [root, evidence] : trees_) {
            report.add_history(*evidence);
        }
    }

private:
    std::map<std::string, std::unique_ptr<CommittedEvidence>> trees_;  // by root
};

void say_check(const ReceiptReport& report) {
    for (const std::string& note : report.notes()) {
        say("{}", note);
    }
    say("{} rows, {} findings, {} stale", report.rows().size(), report.findings().size(),
        report.stale());
}

std::string line_text(const Finding& finding) {
    return finding.line == 0 ? "" : fmt::format("line {}: ", finding.line);
}

}  // namespace

int run_report(const Options& options) {
    if (options.repredict) {
        return run_repredict(options);
    }
    std::vector<std::string> files = options.files;
    if (files.empty() && !options.ladder) {
        files.push_back(newest_receipt());
        say("{}", files.front());
    }
    ReceiptReport report;
    Trees trees;
    std::vector<PastFile> left;  // files that left the work tree: the page needs their first sights
    for (const std::string& file : files) {
        if (options.ladder && fs::path(file).filename() == "index.jsonl") {
            left = read_past(file);
        } else {
            report.add(file, options.check ? &trees.of(file) : nullptr);
        }
    }
    trees.add_histories(report);
    const std::vector<Finding>& findings = options.check ? report.findings() : report.broken();
    for (const Finding& finding : findings) {
        say("{}: {}{}", finding.file, line_text(finding), finding.what);
    }
    if (options.ladder) {
        fmt::print("{}", ladder_markdown(report.rows(), left));
    } else if (options.json) {
        for (const Json& row : report.rows()) {
            print_row(row);
        }
    } else if (!options.check) {
        fmt::print("{}", report.str());
    }
    if (options.check) {
        say_check(report);
    }
    // A corrupt line is bad input wherever it is met; what --check finds beyond it is a failure.
    if (!report.broken().empty()) {
        return exit_usage;
    }
    return findings.empty() ? exit_ok : exit_failed;
}

}  // namespace raceline::cli
