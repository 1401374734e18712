// SPDX-License-Identifier: Apache-2.0
#include "page/receipt_text.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "support/check.hpp"

namespace raceline {
namespace {

// Large enough to compress well, small enough to be read at once when a row is opened.
constexpr std::size_t block_bytes = std::size_t{1} << 20;

std::string whole_text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    require(in.good(), Status::io, "{}: cannot open for reading", path);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    require(!in.bad(), Status::io, "{}: cannot read", path);
    return text;
}

}  // namespace

void ReceiptText::cut(std::size_t file, const std::string& text) {
    std::size_t line = 1;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = begin;
        TextBlock block{.file = file, .first_line = line, .text = {}};
        while (end < text.size() && end - begin < block_bytes) {
            end = std::min(text.find('\n', end), text.size() - 1) + 1;
            ++line;
        }
        block.text = text.substr(begin, end - begin);
        blocks_.push_back(std::move(block));
        begin = end;
    }
}

void ReceiptText::add(const std::string& path) {
    const std::string text = whole_text(path);
    ReceiptFile file = parse_receipts(text);
    const std::size_t number = files_.size();
    std::set<std::size_t> not_as_written;
    Json findings = Json::array();
    for (const BadLine& bad : check_receipts(file)) {
        findings.push_back(Json::array({bad.line, bad.reason}));
    }
    for (const BadLine& bad : check_chain(file)) {
        not_as_written.insert(bad.line);
    }
    std::size_t sound = 0;
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
        if (not_as_written.contains(file.lines[i])) {
            continue;
        }
        ++sound;
        const auto id = file.rows[i].find("id");
        if (id != file.rows[i].end() && id->is_string()) {
            places_.try_emplace(id->get<std::string>(), RowPlace{number, file.lines[i]});
        }
        rows_.push_back(std::move(file.rows[i]));
    }
    files_.push_back({{"path", path},
                      {"rows", sound},
                      {"lines", std::count(text.begin(), text.end(), '\n')},
                      {"unfinished", file.unfinished},
                      {"findings", std::move(findings)}});
    cut(number, text);
}

Json place_json(const ReceiptText& text, const std::string& id) {
    const auto found = text.places().find(id);
    return found == text.places().end() ? Json()
                                        : Json::array({found->second.file, found->second.line});
}

}  // namespace raceline
