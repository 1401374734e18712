// SPDX-License-Identifier: Apache-2.0
// `raceline point`: files, tables, rows and refusals.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "device/catalog.hpp"
#include "model/work_point.hpp"
#include "plot/charts.hpp"
#include "plot/gnuplot.hpp"
#include "point_file.hpp"
#include "support/check.hpp"
#include "support/json.hpp"

namespace raceline::test {
namespace {

using cli::NamedPoint;
using cli::parse_points;
using testing::AllOf;
using testing::HasSubstr;

const WorkPoint otherwise{.engine = "fma.fp32", .memory = "l2"};

std::string refusal(std::string_view text) {
    try {
        parse_points(text, "FILE", otherwise);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::invalid_argument);
        return error.what();
    }
    return "(none)";
}

TEST(PointFile, CsvHasItsColumnsInAnyOrder) {
    const auto points =
        parse_points("bytes,name,flops,engine\r\n1e9,\"norm, fused\",2.5e9,\n 4 ,last,0,wgmma.bf16",
                     "FILE", otherwise);
    ASSERT_EQ(points.size(), 2U);
    EXPECT_EQ(points[0].name, "norm, fused");
    EXPECT_EQ(points[0].work.bytes, 1e9);
    EXPECT_EQ(points[0].work.flops, 2.5e9);
    EXPECT_EQ(points[0].work.seconds, 0);
    EXPECT_EQ(points[0].work.engine, "fma.fp32") << "an empty cell says nothing";
    EXPECT_EQ(points[0].work.memory, "l2");
    EXPECT_EQ(points[1].work.bytes, 4);
    EXPECT_EQ(points[1].work.engine, "wgmma.bf16");
}

// As spreadsheets write UTF-8.
TEST(PointFile, AByteOrderMarkIsNoPartOfIt) {
    const std::string mark = "\xEF\xBB\xBF";
    EXPECT_EQ(parse_points(mark + "name,bytes\na,7", "FILE", otherwise).front().name, "a");
    EXPECT_EQ(parse_points(mark + R"([{"name": "b", "bytes": 7}])", "FILE", otherwise).front().name,
              "b");
}

TEST(PointFile, JsonIsAnArrayOrAnObjectALine) {
    for (const char* text : {R"( [{"name": "a", "flops": 1e9}, {"bytes": 7, "memory": "dram"}] )",
                             "{\"name\": \"a\", \"flops\": 1e9}\n\n{\"bytes\": 7, \"memory\": "
                             "\"dram\"}\n"}) {
        const auto points = parse_points(text, "FILE", otherwise);
        ASSERT_EQ(points.size(), 2U) << text;
        EXPECT_EQ(points[0].name, "a");
        EXPECT_EQ(points[0].work.flops, 1e9);
        EXPECT_EQ(points[1].name, "point 2");
        EXPECT_EQ(points[1].work.memory, "dram");
    }
}

TEST(PointFile, RefusalsNameLineAndColumn) {
    EXPECT_THAT(refusal("name,flop\na,1"),
                AllOf(HasSubstr("FILE: line 1: a point has no 'flop'"), HasSubstr("'flops'")));
    EXPECT_THAT(refusal("name,bytes\na,many"), HasSubstr("FILE: line 2: bytes is 'many'"));
    EXPECT_THAT(refusal("name,bytes\na,1\nb"),
                HasSubstr("FILE: line 3 has 1 cell; line 1 names 2 columns"));
    EXPECT_THAT(refusal("bytes,bytes\n1,2"), HasSubstr("line 1: column bytes is there twice"));
    EXPECT_THAT(refusal("name,bytes\nb,2\n\"a,1\n"),
                HasSubstr("FILE: line 3: from here on it is no CSV"));
    EXPECT_THAT(refusal("name,bytes\na,nan"), HasSubstr("must be a number"));
    for (const char* beyond : {"1e31", "1e-31", "5e-324", "1e308"}) {
        EXPECT_THAT(
            refusal("bytes\n" + std::string(beyond)),
            HasSubstr("line 2: bytes '" + std::string(beyond) + "' is beyond any machine's"));
    }
    EXPECT_THAT(refusal("bytes,seconds\n1,0"), HasSubstr("seconds '0' is no time that anything"));
    EXPECT_THAT(refusal(R"([{"bytes": -7}])"), HasSubstr("bytes '-7' is no number of 0 or more"));
    EXPECT_THAT(refusal("name,bytes\n"), HasSubstr("no point"));
    EXPECT_THAT(refusal(" \n"), HasSubstr("it is empty"));
    EXPECT_THAT(refusal(R"([{"bytes": "7"}])"), HasSubstr("FILE: line 1: bytes is \"7\""));
    EXPECT_THAT(refusal(R"({"bytes": 7, "engine": 3})"), HasSubstr("engine is 3"));
    EXPECT_THAT(refusal("[7]"), HasSubstr("no object"));
}

// Blank lines count, and so do those within quotes.
TEST(PointFile, LinesAreThoseOfAnEditor) {
    for (const char* end : {"\n", "\r\n", "\r"}) {
        std::string text = "name,bytes\n\n  \n\"a\nb\",1\n\nc,many\n";
        for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;
             at += std::string_view(end).size()) {
            text.replace(at, 1, end);
        }
        EXPECT_THAT(refusal(text), HasSubstr("FILE: line 7: bytes is 'many'")) << text;
    }
    EXPECT_THAT(refusal("\n\nname,byte\na,1"), HasSubstr("FILE: line 3: a point has no 'byte'"));
    EXPECT_THAT(refusal("\n[\n  {\"name\": \"],[\\\"\", \"bytes\": 1}, {\"bytes\": 2},\n\n {\n  "
                        "\"bytes\": true}]"),
                HasSubstr("FILE: line 5: bytes is true"));
    EXPECT_THAT(refusal("\n{\"bytes\": 1}\n{\"bytes\": []}"), HasSubstr("line 3: bytes is []"));
    EXPECT_EQ(parse_points("name,bytes\na,1\n", "FILE", otherwise)[0].where, "FILE: line 2");
}

