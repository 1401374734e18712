// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace raceline {

/// Now in UTC as RFC 3339 with microseconds: 2026-11-21T06:30:00.123456Z.
std::string utc_now();

/// The same of a time in seconds since 1970, as git gives the date of a commit.
std::string utc_time(std::int64_t seconds);

}  // namespace raceline
