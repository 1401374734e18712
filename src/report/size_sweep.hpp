// SPDX-License-Identifier: Apache-2.0
// One problem over a range of one of its sizes: where its limiter changes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "device/device.hpp"
#include "raceline/dtype.hpp"
#include "receipt/values.hpp"
#include "support/text_style.hpp"

namespace raceline {

/// "m=1:4096": a field of the shape grammar, and where it begins and ends.
struct SizeRange {
    std::string field;
    std::int64_t first = 0, last = 0;
};
/// Throws Error(invalid_argument) if the text is no range of whole numbers, 1 or more.
SizeRange parse_size_range(std::string_view text);

/// A table over powers of two from the first size on and the last one: the bound of the problem and
/// what the API would run, or the named kernel in its best tile. Under it the sizes between which
/// the bound's limiter changes. `shape` has all fields but the one that varies. Throws
/// Error(unsupported) if the named kernel serves none of the sizes.
std::string size_sweep_text(const std::string& shape, DType dtype, const SizeRange& range,
                            const Device& device, const LaunchCase& how,
                            const TextStyle& style = {}, std::string_view kernel = {});

}  // namespace raceline
