// SPDX-License-Identifier: Apache-2.0
// What a forward kernel reads again of K and V: host code of counts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string_view>

#include "model/constant.hpp"
#include "model/counts.hpp"
#include "schedule/plan.hpp"
#include "workload/band.hpp"

namespace raceline::schedule {

/// K and V on their way to the CTAs of a launch, in bytes.
struct KeyTraffic {
    double once;       ///< that are read at least once
    double all;        ///< that are asked for: once a work tile
    double row_bytes;  ///< of a key and its value
    double in_stages;  ///< of a CTA, in shared memory
};

/// KV heads that are in work at a time, if the order takes heads in groups.
template <class Order>
double heads_kv_of(const Order& order, const Workload& w) {
    return std::max(1.0,
                    static_cast<double>(order.heads_per_group) / static_cast<double>(w.group()));
}

// The ceiling of DRAM is that of bulk copies of kilobytes, 4.62 TB/s on an H200. The probe's
// threads read rows of 64, 128 and 256 bytes, between which seven others lie, at 2.98, 4.38
// and 4.45 (order 0 in the log): these are the quotients.
inline constexpr std::string_view pieces_log = "receipts/h200/logs/2026-11-28-dram-pieces.tsv";
inline constexpr Constant time_of_256 = probe("rows.time_of_256_bytes", 1.04, pieces_log);
inline constexpr Constant time_of_128 = probe("rows.time_of_128_bytes", 1.055, pieces_log);
inline constexpr Constant time_of_64 = probe("rows.time_of_64_bytes", 1.55, pieces_log);

/// The rest of a row's first and last line is a neighbour's. This share of it is read again, for
/// the neighbour asks when it has left the cache. Rows of 144 to 240 bytes were measured later, and
/// predicted within 8 % (receipts/h200/2026-11-29-decode-odd-f09570c8fd1c.jsonl.gz). The probe's
/// neighbours read at the same time: its rows of 192 bytes took 1.135 times as long as whole lines.
inline constexpr Constant of_neighbours =
    calibrated("rows.neighbours_of_a_line", 1,
               "chosen with measured calls at hand, whose rows have 96 and 192 bytes", 0.4,
               "rows of 192 bytes, receipts/h200/logs/2026-11-28-dram-pieces.tsv");

/// Lines that a row of so many bytes touches, in the mean over rows side by side, over those that
/// it fills.
inline double lines_of_row(std::int64_t bytes) {
    constexpr std::int64_t line = 128;
    const std::int64_t rows = line / std::gcd(line, bytes);
    std::int64_t lines = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        lines += divide_up((row + 1) * bytes, line) - row * bytes / line;
    }
    return static_cast<double>(lines * line) / static_cast<double>(rows * bytes);
}

/// Time of the keys or of the values, of so many columns a head, over that of the same bytes at
/// DRAM's ceiling, where a CTA reads the rows of `heads` KV heads that stand side by side.
inline double time_of_rows(const Workload& w, std::int64_t columns, std::int64_t heads) {
    const auto bytes = std::llround(static_cast<double>(columns * heads) * bytes_of(w.kv_dtype));
    if (bytes <= 0 || heads >= w.heads_kv) {
        return time_of_256;  // nothing lies between
    }
    return bytes <= 64    ? time_of_64
           : bytes == 128 ? time_of_128
                          : time_of_256 * (1 + of_neighbours * (lines_of_row(bytes) - 1));
}

/// Not more bytes, but the time of more: they take DRAM's time, and no cache helps.
inline void add_time_of_rows(Counts& c, const Workload& w, std::int64_t heads) {
    const auto keys = static_cast<double>(w.headdim), values = static_cast<double>(w.headdim_v);
    const double times = keys + values > 0 ? (keys * time_of_rows(w, w.headdim, heads) +
                                              values * time_of_rows(w, w.headdim_v, heads)) /
                                                 (keys + values)
                                           : 1;
    c.reread.push_back({w.bytes_kv() * (times - 1), std::numeric_limits<double>::infinity()});
}

/// CTAs that work on one head walk its keys at the same time and share each pass; passes of
/// different times share what the L2 keeps of the heads in work.
inline void add_rereads(Counts& c, const Workload& w, double heads_kv, double ctas,
                        const KeyTraffic& t) {
    const double sharing = std::max(1.0, ctas / heads_kv);
    const double passes = std::max(t.once, t.all / sharing);
    c.reread.push_back({passes - t.once, heads_kv * static_cast<double>(w.seqlen_k) * t.row_bytes});
    c.reread.push_back({std::max(0.0, t.all - passes), t.in_stages * ctas});
    add_time_of_rows(c, w, 1);
}

}  // namespace raceline::schedule
