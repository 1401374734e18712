// SPDX-License-Identifier: Apache-2.0
#include "report/staleness.hpp"

#include <nlohmann/json.hpp>

#include "registry/registry.hpp"

namespace raceline {

bool source_has_changed_since(const Json& row) {
    const Kernel* kernel = kernel_once_called(row.at("kernel").get<std::string>());
    return kernel == nullptr || row.at("source_hash") != kernel->source_hash;
}

}  // namespace raceline
