// SPDX-License-Identifier: Apache-2.0
#include "run/commit_build.hpp"

#include <filesystem>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "device/catalog.hpp"
#include "support/check.hpp"
#include "support/subprocess.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

void run_quietly(const std::vector<std::string>& command) {
    require(output_of(command).has_value(), Status::io, "this command failed: {}",
            fmt::join(command, " "));
}

std::string tile_words(const Json& tile) {
    std::string words;
    for (const auto& [name, value] : tile.items()) {
        words += (words.empty() ? "" : ",") + name + "=" + value.dump();
    }
    return words;
}

// Rates that were measured on this machine since must not be taken for those of the time.
std::vector<std::string> predict_command(const std::string& program, const PredictionRow& row) {
    const RowCase& about = row.about;
    std::vector<std::string> command{"env",
                                     "XDG_CACHE_HOME=/nonexistent",
                                     program,
                                     "predict",
                                     "--json",
                                     "--device",
                                     about.device.id,
                                     "--kernel",
                                     about.kernel,
                                     "--shape",
                                     format_shape(workload_from_json(about.workload)),
                                     "--tile",
                                     tile_words(about.tile),
                                     "--launch-path",
                                     about.launch.launch_path};
    if (!about.launch.cold) {
        command.emplace_back("--warm");
    }
    if (row.prediction.calibrated.left_out) {
        command.emplace_back("--uncalibrated");
    }
    return command;
}

}  // namespace

std::string commit_named(const std::string& folder, const std::string& name) {
    std::string found = output_of({"git", "-C", folder, "rev-parse", "--verify", "--quiet",
                                   "--end-of-options", name + "^{commit}"})
                            .value_or("");
    require(found.size() == 41, Status::invalid_argument,
            "--commit '{}': git knows no commit of that name in {}; a hash, branch or tag of the "
            "tree that the receipts lie in is accepted",
            name, folder);
    found.pop_back();
    return found;
}

std::string program_of_commit(const std::string& folder, const std::string& commit,
                              const std::function<void(const std::string&)>& said) {
    const fs::path kept = fs::path(required_cache_folder()) / "commits" / commit;
    const std::string source = (kept / "source").string();
    const std::string build = (kept / "build").string();
    const std::string program = build + "/raceline";
    if (fs::exists(program)) {
        return program;
    }
    said(fmt::format("building {} in {}: this takes some minutes, once", commit.substr(0, 12),
                     kept.string()));
    fs::create_directories(kept);
    if (!fs::exists(source + "/CMakeLists.txt")) {
        fs::remove_all(source);
        run_quietly({"git", "clone", "--quiet", "--shared", "--no-checkout", folder, source});
        run_quietly({"git", "-C", source, "checkout", "--quiet", "--detach", commit});
    }
    const std::string jobs = std::to_string(std::max(1U, std::thread::hardware_concurrency()));
    run_quietly({"cmake", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                 "-DBUILD_TESTING=OFF", "-DRACELINE_CUDA=OFF"});
    run_quietly({"cmake", "--build", build, "--target", "raceline_cli", "--parallel", jobs});
    require(fs::exists(program), Status::io, "{} was built without {}", commit, program);
    return program;
}

Prediction predicted_by(const std::string& program, const PredictionRow& row) {
    const std::vector<std::string> command = predict_command(program, row);
    const auto text = output_of(command);
    if (!text) {
        fail(Status::unsupported, "that program refuses: {}", fmt::join(command, " "));
    }
    std::size_t begin = 0;
    while (begin < text->size()) {
        const std::size_t end = std::min(text->find('\n', begin), text->size());
        const Json answer = parse_json(text->substr(begin, end - begin), "its answer");
        if (answer.value("kind", "") == PredictionRow::kind) {
            return row_from_json<PredictionRow>(answer).prediction;
        }
        begin = end + 1;
    }
    fail(Status::unsupported, "that program predicts nothing for: {}", fmt::join(command, " "));
}

}  // namespace raceline
