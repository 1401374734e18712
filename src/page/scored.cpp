// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "page/page_parts.hpp"
#include "support/check.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/workload.hpp"

namespace raceline {
namespace {

std::string shape_of(const PastMeasurement& about) {
    try {
        return format_shape(workload_from_json(about.workload));
    } catch (const Error&) {  // of an operation or a field that this build does not know
        return about.workload.dump();
    }
}

}  // namespace

std::size_t NumberedTexts::of(const std::string& text) {
    const auto [at, fresh] = numbers_.try_emplace(text, numbers_.size());
    if (fresh) {
        texts_.push_back(text);
    }
    return at->second;
}

// By its digits: what is rounded by a factor has all seventeen again.
Json short_number(double value, int digits) {
    return value > 0 && std::isfinite(value)
               ? Json(std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr))
               : Json();
}

Json left_files_json(std::span<const PastFile> left) {
    Json files = Json::object();
    for (const PastFile& file : left) {
        files[file.path] = Json::array({file.commit, file.sha256});
    }
    return files;
}

Json scored_json(const Scorecard& card, const ReceiptText& text, NumberedTexts& texts) {
    const std::size_t known = texts.texts().size();
    std::map<ScoreGroup, std::size_t> groups;  // in the scorecard's order
    for (const Score& score : card.scores()) {
        groups.try_emplace(score.group, groups.size());
    }
    NumberedTexts files;
    Json all;
    for (const ScoredRow& row : card.scored_rows()) {
        const OtherTimes& others = row.about.others;
        const Json place = place_json(text, row.id);
        all["group"].push_back(groups.at(row.group));
        all["shape"].push_back(texts.of(shape_of(row.about)));
        all["tile"].push_back(texts.of(tile_fields(row.about.tile)));
        all["measured"].push_back(short_number(row.measured));
        all["predicted"].push_back(short_number(row.seconds));
        all["expected"].push_back(short_number(others.expected));
        all["uncalibrated"].push_back(short_number(others.uncalibrated));
        all["datasheet_roofline"].push_back(short_number(others.datasheet));
        all["measured_roofline"].push_back(short_number(others.roofline));
        all["roofline_and_launch_floor"].push_back(short_number(others.launch_floor));
        all["limiter"].push_back(texts.of(row.about.limiter));
        all["counted"].push_back(texts.of(row.counted));
        // Of a row that is not here the time finds it in its file.
        all["written"].push_back(place.is_null() ? row.about.written
                                                 : row.about.written.substr(0, 10));
        all["place"].push_back(place.is_null() ? Json(files.of(row.file)) : place);
    }
    all["texts"] = std::vector(texts.texts().begin() + static_cast<std::ptrdiff_t>(known),
                               texts.texts().end());
    all["left"] = files.texts();
    return all;
}

}  // namespace raceline
