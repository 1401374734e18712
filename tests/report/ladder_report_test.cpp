// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_report.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "device/catalog.hpp"
#include "model/prediction.hpp"
#include "receipt/file.hpp"
#include "receipt/past_measurement.hpp"
#include "receipt/rows.hpp"
#include "receipt/stored_text.hpp"
#include "registry/registry.hpp"
#include "report/ladder_cases.hpp"
#include "report/ladder_data.hpp"
#include "run/run_case.hpp"
#include "timing/measurement.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;
using testing::Not;

// Rows as `bench` writes them, with times that a test decides.
class LadderRows : public testing::Test {
protected:
    Json row(const char* kind, const char* kernel, const char* shape, Json content) {
        Case which;
        which.suite = "ladder";
        which.kernel = &find_kernel(kernel);
        which.workload = parse_shape(shape);
        which.options.how = {.cold = true, .launch_path = "graph", .threads = 0};
        Json all = row_to_json(row_case(which, h200_));
        all.update(content);
        Json made = make_row(context_, kind, which.kernel->source_hash, all);
        made["written"] = fmt::format("2026-01-01T00:00:{:02}.000000Z", clock_++);
        rows_.push_back(made);
        return made;
    }
    std::string run(const char* kernel, const char* shape, double predicted, double measured) {
        Prediction p;
        p.seconds = predicted;
        p.limiter = "byte.smem_lsu";
        const Json first = row("prediction", kernel, shape, Json{{"prediction", row_to_json(p)}});
        Json content{{"prediction_id", first.at("id")}};
        Correctness good;
        good.passed = true;
        content["correctness"] = row_to_json(good);
        content["measurement"] = row_to_json(summarize({measured, measured, measured}));
        return row("measurement", kernel, shape, content).at("id").get<std::string>();
    }
    /// What the tables say of a rung, one behind the other: a wide table is several.
    std::string line(const std::string& rung) {
        const std::string text = ladder_markdown(rows_), name = "| " + rung + " |";
        std::string cells;
        for (auto at = text.find("\n" + name); at != std::string::npos;
             at = text.find("\n" + name, at + 1)) {
            const auto begin = at + 1 + (cells.empty() ? 0 : name.size());
            cells += text.substr(begin, text.find('\n', begin) - begin);
        }
        return cells;
    }

    static constexpr const char* reference = "h=8,k=2048,d=64,dtype=fp16";
    Device h200_ = datasheet_device("h200");
    RowContext context_;
    std::vector<Json> rows_;
    int clock_ = 10;
};

TEST_F(LadderRows, a_rung_is_shown_beside_its_predecessor) {
    run("naive", reference, 9e-3, 10e-3);
    run("tiled", reference, 1.0e-3, 1.1e-3);
    EXPECT_THAT(line("tiled"), HasSubstr("| naive |"));
    EXPECT_THAT(line("tiled"), HasSubstr("| 1.00 ms | 1.10 ms | -9 % | 9.00× | 9.09× |"));
    EXPECT_THAT(line("tiled"), HasSubstr("| hit |"));
    EXPECT_THAT(line("online"), HasSubstr("| not run |"));
}

TEST_F(LadderRows, a_miss_stays_a_miss) {
    run("naive", reference, 9e-3, 10e-3);
    run("tiled", reference, 1e-3, 9e-3);
    EXPECT_THAT(line("tiled"), HasSubstr("| missed: time, speed-up |"));
}

TEST_F(LadderRows, the_first_correct_run_counts_and_the_last_stands_beside) {
    run("naive", reference, 1e-3, 10e-3);
    context_.argv = {"again"};
    run("naive", reference, 9e-3, 10e-3);
    std::reverse(rows_.begin(), rows_.end());  // the order of rows says nothing
    EXPECT_THAT(line("naive"), HasSubstr("| 1.00 ms | 10.0 ms | -90 % | 10.0 ms (-10 %) |"));
    EXPECT_THAT(line("naive"), HasSubstr("| missed: time |"));
}

TEST_F(LadderRows, a_wrong_result_counts_until_it_is_mended) {
    run("naive", reference, 9e-3, 10e-3);
    rows_.back()["correctness"]["passed"] = false;
    rows_.back()["measurement"] = nullptr;
    EXPECT_THAT(line("naive"), HasSubstr("| FAILED the gate |"));
    context_.argv = {"again"};
    run("naive", reference, 9e-3, 10e-3);
    EXPECT_THAT(line("naive"), HasSubstr("| hit |"));
}

TEST_F(LadderRows, of_several_tiles_the_models_choice_counts) {
    run("tiled", reference, 1e-3, 1e-3);
    run("tiled", reference, 2e-3, 0.5e-3);
    rows_[2]["tile"]["rows"] = rows_[3]["tile"]["rows"] = 32;
    EXPECT_THAT(line("tiled"), HasSubstr("| 1.00 ms | 1.00 ms |"));
}

