// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "options.hpp"
#include "page_output.hpp"
#include "receipt/file.hpp"
#include "receipt/named_file.hpp"
#include "receipt/past_measurement.hpp"
#include "receipt/stored_text.hpp"
#include "receipt_files.hpp"
#include "report/docs_tables.hpp"
#include "report/ladder_report.hpp"
#include "report/receipt_report.hpp"
#include "report/scorecard.hpp"
#include "report/scorecard_text.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "support/whole_file.hpp"
#include "terminal.hpp"

namespace raceline::cli {
namespace {

namespace fs = std::filesystem;

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
    say("{}, {}, {} stale", counted_text(report.rows().size(), "row"),
        counted_text(report.findings().size(), "finding"), report.stale());
}

// Of files without a row and without a finding: empty, or cut off within their first line.
std::string nothing_text(const std::vector<std::string>& files) {
    std::error_code none;
    const auto cut = [&](const std::string& file) { return fs::file_size(file, none) > 0; };
    if (std::ranges::any_of(files, cut)) {
        return (files.size() == 1 ? files.front() : "each file is empty or") +
               " ends within its first line: a run was cut off there";
    }
    return files.size() == 1 ? files.front() + " is empty" : "all files are empty";
}

// Generated parts of pages: rewritten, or with --check compared.
int run_docs(const Options& options) {
    require(!options.files.empty(), Status::invalid_argument,
            "--docs needs the pages: raceline report --docs README.md docs/results.md");
    DocsEvidence evidence(".");
    const DocsWriter write = [&](const DocsBlock& block) {
        return block.kind == output_block ? page_output(block) : docs_block(evidence, block);
    };
    bool right = true;
    for (const std::string& file : options.files) {
        std::ifstream in(file);
        require(in.good() && fs::is_regular_file(file), Status::io,
                "cannot read the page {}: name a file that exists and may be read", file);
        const std::string page{std::istreambuf_iterator<char>(in), {}};
        try {
            if (options.check) {
                for (const DocsFault& fault : check_page(page, write)) {
                    say("{}: line {}: {}", file, fault.line, fault.what);
                    right = false;
                }
            } else if (const std::string text = rewrite_page(page, write); text != page) {
                write_whole_file(file, text);
                say("{} written", file);
            }
        } catch (const Error& error) {
            fail(error.status(), "{}: {}", file, error.what());
        }
    }
    return right ? exit_ok : exit_failed;
}

int run_scorecard(const Options& options) {
    require(!options.check && !options.ladder, Status::invalid_argument,
            "--scorecard excludes --check and --ladder");
    require(!options.markdown || !options.json, Status::invalid_argument,
            "--markdown and --json exclude each other");
    Scorecard card;
    for (const std::string& file : options.files) {
        card.add(file);
    }
    if (options.files.empty()) {
        card.add_tree("receipts");
    }
    for (const Finding& finding : card.broken()) {
        say("{}", finding_text(finding));
    }
    if (options.json) {
        fmt::print("{}\n", dump_json(scorecard_json(card)));
    } else {
        const TableForm form = options.markdown ? TableForm::markdown : TableForm::terminal;
        fmt::print("{}", scorecard_text(card, form, stdout_style(options)));
    }
    return card.broken().empty() ? exit_ok : exit_usage;
}

}  // namespace

int run_report(const Options& options) {
    if (options.docs && options.html.empty()) {
        return run_docs(options);
    }
    if (!options.html.empty()) {
        return run_page(options);
    }
    std::ranges::for_each(options.files, require_receipts);
    if (options.repredict) {
        return run_repredict(options);
    }
    if (options.scorecard) {
        return run_scorecard(options);
    }
    std::vector<std::string> files = options.files;
    if (files.empty() && !options.ladder) {
        const NewestReceipt newest = newest_receipt();
        files.push_back(newest.file);
        say("{}", newest.text());
    }
    ReceiptReport report;
    Trees trees;
    std::vector<PastFile> left;  // files that left the work tree: the page needs their first sights
    for (const std::string& file : files) {
        if (options.ladder && is_index_name(file)) {
            std::ranges::move(read_past(file), std::back_inserter(left));
        } else {
            report.add(file, options.check ? &trees.of(file) : nullptr);
        }
    }
    trees.add_histories(report);
    std::vector<Finding> findings = options.check ? report.findings() : report.broken();
    if (!options.check) {
        findings.insert(findings.end(), report.changed().begin(), report.changed().end());
    }
    for (const Finding& finding : findings) {
        say("{}", finding_text(finding));
    }
    if (options.ladder) {
        fmt::print("{}", ladder_markdown(report.rows(), left));
    } else if (options.json) {
        for (const Json& row : report.rows()) {
            print_row(row);
        }
    } else if (!options.check) {
        fmt::print("{}", report.str(stdout_style(options)));
    }
    if (options.check) {
        say_check(report);
    } else if (report.rows().empty() && findings.empty() && !options.ladder) {
        say("no rows: {}", nothing_text(files));
    }
    // A corrupt line is bad input wherever it is met; what --check finds beyond it is a failure.
    if (!report.broken().empty()) {
        return exit_usage;
    }
    return findings.empty() ? exit_ok : exit_failed;
}

}  // namespace raceline::cli
