// SPDX-License-Identifier: Apache-2.0
#include "support/whole_file.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <stdlib.h>
#include <string>

#include "raceline/error.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

class WholeFile : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "raceline-file-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
        fs::create_directory(folder_ / "real");
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name) const {
        return (folder_ / name).string();
    }
    [[nodiscard]] std::string content(const std::string& name) const {
        std::ifstream in(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    [[nodiscard]] std::set<std::string> names() const {
        std::set<std::string> all;
        for (const auto& entry : fs::directory_iterator(folder_)) {
            all.insert(entry.path().filename().string());
        }
        return all;
    }
    fs::path folder_;
};

TEST_F(WholeFile, is_written_through_symbolic_links_that_stay) {
    std::ofstream(path("real/old.svg")) << "old";
    fs::create_symlink("real/old.svg", path("old.svg"));
    fs::create_symlink("real/new.svg", path("new.svg"));        // leads to nothing yet
    fs::create_symlink("new.svg", path("twice.svg"));           // by another link
    fs::create_symlink(path("real/far.svg"), path("far.svg"));  // an absolute one
    for (const std::string name : {"old", "new", "far", "twice"}) {
        write_whole_file(path(name + ".svg"), "<" + name);
        EXPECT_TRUE(fs::is_symlink(path(name + ".svg"))) << name;
        EXPECT_EQ(content(name + ".svg"), "<" + name);
    }
    EXPECT_EQ(content("real/old.svg"), "<old");
    EXPECT_EQ(content("real/new.svg"), "<twice");
    EXPECT_EQ(content("real/far.svg"), "<far");
}

TEST_F(WholeFile, is_refused_where_links_lead_nowhere) {
    fs::create_symlink("round.svg", path("round.svg"));
    fs::create_symlink("none/x.svg", path("lost.svg"));
    for (const std::string name : {"round.svg", "lost.svg"}) {
        try {
            write_whole_file(path(name), "<");
            ADD_FAILURE() << name;
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::io);
            EXPECT_THAT(error.what(), testing::HasSubstr("cannot write " + path(name)));
        }
        EXPECT_TRUE(fs::is_symlink(path(name)));
    }
    EXPECT_EQ(names(), (std::set<std::string>{"lost.svg", "real", "round.svg"}));
}

TEST_F(WholeFile, costs_no_file_beside_it) {
    std::ofstream(path("page.html.new")) << "another's";
    std::ofstream(path("page.svg")) << "another's";
    write_whole_file(path("page.html"), "<");
    EXPECT_EQ(names(), (std::set<std::string>{"page.html", "page.html.new", "page.svg", "real"}));
    EXPECT_EQ(content("page.html.new"), "another's");
    EXPECT_EQ(content("page.svg"), "another's");
}

}  // namespace
}  // namespace raceline
