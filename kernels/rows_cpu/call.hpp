// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/rows_cpu/layout.hpp"
#include "workload/operation_args.hpp"
#include "workload/row_program.hpp"

namespace raceline::kernels::rows_cpu {

/// One launch, as every target runs it.
struct Call {
    const OperationArgs& args;
    RowProgram program;
    std::size_t chain;  ///< its number among those that are compiled
    Layout layout;
    std::int64_t head;
    float eps;
    bool stream;
};

}  // namespace raceline::kernels::rows_cpu
