// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace raceline {

/// SHA-256 (FIPS 180-4) of the bytes, as 64 lower-case hex digits. Computed by libmd.
std::string sha256_hex(std::string_view bytes);

}  // namespace raceline
