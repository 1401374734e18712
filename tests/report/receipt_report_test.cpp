// SPDX-License-Identifier: Apache-2.0
#include "report/receipt_report.hpp"

#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <unistd.h>

#include "device/catalog.hpp"
#include "model/prediction.hpp"
#include "receipt/rows.hpp"
#include "receipt/stored_text.hpp"
#include "registry/registry.hpp"
#include "report/case_accuracy.hpp"
#include "report/first_sight.hpp"
#include "run/run_case.hpp"
#include "support/text_style.hpp"
#include "timing/measurement.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;
using testing::Not;

// Writes runs of one case whose times a test decides.
class Report : public testing::Test {
protected:
    Report()
        : path_((std::filesystem::temp_directory_path() /
                 ("raceline-report-" + std::to_string(::getpid()) + ".jsonl"))
                    .string()) {
        std::filesystem::remove(path_);
        which_.kernel = &find_kernel("cpu_flash");
        which_.workload = parse_shape("b=1,h=4/2,q=16,k=16,d=64,dtype=fp32");
        which_.options.how = {.cold = true, .launch_path = "parallel", .threads = 2};
        device_.id = "cpu";
        device_.name = "a test's CPU";
    }
    ~Report() override { std::filesystem::remove(path_); }

    void write(double predicted, double bound, double measured, bool stale = false) {
        ReceiptWriter writer(path_);
        const RowSink sink{.context = &context_, .writer = &writer, .emit = {}};
        const std::string_view hash = stale ? "0" : which_.kernel->source_hash;
        Prediction p;
        p.seconds = predicted;
        p.limiter = "dram";
        p.layer1.limiter = "dram";
        p.layer1.bound_seconds = bound;
        p.layer1.seconds = {{"dram", bound}};
        p.layer2 = {{"dram", predicted}};
        p.rates_id = "test";
        p.model_hash = std::string(64, 'a');
        RowCase about = row_case(which_, device_);
        about.code_hash = stale ? "host:0" : about.code_hash;
        Json content = row_to_json(about);
        content["prediction"] = row_to_json(p);
        const Json row = sink.put("prediction", hash, content);
        Correctness verdict;
        verdict.passed = true;
        verdict.relative_rms = 1e-7;
        verdict.worst = 1e-7;
        verdict.bound = verdict.bound_worst = 1e-6;
        verdict.cases = 64;
        content = row_to_json(about);
        content["prediction_id"] = row.at("id");
        content["correctness"] = row_to_json(verdict);
        content["measurement"] = row_to_json(summarize({measured, measured, measured}));
        sink.put("measurement", hash, content);
    }

    ReceiptReport read() {
        ReceiptReport report;
        report.add(path_);
        return report;
    }

    std::string path_;
    RowContext context_;
    Case which_;
    Device device_;
};

// What stands of `cpu_flash` in a class, single-spaced, up to the mean error; "" if it has no line.
std::string accuracy_line(const std::string& text, const std::string& sight) {
    std::smatch found;
    const std::regex line("\\ncpu_flash +" + sight + "  +(.+ %)( +[^ ]+ %){4}\n");
    return std::regex_search(text, found, line)
               ? std::regex_replace(found[1].str(), std::regex(" +"), " ")
               : "";
}

// Kernels, regimes and classes have a line each, and no line is of several.
// An embedding moves bytes and computes nothing: 0 FLOP/s says nothing of it.
TEST(CaseTable, the_rate_of_a_case_without_operations_is_that_of_its_bytes) {
    CaseTable table(datasheet_device("h200"));
    CaseLine line;
    line.kernel = "embedding_cuda";
    line.shape = "op=embedding,tokens=583,vocab=32000,d=4096,dtype=fp16";
    line.bytes = 8e6;
    line.measured = 4e-6;
    table.add(line);
    const std::string moved = table.str(CaseTable::Columns::all, {.columns = 0});
    EXPECT_NE(moved.find("2.00 TB/s"), std::string::npos) << moved;
    EXPECT_EQ(moved.find("FLOP/s"), std::string::npos) << moved;
    line.flops = 8e6;
    CaseTable computing(datasheet_device("h200"));
    computing.add(line);
    EXPECT_NE(computing.str(CaseTable::Columns::all, {.columns = 0}).find("2.00 TFLOP/s"),
              std::string::npos);
}

