// SPDX-License-Identifier: Apache-2.0
// The program as a user meets it: output, exit codes, refusals.
#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/rows.hpp"
#include "receipt/stored_text.hpp"
#include "run/commit_build.hpp"
#include "run/repredict.hpp"

namespace raceline::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* tiny = "--device cpu --shape b=1,h=2,q=64,k=64,d=64,dtype=fp32";

class Cli : public testing::Test {
protected:
    Sandbox box;
};

TEST_F(Cli, bench_writes_a_prediction_then_a_measurement_that_names_it) {
    const Outcome bench = box.run(std::string("bench --receipts r.jsonl ") + tiny);
    ASSERT_EQ(bench.exit, 0) << bench.err;
    EXPECT_THAT(bench.out, HasSubstr("cpu_flash"));
    EXPECT_THAT(bench.out, HasSubstr("pass"));
    EXPECT_THAT(bench.err, HasSubstr("r.jsonl"));
    const ReceiptFile file = read_receipts(box.path("r.jsonl"));
    EXPECT_TRUE(check_receipts(file).empty());
    const Json* predicted = nullptr;
    int measured = 0;
    for (const Json& row : file.rows) {
        if (row.at("kind") == "prediction") {
            predicted = &row;
        } else if (row.at("kind") == "measurement") {
            ASSERT_NE(predicted, nullptr) << "a measurement before its prediction";
            EXPECT_EQ(row.at("prediction_id"), predicted->at("id"));
            EXPECT_LT(predicted->at("written"), row.at("written"));
            EXPECT_GT(row.at("measurement").at("seconds_median").get<double>(), 0);
            ++measured;
        }
    }
    EXPECT_GE(measured, 1);
}

TEST_F(Cli, json_is_rows_on_stdout_and_nothing_else) {
    for (const std::string& command :
         {std::string("bench ") + tiny, std::string("check ") + tiny,
          std::string("predict ") + tiny, std::string("devices"), std::string("kernels")}) {
        const Outcome run = box.run(command + " --json");
        ASSERT_EQ(run.exit, 0) << command << ": " << run.err;
        ASSERT_FALSE(run.lines().empty()) << command;
        for (const std::string& line : run.lines()) {
            const Json row = Json::parse(line);
            if (!row.contains("prev")) {
                EXPECT_EQ(row.at("schema"), receipt_schema) << command;
            } else {
                EXPECT_NO_THROW(validate_row(row)) << command;
            }
        }
    }
}

TEST_F(Cli, predict_writes_no_file_unless_asked) {
    ASSERT_EQ(box.run("predict --device h200 --suite llama3-8b").exit, 0);
    EXPECT_FALSE(std::filesystem::exists(box.path("state")));
    ASSERT_EQ(box.run("predict --device h200 --suite llama3-8b --receipts p.jsonl").exit, 0);
    EXPECT_GT(read_receipts(box.path("p.jsonl")).rows.size(), 5U);
}

TEST_F(Cli, only_kernels_that_were_named_leave_refusals) {
    const std::string shape = " --shape b=1,h=2,q=64,k=64,d=64,dtype=bf16";
    const auto refusals = [&](const std::string& words) {
        const Outcome run = box.run("predict --device h200 --json" + words + shape);
        EXPECT_EQ(run.exit, 0) << run.err;
        const auto lines = run.lines();
        return std::ranges::count_if(lines, [](const std::string& line) {
            return Json::parse(line).at("kind") == "refusal";
        });
    };
    EXPECT_EQ(refusals(""), 0) << "cpu_flash and most rungs do not serve this";
    EXPECT_EQ(refusals(" --kernel cpu_flash --kernel simt"), 1);
}

