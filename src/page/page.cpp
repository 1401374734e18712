// SPDX-License-Identifier: Apache-2.0
#include "page/page.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "page/compressed.hpp"
#include "page/page_parts.hpp"
#include "page/row_columns.hpp"
#include "receipt/named_file.hpp"
#include "receipt/stored_text.hpp"
#include "report/ladder_verdict.hpp"
#include "report/scorecard_text.hpp"
#include "support/check.hpp"
#include "support/time.hpp"

namespace raceline {
namespace {

using Sources = std::span<const build_info::EmbeddedFile>;

std::string_view source(Sources sources, std::string_view path) {
    const auto found = std::ranges::find(sources, path, &build_info::EmbeddedFile::path);
    require(found != sources.end(), Status::internal, "this build has no {} for the page", path);
    return found->content;
}

// A script's data may hold no tag: compressed() makes none. `kind` is its id, or the beginning of
// it.
std::string data_script(const std::string& id, const std::string& content) {
    return "<script type=\"text/plain\" id=\"" + id + "\">" + content + "</script>\n";
}

Json vega_modules(Sources sources) {
    Json modules = Json::object();
    for (const build_info::EmbeddedFile& file : sources) {
        constexpr std::string_view folder = "vega/", ending = ".min.js";
        if (file.path.starts_with(folder) && file.path.ends_with(ending)) {
            const std::string_view name = file.path.substr(folder.size());
            modules[std::string(name.substr(0, name.size() - ending.size()))] = file.content;
        }
    }
    return modules;
}

struct PageContent {
    ReceiptText text;
    Json refused = Json::array();  // [[path, why]]
    TimedRows rows;
    Scorecard card;
    std::vector<PastFile> left;  // files that left the tree
    std::size_t indexes = 0;     // those that could be read
};

// Why a file is none that raceline wrote; empty if it may be one. Its text would fill the page.
std::string why_no_receipts(const std::string& path) {
    try {
        require_receipts(path);
    } catch (const Error& error) {
        if (error.status() == Status::corrupt) {
            return error.what();
        }
        throw;
    }
    return "";
}

// A file whose text cannot be had, as one of compressed data that were cut off, takes no other with
// it.
void add_receipt(PageContent& content, const std::string& path) {
    std::string why = why_no_receipts(path);
    try {
        if (why.empty()) {
            content.text.add(path);
            content.card.add(path);
        }
    } catch (const Error& error) {
        if (error.status() == Status::io) {
            throw;
        }
        why = error.what();
    }
    if (!why.empty()) {
        content.refused.push_back(Json::array({path, why}));
    }
}

PageContent read(const PageRequest& request) {
    PageContent content;
    for (const std::string& path : request.receipts) {
        add_receipt(content, path);
    }
    for (const std::string& path : request.indexes) {
        try {
            for (PastFile& file : read_past(path)) {
                content.left.push_back(std::move(file));
            }
            content.card.add(path);
            ++content.indexes;
        } catch (const std::exception& error) {  // of its first line that is none
            content.refused.push_back(Json::array({path, error.what()}));
        }
    }
    content.rows = timed_rows_of(content.text.rows());
    return content;
}

// Whether the files have anything that the page is for. A time that has not settled is drawn
// nowhere, but nothing is wrong with its row, and the page counts it.
bool shows_something(const PageContent& content) {
    const bool timed = std::ranges::any_of(content.rows.rows, [](const Json& row) {
        return row.at("kind") == MeasurementRow::kind || row.at("kind") == ComparisonRow::kind;
    });
    return timed || !content.rows.ceilings.empty() || !content.card.scored_rows().empty() ||
           !content.left.empty();
}

Json broken_json(const Scorecard& card) {
    Json broken = Json::array();
    for (const Finding& finding : card.broken()) {
        broken.push_back(Json::array({finding.file, finding.line, finding.what}));
    }
    return broken;
}

Json page_json(const PageRequest& request, const PageContent& content, NumberedTexts& texts) {
    const ReceiptText& text = content.text;
    const TimedRows& rows = content.rows;
    KnownDevices devices(rows);
    const Scorecard& card = content.card;
    Json cases = cases_json(rows, text, card, devices, texts);
    Json data{{"version", build_info::version()},
              {"commit", build_info::git_commit()},
              {"made", request.made},
              {"files", text.files()},
              {"indexes", content.indexes},
              {"refused", content.refused},
              {"notes", rows.notes},
              {"broken", broken_json(card)},
              {"cases", std::move(cases)},
              {"texts", texts.texts()},
              {"roofs", roofs_json(rows)},
              {"peers", peers_json(rows, text)},
              {"scorecard", scorecard_json(card)},
              {"ladder", ladder_json(rows.rows, content.left, text, request.ladder_sources)},
              {"left", left_files_json(content.left)},
              {"provenance", provenance_json(rows, text, devices)},
              {"diff", diff_json()},
              {"what_if", what_if_json(rows, devices)}};
    Json pieces = Json::array();
    for (const TextPiece& piece : text.pieces()) {
        pieces.push_back(
            Json::array({piece.file, piece.first_line, piece.lines, piece.block, piece.offset}));
    }
    data["pieces"] = std::move(pieces);
    return data;
}

// The script that emscripten wrote, and apart from it the module, which it holds in base64: in that
// form it compresses by half as much again.
std::string model_scripts(std::string_view script) {
    constexpr std::string_view before = "data:application/octet-stream;base64,";
    // The script names the beginning of such texts elsewhere, too.
    std::string_view module;
    for (std::size_t at = script.find(before); at != std::string_view::npos;
         at = script.find(before, at + 1)) {
        const std::string_view rest = script.substr(at + before.size());
        const std::string_view text = rest.substr(0, rest.find_first_of("'\""));
        module = text.size() > module.size() ? text : module;
    }
    require(!module.empty(), Status::internal, "page/model.js has no module after {}", before);
    const auto begin = static_cast<std::size_t>(module.data() - script.data());
    std::string rest(script.substr(0, begin));
    rest += script.substr(begin + module.size());
    return data_script("model", compressed(rest)) +
           data_script("module", compressed(from_base64(module)));
}

std::string scripts(Sources sources) {
    std::string all;
    for (const build_info::EmbeddedFile& file : sources) {
        if (file.path.starts_with("page/") && file.path.ends_with(".js") &&
            file.path != "page/model.js") {
            all += file.content;
        }
    }
    return "\"use strict\";\n(() => {\n" + all + "start();\n})();\n";
}

// Most reasons name the file.
std::string refused_text(const Json& refused) {
    const auto path = refused.at(0).get<std::string>();
    const auto why = refused.at(1).get<std::string>();
    return why.find(path) != std::string::npos ? why : path + ": " + why;
}

void replace(std::string& page, std::string_view mark, const std::string& by) {
    const std::size_t at = page.find(mark);
    require(at != std::string::npos, Status::internal, "page/page.html has no {}", mark);
    page.replace(at, mark.size(), by);
}

}  // namespace

Json diff_json() {
    return {{"no_effect", no_effect}, {"tolerance", time_tolerance}};
}

PageRequest page_request(const std::vector<std::string>& files) {
    PageRequest request;
    for (const std::string& file : files) {
        (is_index_name(file) ? request.indexes : request.receipts).push_back(file);
    }
    request.sources = build_info::page_sources();
    request.ladder_sources = build_info::ladder_sources();
    request.made = utc_now();
    return request;
}

Page page_html(const PageRequest& request) {
    const PageContent content = read(request);
    NumberedTexts texts;
    std::string data =
        data_script("data", compressed(page_json(request, content, texts)
                                           .dump(-1, ' ', false, Json::error_handler_t::replace)));
    data += data_script("scored",
                        compressed(scored_json(content.card, content.text, texts)
                                       .dump(-1, ' ', false, Json::error_handler_t::replace)));
    data += data_script("vega", compressed(vega_modules(request.sources).dump()));
    for (std::size_t i = 0; i < content.text.blocks().size(); ++i) {
        data += data_script("rows-" + std::to_string(i),
                            compressed(row_columns(content.text.blocks()[i])));
    }
    const auto model = std::ranges::find(request.sources, std::string_view("page/model.js"),
                                         &build_info::EmbeddedFile::path);
    if (model != request.sources.end()) {
        data += model_scripts(model->content);
    }
    Page page{.html = std::string(source(request.sources, "page/page.html")),
              .files = content.text.files().size(),
              .indexes = content.indexes,
              .shows_something = shows_something(content),
              .refused = {}};
    replace(page.html, "/* page.css */", std::string(source(request.sources, "page/page.css")));
    replace(page.html, "<!-- data -->", data);
    replace(page.html, "/* scripts */", scripts(request.sources));
    for (const Json& refused : content.refused) {
        page.refused.push_back(refused_text(refused));
    }
    return page;
}

}  // namespace raceline
