// SPDX-License-Identifier: Apache-2.0
#include "report/scorecard.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "raceline/error.hpp"
#include "report/scorecard_text.hpp"
#include "written_runs.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;
using testing::Not;

class Card : public test::WrittenRuns {
protected:
    Scorecard read(const std::vector<std::string>& files = {"r.jsonl"}) {
        Scorecard card;
        for (const std::string& file : files) {
            card.add(path(file));
        }
        return card;
    }
    // Of the only group with this class.
    static Score of_class(const Scorecard& card, Sight sight) {
        const std::vector<Score> scores = card.scores();
        const auto found = std::ranges::find_if(
            scores, [&](const Score& score) { return score.group.sight == sight; });
        EXPECT_NE(found, scores.end()) << sight_name(sight);
        return found == scores.end() ? Score{} : *found;
    }
    static std::size_t rows_in(const Scorecard& card) {
        std::size_t count = 0;
        for (const Score& score : card.scores()) {
            count += score.accuracy.count;
        }
        return count;
    }
};

TEST_F(Card, has_a_line_for_each_class) {
    run(1.09e-3, 1e-3);
    which_.workload.seqlen_k = 17;
    run(1.31e-3, 1e-3);
    another_run();
    run(2e-3, 1e-3);
    which_.workload.seqlen_k = 18;
    run(0.6e-3, 1e-3);
    const Scorecard card = read();
    const Score first = of_class(card, Sight::new_kernel);
    EXPECT_EQ(first.accuracy.count, 2U) << "the kernel's first run";
    EXPECT_NEAR(first.accuracy.median_absolute, 0.2, 1e-9);
    EXPECT_NEAR(first.accuracy.within_10, 0.5, 1e-9);
    EXPECT_NEAR(of_class(card, Sight::seen).accuracy.median_absolute, 1.0, 1e-9);
    EXPECT_NEAR(of_class(card, Sight::new_case).accuracy.bias, -0.4, 1e-9);
    EXPECT_EQ(first.group.device, "cpu (a test's CPU)");
    ASSERT_EQ(card.first_sights().size(), 1U);
    EXPECT_EQ(card.first_sights()[0].count, 3U) << "both classes of first sight";
    EXPECT_NEAR(card.first_sights()[0].median, 0.31, 1e-9);
}

TEST_F(Card, is_the_same_in_whatever_order_files_are_named) {
    run(1.1e-3, 1e-3, "a.jsonl");
    another_run();
    run(2e-3, 1e-3, "b.jsonl");
    for (const Scorecard& card : {read({"a.jsonl", "b.jsonl"}), read({"b.jsonl", "a.jsonl"})}) {
        EXPECT_NEAR(of_class(card, Sight::new_kernel).accuracy.bias, 0.1, 1e-9);
        EXPECT_NEAR(of_class(card, Sight::seen).accuracy.bias, 1.0, 1e-9);
    }
}

TEST_F(Card, judges_a_file_by_what_was_committed_before_it) {
    run(1.1e-3, 1e-3);
    const Json row = read_receipts(path()).rows.back();
    const SightKeys keys = sight_keys(measured_by(row), "cpu_flash");
    const auto class_by = [&](const std::string& key, const std::string& first) {
        const std::vector<build_info::EmbeddedSight> committed{{key, first}};
        Scorecard card(committed);
        card.add(path());
        return card.scores().at(0).group.sight;
    };
    EXPECT_EQ(class_by(keys.of_case, row.at("written").get<std::string>()), Sight::new_kernel)
        << "by itself";
    EXPECT_EQ(class_by(keys.of_case, "2020-01-01T00:00:00Z"), Sight::seen);
    EXPECT_EQ(class_by(keys.kernel, "2020-01-01T00:00:00Z"), Sight::new_case);
}

TEST_F(Card, tells_regimes_apart_by_the_measured_time) {
    run(50e-6, 19e-6);
    run(5e-6, 20e-6);
    run(5e-6, 101e-6);
    const Scorecard card = read();
    std::vector<Regime> found;
    for (const Score& score : card.scores()) {
        found.push_back(score.group.regime);
    }
    EXPECT_THAT(found, testing::ElementsAre(Regime::under_20us, Regime::from_20us_to_100us,
                                            Regime::over_100us));
}

TEST_F(Card, leaves_out_what_is_unsettled_or_refused_and_says_how_many) {
    run(1e-3, 1e-3);
    run(1e-3, summarize({1e-3, 2e-3, 3e-3}));
    run(1e-3, summarize({1e-3, 2e-3, 3e-3}));
    refuse(9e-3);
    const Scorecard card = read();
    EXPECT_EQ(rows_in(card), 1U);
    EXPECT_EQ(card.left_out().unsettled, 2);
    EXPECT_EQ(card.left_out().failed, 1);
    EXPECT_THAT(scorecard_text(card, TableForm::terminal),
                HasSubstr("In no figure: 2 unsettled, 1 refused by the gate"));
}

