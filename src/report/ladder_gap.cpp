// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_gap.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "registry/registry.hpp"
#include "report/docs_peers.hpp"
#include "report/ladder_data.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr std::string_view suite = "ladder-gap";

struct TimedKernel {
    std::string kernel, tile;
    Json fields;
    double seconds = 0;
};

std::string shown_tile(const Json& tile) {
    std::string text;
    for (const auto& [name, value] : tile.items()) {
        // The head dims are the shape's.
        text += name.starts_with("headdim")
                    ? ""
                    : fmt::format("{}{}={}", text.empty() ? "" : ",", name, value.dump());
    }
    return text;
}

bool is_about(const Json& row, const Workload& workload) {
    return row.at("suite") == suite && workload_from_json(row.at("workload")) == workload;
}

// The last run of each tile of each kernel.
std::vector<TimedKernel> timed_on(std::span<const Json> rows, const Workload& workload) {
    std::map<std::string, TimedKernel> last;
    for (const Json* row : by_time(rows, "measurement")) {
        if (is_about(*row, workload) && settled_seconds(*row) > 0) {
            const Json named = with_names_of_today(*row);
            const auto kernel = named.at("kernel").get<std::string>();
            const Json& tile = named.at("tile");
            last[kernel + tile.dump()] = {kernel, shown_tile(tile), tile, settled_seconds(*row)};
        }
    }
    std::vector<TimedKernel> all;
    all.reserve(last.size());
    for (auto& [key, timed] : last) {
        all.push_back(std::move(timed));
    }
    return all;
}

bool has_fields(const Json& fields, const Json& wanted) {
    for (const auto& [name, value] : wanted.items()) {
        if (!fields.contains(name) || fields.at(name) != value) {
            return false;
        }
    }
    return true;
}

// The fastest of a step's tiles; seconds 0 if none was measured.
TimedKernel fastest(const Json& step, const std::vector<TimedKernel>& all) {
    TimedKernel best;
    for (const TimedKernel& one : all) {
        const bool fits =
            step.at("kernel") == one.kernel && has_fields(one.fields, step.at("tile"));
        if (fits && (best.seconds == 0 || one.seconds < best.seconds)) {
            best = one;
        }
    }
    return best;
}

TimedKernel of_peer(const Json& step, std::span<const Json> rows, const Workload& workload) {
    TimedKernel last;
    for (const Json* row : by_time(rows, "comparison")) {
        const Json& peer = row->at("peer");
        if (is_about(*row, workload) && peer.at("name") == step.at("peer")) {
            const auto name = peer.at("name").get<std::string>();
            last = {name, version_in_words(name, peer.at("version").get<std::string>()), Json(),
                    peer.at("seconds_median").get<double>()};
        }
    }
    return last;
}

struct GapStep {
    TimedKernel timed;
    std::string is, thing, also;
};

std::vector<GapStep> steps_on(const Json& data, std::span<const Json> rows, const Workload& w) {
    const std::vector<TimedKernel> all = timed_on(rows, w);
    std::vector<GapStep> steps;
    for (const Json& step : data) {
        if (step.contains("shape")) {
            continue;
        }
        TimedKernel timed = step.contains("peer") ? of_peer(step, rows, w) : fastest(step, all);
        if (timed.seconds > 0) {
            steps.push_back({std::move(timed), step.at("is").get<std::string>(),
                             step.value("thing", ""), step.value("also", "")});
        }
    }
    return steps;
}

std::string table_of(const std::vector<GapStep>& steps) {
    TextTable table(
        "step | ?9 tile or version | ?9 what is added | >measured | >gain | >share of the gap | "
        "counts "
        "as | and with it");
    // Shares of a product are those of its logarithm: they add up, whatever the order of size.
    const double whole = std::log(steps.front().timed.seconds / steps.back().timed.seconds);
    std::map<std::string, double> by_thing;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const GapStep& s = steps[i];
        const double gain = i == 0 ? 1 : steps[i - 1].timed.seconds / s.timed.seconds;
        const double share = std::log(gain) / whole;
        by_thing[s.thing] += i == 0 ? 0 : share;
        table.add({s.timed.kernel, s.timed.tile, s.is, format_seconds(s.timed.seconds),
                   i == 0 ? "" : fmt::format("{:.2f}×", gain),
                   i == 0 ? "" : fmt::format("{:.0f} %", 100 * share), s.thing, s.also});
    }
    std::string sums;
    for (const auto& [thing, share] : by_thing) {
        if (!thing.empty()) {
            sums += fmt::format("{}{} {:.0f} %", sums.empty() ? "" : ", ", thing, 100 * share);
        }
    }
    return table.markdown() +
           fmt::format("\n{:.1f}× in all; of it, in logarithms: {}.\n", std::exp(whole), sums);
}

}  // namespace

std::string gap_markdown(std::span<const Json> rows) {
    const Json data = ladder_data("ladder/gap.json");
    std::string text;
    for (const Json& entry : data) {
        if (!entry.contains("shape")) {
            continue;
        }
        const Workload w = parse_shape(entry.at("shape").get<std::string>());
        const std::vector<GapStep> steps = steps_on(data, rows, w);
        if (steps.size() > 1) {
            text += fmt::format("\n### {}\n\n{}", format_shape(w), table_of(steps));
        }
    }
    if (text.empty()) {
        return "";
    }
    return "\n## The gap\n\nFrom the best rung on CUDA cores to the fastest library. Every entry "
           "is "
           "measured, in one run, as the fastest tile that has the thing beside the fastest that "
           "lacks it; where a step cannot come alone, the last column says what came with it.\n" +
           text;
}

}  // namespace raceline
