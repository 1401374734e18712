// SPDX-License-Identifier: Apache-2.0
#include "report/layer_report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

#include "model/speed_of_light.hpp"
#include "run/call_caveats.hpp"
#include "support/text_table.hpp"
#include "workload/operation_shape.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

struct Part {
    const Case* which = nullptr;  ///< the kernel that is predicted to be fastest
    double bound = 0, expected = 0, predicted = 0, launches = 0, measured = 0;
    std::string refusal;
};

double launches_of(const Prediction& prediction) {
    double seconds = 0;
    for (const auto& [term, its] : prediction.layer2) {
        seconds += term.starts_with("launch") && term != "launch.cta" ? its : 0;
    }
    return seconds;
}

void take(const Case& which, const CaseResult& result, Part& part) {
    if (!result.explained) {
        part.refusal = result.refusal;
        return;
    }
    const Prediction& prediction = result.explained->prediction;
    if (part.predicted == 0 || prediction.seconds < part.predicted) {
        part.which = &which;
        part.predicted = prediction.seconds;
        part.expected =
            prediction.calibrated.left_out ? prediction.seconds : prediction.expected_seconds;
        part.launches = launches_of(prediction);
        part.measured =
            result.measurement && !result.failed() ? result.measurement->seconds_median : 0;
    }
}

/// Parts in the order of the suite. A part may have several kernels, which stand side by side.
std::vector<Part> parts_of(std::span<const std::pair<Case, CaseResult>> ran, const Device& device) {
    std::vector<Part> parts;
    const Workload* before = nullptr;
    for (const auto& [which, result] : ran) {
        if (before == nullptr || which.workload != *before) {
            parts.emplace_back().bound =
                speed_of_light(device, which.workload, which.options.how).seconds;
            parts.back().which = &which;
        }
        before = &which.workload;
        take(which, result, parts.back());
    }
    return parts;
}

}  // namespace

std::string layer_text(std::span<const std::pair<Case, CaseResult>> ran, const Device& device,
                       const TextStyle& style) {
    if (ran.empty() || !ran.front().first.suite.starts_with("layer:")) {
        return {};
    }
    const std::vector<Part> parts = parts_of(ran, device);
    const bool measured = std::ranges::any_of(parts, [](const Part& p) { return p.measured > 0; });
    Part sum;
    bool all_measured = measured;
    std::size_t missing_parts = 0;
    for (const Part& part : parts) {
        sum.bound += part.predicted > 0 ? part.bound : 0;
        sum.predicted += part.predicted;
        sum.expected += part.expected;
        sum.launches += part.launches;
        sum.measured += part.measured;
        all_measured = all_measured && part.measured > 0;
        missing_parts += part.predicted > 0 ? 0 : 1;
    }
    TextTable table(std::string("part | kernel | >bound | >expected | >model | >share") +
                    (measured ? " | >measured" : ""));
    const auto add = [&](std::string name, std::string_view kernel, const Part& part) {
        std::vector<std::string> cells{std::move(name),
                                       std::string(kernel),
                                       format_seconds(part.bound),
                                       part.predicted > 0 ? format_seconds(part.expected) : "",
                                       part.predicted > 0 ? format_seconds(part.predicted) : "",
                                       part.predicted > 0 && missing_parts == 0
                                           ? format_percent(part.expected / sum.expected)
                                           : ""};
        if (measured) {
            cells.push_back(part.measured > 0 ? format_seconds(part.measured) : "");
        }
        table.add(std::move(cells));
    };
    std::vector<std::string> missing;
    double bounds_of_missing = 0;
    for (const Part& part : parts) {
        const std::string name = part.which->workload.is_attention()
                                     ? "attention"
                                     : name_of_operation(part.which->workload);
        if (part.predicted == 0) {
            if (std::ranges::find(missing, name) == missing.end()) {
                missing.push_back(name);
            }
            bounds_of_missing += part.bound;
        }
        add(name, part.predicted > 0 ? part.which->kernel->name : "none", part);
    }
    add(missing_parts == 0 ? "the layer" : "parts with a kernel", "", sum);
    std::string text = table.str(style);
    const bool without_floor = std::ranges::any_of(parts, [&](const Part& part) {
        return part.predicted > 0 && lacks_launch_floor(device, part.predicted);
    });
    text += paragraph(
        fmt::format("{} parts{}{}", parts.size(),
                    missing.empty() ? ", shares of the expected time" : "",
                    without_floor ? ""
                                  : fmt::format("; {} of the model's are gaps between launches",
                                                format_seconds(sum.launches))),
        style);
    if (!missing.empty()) {
        text += paragraph(fmt::format("this is not the whole layer: no kernel here runs {} ({}), "
                                      "which take {} or more by their bounds",
                                      counted_text(missing_parts, "part"), fmt::join(missing, ", "),
                                      format_seconds(bounds_of_missing)),
                          style);
    }
    if (without_floor) {
        text += paragraph(fmt::format("the sum is too low: {}", launch_floor_unknown), style);
    }
    if (all_measured && missing.empty()) {
        text += fmt::format("the model's time over the measured: {:.3f}\n",
                            sum.predicted / sum.measured);
    } else if (measured) {
        text += "parts without a measured time are missing in the measured sum\n";
    }
    return text;
}

}  // namespace raceline
