// SPDX-License-Identifier: Apache-2.0
// `raceline report --html`: receipts as a page.
#include "page/page.hpp"

#include <algorithm>
#include <filesystem>

#include "options.hpp"
#include "receipt_files.hpp"
#include "support/check.hpp"
#include "support/time.hpp"
#include "terminal.hpp"
#include "whole_file.hpp"

namespace raceline::cli {
namespace {

namespace fs = std::filesystem;

// Of a folder of the form of receipts/: the files of each device; the index lists those that left.
void take_tree(const std::string& folder, PageRequest& request) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".jsonl" && entry.path().parent_path() != folder) {
            request.receipts.push_back(entry.path().string());
        }
    }
    std::ranges::sort(request.receipts);
    if (const std::string index = folder + "/index.jsonl"; fs::exists(index)) {
        request.indexes.push_back(index);
    }
}

PageRequest request_of(const Options& options) {
    PageRequest request;
    for (const std::string& file : options.files) {
        const bool is_index = fs::path(file).filename() == "index.jsonl";
        (is_index ? request.indexes : request.receipts).push_back(file);
    }
    if (options.files.empty() && fs::is_directory("receipts")) {
        take_tree("receipts", request);
    } else if (options.files.empty()) {
        request.receipts.push_back(newest_receipt());
    }
    request.sources = build_info::page_sources();
    request.ladder_sources = build_info::ladder_sources();
    request.made = utc_now();
    return request;
}

// A forgotten name of the page must not cost the receipts that stand in its place.
void require_page(const Options& options) {
    std::error_code none;
    require(options.html != "-", Status::invalid_argument,
            "--html - : a page of several megabytes is written to a file, not to standard output; "
            "name one that ends in .html");
    for (const std::string& file : options.files) {
        require(!fs::equivalent(file, options.html, none), Status::invalid_argument,
                "--html would write the page over {}, one of the receipts to read; name a page "
                "first, as in --html page.html {}",
                file, file);
    }
    const std::string ending = fs::path(options.html).extension().string();
    require(!fs::is_directory(options.html, none), Status::invalid_argument,
            "--html {} is a folder; name a file in it, such as {}", options.html,
            (fs::path(options.html) / "page.html").string());
    require(!fs::is_regular_file(options.html, none) || ending == ".html" || ending == ".htm",
            Status::invalid_argument,
            "--html would replace {}, which is no page; name a file that ends in .html",
            options.html);
}

}  // namespace

int run_page(const Options& options) {
    require(!options.json && !options.docs, Status::invalid_argument,
            "--html writes a page: it excludes --json and --docs");
    require_page(options);
    const PageRequest request = request_of(options);
    const std::string page = page_html(request);
    write_whole_file(options.html, page);
    const std::size_t count = request.receipts.size();
    say("{}: {} receipt file{}, {:.1f} MB", options.html, count, count == 1 ? "" : "s",
        static_cast<double>(page.size()) * 1e-6);
    return exit_ok;
}

}  // namespace raceline::cli
