// SPDX-License-Identifier: Apache-2.0
// One look for each peer, in pictures and on the page, whatever stands beside it there.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "plot/chart.hpp"
#include "report/timed_rows.hpp"

namespace raceline {

/// How a peer was called, without the names of the kernels that ran: these stand in its row.
std::string peer_form(const TimedPeer& peer);

/// For each comparison the number of its peer's look. Those of the contenders of docs/compare.md
/// are fixed; others follow in the order of their names.
std::vector<std::size_t> peer_numbers(std::span<const TimedPeer> peers);

/// As lookOf() of page/chart.js has them.
Colour peer_colour(std::size_t number);
Mark peer_mark(std::size_t number);

}  // namespace raceline
