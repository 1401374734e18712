// SPDX-License-Identifier: Apache-2.0
// `raceline kernels --diff`: what a rung of the ladder changes of another one. That is what its own
// files hold.
#include <filesystem>
#include <fmt/format.h>
#include <string>

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

}  // namespace

void print_lesson(const std::string& before, const std::string& after, const TextStyle& style) {
    const Kernel& then = rung_called(before);
    const Kernel& now = rung_called(after);
    fmt::print(
        "{}",
        paragraph(fmt::format("{} after {}: {}", now.name, then.name, now.rung->changes), style));
    if (now.rung->predecessor != then.name) {
        fmt::print("({})\n", now.rung->predecessor.empty()
                                 ? "it is the first rung of its track"
                                 : fmt::format("its predecessor is {}", now.rung->predecessor));
    }
    fmt::print("{}", paragraph(fmt::format("To be seen: {}.", now.rung->evidence), style));
    for (const build_info::EmbeddedFile& file : build_info::ladder_sources()) {
        const fs::path path{std::string(file.path)};
        if (path.parent_path().filename() == now.name) {
            fmt::print("\n== {}\n\n{}", path.filename().string(), file.content);
        }
    }
}

}  // namespace raceline::cli
