// SPDX-License-Identifier: Apache-2.0
// That a rung can be read: the body of each of its kernels is short enough to be read at once. That
// no rung includes another one's files, tools/layering.cmake checks.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "registry/registry.hpp"

namespace raceline {
namespace {

constexpr int most_lines = 150;

// Lines from each __global__ to the brace that closes its body; declarations have none.
std::vector<int> body_lines(const std::string& source) {
    std::vector<int> lines;
    const std::string mark = "__global__";
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
    std::set<std::string> seen;
    for (const Kernel& kernel : all_kernels()) {
        const fs::path folder = fs::path(RACELINE_SOURCE_DIR) / "ladder" / std::string(kernel.name);
        if (!kernel.ladder) {
            continue;
        }
        for (const auto& entry : fs::directory_iterator(folder)) {
            std::ifstream file(entry.path());
            const std::string source{std::istreambuf_iterator<char>(file), {}};
            for (const int lines : body_lines(source)) {
                EXPECT_LT(lines, most_lines) << entry.path();
                seen.insert(std::string(kernel.name));
            }
        }
        EXPECT_TRUE(seen.contains(std::string(kernel.name))) << kernel.name << " has no kernel";
    }
}

}  // namespace
}  // namespace raceline
