// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <nlohmann/json.hpp>

#include "page/page_parts.hpp"
#include "report/ladder_cases.hpp"
#include "report/ladder_data.hpp"
#include "report/ladder_tracks.hpp"
#include "report/ladder_verdict.hpp"

namespace raceline {
namespace {

Json counted_json(const std::optional<Counted>& counted) {
    return counted ? Json{{"limiter", counted->limiter}, {"stall", counted->stall}} : Json();
}

// Where a row is that this page does not have: the file that left the tree, and when the row was
// written, which finds it there.
Json left_json(const std::string& file, const std::string& written) {
    return file.empty() ? Json() : Json::array({file, written});
}

Json shown_json(const RungCase& shown, const ReceiptText& text) {
    return {{"shape", shown.shape},
            {"tile", shown.tile},
            {"predicted", shown.predicted},
            {"measured", shown.measured},
            {"speedup_predicted", shown.speedup_predicted()},
            {"speedup_measured", shown.speedup_measured()},
            {"limiter", shown.limiter},
            {"counted", counted_json(shown.counted)},
            {"passed", shown.passed},
            {"stale", shown.stale},
            {"first_sight", shown.first_sight},
            {"measured_before", shown.measured_before},
            {"row", place_json(text, shown.id)},
            {"left", left_json(shown.left, shown.written)},
            {"row_before", place_json(text, shown.id_before)},
            {"left_before", left_json(shown.left_before, shown.written_before)}};
}

Json result_json(const std::vector<RungCase>& cases, std::string_view reference,
                 const ReceiptText& text) {
    const RungScore score = score_rung(cases);
    const RungCase* shown = shown_case(cases, reference);
    return {{"verdict", score.verdict()},
            {"cases", score.cases},
            {"median_error", score.median_error},
            {"shown", shown == nullptr ? Json() : shown_json(*shown, text)}};
}

Json code_json(std::string_view rung, std::span<const build_info::EmbeddedFile> sources) {
    Json code = Json::array();
    for (const build_info::EmbeddedFile& file : sources) {
        const std::filesystem::path path{std::string(file.path)};
        if (path.parent_path().filename() == rung) {
            code.push_back(Json::array({path.generic_string(), file.content}));
        }
    }
    return code;
}

Json rung_json(const Kernel& rung, const LadderTrack& track, const LadderCases& cases,
               const ReceiptText& text, std::span<const build_info::EmbeddedFile> sources) {
    Json results = Json::object();
    for (const std::string& device : cases.devices()) {
        results[device] = result_json(cases.of(device, rung, track.suite), track.reference, text);
    }
    return {{"rung", rung.name},
            {"summary", rung.summary},
            {"predecessor", rung.rung->predecessor},
            {"changes", rung.rung->changes},
            {"evidence", rung.rung->evidence},
            {"lesson", ladder_lesson(rung.name)},
            {"lines", rung.own_lines},
            {"code", code_json(rung.name, sources)},
            {"devices", std::move(results)}};
}

}  // namespace

Json ladder_json(std::span<const Json> rows, std::span<const PastFile> left,
                 const ReceiptText& text, std::span<const build_info::EmbeddedFile> sources) {
    const LadderCases cases(rows, left);
    Json tracks = Json::array();
    for (const LadderTrack& track : ladder_tracks()) {
        Json rungs = Json::array();
        for (const Kernel* rung : rungs_of(track.name)) {
            rungs.push_back(rung_json(*rung, track, cases, text, sources));
        }
        tracks.push_back({{"name", track.name},
                          {"title", track.title},
                          {"suite", track.suite},
                          {"reference", track.reference},
                          {"rungs", std::move(rungs)}});
    }
    return tracks;
}

}  // namespace raceline
