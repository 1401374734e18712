// SPDX-License-Identifier: Apache-2.0
// The record of gqa, and what its main launch does otherwise than paged's.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/decode/gqa/gqa.hpp"

#include <cmath>

#include "ladder/decode/paged/paged.hpp"
#include "ladder/decode/reasons.hpp"
#include "ladder/decode/record.hpp"

namespace raceline::kernels::gqa {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "paged",
    .changes =
        "the query heads of a group are packed into one CTA, which reads K and V once for all",
    .evidence =
        "CTAs and K and V bytes divided by the group; five shuffles a key and row; one load of a "
        "key from shared memory for up to eight rows",
};

using namespace decode;

// One key: the dot product of every row and its five shuffles, the rows' chains side by side; two
// exponentials a row; the merges.
static Code key_code(bool wide, bool long_row, double rows) {
    constexpr double waits = 29 + 5 * 24 + 18;
    const double base = wide ? 10 : (long_row ? 18 : 14);
    const double instructions = base + (long_row ? 30 : 24) * rows;
    const double stalls = (long_row ? 80 + 40 * rows : 76 + 36 * rows);
    return {instructions, stalls + waits};
}

// A warp leaves its rows in shared memory, then merges and writes those of the CTA in turn.
static Code finish_code(double rows, double rows_merged, double key_warps) {
    const double each = 90 + 22 * key_warps;
    return {20 + 6 * rows + each * rows_merged,
            90 + 12 * rows + (320 + 60 * key_warps) * rows_merged};
}

Form form_of(const Workload& w) {
    const Packing packing = packing_of(w.group());
    const double rows = packing.rows;
    const Code key = key_code(w.dtype == DType::fp32, w.headdim == 128, rows);
    Form f = paged::form_of(w);
    f.cta_rows = static_cast<double>(w.group());
    f.readers = 1;
    f.packed = rows;
    f.key_warps = key_warps_of(packing.row_warps);
    f.setup = {95 + 17 * rows, 470 + 40 * rows};  // three divisions, addresses
    f.finish = finish_code(rows, std::ceil(f.cta_rows / warps), f.key_warps);
    f.keys = one_key(f, key.instructions, 5 * f.columns);
    f.key_clocks = key.clocks;
    f.registers = registers_of(
        f, w, {{72, 72, 80, 110}, {72, 80, 108, 146}, {72, 72, 92, 116}, {72, 80, 110, 148}});
    return f;
}

std::string reason(const Workload& w, const Plan& plan, const Device& device) {
    return first_of({other_calls(w, device, all_floats(w)), no_room(plan, device, "its stage"),
                     too_wide(w), too_many_keys(w), too_many_ctas(w, plan)});
}

namespace {}  // namespace
}  // namespace raceline::kernels::gqa

RACELINE_KERNEL(gqa, record_of<Functions<layout_of, reason, form_of>>(
                         "paged, K and V read once for all query heads of a group", rung))
