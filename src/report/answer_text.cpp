// SPDX-License-Identifier: Apache-2.0
#include "report/answer_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "report/case_columns.hpp"
#include "report/help_sentences.hpp"
#include "run/call_caveats.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

std::string titled(std::string_view title, std::string_view rest, const TextStyle& style) {
    return "\n" + inked(title, Ink::heading, style) + std::string(rest) + "\n";
}

// "name       what is said of it", broken behind the name.
std::string named_line(std::string_view name, const std::string& text, Ink ink,
                       const TextStyle& style) {
    constexpr std::size_t column = 10;
    const std::size_t room = style.columns > 2 * column ? style.columns - column : 0;
    if (text.empty()) {
        return "";
    }
    std::string lines;
    for (const std::string& line : broken_lines(text, room)) {
        lines +=
            fmt::format("{:<{}}{}\n", lines.empty() ? name : "", column, inked(line, ink, style));
    }
    return lines;
}

std::string expected_text(const Prediction& p) {
    if (p.calibrated.left_out) {
        return format_seconds(p.seconds) + " by the uncalibrated model";
    }
    const std::string band = p.band
                                 ? fmt::format(", between {} and {}", format_seconds(p.band->low),
                                               format_seconds(p.band->high))
                                 : ", no band: too few errors of this kernel are known here";
    return format_seconds(p.expected_seconds) + band;
}

// What a reader must know before he takes the time for one.
std::string caveats_text(const ProblemAnswer& answer, const TextStyle& style) {
    std::string text;
    const auto add = [&](const std::string& caveat) {
        text += named_line("but", caveat + ".", Ink::heading, style);
    };
    if (!answer.made_for_others.empty()) {
        add(answer.made_for_others + ". What the device can do is the bound below, not this time");
    }
    if (answer.others_refuse) {
        add("it is far from the bound: the kernels with a matrix engine do not take this problem; "
            "-v says why");
    }
    if (!answer.too_large.empty()) {
        add("a call would be refused: " + answer.too_large);
    }
    if (!answer.not_compiled.empty()) {
        add(answer.not_compiled);
    }
    if (answer.without_floor) {
        add(launch_floor_unknown);
    }
    return text;
}

// What the rates are, and of those that another device's share scales how far: "datasheet x h200:
// byte.l2 0.89, flop.mma.bf16 0.96".
std::string rates_text(const std::map<std::string, std::string>& rates) {
    std::vector<std::string> scaled;
    constexpr std::string_view begin = "datasheet x ";
    for (const auto& [resource, origin] : rates) {
        const std::size_t of = origin.find(" of ");
        if (origin.starts_with(begin) && of != std::string::npos) {
            scaled.push_back(resource + ' ' + origin.substr(begin.size(), of - begin.size()));
        }
    }
    const std::string kinds = origins_text(rates);
    return scaled.empty() ? kinds : fmt::format("{}: {}", kinds, fmt::join(scaled, ", "));
}

// The clock is a result: what the board keeps under this kernel. Of a CPU it is the stated one.
std::string clock_text(const Prediction& p, const Device& device) {
    const double ghz = 1e-9;
    const std::string clock = fmt::format("{:.2f} GHz", p.sm_clock_hz * ghz);
    constexpr double the_same = 0.995;
    if (p.sm_clock_hz >= the_same * device.clock_hz) {
        return clock + ", the highest stated";
    }
    const std::string of = fmt::format("{}, of {:.2f} at most", clock, device.clock_hz * ghz);
    return device.power.limit_w > 0 ? fmt::format("{}, in {:.0f} W", of, device.power.limit_w) : of;
}

// The problem and the device, as the first line of an answer.
std::string first_line(const ProblemAnswer& answer, const Device& device, const TextStyle& style) {
    const std::string where = " on " + device.name;
    return inked(heading_shape(format_shape(answer.which.workload), style, text_width(where)),
                 Ink::heading, style) +
           where + "\n\n";
}

