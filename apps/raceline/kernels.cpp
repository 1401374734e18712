// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "options.hpp"
#include "registry/registry.hpp"
#include "report/stale.hpp"
#include "run/run_case.hpp"
#include "support/text_table.hpp"
#include "terminal.hpp"

namespace raceline::cli {
namespace {

Json kernel_content(const Kernel& kernel) {
    Json tiles = Json::array();
    for (int i = 0; i < kernel.tile_count(); ++i) {
        Json tile = Json::object();
        for (const auto& [field, value] : kernel.tile(i)) {
            tile[std::string(field)] = value;
        }
        tiles.push_back(tile);
    }
    Json content{{"suite", ""},
                 {"kernel", kernel.name},
                 {"summary", kernel.summary},
                 {"engine", kernel.engine == Engine::cpu ? "cpu" : "cuda"},
                 {"op", kernel.op},
                 {"pass", kernel.pass},
                 {"compiled", kernel.compiled()},
                 {"machine_code", machine_code_of(kernel)},
                 {"own_lines", kernel.own_lines},
                 {"ladder", kernel.ladder},
                 {"tiles", tiles}};
    content["formerly"] = Json::array();
    for (const std::string_view name : kernel.formerly) {
        content["formerly"].push_back(name);
    }
    for (const auto& [then, now] : kernel.older_fields()) {
        content["older_fields"][std::string(then)] = now;
    }
    if (kernel.rung != nullptr) {
        content["rung"] = Json{{"track", kernel.rung->track},
                               {"predecessor", kernel.rung->predecessor},
                               {"changes", kernel.rung->changes},
                               {"evidence", kernel.rung->evidence}};
    }
    return content;
}

}  // namespace

int run_kernels(const Options& options) {
    if (!options.diff.empty()) {
        print_lesson(options.diff[0], options.diff[1], stdout_style(options));
        return exit_ok;
    }
    constexpr std::size_t least_summary = 40;
    TextTable table("kernel | engine | >?1 tiles | what it is");
    table.column("what it is").least = least_summary;
    bool left_out = false;
    for (const Kernel& kernel : all_kernels()) {
        if (options.json) {
            RowSink{.context = &options.context, .writer = nullptr, .emit = print_row}.put(
                "kernel", kernel.source_hash, kernel_content(kernel));
            continue;
        }
        std::string what(kernel.summary);
        if (kernel.rung != nullptr) {
            const std::string after = kernel.rung->predecessor.empty()
                                          ? "first rung"
                                          : "after " + std::string(kernel.rung->predecessor);
            what += fmt::format(" [{} ladder, {}]", kernel.rung->track, after);
        }
        if (kernel.op != Workload{}.op || kernel.pass != Workload{}.pass) {
            what += fmt::format(" [{}, {}]", kernel.op, kernel.pass);
        }
        if (!kernel.compiled()) {
            what += " (predicted only)";
            left_out = true;
        }
        table.add({std::string(kernel.name), kernel.engine == Engine::cpu ? "cpu" : "cuda",
                   std::to_string(kernel.tile_count()), what});
    }
    if (!options.json) {
        fmt::print("{}", table.str(stdout_style(options)));
        fmt::print("{}", left_out ? "predicted only: this build has no CUDA code\n" : "");
    }
    return exit_ok;
}

}  // namespace raceline::cli
