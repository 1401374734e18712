// SPDX-License-Identifier: Apache-2.0
#include "report/stale.hpp"

#include <nlohmann/json.hpp>

#include "support/build_info.hpp"

namespace raceline {
namespace {

// Another compiler makes other code of the same source: that says nothing about a change.
bool same_compiler(const Json& environment, Engine engine) {
    const auto is = [&](const char* member, std::string_view ours) {
        return environment.value(member, "") == ours;
    };
    return engine == Engine::cuda ? is("cuda", build_info::cuda())
                                  : is("compiler", build_info::compiler()) &&
                                        is("build_type", build_info::build_type());
}

}  // namespace

bool is_stale(const Json& row, const Kernel& kernel) {
    const std::string ran = row.value("code_hash", "");
    const std::string_view where = std::string_view(ran).substr(0, ran.find(':') + 1);
    if (!where.empty() && same_compiler(row.at("environment"), kernel.engine)) {
        for (const std::string_view now : code_hashes_of(kernel)) {
            if (now.starts_with(where)) {
                return now != ran;
            }
        }
    }
    return row.at("source_hash") != kernel.source_hash;
}

bool source_has_changed_since(const Json& row) {
    const Kernel* kernel = kernel_once_called(row.at("kernel").get<std::string>());
    return kernel == nullptr || row.at("source_hash") != kernel->source_hash;
}

}  // namespace raceline