std::string head_of(const ProblemAnswer& answer, const Device& device, const TextStyle& style) {
    const Case& which = answer.which;
    const Prediction& p = answer.explained.prediction;
    const std::string_view who = answer.by_api ? ", which the API runs" : ", as asked for";
    return first_line(answer, device, style) +
           named_line("kernel", std::string(which.kernel->name) + std::string(who), Ink::plain,
                      style) +
           named_line(p.calibrated.left_out ? "model" : "expected", expected_text(p), Ink::heading,
                      style) +
           caveats_text(answer, style) + named_line("limiter", p.limiter, Ink::limiter, style) +
           named_line("tile", which.kernel->tile_text(which.tile), Ink::hint, style) +
           named_line("rates", rates_text(answer.explained.rates), Ink::hint, style) +
           (device.kind == DeviceKind::cpu || p.sm_clock_hz <= 0
                ? ""
                : named_line("clock", clock_text(p, device), Ink::hint, style));
}

// Of a call without work, where a launch counts as nothing, too.
std::string head_of_empty(const ProblemAnswer& answer, const Device& device,
                          const TextStyle& style) {
    return first_line(answer, device, style) +
           paragraph(fmt::format("No time is predicted: {} has nothing to compute, and no launch "
                                 "floor of this device is known.",
                                 answer.which.kernel->name),
                     style);
}

