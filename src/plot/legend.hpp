// SPDX-License-Identifier: Apache-2.0
// Legends whose entries fit the room they have: gnuplot cuts a longer one, or drops them all.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plot/chart.hpp"

namespace raceline {

/// How a legend stands, with as many entries beside each other as fit.
struct Legend {
    std::size_t rows = 0;
    std::size_t most = 0;  ///< letters of a line
};

/// Of a panel that is so wide, as wide as a letter is and as the sample of an entry, with the room
/// around it.
Legend legend_of(const Panel& panel, double width, double letter, double sample);

/// An entry as lines of at most so many letters: parted between words, and after a comma in a word
/// that is longer than a line.
std::vector<std::string> legend_lines(const std::string& title, std::size_t most);

}  // namespace raceline
