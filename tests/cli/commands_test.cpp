// SPDX-License-Identifier: Apache-2.0
// The program as a user meets it: output, exit codes, refusals.
#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "cli/program.hpp"
#include "receipt/file.hpp"
#include "receipt/row.hpp"

namespace raceline::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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

TEST_F(Cli, kernels_say_what_they_were_called_before) {
    for (const std::string& line : box.run("kernels --json").lines()) {
        EXPECT_TRUE(Json::parse(line).at("formerly").is_array()) << line;
    }
}

std::string without_empty_lines(const std::string& text) {
    return std::regex_replace(text, std::regex("^\n+|(\n)\n+"), "$1");
}

// What `kernels --diff` prints of a rung's files, by name, without empty lines.
std::map<std::string, std::string> files_printed(const std::string& out) {
    std::map<std::string, std::string> files;
    for (std::size_t at = out.find("\n== "); at != std::string::npos;) {
        const std::size_t name = at + 4, content = out.find("\n\n", name) + 2;
        at = out.find("\n== ", content);
        files[out.substr(name, content - 2 - name)] =
            without_empty_lines(out.substr(content, at - content));
    }
    return files;
}
// What the files of a rung hold beside what every file does, and beside the rung's record. Empty
// lines are left out.
std::map<std::string, std::string> lessons_of(const std::string& rung) {
    const std::regex left_out(
        R"(constexpr Rung rung\{[\s\S]*?\n\};\n|(// SPDX|#include|#pragma once|using namespace|namespace .*\{|\}  // namespace)[^\n]*\n)");
    std::map<std::string, std::string> files;
    for (const auto& file :
         std::filesystem::directory_iterator(RACELINE_SOURCE_DIR "/ladder/" + rung)) {
        files[file.path().filename().string()] =
            without_empty_lines(std::regex_replace(Sandbox::read(file.path()), left_out, ""));
    }
    return files;
}

TEST_F(Cli, a_rung_is_printed_as_what_it_changes) {
    const Outcome lesson = box.run("kernels --diff gqa gqa_ilp");
    EXPECT_EQ(lesson.exit, 0) << lesson.err;
    EXPECT_THAT(lesson.out, AllOf(HasSubstr("gqa_ilp after gqa: the loop over keys is unrolled"),
                                  HasSubstr("To be seen: twenty shuffles a row")));
    // The words of the record stand above, once, and no line that every file has.
    for (const char* frame : {"#include", "namespace raceline", "SPDX", "Rung rung", ".evidence",
                              ".predecessor", "\n\n\n"}) {
        EXPECT_THAT(lesson.out, Not(HasSubstr(frame)));
    }
    EXPECT_THAT(lesson.out, AllOf(HasSubstr("\n__device__ void merge_keys("),
                                  HasSubstr("\nRACELINE_KERNEL(gqa_ilp, ")));
    EXPECT_EQ(files_printed(lesson.out), lessons_of("decode/gqa_ilp"));
    EXPECT_EQ(files_printed(box.run("kernels --diff gqa gqa_occupancy").out),
              lessons_of("decode/gqa_occupancy"));
    // Between rungs that are no neighbours stand those on the way, and there may be no way.
    const std::string far = box.run("kernels --diff fused paged").out;
    EXPECT_LT(far.find("splitkv after fused: "), far.find("paged after splitkv: "));
    EXPECT_NE(far.find("paged after splitkv: "), std::string::npos);
    const Outcome aside = box.run("kernels --diff gqa paged");
    EXPECT_EQ(aside.exit, 2);
    EXPECT_THAT(aside.err, HasSubstr("paged does not build on gqa: it builds on splitkv, fused"));
    EXPECT_EQ(aside.out, "");
    EXPECT_THAT(box.run("kernels --diff gqa naive").err,
                HasSubstr("naive does not build on gqa: it is the first rung of its track"));
    const Outcome engine = box.run("kernels --diff simt gqa");
    EXPECT_EQ(engine.exit, 2);
    EXPECT_THAT(engine.err, HasSubstr("--diff takes two rungs of the ladder; simt is an engine"));
    EXPECT_EQ(box.run("kernels --diff gqa").exit, 2);
    const Outcome same = box.run("kernels --diff gqa GQA");
    EXPECT_EQ(same.exit, 2);
    EXPECT_THAT(same.err, HasSubstr("--diff takes two rungs that differ; both are gqa"));
}

