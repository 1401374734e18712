// SPDX-License-Identifier: Apache-2.0
// Receipts that lie compressed: every command that reads receipts says of them what it says of the
// plain file, and refuses what cannot be unpacked in one sentence.
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <tuple>

#include "cli/program.hpp"
#include "plot/gnuplot.hpp"
#include "receipt/stored_text.hpp"
#include "support/gzip.hpp"

namespace raceline::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace fs = std::filesystem;

const std::string source = RACELINE_SOURCE_DIR;
const std::string training =
    source + "/receipts/h200/2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz";
const std::string mma =
    source + "/receipts/h200/2026-11-23-prefill_mma-training-16k-4b2ec0278ce6.jsonl.gz";

class Compressed : public testing::Test {
protected:
    Compressed() {
        fs::create_directories(box_.path("plain"));
        fs::create_directories(box_.path("packed"));
        for (const auto& [name, from] : {std::pair{"a", training}, std::pair{"b", mma}}) {
            const std::string text = stored_text(from);
            box_.write(std::string("plain/") + name + ".jsonl", text);
            // Its name says nothing of how it is stored.
            box_.write(std::string("packed/") + name + ".jsonl", gzip(text));
        }
    }
    void expect_the_same(const std::string& words, const std::string& output = {}) const {
        const Outcome plain = box_.run(words, "env -C plain");
        const std::string plain_output =
            output.empty() ? "" : Sandbox::read(box_.path("plain/" + output));
        const Outcome packed = box_.run(words, "env -C packed");
        EXPECT_EQ(plain.exit, 0) << words << ": " << plain.err;
        EXPECT_EQ(packed.exit, 0) << words << ": " << packed.err;
        EXPECT_EQ(plain.out, packed.out) << words;
        EXPECT_EQ(plain.err, packed.err) << words;
        EXPECT_FALSE(plain.out.empty() && plain.err.empty() && plain_output.empty()) << words;
        if (!output.empty()) {
            EXPECT_TRUE(plain_output == Sandbox::read(box_.path("packed/" + output))) << words;
            EXPECT_FALSE(plain_output.empty()) << words;
        }
    }
    Sandbox box_;
};

TEST_F(Compressed, receipts_are_reported_as_plain_ones_are) {
    for (const char* words :
         {"report a.jsonl", "report a.jsonl b.jsonl", "report --json a.jsonl",
          "report --check a.jsonl", "report --repredict a.jsonl", "report --scorecard a.jsonl",
          "report --ladder a.jsonl", "diff a.jsonl a.jsonl"}) {
        expect_the_same(words);
    }
}

TEST_F(Compressed, receipts_are_replayed_as_plain_ones_are) {
    const std::string shape = " --kernel cpu_flash --shape h=2,q=3,k=5,d=8";
    ASSERT_EQ(box_.run("bench --max-seconds 0.01 --receipts r.jsonl" + shape).exit, 0);
    box_.write("packed.gz", gzip(Sandbox::read(box_.path("r.jsonl"))));
    const Outcome plain = box_.run("bench --json --device replay:r.jsonl" + shape);
    const Outcome packed = box_.run("bench --json --device replay:packed.gz" + shape);
    EXPECT_EQ(packed.exit, 0) << packed.err;
    const auto time = [](const Outcome& run) {
        const std::size_t at = run.out.find("\"seconds_median\"");
        return run.out.substr(at, run.out.find(',', at) - at);
    };
    EXPECT_THAT(time(packed), HasSubstr("seconds_median"));
    EXPECT_EQ(time(plain), time(packed));
}

TEST_F(Compressed, receipts_are_drawn_as_plain_ones_are) {
    for (const char* type : {"roofline", "sweep", "scorecard"}) {
        expect_the_same(std::string("plot ") + type + " a.jsonl -o out.svg", "out.svg");
    }
}

