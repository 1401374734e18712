// SPDX-License-Identifier: Apache-2.0
// `predict` as a user meets it: what is shown, kept and refused; predictions computed again.
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "receipt/file.hpp"
#include "receipt/rows.hpp"
#include "run/commit_build.hpp"
#include "run/repredict.hpp"

namespace raceline::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class PredictCommand : public testing::Test {
protected:
    Sandbox box;
};

TEST_F(PredictCommand, predict_writes_no_file_unless_asked) {
    ASSERT_EQ(box.run("predict --device h200 --suite llama3-8b").exit, 0);
    EXPECT_FALSE(std::filesystem::exists(box.path("state")));
    ASSERT_EQ(box.run("predict --device h200 --suite llama3-8b --receipts p.jsonl").exit, 0);
    EXPECT_GT(read_receipts(box.path("p.jsonl")).rows.size(), 5U);
}

// One problem: what a call runs, why that takes its time, what would help, and the bound.
TEST_F(PredictCommand, predict_answers_with_what_the_api_would_run) {
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
        box.run("predict --device mi300x --shape h=8,q=1,k=4096,d=128,dtype=bf16 --wide");
    ASSERT_EQ(other.exit, 0) << other.err;
    EXPECT_THAT(other.out, AllOf(HasSubstr("No kernel of the API serves it: "),
                                 HasSubstr("each runs on CUDA GPUs, not on mi300x"),
                                 HasSubstr("Bound of the problem: ")));
}

TEST_F(PredictCommand, rows_have_the_compulsory_bytes) {
    const Outcome run = box.run("predict --device h200 --op adam,n=1000x1000,dtype=fp32 --json");
    ASSERT_EQ(run.exit, 0) << run.err;
    for (const std::string& line : run.lines()) {
        const Json bound = Json::parse(line).at("bound");
        EXPECT_EQ(bound.at("bytes_read"), 16e6);
        EXPECT_EQ(bound.at("bytes_written"), 12e6);
    }
}

// What would take the limiter's place is in rows as it is in the text.
TEST_F(PredictCommand, rows_have_the_work_that_is_hidden) {
    const Outcome run = box.run(
        "predict --device h200 --shape b=64,h=32/8,q=1,k=8192,d=128,dtype=bf16 "
        "--kernel decode_sm90 --json");
    ASSERT_EQ(run.exit, 0) << run.err;
    std::size_t rows = 0;
    for (const std::string& line : run.lines()) {
        const Json row = Json::parse(line);
        if (row.at("kind") == "prediction") {
            EXPECT_EQ(row.at("hidden").size(), 1U);
            EXPECT_GT(row.at("hidden").at("byte.l2_link").get<double>(), 0);
            ++rows;
        }
    }
    EXPECT_GE(rows, 1U);
}

// An L4 has 24 GiB; these keys and values alone are 34 GB.
TEST_F(PredictCommand, predict_says_where_a_call_does_not_fit_into_memory) {
    const std::string command = "predict --device l4 --shape b=64,h=32/8,q=1,k=131072,d=128";
    const Outcome large = box.run(command + " --wide");
    ASSERT_EQ(large.exit, 0) << large.err;
    EXPECT_THAT(large.out,
                testing::ContainsRegex("but +a call would be refused: it needs 34[.0-9]* "
                                       "GB of memory, and l4 has 25[.0-9]* GB"));
    EXPECT_THAT(box.run("predict --device h200 --shape b=64,h=32/8,q=1,k=131072,d=128").out,
                Not(HasSubstr("would be refused")));
    EXPECT_THAT(box.run(command + " --shape h=8,q=64,k=64,d=64 --wide").out,
                HasSubstr("calls of 1 shape would be refused"));
}

// Of a processor without rates nothing is known that such a call would take.
TEST_F(PredictCommand, a_call_without_work_on_a_device_without_floors_has_no_time) {
    const Outcome empty =
        box.run("predict --device b200 --shape h=2,q=0,k=5,d=8,dtype=fp32 --wide");
    ASSERT_EQ(empty.exit, 0) << empty.err;
    EXPECT_THAT(empty.out, AllOf(HasSubstr("No time is predicted: "), Not(HasSubstr(" 0 s"))));
}

TEST_F(PredictCommand, a_chain_that_is_slower_fused_is_said_to_be) {
    const auto fused = [this](const std::string& chain) {
        return box.run("predict --device h200 --fuse " + chain + ",n=4096x32768,dtype=fp32 --wide")
            .out;
    };
    EXPECT_THAT(fused("gelu+rmsnorm"), HasSubstr("fused is predicted slower: rows_cuda has code"));
    EXPECT_THAT(fused("silu+mul"), Not(HasSubstr("predicted slower")));
}

TEST_F(PredictCommand, predict_says_where_no_launch_floor_is_known) {
    const std::string shape = "--op embedding,tokens=32,vocab=128256,d=1024,dtype=fp32 --wide";
    EXPECT_THAT(box.run("predict --device b200 " + shape).out,
                HasSubstr("no launch floor of this board is known"));
    EXPECT_THAT(box.run("predict --device h200 " + shape).out, Not(HasSubstr("launch floor")));
    EXPECT_THAT(box.run("predict --device b200 " + shape + " --op rmsnorm,n=1x64").out,
                HasSubstr("of 2 short calls: no launch floor of this board is known"));
}

