// SPDX-License-Identifier: Apache-2.0
// What the program says to mistakes: one line that names them, the right exit code, nothing lost.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.hpp"

namespace raceline::test {
namespace {

using testing::HasSubstr;

const std::string with_tiny = std::string(" ") + tiny;

class Mistakes : public testing::Test {
protected:
    // Exit code 2 (or `exit`), and one line on stderr that holds `name`.
    void refused(const std::string& words, const std::string& name, int exit = 2) const {
        const Outcome run = box.run(words);
        EXPECT_EQ(run.exit, exit) << words << ": " << run.err;
        EXPECT_THAT(run.err, HasSubstr(name)) << words;
        EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << words << ": " << run.err;
    }
    // The program with one of its standard streams redirected.
    static std::string with(const std::string& redirection) {
        return "sh -c 'exec \"$0\" \"$@\" " + redirection + "'";
    }
    static std::string only_file(const std::string& folder) {
        std::vector<std::string> files;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            files.push_back(entry.path().string());
        }
        EXPECT_EQ(files.size(), 1U) << testing::PrintToString(files);
        return files.empty() ? "" : files.front();
    }
    Sandbox box;
};

TEST_F(Mistakes, output_that_does_not_arrive_is_exit_2_from_every_command) {
    ASSERT_EQ(box.run("bench --receipts r.jsonl --max-seconds 0.01" + with_tiny).exit, 0);
    for (const std::string& words :
         {std::string("--help"), std::string("--version"), std::string("devices"),
          std::string("devices --json"), std::string("devices --device h200"), std::string("help"),
          std::string("help predict"), std::string("completion bash"), std::string("kernels"),
          std::string("kernels --json"), std::string("kernels --diff gqa gqa_ilp"),
          "predict" + with_tiny, "predict --json" + with_tiny, "check --tile best" + with_tiny,
          "bench --max-seconds 0.01" + with_tiny, std::string("report r.jsonl"),
          std::string("report --json r.jsonl"), std::string("report --ladder"),
          std::string("report --repredict r.jsonl")}) {
        for (const std::string stdout_of : {">/dev/full", ">&-"}) {
            const Outcome run = box.run(words, with(stdout_of));
            EXPECT_EQ(run.exit, 2) << words << " " << stdout_of << ": " << run.err;
            EXPECT_THAT(run.err, HasSubstr("stdout cannot be written")) << words;
        }
    }
    EXPECT_EQ(box.run("check --tile best" + with_tiny, with("2>/dev/full")).exit, 2);
    // What failed for another reason keeps its code, though nobody hears the reason.
    EXPECT_EQ(box.run("predict --device nowhere", with("2>/dev/full")).exit, 3);
}

// A limit of the process may be far below the memory of the machine, which is asked beforehand.
TEST_F(Mistakes, a_limit_of_memory_is_a_refusal_and_no_failed_gate) {
    for (const char* command : {"check", "bench"}) {
        const Outcome outcome =
            box.run(std::string(command) +
                        " --device cpu --tile best --shape b=8,h=32,q=1,k=20000,d=128,dtype=fp32",
                    "bash -c 'ulimit -v 3000000; exec \"$0\" \"$@\"'");
        EXPECT_EQ(outcome.exit, 2) << command;
        EXPECT_THAT(outcome.out + outcome.err, HasSubstr("GB"));
        EXPECT_THAT(outcome.out + outcome.err, testing::Not(HasSubstr("FAIL")));
    }
}

TEST_F(Mistakes, a_closed_stdout_is_not_the_receipt_file) {
    const std::string bench = "bench --receipts r.jsonl --max-seconds 0.01";
    ASSERT_EQ(box.run(bench + with_tiny, with(">&-")).exit, 2);
    EXPECT_EQ(box.run("report --check r.jsonl").exit, 0);
}

TEST_F(Mistakes, a_page_takes_the_place_of_no_receipts) {
    ASSERT_EQ(box.run("bench --receipts r.jsonl --max-seconds 0.01" + with_tiny).exit, 0);
    refused("report --html r.jsonl r.jsonl", "which is to be read");
    refused("report --html r.jsonl", "a file that ends in .html");
    refused("report --html . r.jsonl", "--html . is a folder; name a file in it");
    EXPECT_EQ(box.run("report --check r.jsonl").exit, 0);
}

// Under any name, and by any link: page, picture, its script and the picture of a diff alike.
TEST_F(Mistakes, an_output_takes_the_place_of_no_receipts) {
    ASSERT_EQ(box.run("bench --receipts r.jsonl --max-seconds 0.01" + with_tiny).exit, 0);
    const std::string rows = Sandbox::read(box.path("r.jsonl"));
    namespace fs = std::filesystem;
    for (const char* ending : {"html", "svg", "png", "pdf", "svg.gp"}) {
        const std::string name = std::string("same.") + ending;
        box.write(name, rows);
        fs::create_symlink(box.path(name), box.path(std::string("soft.") + ending));
        fs::create_hard_link(box.path(name), box.path(std::string("hard.") + ending));
    }
    for (const std::string name : {"same", "soft", "hard"}) {
        for (const std::string input : {"r.jsonl", "same.html"}) {
            const char* why =
                input == "r.jsonl" ? "which is no page" : "over same.html, which is to be read";
            refused("report --html " + name + ".html " + input, why);
        }
        for (const std::string ending : {".svg", ".png", ".pdf"}) {
            for (const std::string command : {"plot roofline r.jsonl", "diff r.jsonl r.jsonl"}) {
                refused(command + " -o " + name + ending, "which is no picture");
            }
            const std::string over = "over same" + ending + ", which is to be read";
            refused("plot roofline same" + ending + " -o " + name + ending, over);
            refused("diff r.jsonl same" + ending + " -o " + name + ending, over);
        }
    }
    for (const std::string name : {"same", "soft", "hard"}) {
        fs::remove(box.path(name + ".svg"));
        refused("plot roofline r.jsonl --keep-script -o " + name + ".svg", "no script of gnuplot");
    }
    fs::create_directory(box.path("folder.svg"));
    refused("plot roofline r.jsonl -o folder.svg", "-o folder.svg is a folder");
    for (const char* left : {"r.jsonl", "same.html", "same.png", "same.pdf", "hard.svg.gp"}) {
        EXPECT_EQ(Sandbox::read(box.path(left)), rows) << left;
    }
}

TEST_F(Mistakes, a_page_for_a_pipe_leaves_the_pipe) {
    ASSERT_EQ(box.run("bench --receipts r.jsonl --max-seconds 0.01" + with_tiny).exit, 0);
    const std::string pipe = box.path("pipe");
    const std::string reader = "(timeout 20 cat " + pipe + " >/dev/null &)";
    ASSERT_EQ(std::system(("mkfifo " + pipe + " && " + reader).c_str()), 0);
    EXPECT_EQ(box.run("report --html pipe r.jsonl").exit, 0);
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(Mistakes, numbers_are_decimal_and_in_range) {
    refused("check --seed 18446744073709551616" + with_tiny, "'18446744073709551616'");
    refused("check --seed 0x10" + with_tiny, "'0x10'");
    refused("check --seed -1" + with_tiny, "'-1'");
    refused("check --threads 1.5" + with_tiny, "'1.5'");
    refused("bench --max-seconds nan" + with_tiny, "'nan'");
    refused("bench --max-seconds 1e9" + with_tiny, "'1e9'");
    EXPECT_EQ(box.run("check --tile best --seed 18446744073709551615" + with_tiny).exit, 0);
    // Not octal: the row names ten.
    EXPECT_THAT(box.run("check --tile best --json --seed 010" + with_tiny).out,
                HasSubstr("\"seed\":10,"));
}

TEST_F(Mistakes, an_empty_value_is_no_default) {
    for (const char* option : {"--device", "--suite", "--tile", "--dtype", "--kernel", "--shape",
                               "--launch-path", "--rates", "--receipts", "--threads", "--seed"}) {
        refused(std::string("check ") + option + " ''",
                std::string(option) + ": the value is empty");
    }
    refused("report ''", "the value is empty");
    refused("check --device replay:", "replay:r.jsonl");
}

TEST_F(Mistakes, one_line_says_what_was_meant) {
    refused("predict --devcie h200", "'--device'");
    refused("predict --device cpu --device h200", "--device takes one value, and 2 were given");
    refused("predict --device", "--device takes one value, and none was given");
    refused("kernels --diff gqa", "--diff takes 2 values, and one was given");
    refused("predict quickstart", "'quickstart'");
    refused("predict --device a100", "may be any of a100-40, a100-80: name one of them", 3);
    refused("predict --device h20O", "did you mean 'h200'?", 3);
    refused("predict --shape hh=8,q=1,k=8,d=64", "'hh' is unknown");
    refused("predict --color purple", "--color 'purple' does not exist; there are auto");
    refused("predict --shape h=8 q=1", "takes no word 'q=1'; a shape's fields stand side by side");
    const std::string prefill =
        "predict --device h200 --kernel prefill_sm90 --shape "
        "h=8,q=128,k=128,d=128 --tile ";
    refused(prefill + "rows=128,keys=64",
            "nearest of those that are is rows=192,keys=64 or rows=128,keys=128 or rows=128,keys=");
    refused(prefill + "rows=192,keys=160",
            "nearest of those for h=8,q=128,k=128,d=128,dtype=bf16 "
            "is rows=128,keys=160 or rows=192,keys=64");
    refused("predict --device cpu --tile rows=128 --shape h=8,q=1,k=64,d=64",
            "no tile 'rows=128' of cpu_flash is for h=8,q=1,k=64,d=64,dtype=bf16 on cpu; nearest "
            "of those that are is rows=256");
    refused("--verison", "no option '--verison': did you mean '--version'?");
    refused("predict --device h200 --launch-path grpah",
            "did you mean 'graph'? There are graph, stream");
    refused("predict --device cpu --launch-path grpah",
            "did you mean 'graph'? There are graph, stream");
    refused("predict --device cpu --launch-path graph",
            "--launch-path graph: only a GPU has this to choose, cpu is a CPU");
    refused("bench --device cpu --regime alnoe",
            "did you mean 'alone'? There are sustained, alone");
    refused("bench --device cpu --regime alone", "only a GPU has this to choose");
    refused("predict --dtype fp33", "fp32, fp16, bf16, e4m3 are accepted");
    refused("predict --device h200 --fuse add", "--fuse add: add is one step");
    refused("predict --device h200 --fuse add+rmsnorm",
            "is missing (rows x width of the matrix): "
            "give one such as n=");
    refused("predict --device h200 --op linear,n=4096,k=4096,m=3 --over m=1:4096",
            "--over m=1:4096 varies 'm', and the shape has it already: leave m=3 out of it");
    const std::string over = "predict --device h200 --shape h=16,d=128,k=4096 --over q=4096:8192 ";
    refused(over + "--kernel nosuch", "kernel 'nosuch' does not exist");
    refused(over + "--kernel cpu_flash", "it runs on CPUs");
    refused(over + "--kernel simt --kernel prefill_mma", "--over takes one --kernel, and 2 were");
    for (const char* option : {"--uncalibrated", "--explain", "-v", "--tile keys=16"}) {
        refused(over + option, "--over prints one line a size: with -");
    }
    EXPECT_EQ(box.run(over + "--kernel simt --kernel simt --tile best").exit, 0);
    for (const char* option : {"--kernel simt", "--uncalibrated", "--explain", "--tile chunks=1"}) {
        refused(std::string("predict --device h200 --fuse add+rmsnorm,n=4x4 ") + option,
                "--fuse prints what a call would run of each step: with --");
    }
    refused("point --flops 1e11 --bytes 1e8 --engine bf16 --memory drm --device h200",
            "did you mean 'dram'?");
    // The field's other words, alone and in chains.
    refused("predict --device h200 --op rotary,n=8x64", "did you mean 'rope'?");
    refused("predict --device h200 --op residual+rmsnorm,n=8x64", "did you mean 'add'?");
    refused("predict --device h200 --op mm,m=8,n=8,k=8", "did you mean 'gemm'?");
    refused("predict --device h200 --op Swish+mul,n=8x8", "did you mean 'silu'?");
    refused("predict --device h200 --op add+q,n=8x8", "operation 'q' does not exist; there are");
    // Rows on stdout are of commands that make rows.
    refused("kernels --diff gqa gqa_ilp --json", "--json excludes --diff");
    refused("report --ladder --json", "--json excludes --ladder");
    refused("report --repredict --json", "--json excludes --repredict");
    refused("predict -v=1", "-v takes no value, and '1' was given");
    refused("predict -- foo", "predict takes no word 'foo'");
    refused("help pedict", "command 'pedict' does not exist: did you mean 'predict'?");
    refused("bnech", "command 'bnech' does not exist: did you mean 'bench'?");
    refused("--foo", "no option '--foo'; `raceline --help` lists the commands");
    refused("-v", "'-v' belongs behind a command, as in `raceline predict -v`");
    refused("--color always devices",
            "'--color' belongs behind a command, as in `raceline devices");
    refused("predict --device h200 --op +relu,n=8x4", "the chain '+relu' has an empty step");
    refused("completion tcsh", "there is no completion for 'tcsh'");
    refused("completion", "completion needs a shell");
    refused("help predict bench", "help takes no word 'bench'");
    refused("diff a.jsonl", "and one was given");
    refused("predict --device \"$(printf 'a\\nb\\377')\"", "a\\x0Ab\\xFF", 3);
}

// A misspelt path makes no folder, and nothing runs before it is refused.
TEST_F(Mistakes, a_file_in_a_folder_that_is_not_there_is_refused) {
    const std::string said =
        "nowhere/x.jsonl: there is no folder nowhere; make it, or name a file "
        "in one that exists";
    for (const std::string command : {"bench", "check", "predict"}) {
        refused(command + " --receipts nowhere/x.jsonl" + with_tiny, "--receipts " + said);
    }
    refused("measure --device cpu --receipts nowhere/x.jsonl", "--receipts " + said);
    EXPECT_FALSE(std::filesystem::exists(box.path("nowhere")));
    refused("plot roofline -o nowhere/x.svg", "-o nowhere/x.svg: there is no folder nowhere");
    refused("report --html nowhere/x.html", "--html nowhere/x.html: there is no folder nowhere");
}

// Twice the same kernel would be measured twice, and be two rows of one case.
TEST_F(Mistakes, a_kernel_that_is_named_twice_runs_once) {
    const std::string words = "predict --json --kernel cpu_flash --kernel CPU-Flash" + with_tiny;
    const std::vector<std::string> rows = box.run(words).lines();
    EXPECT_EQ(std::ranges::count_if(rows,
                                    [](const std::string& row) {
                                        return row.find(R"("kind":"prediction")") !=
                                               std::string::npos;
                                    }),
              1);
}

// Capital letters and long names are no mistakes; rows have one spelling.
TEST_F(Mistakes, names_are_read_in_any_spelling) {
    const std::string tile = " --tile ROWS=64,Keys=96";
    const Outcome row = box.run("check --json --device CPU --kernel CPU-Flash" + tile +
                                " --shape B=1,HEADS=2,q=64,K=64,headdim=64,DTYPE=Float32");
    ASSERT_EQ(row.exit, 0) << row.err;
    for (const auto& [written, read] : {std::pair{"RMSNorm,n=8X4", "op=rmsnorm,n=8x4"},
                                        std::pair{"rms_norm,n=8x4", "op=rmsnorm,"},
                                        std::pair{"Layer-Norm,n=8x4", "op=layernorm,"},
                                        std::pair{"ADD+rms-norm,n=8x4", "op=add+rms"},
                                        std::pair{"matmul,m=1,n=8,k=8", "op=linear,"}}) {
        const Outcome run = box.run(std::string("predict --device h200 --op ") + written);
        EXPECT_THAT(run.out, testing::StartsWith(read)) << run.err;
    }
    EXPECT_THAT(row.out, HasSubstr("\"kernel\":\"cpu_flash\""));
    EXPECT_THAT(row.out, HasSubstr("\"dtype\":\"fp32\""));
    EXPECT_THAT(row.out, HasSubstr("\"id\":\"cpu\""));
    for (const char* words :
         {"predict --device H200 --suite Llama3-8B --dtype BFLOAT16",
          "predict --device h200 --suite LAYER:Llama3-8B:DECODE=64X8192",
          "predict --device cpu --launch-path parallel", "predict --device 'NVIDIA H200'",
          "devices --device RTX-4090", "point --flops 1e12 --engine BF16 --device H200",
          "point --flops 1e12 --bytes 1e9 --engine fp8 --memory L2 --device h200",
          "predict --device h200 --launch-path STREAM", "predict --color NEVER", "PREDICT",
          "help Predict", "completion ZSH", "kernels --diff GQA gqa-ilp"}) {
        const Outcome run = box.run(words);
        EXPECT_EQ(run.exit, 0) << words << ": " << run.err;
    }
    const Outcome suite = box.run("predict --json --device H200 --suite Llama3-8B");
    EXPECT_THAT(suite.out, HasSubstr("\"suite\":\"llama3-8b\""));
    EXPECT_THAT(suite.out, HasSubstr("\"id\":\"h200\""));
}

TEST_F(Mistakes, a_file_that_holds_no_rows_is_one_sentence) {
    for (const char* command : {"report ", "report --check ", "report --scorecard ",
                                "report --repredict ", "devices --rates "}) {
        refused(command + std::string("/bin/sh"), "/bin/sh is no receipt file");
        refused(command + std::string("/dev/zero"), "/dev/zero is no receipt file");
    }
    refused("report --ladder nowhere/index.jsonl", "nowhere/index.jsonl");
    box.write("empty.jsonl", "");
    const Outcome empty = box.run("report empty.jsonl");
    EXPECT_EQ(empty.exit, 0);
    EXPECT_THAT(empty.err, HasSubstr("no rows: empty.jsonl is empty"));
    box.write("cut.jsonl", R"({"schema":2,"kind":"dev)");
    const Outcome cut = box.run("report cut.jsonl");
    EXPECT_EQ(cut.exit, 0);
    EXPECT_THAT(cut.err, HasSubstr("cut.jsonl ends within its first line"));
}

TEST_F(Mistakes, a_call_beyond_memory_is_refused_with_its_bytes) {
    for (const std::string command : {"check", "bench --receipts r.jsonl"}) {
        const Outcome run =
            box.run(command + " --device cpu --shape b=1000,h=64,q=1,k=1000000,d=128,dtype=fp32");
        EXPECT_EQ(run.exit, 2) << run.err;
        EXPECT_EQ(run.out, "");
        EXPECT_THAT(run.err, testing::StartsWith("raceline: no kernel ran: cpu_flash: it needs "));
        EXPECT_THAT(run.err, HasSubstr("needs 131 TB of memory"));
        EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    }
}

// What comes without a file's name is the newest run that has something to show.
TEST_F(Mistakes, a_refused_run_leaves_no_receipt_behind) {
    const std::string refused =
        "bench --device cpu --shape b=1000,h=64,q=1,k=1000000,d=128,dtype=fp32";
    const Outcome run = box.run(refused);
    EXPECT_EQ(run.exit, 2);
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_TRUE(std::filesystem::is_empty(box.path("state/raceline")));
    ASSERT_EQ(box.run("bench --device cpu --max-seconds 0.01 --shape h=1,q=16,k=16,d=64").exit, 0);
    const std::string good = only_file(box.path("state/raceline"));
    EXPECT_THAT(Sandbox::read(good), HasSubstr(R"("kind":"measurement")"));
    // Of a kernel that was named the refusal is a row, and no measurement either.
    EXPECT_EQ(box.run("bench --device cpu --kernel simt --shape h=8,q=1,k=64,d=64").exit, 2);
    EXPECT_EQ(only_file(box.path("state/raceline")), good);
    box.write("state/raceline/2099-01-01T000000-shape-0.jsonl", "");
    const Outcome report = box.run("report");
    EXPECT_EQ(report.exit, 0) << report.err;
    EXPECT_THAT(report.out, HasSubstr("cpu_flash"));
    EXPECT_EQ(report.err, good + "\n");
}

// A file that the user named is his, whatever came of the run.
TEST_F(Mistakes, a_refused_run_leaves_the_file_that_was_named) {
    const Outcome run =
        box.run("bench --device cpu --kernel simt --shape h=8,q=1,k=64,d=64 --receipts r.jsonl");
    EXPECT_EQ(run.exit, 2);
    EXPECT_THAT(Sandbox::read(box.path("r.jsonl")), HasSubstr(R"("kind":"refusal")"));
}

// As a run leaves it that was killed in its first case.
TEST_F(Mistakes, a_report_without_a_file_is_of_the_newest_run_that_has_a_measurement) {
    ASSERT_EQ(box.run("bench --device cpu --max-seconds 0.01 --shape h=1,q=16,k=16,d=64").exit, 0);
    const std::string good = only_file(box.path("state/raceline"));
    ASSERT_EQ(
        box.run("predict --device cpu --shape h=1,q=16,k=16,d=64 --receipts killed.jsonl").exit, 0);
    const std::string killed = box.path("state/raceline/killed.jsonl");
    std::filesystem::rename(box.path("killed.jsonl"), killed);
    std::filesystem::last_write_time(
        killed, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
    const Outcome report = box.run("report");
    EXPECT_EQ(report.err, good + ", the newest run that has a measurement\n");
    EXPECT_THAT(report.out, HasSubstr("cpu_flash"));
    std::filesystem::remove(good);
    EXPECT_EQ(box.run("report").err, killed + "\n") << "better than nothing";
}

}  // namespace
}  // namespace raceline::test