// One problem: what a call runs, why that takes its time, what would help, and the bound.
TEST_F(Cli, predict_answers_with_what_the_api_would_run) {
    const Outcome b200 =
        box.run("predict --device b200 --shape h=8,q=4096,k=4096,d=128,dtype=bf16");
    ASSERT_EQ(b200.exit, 0) << b200.err;
    EXPECT_THAT(b200.lines().front(),
                testing::StartsWith("h=8,q=4096,k=4096,d=128,dtype=bf16 on NVIDIA B200"));
    EXPECT_THAT(b200.out, AllOf(HasSubstr("prefill_mma, which the API runs"), HasSubstr("Why: "),
                                HasSubstr("What would help"), HasSubstr("-v shows all kernels"),
                                HasSubstr("Bound of the problem: "),
                                HasSubstr("by flop.tcgen05.bf16"), Not(HasSubstr("simt"))));
    EXPECT_THAT(b200.out, HasSubstr("datasheet x h200")) << "a kernel reaches no datasheet";
    const Outcome other =
        box.run("predict --device mi300x --shape h=8,q=1,k=4096,d=128,dtype=bf16");
    ASSERT_EQ(other.exit, 0) << other.err;
    EXPECT_THAT(other.out, AllOf(HasSubstr("No kernel of the API serves it: "),
                                 HasSubstr("it runs on CUDA GPUs, not on mi300x"),
                                 HasSubstr("Bound of the problem: ")));
}

// Behind -v stands the table of all kernels, each problem under its bound.
TEST_F(Cli, predict_verbose_begins_each_problem_with_its_bound) {
    const Outcome all =
        box.run("predict --device b200 -v --wide --shape h=8,q=4096,k=4096,d=128,dtype=bf16");
    ASSERT_EQ(all.exit, 0) << all.err;
    const std::string table = all.out.substr(all.out.find("\nAll kernels\n"));
    EXPECT_THAT(table, testing::ContainsRegex("\nh=8,q=4096,k=4096,d=128,dtype=bf16 +flop.tcgen05"
                                              ".bf16 .*100 %.*bound, products on"));
    EXPECT_THAT(table, AllOf(HasSubstr("\n  prefill_mma"), HasSubstr("\n  simt"),
                             HasSubstr("not run on 1 shape: "), Not(HasSubstr("combine"))));
    const Outcome other =
        box.run("predict --device mi300x -v --shape h=8,q=1,k=4096,d=128,dtype=bf16");
    EXPECT_THAT(other.out,
                AllOf(HasSubstr("(no kernel serves it)"), HasSubstr("rates: datasheet")));
}

TEST_F(Cli, predict_shows_a_row_for_each_of_several_problems) {
    const Outcome suite = box.run("predict --device h200 --suite llama3-8b");
    ASSERT_EQ(suite.exit, 0) << suite.err;
    EXPECT_THAT(suite.out, AllOf(HasSubstr("decode_sm90"), HasSubstr("prefill_sm90"),
                                 HasSubstr("bound"), Not(HasSubstr("prefill_mma"))));
    const Outcome verbose = box.run("predict --device h200 -v --suite llama3-8b");
    EXPECT_THAT(verbose.out, testing::StartsWith(suite.out.substr(0, suite.out.find("\n-v"))));
    EXPECT_THAT(verbose.out, HasSubstr("\n  prefill_mma"));
}

// What was named is shown: one kernel with its reasons, several in a table.
TEST_F(Cli, predict_shows_the_kernels_that_were_named) {
    const std::string shape = " --device h200 --shape h=8,q=4096,k=4096,d=128,dtype=bf16";
    const Outcome one = box.run("predict --kernel SIMT" + shape);
    EXPECT_THAT(one.out, AllOf(HasSubstr("simt, as asked for"), HasSubstr("Why: ")));
    const Outcome two = box.run("predict --kernel simt --kernel prefill_mma" + shape);
    EXPECT_THAT(two.out, AllOf(HasSubstr("\n  simt"), HasSubstr("\n  prefill_mma"),
                               Not(HasSubstr("prefill_sm90")), Not(HasSubstr("Why"))));
    const Outcome refused = box.run("predict --kernel cpu_flash" + shape);
    EXPECT_EQ(refused.exit, 0);
    EXPECT_THAT(refused.out, HasSubstr("not run on 1 shape: cpu_flash: it runs on CPUs"));
}