TEST(PointFile, BrokenJsonIsToldByItsLine) {
    try {
        parse_points("[\n{\"bytes\": 1},\n{\"bytes\": }]", "FILE", otherwise);
        ADD_FAILURE() << "broken, and accepted";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("FILE: not valid JSON at byte 27 in line 3: "));
    }
}

// As spreadsheets write them, and as they are copied out of one.
TEST(PointFile, SemicolonsOrTabsMaySeparateFields) {
    for (const char* text :
         {"name;flops;bytes\na, b;1e9;7\n", "name\tflops\tbytes\na, b\t1e9\t7\n"}) {
        const auto points = parse_points(text, "FILE", otherwise);
        ASSERT_EQ(points.size(), 1U) << text;
        EXPECT_EQ(points[0].name, "a, b");
        EXPECT_EQ(points[0].work.flops, 1e9);
        EXPECT_EQ(points[0].work.bytes, 7);
    }
    EXPECT_THAT(refusal("name;flops\na;1,5e9"),
                HasSubstr("line 2: flops is '1,5e9'; it must be a number such as 4e12, with a "
                          "decimal point"));
}

class Point : public testing::Test {
protected:
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(box.path(name)) << text;
        return name;
    }
    Sandbox box;
};

TEST_F(Point, one_point_in_a_table) {
    const Outcome run = box.run(
        "point --wide --name mine --flops 1e12 --bytes 1e9 --seconds 1e-3 --engine fma.fp32 "
        "--device "
        "h200");
    ASSERT_EQ(run.exit, 0) << run.err;
    EXPECT_THAT(run.out, AllOf(HasSubstr("mine"), HasSubstr("flop.fma.fp32"), HasSubstr("1.00 ms"),
                               HasSubstr("committed")));
}

TEST_F(Point, json_is_the_verdict_of_each_point) {
    const std::string file = write("points.csv", "name,bytes,seconds\na,1e9,1e-3\nb,2e9,1e-2\n");
    const Outcome run = box.run("point " + file + " --json --memory l2 --device h200");
    ASSERT_EQ(run.exit, 0) << run.err;
    ASSERT_EQ(run.lines().size(), 2U);
    const Json b = parse_json(run.lines()[1], "line");
    EXPECT_EQ(b.at("name"), "b");
    EXPECT_EQ(b.at("limiter"), "byte.l2");
    EXPECT_EQ(b.at("device").at("id"), "h200");
    const double seconds = b.at("bound_seconds");
    EXPECT_NEAR(b.at("of_roof").get<double>(), seconds / 1e-2, 1e-9);
    EXPECT_EQ(b.at("standing"), "waits");
}

// A point that cannot be judged: not even those before it are printed.
TEST_F(Point, json_is_whole_or_nothing) {
    const std::string file = write("mixed.csv", "name,bytes,memory\na,1,dram\nb,1,l9\n");
    const Outcome run = box.run("point " + file + " --json --device h200");
    EXPECT_EQ(run.exit, 2);
    EXPECT_THAT(run.err, HasSubstr("mixed.csv: line 3: b: memory is 'l9'"));
    EXPECT_EQ(run.out, "");
}

