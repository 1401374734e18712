// SPDX-License-Identifier: Apache-2.0
#include "report/explanation.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/case_columns.hpp"
#include "report/what_helps.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

std::string terms_text(const Prediction& p, const std::optional<HiddenWork>& hidden,
                       const TextStyle& style) {
    TextTable terms("term | >time | >of the model's");
    for (const auto& [name, seconds] : p.layer2) {
        terms.add({name, format_seconds(seconds), format_percent(seconds / p.seconds, 1)});
    }
    TextTable resources("resource | >work / ceiling");
    for (const auto& [name, seconds] : p.layer1.seconds) {
        resources.add({name, format_seconds(seconds)});
    }
    if (hidden) {
        resources.add({hidden->resource, format_seconds(hidden->seconds)});
    }
    return terms.str(style) + "\n" + resources.str(style);
}

std::string constants_text(const std::vector<Constant>& constants, const TextStyle& style) {
    constexpr std::size_t least_source = 40;
    TextTable table("constant | >value | origin | >stand-in | from");
    table.column("from").least = least_source;
    for (const Constant& one : constants) {
        const bool fitted = one.origin == Origin::calibrated;
        table.add({std::string(one.name), fmt::format("{:.4g}", one.value),
                   std::string(origin_name(one.origin)),
                   fitted ? fmt::format("{:.4g}", one.stand_in) : "",
                   fitted ? fmt::format("{}; without: {}", one.source, one.stand_in_source)
                          : std::string(one.source)});
    }
    return constants.empty()
               ? "no named constants: counts of the code and rates of the device alone\n"
               : table.str(style);
}

std::string times_text(const Prediction& p) {
    return p.calibrated.left_out
               ? fmt::format("{} by the uncalibrated model", format_seconds(p.seconds))
               : fmt::format("{} expected, {} by the model", format_seconds(p.expected_seconds),
                             format_seconds(p.seconds));
}

std::string calibration_text(const Prediction& p, const std::vector<Constant>& constants) {
    if (p.calibrated.count == 0 && p.calibrated.errors == 0) {
        const auto fitted = std::ranges::count(constants, Origin::calibrated, &Constant::origin);
        return fitted > 0
                   ? fmt::format("the stand-ins of {} were used, not the calibrated values\n",
                                 counted_text(static_cast<std::size_t>(fitted), "constant"))
                   : "nothing calibrated\n";
    }
    std::string text;
    if (p.calibrated.count > 0) {
        text += fmt::format(
            "{}, set {}; without calibration {}\n",
            counted_text(static_cast<std::size_t>(p.calibrated.count), "calibrated constant"),
            p.calibrated.hash.substr(0, 12), format_seconds(p.uncalibrated_seconds));
    }
    if (p.calibrated.errors > 0) {
        text += fmt::format("expected: less what 3 in 4 of {} committed errors share, set {}\n",
                            p.calibrated.errors, p.calibrated.errors_hash.substr(0, 12));
    }
    return text;
}

}  // namespace

std::string explanation(const Case& which, const Device& device,
                        const ExplainedPrediction& explained, const TextStyle& style) {
    const Prediction& p = explained.prediction;
    const std::string where = fmt::format(" on {}, {}", device.id, which.kernel->name);
    const std::string heading =
        heading_shape(format_shape(which.workload), style, text_width(where)) + where;
    return fmt::format("\n{}\n{}{}\n\n{}\n{}{}", inked(heading, Ink::heading, style),
                       paragraph(which.kernel->tile_text(which.tile), style), times_text(p),
                       terms_text(p, hidden_work(which, device, p), style),
                       constants_text(explained.constants, style),
                       calibration_text(p, explained.constants));
}

Json constants_to_json(const std::vector<Constant>& constants) {
    Json all = Json::array();
    for (const Constant& one : constants) {
        Json entry{{"name", one.name},
                   {"value", one.value},
                   {"origin", origin_name(one.origin)},
                   {"source", one.source}};
        if (one.origin == Origin::calibrated) {
            entry["stand_in"] = one.stand_in;
            entry["stand_in_source"] = one.stand_in_source;
        }
        all.push_back(std::move(entry));
    }
    return all;
}

}  // namespace raceline
