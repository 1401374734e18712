// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90/clocks.hpp"

namespace raceline::kernels::prefill_sm90 {
namespace {

// Clocks from one block of a matrix warpgroup to its next, with the others of its CTA in the way:
// they share the tensor cores, the exponential units and the issue slots. A closed network of
// `warpgroups` customers and three stations, solved by mean value analysis (Reiser and Lavenberg,
// 1980). Exponentials and instructions of several warps go on side by side, each the slower for it.
// Products go one after the other and always take the same time, so that of the one under way
// half is left when the next comes.
double shared_clocks(double tensor, double exponentials, double issued, double alone,
                     int warpgroups) {
    double at_tensor = 0, at_exponentials = 0, at_issue = 0, busy = 0;
    double cycle = 0;
    for (int n = 1; n <= warpgroups; ++n) {
        const double products = tensor * (1 + at_tensor - busy / 2);
        const double softmax = exponentials * (1 + at_exponentials);
        const double issue = issued * (1 + at_issue);
        cycle = alone + products + softmax + issue;
        at_tensor = n * products / cycle;
        at_exponentials = n * softmax / cycle;
        at_issue = n * issue / cycle;
        busy = n * tensor / cycle;
    }
    return cycle;
}

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
    // Whoever exponentiates takes three of eight issue slots.
    return shared_clocks(tensor, exponentials, issued * 8 / 5, alone, warpgroups);
}

double clocks_of_item(const Tile& t) {
    return 780 + 3 * t.headdim_v;
}

}  // namespace raceline::kernels::prefill_sm90
