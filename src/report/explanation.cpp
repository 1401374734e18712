// SPDX-License-Identifier: Apache-2.0
#include "report/explanation.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using Align = TextTable::Align;

std::string terms_text(const Prediction& p) {
    TextTable terms({{"term"}, {"time", Align::right}, {"of the model's", Align::right}});
    for (const auto& [name, seconds] : p.layer2) {
        terms.add(
            {name, format_seconds(seconds), fmt::format("{:.1f} %", 100 * seconds / p.seconds)});
    }
    TextTable resources({{"resource"}, {"work / ceiling", Align::right}});
    for (const auto& [name, seconds] : p.layer1.seconds) {
        resources.add({name, format_seconds(seconds)});
    }
    return terms.str() + "\n" + resources.str();
}

std::string constants_text(const std::vector<Constant>& constants) {
    TextTable table("constant | >value | origin | >stand-in | from");
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
               : table.str();
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
        return fitted > 0 ? fmt::format(
                                "the stand-ins of {} calibrated constants were used, not "
                                "their values\n",
                                fitted)
                          : "nothing calibrated\n";
    }
    std::string text;
    if (p.calibrated.count > 0) {
        text +=
            fmt::format("{} calibrated constants, set {}; without them {}\n", p.calibrated.count,
                        p.calibrated.hash.substr(0, 12), format_seconds(p.uncalibrated_seconds));
    }
    if (p.calibrated.errors > 0) {
        text += fmt::format("expected: the median of {} committed errors taken out, set {}\n",
                            p.calibrated.errors, p.calibrated.errors_hash.substr(0, 12));
    }
    return text;
}

}  // namespace

std::string explanation(const Case& which, const Device& device,
                        const ExplainedPrediction& explained) {
    const Prediction& p = explained.prediction;
    return fmt::format("\n{} on {}, {} {}: {}\n\n{}\n{}{}", format_shape(which.workload), device.id,
                       which.kernel->name, which.kernel->tile_text(which.tile), times_text(p),
                       terms_text(p), constants_text(explained.constants),
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