// What rows hold does not follow what is shown.
TEST_F(Cli, predict_keeps_rows_of_all_kernels) {
    const std::string words = "predict --device h200 --shape h=8,q=64,k=64,d=128,dtype=bf16";
    const Outcome json = box.run(words + " --json");
    EXPECT_EQ(box.run(words + " --json -v").lines().size(), json.lines().size());
    ASSERT_EQ(box.run(words + " --receipts p.jsonl").exit, 0);
    EXPECT_EQ(read_receipts(box.path("p.jsonl")).rows.size(), json.lines().size());
    EXPECT_GT(json.lines().size(), 3U);
}

TEST_F(Cli, a_device_that_is_not_live_is_predicted_but_not_run) {
    EXPECT_EQ(box.run("predict --device b200 --shape b=1,h=8,q=512,k=512,d=64").exit, 0);
    for (const char* command : {"bench", "check"}) {
        const Outcome run =
            box.run(std::string(command) + " --device mi300x --shape b=1,h=8,q=512,k=512,d=64");
        EXPECT_EQ(run.exit, 3) << run.err;
        EXPECT_THAT(run.err, HasSubstr("mi300x"));
    }
    const Outcome unknown = box.run("predict --device h2000");
    EXPECT_EQ(unknown.exit, 3);
    EXPECT_THAT(unknown.err, HasSubstr("h200"));
}

TEST_F(Cli, wrong_words_are_named_with_the_nearest_right_ones) {
    const auto refused = [&](const std::string& words, const std::string& name) {
        const Outcome run = box.run(words);
        EXPECT_EQ(run.exit, 2) << words << ": " << run.err;
        EXPECT_THAT(run.err + run.out, HasSubstr(name)) << words;
    };
    refused("bench --suite quickstrat", "quickstart");
    refused("bench --device cpu --kernel cpu_flsh", "cpu_flash");
    refused("predict --device cpu --shape b=1,h=8,q=1,k=64,d=64,casual", "causal");
    refused("predict --device cpu --shape b=1,h=8/3,q=1,k=64,d=64", "8");
    refused("predict --device cpu --shape b=1,h=8,q=-4,k=64,d=64", "q");
    refused("predict --device cpu --dtype fp33", "fp33");
    refused("predict --device h200 --threads 4", "threads");
    refused("bench --device cpu --threads 0", "threads");
    refused("bench --threads 4000 " + std::string(tiny), "--threads 4000: this process may run on");
    refused("measure --device cpu --threads 4000", "--threads 4000: this process may run on");
    refused("measure --device cpu --power --receipts p.jsonl", "--power reads a GPU's own meter");
    refused("measure --power --if-missing --receipts p.jsonl", "--if-missing excludes --power");
    refused("measure --power --threads 2 --receipts p.jsonl", "--threads excludes --power");
    refused("predict --threads 4000 " + std::string(tiny), "--threads 4000: this process may");
    refused("bench --tile rows=7 --kernel cpu_flash " + std::string(tiny), "rows");
    refused("bench --receipts /proc/nowhere/r.jsonl " + std::string(tiny), "/proc/nowhere");
    refused("report /no/such/file.jsonl", "/no/such/file.jsonl");
    refused("report --scorecard", "receipts: no such folder");
    refused("report --scorecard --check r.jsonl", "--scorecard excludes --check");
    refused("report --markdown r.jsonl", "--scorecard");
    refused("bench --seed -1 " + std::string(tiny), "seed");
    refused("predikt", "'predict'");
    refused("", "predict");
    refused("bench --device cpu --shape h=8,k=64,d=600", "head dim 600");
}

