// SPDX-License-Identifier: Apache-2.0
// `raceline plot` and `raceline diff` as commands, and the pictures of docs/.
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "plot/gnuplot.hpp"
#include "plot/placement.hpp"
#include "receipt/file.hpp"
#include "receipt/stored_text.hpp"

namespace raceline::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string source = RACELINE_SOURCE_DIR;
const std::string training =
    source + "/receipts/h200/2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz";
const std::string compare = source + "/receipts/h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz";

class Plot : public testing::Test {
protected:
    void SetUp() override {
        if (!gnuplot_is_there()) {
            GTEST_SKIP() << "no gnuplot in PATH";
        }
    }
    Sandbox box_;
};

TEST_F(Plot, draws_into_a_file_and_leaves_the_script) {
    const Outcome run = box_.run("plot compare " + compare + " -o out.svg --keep-script");
    ASSERT_EQ(run.exit, 0) << run.err;
    EXPECT_EQ(run.out, "");
    const std::string svg = Sandbox::read(box_.path("out.svg"));
    EXPECT_THAT(svg, StartsWith("<?xml"));
    // What stays draws the same picture again.
    const std::string again = "gnuplot --default-settings " + box_.path("out.svg.gp") + " >" +
                              box_.path("again.svg") + " 2>/dev/null";
    ASSERT_EQ(std::system(again.c_str()), 0);
    EXPECT_EQ(Sandbox::read(box_.path("again.svg")), svg);
    // A picture and its script may be drawn anew, in each form.
    EXPECT_EQ(box_.run("plot compare " + compare + " -o out.svg --keep-script").exit, 0);
    for (const std::string form : {"png", "pdf"}) {
        for (int turn = 0; turn < 2; ++turn) {
            EXPECT_EQ(box_.run("plot compare " + compare + " -o out." + form).exit, 0) << form;
        }
    }
}

TEST_F(Plot, draws_every_picture_in_the_terminal) {
    for (const char* picture :
         {"roofline", "trajectory", "scorecard", "ladder", "compare", "sweep"}) {
        const Outcome run = box_.run(std::string("plot ") + picture + " " + training);
        EXPECT_THAT(run.out, Not(HasSubstr("\f"))) << picture;
        EXPECT_THAT(run.out, Not(HasSubstr(" \n"))) << picture;
        // No comparison and no rung stands in this file, which is said.
        const bool lacking = picture[0] == 'c' || picture[0] == 't' || picture[0] == 'l';
        EXPECT_EQ(run.exit, lacking ? 2 : 0) << picture << "\n" << run.err;
        if (lacking) {
            EXPECT_THAT(run.out, HasSubstr("these receipts")) << picture;
        } else {
            EXPECT_GT(run.lines().size(), 20U) << picture;
        }
    }
}

TEST_F(Plot, what_a_picture_of_a_device_leaves_out_stands_in_it_and_on_stderr) {
    for (const std::string picture : {"roofline", "compare"}) {
        const std::string words = "plot " + picture + " " + source + "/receipts/h200/*.gz -o x.svg";
        const auto height = [&] {
            const std::string svg = Sandbox::read(box_.path("x.svg"));
            const auto at = svg.find("viewBox=\"0 0 ") + 13;
            return std::stoi(svg.substr(svg.find(' ', at)));
        };
        const Outcome run = box_.run(words);
        ASSERT_EQ(run.exit, 0) << run.err;
        EXPECT_THAT(run.err, testing::ContainsRegex("^[0-9]+ of [0-9]+ .* are drawn"));
        EXPECT_THAT(run.err, HasSubstr("--all draws"));
        EXPECT_THAT(Sandbox::read(box_.path("x.svg")), HasSubstr("--all draws"));
        const int some = height();
        const Outcome all = box_.run(words + " --all");
        ASSERT_EQ(all.exit, 0) << all.err;
        EXPECT_THAT(all.err, Not(HasSubstr("--all")));
        EXPECT_GT(height(), 2 * some) << picture;
        EXPECT_GT(height(), 5000) << picture;
    }
}

