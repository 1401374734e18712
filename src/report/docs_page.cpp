// SPDX-License-Identifier: Apache-2.0
#include "report/docs_page.hpp"

#include <algorithm>
#include <sstream>

#include "support/check.hpp"

namespace raceline {
namespace {

constexpr std::string_view begin_mark = "<!-- raceline:begin ";
constexpr std::string_view end_mark = "<!-- raceline:end -->";
constexpr std::string_view any_mark = "<!-- raceline:";
constexpr std::string_view comment_end = "-->";

// A block and the part of the page that it fills.
struct PlacedBlock {
    DocsBlock block;
    std::size_t first, last;
};

std::size_t line_of_place(std::string_view page, std::size_t place) {
    return 1 + static_cast<std::size_t>(std::count(page.begin(), page.begin() + place, '\n'));
}

DocsBlock parse_marker(std::string_view words, std::size_t line) {
    DocsBlock block;
    block.line = line;
    std::istringstream in{std::string(words)};
    std::string word;
    in >> block.kind;
    block.text = block.kind;
    if (block.kind == output_block) {
        std::string& command = block.arguments["command"];
        while (in >> word) {
            command += (command.empty() ? "" : " ") + word;
        }
        block.text += " " + command;
    }
    while (in >> word) {
        block.text += " " + word;
        const std::size_t equals = word.find('=');
        require(equals != std::string::npos && equals > 0, Status::invalid_argument,
                "line {}: '{}' in the marker of a block must be name=value", line, word);
        const bool fresh =
            block.arguments.emplace(word.substr(0, equals), word.substr(equals + 1)).second;
        require(fresh, Status::invalid_argument, "line {}: '{}' stands twice in one marker", line,
                word.substr(0, equals));
    }
    return block;
}

std::vector<PlacedBlock> blocks_of(std::string_view page) {
    std::vector<PlacedBlock> blocks;
    for (std::size_t at = page.find(any_mark); at != std::string_view::npos;
         at = page.find(any_mark, at)) {
        const std::size_t line = line_of_place(page, at);
        require(page.substr(at).starts_with(begin_mark), Status::invalid_argument,
                "line {}: a marker that is neither `{}KIND ...` nor the end of a block that began",
                line, begin_mark);
        const std::size_t close = page.find(comment_end, at);
        require(close != std::string_view::npos, Status::invalid_argument,
                "line {}: the marker has no end; it must be `{}`", line, comment_end);
        const std::size_t words = at + begin_mark.size();
        PlacedBlock placed{parse_marker(page.substr(words, close - words), line),
                           close + comment_end.size(), 0};
        placed.last = page.find(any_mark, placed.first);
        require(
            placed.last != std::string_view::npos && page.substr(placed.last).starts_with(end_mark),
            Status::invalid_argument, "line {}: block '{}' is not closed by `{}`", line,
            placed.block.text, end_mark);
        at = placed.last + end_mark.size();
        blocks.push_back(std::move(placed));
    }
    return blocks;
}

std::string written(const DocsBlock& block, const DocsWriter& write) {
    try {
        return write(block);
    } catch (const Error& error) {
        fail(error.status(), "line {}: block '{}': {}", block.line, block.text, error.what());
    }
}

}  // namespace

const std::string& DocsBlock::at(const std::string& name) const {
    const auto found = arguments.find(name);
    require(found != arguments.end(), Status::invalid_argument,
            "a block '{}' needs {}=...; its marker is '{}'", kind, name, text);
    return found->second;
}

std::string DocsBlock::get(const std::string& name) const {
    const auto found = arguments.find(name);
    return found == arguments.end() ? "" : found->second;
}

std::string rewrite_page(std::string_view page, const DocsWriter& write) {
    std::string text;
    std::size_t done = 0;
    for (const PlacedBlock& placed : blocks_of(page)) {
        text += page.substr(done, placed.first - done);
        text += written(placed.block, write);
        done = placed.last;
    }
    return text + std::string(page.substr(done));
}

std::vector<DocsFault> check_page(std::string_view page, const DocsWriter& write) {
    std::vector<DocsFault> faults;
    for (const PlacedBlock& placed : blocks_of(page)) {
        try {
            if (write(placed.block) != page.substr(placed.first, placed.last - placed.first)) {
                faults.push_back({placed.block.line,
                                  fmt::format("block '{}' is not what its receipts say; `make "
                                              "docs` writes it",
                                              placed.block.text)});
            }
        } catch (const Error& error) {
            faults.push_back({placed.block.line,
                              fmt::format("block '{}': {}", placed.block.text, error.what())});
        }
    }
    return faults;
}

}  // namespace raceline
