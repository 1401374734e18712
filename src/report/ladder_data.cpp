// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_data.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "registry/registry.hpp"
#include "support/build_info.hpp"

namespace raceline {

std::string_view ladder_file(std::string_view path) {
    for (const build_info::EmbeddedFile& file : build_info::embedded_files()) {
        if (file.path == path) {
            return file.content;
        }
    }
    return {};
}

Json ladder_data(std::string_view path) {
    const std::string_view content = ladder_file(path);
    return content.empty() ? Json::array() : parse_json(std::string(content), path);
}

std::string ladder_lesson(std::string_view name) {
    const std::string_view lessons = ladder_file("ladder/lessons.md");
    const std::string heading = fmt::format("\n## {}\n", name);
    const auto at = lessons.find(heading);
    if (at == std::string_view::npos) {
        return "";
    }
    const std::string_view rest = lessons.substr(at + heading.size());
    std::string_view body = rest.substr(0, rest.find("\n## "));
    while (body.starts_with('\n')) {
        body.remove_prefix(1);
    }
    while (body.ends_with('\n')) {
        body.remove_suffix(1);
    }
    return std::string(body) + "\n";
}

std::vector<const Json*> by_time(std::span<const Json> rows, std::string_view kind) {
    std::vector<const Json*> ordered;
    for (const Json& row : rows) {
        if (row.at("kind") == kind) {
            ordered.push_back(&row);
        }
    }
    // Rows stand in an array: of two written at once the first in it comes first.
    std::sort(ordered.begin(), ordered.end(), [](const Json* a, const Json* b) {
        const auto order = a->at("written").get_ref<const std::string&>().compare(
            b->at("written").get_ref<const std::string&>());
        return order != 0 ? order < 0 : a < b;
    });
    return ordered;
}

double settled_seconds(const Json& measurement_row) {
    const Json& timed = measurement_row.at("measurement");
    if (!timed.is_object() || timed.value("unsettled", false)) {
        return 0;
    }
    return timed.at("seconds_median").get<double>();
}

const Kernel* find_rung_or_engine(std::string_view name) {
    const auto all = all_kernels();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Kernel& kernel) { return kernel.name == name; });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace raceline
