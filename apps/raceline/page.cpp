// SPDX-License-Identifier: Apache-2.0
// `raceline report --html`: receipts as a page.
#include "page/page.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "options.hpp"
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
    request.indexes = stored_indexes(folder);
}

PageRequest request_of(const Options& options) {
    PageRequest request = page_request(options.files);
    if (options.files.empty() && fs::is_directory("receipts")) {
        take_tree("receipts", request);
    } else if (options.files.empty()) {
        request.receipts.push_back(newest_receipt().file);
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

// What a caller named and the page has nothing of is bad input, as it is without --html.
bool is_of_none(const Page& page, const Options& options) {
    return !options.files.empty() && page.files + page.indexes == 0;
}

// The page says why of each.
void say_of_none(const Page& page, const Options& options) {
    const std::size_t named = options.files.size();
    say("{}: of {} nothing could be read, which is all that this page says: {}{}", options.html,
        named == 1 ? "the one named file" : fmt::format("{} named files", named),
        page.refused.front(),
        page.refused.size() > 1 ? fmt::format("; and {} more", page.refused.size() - 1) : "");
}

// "3 receipt files, 1 index".
std::string parts_of(const Page& page) {
    std::string files = counted_text(page.files, "receipt file");
    if (page.indexes == 0) {
        return files;
    }
    const std::string indexes =
        page.indexes == 1 ? "1 index" : fmt::format("{} indexes", page.indexes);
    return page.files == 0 ? indexes : files + ", " + indexes;
}

}  // namespace

int run_page(const Options& options) {
    require(!options.json && !options.docs, Status::invalid_argument,
            "--html writes a page: it excludes --json and --docs");
    require_page(options);
    const Page page = page_html(request_of(options));
    write_whole_file(options.html, page.html);
    if (is_of_none(page, options)) {
        say_of_none(page, options);
        return exit_usage;
    }
    for (const std::string& why : page.refused) {  // the page says it too
        say("{}", why);
    }
    const std::size_t out = page.refused.size();
    say("{}: {},{} {}", options.html, parts_of(page),
        out == 0 ? "" : fmt::format(" {} left out,", counted_text(out, "file")),
        format_si(static_cast<double>(page.html.size()), "B"));
    if (!page.shows_something) {
        say("{}: nothing can be drawn: no sound row has a time, a comparison or a ceiling; "
            "the page says what is wrong",
            options.html);
        return exit_usage;
    }
    return exit_ok;
}

}  // namespace raceline::cli
