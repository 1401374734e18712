// SPDX-License-Identifier: Apache-2.0
#include "report/stale.hpp"

#include <nlohmann/json.hpp>

#include "support/build_info.hpp"
#include "support/sha256.hpp"

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

std::string machine_code_of(const Kernel& kernel) {
    std::string all;
    if (kernel.engine == Engine::cuda && kernel.compiled()) {
        for (const std::string_view hash : code_hashes_of(kernel)) {
            all += std::string(hash) + '\n';
        }
    }
    return all.empty() ? all : sha256_hex(all);
}

std::string remembered_machine_code(std::string_view kernel, std::string_view source_hash) {
    const std::string_view path = "docs/machine_code.json";
    static const Json known = [&path] {
        for (const build_info::EmbeddedFile& file : build_info::embedded_files()) {
            if (file.path == path) {
                return parse_json(std::string(file.content), path);
            }
        }
        return Json::object();
    }();
    const auto sources = known.find(std::string(kernel));
    return sources == known.end() ? "" : sources->value(std::string(source_hash), "");
}

bool code_has_changed_since(const Json& row) {
    const Kernel* kernel = kernel_once_called(row.at("kernel").get<std::string>());
    if (kernel == nullptr) {
        return true;
    }
    const auto ran = row.at("source_hash").get<std::string>();
    const std::string then = remembered_machine_code(kernel->name, ran);
    return ran != kernel->source_hash &&
           (then.empty() || then != remembered_machine_code(kernel->name, kernel->source_hash));
}

}  // namespace raceline
