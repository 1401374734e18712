// SPDX-License-Identifier: Apache-2.0
// Runs the built program in folders of its own.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdlib.h>
#include <string>
#include <sys/wait.h>
#include <vector>

namespace raceline::test {

/// A case that runs anywhere in no time.
inline constexpr const char* tiny = "--device cpu --shape b=1,h=2,q=64,k=64,d=64,dtype=fp32";

struct Outcome {
    int exit = -1;
    std::string out, err;
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> all;
        std::istringstream in(out);
        for (std::string line; std::getline(in, line);) {
            all.push_back(line);
        }
        return all;
    }
};

/// A scratch folder that holds cache and state of the program, removed at the end.
class Sandbox {
public:
    Sandbox() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "raceline-cli-XXXXXX").string();
        root_ = mkdtemp(pattern.data());
    }
    Sandbox(const Sandbox&) = delete;
    Sandbox& operator=(const Sandbox&) = delete;
    ~Sandbox() {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }
    [[nodiscard]] std::string path(const std::string& name) const {
        return (root_ / name).string();
    }

    /// `words` is what a user would type after the program's name; a shell splits it.
    [[nodiscard]] Outcome run(const std::string& words, const std::string& before = {}) const {
        return shell(before + " " + RACELINE_BINARY_DIR + "/raceline " + words);
    }

    /// Any command, in the scratch folder.
    [[nodiscard]] Outcome shell(const std::string& command) const {
        // Of the terminal that tests were started in nothing is wanted.
        const std::string all = "cd " + root_.string() + " && unset COLUMNS NO_COLOR && export " +
                                "XDG_CACHE_HOME=" + path("cache") +
                                " XDG_STATE_HOME=" + path("state") + " RACELINE_SEED=1 && { " +
                                command + "\n} >" + path("out") + " 2>" + path("err") +
                                " </dev/null";
        Outcome outcome;
        const int status = std::system(all.c_str());
        outcome.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        outcome.out = read(path("out"));
        outcome.err = read(path("err"));
        return outcome;
    }

    static std::string read(const std::string& file) {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(path(name), std::ios::binary) << text;
    }

private:
    std::filesystem::path root_;
};

}  // namespace raceline::test
