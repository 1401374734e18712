// SPDX-License-Identifier: Apache-2.0
#include "support/time.hpp"

#include <chrono>
#include <ctime>
#include <fmt/core.h>

namespace raceline {

std::string utc_now() {
    using namespace std::chrono;
    const auto now = time_point_cast<microseconds>(system_clock::now());
    const auto second = floor<seconds>(now);
    const std::time_t calendar = system_clock::to_time_t(second);
    std::tm utc{};
    gmtime_r(&calendar, &utc);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900,
                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                       (now - second).count());
}

}  // namespace raceline
