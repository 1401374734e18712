// SPDX-License-Identifier: Apache-2.0
#include "report/scorecard_text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "support/check.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

constexpr std::array regimes{Regime::under_20us, Regime::from_20us_to_100us, Regime::over_100us};

std::string_view regime_text(Regime regime) {
    constexpr std::array<std::string_view, 3> texts{"under 20 µs", "20–100 µs", "over 100 µs"};
    return texts.at(static_cast<std::size_t>(regime));
}

std::string percent_of(double share) {
    return format_percent(share, 1);
}

// "31.0 % (5.2 %, 12)"; empty where no row has the number.
std::string beside_text(const Beside& other) {
    return other.count == 0 ? ""
                            : fmt::format("{} ({}, {})", percent_of(other.median),
                                          percent_of(other.model), other.count);
}

std::string some_text(std::size_t count, double error) {
    return count == 0 ? "" : fmt::format("{} ({})", percent_of(error), count);
}

// What is printed, and where to.
struct Page {
    TableForm form;
    TextStyle style;
};

std::string laid_out(TextTable& table, const Page& page) {
    if (page.form == TableForm::markdown) {
        return table.markdown();
    }
    if (table.empty()) {
        return "No rows.\n";
    }
    constexpr std::size_t least_name = 16;  // of a machine, which may be long
    table.column("device").least = least_name;
    return table.str(page.style);
}

// A heading, and the sentences under it.
std::string section(std::string_view title, std::string_view sentences, const Page& page) {
    return page.form == TableForm::markdown
               ? fmt::format("\n### {}\n\n{}\n\n", title, sentences)
               : fmt::format("\n{}\n{}\n", inked(title, Ink::heading, page.style),
                             paragraph(sentences, page.style, 0));
}

std::string sentence(std::string_view text, const Page& page) {
    return page.form == TableForm::markdown
               ? std::string(text)
               : paragraph(text.substr(0, text.size() - 1), page.style, 0);
}

std::vector<std::string> name_cells(const ScoreGroup& group) {
    return {group.device, group.kernel, std::string(regime_text(group.regime)),
            std::string(sight_name(group.sight))};
}

std::string first_sight_table(std::span<const FirstSightScore> first, const Page& page) {
    TextTable table(
        "device | kernel | >?5 under 20 µs | >?5 20–100 µs | >?5 over 100 µs | >all | "
        ">?1 uncalibrated | >?2 expected");
    for (const FirstSightScore& score : first) {
        std::vector<std::string> cells{score.device, score.kernel};
        for (const Regime regime : regimes) {
            const auto found = score.regimes.find(regime);
            cells.push_back(found == score.regimes.end()
                                ? ""
                                : some_text(found->second.count, found->second.median));
        }
        cells.push_back(some_text(score.count, score.median));
        cells.push_back(beside_text(score.uncalibrated));
        cells.push_back(beside_text(score.expected));
        table.add(std::move(cells));
    }
    return laid_out(table, page);
}

// Errors are taken out of a prediction so that it fits better; where it fits worse, a reader who
// plans with it must know.
std::string worse_by_correction(const std::vector<Score>& scores, const Page& page) {
    TextTable table("device | kernel | regime | class | >expected | >instead of | >rows");
    std::size_t rows = 0;
    for (const Score& score : scores) {
        const Beside& expected = score.expected;
        rows += expected.count;
        if (expected.median > expected.model) {
            std::vector<std::string> cells = name_cells(score.group);
            cells.insert(cells.end(), {percent_of(expected.median), percent_of(expected.model),
                                       std::to_string(expected.count)});
            table.add(std::move(cells));
        }
    }
    if (rows == 0) {
        return sentence("No row has an expected time.\n", page);
    }
    return table.empty()
               ? sentence(fmt::format("In no group of rows is the expected time further "
                                      "off than the model's own, of {} rows that have "
                                      "one.\n",
                                      rows),
                          page)
               : sentence("The expected time is further off than the model's own here:\n", page) +
                     "\n" + laid_out(table, page);
}

