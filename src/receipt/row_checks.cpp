// SPDX-License-Identifier: Apache-2.0
#include "receipt/row_checks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "receipt/rows.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

using Sentences = std::vector<std::string>;

// Ratios are written to the last digit; this is what a division done in another order may differ.
constexpr double rounding = 1e-9;
// The clock moves while it is read: the probes themselves accept this much.
constexpr double ceiling_tolerance = 1.03;

// `side` is where the verdict stands: "correctness" or "peer.correctness". Another library's is
// kept as it was given and may lack a bound; what has one is held to it.
void check_verdict_of(const Json& row, const Json& verdict, std::string_view side,
                      Sentences& found) {
    constexpr std::array<std::array<const char*, 2>, 3> pairs{
        {{"relative_rms", "bound"}, {"worst", "bound_worst"}, {"aligned", "bound_aligned"}}};
    if (!verdict.at("passed").get<bool>()) {
        return;
    }
    // A workload without query rows has none to look at.
    const bool has_rows = row.at("workload").value("seqlen_q", 1) > 0;
    if (const auto cases = verdict.find("cases");
        has_rows && cases != verdict.end() && cases->is_number() && !(cases->get<double>() > 0)) {
        found.push_back(
            fmt::format("{}.passed is true of {} rows: a gate that looked at nothing "
                        "passes nothing",
                        side, cases->dump()));
    }
    for (const auto& [error, bound] : pairs) {
        const auto is = verdict.find(error);
        const auto may_be = verdict.find(bound);
        if (is == verdict.end() || may_be == verdict.end()) {
            continue;
        }
        if (!is->is_number() || !may_be->is_number()) {
            found.push_back(
                fmt::format("{}.passed is true, but {} is {} and {} is {}: what passed "
                            "has two numbers",
                            side, error, is->dump(), bound, may_be->dump()));
        } else if (!(is->get<double>() <= may_be->get<double>())) {
            found.push_back(fmt::format("{}.passed is true, but {} is {}, over {}, which is {}",
                                        side, error, is->dump(), bound, may_be->dump()));
        }
    }
}

void check_interval(const Measurement& m, std::string_view side, Sentences& found) {
    const bool ordered = m.seconds_low > 0 && m.seconds_low <= m.seconds_median &&
                         m.seconds_median <= m.seconds_high && std::isfinite(m.seconds_high);
    if (!ordered) {
        found.push_back(fmt::format(
            "{}: the interval from {} to {} s must be above 0 and hold its median of {} s", side,
            m.seconds_low, m.seconds_high, m.seconds_median));
    }
}

// A narrow interval of a few samples that were left, or that all were disturbed, is unsettled
// too; a wide one is never settled.
void check_unsettled(const Measurement& m, std::string_view side, Sentences& found) {
    constexpr int fewest = 3;
    if (is_wide(m) && !m.unsettled) {
        found.push_back(
            fmt::format("{}.unsettled is false, but its interval from {} to {} s is wider than "
                        "a tenth of its median of {} s",
                        side, m.seconds_low, m.seconds_high, m.seconds_median));
    } else if (!is_wide(m) && m.unsettled && m.samples - m.disturbed >= fewest) {
        found.push_back(
            fmt::format("{}.unsettled is true, but its interval from {} to {} s is within a "
                        "tenth of its median of {} s, and {} samples count",
                        side, m.seconds_low, m.seconds_high, m.seconds_median, m.samples));
    }
}

void check_samples(const Measurement& m, std::string_view side, Sentences& found) {
    if (m.samples < 1) {
        found.push_back(
            fmt::format("{}: {} samples: a time is the median of one or more", side, m.samples));
    }
}

void check_time(const Measurement& m, std::string_view side, Sentences& found) {
    check_samples(m, side, found);
    check_interval(m, side, found);
    check_unsettled(m, side, found);
}