TEST_F(Plot, all_lines_of_a_sweep_are_drawn_with_all) {
    const Sandbox box;
    const std::string files =
        training + " " + source +
        "/receipts/h200/2026-11-22-compare-prefill_mma-4780f87e724b.jsonl.gz " + source +
        "/receipts/h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz";
    const Outcome some = box.run("plot sweep " + files);
    EXPECT_EQ(some.exit, 0) << some.err;
    EXPECT_THAT(some.err, HasSubstr("--all draws them too."));
    const Outcome all = box.run("plot sweep --all " + files);
    EXPECT_EQ(all.exit, 0) << all.err;
    EXPECT_THAT(all.err, Not(HasSubstr("--all")));
    EXPECT_GT(all.out.size(), some.out.size());
}

TEST_F(Plot, draws_single_operations_and_predictions) {
    const std::string operations =
        source + "/receipts/h200/2026-11-30-operations-2393069498-8ea357baf9df.jsonl.gz";
    for (const std::string picture : {"roofline", "traffic"}) {
        const Outcome run = box_.run("plot " + picture + " " + operations +
                                     " --op rmsnorm --op layernorm -o some.svg");
        ASSERT_EQ(run.exit, 0) << run.err;
        const std::string svg = Sandbox::read(box_.path("some.svg"));
        EXPECT_THAT(svg, HasSubstr(">layernorm<")) << picture;
        EXPECT_THAT(svg, Not(HasSubstr("adam"))) << picture;
    }
    const Outcome types = box_.run("plot traffic " + operations + " --op adam -o types.svg");
    ASSERT_EQ(types.exit, 0) << types.err;
    EXPECT_THAT(Sandbox::read(box_.path("types.svg")), HasSubstr("adam dtype=bf16"));
    EXPECT_GT(box_.run("plot traffic " + operations).lines().size(), 20U);
    EXPECT_GT(
        box_.run("plot fusion " + source + "/receipts/h200/2026-11-28-fuse-29b9d5754e86.jsonl.gz")
            .lines()
            .size(),
        15U);
    const Outcome sweep =
        box_.run("predict --device h200 --op linear,n=4096,k=4096 --over m=1:512 -o sweep.svg");
    ASSERT_EQ(sweep.exit, 0) << sweep.err;
    EXPECT_THAT(sweep.out, HasSubstr("up to m=224 dram bounds it"));
    EXPECT_THAT(Sandbox::read(box_.path("sweep.svg")), HasSubstr("from m=225 on"));
    const Outcome levels = box_.run("predict --device h200 --op rmsnorm,n=4096x4096 -o levels.svg");
    ASSERT_EQ(levels.exit, 0) << levels.err;
    EXPECT_THAT(Sandbox::read(box_.path("levels.svg")), HasSubstr("limited by dram"));
}

TEST_F(Plot, a_corrupt_file_is_drawn_as_far_as_it_can_be_read) {
    const std::string rows = stored_text(training);
    box_.write("half.jsonl", rows.substr(0, rows.size() / 2) + "\n{\"kind\":1}\n");
    const Outcome run = box_.run("plot roofline half.jsonl -o out.svg");
    EXPECT_EQ(run.exit, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("broken lines left out"));
    EXPECT_THAT(Sandbox::read(box_.path("out.svg")), HasSubstr("broken lines left out"));
    box_.write("text.jsonl", "hello\n");
    EXPECT_EQ(box_.run("plot roofline text.jsonl").exit, 2);
}