TEST_F(LadderRows, counters_name_the_limiter_beside_the_predicted_one) {
    const std::string id = run("naive", reference, 9e-3, 10e-3);
    rows_.push_back(
        make_row(context_, "counters", "",
                 Json{{"measurement_id", id}, {"counters", {{"limiter", "op.issue"}}}}));
    EXPECT_THAT(line("naive"), HasSubstr("| byte.smem_lsu | op.issue |"));
    EXPECT_THAT(ladder_markdown(rows_),
                HasSubstr("Limiter right in 0 of 1 cases that were profiled"));
}

TEST_F(LadderRows, a_later_profile_mends_no_limiter) {
    const std::string first = run("naive", reference, 9e-3, 10e-3);
    context_.argv = {"again"};
    const std::string later = run("naive", reference, 9e-3, 10e-3);
    for (const auto& [id, limiter] : {std::pair{later, "byte.smem_lsu"}, {first, "op.issue"}}) {
        rows_.push_back(
            make_row(context_, "counters", "",
                     Json{{"measurement_id", id}, {"counters", {{"limiter", limiter}}}}));
    }
    EXPECT_THAT(line("naive"), HasSubstr("| byte.smem_lsu | op.issue |"));
}

// A rung that takes another cache is shown on the track's shape with that cache, and is the case
// that was profiled.
TEST_F(LadderRows, a_rung_with_a_cache_of_its_own_is_shown_on_the_tracks_shape) {
    run("fp8_kv", "h=32,q=1,k=8192,d=128,dtype=fp16,kv=e4m3", 1e-3, 1e-3);
    run("fp8_kv", "h=32/8,q=1,k=8192,d=128,dtype=fp16,kv=e4m3", 2e-3, 2e-3);
    EXPECT_THAT(line("fp8_kv"),
                HasSubstr("| 2.00 ms on h=32/8,q=1,k=8192,d=128,dtype=fp16,kv=e4m3 | 2.00 ms |"));
}

TEST_F(LadderRows, rows_of_other_suites_are_left_out) {
    run("naive", reference, 9e-3, 10e-3);
    for (Json& row : rows_) {
        row["suite"] = "quickstart";
    }
    EXPECT_THAT(line("naive"), Not(HasSubstr("10.0 ms")));
    EXPECT_THAT(ladder_markdown(rows_), HasSubstr("In every row: verdict not run."));
}

TEST_F(LadderRows, an_older_kernel_is_said_to_be_one) {
    run("naive", reference, 9e-3, 10e-3);
    rows_[1]["source_hash"] = "0";
    EXPECT_THAT(line("naive"), HasSubstr("(of older code)"));
}

TEST_F(LadderRows, a_cache_of_another_type_is_compared_with_the_plain_one) {
    const std::string plain = "h=32/8,q=1,k=8192,d=128,dtype=fp16";  // rows are rows, whatever
    run("naive", plain.c_str(), 4e-6, 5e-6);                         // these two rungs take
    run("tiled", (plain + ",kv=e4m3").c_str(), 2e-6, 2e-6);
    const auto found = LadderCases(rows_).of("h200", find_kernel("tiled"), "ladder");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_DOUBLE_EQ(found[0].speedup_predicted(), 2);
    EXPECT_DOUBLE_EQ(found[0].speedup_measured(), 2.5);
}

TEST_F(LadderRows, a_cache_without_pages_is_compared_with_one_without_pages) {
    const std::string plain = "h=32/8,q=1,k=8192,d=128,dtype=fp16";
    run("gqa_scorestationary", (plain + ",page=64").c_str(), 8e-6, 8e-6);
    run("gqa_scorestationary", plain.c_str(), 4e-6, 5e-6);
    run("fp8_kv", (plain + ",kv=e4m3").c_str(), 2e-6, 2e-6);
    const auto found = LadderCases(rows_).of("h200", find_kernel("fp8_kv"), "ladder");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_DOUBLE_EQ(found[0].speedup_predicted(), 2);
    EXPECT_DOUBLE_EQ(found[0].speedup_measured(), 2.5);
}

TEST_F(LadderRows, a_causal_case_is_never_compared_with_a_full_one) {
    run("naive", reference, 9e-3, 10e-3);
    run("tiled", "h=8,k=2048,d=64,dtype=fp16,causal", 1e-3, 1e-3);
    const auto found = LadderCases(rows_).of("h200", find_kernel("tiled"), "ladder");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].speedup_predicted(), 0);
    EXPECT_EQ(found[0].speedup_measured(), 0);
}