TEST(CaseAccuracy, pools_nothing) {
    const auto line = [](const char* kernel, double predicted, double measured,
                         std::optional<Sight> sight) {
        CaseLine one;
        one.kernel = kernel;
        one.predicted = predicted;
        one.measured = measured;
        one.sight = sight;
        return one;
    };
    const auto rows = [](const std::string& text) {
        return std::ranges::count(text, '\n') - 5;  // a sentence, the heading, a rule, two gaps
    };
    std::vector<CaseLine> lines{line("a", 11e-6, 10e-6, {}), line("a", 21e-6, 20e-6, {}),
                                line("a", 100e-6, 100e-6, {}), line("b", 12e-6, 10e-6, {}),
                                line("b", 9e-6, 10e-6, {})};
    const std::string unasked = accuracy_text(lines);
    EXPECT_EQ(rows(unasked), 4);
    EXPECT_THAT(unasked, Not(HasSubstr("class")));
    EXPECT_THAT(unasked, testing::ContainsRegex("b +under 20 µs +2 +15.0 % +15.0 %"));
    for (CaseLine& one : lines) {
        one.sight = Sight::seen;
    }
    lines.push_back(line("b", 10e-6, 10e-6, Sight::new_case));
    EXPECT_EQ(rows(accuracy_text(lines)), 5);
    EXPECT_EQ(accuracy_text({}), "");
}

TEST_F(Report, keeps_three_classes_apart) {
    write(1.1e-3, 0.5e-3, 1e-3);  // +10 %, the kernel's first run
    context_.argv = {"raceline", "bench", "again"};
    write(2e-3, 0.5e-3, 1e-3);  // +100 %, seen
    which_.workload.seqlen_k = 17;
    write(1.4e-3, 0.5e-3, 1e-3);  // +40 %, another case
    const std::string text = read().str();
    EXPECT_EQ(accuracy_line(text, "kernel never measured"), "over 100 µs 1 10.0 % 10.0 %");
    EXPECT_EQ(accuracy_line(text, "seen"), "over 100 µs 1 100.0 % 100.0 %");
    EXPECT_EQ(accuracy_line(text, "case never measured"), "over 100 µs 1 40.0 % 40.0 %");
    EXPECT_THAT(text, HasSubstr("a test's CPU (cpu)"));
}

TEST_F(Report, what_stands_in_two_files_or_lines_counts_once) {
    write(1.1e-3, 0.5e-3, 1e-3);
    const std::string once = read().str();
    ReceiptReport twice;
    twice.add(path_);
    twice.add(path_);  // the same file
    EXPECT_EQ(twice.str(), once);
    const std::string copy = path_ + ".copy";
    std::filesystem::copy_file(path_, copy);
    twice.add(copy);
    std::filesystem::remove(copy);
    EXPECT_EQ(twice.rows().size(), 2U);
    EXPECT_EQ(twice.str(), once + "2 rows counted once: another file or line has the same\n");
}

TEST_F(Report, a_case_faster_than_its_ceilings_is_a_finding) {
    write(1e-3, 0.9e-3, 1e-3);
    EXPECT_TRUE(read().findings().empty());
    write(1e-3, 1.2e-3, 1e-3);
    const ReceiptReport report = read();
    ASSERT_EQ(report.findings().size(), 1U);
    EXPECT_EQ(report.findings()[0].line, 4U);
    EXPECT_THAT(report.findings()[0].what, HasSubstr("measured too low"));
    EXPECT_TRUE(report.broken().empty());
}

// What a library's code executes is guessed.
TEST_F(Report, what_is_predicted_of_a_library_bounds_nothing) {
    which_.kernel = &find_kernel("linear_onednn");
    which_.tile = 0;
    which_.workload = parse_shape("op=linear,m=3,n=40,k=33");
    write(1e-3, 1.2e-3, 1e-3);
    EXPECT_TRUE(read().findings().empty());
}

TEST_F(Report, a_row_of_an_older_kernel_is_marked_and_never_a_finding) {
    write(1e-3, 0.9e-3, 1e-3, true);
    const ReceiptReport report = read();
    EXPECT_EQ(report.stale(), 1);
    EXPECT_TRUE(report.findings().empty());
    EXPECT_THAT(report.str(), HasSubstr("stale"));
}

TEST_F(Report, regimes_are_told_apart_by_the_measured_time) {
    write(1e-5, 1e-6, 1e-5);
    which_.workload.seqlen_q = 17;
    write(5e-5, 1e-6, 5e-5);
    which_.workload.seqlen_q = 18;
    write(5e-3, 1e-6, 5e-3);
    const std::string text = read().str();
    for (const std::string regime : {"under 20 µs", "20–100 µs", "over 100 µs"}) {
        EXPECT_THAT(text,
                    testing::ContainsRegex("kernel never measured +" + regime + " +1 +0.0 %"));
    }
    EXPECT_THAT(text, Not(HasSubstr(" seen ")));
}

