// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace raceline {

/// Now in UTC as RFC 3339 with microseconds: 2026-11-21T06:30:00.123456Z.
std::string utc_now();

}  // namespace raceline
