// SPDX-License-Identifier: Apache-2.0
#include "report/point_table.hpp"

#include "model/work_point.hpp"
#include "report/case_columns.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

std::string intensity_text(double value) {
    return value > 0 ? format_number(value) : "";
}

}  // namespace

double saved_by_tenth(const PointVerdict& verdict) {
    return 1 - 1 / verdict.gain_of_tenth;
}

std::string point_table(std::span<const JudgedPoint> points, const TextStyle& style) {
    TextTable table({text_column("point"), limiter_column(TextTable::always),
                     number_column("FLOP/B", 2), number_column("ridge", 3), number_column("bound"),
                     number_column("measured"), number_column("of roof"),
                     text_column("standing", 5), number_column("a tenth saves", 4),
                     text_column("rate", 1)});
    for (const JudgedPoint& point : points) {
        const PointVerdict& v = point.verdict;
        table.add({point.name, v.limiter, intensity_text(v.intensity), intensity_text(v.ridge),
                   format_seconds(v.bound_seconds),
                   point.seconds > 0 ? format_seconds(point.seconds) : "",
                   v.of_roof > 0 ? format_percent(v.of_roof) : "", std::string(standing_of(v)),
                   format_percent(saved_by_tenth(v), 1), v.rates});
    }
    return table.str(style);
}

}  // namespace raceline
