// SPDX-License-Identifier: Apache-2.0
// How a call is cut up.
#include "kernels/decode_sm90/cut.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace raceline::kernels::decode_sm90 {
namespace {

// Units of as many blocks, one behind the other in the line.
struct Alike {
    std::int64_t units = 0, blocks = 0;
    std::int64_t row_tiles = 1;  ///< of a head: units that read the same keys
};

std::int64_t blocks_of_sequence(const Workload& w, const Tile& tile, const Problem& problem,
                                std::int64_t b) {
    return blocks_of(band_of(w, problem.band(), b), tile.keys).count();
}

std::vector<Alike> units_of(const Workload& w, const Tile& tile) {
    const Problem problem = problem_of(w);
    const std::int64_t different = w.ragged() ? w.batch : std::min<std::int64_t>(w.batch, 1);
    std::vector<Alike> all;
    for (std::int64_t b = 0; b < different; ++b) {
        const auto tokens = static_cast<std::int32_t>(w.length_q(b));
        const auto group = static_cast<std::int32_t>(problem.group());
        const std::int64_t row_tiles = row_tiles_of(tokens, group);
        all.push_back({w.heads_kv / tile.heads() * row_tiles * (w.ragged() ? 1 : w.batch),
                       blocks_of_sequence(w, tile, problem, b), row_tiles});
    }
    return all;
}

Totals totals_of(const std::vector<Alike>& all) {
    Totals totals;
    std::int64_t once = 0;
    for (const Alike& its : all) {
        totals.units += its.units;
        totals.blocks += its.units * its.blocks;
        once += its.row_tiles > 0 ? its.units / its.row_tiles * its.blocks : 0;
    }
    totals.row_tiles =
        once > 0 ? static_cast<double>(totals.blocks) / static_cast<double>(once) : 1;
    return totals;
}

// What a part of the line has to do.
struct OfPart {
    std::int64_t blocks = 0, ends = 0, of_warp = 0;

    void add(std::int64_t more, std::int64_t units, const CutRule& rule) {
        blocks += units * more;
        ends += more > 0 ? units : 0;
        of_warp += units * divide_up(more, std::int64_t{rule.warps});
    }
    [[nodiscard]] std::int64_t weight(const CutRule& rule) const {
        return of_warp * rule.warps + ends * rule.pad;
    }
};

// Adds what lies between two places of the line of units alike, measured from its start.
void add_between(std::int64_t from, std::int64_t to, const Alike& alike, const CutRule& rule,
                 OfPart& part) {
    const std::int64_t each = rule.pad + alike.blocks;
    const auto before = [&](std::int64_t place) {  // blocks of a unit before a place of it
        return std::clamp(place - rule.pad, std::int64_t{0}, alike.blocks);
    };
    const std::int64_t first = from / each;
    const std::int64_t last = (to - 1) / each;
    if (first == last) {
        part.add(before(to - last * each) - before(from - first * each), 1, rule);
        return;
    }
    part.add(alike.blocks - before(from - first * each), 1, rule);
    part.add(alike.blocks, last - first - 1, rule);
    part.add(before(to - last * each), 1, rule);
}

Cut cut_line(const Cuts& line, const std::vector<Alike>& all, const CutRule& rule) {
    OfPart heaviest;
    std::size_t at = 0;
    std::int64_t start = 0;  // of units `at`
    for (std::int32_t number = 0; number < line.parts; ++number) {
        const std::int64_t begin = line.begin(number);
        const std::int64_t end = line.begin(number + 1);
        OfPart part;
        for (;;) {
            const std::int64_t behind = start + all[at].units * (rule.pad + all[at].blocks);
            const std::int64_t from = std::max(begin, start);
            const std::int64_t to = std::min(end, behind);
            if (from < to) {
                add_between(from - start, to - start, all[at], rule, part);
            }
            if (behind > end || at + 1 == all.size()) {
                break;
            }
            start = behind;
            ++at;
        }
        if (part.weight(rule) > heaviest.weight(rule)) {
            heaviest = part;
        }
    }
    std::int64_t most = 0;
    for (const Alike& its : all) {
        most = std::max(most, its.units > 0 ? its.blocks : 0);
    }
    const double parts = line.parts;
    return {parts,
            static_cast<double>(heaviest.blocks),
            static_cast<double>(heaviest.ends),
            static_cast<double>(heaviest.of_warp),
            std::min(static_cast<double>(totals_of(all).units), parts - 1),
            std::min(parts, std::ceil(static_cast<double>(most) / line.each) + 1)};
}

// Each unit by itself, one in parts of at most `share` blocks where that is possible.
Cut cut_units(const std::vector<Alike>& all, std::int32_t share, const CutRule& rule) {
    Cut cut;
    cut.parts = 0;
    for (const Alike& its : all) {
        if (its.units == 0) {
            continue;
        }
        const double parts = rule.parts(static_cast<std::int32_t>(its.blocks), share);
        const auto units = static_cast<double>(its.units);
        cut.longest = std::max(cut.longest, std::ceil(static_cast<double>(its.blocks) / parts));
        cut.parts += units * parts;
        cut.split_units += parts > 1 ? units : 0;
        cut.most_of_unit = std::max(cut.most_of_unit, parts);
    }
    cut.of_warp = std::ceil(cut.longest / rule.warps);
    return cut;
}

Cut cut_equal(const std::vector<Alike>& all, std::int32_t ctas, const CutRule& rule) {
    const auto units = static_cast<std::int32_t>(all.front().units);
    const auto blocks = static_cast<std::int32_t>(all.front().blocks);
    const Cuts cuts = cuts_of_equal(units, blocks, ctas, rule);
    if (!cuts.by_units()) {
        return cut_line(cuts, all, rule);
    }
    return {static_cast<double>(cuts.parts),
            static_cast<double>(cuts.longest()),
            1,
            std::ceil(static_cast<double>(cuts.longest()) / rule.warps),
            cuts.of_unit > 1 ? static_cast<double>(units) : 0.0,
            static_cast<double>(cuts.of_unit)};
}

Cut cut_ragged(const std::vector<Alike>& all, std::int32_t ctas, const CutRule& rule) {
    const Totals totals = totals_of(all);
    const auto units = static_cast<std::int32_t>(totals.units);
    const auto blocks = static_cast<std::int32_t>(totals.blocks);
    if (units <= ctas) {
        Cut cut;
        for (int attempt = 0; attempt < share_attempts; ++attempt) {
            cut = cut_units(all, share_of(blocks, units, ctas, attempt), rule);
            if (cut.parts <= ctas) {
                break;
            }
        }
        if (rule.by_units(static_cast<std::int32_t>(cut.longest),
                          Cuts(blocks, ctas, rule.least()))) {
            return cut;
        }
    }
    return cut_line(Cuts(units * rule.pad + blocks, ctas, rule.least()), all, rule);
}

}  // namespace

Totals totals_of(const Workload& w, const Tile& tile) {
    return totals_of(units_of(w, tile));
}

Cut cut_of(const Workload& w, const Tile& tile, const Device& device) {
    const std::vector<Alike> all = units_of(w, tile);
    if (totals_of(all).units == 0) {
        return {};
    }
    const CutRule rule(tile);
    const std::int32_t ctas = make_plan(tile, device).ctas;
    // The device goes by what it sees: up to 31 sequences of equal lengths are cut alike there even
    // if the call says that they may differ, and more of them by the rule of different ones.
    return w.ragged() ? cut_ragged(all, ctas, rule) : cut_equal(all, ctas, rule);
}

}  // namespace raceline::kernels::decode_sm90
