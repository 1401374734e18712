// SPDX-License-Identifier: Apache-2.0
// Which output rows the gate compares with float64.
#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "run/gate.hpp"
#include "support/rounding.hpp"
#include "workload/normal.hpp"

namespace raceline {
namespace {

// Multiply-adds of one verdict (each done in float64 and once more rounded): a tenth of a second
// on two cores. Long contexts get fewer rows, but never fewer than `fewest`.
constexpr double work_limit = 2e8;
constexpr std::int64_t fewest = 8;
// Errors that a bound is taken from, one a row and rounding: the RMS of 64 is known to a twelfth.
// The largest, of which the gate allows three times as much, is some two and a half standard
// deviations; of 32, one in 120 right calls had errors along a value beyond it.
constexpr std::int64_t enough = 64;
constexpr std::int64_t tile_rows = 64;

std::int64_t affordable(const Workload& w, std::int64_t at_most) {
    const double rows = static_cast<double>(std::max<std::int64_t>(1, w.tokens_q()));
    const double cost = w.visited_pairs() / rows * static_cast<double>(w.headdim + w.headdim_v) + 1;
    const double fits = std::max(static_cast<double>(fewest), work_limit / cost);
    return fits < static_cast<double>(at_most) ? static_cast<std::int64_t>(fits) : at_most;
}

/// Rows where mistakes live: both ends, and both sides of multiples of the usual tile heights,
/// the first and the last one in the sequence.
std::vector<std::int64_t> edge_rows(std::int64_t length) {
    std::vector<std::int64_t> rows{0, length - 1};
    for (std::int64_t tile = 16; tile <= 256; tile *= 2) {
        for (const std::int64_t edge : {tile, (length - 1) / tile * tile}) {
            for (const std::int64_t row : {edge - 1, edge}) {
                if (row > 0 && row < length) {
                    rows.push_back(row);
                }
            }
        }
    }
    return rows;
}

std::vector<Row> every_row(const Workload& w) {
    std::vector<Row> rows;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        for (std::int64_t head = 0; head < w.heads_q; ++head) {
            for (std::int64_t row = 0; row < w.length_q(b); ++row) {
                rows.push_back({b, row, head});
            }
        }
    }
    return rows;
}

/// A row of every head, of every sequence that has any, and of every `tile_rows` rows of one: a
/// mistake in one head or one tile must not hide between the rows of a sample.
template <class Insert>
void cover(const Workload& w, std::uint64_t key, const Insert& insert) {
    std::int64_t head = 0;
    std::uint64_t counter = 0;
    const auto add = [&](std::int64_t b, std::int64_t first, std::int64_t count) {
        const auto row = random_below(key, counter++, static_cast<std::uint64_t>(count));
        insert(Row{b, first + static_cast<std::int64_t>(row), head++ % w.heads_q});
    };
    for (std::int64_t b = 0; b < w.batch; ++b) {
        const std::int64_t length = w.length_q(b);
        for (std::int64_t first = 0; first < length; first += tile_rows) {
            add(b, first, std::min(tile_rows, length - first));
        }
    }
    for (std::int64_t b = 0; head < w.heads_q && w.tokens_q() > 0; b = (b + 1) % w.batch) {
        if (w.length_q(b) > 0) {
            add(b, 0, w.length_q(b));
        }
    }
}

}  // namespace

bool before(const Row& a, const Row& b) {
    return std::tie(a.sequence, a.head, a.row) < std::tie(b.sequence, b.head, b.row);
}

std::vector<Row> sample_rows(const Workload& w, std::uint64_t seed, std::int64_t at_most) {
    const std::int64_t limit = affordable(w, at_most);
    if (w.tokens_q() * w.heads_q <= limit) {
        return every_row(w);
    }
    std::set<Row, decltype(&before)> chosen(&before);
    const std::uint64_t key = stream_key(seed, 0x67617465);
    const std::int64_t pairs = w.batch * w.heads_q;
    // Walks all (sequence, head) pairs in a seeded order: a stride coprime to their number.
    const auto start = static_cast<std::int64_t>(random_below(key, 0, pairs));
    auto stride = static_cast<std::int64_t>(1 + random_below(key, 1, pairs));
    while (std::gcd(stride, pairs) != 1) {
        ++stride;
    }
    std::int64_t pair = start;
    // Half of the rows are edges, one edge a pair in turn, then random rows fill up. Attempts are
    // bounded because some may fall on the same row or on an empty sequence.
    for (std::int64_t t = 0; t < 4 * limit && std::ssize(chosen) < limit; ++t) {
        const std::int64_t b = pair / w.heads_q;
        const std::int64_t length = w.length_q(b);
        if (length > 0) {
            const auto edges = edge_rows(length);
            const auto which = static_cast<std::size_t>(t % pairs + t / pairs) % edges.size();
            const std::int64_t row =
                t < limit / 2 ? edges[which]
                              : static_cast<std::int64_t>(random_below(key, 2 + t, length));
            chosen.insert({b, row, pair % w.heads_q});
        }
        pair = (pair + stride) % pairs;
    }
    return {chosen.begin(), chosen.end()};
}

std::vector<Row> rows_to_check(const Workload& w, std::uint64_t seed, std::int64_t at_most) {
    const std::vector<Row> sample = sample_rows(w, seed, at_most);
    std::set<Row, decltype(&before)> chosen(sample.begin(), sample.end(), &before);
    cover(w, stream_key(seed, 0x636f766572), [&](const Row& at) { chosen.insert(at); });
    return {chosen.begin(), chosen.end()};
}

std::int64_t scattering_rows(const Workload& w, std::span<const Row> rows) {
    return std::count_if(rows.begin(), rows.end(), [&](const Row& at) {
        const Workload::KeyRange keys = w.visible(at.sequence, at.row);
        return keys.last - keys.first > 1;
    });
}

std::int64_t roundings_of(const Workload& w, std::span<const Row> rows) {
    return roundings_for(w, scattering_rows(w, rows));
}

std::int64_t roundings_for(const Workload& w, std::int64_t scattering) {
    const std::int64_t errors = affordable(w, enough);
    return scattering == 0 ? 1 : std::max<std::int64_t>(1, divide_up(errors, scattering));
}

}  // namespace raceline