TEST_F(Cli, a_corrupt_line_is_named_and_the_rest_is_still_read) {
    ASSERT_EQ(box.run(std::string("bench --receipts r.jsonl ") + tiny).exit, 0);
    const std::string rows = Sandbox::read(box.path("r.jsonl"));
    box.write("bad.jsonl", rows.substr(0, rows.find('\n') + 1) + "{\"schema\": 1, nonsense\n" +
                               rows.substr(rows.find('\n') + 1));
    const Outcome report = box.run("report bad.jsonl");
    EXPECT_EQ(report.exit, 2);
    EXPECT_THAT(report.err, HasSubstr("line 2"));
    EXPECT_THAT(report.out, HasSubstr("cpu_flash"));
}

// By itself the gate looks at every tile, and at one if the user says so; the others take one.
TEST_F(Cli, check_takes_every_tile_unless_told) {
    const auto rows = [&](const std::string& words) {
        const Outcome run = box.run(words + " --json --kernel cpu_flash " + tiny);
        EXPECT_EQ(run.exit, 0) << words << ": " << run.err;
        return run.lines().size();
    };
    EXPECT_EQ(rows("check --tile best"), 1U);
    EXPECT_GT(rows("check"), 1U);
    EXPECT_EQ(rows("check"), rows("check --tile all"));
    EXPECT_EQ(rows("predict"), rows("predict --tile best"));
    EXPECT_LT(rows("predict"), rows("predict --tile all"));
}

TEST_F(Cli, report_check_refuses_a_cut_copy_of_a_committed_file_wherever_it_lies) {
    const std::string name = "2026-11-22-e4m3-product-3d1ff90bf28f.jsonl.gz";
    std::string text = stored_text(std::string(RACELINE_SOURCE_DIR) + "/receipts/h200/" + name);
    box.write("whole.jsonl", text);
    const Outcome whole = box.run("report --check whole.jsonl");
    EXPECT_EQ(whole.exit, 0) << whole.err;
    EXPECT_THAT(whole.err, HasSubstr("history not checked: neither the file nor the working"));
    text.erase(text.rfind('\n', text.size() - 2) + 1);
    box.write("cut.jsonl", text);
    const Outcome cut = box.run("report --check cut.jsonl");
    EXPECT_EQ(cut.exit, 1);
    EXPECT_THAT(cut.err, HasSubstr("cut.jsonl: line 2: the file begins as receipts/h200/" + name));
}

TEST_F(Cli, the_scorecard_speaks_to_terminals_pages_and_tools) {
    ASSERT_EQ(box.run(std::string("bench --receipts r.jsonl --kernel cpu_flash ") + tiny).exit, 0);
    const Outcome table = box.run("report --scorecard r.jsonl");
    EXPECT_EQ(table.exit, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("first sight"));
    const Outcome page = box.run("report --scorecard --markdown r.jsonl");
    EXPECT_EQ(page.exit, 0) << page.err;
    EXPECT_THAT(page.out, HasSubstr("\n### By regime and class\n"));
    const Outcome json = box.run("report --scorecard --json r.jsonl");
    EXPECT_EQ(json.exit, 0) << json.err;
    const Json card = Json::parse(json.out);
    // What a build of a tree with uncommitted changes measured counts for nothing, which is said
    // too.
    const Json& left_out = card.at("left_out");
    EXPECT_EQ(card.at("groups").size() + left_out.at("unsettled").get<std::size_t>() +
                  left_out.at("dirty").get<std::size_t>(),
              1U);
    const Json committed =
        Json::parse(box.run("report --scorecard --json " RACELINE_SOURCE_DIR
                            "/receipts/cpu/2026-11-21-quickstart-d1ca717f26ff.jsonl.gz")
                        .out);
    EXPECT_GT(committed.at("groups").size(), 0U);
    EXPECT_EQ(committed.at("left_out").at("dirty"), 0);
}

TEST_F(Cli, kernels_say_what_they_were_called_before) {
    for (const std::string& line : box.run("kernels --json").lines()) {
        EXPECT_TRUE(Json::parse(line).at("formerly").is_array()) << line;
    }
}

