// SPDX-License-Identifier: Apache-2.0
// `raceline kernels --diff`: what rungs of the ladder change, from one to another that builds on
// it. That is what their own files hold, without the lines that every file has.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

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

// From the rung behind `first` to `last`, each of which changes the one before it.
std::vector<const Kernel*> rungs_between(const Kernel& first, const Kernel& last) {
    std::vector<const Kernel*> rungs;
    std::string passed;
    for (const Kernel* rung = &last; rung != &first;) {
        const std::string_view before = rung->rung->predecessor;
        require(!before.empty(), Status::invalid_argument, "{} does not build on {}: it {}",
                last.name, first.name,
                passed.empty() ? "is the first rung of its track" : "builds on " + passed);
        rungs.push_back(rung);
        passed += fmt::format("{}{}", passed.empty() ? "" : ", ", before);
        rung = &find_kernel(before);
    }
    std::ranges::reverse(rungs);
    return rungs;
}

void print_rung(const Kernel& rung, const TextStyle& style) {
    fmt::print("{}", paragraph(fmt::format("{} after {}: {}", rung.name, rung.rung->predecessor,
                                           rung.rung->changes),
                               style));
    fmt::print("{}", paragraph(fmt::format("To be seen: {}.", rung.rung->evidence), style));
    for (const build_info::EmbeddedFile& file : build_info::ladder_sources()) {
        const fs::path path{std::string(file.path)};
        if (path.parent_path().filename() == rung.name) {
            fmt::print("\n== {}\n\n{}", path.filename().string(), own_lines(file.content));
        }
    }
}

}  // namespace

void print_lesson(const std::string& before, const std::string& after, const TextStyle& style) {
    const Kernel& then = rung_called(before);
    const Kernel& now = rung_called(after);
    require(&then != &now, Status::invalid_argument,
            "--diff takes two rungs that differ; both are {}", now.name);
    const std::vector<const Kernel*> rungs = rungs_between(then, now);
    fmt::print("{}", paragraph("What each rung changes, and its own files, without licence, "
                               "includes, namespaces and the record of these words.",
                               style));
    for (const Kernel* rung : rungs) {
        fmt::print("\n");
        print_rung(*rung, style);
    }
}

}  // namespace raceline::cli
