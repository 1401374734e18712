// SPDX-License-Identifier: Apache-2.0
// expected_seconds has committed errors taken out: an error of it says nothing about the model. One
// column of the scorecard shows it, and nothing else reads it.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "receipt/past_measurement.hpp"
#include "receipt/residuals.hpp"
#include "report/receipt_report.hpp"
#include "report/scorecard.hpp"
#include "report/scorecard_text.hpp"
#include "run/past_errors.hpp"
#include "written_runs.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

// Files that may name it, and why.
const std::set<std::string> allowed{
    "src/receipt/values.hpp",            // what it is
    "src/receipt/rows.cpp",              // reads and writes it in rows
    "src/run/run_case.cpp",              // makes it
    "src/run/repredict.cpp",             // leaves it out
    "src/api/predict.cpp",               // hands it to the caller
    "src/report/case_table.cpp",         // prints it, without an error
    "src/report/explanation.cpp",        // prints it, without an error
    "src/report/answer_text.cpp",        // prints it, without an error
    "src/report/help_sentences.cpp",     // says how far the bound is from it
    "src/receipt/past_measurement.cpp",  // keeps it for the scorecard when a file leaves the tree
    "src/report/scorecard.hpp",          // says what the column is
    "src/report/layer_report.cpp",       // the same of the parts of a layer
    "src/report/size_sweep.cpp",         // and of each size of --over
    "tools/freeze.py",                   // lists it before a run
};

// Of src, apps, tools and bench.
std::set<std::string> files_with(const std::regex& what) {
    const fs::path root = RACELINE_SOURCE_DIR;
    std::set<std::string> found;
    for (const char* folder : {"src", "apps", "tools", "bench"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            if (!entry.is_regular_file()) {
                continue;
            }
            std::ifstream in(entry.path(), std::ios::binary);
            const std::string text{std::istreambuf_iterator<char>(in), {}};
            if (std::regex_search(text, what)) {
                found.insert(fs::relative(entry.path(), root).generic_string());
            }
        }
    }
    return found;
}

TEST(ExpectedSeconds, are_named_by_no_other_source) {
    EXPECT_THAT(files_with(std::regex("expected_seconds")),
                testing::UnorderedElementsAreArray(allowed));
}

// What the index keeps of them is handed to the scorecard and to the page's, and to nothing else.
TEST(ExpectedSeconds, of_past_measurements_are_read_by_the_scorecards_alone) {
    EXPECT_THAT(files_with(std::regex("OtherTimes::expected|others\\.expected")),
                testing::UnorderedElementsAre("src/receipt/index_line.cpp",
                                              "src/report/scorecard.cpp", "src/page/scored.cpp"));
}

class ExpectedChanged : public test::WrittenRuns {
protected:
    // The same runs twice, but for expected_seconds.
    void write(double expected_of_predicted) {
        fs::remove(path());
        for (int i = 0; i < 24; ++i) {
            which_.workload.seqlen_k = 16 + i;
            p_.expected_seconds = expected_of_predicted * 1.2e-3;
            run((1.05 + 0.01 * i) * 1e-3, 1e-3);
        }
    }
    std::string bands() {
        const std::vector<Residual> all = residuals_of(read_receipts(path()).rows);
        std::vector<build_info::EmbeddedResidual> embedded;
        embedded.reserve(all.size());
        for (const Residual& r : all) {
            embedded.push_back({r.device_id, r.device_name, r.kernel, r.cold, r.newer_models,
                                r.predicted, r.residual});
        }
        const PastErrors errors(embedded);
        const auto band = errors.band("cpu_flash", device_, true, 1e-3);
        EXPECT_TRUE(band.has_value());
        return fmt::format("{} {} {}", band ? band->low : 0, band ? band->high : 0,
                           errors.expected("cpu_flash", device_, true, 1e-3));
    }
    std::string report() {
        ReceiptReport made;
        made.add(path());
        return made.str();
    }
    Json card() {
        Scorecard made;
        made.add(path());
        return scorecard_json(made);
    }
    static Json without_the_column(Json card) {
        for (const char* table : {"groups", "first_sight"}) {
            for (Json& line : card.at(table)) {
                EXPECT_EQ(line.erase("expected"), 1U);
            }
        }
        return card;
    }
};

TEST_F(ExpectedChanged, moves_the_column_of_the_scorecard_and_nothing_else) {
    write(1);
    const std::string bands_before = bands();
    const std::string report_before = report();
    const Json card_before = card();
    write(0.5);
    EXPECT_EQ(bands(), bands_before);
    EXPECT_EQ(report(), report_before);
    EXPECT_EQ(without_the_column(card()), without_the_column(card_before));
    EXPECT_NE(card(), card_before);
}

}  // namespace
}  // namespace raceline
