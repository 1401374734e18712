// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90_fp8/clocks.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {
namespace {

// Clocks from one block of a matrix warpgroup to its next, with the others of its CTA in the way:
// they share the tensor cores and the exponential units, and whoever comes second waits. A closed
// network of `warpgroups` customers and two stations, solved by mean value analysis (Reiser and
// Lavenberg, 1980).
double shared_clocks(double tensor, double exponentials, double alone, int warpgroups) {
    double tensor_queue = 0;
    double exponential_queue = 0;
    double cycle = 0;
    for (int n = 1; n <= warpgroups; ++n) {
        const double at_tensor = tensor * (1 + tensor_queue);
        const double at_exponentials = exponentials * (1 + exponential_queue);
        cycle = alone + at_tensor + at_exponentials;
        tensor_queue = n * at_tensor / cycle;
        exponential_queue = n * at_exponentials / cycle;
    }
    return cycle;
}

}  // namespace

double clocks_of_block(const Tile& t, bool first, int warpgroups) {
    const double keys = t.keys;
    const double steps_qk = t.headdim / 32.0;
    const double steps_pv = keys / 32;
    const double tensor = steps_qk * keys / 2 + steps_pv * t.headdim / 2;
    const double exponentials = 4 * keys;
    const double maxima = first ? 1.5 * keys + 6 * 20 : 0;
    const double alone = 0.25 * keys + 145 + t.promote * t.headdim / 2.0 + 6 * 20 + maxima;
    return shared_clocks(tensor, exponentials, alone, warpgroups);
}

double clocks_of_item(const Tile& t) {
    return 780 + 3 * t.headdim;
}

}  // namespace raceline::kernels::prefill_sm90_fp8