TEST_F(Compressed, rates_are_read_from_compressed_ceilings) {
    const std::string text = stored_text(source + "/receipts/h200/ceilings.jsonl");
    box_.write("plain/c.jsonl", text);
    box_.write("packed/c.jsonl", gzip(text));
    expect_the_same("predict --device h200 --kernel simt --rates c.jsonl --shape h=2,q=9,k=9,d=64");
}

TEST_F(Compressed, a_page_carries_the_text_of_its_rows) {
    for (const char* folder : {"plain", "packed"}) {
        const Outcome run =
            box_.run("report --html p.html a.jsonl", "env -C " + std::string(folder));
        EXPECT_EQ(run.exit, 0) << run.err;
    }
    const auto rows_of = [&](const std::string& file) {
        const std::string page = Sandbox::read(box_.path(file));
        const std::size_t at = page.find("id=\"rows-0\"");
        return page.substr(at, page.find("</script>", at) - at);
    };
    EXPECT_GT(rows_of("plain/p.html").size(), 10'000U);
    EXPECT_TRUE(rows_of("plain/p.html") == rows_of("packed/p.html"));
}

TEST_F(Compressed, an_index_may_be_compressed) {
    const std::string text = stored_text(source + "/receipts/index.jsonl.gz");
    box_.write("plain/index.jsonl", text);
    box_.write("packed/index.jsonl.gz", gzip(text));
    for (const char* words : {"report --ladder ", "report --scorecard "}) {
        const Outcome plain = box_.run(std::string(words) + "plain/index.jsonl");
        const Outcome packed = box_.run(std::string(words) + "packed/index.jsonl.gz");
        EXPECT_EQ(packed.exit, 0) << packed.err;
        EXPECT_EQ(plain.out, packed.out) << words;
        EXPECT_GT(plain.out.size(), 1000U) << words;
    }
}

TEST_F(Compressed, a_folder_is_said_to_hold_both) {
    const Outcome run = box_.run("report packed");
    EXPECT_EQ(run.exit, 2);
    EXPECT_THAT(run.err, HasSubstr("packed/*.jsonl*"));
}

// All commands read as these two do, and each of them takes a second to refuse it.
TEST_F(Compressed, a_file_that_would_fill_the_memory_is_refused) {
    box_.write("bomb.gz", gzip(stored_text(training) + std::string(std::size_t{257} << 20, '\0')));
    EXPECT_LT(fs::file_size(box_.path("bomb.gz")), 500'000U);
    for (const char* words : {"report --check bomb.gz", "diff plain/a.jsonl bomb.gz"}) {
        const Outcome run = box_.run(words);
        EXPECT_EQ(run.exit, 2) << words;
        EXPECT_THAT(run.err,
                    AllOf(StartsWith("raceline: bomb.gz: more than 256 MiB"), HasSubstr("gunzip")));
        EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    }
}

// The newest receipt of a user may have been compressed since.
TEST_F(Compressed, the_newest_receipt_may_be_compressed) {
    fs::create_directories(box_.path("state/raceline"));
    fs::copy(training, box_.path("state/raceline/run.jsonl.gz"));
    const Outcome run = box_.run("report");
    EXPECT_EQ(run.exit, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("run.jsonl.gz"));
}

// The newest run may have been interrupted before anything settled: then there is one to draw
// beside.
TEST_F(Compressed, a_picture_without_a_file_is_of_the_newest_run_that_has_something_to_draw) {
    if (!gnuplot_is_there()) {
        GTEST_SKIP() << "no gnuplot in PATH";
    }
    fs::create_directories(box_.path("state/raceline"));
    fs::copy(training, box_.path("state/raceline/good.jsonl.gz"));
    const std::string rows = stored_text(training);
    const std::string empty = box_.path("state/raceline/later.jsonl");
    box_.write("state/raceline/later.jsonl", rows.substr(0, rows.find('\n') + 1));
    fs::last_write_time(empty, fs::file_time_type::clock::now() + std::chrono::hours(1));
    const Outcome run = box_.run("plot roofline -o x.svg");
    EXPECT_EQ(run.exit, 0) << run.err;
    EXPECT_THAT(run.err, AllOf(HasSubstr("good.jsonl.gz, the newest run that has any"),
                               Not(HasSubstr("later.jsonl"))));
}

TEST_F(Compressed, what_cannot_be_unpacked_is_refused_in_one_sentence) {
    const std::string whole = Sandbox::read(training);
    std::string damaged = whole;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
    const std::vector<std::array<std::string, 3>> files{
        {"cut.gz", whole.substr(0, whole.size() / 2), "end too early"},
        {"damaged.gz", damaged, "are damaged"},
        {"more.gz", whole + "more", "4 bytes follow"},
        {"other.gz", gzip("some text\n"), "is no receipt file"},
    };
    for (const auto& [name, bytes, why] : files) {
        box_.write(name, bytes);
        for (const std::string& words : std::vector<std::string>{
                 "report ", "report --check ", "report --scorecard ", "plot roofline -o x.svg ",
                 "diff " + training + " ", "predict --device h200 --rates "}) {
            const Outcome run = box_.run(words + name);
            EXPECT_EQ(run.exit, 2) << words << name;
            EXPECT_THAT(run.err, AllOf(StartsWith("raceline: " + name), HasSubstr(why)))
                << words << name;
            EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
        }
        // A page says so itself, and has what the other files hold.
        const Outcome page = box_.run("report --html x.html plain/a.jsonl " + name);
        EXPECT_EQ(page.exit, 0) << page.err;
        EXPECT_THAT(page.err, AllOf(StartsWith(name), HasSubstr(why),
                                    HasSubstr("\nx.html: 1 receipt file, 1 file left out, ")));
        EXPECT_TRUE(fs::remove(box_.path("x.html"))) << name;
    }
    EXPECT_FALSE(fs::exists(box_.path("x.svg")));
}

TEST_F(Compressed, a_damaged_file_of_a_tree_takes_no_other_with_it) {
    const std::string whole = Sandbox::read(training);
    fs::create_directories(box_.path("receipts/h200"));
    fs::copy(training, box_.path("receipts/h200/a.jsonl.gz"));
    fs::copy(mma, box_.path("receipts/h200/b.jsonl.gz"));
    box_.write("receipts/h200/cut.jsonl.gz", whole.substr(0, whole.size() / 2));
    const std::string index = Sandbox::read(source + "/receipts/index.jsonl.gz");
    box_.write("receipts/index.jsonl.gz", index.substr(0, index.size() / 2));
    const std::string commit = "4b2ec0278ce6";
    for (const std::string& words :
         {std::string("report --html x.html"), std::string("plot scorecard -o x.svg"),
          std::string("plot scorecard"), "diff " + commit + " " + commit}) {
        const Outcome run = box_.run(words);
        EXPECT_EQ(run.exit, 0) << words << "\n" << run.err;
        EXPECT_THAT(run.err, HasSubstr("receipts/h200/cut.jsonl.gz: its compressed data end too "
                                       "early: the file was cut off"))
            << words;
        if (!words.starts_with("diff")) {
            EXPECT_THAT(run.err, HasSubstr("receipts/index.jsonl.gz: its compressed data end"));
        }
    }
    EXPECT_THAT(Sandbox::read(box_.path("x.svg")), HasSubstr("cut.jsonl.gz"));
    EXPECT_THAT(box_.run("report --html x.html").err, HasSubstr("x.html: 2 receipt files,"));
    const Outcome diff = box_.run("diff " + commit + " " + commit);
    EXPECT_THAT(diff.out, HasSubstr("prefill_sm90"));
    // What counts rows as evidence does not pass over them.
    EXPECT_EQ(box_.run("report --scorecard").exit, 2);
    // A page of no named file is written, says so, and is bad input as without --html; an empty
    // file, and an index, can be read. Of the first the page has nothing, of the second figures.
    box_.write("text.jsonl", "some text\n");
    box_.write("empty.jsonl", "");
    fs::create_directories(box_.path("left"));
    box_.write("left/index.jsonl", stored_text(source + "/receipts/index.jsonl.gz"));
    const std::string cut = "receipts/h200/cut.jsonl.gz";
    for (const std::string& none : {cut, cut + " text.jsonl", cut + " " + cut,
                                    std::string("text.jsonl receipts/index.jsonl.gz")}) {
        fs::remove(box_.path("x.html"));
        const Outcome alone = box_.run("report --html x.html " + none);
        EXPECT_EQ(alone.exit, 2) << none;
        EXPECT_THAT(alone.err, StartsWith("x.html: of ")) << none;
        EXPECT_EQ(std::ranges::count(alone.err, '\n'), 1) << alone.err;
        EXPECT_TRUE(fs::exists(box_.path("x.html"))) << none;
        EXPECT_EQ(box_.run("report " + none).exit, 2) << none;
    }
    for (const auto& [one, parts, exit] : {std::tuple("empty.jsonl", "1 receipt file", 2),
                                           std::tuple("left/index.jsonl", "1 index", 0)}) {
        const Outcome alone = box_.run(std::string("report --html x.html ") + one);
        EXPECT_EQ(alone.exit, exit) << alone.err;
        EXPECT_THAT(alone.err, StartsWith(std::string("x.html: ") + parts + ", "));
        EXPECT_EQ(alone.err.find("nothing can be drawn") != std::string::npos, exit == 2);
        const Outcome mixed = box_.run("report --html x.html text.jsonl " + cut + " " + one);
        EXPECT_EQ(mixed.exit, exit) << mixed.err;
        EXPECT_THAT(mixed.err, HasSubstr(", 2 files left out, "));
    }
}

// A script that asks for a page has to notice that no row of its file counted.
TEST_F(Compressed, a_page_of_unsound_rows_alone_exits_with_2) {
    std::string rows = Sandbox::read(box_.path("plain/a.jsonl"));
    for (const std::string member : {"\"seconds_median\":", "\"seconds\":", "\"value\":"}) {
        for (std::size_t at = rows.find(member); at != std::string::npos;
             at = rows.find(member, at + 1)) {
            rows.insert(at + member.size(), "1");
        }
    }
    box_.write("changed.jsonl", rows);
    const Outcome page = box_.run("report --html y.html changed.jsonl");
    EXPECT_EQ(page.exit, 2);
    EXPECT_THAT(page.err, HasSubstr("y.html: nothing can be drawn"));
    EXPECT_TRUE(fs::exists(box_.path("y.html")));
    EXPECT_EQ(box_.run("report --html z.html plain/a.jsonl").exit, 0);
}

TEST_F(Compressed, rows_are_written_to_plain_files_alone) {
    const std::string bench = "bench --max-seconds 0.01 --kernel cpu_flash --shape h=2,q=3,k=5,d=8";
    const Outcome named = box_.run(bench + " --receipts new.jsonl.gz");
    EXPECT_EQ(named.exit, 2);
    EXPECT_THAT(named.err, AllOf(HasSubstr("name the file new.jsonl"), HasSubstr("gzip -n -9")));
    EXPECT_EQ(named.out, "") << "it is refused before anything is measured";
    EXPECT_FALSE(fs::exists(box_.path("new.jsonl.gz")));
    const std::string before = Sandbox::read(box_.path("packed/a.jsonl"));
    const Outcome there = box_.run(bench + " --receipts packed/a.jsonl");
    EXPECT_EQ(there.exit, 2);
    EXPECT_THAT(there.err, HasSubstr("is compressed"));
    EXPECT_TRUE(Sandbox::read(box_.path("packed/a.jsonl")) == before);
}

}  // namespace
}  // namespace raceline::test
