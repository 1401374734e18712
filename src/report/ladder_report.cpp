// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_report.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "report/ladder_cases.hpp"
#include "report/ladder_counters.hpp"
#include "report/ladder_data.hpp"
#include "report/ladder_gap.hpp"
#include "report/ladder_memory.hpp"
#include "report/ladder_not_run.hpp"
#include "report/ladder_sweeps.hpp"
#include "report/ladder_tracks.hpp"
#include "report/ladder_verdict.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

std::string seconds_text(double seconds) {
    return seconds > 0 ? format_seconds(seconds) : "";
}

std::string over(const Kernel& kernel) {
    const std::string_view before = kernel.rung->predecessor;
    if (before.empty()) {
        return "";
    }
    const auto all = all_kernels();
    const bool there = std::any_of(all.begin(), all.end(),
                                   [&](const Kernel& other) { return other.name == before; });
    return std::string(before) + (there ? "" : " (missing)");
}

// Scratch of the case that is shown, with its tile; of a rung that never ran, with its first one.
std::string scratch_text(const Kernel& kernel, const Workload& w, const std::string& fields,
                         const Device& device) {
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        Json own = Json::object();
        for (const auto& [name, value] : kernel.tile(tile)) {
            own[std::string(name)] = value;
        }
        if (kernel.why_not(w, tile, device).empty() && (fields.empty() || own.dump() == fields)) {
            const auto bytes = static_cast<double>(kernel.workspace(w, tile, device));
            return bytes > 0 ? format_si(bytes, "B") : "0";
        }
    }
    return "";
}

// What a rung changes, in code.
std::string own_code(const Kernel& kernel) {
    const std::string_view before = kernel.rung->predecessor;
    std::string text = fmt::format("Own code: {} lines", kernel.own_lines);
    return before.empty()
               ? text + "."
               : text + fmt::format("; `raceline kernels --diff {} {}` prints the lesson.", before,
                                    kernel.name);
}

std::string last_text(const RungCase& c) {
    return c.measured_last > 0
               ? fmt::format("{} ({})", format_seconds(c.measured_last),
                             format_signed_percent(c.predicted_last / c.measured_last - 1))
               : "";
}

std::vector<std::string> line_of(const Kernel& kernel, const std::vector<RungCase>& cases,
                                 const LadderTrack& track, const Device& h200) {
    const RungCase* c = shown_case(cases, track.reference);
    const RungScore score = score_rung(cases);
    std::vector<std::string> line{std::string(kernel.name), over(kernel),
                                  std::string(kernel.rung->changes)};
    if (c == nullptr) {
        line.insert(line.end(), {"", "", "", "", "", "", "", "", ""});
    } else {
        const bool timed = c->measured > 0 && c->predicted > 0;
        const std::string other = c->shape == track.reference ? "" : " on " + c->shape;
        line.insert(
            line.end(),
            {seconds_text(c->predicted) + other, seconds_text(c->measured),
             timed ? format_signed_percent(c->predicted / c->measured - 1) : "", last_text(*c),
             c->speedup_predicted() > 0 ? fmt::format("{:.2f}×", c->speedup_predicted()) : "",
             c->speedup_measured() > 0 ? fmt::format("{:.2f}×", c->speedup_measured()) : "",
             c->counted ? c->counted->predicted_limiter : c->limiter,
             c->counted ? c->counted->limiter : "",
             score.cases > 0 ? fmt::format("{:.0f} % of {}", 100 * score.median_error, score.cases)
                             : ""});
    }
    line.push_back(scratch_text(kernel,
                                parse_shape(c == nullptr ? std::string(track.reference) : c->shape),
                                c == nullptr ? "" : c->tile, h200));
    const bool stale =
        std::any_of(cases.begin(), cases.end(), [](const RungCase& k) { return k.stale; });
    line.push_back(score.verdict() + (stale ? " (of older code)" : ""));
    return line;
}

// How the model did on a track, all cases of all its rungs together.
std::string score_text(const std::vector<RungCases>& all) {
    std::vector<RungCase> together;
    int hits = 0, run = 0;
    for (const auto& [kernel, cases] : all) {
        const RungScore score = score_rung(cases);
        run += score.cases > 0 ? 1 : 0;
        hits += score.verdict() == "hit" ? 1 : 0;
        together.insert(together.end(), cases.begin(), cases.end());
    }
    const RungScore score = score_rung(together);
    if (score.cases == 0) {
        return "";
    }
    std::string text = fmt::format(
        "\n**The model on this track**, by its predictions as they stood before the first run of "
        "each case. Of {} rungs that ran {} are hits. Median error of the time: {:.0f} % over {} "
        "cases. Speed-up over the predecessor: hit in {} of {}. ",
        run, hits, 100 * score.median_error, score.cases, score.speedup_hits, score.speedups);
    const auto seen = std::ranges::count(together, false, &RungCase::first_sight);
    text += seen == 0
                ? ""
                : fmt::format("Of these cases, {} had been measured before, under another suite. ",
                              seen);
    text += score.profiled > 0
                ? fmt::format(
                      "Limiter right in {} of {} cases that were profiled. By the predictions "
                      "before the profiled runs: right in {} of {}.\n",
                      score.limiter_hits_first, score.profiled, score.limiter_hits, score.profiled)
                : "No case was profiled.\n";
    return text;
}