// Times of a test's own, written like a run's.
class Unsettled : public Report {
protected:
    void write_samples(const std::vector<double>& samples) {
        write(1e-3, 1e-6, 1e-3);
        ReceiptFile file = read_receipts(path_);
        std::filesystem::remove(path_);
        ReceiptWriter writer(path_);
        for (Json& row : file.rows) {
            row.erase("prev");
            row.erase("hash");
            if (row.at("kind") == "measurement") {
                row["measurement"] = row_to_json(summarize(samples));
                row["measurement"]["disturbance"] = "3 of 9 samples were disturbed";
            }
            writer.append(row);
        }
    }
};

TEST_F(Unsettled, a_noisy_row_stands_in_the_table_and_counts_for_nothing) {
    write_samples({1e-3, 2e-3, 3e-3});
    ReceiptReport report = read();
    EXPECT_TRUE(report.findings().empty());
    EXPECT_THAT(report.str(), HasSubstr("2.00 ms"));
    EXPECT_THAT(report.str(), Not(HasSubstr("Errors of the model's predictions")));
    EXPECT_THAT(
        report.str(),
        HasSubstr(
            "1 time is unsettled, and counted in no accuracy and no ratio:\n  cpu_flash on "));
    EXPECT_THAT(report.str(), HasSubstr("3 of 9 samples were disturbed"));
    constexpr std::size_t narrow = 60;
    const std::string text = report.str({.columns = narrow});
    const std::size_t from = text.find("1 time is unsettled");
    ASSERT_NE(from, std::string::npos);
    std::istringstream lines(text.substr(text.find('\n', from)));
    for (std::string line; std::getline(lines, line) && !line.empty();) {
        EXPECT_LE(text_width(line), narrow) << line;
    }
    // A settled one after it is a first sight.
    write(1e-3, 1e-6, 1e-3);
    EXPECT_EQ(accuracy_line(read().str(), "seen"), "");
    EXPECT_EQ(accuracy_line(read().str(), "kernel never measured"), "over 100 µs 1 0.0 % 0.0 %");
}

TEST_F(Unsettled, a_quiet_row_counts) {
    write_samples({1e-3, 1e-3, 1.01e-3});
    EXPECT_THAT(read().str(), Not(HasSubstr("unsettled")));
    EXPECT_EQ(accuracy_line(read().str(), "kernel never measured"), "over 100 µs 1 0.0 % 0.0 %");
}

TEST_F(Unsettled, a_noisy_side_of_a_comparison_makes_no_ratio) {
    const auto compare = [this](double ours_high, double theirs) {
        ReceiptWriter writer(path_);
        ComparisonRow row;
        row.about = row_case(which_, device_);
        row.correctness =
            PeerVerdict{.passed = true, .more = {{"relative_rms", 1e-7}, {"bound", 1e-6}}};
        row.measurement = summarize({1e-3, 1e-3, 1e-3});
        row.measurement.seconds_high = ours_high;
        row.measurement.unsettled = is_wide(row.measurement);
        row.peer = {.name = "fa2",
                    .version = "2",
                    .backend = "b",
                    .measurement = {},
                    .correctness = {.passed = true}};
        row.peer.measurement = summarize({theirs, theirs, theirs});
        row.ratio = row.ratio_high = theirs / 1e-3;
        row.ratio_low = theirs / ours_high;
        RowSink{.context = &context_, .writer = &writer, .emit = {}}.put("0", row);
    };
    compare(1.2e-3, 0.1);
    EXPECT_THAT(read().str(), HasSubstr("fa2's time / cpu_flash's: no settled row"));
    EXPECT_THAT(read().str(), HasSubstr("the median's interval is 20 % of it"));
    compare(1e-3, 2e-3);
    EXPECT_THAT(read().str(), HasSubstr("geometric mean 2.00 of 1 comparison\n"));
    EXPECT_TRUE(read().findings().empty());
}