// The probes take half a minute, and would be in vain.
TEST_F(Cli, measure_looks_where_it_writes_before_it_probes) {
    box.write("notes.txt", "no receipts\n");
    const auto refused = [&](const std::string& words, const std::string& before,
                             const std::string& why) {
        const Outcome run = box.run("measure --device cpu " + words, before);
        EXPECT_EQ(run.exit, 2) << run.out;
        EXPECT_THAT(run.err, AllOf(HasSubstr(why), Not(HasSubstr("probe")))) << before;
    };
    refused("", "env -u XDG_CACHE_HOME HOME=/proc/nope", "cannot create the folder");
    refused("", "env -u XDG_CACHE_HOME -u HOME", "no folder for the user's cache");
    refused("", "env -u XDG_CACHE_HOME HOME=relative", "no folder for the user's cache");
    refused("--receipts notes.txt", "", "notes.txt");
    EXPECT_FALSE(std::filesystem::exists(box.path("relative")));
    const Outcome other = box.run("predict " + std::string(tiny), "env -u XDG_CACHE_HOME -u HOME");
    EXPECT_EQ(other.exit, 0) << other.err;
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
    // A case that the file does not hold is refused; it is not answered with another one's time.
    for (const std::string command : {"bench", "check"}) {
        for (const std::string kernel : {"", "--kernel cpu_flash "}) {
            const Outcome other =
                box.run(command + " --device replay:r.jsonl " + kernel +
                        "--shape b=1,h=2,q=65,k=64,d=64,dtype=fp32 --receipts other.jsonl");
            EXPECT_EQ(other.exit, 2) << other.err;
            EXPECT_THAT(other.err, AllOf(HasSubstr("r.jsonl holds no measurement of h=2,q=65,k=64"),
                                         HasSubstr("it has measurements of h=2,q=64,k=64")));
            EXPECT_THAT(other.out, Not(HasSubstr("FAIL")));
        }
        EXPECT_EQ(box.run(command + " --device replay:r.jsonl --suite quickstart").exit, 2);
        // Without a shape the file's own problems are meant.
        const Outcome own = box.run(command + " --device replay:r.jsonl --receipts own.jsonl");
        EXPECT_EQ(own.exit, 0) << own.err;
        EXPECT_THAT(own.out, AllOf(HasSubstr("h=2,q=64,k=64,d=64"), HasSubstr("pass")));
    }
}

// Kernels lose tiles, and rows of devices have gained members, since these were written.
TEST_F(Cli, replay_answers_from_old_receipts_what_kernels_of_today_can) {
    const std::string folder = RACELINE_SOURCE_DIR "/receipts/h100-sxm/";
    const std::string operations =
        folder + "2026-11-25-operations-3085801575-b7ed9866ad96.jsonl.gz";
    const Outcome own = box.run("check --device replay:" + operations + " --receipts own.jsonl");
    EXPECT_EQ(own.exit, 0) << own.err;
    EXPECT_THAT(own.err, AllOf(HasSubstr("cases in"), HasSubstr("are left out"),
                               HasSubstr("no kernel and tile of today")));
    EXPECT_THAT(own.out, HasSubstr("pass"));
    const Outcome named = box.run("check --device replay:" + operations +
                                  " --shape op=exp,n=2258x1024,dtype=fp16 --receipts own.jsonl");
    EXPECT_EQ(named.exit, 2);
    EXPECT_THAT(named.err, AllOf(HasSubstr("has op=exp,n=2258x1024,dtype=fp16, but of no kernel"),
                                 Not(HasSubstr("holds no measurement"))));
    const Outcome older = box.run("predict --shape h=8,q=64,k=64,d=64 --device replay:" + folder +
                                  "2026-11-23-prefill_sm90-training-16k-be8691d8caad.jsonl.gz");
    EXPECT_EQ(older.exit, 0) << older.err;
}

