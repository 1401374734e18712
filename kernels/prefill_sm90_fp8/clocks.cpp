// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90_fp8/clocks.hpp"

#include <algorithm>

#include "gpu/tile/network.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

double clocks_of_block(const Tile& t, bool first, int warpgroups) {
    const double keys = t.keys;
    const double steps_qk = t.headdim / 32.0;
    const double steps_pv = keys / 32;
    const double tensor = steps_qk * keys / 2 + steps_pv * t.headdim / 2;
    const double exponentials = 4 * keys;
    const double maxima = first ? 1.5 * keys + 6 * 20 : 0;
    const double issued = 60 + 24 * (steps_qk + steps_pv);
    const double alone =
        0.25 * keys + 145 + 6 * 20 + 24 * (steps_qk + steps_pv) + t.promote * t.headdim + maxima;
    return gpu::shared_clocks({tensor, exponentials, issued, alone}, warpgroups);
}

double clocks_of_item(const Tile& t, int mask_edges) {
    const double masks = 3.5 * mask_edges * std::max(64, t.keys);
    // The products wait for the whole of a first block's V to be transposed, if that is not done.
    const double transposed = t.prepared != 0 ? 0 : 0.055 * t.keys * t.headdim;
    return gpu::between_items(15 * t.headdim + transposed + masks, t.warpgroups());
}

}  // namespace raceline::kernels::prefill_sm90_fp8