// What is known of a case only by the committed receipts, in the tree or in their index.
TEST_F(Report, a_case_that_committed_receipts_measured_earlier_is_seen) {
    write(1e-3, 1e-6, 1e-3);
    const Json row = read().rows().back();
    const SightKeys keys = sight_keys(measured_by(row), "cpu_flash");
    const auto class_by = [&](const std::string& of, const std::string& first) {
        const std::vector<build_info::EmbeddedSight> committed{{"0", "1"}, {of, first}, {"g", "1"}};
        ReceiptReport report(committed);
        report.add(path_);
        const std::string text = report.str();
        for (const std::string sight : {"seen", "kernel never measured", "case never measured"}) {
            if (!accuracy_line(text, sight).empty()) {
                return sight;
            }
        }
        return text;
    };
    EXPECT_EQ(class_by(keys.of_case, "2020-01-01T00:00:00Z"), "seen");
    EXPECT_EQ(class_by(keys.of_case, row.at("written").get<std::string>()), "kernel never measured")
        << "by itself";
    EXPECT_EQ(class_by(keys.of_case, "9999-01-01T00:00:00Z"), "kernel never measured");
    EXPECT_EQ(class_by(keys.kernel, "2020-01-01T00:00:00Z"), "case never measured");
    EXPECT_EQ(class_by(std::string(16, 'f'), "2020-01-01T00:00:00Z"), "kernel never measured");
}

TEST_F(Report, classes_do_not_depend_on_the_order_of_the_files) {
    write(1.1e-3, 0.5e-3, 1e-3);
    const std::string earlier = path_;
    path_ += ".later.jsonl";
    std::filesystem::remove(path_);
    write(2e-3, 0.5e-3, 1e-3);
    ReceiptReport report;
    report.add(path_);
    report.add(earlier);
    std::filesystem::remove(earlier);
    const std::string text = report.str();
    EXPECT_EQ(accuracy_line(text, "kernel never measured"), "over 100 µs 1 10.0 % 10.0 %");
    EXPECT_EQ(accuracy_line(text, "seen"), "over 100 µs 1 100.0 % 100.0 %");
}

TEST(FirstSights, are_of_files_in_the_tree_and_of_those_that_left) {
    const std::string receipts = std::string(RACELINE_SOURCE_DIR) + "/receipts";
    std::size_t in_tree = 0;
    std::size_t left = 0;
    for (const PastFile& file : read_past_of_tree(receipts)) {
        for (const PastMeasurement& m : file.measurements) {
            const SightKeys keys = sight_keys(m, m.kernel);
            for (const std::string& key : {keys.kernel, keys.of_case}) {
                const auto all = build_info::first_sights();
                const auto at =
                    std::ranges::lower_bound(all, key, {}, &build_info::EmbeddedSight::key);
                ASSERT_TRUE(at != all.end() && at->key == key) << file.path;
                EXPECT_LE(at->first, m.written) << file.path;
            }
        }
        ++(std::filesystem::exists(file.path) ? in_tree : left);
    }
    EXPECT_GE(in_tree, 2U);
    EXPECT_GE(left, 2U);
}

// Every committed receipt passes `report --check`, with the history where there is one. Staleness
// is no failure.
TEST(CommittedReceipts, all_verify) {
    int files = 0;
    const CommittedEvidence evidence(RACELINE_SOURCE_DIR);
    ReceiptReport history;
    history.add_history(evidence);
    for (const Finding& finding : history.findings()) {
        ADD_FAILURE() << finding.file << ": line " << finding.line << ": " << finding.what;
    }
    // Manifest and index are no receipts: tests/receipt/manifest_test.cpp checks these.
    for (const std::string& path : stored_receipts(RACELINE_SOURCE_DIR "/receipts")) {
        ReceiptReport report;
        report.add(path, &evidence);
        for (const Finding& finding : report.findings()) {
            ADD_FAILURE() << finding.file << ": line " << finding.line << ": " << finding.what;
        }
        EXPECT_FALSE(report.rows().empty()) << path;
        ++files;
    }
    EXPECT_GE(files, 2);
}

TEST_F(Report, says_how_many_predictions_nothing_answers) {
    write(1e-3, 1e-6, 1e-3);
    const std::string what = "without a measurement or a refusal";
    EXPECT_THAT(read().notes(), Not(testing::Contains(HasSubstr(what))));
    Prediction p;
    p.limiter = "dram";
    {
        ReceiptWriter writer(path_);
        const RowSink sink{.context = &context_, .writer = &writer, .emit = {}};
        for (int i = 0; i < 2; ++i) {
            sink.put("0", PredictionRow{.about = row_case(which_, device_), .prediction = p});
        }
    }
    EXPECT_THAT(read().notes(),
                testing::Contains(HasSubstr(": 2 predictions " + what + ", the first in line 3:")));
    EXPECT_TRUE(read().findings().empty());
}

}  // namespace
}  // namespace raceline
