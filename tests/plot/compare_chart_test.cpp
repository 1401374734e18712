// SPDX-License-Identifier: Apache-2.0
// Comparisons with other libraries: panels, ratios and the looks of peers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "plot/charts.hpp"
#include "plot/drawn_receipts.hpp"
#include "plot/gnuplot_script.hpp"
#include "plot/peer_looks.hpp"
#include "plot/placement.hpp"
#include "receipt/stored_text.hpp"
#include "report/docs_peers.hpp"
#include "report/written_runs.hpp"

namespace raceline {
namespace {

using test::compare_file;
using test::receipt;
using test::series_called;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;

class CompareChart : public test::WrittenRuns {};

TEST_F(CompareChart, stale_comparisons_are_hollow_and_the_key_says_so) {
    TimedRows rows = read_timed_rows({compare_file});
    ASSERT_GT(rows.peers.size(), 1U);
    for (TimedPeer& peer : rows.peers) {
        peer.stale = false;
    }
    EXPECT_THAT(compare_chart(rows).key, testing::Not(HasSubstr("Hollow")));
    rows.peers.front().stale = true;
    const Chart chart = compare_chart(rows);
    EXPECT_THAT(chart.key, HasSubstr("Hollow: stale"));
    std::size_t hollow = 0, filled = 0;
    for (const Panel& panel : chart.panels) {
        for (const Series& series : panel.series) {
            if (series.mark != Mark::none) {
                (series.filled ? filled : hollow) += series.points.size();
            }
        }
    }
    EXPECT_EQ(hollow, 1U);
    EXPECT_EQ(hollow + filled, rows.peers.size());
}

TEST_F(CompareChart, ratios_have_grid_lines_where_they_are_read) {
    EXPECT_THAT(ratio_places(0.9, 3.3), testing::IsSupersetOf({1.0, 1.25, 1.5, 2.0, 3.0}));
    EXPECT_THAT(ratio_places(0.05, 30), testing::IsSupersetOf({0.1, 0.5, 1.0, 2.0, 10.0}));
    for (const double high : {2.0, 3.3, 10.0, 100.0, 1e6}) {
        EXPECT_LE(ratio_places(0.7, high).size(), 10U) << high;
    }
    const std::string script =
        gnuplot_script(compare_chart(read_timed_rows({compare_file})), PictureForm::svg);
    EXPECT_THAT(script, HasSubstr(" 1.25, 1.5, "));
    EXPECT_THAT(script, HasSubstr("set grid lc rgb '#cfcfcf'"));
}

TEST_F(CompareChart, comparisons_of_two_commits_have_panels_of_their_own) {
    const Chart chart = compare_chart(
        read_timed_rows({compare_file,
                         receipt("h200/2026-11-22-compare-spread-3d1ff90bf28f.jsonl.gz"),
                         receipt("h200/2026-11-22-compare-prefill_mma-4780f87e724b.jsonl.gz")}),
        Shown::all);
    ASSERT_EQ(chart.panels.size(), 3U);
    EXPECT_EQ(chart.columns, 1U);
    EXPECT_THAT(chart.panels[0].title, HasSubstr("prefill_sm90 on h200 at 4b2ec027 of 2026-11-23"));
    EXPECT_THAT(chart.panels[1].title, HasSubstr("prefill_sm90 on h200 at 3d1ff90b"));
    EXPECT_THAT(chart.panels[1].title, HasSubstr("stale"));
    EXPECT_THAT(chart.panels[2].title, HasSubstr("prefill_mma"));
    // A peer looks the same in all of them.
    const Series& first = series_called(chart.panels[0], "FlashAttention-2");
    const Series& last = series_called(chart.panels[2], "FlashAttention-2");
    EXPECT_EQ(first.colour, last.colour);
    EXPECT_EQ(first.mark, last.mark);
}

// Whatever stands beside it: a picture of one file, of another one, and the page.
TEST_F(CompareChart, a_peer_has_one_look_everywhere) {
    const Chart training = compare_chart(read_timed_rows({compare_file}));
    const Chart e4m3 = compare_chart(
        read_timed_rows({receipt("h200/2026-11-23-compare-e4m3-4b2ec0278ce6.jsonl.gz")}));
    const Series& among = series_called(training.panels[0], "FlashAttention-3");
    const Series& alone = series_called(e4m3.panels[0], "FlashAttention-3");
    EXPECT_EQ(among.colour, alone.colour);
    EXPECT_EQ(among.mark, alone.mark);
    EXPECT_NE(among.colour, series_called(training.panels[0], "FlashAttention-2").colour);
    // Of all receipts no two look alike, and none of one kernel share a colour.
    const TimedRows all = read_timed_rows(stored_receipts(receipt("")));
    const std::vector<std::size_t> numbers = peer_numbers(all.peers);
    std::map<std::pair<Colour, Mark>, std::string> looks;
    std::map<std::pair<std::string, Colour>, std::string> colours;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const TimedPeer& peer = all.peers[i];
        // Forms of PyTorch on a CPU are peers of their own.
        const std::string name =
            peer.peer + (peer.peer == "torch_cpu" ? " " + peer_form(peer) : "");
        const Colour colour = peer_colour(numbers[i]);
        EXPECT_EQ(looks.try_emplace({colour, peer_mark(numbers[i])}, name).first->second, name);
        EXPECT_EQ(colours.try_emplace({peer.kernel, colour}, name).first->second, name);
    }
    EXPECT_GE(looks.size(), 10U);
}

// "FlashInfer" is the title of two programs: where both are drawn, their short names stand behind.
TEST_F(CompareChart, peers_of_one_title_are_told_apart) {
    TimedRows rows = read_timed_rows({compare_file});
    for (TimedPeer& peer : rows.peers) {
        peer.peer = peer.peer == "cudnn" ? "flashinfer_decode" : peer.peer;
    }
    const Chart chart = compare_chart(rows);
    const Panel& panel = chart.panels.at(0);
    EXPECT_EQ(series_called(panel, "FlashInfer (flashinfer)").points.size(), 36U);
    EXPECT_EQ(series_called(panel, "FlashInfer (flashinfer_decode)").points.size(), 36U);
    EXPECT_EQ(series_called(panel, "FlashAttention-3").points.size(), 36U);
}

TEST_F(CompareChart, compare_has_a_point_for_each_shape_and_peer) {
    const TimedRows rows = read_timed_rows({compare_file});
    const Chart chart = compare_chart(rows);
    const Panel& panel = chart.panels.at(0);
    EXPECT_EQ(panel.y.ticks.size(), 36U);
    for (const char* peer :
         {"cuDNN", "FlashAttention-2", "FlashAttention-3", "FlashAttention-4", "FlashInfer"}) {
        const Series& series = series_called(panel, peer);
        ASSERT_EQ(series.points.size(), 36U) << peer;
        for (const ChartPoint& point : series.points) {
            EXPECT_LE(point.low, point.x);
            EXPECT_LE(point.x, point.high);
            EXPECT_GE(point.low, panel.x.low);
            EXPECT_LE(point.high, panel.x.high);
        }
    }
    // The first row of the file, as it stands there.
    const TimedPeer& first = rows.peers.at(0);
    EXPECT_THAT(series_called(panel, peer_title(first.peer)).points,
                Contains(Field(&ChartPoint::x, first.ratio)));
}

// Below small panels a legend stands nearer to the next one's title than to its own marks.
TEST_F(CompareChart, each_of_several_comparisons_has_its_legend_above) {
    const Chart chart = compare_chart(read_timed_rows(
        {receipt("h200/2026-11-22-compare-spread-prefill_mma-9065707500a7.jsonl.gz"),
         receipt("h200/2026-11-23-compare-decode_sm90-b29739d91fca.jsonl.gz")}));
    ASSERT_GT(chart.panels.size(), 2U);
    double before = 1;
    for (std::size_t i = 0; i < chart.panels.size(); ++i) {
        const Place place = place_of(chart, i);
        EXPECT_GT(place.legend, place.top) << chart.panels[i].title;
        EXPECT_LT(place.legend, before) << chart.panels[i].title;
        before = place.bottom;
    }
}

}  // namespace
}  // namespace raceline
