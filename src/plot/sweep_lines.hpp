// SPDX-License-Identifier: Apache-2.0
// Cases that differ in one field alone, as lines over it, and which lines a picture begins with.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/timed_rows.hpp"

namespace raceline {

/// `way`: of launching, and the regime. Times of two programs, or of two ways to run one, are no
/// line.
struct SweepKey {
    std::string device, kernel, tile, rest, commit, way;
    auto operator<=>(const SweepKey&) const = default;
};
/// Cases by the field's value, of each the one measured last.
using SweepLine = std::map<double, const TimedCase*>;
using SweepLines = std::map<SweepKey, SweepLine>;

/// As many lines of a panel as can be told apart.
inline constexpr std::size_t most_lines = 12;

/// What a field is called in a picture.
std::string_view words_for(std::string_view field);

/// Lines of at least three values.
SweepLines lines_over(const TimedRows& rows, std::string_view field);

/// The field that was asked for, in its own spelling; "": the one over which most cases line up.
/// Throws Error(invalid_argument) for one that no workload has.
std::string field_of(const TimedRows& rows, const std::string& wanted);

/// Further fields, as many as three, each over which most cases of those kernels of the API line up
/// that have no line over the fields before.
std::vector<std::string> further_fields(const TimedRows& rows, const std::string& first);

/// Kernels of the API, as "decode_sm90", that have lines over other fields than these, with one of
/// them.
std::map<std::string, std::string> kernels_elsewhere(const TimedRows& rows,
                                                     const std::vector<std::string>& fields);

/// Why there is no line over a field.
std::string nothing_over(const TimedRows& rows, const std::string& asked);

/// What a picture of more than most_lines begins with: of each kernel and case the newest line, the
/// kernels of the API in turn before all others, of each first the cases that no other kernel is
/// faster on.
SweepLines most_useful_lines(const SweepLines& all);

/// All lines in pieces of at most most_lines: those of a kernel together, as far as they fit.
std::vector<SweepLines> pieces_of(const SweepLines& all);

}  // namespace raceline
