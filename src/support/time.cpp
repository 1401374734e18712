// SPDX-License-Identifier: Apache-2.0
#include "support/time.hpp"

#include <chrono>
#include <ctime>
#include <fmt/core.h>

namespace raceline {
namespace {

std::string rfc_3339(std::time_t second, std::int64_t microseconds) {
    std::tm utc{};
    gmtime_r(&second, &utc);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900,
                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                       microseconds);
}

}  // namespace

std::string utc_now() {
    using namespace std::chrono;
    const auto now = time_point_cast<microseconds>(system_clock::now());
    const auto second = floor<seconds>(now);
    return rfc_3339(system_clock::to_time_t(second), (now - second).count());
}

std::string utc_time(std::int64_t seconds) {
    return rfc_3339(static_cast<std::time_t>(seconds), 0);
}

}  // namespace raceline
