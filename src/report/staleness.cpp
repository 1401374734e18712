// SPDX-License-Identifier: Apache-2.0
#include "report/staleness.hpp"

#include <nlohmann/json.hpp>

#include "registry/registry.hpp"

namespace raceline {

bool code_has_changed_since(const Json& row) {
    for (const Kernel& kernel : all_kernels()) {
        if (row.at("kernel") == kernel.name) {
            return row.at("source_hash") != kernel.source_hash;
        }
    }
    return true;
}

}  // namespace raceline