TEST_F(Point, a_picture_is_drawn_if_asked) {
    if (!gnuplot_is_there()) {
        GTEST_SKIP() << "no gnuplot";
    }
    const std::string file = write(
        "points.json",
        R"([{"name": "one of mine", "flops": 1e12, "bytes": 1e9, "seconds": 1e-3, "engine": "bf16"},
            {"name": "only bytes", "bytes": 1e9}])");
    const Outcome run = box.run("point " + file + " --device h200 -o points.svg");
    ASSERT_EQ(run.exit, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("1 without operations or without bytes"));
    std::ifstream in(box.path("points.svg"));
    const std::string svg{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    EXPECT_THAT(svg, AllOf(HasSubstr("one of mine"), HasSubstr("NVIDIA H200"), HasSubstr("L2"),
                           HasSubstr("a short burst")));
}

// Of many points a series each took minutes to place and to draw.
TEST_F(Point, a_picture_of_many_points_has_one_look_for_all) {
    const Device device = datasheet_device("h200");
    std::vector<ChartedPoint> points;
    for (int i = 0; i < 20000; ++i) {
        const WorkPoint work{.flops = 1e9 * (i + 1),
                             .bytes = 1e9,
                             .seconds = i % 2 == 0 ? 1e-5 : 0,
                             .engine = "fma.fp32"};
        points.push_back({fmt::format("p{}", i), judge_point(device, work), work});
    }
    const auto marks_of = [](const Chart& chart) {
        std::map<std::pair<std::string, bool>, std::size_t> marks;
        for (const Series& series : chart.panels.at(0).series) {
            if (series.mark != Mark::none) {
                marks[{series.title, series.filled}] += series.points.size();
            }
        }
        return marks;
    };
    const Chart many = points_chart(device, points);
    EXPECT_THAT(many.notes, testing::Contains(HasSubstr("20000 points: their names are left out")));
    EXPECT_LT(many.panels.at(0).series.size(), 40U);
    EXPECT_EQ(marks_of(many), (std::map<std::pair<std::string, bool>, std::size_t>{
                                  {{"bounds", false}, 20000}, {{"measured", true}, 10000}}));
    EXPECT_GT(many.panels.at(0).y.high, 1e9 * 20000 / 1e-5) << "what is beyond the roof is drawn";
    points.resize(12);
    const Chart few = points_chart(device, points);
    EXPECT_THAT(few.notes, testing::Not(testing::Contains(HasSubstr("names are left out"))));
    EXPECT_EQ(marks_of(few).at({"p1", false}), 1U);
}

TEST_F(Point, refusals_are_one_sentence) {
    const auto refused = [&](const std::string& words, const std::string& said) {
        const Outcome run = box.run("point --device h200 " + words);
        EXPECT_EQ(run.exit, 2) << words;
        EXPECT_THAT(run.err, HasSubstr(said)) << words;
        EXPECT_EQ(run.out, "") << words;
    };
    refused("", "point needs --flops, --bytes or a file of points");
    refused("--flops 1e9", "engine is missing; NVIDIA H200 has");
    refused("--flops 1e9 --engine bf1", "did you mean");
    refused("--flops 1e9 --engine bf17",
            "engine is 'bf17', of which NVIDIA H200 has no rate "
            "(did you mean 'bf16'?); it has fma.fp16");
    refused("--flops -1 --engine bf16", "--flops: '-1' is no number of 0 or more, such as 250e-6");
    refused("--bytes 1 --seconds 250us", "'250us' is no number of 0 or more");
    refused("--bytes nan", "--bytes: 'nan' is no number of 0 or more");
    refused("--bytes inf", "--bytes: 'inf' is beyond any machine's: from 1e-30 to 1e30");
    refused("--bytes 5e-324", "--bytes: '5e-324' is beyond any machine's");
    refused("--bytes 1 --seconds 0", "--seconds: '0' is no time that anything takes");
    refused("--bytes 1 --memory l9", "memory is 'l9'");
    refused("no.csv", "no.csv: cannot be opened");
    refused("/dev/zero", "no file of points but a device");
    refused("/bin/sh", "/bin/sh is no file of points: it holds bytes that no text has; name a CSV");
    refused(".", "no file of points but a folder");
    refused(write("a.csv", "bytes\n1\n") + " --bytes 3", "a.csv has points of its own");
    refused("a.csv a.csv", "one file");
    refused("--bytes 1 -o x.gif", ".svg");
    refused("--bytes 1 --keep-script", "--output");
    refused(write("own.svg", "bytes\n1\n") + " -o own.svg", "own.svg");
}

}  // namespace
}  // namespace raceline::test
