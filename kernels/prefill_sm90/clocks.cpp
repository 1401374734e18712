// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90/clocks.hpp"

#include <algorithm>

#include "gpu/tile/network.hpp"

namespace raceline::kernels::prefill_sm90 {
namespace {

// A warp has half an instruction a key for each of a score's.
double tanh_clocks(double keys, double softcap) {
    if (softcap == 0) {
        return 0;
    }
    return keys / 2 * (softcap >= softcap_near ? 9 : 12 + 2 * 8);
}

}  // namespace

double clocks_of_block(const Tile& t, bool first, int warpgroups, double softcap) {
    const double keys = t.keys;
    const double steps_qk = t.headdim / 16.0;
    const double steps_pv = keys / 16;
    const double tensor = steps_qk * keys / 2 + steps_pv * t.headdim_v / 2;
    const double exponentials = 4 * keys + tanh_clocks(keys, softcap);
    const double maxima = first ? keys + 4 * 20 : 0;
    const double issued = 60 + 4.5 * (steps_qk + steps_pv) + keys / 4;
    const double alone =
        247 + 0.15 * keys + 14.5 * (steps_qk + steps_pv) + 8 * 25 + maxima - issued;
    return gpu::shared_clocks({tensor, exponentials, issued, alone}, warpgroups);
}

double clocks_of_item(const Tile& t, int mask_edges) {
    const double masks = 3.5 * mask_edges * std::max(64, t.keys);
    const double alone = 900 + 7 * t.headdim_v + masks;
    const int warpgroups = t.warpgroups();
    const double pieces_late = 2.0 - static_cast<double>(shared_layout(t).q_pieces) / warpgroups;
    return gpu::between_items(alone, warpgroups) + 2000 * pieces_late * pieces_late;
}

}  // namespace raceline::kernels::prefill_sm90