// What `kernels --diff` prints of a rung's files, and what these hold, by name.
std::map<std::string, std::string> files_printed(const std::string& out) {
    std::map<std::string, std::string> files;
    for (std::size_t at = out.find("\n== "); at != std::string::npos;) {
        const std::size_t name = at + 4, content = out.find("\n\n", name) + 2;
        at = out.find("\n== ", content);
        files[out.substr(name, content - 2 - name)] = out.substr(content, at - content);
    }
    return files;
}
std::map<std::string, std::string> files_of(const std::string& rung) {
    std::map<std::string, std::string> files;
    for (const auto& file :
         std::filesystem::directory_iterator(RACELINE_SOURCE_DIR "/ladder/" + rung)) {
        files[file.path().filename().string()] = Sandbox::read(file.path());
    }
    return files;
}

TEST_F(Cli, a_rung_is_printed_as_what_it_changes) {
    const Outcome lesson = box.run("kernels --diff gqa gqa_ilp");
    EXPECT_EQ(lesson.exit, 0) << lesson.err;
    EXPECT_THAT(lesson.out, AllOf(HasSubstr("gqa_ilp after gqa: the loop over keys is unrolled"),
                                  HasSubstr("To be seen: twenty shuffles a row")));
    EXPECT_EQ(files_printed(lesson.out), files_of("decode/gqa_ilp"));
    EXPECT_EQ(files_printed(box.run("kernels --diff gqa gqa_occupancy").out),
              files_of("decode/gqa_occupancy"));
    EXPECT_THAT(box.run("kernels --diff gqa paged").out, HasSubstr("(its predecessor is splitkv)"));
    const Outcome engine = box.run("kernels --diff simt gqa");
    EXPECT_EQ(engine.exit, 2);
    EXPECT_THAT(engine.err, HasSubstr("--diff takes two rungs of the ladder; simt is an engine"));
    EXPECT_EQ(box.run("kernels --diff gqa").exit, 2);
}

TEST_F(Cli, report_check_refuses_an_edited_prediction) {
    ASSERT_EQ(box.run(std::string("bench --receipts r.jsonl ") + tiny).exit, 0);
    EXPECT_EQ(box.run("report --check r.jsonl").exit, 0);
    std::string rows = Sandbox::read(box.path("r.jsonl"));
    const std::size_t at = rows.find("\"limiter\":\"");
    ASSERT_NE(at, std::string::npos);
    rows.insert(at + 11, "x");
    box.write("edited.jsonl", rows);
    const Outcome check = box.run("report --check edited.jsonl");
    EXPECT_EQ(check.exit, 1) << check.err;
    EXPECT_THAT(check.err, HasSubstr("line 2")) << "line 1 is the device";
}

// The file alone has what its predictions were made of, also where the ceilings are this machine's.
TEST_F(Cli, predictions_of_a_run_are_computed_again_from_its_file) {
    ASSERT_EQ(box.run(std::string("bench --receipts r.jsonl ") + tiny).exit, 0);
    EXPECT_EQ(read_receipts(box.path("r.jsonl")).rows.front().at("kind"), "device");
    const Outcome again = box.run("report --repredict r.jsonl");
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr(" computed again bit for bit, 0 differ\n"));
    EXPECT_THAT(again.out, Not(testing::StartsWith("0 ")));
    std::string rows = Sandbox::read(box.path("r.jsonl"));
    const std::size_t at = rows.find("\"limiter\":\"");
    ASSERT_NE(at, std::string::npos);
    box.write("edited.jsonl", rows.insert(at + 11, "x"));
    const Outcome edited = box.run("report --repredict edited.jsonl");
    EXPECT_EQ(edited.exit, 1);
    EXPECT_THAT(edited.err, HasSubstr("edited.jsonl: line 2: limiter was \"x"));
    const Outcome unknown = box.run("report --repredict --commit nothing-of-the-kind r.jsonl");
    EXPECT_EQ(unknown.exit, 2);
    EXPECT_THAT(unknown.err, HasSubstr("--commit 'nothing-of-the-kind': git knows no commit"));
}