// Each rung runs somewhere in the suite of its track, and all of it can be predicted.
TEST(LadderSuites, run_every_rung) {
    const Device h200 = datasheet_device("h200");
    for (const Kernel& kernel : all_kernels()) {
        if (kernel.rung == nullptr) {
            continue;
        }
        const bool scratch = kernel.rung->track == "from-scratch";
        int runs = 0;
        for (const Workload& w : make_suite(scratch ? "from-scratch" : "ladder").workloads) {
            for (int tile = 0; tile < kernel.tile_count(); ++tile) {
                if (kernel.why_not(w, tile, h200).empty()) {
                    const Prediction p =
                        predict(h200, kernel.counts(w, tile, h200), {true, "graph", 0});
                    EXPECT_GT(p.seconds, 0) << kernel.name << ' ' << format_shape(w);
                    EXPECT_GE(p.seconds, p.layer1.bound_seconds * (1 - 1e-9))
                        << kernel.name << ' ' << format_shape(w);
                    ++runs;
                }
            }
        }
        EXPECT_GT(runs, 0) << kernel.name;
        if (kernel.rung->track == "prefill") {
            EXPECT_GE(runs, 12 * kernel.tile_count()) << kernel.name;
        } else if (scratch) {
            EXPECT_EQ(runs, 2 * kernel.tile_count()) << kernel.name;
        }
    }
}

TEST(LadderRecords, name_a_track_a_predecessor_and_what_to_look_for) {
    for (const Kernel& kernel : all_kernels()) {
        EXPECT_EQ(kernel.ladder, kernel.rung != nullptr) << kernel.name;
        if (kernel.rung != nullptr) {
            EXPECT_THAT(std::string(kernel.rung->track),
                        testing::AnyOf("prefill", "decode", "from-scratch"));
            EXPECT_NE(kernel.rung->changes, "");
            EXPECT_NE(kernel.rung->evidence, "");
            EXPECT_NE(kernel.rung->predecessor, kernel.name);
        }
    }
}

// Every rung stands below its predecessor, also where that is of another track.
TEST(LadderPage, rungs_stand_below_their_predecessors) {
    const std::string page = ladder_markdown({});
    for (const Kernel& kernel : all_kernels()) {
        const auto at = page.find(fmt::format("\n- {}: ", kernel.name));
        if (kernel.rung != nullptr && !kernel.rung->predecessor.empty()) {
            EXPECT_GT(at, page.find(fmt::format("\n- {}: ", kernel.rung->predecessor)))
                << kernel.name;
        }
    }
}

// The table of faults names tests: each is in the file that is named beside it.
TEST(LadderPage, names_tests_that_exist) {
    namespace fs = std::filesystem;
    std::istringstream lines(ladder_lesson("Faults of earlier work"));
    std::vector<std::string> items{""};  // before the first there is a paragraph
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(fmt::format("{}. ", items.size()))) {
            items.emplace_back();
        }
        items.back() += line + " ";
    }
    const auto faults = static_cast<int>(items.size()) - 1;
    const std::regex named("`([A-Za-z]+)\\.([a-z0-9_A-Z]+)`\\s+in\\s+`([a-z0-9_/]+\\.cpp)`");
    for (const std::string& item : items) {
        for (std::sregex_iterator at(item.begin(), item.end(), named), end; at != end; ++at) {
            std::ifstream file(fs::path(RACELINE_SOURCE_DIR) / at->str(3));
            const std::string source{std::istreambuf_iterator<char>(file), {}};
            EXPECT_THAT(source, HasSubstr(at->str(1) + ", " + at->str(2) + ")")) << item;
        }
        EXPECT_TRUE(&item == &items.front() || std::regex_search(item, named)) << item;
    }
    EXPECT_EQ(faults, 10);
}

// To mend it: raceline report --ladder receipts/index.jsonl* receipts/*/*-ladder-*.jsonl.gz
// receipts/*/*-from-scratch-*.jsonl.gz
TEST(LadderPage, is_not_stale) {
    namespace fs = std::filesystem;
    std::vector<Json> rows;
    for (const std::string& path : stored_receipts(RACELINE_SOURCE_DIR "/receipts")) {
        if (path.find("-ladder-") != std::string::npos ||
            path.find("-from-scratch-") != std::string::npos) {
            const ReceiptFile file = read_receipts(path);
            rows.insert(rows.end(), file.rows.begin(), file.rows.end());
        }
    }
    std::ifstream page(fs::path(RACELINE_SOURCE_DIR) / "docs/ladder.md");
    const std::string committed{std::istreambuf_iterator<char>(page), {}};
    std::vector<PastFile> left;
    for (const std::string& index : stored_indexes(RACELINE_SOURCE_DIR "/receipts")) {
        std::ranges::move(read_past(index), std::back_inserter(left));
    }
    EXPECT_TRUE(ladder_markdown(rows, left) == committed)
        << "docs/ladder.md is not what `raceline report --ladder` writes from records, lessons and "
           "receipts";
}

}  // namespace
}  // namespace raceline
