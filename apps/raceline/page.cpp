// SPDX-License-Identifier: Apache-2.0
// `raceline report --html`: receipts as a page.
#include "page/page.hpp"

#include <filesystem>
#include <utility>

#include "options.hpp"
#include "receipt/named_file.hpp"
#include "receipt/stored_text.hpp"
#include "receipt_files.hpp"
#include "support/check.hpp"
#include "support/output_file.hpp"
#include "support/text_table.hpp"
#include "support/whole_file.hpp"
#include "terminal.hpp"

namespace raceline::cli {
namespace {

namespace fs = std::filesystem;

// Of a folder of the form of receipts/: the files of each device; the index lists those that left.
void take_tree(const std::string& folder, PageRequest& request) {
    request.receipts = stored_receipts(folder);
    if (std::string index = stored_index(folder); !index.empty()) {
        request.indexes.push_back(std::move(index));
    }
}

PageRequest request_of(const Options& options) {
    PageRequest request = page_request(options.files);
    if (options.files.empty() && fs::is_directory("receipts")) {
        take_tree("receipts", request);
    } else if (options.files.empty()) {
        request.receipts.push_back(newest_receipt());
    }
    return request;
}

// A forgotten name of the page must not cost the receipts that stand in its place.
void require_page(const Options& options) {
    require(options.html != "-", Status::invalid_argument,
            "--html - : a page of several megabytes is written to a file, not to standard output; "
            "name one that ends in .html");
    require_output("--html", options.html, options.files);
}

}  // namespace

int run_page(const Options& options) {
    require(!options.json && !options.docs, Status::invalid_argument,
            "--html writes a page: it excludes --json and --docs");
    require_page(options);
    const PageRequest request = request_of(options);
    const std::string page = page_html(request);
    for (const std::string& path : request.receipts) {
        try {
            require_receipts(path);
        } catch (const Error& error) {  // the page says it too
            say("{}", error.what());
        }
    }
    write_whole_file(options.html, page);
    say("{}: {}, {}", options.html, counted_text(request.receipts.size(), "receipt file"),
        format_si(static_cast<double>(page.size()), "B"));
    return exit_ok;
}

}  // namespace raceline::cli