std::string accuracy_table(const std::vector<Score>& scores, const Page& page) {
    TextTable table(
        "device | kernel | regime | class | >?7 rows | >median | >?6 p90 | >?5 bias | "
        ">?3 within 10 % | >?4 within 20 % | >?2 limiter | >?1 expected");
    for (const Score& score : scores) {
        const PredictionAccuracy& a = score.accuracy;
        std::vector<std::string> cells = name_cells(score.group);
        cells.insert(
            cells.end(),
            {fmt::format("{}", a.count), percent_of(a.median_absolute), percent_of(a.p90_absolute),
             format_signed_percent(a.bias, 1), format_percent(a.within_10),
             format_percent(a.within_20),
             score.profiled == 0 ? "" : fmt::format("{} of {}", score.limiter_hits, score.profiled),
             beside_text(score.expected)});
        table.add(std::move(cells));
    }
    return laid_out(table, page);
}

std::string baseline_table(const std::vector<Score>& scores, const Page& page) {
    TextTable table(
        "device | kernel | regime | class | >?1 uncalibrated | >?3 datasheet roofline | >?4 "
        "measured "
        "roofline | >?2 roofline and launch floor");
    std::size_t without = 0;
    for (const Score& score : scores) {
        const std::array all{&score.uncalibrated, &score.datasheet, &score.roofline,
                             &score.launch_floor};
        if (std::ranges::all_of(all, [](const Beside* one) { return one->count == 0; })) {
            without += score.accuracy.count;
            continue;
        }
        std::vector<std::string> cells = name_cells(score.group);
        for (const Beside* one : all) {
            cells.push_back(beside_text(*one));
        }
        table.add(std::move(cells));
    }
    const std::string note =
        without == 0 ? ""
                     : fmt::format(
                           "Groups of which no row has any of these: {} rows, all of files that "
                           "left the tree or without them.\n",
                           without);
    return laid_out(table, page) + (note.empty() ? "" : "\n" + sentence(note, page));
}

// Of some suites alone nobody counted what fell out, and the index has only what did not.
std::string left_out_text(const LeftOut& left) {
    if (left.not_counted) {
        return "Rows that were unsettled, refused by the gate or without a prediction are in no "
               "figure, and those of files that left the tree are not counted: `git show` brings "
               "these back.\n";
    }
    return fmt::format(
        "In no figure: {} unsettled, {} refused by the gate, {} without a prediction, {} of a tree "
        "with uncommitted changes{}.\n",
        left.unsettled, left.failed, left.unpredicted, left.dirty,
        left.broken == 0
            ? ""
            : fmt::format("; {} rows of any kind whose hash or chain is broken", left.broken));
}

Json beside_json(const Beside& other) {
    return other.count == 0 ? Json(nullptr)
                            : Json{{"n", other.count},
                                   {"median_absolute", other.median},
                                   {"seconds_median_absolute", other.model}};
}

Json score_json(const Score& score) {
    const PredictionAccuracy& a = score.accuracy;
    Json limiter;
    if (score.profiled > 0) {
        limiter = {{"n", score.profiled}, {"hits", score.limiter_hits}};
    }
    return Json{{"device", score.group.device},
                {"kernel", score.group.kernel},
                {"ladder", score.group.rung},
                {"regime", regime_name(score.group.regime)},
                {"class", sight_name(score.group.sight)},
                {"n", a.count},
                {"median_absolute", a.median_absolute},
                {"mean_absolute", a.mean_absolute},
                {"p90_absolute", a.p90_absolute},
                {"bias", a.bias},
                {"within_10", a.within_10},
                {"within_20", a.within_20},
                {"limiter", limiter},
                {"expected", beside_json(score.expected)},
                {"uncalibrated", beside_json(score.uncalibrated)},
                {"datasheet_roofline", beside_json(score.datasheet)},
                {"measured_roofline", beside_json(score.roofline)},
                {"roofline_and_launch_floor", beside_json(score.launch_floor)}};
}

}  // namespace

std::string worst_at_first_sight(const Scorecard& card) {
    const FirstSightScore* engine = nullptr;
    const FirstSightScore* rung = nullptr;
    const std::vector<FirstSightScore> scores = card.first_sights();
    for (const FirstSightScore& score : scores) {
        const FirstSightScore*& worst = score.rung ? rung : engine;
        worst = worst == nullptr || score.median > worst->median ? &score : worst;
    }
    if (engine == nullptr && rung == nullptr) {
        return "No row is first sight.\n";
    }
    const auto text = [](const FirstSightScore& score) {
        return fmt::format("{} on {}, median error {} over {}", score.kernel, score.device,
                           percent_of(score.median), counted_text(score.count, "row"));
    };
    return fmt::format("Worst at first sight: {}{}.\n",
                       engine != nullptr ? "of the engines " + text(*engine) : "",
                       rung == nullptr ? ""
                                       : fmt::format("{}of the ladder's rungs {}",
                                                     engine != nullptr ? "; " : "", text(*rung)));
}