// A row or a table of stand-ins must not pass for the model's own answer, nor keep its tile.
TEST_F(Cli, predict_uncalibrated_says_so_and_chooses_its_own_tile) {
    const std::string words =
        "predict --device h200 --kernel prefill_sm90 --shape h=16,q=4096,k=4096,d=128,dtype=bf16";
    const auto prediction_row = [&](const std::string& more) {
        const Outcome run = box.run(words + more);
        EXPECT_EQ(run.exit, 0) << run.err;
        return Json::parse(run.lines().at(1));  // the first is the problem's bound
    };
    const Json own = prediction_row(" --json");
    const Json without = prediction_row(" --json --uncalibrated");
    EXPECT_EQ(without.at("prediction").at("calibrated").at("left_out"), true);
    EXPECT_EQ(without.at("prediction").at("calibrated").at("count"), 0);
    EXPECT_FALSE(own.at("prediction").at("calibrated").contains("left_out"));
    EXPECT_NE(without.at("tile"), own.at("tile"));

    const Outcome table = box.run(words + " --uncalibrated --explain");
    EXPECT_THAT(table.out, AllOf(HasSubstr("uncalibrated model"), Not(HasSubstr("expected")),
                                 HasSubstr("by the uncalibrated model")));
    EXPECT_THAT(box.run(words).out, Not(HasSubstr("uncalibrated")));

    ASSERT_EQ(box.run(words + " --uncalibrated --receipts u.jsonl").exit, 0);
    const Outcome again = box.run("report --repredict u.jsonl");
    EXPECT_EQ(again.exit, 0) << again.out << again.err;
    const Json written = read_receipts(box.path("u.jsonl")).rows.at(1);
    const auto row = row_from_json<PredictionRow>(written);
    EXPECT_EQ(
        Repredictor::compare(row.prediction, predicted_by(RACELINE_BINARY_DIR "/raceline", row))
            .outcome,
        Repredictor::Outcome::same);
}

// How --commit asks a program that is older than --repredict; here it is this one.
TEST_F(Cli, a_program_answers_case_by_case_what_it_predicts) {
    ASSERT_EQ(box.run("predict --device h200 --kernel simt --tile all --receipts p.jsonl --warm "
                      "--launch-path stream --shape b=2,h=8/2,q=3,k=700,d=64,dtype=fp16,causal")
                  .exit,
              0);
    const ReceiptFile file = read_receipts(box.path("p.jsonl"));
    ASSERT_GE(file.rows.size(), 3U);
    for (const Json& row : file.rows) {
        if (row.at("kind") != PredictionRow::kind) {
            continue;
        }
        const auto read = row_from_json<PredictionRow>(row);
        const auto answer = Repredictor::compare(
            read.prediction, predicted_by(RACELINE_BINARY_DIR "/raceline", read));
        EXPECT_EQ(answer.outcome, Repredictor::Outcome::same) << answer.why;
    }
}

TEST_F(Cli, replay_answers_from_a_receipt) {
    ASSERT_EQ(box.run(std::string("bench --receipts r.jsonl ") + tiny).exit, 0);
    const std::string shape = "--shape b=1,h=2,q=64,k=64,d=64,dtype=fp32";
    const Outcome again = box.run(
        "bench --device replay:r.jsonl --json --receipts again.jsonl "
        "--kernel cpu_flash " +
        shape);
    ASSERT_EQ(again.exit, 0) << again.err;
    const auto median = [&](const std::string& file) {
        for (const Json& row : read_receipts(box.path(file)).rows) {
            if (row.at("kind") == "measurement") {
                return row.at("measurement").at("seconds_median").get<double>();
            }
        }
        return -1.0;
    };
    EXPECT_EQ(median("r.jsonl"), median("again.jsonl"));
    // A case that the file does not hold fails; it is not answered with another one's time.
    const Outcome other = box.run(
        "bench --device replay:r.jsonl --kernel cpu_flash --shape "
        "b=1,h=2,q=65,k=64,d=64,dtype=fp32");
    EXPECT_EQ(other.exit, 1);
}

