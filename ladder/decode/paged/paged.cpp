// SPDX-License-Identifier: Apache-2.0
// The record of paged, and what its main launch does otherwise than splitkv's.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/decode/paged/paged.hpp"

#include "ladder/decode/reasons.hpp"
#include "ladder/decode/record.hpp"
#include "ladder/decode/splitkv/splitkv.hpp"

namespace raceline::kernels::paged {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "splitkv",
    .changes = "K and V are read through a block table; with it sequences get lengths of their own",
    .evidence =
        "one table look-up for a row of K and of V, by shift and mask, outside the loop over "
        "keys; no integer division in a loop",
};

using namespace decode;

Form form_of(const Workload& w) {
    Form f = splitkv::form_of(w);
    f.paged = w.page_size > 0;
    f.setup = {110, 490};  // two divisions, addresses
    f.stage.code = {149, 300 + 29};
    f.stage.lookups = 4;        // one for a row of K and of V
    f.stage.table_clocks = 41;  // the table's entries, found in L1 (arXiv 2402.13499)
    f.registers = 64;
    return f;
}

namespace {

std::string reason(const Workload& w, const Plan& plan, const Device& device) {
    return first_of({other_calls(w, device, all_floats(w)), no_room(plan, device, "its stage"),
                     too_many_keys(w), too_many_ctas(w, plan)});
}

}  // namespace
}  // namespace raceline::kernels::paged

RACELINE_KERNEL(paged, record_of<Functions<splitkv::layout_of, reason, form_of>>(
                           "splitkv on a cache of pages", rung))