// Its clocks, caches and rates, not those of the datasheet's machine.
TEST_F(Cli, replay_predicts_for_the_device_of_the_file) {
    ASSERT_EQ(box.run(std::string("bench --receipts r.jsonl ") + tiny).exit, 0);
    const auto seconds_of = [&](const std::string& file) {
        const Outcome run = box.run("predict --kernel cpu_flash --json --device replay:" + file +
                                    " --shape h=2,q=640,k=640,d=64,dtype=fp32");
        EXPECT_EQ(run.exit, 0) << run.err;
        for (const std::string& line : run.lines()) {
            const Json row = Json::parse(line);
            if (row.at("kind") == "prediction") {
                return row.at("prediction").at("seconds").get<double>();
            }
        }
        return 0.0;
    };
    const auto with_rates_times = [&](double factor) {
        std::string rows;
        for (Json row : read_receipts(box.path("r.jsonl")).rows) {
            if (row.at("kind") == "device") {
                for (Json& rate : row["state"]["rates"]) {
                    rate["value"] = rate.at("value").get<double>() * factor;
                }
                // What a release writes that knows fewer members.
                row["state"].erase("threads_per_unit");
            }
            rows += dump_json(row) + "\n";
        }
        box.write("changed.jsonl", rows);
        return seconds_of("changed.jsonl");
    };
    const double as_written = seconds_of("r.jsonl");
    EXPECT_GT(as_written, 0);
    EXPECT_NEAR(with_rates_times(1) / as_written, 1, 1e-9);
    EXPECT_GT(with_rates_times(0.1), 2 * as_written);
}

// A time that has not settled is in the receipt, and in no gain.
TEST_F(Cli, bench_of_a_chain_counts_settled_times_alone) {
    const std::string chain = "bench --fuse add+relu,n=64x64,dtype=fp32 ";
    const Outcome run = box.run(chain + "--device cpu --receipts chain.jsonl");
    ASSERT_EQ(run.exit, 0) << run.err;
    const auto replayed = [&](bool unsettled) {
        std::string rows;
        for (Json row : read_receipts(box.path("chain.jsonl")).rows) {
            if (row.at("kind") == "measurement") {
                const bool relu = row.at("workload").at("words").at("steps") == "relu";
                row["measurement"]["unsettled"] = unsettled && relu;
            }
            rows += dump_json(row) + "\n";
        }
        box.write("chain2.jsonl", rows);
        const Outcome again = box.run(chain + "--wide --device replay:chain2.jsonl");
        EXPECT_EQ(again.exit, 0) << again.err;
        return again.out;
    };
    EXPECT_THAT(replayed(false),
                AllOf(HasSubstr("× measured"), Not(HasSubstr("no measured time"))));
    EXPECT_THAT(replayed(true),
                AllOf(Not(HasSubstr("× measured")), HasSubstr("no measured time of relu settled")));
}

TEST_F(Cli, a_full_disk_loses_the_row_in_flight_and_no_other) {
    ASSERT_EQ(box.run(std::string("bench --receipts r.jsonl ") + tiny).exit, 0);
    const std::string whole = Sandbox::read(box.path("r.jsonl"));
    // A file-size limit just past what is there stops the next append as a full disk would, and its
    // signal does not end the program.
    const std::string limit = std::to_string(whole.size() / 1024 + 1);
    const Outcome full = box.run(std::string("bench --receipts r.jsonl ") + tiny,
                                 "bash -c 'ulimit -f " + limit + "; exec \"$0\" \"$@\"'");
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