// The interval is the widest that those of the two times allow (docs/compare.md).
void check_ratio(const ComparisonRow& row, Sentences& found) {
    const Measurement& ours = row.measurement;
    const Measurement& theirs = row.peer.measurement;
    struct Quotient {
        const char *member, *of;
        double written, peer, own;
    };
    const std::array<Quotient, 3> all{{{"ratio", "peer.seconds_median / measurement.seconds_median",
                                        row.ratio, theirs.seconds_median, ours.seconds_median},
                                       {"ratio_low", "peer.seconds_low / measurement.seconds_high",
                                        row.ratio_low, theirs.seconds_low, ours.seconds_high},
                                       {"ratio_high", "peer.seconds_high / measurement.seconds_low",
                                        row.ratio_high, theirs.seconds_high, ours.seconds_low}}};
    for (const Quotient& one : all) {
        const double quotient = one.peer / one.own;
        if (!(std::abs(one.written - quotient) <= rounding * quotient)) {
            found.push_back(
                fmt::format("{} is {}, but {} is {}", one.member, one.written, one.of, quotient));
        }
    }
}

void check_comparison(const Json& row, Sentences& found) {
    const auto compared = row_from_json<ComparisonRow>(row);
    check_time(compared.measurement, "measurement", found);
    check_time(compared.peer.measurement, "peer", found);
    check_ratio(compared, found);
    if (!compared.correctness) {
        found.emplace_back(
            "member \"correctness\" is missing: a time beside a peer's needs the verdict on our "
            "answer");
    } else if (!compared.correctness->passed) {
        found.emplace_back(
            "correctness.passed is false: a wrong answer has no time to compare; its row is a "
            "check");
    } else if (const Json& errors = compared.correctness->more;
               !errors.contains("relative_rms") || !errors.contains("bound")) {
        found.emplace_back(
            "correctness has no relative_rms and bound: that ours passed must be shown");
    }
    if (!compared.peer.correctness.passed) {
        found.emplace_back(
            "peer.correctness.passed is false: a wrong answer has no time to compare; its row is a "
            "refusal");
    }
    check_verdict_of(row, row.at("peer").at("correctness"), "peer.correctness", found);
}

void check_limit(const Ceiling& ceiling, Sentences& found) {
    if (ceiling.limit > 0 && ceiling.value > ceiling_tolerance * ceiling.limit) {
        found.push_back(fmt::format(
            "ceiling.value of {} is {} {}, more than 3 % above its arithmetic limit of {}",
            ceiling.resource, ceiling.value, ceiling.unit, ceiling.limit));
    }
}

// A row names operation and pass twice; a workload of attention's forward pass does not.
void check_operation(const Json& row, Sentences& found) {
    const RowCase usual;
    const Json& workload = row.at("workload");
    for (const auto& [member, meant] : {std::pair("op", usual.op), std::pair("pass", usual.pass)}) {
        const Json of_row = row.value(member, Json(meant));
        const Json of_workload = workload.value(member, Json(meant));
        if (of_row != of_workload) {
            found.push_back(fmt::format("{} is {}, but its workload's is {}", member, of_row.dump(),
                                        of_workload.dump()));
        }
    }
}

}  // namespace

std::vector<std::string> contradictions_of_row(const Json& row) {
    Sentences found;
    const auto& kind = row.at("kind").get_ref<const std::string&>();
    if (const auto verdict = row.find("correctness"); verdict != row.end()) {
        check_verdict_of(row, *verdict, "correctness", found);
    }
    if (row.contains("workload") && row.contains("case")) {
        check_operation(row, found);
    }
    if (kind == MeasurementRow::kind) {
        if (const auto measured = row_from_json<MeasurementRow>(row).measurement) {
            check_time(*measured, "measurement", found);
        }
    } else if (kind == ComparisonRow::kind) {
        check_comparison(row, found);
    } else if (kind == CeilingRow::kind) {
        check_limit(row_from_json<CeilingRow>(row).ceiling, found);
    }
    return found;
}

}  // namespace raceline