std::string track_text(const LadderTrack& track, const LadderCases& cases,
                       const std::string& device) {
    const std::vector<const Kernel*> rungs = rungs_of(track.name);
    if (rungs.empty()) {
        return "";
    }
    TextTable table(
        "rung | ?9 after | ?9 what changed | >time predicted | >time measured | >error | >last run "
        "(its "
        "error) | >speed-up predicted | >speed-up measured | limiter predicted | limiter by "
        "counters | >median error of all shapes | >scratch | verdict");
    const Device h200 = datasheet_device("h200");
    std::vector<RungCases> all;
    for (const Kernel* kernel : rungs) {
        all.emplace_back(kernel, cases.of(device, *kernel, track.suite));
        table.add(line_of(*kernel, all.back().second, track, h200));
    }
    const std::string counters = counters_table(all, h200);
    return table.markdown() + score_text(all) +
           (counters.empty() ? "" : "\nBy hardware counters:\n\n" + counters);
}

std::string rung_text(const Kernel& kernel) {
    std::string text = fmt::format("\n### {}\n\nMust be visible: {}.\n\n{}\n", kernel.name,
                                   kernel.rung->evidence, own_code(kernel));
    const std::string lesson = ladder_lesson(kernel.name);
    return text + (lesson.empty() ? "" : "\n" + lesson);
}

}  // namespace

std::string ladder_markdown(std::span<const Json> rows, std::span<const PastFile> left) {
    const LadderCases cases(rows, left);
    std::string text = fmt::format(
        "# The ladder\n\n"
        "Generated by `raceline report --ladder` from the rungs' records, `ladder/lessons.md` and "
        "receipts; a test fails when it is stale. Every rung changes one thing over the one "
        "before. Its time and limiter are predicted, and written to the receipt, before it runs. "
        "What counts is the first run that was correct, hit or miss. The last one, by a model that "
        "may have learned from it, stands beside. `tools/device_ladder.sh` measures all of it in "
        "one session on a GPU.\n\n"
        "A rung is a *hit* if three things hold (`src/report/ladder_verdict.hpp`):\n\n"
        "- The median error of the time over all of its shapes is at most {:.0f} %.\n"
        "- More than half of its speed-ups over the predecessor are within {:.0f} % of the "
        "measured "
        "ones and on the same side of 1. Within {:.0f} % of 1 means no effect.\n"
        "- More than half of the limiters that hardware counters named are those predicted. "
        "Counters "
        "name the busiest resource, if it is busy enough; else the launch waits "
        "(`bench/limiter.py`).\n\n"
        "Times are those of one shape a track; the median error is that of all. Scratch is what "
        "the "
        "rung asks for beside inputs and outputs.\n",
        100 * time_tolerance, 100 * speedup_tolerance, 100 * no_effect);
    const std::string legend = ladder_lesson("How to read it");
    text += legend.empty() ? "" : "\n## How to read it\n\n" + legend;
    std::set<std::string> devices = cases.devices();
    if (devices.empty()) {
        devices.insert("");
    }
    for (const LadderTrack& track : ladder_tracks()) {
        text += fmt::format("\n## {}\n\nTimes of `{}`.\n", track.title, track.reference);
        for (const std::string& device : devices) {
            const std::string table = track_text(track, cases, device);
            text +=
                (device.empty() || table.empty() ? "\n" : fmt::format("\n### On {}\n\n", device)) +
                (table.empty() ? "No rung of it is built yet.\n" : table);
        }
    }
    text += gap_markdown(rows) + sweeps_markdown(rows) + products_markdown(rows) +
            memory_markdown(rows) + not_run_markdown();
    const std::string faults = ladder_lesson("Faults of earlier work");
    text += faults.empty() ? "" : "\n## What earlier work got wrong\n\n" + faults;
    text += "\n## What each rung is about\n";
    for (const LadderTrack& track : ladder_tracks()) {
        for (const Kernel* kernel : rungs_of(track.name)) {
            text += rung_text(*kernel);
        }
    }
    return text;
}

}  // namespace raceline