TEST_F(Card, leaves_out_rows_of_a_changed_tree_and_says_how_many) {
    run(1e-3, 1e-3);
    context_.git_dirty = true;
    run(2e-3, 1e-3);
    const Scorecard card = read();
    EXPECT_EQ(rows_in(card), 1U);
    EXPECT_EQ(card.left_out().dirty, 1);
    EXPECT_THAT(scorecard_text(card, TableForm::terminal),
                HasSubstr("1 of a tree with uncommitted changes"));
    EXPECT_EQ(scorecard_json(card).at("left_out").at("dirty"), 1);
}

TEST_F(Card, counts_a_file_once_by_whatever_path_it_is_named) {
    run(1e-3, 1e-3);
    std::filesystem::create_symlink(path(), path("link.jsonl"));
    run(1e-3, 1e-3, "other.jsonl");
    EXPECT_EQ(rows_in(read({"r.jsonl", "r.jsonl", "./r.jsonl", "link.jsonl", "other.jsonl"})), 2U);
}

TEST_F(Card, counts_a_copied_row_once_also_beside_the_index) {
    run(1e-3, 1e-3);
    std::filesystem::copy(path(), path("copy.jsonl"));
    run(1e-3, 1e-3, "copy.jsonl");
    EXPECT_EQ(rows_in(read({"r.jsonl", "copy.jsonl"})), 2U);
    const auto past = past_measurements(read_receipts(path()).rows);
    const Json file{{"path", "receipts/cpu/left.jsonl"}, {"sha256", ""}, {"rows", 2}};
    std::ofstream(path("index.jsonl")) << index_line(file, "c", past).dump() << "\n";
    EXPECT_EQ(rows_in(read({"index.jsonl", "copy.jsonl"})), 2U);
    EXPECT_EQ(rows_in(read({"copy.jsonl", "index.jsonl"})), 2U);
}

// Whichever is named first: a changed copy must not take the place of what was measured.
TEST_F(Card, counts_neither_of_two_rows_of_one_moment_that_differ) {
    run(1e-3, 1e-3);
    std::vector<Json> rows = read_receipts(path()).rows;
    Json before = nullptr;
    std::ofstream out(path("copy.jsonl"));
    for (Json& row : rows) {
        if (row.at("kind") == "measurement") {
            for (const char* member : {"seconds_median", "seconds_low", "seconds_high"}) {
                row["measurement"][member] = 9e-3;
            }
        }
        row["prev"] = before;
        row["hash"] = row_hash(row);
        before = row["hash"];
        out << dump_json(row) << '\n';
    }
    out.close();
    for (const auto& order : {std::vector<std::string>{"r.jsonl", "copy.jsonl"},
                              std::vector<std::string>{"copy.jsonl", "r.jsonl"}}) {
        const Scorecard card = read(order);
        EXPECT_EQ(rows_in(card), 0U);
        ASSERT_EQ(card.broken().size(), 1U);
        EXPECT_THAT(card.broken().front().what, HasSubstr("one of the two was changed"));
        EXPECT_THAT(card.broken().front().what, HasSubstr("measured 0.001 s, predicted 0.001 s"));
    }
}

// Neither "line 0" nor "0 s": what there is not is not named by a number.
TEST_F(Card, names_neither_lines_nor_times_that_there_are_not) {
    run(1e-3, 1e-3);
    // The same rows, of which one file lost the predictions.
    std::ofstream out(path("copy.jsonl"));
    Json before = nullptr;
    for (Json& row : read_receipts(path()).rows) {
        if (row.at("kind") != "prediction") {
            row["prev"] = before;
            row["hash"] = row_hash(row);
            before = row["hash"];
            out << dump_json(row) << '\n';
        }
    }
    out.close();
    const Scorecard card = read({"r.jsonl", "copy.jsonl"});
    ASSERT_EQ(card.broken().size(), 1U);
    const std::string said = finding_text(card.broken().front());
    EXPECT_THAT(said, HasSubstr("without a prediction"));
    EXPECT_THAT(said, Not(HasSubstr("0 s")));
    EXPECT_THAT(said, Not(HasSubstr("line 0")));
    EXPECT_THAT(finding_text({"a.jsonl", 3, "why"}), "a.jsonl: line 3: why");
}