// A code host shows pictures of README.md some 830 pixels wide: of letters 12 pixels high ten are
// left where a picture is at most 996 pixels wide.
TEST_F(Plot, pictures_of_the_readme_have_letters_that_can_be_read) {
    const std::string readme = Sandbox::read(source + "/README.md");
    std::size_t pictures = 0;
    constexpr std::string_view folder = "(docs/pictures/";
    for (auto at = readme.find(folder); at != std::string::npos; at = readme.find(folder, at + 1)) {
        const std::string name = readme.substr(at + 1, readme.find(')', at) - at - 1);
        const std::string svg = Sandbox::read(source + "/" + name);
        const std::string_view box = "viewBox=\"0 0 ";
        EXPECT_LE(std::stoi(svg.substr(svg.find(box) + box.size())), 996) << name;
        EXPECT_THAT(svg, HasSubstr("font-size=\"12.00\"")) << name;
        ++pictures;
    }
    EXPECT_EQ(pictures, 2U);
}

TEST_F(Plot, no_picture_in_the_terminal_is_wider_than_its_columns) {
    for (const std::string columns : {"60", "80", "100"}) {
        for (const std::string& words : {"roofline " + training, "compare " + compare}) {
            const Outcome run = box_.run("plot " + words, "COLUMNS=" + columns);
            ASSERT_EQ(run.exit, 0) << run.err;
            for (const std::string& line : run.lines()) {
                EXPECT_LE(letters(line), std::stoul(columns)) << line;
            }
        }
    }
}

TEST_F(Plot, pictures_of_the_pages_are_those_of_their_receipts) {
    const std::string fresh = box_.path("pictures");
    const std::string draw =
        source + "/tools/pictures.sh " + RACELINE_BINARY_DIR + "/raceline " + fresh;
    ASSERT_EQ(std::system(draw.c_str()), 0);
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(source + "/docs/pictures")) {
        bytes += entry.file_size();
        const std::string then = Sandbox::read(entry.path().string());
        const std::string now = Sandbox::read(fresh + "/" + entry.path().filename().string());
        const auto version = [](const std::string& svg) {
            const auto at = svg.find("Produced by");
            return svg.substr(at, svg.find('<', at) - at);
        };
        if (version(then) == version(now)) {
            EXPECT_TRUE(then == now) << entry.path() << " is not what receipts say: make docs";
        }
    }
    // The scorecard of all receipts takes the most.
    EXPECT_LT(bytes, 600'000U);
    EXPECT_GE(bytes, 1U);
}

TEST(PlotMistakes, are_one_sentence_each) {
    const Sandbox box;
    const auto refused = [&](const std::string& words, const std::string& sentence) {
        const Outcome run = box.run(words);
        EXPECT_EQ(run.exit, 2) << words;
        EXPECT_EQ(run.out, "") << words;
        EXPECT_THAT(run.err, HasSubstr(sentence)) << words;
        EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    };
    refused("plot", "plot needs a picture");
    refused("plot rooflin x", "did you mean 'roofline'?");
    refused("plot roofline " + training + " -o x.gif", "ends in .svg, .png or .pdf");
    refused("plot roofline " + training + " --keep-script", "--keep-script requires");
    refused("plot roofline none.jsonl -o x.svg", "none.jsonl");
    refused("plot ladder --track up " + training,
            "--track up does not exist; there are prefill, decode");
    refused("plot sweep --over colour " + training,
            "--over colour: a sweep runs over no such field; there are length");
    refused("plot roofline --shape h=1,q=1,k=64,d=64 " + training,
            "trajectory and ladder show one case; roofline shows all of its receipts");
    refused("plot compare --track decode " + training, "--track decode");
    refused("plot ladder --over batch " + training, "only sweep runs over a field");
    refused("plot compare --op add " + training, "--op add: only roofline, traffic and sweep");
    refused("plot traffic --op ad " + training,
            "--op ad: these receipts have no settled time of it");
    refused("predict --device h200 --fuse add+rmsnorm,n=64x64 -o x.svg",
            "-o draws neither --fuse nor --json");
    refused("predict --device h200 --op relu,n=64x64 -o x.gif", "ends in .svg, .png or .pdf");
    refused("plot scorecard --all " + training,
            "--all: only roofline, compare and sweep draw more with it");
    const std::string folder = source + "/receipts/h200";
    refused("plot roofline " + folder, folder + " is a folder; name the receipt files in it");
    refused("diff " + folder + " " + training, folder + " is a folder");
    refused("report " + folder, folder + " is a folder");
    refused("report --html - " + training, "name one that ends in .html");
    refused("diff " + training, "diff takes two sides");
    refused("diff " + training + " elsewhere", "elsewhere is neither a file nor");
    EXPECT_FALSE(fs::exists(box.path("x.svg")));
}