std::string machines_together(const Scorecard& card) {
    return std::ranges::any_of(
               card.scores(),
               [](const Score& score) { return score.group.device.starts_with("cpu ("); })
               ? "Machines whose CPUs have one name are counted together here; pictures of cases "
                 "and the page tell them apart where rows say how they differ."
               : "";
}

namespace {

std::string first_part(std::span<const FirstSightScore> first, const std::vector<Score>& scores,
                       const Page& page) {
    return section(
               "First sight by kernel",
               "Median absolute error of `seconds`, the model's own time, and in brackets the "
               "number of rows. All are of a kernel or a case that had not been measured "
               "before. Constants that were fitted to a kernel are in its predictions; "
               "`uncalibrated` is the error without them. `expected` is the error once committed "
               "errors are taken out. In brackets behind these two: the error of `seconds` on "
               "the same rows, and their number.",
               page) +
           first_sight_table(first, page) + "\n" + worse_by_correction(scores, page);
}

std::string regimes_part(const std::vector<Score>& scores, const Page& page) {
    return section("By regime and class",
                   "Errors of `seconds`. The limiter is compared with the one that hardware "
                   "counters name, where a row was profiled. Latency, tail and launch count as one "
                   "there. `expected` is the median error once "
                   "committed errors are taken out. In brackets behind it: the error of `seconds` "
                   "on the rows that have it, and their number.",
                   page) +
           accuracy_table(scores, page);
}

std::string baselines_part(const std::vector<Score>& scores, const Page& page) {
    return section("Beside baselines",
                   "Median absolute error; in brackets that of `seconds` on the same rows, and "
                   "their number.",
                   page) +
           baseline_table(scores, page);
}

}  // namespace

std::string scorecard_text(const Scorecard& card, TableForm form, const TextStyle& style) {
    const std::vector<Score> scores = card.scores();
    const Page page{form, style};
    const std::string together = form == TableForm::terminal ? machines_together(card) : "";
    return sentence(worst_at_first_sight(card), page) +
           (together.empty() ? "" : sentence(together + "\n", page)) +
           first_part(card.first_sights(), scores, page) + regimes_part(scores, page) +
           baselines_part(scores, page) + "\n" + sentence(left_out_text(card.left_out()), page);
}

std::string scorecard_part(const Scorecard& card, std::string_view part, std::string_view kernel) {
    std::vector<Score> scores = card.scores();
    std::vector<FirstSightScore> first = card.first_sights();
    if (!kernel.empty()) {
        std::erase_if(scores, [&](const Score& score) { return score.group.kernel != kernel; });
        std::erase_if(first, [&](const FirstSightScore& score) { return score.kernel != kernel; });
    }
    require(!scores.empty(), Status::invalid_argument, "no committed row is of the kernel {}",
            kernel);
    const Page page{TableForm::markdown, {}};
    const std::string text = part == "first"       ? first_part(first, scores, page)
                             : part == "regimes"   ? regimes_part(scores, page)
                             : part == "baselines" ? baselines_part(scores, page)
                                                   : "";
    require(!text.empty(), Status::invalid_argument,
            "part={} is no part of a scorecard; it must be first, regimes or baselines", part);
    // The line that a page needs before a heading stands in the marker's line.
    return text.substr(1);
}

Json scorecard_json(const Scorecard& card) {
    Json groups = Json::array();
    for (const Score& score : card.scores()) {
        groups.push_back(score_json(score));
    }
    Json kernels = Json::array();
    for (const FirstSightScore& score : card.first_sights()) {
        kernels.push_back(Json{{"device", score.device},
                               {"kernel", score.kernel},
                               {"ladder", score.rung},
                               {"n", score.count},
                               {"median_absolute", score.median},
                               {"uncalibrated", beside_json(score.uncalibrated)},
                               {"expected", beside_json(score.expected)}});
    }
    const LeftOut& left = card.left_out();
    std::string worst = worst_at_first_sight(card);
    worst.pop_back();
    return Json{{"worst", worst},
                {"first_sight", kernels},
                {"groups", groups},
                {"left_out",
                 {{"unsettled", left.unsettled},
                  {"failed", left.failed},
                  {"unpredicted", left.unpredicted},
                  {"dirty", left.dirty},
                  {"broken", left.broken}}}};
}

}  // namespace raceline