// As tables do, but for --wide.
TEST_F(PredictCommand, headings_shorten_long_lists_of_lengths) {
    std::string lengths;
    for (int i = 0; i < 60; ++i) {
        lengths += std::to_string(1000 + i) + ";";
    }
    const std::string command =
        "predict --device h200 --explain --shape 'h=32/8,q=1,d=128,k=" + lengths + "' ";
    const Outcome narrow = box.run(command, "COLUMNS=80");
    ASSERT_EQ(narrow.exit, 0) << narrow.err;
    EXPECT_THAT(narrow.lines().front(), HasSubstr("k=1000…1059(60)"));
    EXPECT_THAT(narrow.out, Not(HasSubstr("1030;1031"))) << "the explanation's heading, too";
    EXPECT_THAT(box.run(command + "--wide", "COLUMNS=80").lines().front(), HasSubstr("1030;1031"));
}

// As rows of receipts and shapes write it.
TEST_F(PredictCommand, an_operation_may_be_named_with_op) {
    const Outcome named = box.run("predict --device h200 --op op=linear,m=4,n=4,k=4");
    ASSERT_EQ(named.exit, 0) << named.err;
    EXPECT_EQ(named.out, box.run("predict --device h200 --op linear,m=4,n=4,k=4").out);
}

// Behind -v stands the table of all kernels, each problem under its bound.
TEST_F(PredictCommand, predict_verbose_begins_each_problem_with_its_bound) {
    const Outcome all =
        box.run("predict --device b200 -v --wide --shape h=8,q=4096,k=4096,d=128,dtype=bf16");
    ASSERT_EQ(all.exit, 0) << all.err;
    const std::string table = all.out.substr(all.out.find("\nAll kernels\n"));
    EXPECT_THAT(table, testing::ContainsRegex("\nh=8,q=4096,k=4096,d=128,dtype=bf16 +flop.tcgen05"
                                              ".bf16 .* µs +datasheet +bound, products on"));
    EXPECT_THAT(table, AllOf(HasSubstr("\n  prefill_mma"), HasSubstr("\n  simt"),
                             HasSubstr("not run on 1 shape: "), Not(HasSubstr("combine"))));
    const Outcome other =
        box.run("predict --device mi300x -v --shape h=8,q=1,k=4096,d=128,dtype=bf16");
    EXPECT_THAT(other.out, AllOf(HasSubstr("(none of these kernels serves it)"),
                                 HasSubstr("rates: datasheet")));
}

TEST_F(PredictCommand, a_call_without_work_has_no_bound_and_nothing_to_gain) {
    const Outcome none = box.run("predict --device t4 --shape h=8,q=0,k=64,d=64");
    ASSERT_EQ(none.exit, 0) << none.err;
    EXPECT_THAT(none.out, AllOf(HasSubstr("there is nothing to compute"), Not(HasSubstr("nan")),
                                Not(HasSubstr("not known"))));
}

TEST_F(PredictCommand, predict_shows_a_row_for_each_of_several_problems) {
    const Outcome suite = box.run("predict --device h200 --suite llama3-8b");
    ASSERT_EQ(suite.exit, 0) << suite.err;
    EXPECT_THAT(suite.out, AllOf(HasSubstr("decode_sm90"), HasSubstr("prefill_sm90"),
                                 HasSubstr("bound"), Not(HasSubstr("prefill_mma"))));
    const Outcome verbose = box.run("predict --device h200 -v --suite llama3-8b");
    EXPECT_THAT(verbose.out, testing::StartsWith(suite.out.substr(0, suite.out.find("\n-v"))));
    EXPECT_THAT(verbose.out, HasSubstr("\n  prefill_mma"));
}

// What was named is shown: one kernel with its reasons, several in a table.
TEST_F(PredictCommand, predict_shows_the_kernels_that_were_named) {
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
TEST_F(PredictCommand, predict_keeps_rows_of_all_kernels) {
    const std::string words = "predict --device h200 --shape h=8,q=64,k=64,d=128,dtype=bf16";
    const Outcome json = box.run(words + " --json");
    EXPECT_EQ(box.run(words + " --json -v").lines().size(), json.lines().size());
    ASSERT_EQ(box.run(words + " --receipts p.jsonl").exit, 0);
    EXPECT_EQ(read_receipts(box.path("p.jsonl")).rows.size(), json.lines().size());
    EXPECT_GT(json.lines().size(), 3U);
}

TEST_F(PredictCommand, a_device_that_is_not_live_is_predicted_but_not_run) {
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

// The file alone has what its predictions were made of, also where the ceilings are this machine's.
TEST_F(PredictCommand, predictions_of_a_run_are_computed_again_from_its_file) {
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
TEST_F(PredictCommand, predict_uncalibrated_says_so_and_chooses_its_own_tile) {
    const std::string words =
        "predict --device h200 --kernel prefill_sm90 --shape h=16,q=4096,k=4096,d=64,dtype=bf16";
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
TEST_F(PredictCommand, a_program_answers_case_by_case_what_it_predicts) {
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

}  // namespace
}  // namespace raceline::test