TEST_F(Card, leaves_out_rows_that_were_changed_and_says_which) {
    run(1e-3, 1e-3);
    run(2e-3, 1e-3);
    run(3e-3, 1e-3);
    std::vector<Json> rows = read_receipts(path()).rows;
    rows[1]["measurement"]["seconds_median"] = rows[1]["measurement"]["seconds_low"] =
        rows[1]["measurement"]["seconds_high"] = 9e-3;  // its hash is wrong now
    rows.erase(rows.begin() + 2);                       // a prediction: the chain is broken
    std::ofstream out(path());
    for (const Json& row : rows) {
        out << dump_json(row) << '\n';
    }
    out.close();
    const Scorecard card = read();
    EXPECT_EQ(rows_in(card), 1U) << "the last pair";
    ASSERT_GE(card.broken().size(), 2U);
    EXPECT_EQ(card.broken()[0].line, 2U);
    EXPECT_THAT(card.broken()[0].what, HasSubstr("hash does not match the row"));
    EXPECT_EQ(card.broken()[1].line, 3U);
    EXPECT_EQ(card.left_out().broken, 2);
    EXPECT_THAT(scorecard_text(card, TableForm::terminal),
                HasSubstr("; 2 rows of any kind whose hash or chain is broken"));
}

TEST_F(Card, a_comparison_is_in_no_figure_and_makes_its_case_seen) {
    ComparisonRow compared;
    compared.about = row_case(which_, device_);
    compared.correctness = PeerVerdict{.passed = true, .more = Json::object()};
    compared.measurement = compared.peer.measurement = summarize({1e-3, 1e-3, 1e-3});
    compared.peer.name = "torch_cpu";
    compared.peer.correctness.passed = true;
    compared.ratio = compared.ratio_low = compared.ratio_high = 1;
    {
        ReceiptWriter writer(path());
        RowSink{.context = &context_, .writer = &writer, .emit = {}}.put("0", compared);
    }
    another_run();
    run(1e-3, 1e-3);
    const Scorecard card = read();
    EXPECT_EQ(rows_in(card), 1U);
    EXPECT_EQ(of_class(card, Sight::seen).accuracy.count, 1U);
}

TEST_F(Card, has_baselines_beside_the_model_on_the_same_rows) {
    run(1.5e-3, 1e-3);  // an older row, without any of them
    p_.expected_seconds = 1.1e-3;
    p_.uncalibrated_seconds = 0.7e-3;
    p_.datasheet_seconds = 0.25e-3;
    p_.layer1.seconds = {{"dram", 0.5e-3}, {"llc", 0.1e-3}};
    p_.layer2 = {{"launch", 0.1e-3}, {"launch.extra", 0.05e-3}, {"launch.cta", 0.2e-3}};
    run(1.2e-3, 1e-3);
    const Score score = of_class(read(), Sight::new_kernel);
    EXPECT_EQ(score.accuracy.count, 1U);
    const Score older = of_class(read(), Sight::seen);
    const Score& with = score.uncalibrated.count > 0 ? score : older;
    const auto is = [](const Beside& found, double median) {
        EXPECT_EQ(found.count, 1U);
        EXPECT_NEAR(found.median, median, 1e-9);
        EXPECT_NEAR(found.model, 0.2, 1e-9);
    };
    is(with.expected, 0.1);
    is(with.uncalibrated, 0.3);
    is(with.datasheet, 0.75);
    is(with.roofline, 0.5);
    is(with.launch_floor, 0.35);
    const Score& without = score.uncalibrated.count > 0 ? older : score;
    EXPECT_EQ(without.uncalibrated.count + without.datasheet.count + without.expected.count, 0U);
    EXPECT_THAT(scorecard_text(read(), TableForm::terminal), HasSubstr("75.0 % (20.0 %, 1)"));
}

// A reader of the first table must see which time it judges, and what calibration and correction
// make of it.
TEST_F(Card, first_sight_stands_beside_the_uncalibrated_and_the_expected_time) {
    p_.expected_seconds = 1.3e-3;
    p_.uncalibrated_seconds = 0.6e-3;
    run(1.2e-3, 1e-3);
    const FirstSightScore score = read().first_sights().at(0);
    EXPECT_NEAR(score.median, 0.2, 1e-9);
    EXPECT_NEAR(score.uncalibrated.median, 0.4, 1e-9);
    EXPECT_NEAR(score.expected.median, 0.3, 1e-9);
    EXPECT_NEAR(score.expected.model, 0.2, 1e-9);
    const std::string text = scorecard_text(read(), TableForm::markdown);
    EXPECT_THAT(text, HasSubstr("| 20.0 % (1) | 40.0 % (20.0 %, 1) |\n"));
    EXPECT_THAT(text, HasSubstr("| 30.0 % (20.0 %, 1) |\n"));
    EXPECT_THAT(text, HasSubstr("`seconds`, the model's own time"));
    EXPECT_THAT(text, HasSubstr("further off than the model's own here:\n"));
    EXPECT_THAT(text, HasSubstr("| kernel never measured | 30.0 % | 20.0 % | 1 |\n"));
}

