// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace raceline::kernels::online {

/// All that crosses global memory between the two launches, for each row: in place of S.
struct RowTotals {
    float highest;  ///< score
    float sum;      ///< of exponentials of the others, taken from it
};

}  // namespace raceline::kernels::online