TEST(PlotMistakes, without_gnuplot_it_says_how_to_get_it) {
    const Sandbox box;
    const Outcome run = box.run("plot roofline " + training + " -o x.svg", "PATH=/nonexistent");
    EXPECT_EQ(run.exit, 2);
    EXPECT_THAT(run.err, HasSubstr("apt-get install gnuplot-nox"));
    EXPECT_FALSE(fs::exists(box.path("x.svg")));
}

// Receipts know commits by their digits; a name that git would resolve gets those that they hold.
TEST(DiffCommand, names_the_commits_of_the_receipts_where_a_side_is_none) {
    const Sandbox box;
    fs::create_directories(box.path("receipts/h200"));
    fs::copy(training, box.path("receipts/h200/a.jsonl.gz"));
    fs::copy(source + "/receipts/h200/2026-11-21-from-scratch-12c3875edbd2.jsonl.gz",
             box.path("receipts/h200/b.jsonl.gz"));
    for (const std::string name : {"HEAD", "HEAD~1", "main"}) {
        const Outcome run = box.run("diff " + name + " 4b2ec02");
        EXPECT_EQ(run.exit, 2) << name;
        EXPECT_THAT(run.err, StartsWith("raceline: " + name + " is neither a file nor the"));
        EXPECT_THAT(run.err, HasSubstr("receipts/ has rows of 4b2ec0278ce6, 12c3875edbd2, the "
                                       "newest first"));
    }
    const Outcome elsewhere = box.run("diff HEAD " + training, "env -C /");
    EXPECT_EQ(elsewhere.exit, 2);
    EXPECT_THAT(elsewhere.err, Not(HasSubstr("receipts/ has rows")));
}

TEST(DiffCommand, of_sides_without_a_case_in_common_exits_with_2) {
    const Sandbox box;
    const std::string other =
        source + "/receipts/h200/2026-11-21-from-scratch-12c3875edbd2.jsonl.gz";
    const Outcome run = box.run("diff " + training + " " + other);
    EXPECT_EQ(run.exit, 2);
    EXPECT_THAT(run.out, HasSubstr("No case was timed on both sides."));
    EXPECT_THAT(run.err, HasSubstr("have no case in common, and nothing was compared"));
    EXPECT_EQ(box.run("diff " + training + " " + training).exit, 0);
    // Times that were too noisy to count are no wrong input.
    ReceiptWriter writer(box.path("noisy.jsonl"));
    for (Json row : read_receipts(training).rows) {
        row.erase("hash");
        row.erase("prev");
        if (row.at("kind") == "measurement") {
            row["measurement"]["unsettled"] = true;
        }
        writer.append(std::move(row));
    }
    const Outcome noisy = box.run("diff noisy.jsonl " + training);
    EXPECT_EQ(noisy.exit, 0) << noisy.err;
    EXPECT_THAT(noisy.err, HasSubstr("has settled, and nothing was compared"));
    EXPECT_EQ(box.run("report --html noisy.html noisy.jsonl").exit, 0);
}

TEST(DiffCommand, prints_a_table_of_two_files) {
    const Sandbox box;
    const std::string folder = source + "/receipts/h200/2026-11-21-";
    const Outcome run = box.run("diff " + folder + "from-scratch-12c3875edbd2.jsonl.gz " + folder +
                                "ladder-gap-12c3875edbd2.jsonl.gz --wide");
    EXPECT_EQ(run.exit, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("before / after"));
    EXPECT_THAT(run.out, HasSubstr("2 the same"));
    EXPECT_THAT(run.out, HasSubstr("2 mispredicted"));
}

}  // namespace
}  // namespace raceline::test
