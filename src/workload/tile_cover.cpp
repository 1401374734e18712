// SPDX-License-Identifier: Apache-2.0
#include "workload/tile_cover.hpp"

#include <algorithm>
#include <limits>

#include "workload/row_blocks.hpp"

namespace raceline {
namespace {

// Tiles of `size` that [first, last) touches.
double tiles_in(std::int64_t first, std::int64_t last, std::int64_t size) {
    const std::int64_t from = std::max<std::int64_t>(first, 0);
    const std::int64_t tiles = from < last ? (last - 1) / size - from / size + 1 : 0;
    return static_cast<double>(tiles);
}

// Of more rows between two bends of the mask, some tiles stand for their neighbours.
constexpr std::int64_t rows_walked = 1 << 18;

// The tile of rows [start, end) of a sequence, `alike` times.
void add_tile(TileCover& cover, const Workload& w, std::int64_t b, std::int64_t start,
              std::int64_t end, double alike, std::int64_t keys) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = 0;
    for (std::int64_t row = start; row < end; ++row) {
        const Workload::KeyRange seen = w.visible(b, row);
        if (seen.first < seen.last) {
            first = std::min(first, seen.first);
            last = std::max(last, seen.last);
            cover.row_visits += alike * tiles_in(seen.first, seen.last, keys);
        }
    }
    const double visited = tiles_in(first, last, keys);
    cover.row_tiles += alike;
    cover.tiles += alike * visited;
    cover.most_tiles = std::max(cover.most_tiles, visited);
}

void add_sequence(TileCover& cover, const Workload& w, std::int64_t b, double heads,
                  std::int64_t rows, std::int64_t keys) {
    const std::int64_t length = w.length_q(b);
    const Window window = folded_window(w);
    const WideBand band{length, w.length_k(b), window.left, window.right};
    const std::int64_t most = std::max<std::int64_t>(1, rows_walked / rows);
    visit_blocks(band, 1, rows, most, [&](CountedBlock counted) {
        const std::int64_t start = counted.block * rows;
        add_tile(cover, w, b, start, std::min(start + rows, length),
                 heads * static_cast<double>(counted.times), keys);
    });
}

}  // namespace

TileCover cover_tiles(const Workload& w, std::int64_t rows, std::int64_t keys) {
    TileCover cover;
    const auto heads = static_cast<double>(w.heads_q);
    cover.pairs = w.visited_pairs() * heads;
    if (!w.ragged() && w.batch > 0) {
        add_sequence(cover, w, 0, heads * static_cast<double>(w.batch), rows, keys);
    } else {
        for (std::int64_t b = 0; b < w.batch; ++b) {
            add_sequence(cover, w, b, heads, rows, keys);
        }
    }
    return cover;
}

}  // namespace raceline
