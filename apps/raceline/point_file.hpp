// SPDX-License-Identifier: Apache-2.0
// Points of one's own in a file, as `raceline point FILE` takes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "raceline/point.hpp"

namespace raceline::cli {

struct NamedPoint {
    std::string name;
    WorkPoint work;
    std::string where = {};  ///< "points.csv: line 3"; "" of a point that no file has
};

/// CSV whose first line names its columns (name, flops, bytes, seconds, engine, memory, in any
/// order, as many as are needed), or JSON: an array of objects with these members, or an object a
/// line. Fields of CSV are separated by commas, or all by semicolons or tabs, as the first line
/// shows. What a point does not say is as in `otherwise`. Throws Error(invalid_argument) naming the
/// file, the line, the column and what would be accepted, Error(io) if the file cannot be read.
std::vector<NamedPoint> read_points(const std::string& path, const WorkPoint& otherwise);

/// The same of text in memory; `where` names it in errors.
std::vector<NamedPoint> parse_points(std::string_view text, std::string_view where,
                                     const WorkPoint& otherwise);

/// What is wrong with an amount of a point, as a clause behind its text; "" if nothing is.
/// Operations and bytes are 0 or more, seconds more than 0; beyond any machine's work and time is
/// nothing.
std::string amount_fault(std::string_view member, double value);

}  // namespace raceline::cli
