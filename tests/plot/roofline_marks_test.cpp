// SPDX-License-Identifier: Apache-2.0
// Marks of a roofline that would hide each other, and what may stand on marks.
#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "other_rows.hpp"
#include "plot/charts.hpp"
#include "plot/placement.hpp"
#include "plot/roofline_points.hpp"
#include "receipt/stored_text.hpp"
#include "report/written_runs.hpp"

namespace raceline {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string receipt(const std::string& name) {
    return std::string(RACELINE_SOURCE_DIR) + "/receipts/" + name;
}

class RooflineMarks : public test::WrittenRuns {};

TEST_F(RooflineMarks, marks_of_one_kernel_at_two_commits_stand_apart) {
    p_.layer1.seconds = {{"dram", 1e-6}};
    p_.layer1.bound_seconds = 1e-6;
    p_.layer1.limiter = "dram";
    run(2e-6, 4e-6, "a.jsonl");
    const std::vector<Json> once = read_timed_rows({path("a.jsonl")}).rows;
    const std::vector<Json> rows = test::joined(once, test::at_commit(once, 'f'));
    const Chart chart = roofline_chart(timed_rows_of(rows));
    std::vector<double> x;
    std::set<Mark> marks;
    for (const Series& one : chart.panels.at(0).series) {
        if (one.title.starts_with("cpu_flash at ")) {
            x.push_back(one.points.at(0).x);
            marks.insert(one.mark);
        }
    }
    ASSERT_EQ(x.size(), 2U);
    EXPECT_EQ(marks.size(), 2U);
    // A mark is a good hundredth of the chart wide.
    const Axis& axis = chart.panels[0].x;
    EXPECT_GT(std::abs(std::log(x[1] / x[0])), 0.01 * std::log(axis.high / axis.low));
    EXPECT_THAT(chart.notes, Contains(HasSubstr("the newest in its place")));
    // One gap is labelled, whatever number of commits: that of the kernel.
    EXPECT_EQ(std::ranges::count_if(
                  chart.panels[0].series,
                  [](const Series& s) { return s.title.find("left to") != std::string::npos; }),
              1);
}

// The newest stands where it belongs; what is moved stands at a wrong intensity, so none far away.
TEST_F(RooflineMarks, marks_of_many_commits_stand_near_their_place_the_newest_in_it) {
    run(2e-6, 4e-6, "a.jsonl");
    const std::vector<Json> once = read_timed_rows({path("a.jsonl")}).rows;
    const RooflineGroups alone = roofline_groups(timed_rows_of(once));
    const double intensity = alone.begin()->second.at(0).intensity;
    for (const std::size_t commits : {2, 5, 9}) {
        std::vector<Json> rows;
        for (std::size_t i = 0; i < commits; ++i) {
            // Of the hashes the least was written last: order of names is no order of time.
            rows = test::joined(
                rows, test::other_rows(once, std::to_string(i), [&](Json& row) {
                    row["git"]["commit"] = std::string(40, static_cast<char>('a' + i));
                    row["written"] = "2026-12-0" + std::to_string(9 - i) + "T00:00:00.000000Z";
                }));
        }
        const Chart chart = roofline_chart(timed_rows_of(rows));
        ASSERT_EQ(chart.panels.size(), 1U);
        const Panel& panel = chart.panels[0];
        std::map<std::string, double> moved;  // by commit, in pixels
        for (const Series& one : panel.series) {
            if (const auto at = one.title.find(" at ");
                one.mark != Mark::none && at < one.title.size()) {
                moved[one.title.substr(at + 4)] =
                    (share_of(panel.x, one.points.at(0).x) - share_of(panel.x, intensity)) *
                    place_of(chart, 0).width;
            } else if (one.mark != Mark::none && one.title.starts_with("at ")) {
                moved[one.title.substr(3)] =
                    (share_of(panel.x, one.points.at(0).x) - share_of(panel.x, intensity)) *
                    place_of(chart, 0).width;
            }
        }
        ASSERT_EQ(moved.size(), commits);
        EXPECT_NEAR(moved.begin()->second, 0, 0.5);
        double before = -2;
        for (const auto& [commit, pixels] : moved) {
            EXPECT_GT(pixels, before + 1.5) << commit;
            EXPECT_LT(pixels, 1.6 * line_height) << commit;
            before = pixels;
        }
    }
}

// Marks of memory-bound cases follow the diagonal of the DRAM, and its name stands on none.
TEST_F(RooflineMarks, names_of_memory_stand_on_no_marks) {
    std::size_t names = 0;
    for (const std::vector<std::string>& files :
         {std::vector<std::string>{receipt("cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz"),
                                   receipt("cpu/2026-11-22-ceilings-f13186e093fd.jsonl.gz"),
                                   receipt("cpu/2026-11-21-torch-5ea677882833.jsonl.gz"),
                                   receipt("h200/2026-11-21-ladder-12c3875edbd2.jsonl.gz")},
          stored_receipts(receipt(""))}) {
        const Chart chart = roofline_chart(read_timed_rows(files));
        for (std::size_t i = 0; i < chart.panels.size(); ++i) {
            const Panel& panel = chart.panels[i];
            const Place place = place_of(chart, i);
            const std::vector<Box> marks = boxes_of_marks(panel, place);
            for (const ChartText& text : panel.texts) {
                if (text.text.find("B/s") != std::string::npos) {
                    const Box box = box_of(panel, place, text);
                    EXPECT_EQ(std::ranges::count_if(
                                  marks, [&](const Box& mark) { return overlap(box, mark); }),
                              0)
                        << panel.title << ": " << text.text;
                    ++names;
                }
            }
        }
    }
    EXPECT_GT(names, 40U);
}

}  // namespace
}  // namespace raceline
