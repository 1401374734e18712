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

/// A table over powers of two from the first size on and the last one: the bound of the problem and
/// what the API would run, or the named kernel in its best tile. Under it the sizes between which
/// the bound's limiter changes. `shape` has all fields but the one that varies; of an n whose rows
/// or width vary, the other one counts. Throws Error(invalid_argument) with the sizes that there
/// are, Error(unsupported) if the named kernel serves none of the sizes.
std::string size_sweep_text(const std::string& shape, DType dtype, const SizeRange& range,
                            const Device& device, const LaunchCase& how,
                            const TextStyle& style = {}, std::string_view kernel = {});

}  // namespace raceline
