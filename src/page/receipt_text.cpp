// SPDX-License-Identifier: Apache-2.0
#include "page/receipt_text.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "receipt/stored_text.hpp"
#include "report/sound_rows.hpp"

namespace raceline {
namespace {

// Large enough to compress well, small enough to be read at once when a row is opened.
constexpr std::size_t block_bytes = std::size_t{2} << 20;

}  // namespace

void ReceiptText::cut(std::size_t file, const std::string& text) {
    std::size_t line = 1;
    for (std::size_t begin = 0; begin < text.size(); ++line) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const bool full = blocks_.empty() || bytes_ >= block_bytes;
        if (full) {
            blocks_.emplace_back();
            bytes_ = 0;
        }
        if (full || line == 1) {
            pieces_.push_back({.file = file,
                               .first_line = line,
                               .block = blocks_.size() - 1,
                               .offset = blocks_.back().size()});
        }
        blocks_.back().push_back(text.substr(begin, end - begin));
        bytes_ += end - begin;
        ++pieces_.back().lines;
        begin = end + 1;
    }
}

void ReceiptText::add(const std::string& path) {
    std::error_code none;
    if (!known_.insert(std::filesystem::weakly_canonical(path, none).string()).second) {
        return;
    }
    const std::string text = stored_text(path);
    ReceiptFile file = parse_receipts(text);
    const std::size_t number = files_.size();
    Json findings = Json::array();
    for (const BadLine& bad : check_receipts(file)) {
        findings.push_back(Json::array({bad.line, bad.reason}));
    }
    SoundRows sound = sound_rows_of(std::move(file));
    std::size_t copies = 0;
    for (std::size_t i = 0; i < sound.rows.size(); ++i) {
        const auto id = sound.rows[i].find("id");
        const bool named = id != sound.rows[i].end() && id->is_string();
        if (named &&
            !places_.try_emplace(id->get<std::string>(), RowPlace{number, sound.lines[i]}).second) {
            ++copies;  // what stands in two files was measured once
            continue;
        }
        rows_.push_back(std::move(sound.rows[i]));
    }
    files_.push_back({{"path", path},
                      {"rows", sound.lines.size()},
                      {"copies", copies},
                      {"lines", std::count(text.begin(), text.end(), '\n')},
                      {"unfinished", sound.unfinished},
                      {"findings", std::move(findings)}});
    cut(number, text);
}

Json place_json(const ReceiptText& text, const std::string& id) {
    const auto found = text.places().find(id);
    return found == text.places().end() ? Json()
                                        : Json::array({found->second.file, found->second.line});
}

}  // namespace raceline
