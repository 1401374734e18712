// SPDX-License-Identifier: Apache-2.0
// A receipt or log that a page names exists: in the work tree, or by the index in git's history.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "receipt/manifest.hpp"
#include "receipt/stored_text.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view left_out = "…";  // stands for any text, in most names for the date

/// Whether `name` is the pattern with each … replaced by some text.
bool matches(std::string_view pattern, std::string_view name) {
    const std::size_t gap = pattern.find(left_out);
    if (gap == std::string_view::npos) {
        return name == pattern;
    }
    if (!name.starts_with(pattern.substr(0, gap))) {
        return false;
    }
    const std::string_view rest = pattern.substr(gap + left_out.size());
    for (std::size_t begin = gap; begin <= name.size(); ++begin) {
        if (matches(rest, name.substr(begin))) {
            return true;
        }
    }
    return false;
}

TEST(NamedReceipts, a_pattern_matches_whole_names) {
    EXPECT_TRUE(matches("…-random-…-3d1f", "2026-11-22-random-7-3d1f"));
    EXPECT_TRUE(matches("…-3d1f", "2026-11-22-random-7-3d1f"));
    EXPECT_TRUE(matches("…-tiles-…", "d-tiles-3d1f"));
    EXPECT_FALSE(matches("…-3d1f", "2026-11-22-random-7-3d1fa"));
    EXPECT_FALSE(matches("…-compare-3d1f", "2026-11-22-compare-spread-3d1f"));
    EXPECT_FALSE(matches("d-tiles-3d1f", "d-tiles-3d1"));
}

std::string text_of(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Names without folder and extension of all committed receipts and of the logs.
std::vector<std::string> known_names() {
    std::vector<std::string> names;
    const CommittedReceipts receipts(RACELINE_SOURCE_DIR);
    for (const auto* lines : {&receipts.manifest(), &receipts.index()}) {
        for (const Json& line : *lines) {
            names.push_back(fs::path(plain_name(line.at("path").get_ref<const std::string&>()))
                                .stem()
                                .string());
        }
    }
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(RACELINE_SOURCE_DIR) / "receipts")) {
        if (entry.path().parent_path().filename() == "logs") {
            names.push_back(fs::path(plain_name(entry.path().filename().string())).stem().string());
        }
    }
    return names;
}

/// Names in back quotes that begin with … or a date, and whole names anywhere.
std::vector<std::string> named_in(const std::string& text) {
    static const std::regex quoted("`([^`\\n]+)`");
    static const std::regex dated("[0-9]{4}-[0-9]{2}-[0-9]{2}-[A-Za-z0-9_-]+-[0-9a-f]{12}");
    std::vector<std::string> names;
    for (std::sregex_iterator at(text.begin(), text.end(), quoted), end; at != end; ++at) {
        std::string name = at->str(1);
        name.erase(0, name.rfind('/') + 1);
        if (name.starts_with(std::string(left_out) + "-") &&
            name.find_first_of(" <*(") == std::string::npos) {
            names.push_back(name.substr(0, name.find('.')));
        }
    }
    for (std::sregex_iterator at(text.begin(), text.end(), dated), end; at != end; ++at) {
        names.push_back(at->str());
    }
    return names;
}

TEST(NamedReceipts, exist_in_the_tree_or_in_the_index) {
    const std::vector<std::string> known = known_names();
    const fs::path root(RACELINE_SOURCE_DIR);
    std::vector<fs::path> pages{root / "README.md", root / "CHANGELOG.md",
                                root / "CONTRIBUTING.md"};
    for (const char* folder : {"docs", "ladder", "kernels", "gpu", "src", "receipts"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            const std::string extension = entry.path().extension().string();
            if (entry.is_regular_file() && extension != ".jsonl" && extension != ".gz" &&
                extension != ".patch") {
                pages.push_back(entry.path());
            }
        }
    }
    std::size_t named = 0;
    for (const fs::path& page : pages) {
        for (const std::string& name : named_in(text_of(page))) {
            EXPECT_TRUE(std::ranges::any_of(
                known, [&](const std::string& one) { return matches(name, one); }))
                << page << " names " << name;
            ++named;
        }
    }
    EXPECT_GE(named, 60U);
}

}  // namespace
}  // namespace raceline
