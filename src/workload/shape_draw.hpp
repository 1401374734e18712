// SPDX-License-Identifier: Apache-2.0
// What suites that follow from a seed draw their shapes by.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload/normal.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// Draws in order from one stream: the same on every machine and standard library.
class ShapeDraw {
public:
    /// `stream`: a number of its own for each kind of suite.
    ShapeDraw(std::uint64_t seed, std::uint64_t stream) : key_(stream_key(seed, stream)) {}

    /// Whole number in [low, high].
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random_below(
                         key_, counter_++, static_cast<std::uint64_t>(high - low + 1)));
    }
    bool one_in(std::int64_t n) { return between(1, n) == 1; }

    template <std::size_t N>
    std::int64_t of(const std::array<std::int64_t, N>& values) {
        return values[static_cast<std::size_t>(between(0, std::int64_t{N} - 1))];
    }
    /// Whole number from 1 to 2^doublings, any doubling as likely as any other; by whole numbers
    /// alone, so that it is the same on every machine.
    std::int64_t by_doublings(int doublings) {
        const std::int64_t base = std::int64_t{1} << between(0, doublings - 1);
        return between(base, 2 * base);
    }
    /// Near `size`, seldom a multiple of anything.
    std::int64_t length_near(std::int64_t size) { return between(size / 2 + 1, size); }

private:
    std::uint64_t key_;
    std::uint64_t counter_ = 0;
};

/// `count` different problems: what `draw_one` gives of stream `stream` of `seed`, as text of the
/// grammar, if `wanted` takes it.
template <class DrawOne, class Wanted>
std::vector<Workload> draw_distinct(std::uint64_t seed, std::uint64_t stream, std::size_t count,
                                    const DrawOne& draw_one, const Wanted& wanted) {
    ShapeDraw draw(seed, stream);
    std::vector<Workload> drawn;
    while (drawn.size() < count) {
        const Workload w = parse_shape(draw_one(draw));
        if (wanted(w) && std::ranges::find(drawn, w) == drawn.end()) {
            drawn.push_back(w);
        }
    }
    return drawn;
}

/// One call in `odds` has a window, of `least` to `most` older keys.
inline void draw_window(ShapeDraw& draw, Workload& w, std::int64_t odds, std::int64_t least,
                        std::int64_t most) {
    if (draw.one_in(odds)) {
        w.window = Window{.left = draw.between(least, most), .right = -1};
        w.mask = Mask::causal;
    }
}

/// One call in eight has a softcap, one in `odds` has sinks.
inline void draw_softcap_and_sinks(ShapeDraw& draw, Workload& w, std::int64_t odds) {
    if (draw.one_in(8)) {
        w.softcap = static_cast<double>(draw.of(std::array<std::int64_t, 3>{20, 30, 50}));
    }
    w.sinks = draw.one_in(odds);
}

}  // namespace raceline
