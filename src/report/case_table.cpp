// SPDX-License-Identifier: Apache-2.0
#include "report/case_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "support/statistics.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using Align = TextTable::Align;

std::string rate_text(const CaseLine& line, double seconds) {
    return format_si(line.flops / seconds, "FLOP/s");
}

// Declared compulsory bytes over the measured ceiling. Over 100 % is a cache, never "good".
std::string dram_text(const CaseLine& line, double ceiling) {
    if (ceiling <= 0 || line.measured <= 0) {
        return "";
    }
    const double share = line.bytes / line.measured / ceiling;
    return share > 1 ? "cache" : fmt::format("{:.0f} %", 100 * share);
}

std::string band_text(const CaseLine& line) {
    return line.band ? format_seconds(line.band->low) + " to " + format_seconds(line.band->high)
                     : "";
}

std::string error_text(const CaseLine& line) {
    return fmt::format("{:+.0f} %", 100 * (line.predicted / line.measured - 1));
}

std::string accuracy_text(const char* regime, std::string_view sight, const PredictionAccuracy& a) {
    return fmt::format(
        "model error, {}{}: median {:.1f} %, mean {:.1f} %, p90 {:.1f} %, bias {:+.1f} %; within "
        "10 %: {:.0f} %, within 20 %: {:.0f} % of {} rows\n",
        regime, sight.empty() ? "" : fmt::format(", {}", sight), 100 * a.median_absolute,
        100 * a.mean_absolute, 100 * a.p90_absolute, 100 * a.bias, 100 * a.within_10,
        100 * a.within_20, a.count);
}

}  // namespace

CaseTable::CaseTable(const Device& device)
    : dram_read_(device.find("byte.dram_read").value_or(0)) {}

void CaseTable::add(const Case& which, const CaseResult& result) {
    CaseLine line;
    const Workload& w = which.workload;
    line.shape = format_shape(w);
    line.kernel = which.kernel->name;
    line.tile = which.kernel->tile_text(which.tile);
    line.refusal = result.refusal;
    line.flops = w.flops();
    line.bytes = w.bytes_q() + w.bytes_kv() + w.bytes_out();
    if (result.prediction) {
        line.limiter = result.prediction->limiter;
        line.intensity = result.prediction->layer1.arithmetic_intensity;
        line.bound = result.prediction->layer1.bound_seconds;
        line.predicted = result.prediction->seconds;
        line.expected = result.prediction->expected_seconds;
        line.band = result.prediction->band;
    }
    if (result.correctness) {
        line.checked = true;
        line.passed = result.correctness->passed;
        line.relative_rms = result.correctness->relative_rms;
        line.rms_bound = result.correctness->bound;
        line.worst = result.correctness->worst;
        line.why = result.correctness->why;
    }
    if (result.measurement) {
        const Measurement& m = *result.measurement;
        line.measured = m.seconds_median;
        line.spread = (m.seconds_high - m.seconds_low) / 2 / m.seconds_median;
        line.unsettled = why_unsettled(m);
    }
    add(std::move(line));
}

void CaseTable::add(CaseLine line) {
    if (!line.unsettled.empty()) {
        leave_out(fmt::format("{} on {}", line.kernel, line.shape), line.unsettled);
    }
    lines_.push_back(std::move(line));
}

void CaseTable::leave_out(std::string_view what, std::string_view why) {
    left_out_.push_back(fmt::format("{}: {}", what, why));
}

std::string CaseTable::left_out_lines() const {
    if (left_out_.empty()) {
        return "";
    }
    return fmt::format("unsettled, and left out of accuracy and ratios: {} time{}\n  {}\n",
                       left_out_.size(), left_out_.size() == 1 ? "" : "s",
                       fmt::join(left_out_, "\n  "));
}

std::string why_unsettled(const Measurement& m) {
    if (!m.unsettled || !m.disturbance.empty()) {
        return m.unsettled ? m.disturbance : "";
    }
    return fmt::format("the median's interval is {:.0f} % of it",
                       100 * (m.seconds_high - m.seconds_low) / m.seconds_median);
}