// A bar of eighths of a character.
std::string bar(double share, std::size_t width) {
    constexpr std::array<std::string_view, 8> part{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const double most = static_cast<double>(8 * width);
    const auto eighths =
        static_cast<std::size_t>(std::clamp(std::round(share * most), share > 0 ? 1.0 : 0.0, most));
    std::string text;
    for (std::size_t i = 0; i < eighths / 8; ++i) {
        text += "█";
    }
    return text + std::string(part.at(eighths % 8));
}

std::string faint_bar(double share, std::size_t width) {
    std::string text;
    const double cells =
        std::clamp(std::round(share * static_cast<double>(width)), 1.0, static_cast<double>(width));
    for (double i = 0; i < cells; ++i) {
        text += "░";
    }
    return text;
}

std::string filled_up(std::string text, std::size_t width) {
    text.append(width - std::min(width, text_width(text)), ' ');
    return text;
}

// How wide the parts of a line of terms are.
struct BarLayout {
    std::size_t name = 0, bar = 0;
    bool meaning = false;  // whether there is room for it
};

BarLayout bar_layout(const ProblemAnswer& answer, const TextStyle& style) {
    constexpr std::size_t figures = 2 + 8 + 2 + 5;  // time and percent, with what is before them
    constexpr std::size_t most_bar = 40, least_bar = 12;
    BarLayout layout;
    std::size_t meaning = 0;
    for (const auto* terms : {&answer.terms, &answer.beside}) {
        for (const TimeTerm& term : *terms) {
            layout.name = std::max(layout.name, text_width(term.name));
            meaning = std::max(meaning, 2 + text_width(term_meaning(term.name)));
        }
    }
    const std::size_t fixed = 2 + layout.name + 2 + figures;
    const std::size_t room =
        style.columns == 0 ? most_bar + meaning : style.columns - std::min(style.columns, fixed);
    layout.meaning = room >= least_bar + meaning;
    layout.bar = std::clamp(layout.meaning ? room - meaning : room, least_bar, most_bar);
    return layout;
}

std::string term_line(const TimeTerm& term, const BarLayout& layout, bool beside, bool limits,
                      const TextStyle& style) {
    const std::string drawn = filled_up(
        beside ? faint_bar(term.share, layout.bar) : bar(term.share, layout.bar), layout.bar);
    const std::string meaning = layout.meaning ? "  " + term_meaning(term.name) : "";
    const Ink ink = limits ? Ink::limiter : beside ? Ink::hint : Ink::plain;
    std::string line = fmt::format("  {}  {}  {:>{}}  {:>5}{}",
                                   inked(filled_up(term.name, layout.name), ink, style),
                                   inked(drawn, ink, style), format_seconds(term.seconds), 8,
                                   format_percent(term.share), inked(meaning, Ink::hint, style));
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

std::string terms_text(const ProblemAnswer& answer, const TextStyle& style) {
    const Prediction& p = answer.explained.prediction;
    const BarLayout layout = bar_layout(answer, style);
    std::string text = titled(
        "Why", fmt::format(": the model's {}, part by part", format_seconds(p.seconds)), style);
    const auto put = [&](const std::vector<TimeTerm>& terms, bool beside) {
        TimeTerm rest{.name = "rest", .seconds = 0, .share = 0};
        for (const TimeTerm& term : terms) {
            if (term.share >= least_share) {
                text += term_line(term, layout, beside, term.name == p.limiter, style);
            } else {
                rest.seconds += term.seconds;
                rest.share += term.share;
            }
        }
        // What lies beside others sums to nothing, and what is left of a difference is none.
        constexpr double rounding = 1e-9;
        text +=
            !beside && rest.share > rounding ? term_line(rest, layout, false, false, style) : "";
    };
    put(answer.terms, false);
    const bool any_beside = std::ranges::any_of(
        answer.beside, [](const TimeTerm& term) { return term.share >= least_share; });
    text += any_beside ? "  and at the same time, beside what stands above:\n" : "";
    put(answer.beside, true);
    return text;
}

// A heading with a sentence behind it, in lines of the terminal's width.
std::string titled_sentence(std::string_view title, const std::string& sentence,
                            const TextStyle& style) {
    const std::string lines = paragraph(std::string(title) + sentence, style);
    return "\n" + inked(title, Ink::heading, style) + lines.substr(title.size());
}

std::string bound_text(const SpeedOfLight& bound, const Workload& workload) {
    if (bound.seconds <= 0 && bound.limiter == "launch") {
        return ": none, there is nothing to compute";
    }
    if (bound.seconds <= 0) {
        return ": not known, no rate of this device is";
    }
    std::string aside;
    if (bound.arithmetic_intensity > 0 && bound.ridge > 0) {
        aside = fmt::format("{} FLOP/B, ridge at {}; ", format_number(bound.arithmetic_intensity),
                            format_number(bound.ridge));
    }
    return fmt::format(": {} by {} ({}{} read, {} written)", format_seconds(bound.seconds),
                       bound.limiter, aside, format_si(workload.bytes_read(), "B"),
                       format_si(workload.bytes_written(), "B"));
}

std::string bound_sentence(const ProblemAnswer& answer, const TextStyle& style) {
    return titled_sentence("Bound of the problem", bound_text(answer.bound, answer.which.workload),
                           style);
}

}  // namespace

std::string term_meaning(std::string_view term) {
    static const std::map<std::string_view, std::string_view> meanings{
        {"launch", "floor of the launch"},
        {"launch.extra", "floors of further launches"},
        {"launch.cta", "CTAs start and drain"},
        {"tail", "idle units at the end"},
        {"rest", "all that is shorter"},
        {"latency", "waits that nothing hides"},
        {"dram", "DRAM traffic"},
        {"byte.l2", "L2 traffic"},
        {"byte.l2_link", "L2 traffic between halves"},
        {"byte.llc", "last-level cache traffic"},
        {"byte.l1", "L1 loads"},
        {"byte.smem_lsu", "shared memory loads"},
        {"byte.smem_mma", "shared memory operands"},
        {"op.ex2", "exponentials"},
        {"op.exp", "exponentials"},
        {"op.issue", "instruction slots"},
        {"op.simd", "other vector operations"},
    };
    const auto found = meanings.find(term);
    if (found != meanings.end()) {
        return std::string(found->second);
    }
    constexpr std::string_view products = "flop.";
    if (!term.starts_with(products)) {
        return "";
    }
    term.remove_prefix(products.size());
    const std::string_view engine = term.substr(0, term.find('.'));
    const std::string_view type = term.substr(std::min(engine.size() + 1, term.size()));
    return engine == "fma" ? fmt::format("multiply-adds in {}", type)
                           : fmt::format("products in {} by {}", type, engine);
}

std::string answer_text(const ProblemAnswer& answer, const Device& device, const TextStyle& style) {
    if (!answer.served()) {
        return first_line(answer, device, style) +
               paragraph("No kernel of the API serves it: " + answer.refusal, style) +
               bound_sentence(answer, style);
    }
    if (answer.explained.prediction.seconds <= 0) {
        return head_of_empty(answer, device, style) + bound_sentence(answer, style);
    }
    std::string text = head_of(answer, device, style) + terms_text(answer, style) +
                       titled("What would help", "", style);
    for (const std::string& sentence : help_sentences(answer)) {
        text += paragraph("  " + sentence, style);
    }
    return text + bound_sentence(answer, style);
}

namespace {

RateOrigins origins_of(std::span<const ProblemAnswer> answers) {
    RateOrigins origins;
    for (const ProblemAnswer& answer : answers) {
        if (answer.served()) {
            origins.add(origins_text(answer.explained.rates),
                        std::string(answer.which.kernel->name));
        } else {
            origins.add(answer.bound.rates, "bounds");
        }
    }
    return origins;
}

}  // namespace

std::string answers_table(std::span<const ProblemAnswer> answers, const TextStyle& style) {
    const bool uncalibrated = std::ranges::any_of(answers, [](const ProblemAnswer& answer) {
        return answer.explained.prediction.calibrated.left_out;
    });
    const RateOrigins origins = origins_of(answers);
    std::vector<TextTable::Column> columns{
        shape_column("shape", 4),
        text_column("kernel"),
        limiter_column(6),
        number_column(uncalibrated ? "uncalibrated model" : "expected"),
        text_column("band", 2),
        number_column("model", 2),
        number_column("bound"),
        number_column("of bound", 5),
        limiter_column(3, "bound's limiter"),
        number_column("FLOP/B", 4),
        number_column("ridge", 4),
        text_column("tile", 1)};
    if (origins.mixed()) {  // else the line below the table says it of all rows
        columns.insert(columns.end() - 1, text_column("rates", 1));
    }
    TextTable table(columns);
    const auto add = [&](std::vector<std::string> cells, const std::string& rates) {
        if (origins.mixed()) {
            cells.insert(cells.end() - 1, rates);
        }
        table.add(std::move(cells));
    };
    const auto roofline_of = [](const SpeedOfLight& bound) {
        return std::array{
            bound.arithmetic_intensity > 0 ? format_number(bound.arithmetic_intensity) : "",
            bound.ridge > 0 ? format_number(bound.ridge) : ""};
    };
    std::map<std::string, std::size_t> refusals, elsewhere;
    std::size_t too_large = 0, without_floor = 0;
    std::set<std::string> not_compiled;
    for (const ProblemAnswer& answer : answers) {
        const std::string shape = format_shape(answer.which.workload);
        const std::string bound = time_text(answer.bound.seconds);
        if (!answer.served()) {
            ++refusals[answer.refusal];
            const auto [intensity, ridge] = roofline_of(answer.bound);
            add({shape, "none", "", "", "", "", bound, "", answer.bound.limiter, intensity, ridge,
                 ""},
                answer.bound.rates);
            continue;
        }
        const Prediction& p = answer.explained.prediction;
        if (!answer.made_for_others.empty()) {
            ++elsewhere[answer.made_for_others];
        }
        too_large += answer.too_large.empty() ? 0 : 1;
        if (!answer.not_compiled.empty()) {
            not_compiled.insert(answer.not_compiled);
        }
        without_floor += answer.without_floor ? 1 : 0;
        const auto [intensity, ridge] = roofline_of(answer.bound);
        add({shape, std::string(answer.which.kernel->name), p.limiter,
             time_text(uncalibrated ? p.seconds : p.expected_seconds),
             p.band ? format_seconds(p.band->low) + " to " + format_seconds(p.band->high) : "",
             time_text(p.seconds), bound,
             share_of_bound(answer.bound.seconds, uncalibrated ? p.seconds : p.expected_seconds),
             answer.bound.limiter, intensity, ridge,
             answer.which.kernel->tile_text(answer.which.tile)},
            origins_text(answer.explained.rates));
    }
    std::string text = table.str(style);
    const std::string rates = origins.text();
    text += rates.empty() ? "" : paragraph("rates: " + rates, style);
    for (const auto& [reason, count] : refusals) {
        text += paragraph(
            fmt::format("no kernel of the API serves {}: {}", counted_text(count, "shape"), reason),
            style);
    }
    for (const std::string& reason : not_compiled) {
        text += paragraph("of all times: " + reason, style);
    }
    if (too_large > 0) {
        text += paragraph(fmt::format("calls of {} would be refused: they need more memory than "
                                      "the device has; each alone says how much",
                                      counted_text(too_large, "shape")),
                          style);
    }
    if (without_floor > 0) {
        text += paragraph(fmt::format("of {}: {}", counted_text(without_floor, "short call"),
                                      launch_floor_unknown),
                          style);
    }
    for (const auto& [reason, count] : elsewhere) {
        text += paragraph(
            fmt::format("of {} look at the bound: {}", counted_text(count, "shape"), reason),
            style);
    }
    return text;
}

}  // namespace raceline
