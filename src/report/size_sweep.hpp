// SPDX-License-Identifier: Apache-2.0
// One problem over a range of one of its sizes: where its limiter changes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "raceline/dtype.hpp"
#include "receipt/values.hpp"
#include "support/text_style.hpp"
#include "workload/operation.hpp"

namespace raceline {

/// "m=1:4096": a field of the shape grammar, or `rows` or `width` of a field n=ROWSxWIDTH, and
/// where it begins and ends.
struct SizeRange {
    std::string field;
    std::int64_t first = 0, last = 0;
};
/// Throws Error(invalid_argument) if the text is no range of whole numbers, 1 or more.
SizeRange parse_size_range(std::string_view text);

/// What of an operation can vary, beside other numbers that are no sizes: "rows" and "width", "m".
struct VariedSize {
    std::string_view name, meaning;
};
std::vector<VariedSize> varied_sizes(const OperationRecord& operation);

/// The shape with this size, as a table over it has. Throws Error(invalid_argument).
Workload problem_of_size(const std::string& shape, std::string_view field, std::int64_t size);

/// One size of a range.
struct SizedProblem {
    std::int64_t size = 0;
    SpeedOfLight bound;
    std::string kernel;   ///< what the API would run, or the named one; "": none serves the size
    std::string limiter;  ///< of the kernel
    double expected = 0;  ///< seconds
    double model = 0;     ///< the same before it is corrected by committed errors
    std::string rate;     ///< operations, or without any bytes, over the expected time
    std::string refusal;  ///< why no kernel serves it, or ""
};

/// The limiter of the bound changes behind `last`.
struct SizeCrossing {
    std::int64_t last = 0;
    std::string before, after;
    SpeedOfLight bound;  ///< of the first size behind it
};

struct SizeSweep {
    std::string shape, field, device;
    std::vector<SizedProblem> sizes;  ///< powers of two from the first on, and the last
    std::vector<SizeCrossing> crossings;
};

/// The bound of a problem over a range of sizes, and what the API would run, or the named kernel in
/// its best tile. `shape` has all fields but the one that varies; of an n whose rows or width vary,
/// the other one counts. Throws Error(invalid_argument) with the sizes that there are,
/// Error(unsupported) if the named kernel serves none of the sizes.
SizeSweep size_sweep(const std::string& shape, DType dtype, const SizeRange& range,
                     const Device& device, const LaunchCase& how, std::string_view kernel = {});

/// As a table. Under it the sizes between which the bound's limiter changes.
std::string size_sweep_text(const SizeSweep& sweep, const TextStyle& style = {});

}  // namespace raceline