std::string CaseTable::str(Columns columns) const {
    std::vector<TextTable::Column> header{{"shape"}, {"kernel"}, {"tile"}};
    const bool predicted = columns != Columns::correctness;
    const bool checked = columns == Columns::correctness || columns == Columns::all;
    const bool measured = columns == Columns::all;
    if (predicted) {
        header.insert(header.end(),
                      {{"limiter"}, {"FLOP/B", Align::right}, {"bound", Align::right}});
    }
    if (columns == Columns::prediction) {
        header.insert(
            header.end(),
            {{"expected", Align::right}, {"band", Align::right}, {"model", Align::right}});
    } else if (columns == Columns::uncalibrated_prediction) {
        header.push_back({"uncalibrated model", Align::right});
    } else if (predicted) {
        header.push_back({"predicted", Align::right});
    }
    if (measured) {
        header.insert(header.end(), {{"measured", Align::right},
                                     {"±", Align::right},
                                     {"error", Align::right},
                                     {"rate", Align::right},
                                     {"DRAM", Align::right}});
    }
    if (checked) {
        header.insert(header.end(),
                      {{"rel. RMS", Align::right}, {"of bound", Align::right}, {"gate"}});
    }
    TextTable table(header);
    std::string failures;
    for (const CaseLine& line : lines_) {
        if (!line.refusal.empty()) {
            continue;
        }
        std::vector<std::string> cells{line.shape, line.kernel, line.tile};
        if (predicted) {
            cells.insert(
                cells.end(),
                {line.limiter, line.intensity > 0 ? fmt::format("{:.3g}", line.intensity) : "",
                 line.predicted > 0 ? format_seconds(line.bound) : ""});
        }
        const std::string model = line.predicted > 0 ? format_seconds(line.predicted) : "";
        if (columns == Columns::prediction) {
            const std::string expected =
                line.expected > 0 ? format_seconds(line.expected) : std::string();
            cells.insert(cells.end(), {expected, band_text(line), model});
        } else if (predicted) {
            cells.push_back(model);
        }
        if (measured) {
            const bool has = line.measured > 0;
            cells.insert(cells.end(),
                         {has ? format_seconds(line.measured) : "-",
                          has ? fmt::format("{:.1f} %", 100 * line.spread) : "",
                          !line.unsettled.empty()     ? "unsettled"
                          : has && line.predicted > 0 ? error_text(line)
                                                      : "",
                          has ? rate_text(line, line.measured) : "", dram_text(line, dram_read_)});
        }
        if (checked) {
            const bool finite = line.rms_bound > 0;
            cells.insert(cells.end(),
                         {fmt::format("{:.1e}", line.relative_rms),
                          finite ? fmt::format("{:.2f}", line.relative_rms / line.rms_bound) : "",
                          line.passed ? "pass" : "FAIL"});
        }
        if (line.checked && !line.passed) {
            failures +=
                fmt::format("FAIL {} {} {}: {}\n", line.kernel, line.tile, line.shape, line.why);
        }
        table.add(std::move(cells));
    }
    const bool any = std::any_of(lines_.begin(), lines_.end(),
                                 [](const CaseLine& line) { return line.refusal.empty(); });
    return (any ? table.str() : "") + failures + refusal_lines() +
           (measured ? accuracy_lines() + left_out_lines() : "");
}

std::string CaseTable::refusal_lines() const {
    std::map<std::string, std::map<std::string, int>> reasons;  // with each kernel's shapes
    for (const CaseLine& line : lines_) {
        if (!line.refusal.empty()) {
            ++reasons[line.refusal][line.kernel];
        }
    }
    std::string text;
    for (const auto& [reason, kernels] : reasons) {
        std::map<int, std::vector<std::string>> alike;
        for (const auto& [kernel, count] : kernels) {
            alike[count].push_back(kernel);
        }
        for (const auto& [count, names] : alike) {
            text += fmt::format("not run, {} shape{}: {}: {}\n", count, count == 1 ? "" : "s",
                                fmt::join(names, ", "), reason);
        }
    }
    return text;
}

std::string CaseTable::accuracy_lines() const {
    struct Regime {
        const char* name;
        double low, high;
    };
    constexpr std::array<Regime, 4> regimes{{{"all", 0, 1e300},
                                             {"under 20 µs", 0, 20e-6},
                                             {"20–100 µs", 20e-6, 100e-6},
                                             {"over 100 µs", 100e-6, 1e300}}};
    std::string text;
    for (const std::optional<Sight> sight :
         {std::optional<Sight>(), std::optional(Sight::new_kernel), std::optional(Sight::new_case),
          std::optional(Sight::seen)}) {
        for (const Regime& regime : regimes) {
            std::vector<double> predicted;
            std::vector<double> measured;
            for (const CaseLine& line : lines_) {
                const bool in = line.measured >= regime.low && line.measured < regime.high;
                if (line.unsettled.empty() && line.sight == sight && line.predicted > 0 &&
                    line.measured > 0 && in) {
                    predicted.push_back(line.predicted);
                    measured.push_back(line.measured);
                }
            }
            if (!predicted.empty()) {
                text += accuracy_text(regime.name, sight ? sight_name(*sight) : "",
                                      accuracy(predicted, measured));
            }
        }
    }
    return text;
}

}  // namespace raceline
