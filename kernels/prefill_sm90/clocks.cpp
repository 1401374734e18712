// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90/clocks.hpp"

#include <algorithm>

#include "gpu/tile/network.hpp"

namespace raceline::kernels::prefill_sm90 {
namespace {

// Of a warp, for a softcap: instructions, and clocks at the exponential units.
struct TanhClocks {
    double issued = 0, exponentials = 0;
};

// A warp has half an instruction a key for each of a score's.
TanhClocks tanh_clocks(double keys, double softcap) {
    if (softcap == 0) {
        return {};
    }
    return softcap >= softcap_near ? TanhClocks{keys / 2 * 9, 0}
                                   : TanhClocks{keys / 2 * 14, keys / 2 * 2 * 8};
}

gpu::BlockClocks block_clocks(const Tile& t, bool first, double softcap) {
    const double keys = t.keys;
    const double steps_qk = t.headdim / 16.0;
    const double steps_pv = keys / 16;
    const double values = steps_pv * t.headdim_v / 2;
    const double tensor = steps_qk * keys / 2 + values;
    const TanhClocks tanh = tanh_clocks(keys, softcap);
    const double exponentials = 4 * keys + tanh.exponentials;
    const double maxima = first ? keys + 4 * 20 : 0;
    const double many = 7 * std::max(0.0, keys - 128);
    const double issued = 60 + 4.5 * (steps_qk + steps_pv) + keys / 4;
    const double alone =
        247 + 0.15 * keys + 14.5 * (steps_qk + steps_pv) + 8 * 25 + maxima + many - issued;
    return {tensor, exponentials, issued + tanh.issued, alone, values};
}

}  // namespace

double clocks_of_block(const Tile& t, bool first, int warpgroups, double softcap) {
    return gpu::shared_clocks(block_clocks(t, first, softcap), warpgroups);
}

double clocks_of_first_softmax(const Tile& t, int warpgroups, double softcap) {
    gpu::BlockClocks block = block_clocks(t, true, softcap);
    block.tensor = block.values = 0;
    return gpu::shared_clocks(block, warpgroups);
}

double clocks_of_item(const Tile& t, int warpgroups) {
    const double alone = 900 + (stores_boxes(t) ? 3.2 : 7) * t.headdim_v;
    return gpu::between_items(alone, warpgroups);
}

double clocks_in_step(const Tile& t, int warpgroups, bool equal_shares) {
    return equal_shares && warpgroups == 2 && t.warpgroups() == 2 && t.turns == 0 ? 500 : 0;
}

double clocks_of_mask(const Tile& t, int warpgroups) {
    return gpu::between_items(3.5 * t.keys, warpgroups);
}

double clocks_of_late_rows(const Tile& t) {
    const double late = 2.0 - static_cast<double>(shared_layout(t).q_pieces) / t.warpgroups();
    return 2000 * late * late;
}

}  // namespace raceline::kernels::prefill_sm90
