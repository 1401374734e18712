// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "page/page_parts.hpp"
#include "receipt/stored_text.hpp"
#include "support/check.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/workload.hpp"

namespace raceline {
namespace {

// A number for each of some texts, in the order in which they come.
class Numbered {
public:
    std::size_t of(const std::string& text) {
        const auto [at, fresh] = numbers_.try_emplace(text, numbers_.size());
        if (fresh) {
            texts_.push_back(text);
        }
        return at->second;
    }
    [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

private:
    std::map<std::string, std::size_t> numbers_;
    std::vector<std::string> texts_;
};

// A time of an error that is shown with four digits.
Json short_time(double seconds) {
    constexpr double digits = 6;
    if (!(seconds > 0) || !std::isfinite(seconds)) {
        return nullptr;
    }
    const double unit = std::pow(10, std::floor(std::log10(seconds)) - digits + 1);
    return unit > 0 ? std::round(seconds / unit) * unit : seconds;
}

std::string shape_of(const PastMeasurement& about) {
    try {
        return format_shape(workload_from_json(about.workload));
    } catch (const Error&) {  // of an operation or a field that this build does not know
        return about.workload.dump();
    }
}

// By file that left the tree, a commit that has it.
std::map<std::string, std::string> commits_of_left(std::span<const std::string> indexes) {
    std::map<std::string, std::string> commits;
    for (const std::string& path : indexes) {
        std::istringstream in(stored_text(path));
        for (std::string line; std::getline(in, line);) {
            const Json file = Json::parse(line, nullptr, false);
            if (file.is_object() && file.contains("path") && file.contains("commit")) {
                commits[file.at("path").get<std::string>()] = file.at("commit").get<std::string>();
            }
        }
    }
    return commits;
}

}  // namespace

Json scored_json(const Scorecard& card, const ReceiptText& text,
                 std::span<const std::string> indexes) {
    std::map<ScoreGroup, std::size_t> groups;  // in the scorecard's order
    for (const Score& score : card.scores()) {
        groups.try_emplace(score.group, groups.size());
    }
    Numbered texts;
    Numbered files;
    Json all;
    for (const ScoredRow& row : card.scored_rows()) {
        const OtherTimes& others = row.about.others;
        const Json place = place_json(text, row.id);
        all["group"].push_back(groups.at(row.group));
        all["shape"].push_back(texts.of(shape_of(row.about)));
        all["tile"].push_back(texts.of(tile_fields(row.about.tile)));
        all["measured"].push_back(short_time(row.measured));
        all["predicted"].push_back(short_time(row.seconds));
        all["expected"].push_back(short_time(others.expected));
        all["uncalibrated"].push_back(short_time(others.uncalibrated));
        all["datasheet_roofline"].push_back(short_time(others.datasheet));
        all["measured_roofline"].push_back(short_time(others.roofline));
        all["roofline_and_launch_floor"].push_back(short_time(others.launch_floor));
        all["limiter"].push_back(texts.of(row.about.limiter));
        all["counted"].push_back(texts.of(row.counted));
        all["written"].push_back(row.about.written.substr(0, 10));
        all["place"].push_back(place.is_null() ? Json(files.of(row.file)) : place);
    }
    const std::map<std::string, std::string> commits = commits_of_left(indexes);
    Json left = Json::array();
    for (const std::string& file : files.texts()) {
        const auto commit = commits.find(file);
        left.push_back(Json::array({file, commit == commits.end() ? "" : commit->second}));
    }
    all["texts"] = texts.texts();
    all["left"] = std::move(left);
    return all;
}

}  // namespace raceline
