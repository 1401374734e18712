// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace raceline {

/// The bytes in the gzip format, in base64: what a page decodes with atob and DecompressionStream.
/// The same bytes always give the same text.
std::string compressed(std::string_view bytes);

}  // namespace raceline