TEST_F(Cli, a_full_disk_loses_the_row_in_flight_and_no_other) {
    ASSERT_EQ(box.run(std::string("bench --receipts r.jsonl ") + tiny).exit, 0);
    const std::string whole = Sandbox::read(box.path("r.jsonl"));
    // A file-size limit just past what is there stops the next append as a full disk would.
    const std::string limit = std::to_string(whole.size() / 1024 + 1);
    const Outcome full =
        box.run(std::string("bench --receipts r.jsonl ") + tiny,
                "bash -c 'trap \"\" XFSZ; ulimit -f " + limit + "; exec \"$0\" \"$@\"'");
    EXPECT_EQ(full.exit, 2) << full.err;
    EXPECT_THAT(full.err, HasSubstr("r.jsonl"));
    const ReceiptFile after = read_receipts(box.path("r.jsonl"));
    EXPECT_TRUE(after.bad.empty());
    EXPECT_FALSE(after.unfinished);
    EXPECT_TRUE(check_receipts(after).empty());
}

// A row names the seed of its inputs. Without --seed it is a fresh one, but for RACELINE_SEED.
TEST(Seeds, are_fresh_and_stand_in_the_row) {
    const Sandbox box;
    const std::string check =
        "check --device cpu --shape h=2,q=64,k=70,d=16 --tile rows=64,keys=96 --json";
    const auto seed_of = [&](const std::string& words, const std::string& before = {}) {
        const Outcome outcome = box.run(words, before);
        EXPECT_EQ(outcome.exit, 0) << outcome.err;
        return parse_json(outcome.lines().at(0), "row")
            .at("correctness")
            .at("seed")
            .get<std::uint64_t>();
    };
    EXPECT_EQ(seed_of(check + " --seed 77"), 77U);
    EXPECT_EQ(seed_of(check), 1U);
    EXPECT_EQ(seed_of(check, "RACELINE_SEED=5"), 5U);
    EXPECT_NE(seed_of(check, "RACELINE_SEED="), seed_of(check, "RACELINE_SEED="));
    EXPECT_EQ(box.run(check, "RACELINE_SEED=x").exit, 2);
}

// A failure says how to see it again. A receipt of a refused output stands in for a broken kernel.
TEST(Seeds, stand_in_the_command_that_shows_a_failure_again) {
    const Sandbox box;
    const std::string shape = "--shape h=2,q=64,k=70,d=16 --tile rows=64,keys=96";
    const Outcome bench = box.run("bench --device cpu " + shape + " --receipts good.jsonl");
    ASSERT_EQ(bench.exit, 0) << bench.err;
    std::string rows;
    for (Json row : read_receipts(box.path("good.jsonl")).rows) {
        if (row.at("kind") == "measurement") {
            row["correctness"]["passed"] = false;
            row["correctness"]["why"] = "a test says so";
            row["measurement"] = nullptr;
        }
        rows += dump_json(row) + "\n";
    }
    box.write("bad.jsonl", rows);
    const Outcome again =
        box.run("check --device replay:bad.jsonl --kernel cpu_flash " + shape + " --seed 9");
    EXPECT_EQ(again.exit, 1) << again.err;
    EXPECT_THAT(again.err, HasSubstr("again: raceline check --device cpu --kernel cpu_flash --tile "
                                     "rows=64,keys=96 --shape 'h=2,q=64,k=70,d=16,"));
    EXPECT_THAT(again.err, HasSubstr("--seed 9"));
}

}  // namespace
}  // namespace raceline::test
