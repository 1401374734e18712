// SPDX-License-Identifier: Apache-2.0
// Registers of a thread, by tile and width of V; a test compares them with the compiler's report.
#include <array>

#include "kernels/simt/counts.hpp"
#include "kernels/simt/index.hpp"

namespace raceline::kernels::simt {

int declared_registers(const Tile& tile, int v_width) {
    // Rows as in `tiles`, columns as in `v_widths`.
    static constexpr std::array<std::array<int, v_widths.size()>, tiles.size()> table{{
        {154, 156, 161, 157, 158, 157},
        {155, 145, 155, 155, 167, 0},
        {120, 128, 168, 0, 0, 0},
        {90, 90, 117, 118, 123, 157},
        {119, 115, 126, 158, 167, 0},
        {128, 160, 168, 0, 0, 0},
    }};
    for (std::size_t t = 0; t < tiles.size(); ++t) {
        for (std::size_t v = 0; v < v_widths.size(); ++v) {
            if (tiles[t] == tile && v_widths[v] == v_width) {
                return table[t][v];
            }
        }
    }
    return 0;
}

}  // namespace raceline::kernels::simt