// All that it knows of a CPU is its name, which several machines may have.
TEST_F(Card, says_that_machines_of_one_name_are_counted_together) {
    run(1.2e-3, 1e-3);
    const std::string said = machines_together(read());
    EXPECT_THAT(said, HasSubstr("counted together"));
    EXPECT_THAT(scorecard_text(read(), TableForm::terminal), HasSubstr(said));
    EXPECT_EQ(machines_together(Scorecard()), "");
}

TEST_F(Card, says_if_the_expected_time_is_nowhere_worse) {
    p_.expected_seconds = 1.1e-3;
    run(1.2e-3, 1e-3);
    EXPECT_THAT(scorecard_text(read(), TableForm::terminal),
                HasSubstr("In no group of rows is the expected time further off"));
}

TEST_F(Card, compares_limiters_with_those_of_counters_in_any_file) {
    const auto count = [&](const std::string& id, const char* limiter) {
        ReceiptWriter writer(path("counters.jsonl"));
        RowSink{.context = &context_, .writer = &writer, .emit = {}}.put(
            "0", CountersRow{.measurement_id = id, .counters = {{"limiter", limiter}}});
    };
    count(run(1e-3, 1e-3), "dram");
    which_.workload.seqlen_k = 17;
    count(run(1e-3, 1e-3), "op.ex2");
    which_.workload.seqlen_k = 18;
    run(1e-3, 1e-3);
    const Score score = of_class(read({"r.jsonl", "counters.jsonl"}), Sight::new_kernel);
    EXPECT_EQ(score.accuracy.count, 3U);
    EXPECT_EQ(score.profiled, 2);
    EXPECT_EQ(score.limiter_hits, 1);
}

TEST_F(Card, begins_with_the_worst_kernel_at_first_sight) {
    run(1.1e-3, 1e-3);
    which_.kernel = &find_kernel("simt");
    run(1.4e-3, 1e-3);
    run(9e-3, 1e-3);  // seen: of no account
    which_.kernel = &find_kernel("naive");
    run(1.7e-3, 1e-3);
    const Scorecard card = read();
    const std::string sentence =
        "Worst at first sight: of the engines simt on cpu (a test's CPU), median error 40.0 % over "
        "1 row; of the ladder's rungs naive on cpu (a test's CPU), median error 70.0 % over 1 "
        "row.\n";
    for (const TableForm form : {TableForm::terminal, TableForm::markdown}) {
        EXPECT_TRUE(scorecard_text(card, form).starts_with(sentence)) << scorecard_text(card, form);
    }
    EXPECT_EQ(scorecard_json(card).at("worst").get<std::string>() + "\n", sentence);
    EXPECT_THAT(scorecard_text(card, TableForm::markdown), HasSubstr("| simt |"));
    EXPECT_THAT(scorecard_text(card, TableForm::terminal), Not(HasSubstr("|")));
    EXPECT_EQ(scorecard_json(card).at("groups").size(), card.scores().size());
}

TEST_F(Card, reads_files_that_left_from_their_index) {
    run(1.1e-3, 1e-3, "left.jsonl");
    const auto past = past_measurements(read_receipts(path("left.jsonl")).rows);
    const Json file{{"path", "receipts/cpu/left.jsonl"}, {"sha256", ""}, {"rows", 2}};
    std::ofstream(path("index.jsonl")) << index_line(file, "c", past).dump() << "\n";
    another_run();
    run(2e-3, 1e-3);
    const Scorecard card = read({"index.jsonl", "r.jsonl"});
    EXPECT_NEAR(of_class(card, Sight::new_kernel).accuracy.bias, 0.1, 1e-9);
    EXPECT_NEAR(of_class(card, Sight::seen).accuracy.bias, 1.0, 1e-9);
}

TEST(CommittedScorecard, has_every_row_that_counts) {
    const std::string receipts = std::string(RACELINE_SOURCE_DIR) + "/receipts";
    Scorecard card;
    card.add_tree(receipts);
    EXPECT_TRUE(card.broken().empty());
    std::size_t rows = 0;
    for (const Score& score : card.scores()) {
        rows += score.accuracy.count;
    }
    std::size_t wanted = 0;
    for (const PastFile& file : read_past_of_tree(receipts)) {
        for (const PastMeasurement& m : file.measurements) {
            wanted += m.kind == "measurement" && !m.model.empty() ? 1 : 0;
        }
    }
    // Bands count older unsettled rows, the scorecard none.
    EXPECT_LE(rows, wanted);
    const LeftOut& left = card.left_out();
    EXPECT_GE(rows + static_cast<std::size_t>(left.unsettled + left.dirty), wanted);
    EXPECT_GE(left.dirty, 20) << "of the two files that docs/receipts.md names";
    EXPECT_GE(rows, 9000U);
    EXPECT_THROW(Scorecard().add_tree("no/such/folder"), Error);
}

}  // namespace
}  // namespace raceline
