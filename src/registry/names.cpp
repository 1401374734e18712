// SPDX-License-Identifier: Apache-2.0
// What kernels and the fields of their tiles were called when older receipts were written.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "registry/registry.hpp"

namespace raceline {

const Kernel* kernel_once_called(std::string_view name, std::span<const Kernel> among) {
    const auto found =
        std::ranges::find_if(among, [&](const Kernel& kernel) { return kernel.was_called(name); });
    return found == among.end() ? nullptr : &*found;
}

std::vector<std::string> names_of_kernel(std::string_view name, std::span<const Kernel> among) {
    const Kernel* kernel = kernel_once_called(name, among);
    if (kernel == nullptr) {
        return {std::string(name)};
    }
    std::vector<std::string> names{std::string(kernel->name)};
    names.insert(names.end(), kernel->formerly.begin(), kernel->formerly.end());
    return names;
}

Json with_names_of_today(Json row, std::span<const Kernel> among) {
    const Kernel* kernel = kernel_once_called(row.at("kernel").get<std::string>(), among);
    if (kernel == nullptr) {
        return row;
    }
    row["kernel"] = kernel->name;
    Json tile = Json::object();
    for (const auto& [field, value] : row.at("tile").items()) {
        tile[std::string(kernel->field_name(field))] = value;
    }
    row["tile"] = std::move(tile);
    return row;
}

}  // namespace raceline
