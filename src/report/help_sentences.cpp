// SPDX-License-Identifier: Apache-2.0
#include "report/help_sentences.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "model/limiter_share.hpp"
#include "report/answer_text.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

// What is waited for instead of a resource.
std::string waiting_sentence(const ProblemAnswer& answer) {
    const std::string& limiter = answer.explained.prediction.limiter;
    const LaunchFill& fill = answer.helps.fill;
    if (limiter == "launch") {
        return "Launching limits it: fewer launches would help, or more work in each.";
    }
    const std::int64_t units = fill.a_unit > 0 ? fill.at_once / fill.a_unit : 0;
    if (limiter == "tail" && fill.ctas < units) {
        return fmt::format("Its grid limits it: {} {} {} of {} units without one.",
                           counted_text(static_cast<std::size_t>(fill.ctas), "CTA"),
                           fill.ctas == 1 ? "leaves" : "leave", units - fill.ctas, units);
    }
    if (limiter == "tail" && fill.imbalance > 1.1) {
        return fmt::format(
            "Its tile limits it: the heaviest of {} CTAs has {} times the mean work, and the "
            "others "
            "end before it.",
            fill.ctas, format_number(fill.imbalance));
    }
    if (limiter == "tail") {
        return fmt::format(
            "Its tile limits it: {} CTAs on a device that holds {} at once are {} waves.",
            fill.ctas, fill.at_once, format_number(fill.waves()));
    }
    if (limiter == "latency") {
        return fmt::format(
            "Latency limits it: no resource is busy for {} of the time behind the launch. Steps of "
            "a CTA wait for one another, and {} does not hide that.",
            format_percent(limiter_share),
            fill.a_unit == 1 ? std::string("one CTA a unit")
                             : fmt::format("having {} a unit", fill.a_unit));
    }
    return "";
}

// A grid that leaves much of the device empty.
std::string empty_sentence(const LaunchFill& fill) {
    constexpr double nearly_full = 0.75;
    return fill.ctas == 0 || fill.waves() >= nearly_full
               ? ""
               : fmt::format(
                     "Its {} of the {} CTAs that the device holds at once: more of them would "
                     "help.",
                     fill.ctas == 1
                         ? std::string("one CTA is one")
                         : fmt::format("{} CTAs are {}", fill.ctas, format_percent(fill.waves())),
                     fill.at_once);
}

std::string gain_text(double saved) {
    return saved < least_share ? "no time" : format_percent(saved) + " of the time";
}

// A term that was hidden so far has no bar: it says what it is.
std::string instead_text(const RateGain& gain, const ProblemAnswer& answer) {
    constexpr double the_same = 0.995, ghz = 1e-9;
    const double clock = answer.explained.prediction.sm_clock_hz;
    if (clock > 0 && gain.clock_hz < the_same * clock) {
        return fmt::format(": the board's power then allows {:.2f} GHz, not {:.2f}",
                           gain.clock_hz * ghz, clock * ghz);
    }
    if (gain.in_place.empty()) {
        return "";
    }
    const auto has_bar = [&](const std::vector<TimeTerm>& terms) {
        const auto found = std::ranges::find(terms, gain.in_place, &TimeTerm::name);
        return found != terms.end() && found->share >= least_share;
    };
    const std::string meaning = term_meaning(gain.in_place);
    return has_bar(answer.terms) || has_bar(answer.beside) || meaning.empty()
               ? fmt::format(": {} takes its place", gain.in_place)
               : fmt::format(": {} ({}, hidden until then) takes its place", gain.in_place,
                             meaning);
}

}  // namespace

std::vector<std::string> help_sentences(const ProblemAnswer& answer) {
    const Prediction& p = answer.explained.prediction;
    const WhatHelps& helps = answer.helps;
    std::vector<std::string> sentences;
    if (p.seconds <= 0) {
        return sentences;  // of nothing there is no share
    }
    const std::string empty =
        answer.bound.arithmetic_intensity > 0 ? empty_sentence(helps.fill) : "";
    for (const std::string& waiting : {waiting_sentence(answer), empty}) {
        if (!waiting.empty()) {
            sentences.push_back(waiting);
        }
    }
    const auto limiting = std::ranges::find(helps.rates, p.limiter, &RateGain::resource);
    const RateGain* gain = limiting != helps.rates.end() ? &*limiting
                           : helps.rates.empty()         ? nullptr
                                                         : &helps.rates.front();
    if (gain != nullptr && gain->resource != p.limiter && gain->saved < least_share) {
        sentences.emplace_back("No rate that is 10 % higher saves time by itself.");
    } else if (gain != nullptr) {
        sentences.push_back(fmt::format("A 10 % higher rate of {} saves {}{}.", gain->resource,
                                        gain_text(gain->saved), instead_text(*gain, answer)));
    }
    if (gain != nullptr) {
        sentences.push_back(fmt::format("All rates and the clock 10 % higher save {}.",
                                        gain_text(helps.saved_by_all)));
    }
    if (p.limiter == "launch") {
        sentences.push_back(fmt::format("Launches that cost 10 % less save {}.",
                                        gain_text(helps.saved_by_launches)));
    }
    if (helps.graph_seconds > 0 && helps.graph_seconds < p.seconds * (1 - least_share)) {
        sentences.push_back(fmt::format("Launched by a graph it takes {} by the model, not {}.",
                                        format_seconds(helps.graph_seconds),
                                        format_seconds(p.seconds)));
    }
    const double expected = p.calibrated.left_out ? p.seconds : p.expected_seconds;
    if (answer.bound.seconds > 0) {
        sentences.push_back(
            expected > answer.bound.seconds
                ? fmt::format("A kernel at the bound of the problem would be {} times as fast.",
                              format_number(expected / answer.bound.seconds))
                : std::string("It is expected at the bound of the problem: nothing is left."));
    }
    return sentences;
}

}  // namespace raceline
