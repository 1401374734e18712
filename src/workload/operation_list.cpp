// SPDX-License-Identifier: Apache-2.0
// The generated list of operations, as src/registry/registry.cpp has that of kernels.
#include <array>

#include "workload/operation.hpp"

#define X(name)                            \
    namespace raceline::operations::name { \
    const OperationRecord& operation();    \
    }
#include "operations.inc"
#undef X

namespace raceline {

std::span<const OperationRecord* const> all_operations() {
#define X(name) &operations::name::operation(),
    static const auto all = std::to_array<const OperationRecord*>({
#include "operations.inc"
    });
#undef X
    return all;
}

}  // namespace raceline
