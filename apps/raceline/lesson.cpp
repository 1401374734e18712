// SPDX-License-Identifier: Apache-2.0
// `raceline kernels --diff`: what a rung of the ladder changes of another one. That is what its own
// files hold, without the lines that every file has.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "options.hpp"
#include "registry/registry.hpp"
#include "support/build_info.hpp"
#include "support/check.hpp"
#include "support/text_style.hpp"

namespace raceline::cli {
namespace {

namespace fs = std::filesystem;

const Kernel& rung_called(const std::string& name) {
    const Kernel& kernel = find_kernel(name);
    require(kernel.rung != nullptr, Status::invalid_argument,
            "--diff takes two rungs of the ladder; {} is an engine", name);
    return kernel;
}

// Lines that a file needs to be compiled, and that teach nothing.
bool is_frame(std::string_view line) {
    return line.starts_with("// SPDX-") || line.starts_with("#include ") ||
           line.starts_with("#pragma once") || line.starts_with("using namespace ") ||
           (line.starts_with("namespace ") && line.ends_with("{")) ||
           line.starts_with("}  // namespace");
}

// A rung's file without its frame, and without the record that is printed above it. Of several
// empty lines one stays, and none at either end.
std::string own_lines(std::string_view content) {
    std::string own;
    bool in_record = false, gap = false;
    while (!content.empty()) {
        const std::string_view line = content.substr(0, content.find('\n'));
        content.remove_prefix(std::min(line.size() + 1, content.size()));
        in_record = in_record || line.starts_with("constexpr Rung rung{");
        if (in_record) {
            in_record = line != "};";
        } else if (line.empty()) {
            gap = true;
        } else if (!is_frame(line)) {
            own += fmt::format("{}{}\n", gap && !own.empty() ? "\n" : "", line);
            gap = false;
        }
    }
    return own;
}

}  // namespace

void print_lesson(const std::string& before, const std::string& after, const TextStyle& style) {
    const Kernel& then = rung_called(before);
    const Kernel& now = rung_called(after);
    require(&then != &now, Status::invalid_argument,
            "--diff takes two rungs that differ; both are {}", now.name);
    fmt::print(
        "{}",
        paragraph(fmt::format("{} after {}: {}", now.name, then.name, now.rung->changes), style));
    if (now.rung->predecessor != then.name) {
        fmt::print("({})\n", now.rung->predecessor.empty()
                                 ? "it is the first rung of its track"
                                 : fmt::format("its predecessor is {}", now.rung->predecessor));
    }
    fmt::print("{}", paragraph(fmt::format("To be seen: {}.", now.rung->evidence), style));
    fmt::print("{}", paragraph("Its own files follow, without licence, includes, namespaces and "
                               "the record of the words above.",
                               style));
    for (const build_info::EmbeddedFile& file : build_info::ladder_sources()) {
        const fs::path path{std::string(file.path)};
        if (path.parent_path().filename() == now.name) {
            fmt::print("\n== {}\n\n{}", path.filename().string(), own_lines(file.content));
        }
    }
}

}  // namespace raceline::cli
