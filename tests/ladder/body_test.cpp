// SPDX-License-Identifier: Apache-2.0
// That a rung can be read: the body of each function on the device is short enough to be read at
// once, in its folder, in its track's and in what tracks share. Who may include whom,
// tools/layering.cmake checks.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "registry/registry.hpp"

namespace raceline {
namespace {

constexpr int most_lines = 150;

// Lines from each `mark` to the brace that closes the function's body; declarations have none.
std::vector<int> body_lines(const std::string& source, const std::string& mark = "__global__") {
    std::vector<int> lines;
    for (auto at = source.find(mark); at != std::string::npos; at = source.find(mark, at + 1)) {
        int depth = 0;
        for (auto i = source.find_first_of("{;", at); i < source.size(); ++i) {
            depth += source[i] == '{' ? 1 : source[i] == '}' ? -1 : 0;
            if (depth == 0) {
                if (source[i] == '}') {
                    lines.push_back(1 +
                                    static_cast<int>(std::count(
                                        source.begin() + static_cast<std::ptrdiff_t>(at),
                                        source.begin() + static_cast<std::ptrdiff_t>(i), '\n')));
                }
                break;
            }
        }
    }
    return lines;
}

TEST(Bodies, are_counted) {
    EXPECT_EQ(body_lines("__global__ void f();\n"), std::vector<int>{});
    EXPECT_EQ(body_lines("int a;\n__global__ void f() {\n if (a) {\n }\n}\nint b() {\n}\n"),
              std::vector<int>{4});
}

TEST(Bodies, are_under_150_lines) {
    namespace fs = std::filesystem;
    const fs::path root = RACELINE_SOURCE_DIR;
    std::set<std::string> with_kernels;  // folders, and the tracks that these stand in
    for (const char* tree : {"ladder", "gpu/tile"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / tree)) {
            const std::string end = entry.path().extension().string();
            if (end != ".cu" && end != ".cuh") {
                continue;
            }
            std::ifstream file(entry.path());
            const std::string source{std::istreambuf_iterator<char>(file), {}};
            for (const char* mark : {"__global__", "__device__"}) {
                for (const int lines : body_lines(source, mark)) {
                    EXPECT_LT(lines, most_lines) << entry.path();
                    if (std::string_view(mark) == "__global__") {
                        const fs::path folder = entry.path().parent_path();
                        with_kernels.insert(folder.filename().string());
                        with_kernels.insert(folder.parent_path().filename().string());
                    }
                }
            }
        }
    }
    // A rung's kernels may be another one's of its track.
    for (const Kernel& kernel : all_kernels()) {
        if (kernel.rung != nullptr) {
            std::string track(kernel.rung->track);
            std::replace(track.begin(), track.end(), '-', '_');
            EXPECT_TRUE(with_kernels.contains(std::string(kernel.name)) ||
                        with_kernels.contains(track))
                << kernel.name << " has no kernel";
        }
    }
}

}  // namespace
}  // namespace raceline
