// SPDX-License-Identifier: Apache-2.0
// How the program looks in a terminal, in a pipe and to a reader in a hurry: widths, colours, and
// what a signal leaves.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

#include "cli/program.hpp"
#include "receipt/file.hpp"
#include "support/text_style.hpp"
#include "support/words.hpp"

namespace raceline::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string with_tiny = std::string(" ") + tiny;

bool is_rule(const std::string& line) {
    return line.find_first_not_of("- ") == std::string::npos &&
           line.find("--") != std::string::npos;
}

// The widest line of any table: a heading, its rule and the rows up to the first sentence.
std::size_t widest_table(const Outcome& run) {
    std::size_t most = 0;
    const std::vector<std::string> lines = run.lines();
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (is_rule(lines[i])) {
            for (std::size_t at = i == 0 ? 0 : i - 1; at < lines.size() && !lines[at].empty() &&
                                                      lines[at].find(": ") == std::string::npos;
                 ++at) {
                most = std::max(most, text_width(lines[at]));
            }
        }
    }
    return most;
}

class Terminal : public testing::Test {
protected:
    static void SetUpTestSuite() {
        box = std::make_unique<Sandbox>();
        ASSERT_EQ(box->run("bench --receipts a.jsonl --max-seconds 0.01" + with_tiny).exit, 0);
        ASSERT_EQ(box->run("bench --receipts b.jsonl --max-seconds 0.01" + with_tiny).exit, 0);
    }
    static void TearDownTestSuite() { box.reset(); }

    // In a terminal of so many columns, which ends lines with a carriage return, too.
    static Outcome in_terminal(const std::string& words, int columns,
                               const std::string& before = "") {
        Outcome run =
            box->shell("script -qefc 'stty cols " + std::to_string(columns) + " rows 30; " +
                       before + " " + RACELINE_BINARY_DIR + "/raceline " + words + "' /dev/null");
        std::erase(run.out, '\r');
        return run;
    }
    static bool has_script() { return std::system("script --version >/dev/null 2>&1") == 0; }
    static std::unique_ptr<Sandbox> box;
};
std::unique_ptr<Sandbox> Terminal::box;

const std::string receipts = std::string(RACELINE_SOURCE_DIR) + "/receipts";
const std::array every_table{
    std::string("devices"),
    std::string("devices --device h200"),
    std::string("kernels"),
    std::string("predict --device h200 --suite serving:3"),
    std::string("predict --device h200 --suite llama3-8b -v"),
    std::string(
        "predict --device h200 --tile all --kernel prefill_sm90 --shape h=8,q=99,k=99,d=64"),
    std::string("predict --device h200 --explain --shape h=8,q=4096,k=4096,d=64"),
    "check" + with_tiny,
    "bench --max-seconds 0.01" + with_tiny,
    std::string("report a.jsonl b.jsonl"),
    "report " + receipts + "/cpu/2026-11-21-quickstart-d1ca717f26ff.jsonl.gz",
    "report " + receipts + "/h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz",
    "report " + receipts + "/h200/ceilings.jsonl",
    "report --scorecard " + receipts + "/cpu/2026-11-21-quickstart-d1ca717f26ff.jsonl.gz",
    "diff " + receipts + "/h200/2026-11-22-prefill_sm90-training-16k-3d1ff90bf28f.jsonl.gz " +
        receipts + "/h200/2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz",
    std::string("point --flops 1.4e11 --bytes 1e8 --seconds 250e-6 --engine bf16 --device h200"),
};

TEST_F(Terminal, no_table_of_a_pipe_is_wider_than_a_hundred_columns) {
    for (const std::string& words : every_table) {
        const Outcome run = box->run(words);
        ASSERT_EQ(run.exit, 0) << words << ": " << run.err;
        EXPECT_GT(widest_table(run), 10U) << words << " prints no table:\n" << run.out;
        EXPECT_LE(widest_table(run), 100U) << words << ":\n" << run.out;
        EXPECT_THAT(run.out, Not(HasSubstr("\x1b"))) << words;
    }
}

// What limits a kernel is what a run is for; the error is what two other columns differ by.
TEST_F(Terminal, a_narrow_table_keeps_the_limiter) {
    const Outcome run = box->run("bench --max-seconds 0.01" + with_tiny, "COLUMNS=80 ");
    EXPECT_THAT(run.out, HasSubstr("limiter")) << run.out;
    EXPECT_LE(widest_table(run), 80U) << run.out;
}

TEST_F(Terminal, what_rounding_leaves_of_the_parts_is_no_part) {
    const Outcome run = box->run("predict --device h200 --op rmsnorm,n=8192x4096,dtype=bf16");
    EXPECT_THAT(run.out, HasSubstr("part by part"));
    EXPECT_THAT(run.out, Not(HasSubstr("e-2")));
}

TEST_F(Terminal, notes_are_wrapped_in_a_terminal_and_whole_in_a_pipe) {
    if (!has_script()) {
        GTEST_SKIP() << "no script command";
    }
    const std::string words = "plot sweep a.jsonl >/dev/null";
    const std::string note = "No three cases of these receipts differ in";
    EXPECT_THAT(box->shell(std::string(RACELINE_BINARY_DIR) + "/raceline " + words).err,
                HasSubstr(note));
    const Outcome run = in_terminal(words, 30);
    EXPECT_THAT(run.out,
                AllOf(HasSubstr("No three cases of these\n  receipts"), Not(HasSubstr(note))));
    for (const std::string& line : run.lines()) {
        EXPECT_LE(text_width(line), 30U) << line;
    }
}

TEST_F(Terminal, tables_are_as_wide_as_columns_says_and_wide_shows_all) {
    for (const std::string& words : every_table) {
        EXPECT_LE(widest_table(box->run(words, "COLUMNS=80")), 80U) << words;
        const Outcome wide = box->run(words + " --wide");
        ASSERT_EQ(wide.exit, 0) << words << ": " << wide.err;
        EXPECT_THAT(wide.out, Not(HasSubstr("--wide shows all"))) << words;
    }
    const std::string devices = "predict --device h200 --suite llama3-8b -v";
    EXPECT_GT(widest_table(box->run(devices + " --wide")), 200U);
    EXPECT_THAT(box->run(devices).out, HasSubstr("left out for lack of room: "));
    EXPECT_LE(widest_table(box->run(devices, "COLUMNS=nonsense")), 100U);
}

// Who looks for the rate of a type and finds no column of it must not think that there is none.
TEST_F(Terminal, devices_names_the_columns_that_a_narrow_table_lacks) {
    for (const char* width : {"COLUMNS=80", "COLUMNS=100", "COLUMNS=60"}) {
        const Outcome narrow = box->run("devices", width);
        ASSERT_EQ(narrow.exit, 0) << narrow.err;
        const std::size_t line = narrow.out.find("\nleft out for lack of room: ");
        ASSERT_NE(line, std::string::npos) << width << ":\n" << narrow.out;
        const std::size_t units = narrow.out.find("\nfp16 to fp32: ");
        ASSERT_NE(units, std::string::npos) << width << ":\n" << narrow.out;
        // Up to what the columns mean, in as many lines as it takes.
        const std::string table = narrow.out.substr(0, line);
        std::string last = narrow.out.substr(line + 1, units - line);
        std::ranges::replace(last, '\n', ' ');
        last.erase(std::unique(last.begin(), last.end(),
                               [](char a, char b) { return a == ' ' && b == ' '; }),
                   last.end());
        EXPECT_TRUE(last.ends_with("; --wide shows all ")) << width << ": " << last;
        // Each column of the whole table stands in one of the two.
        const std::string heads = table.substr(0, table.find('\n'));
        const std::string names = ", " + last.substr(27, last.find(';') - 27) + ",";
        for (const std::string column :
             {"name", "year", "units", "fp16", "bf16", "fp8", "fp32", "ridge bf16", "ridge fp8",
              "ridge fp32", "DRAM read", "memory", "rates"}) {
            EXPECT_NE(heads.find("  " + column) != std::string::npos,
                      names.find(", " + column + ",") != std::string::npos)
                << width << ": " << column << "\n"
                << narrow.out;
        }
    }
    const Outcome wide = box->run("devices --wide", "COLUMNS=80");
    EXPECT_THAT(wide.out, Not(HasSubstr("left out")));
    for (const char* column : {" fp16 ", " bf16 ", " fp8 ", "ridge fp8"}) {
        EXPECT_THAT(wide.lines().front(), HasSubstr(column));
    }
}

// Sentences too: of answers, explanations, refusals, helps and summaries. An example is to be
// copied and stays one line; so does a rung's source.
TEST_F(Terminal, sentences_are_as_wide_as_columns_says) {
    const std::string h200 = " --device h200 --shape ";
    for (const std::string& words : std::vector<std::string>{
             "predict -v" + h200 + "h=16,q=4096,k=4096,d=128",
             "predict --explain" + h200 + "b=64,h=32/8,q=1,k=8192,d=128",
             "predict --device b200 --shape b=64,h=32/8,q=1,k=8192,d=128", every_table.back(),
             "predict --device h200 --fuse attention,h=16,q=4096,k=4096,d=128",
             std::string("report --scorecard ") + receipts +
                 "/cpu/2026-11-21-quickstart-d1ca717f26ff.jsonl.gz",
             *std::prev(every_table.end(), 2), std::string("--help"), std::string("help bench"),
             std::string("help point"), std::string("devices --device cpu"),
             std::string("predict --device h200 --suite layer:llama3-8b:decode=64x8192"),
             std::string("kernels --diff gqa gqa_ilp")}) {
        for (const std::string& line : box->run(words, "COLUMNS=80").lines()) {
            if (line.starts_with("==")) {
                break;
            }
            EXPECT_TRUE(text_width(line) <= 80 || line.starts_with("  raceline "))
                << words << ": " << line;
        }
    }
}

TEST_F(Terminal, tables_are_as_wide_as_the_terminal) {
    if (!has_script()) {
        GTEST_SKIP() << "no script(1) to make a terminal with";
    }
    const Outcome narrow = in_terminal("devices --color never", 80);
    const Outcome wide = in_terminal("devices --color never", 140);
    const Outcome widest = in_terminal("devices --color never", 400);
    EXPECT_LE(widest_table(narrow), 80U) << narrow.out;
    EXPECT_GT(widest_table(wide), 100U) << wide.out;
    EXPECT_LE(widest_table(wide), 140U) << wide.out;
    EXPECT_GT(widest_table(widest), 140U) << widest.out;
    EXPECT_THAT(narrow.out, HasSubstr("left out for lack of room: "));
    EXPECT_THAT(widest.out, Not(HasSubstr("left out")));
}

TEST_F(Terminal, has_colours_where_it_is_one_and_wants_them) {
    EXPECT_THAT(box->run("devices --color always").out, HasSubstr("\x1b[1mdevice\x1b[0m"));
    EXPECT_THAT(box->run("check --tile best --color always" + with_tiny).out,
                HasSubstr("\x1b[32mpass\x1b[0m"));
    EXPECT_THAT(box->run("predict --color always" + with_tiny).out, HasSubstr("\x1b[1;36m"));
    EXPECT_THAT(box->run("predict --json --color always" + with_tiny).out, Not(HasSubstr("\x1b")));
    EXPECT_THAT(box->run("kernels --json --color always").out, Not(HasSubstr("\x1b")));
    if (!has_script()) {
        GTEST_SKIP() << "no script(1) to make a terminal with";
    }
    EXPECT_THAT(in_terminal("devices", 100, "TERM=xterm").out, HasSubstr("\x1b[1m"));
    EXPECT_THAT(in_terminal("devices", 100, "TERM=xterm NO_COLOR=1").out,
                Not(HasSubstr("\x1b[1m")));
    EXPECT_THAT(in_terminal("devices", 100, "TERM=xterm NO_COLOR=").out, HasSubstr("\x1b[1m"));
    EXPECT_THAT(in_terminal("devices", 100, "TERM=dumb").out, Not(HasSubstr("\x1b[1m")));
    EXPECT_THAT(in_terminal("devices --color never", 100, "TERM=xterm").out,
                Not(HasSubstr("\x1b[1m")));
    EXPECT_THAT(in_terminal("devices --json", 100, "TERM=xterm").out, Not(HasSubstr("\x1b[")));
}

// A case in hand, how many there are, and how much longer it takes.
TEST_F(Terminal, shows_how_far_a_run_is) {
    if (!has_script()) {
        GTEST_SKIP() << "no script(1) to make a terminal with";
    }
    const Outcome run = in_terminal("check" + with_tiny, 120, "TERM=xterm");
    EXPECT_THAT(run.out, AllOf(HasSubstr("] 0/6 cpu_flash h=2,q=64"),
                               testing::ContainsRegex("1/6 about [0-9]+ s left, cpu_flash")));
    EXPECT_THAT(run.out, HasSubstr("6 cases checked, 0 failed"));
    EXPECT_THAT(box->run("check" + with_tiny).err, Not(HasSubstr("left")));
}

// What the picture says in the terminal is not said above it, too; in files each has its own.
TEST_F(Terminal, says_once_why_there_is_no_picture) {
    const std::string why = "No three cases of these receipts differ";
    const Outcome files = box->run("plot sweep a.jsonl");
    EXPECT_THAT(files.err, HasSubstr(why));
    EXPECT_THAT(files.out, HasSubstr(why));
    if (!has_script()) {
        GTEST_SKIP() << "no script(1) to make a terminal with";
    }
    const std::string seen = in_terminal("plot sweep a.jsonl", 160, "TERM=xterm").out;
    const std::size_t first = seen.find(why);
    EXPECT_NE(first, std::string::npos) << seen;
    EXPECT_EQ(seen.find(why, first + 1), std::string::npos) << seen;
}

TEST_F(Terminal, counts_in_english) {
    EXPECT_THAT(box->run("check --tile best" + with_tiny).err,
                HasSubstr("1 case checked, 0 failed"));
    EXPECT_THAT(box->run("report --check a.jsonl").err, HasSubstr("0 findings, 0 stale"));
    EXPECT_THAT(box->run("report --repredict a.jsonl").out,
                testing::StartsWith("1 prediction computed again bit for bit, 0 differ"));
}

// The program as a process of its own, which gets signals.
class Process {
public:
    Process(const Sandbox& box, const std::string& words) : box_(box) {
        id_ = fork();
        if (id_ == 0) {
            start(words);
        }
    }
    void send(int signal) const { kill(id_, signal); }
    // Waits until `ready`; false after three minutes.
    template <class Ready>
    [[nodiscard]] static bool wait_until(const Ready& ready) {
        using namespace std::chrono_literals;
        for (int i = 0; i < 18000; ++i) {
            if (ready()) {
                return true;
            }
            std::this_thread::sleep_for(10ms);
        }
        return false;
    }
    Outcome end() const {
        int status = 0;
        waitpid(id_, &status, 0);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                Sandbox::read(box_.path("out")), Sandbox::read(box_.path("err"))};
    }

private:
    [[noreturn]] void start(const std::string& words) const {
        std::vector<std::string> all{std::string(RACELINE_BINARY_DIR) + "/raceline"};
        std::istringstream in(words);
        for (std::string word; in >> word;) {
            all.push_back(word);
        }
        std::vector<char*> argv;
        for (std::string& word : all) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        setenv("XDG_CACHE_HOME", box_.path("cache").c_str(), 1);
        setenv("XDG_STATE_HOME", box_.path("state").c_str(), 1);
        const auto to = [&](const char* name, int stream) {
            dup2(open(box_.path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), stream);
        };
        to("out", STDOUT_FILENO);
        to("err", STDERR_FILENO);
        std::signal(SIGINT, SIG_DFL);
        execv(argv.front(), argv.data());
        _exit(127);
    }
    const Sandbox& box_;
    pid_t id_ = 0;
};

std::size_t rows_of_kind(const std::string& file, std::string_view kind) {
    const ReceiptFile read = read_receipts(file);
    return static_cast<std::size_t>(
        std::ranges::count_if(read.rows, [&](const Json& row) { return row.at("kind") == kind; }));
}

struct Signal {
    int number, exit;
    const char* name;
};
class Signalled : public testing::TestWithParam<Signal> {};

// The case in hand is finished and all of it is kept; nothing is half-written.
TEST_P(Signalled, a_run_says_what_it_kept) {
    const Sandbox box;
    const std::string file = box.path("r.jsonl");
    const Process bench(box, "bench --device cpu --suite quickstart --receipts " + file);
    ASSERT_TRUE(Process::wait_until(
        [&] { return std::filesystem::exists(file) && rows_of_kind(file, "measurement") > 0; }));
    bench.send(GetParam().number);
    const Outcome run = bench.end();
    EXPECT_EQ(run.exit, GetParam().exit) << run.err;
    EXPECT_THAT(run.err, HasSubstr("stopping after the case in hand; a second time stops at once"));
    const std::size_t kept = rows_of_kind(file, "measurement");
    EXPECT_LT(kept, 19U);
    EXPECT_THAT(run.err,
                HasSubstr(std::string("stopped by ") + GetParam().name + ": " +
                          std::to_string(kept) + " of 19 cases " + (kept == 1 ? "was" : "were") +
                          " measured, and " + (kept == 1 ? "is" : "are") + " kept in " + file));
    EXPECT_THAT(run.out, AllOf(HasSubstr("cpu_flash"), HasSubstr("pass"))) << "their table";
    EXPECT_EQ(rows_of_kind(file, "prediction"), kept) << "the case in hand was finished";
    EXPECT_EQ(box.run("report --check " + file).exit, 0);
}

INSTANTIATE_TEST_SUITE_P(By, Signalled,
                         testing::Values(Signal{SIGINT, 130, "Ctrl-C"},
                                         Signal{SIGTERM, 143, "a termination signal"}),
                         [](const auto& one) {
                             return std::string(one.param.number == SIGINT ? "SIGINT" : "SIGTERM");
                         });

TEST(SignalledBeforeTheFirstCase, a_measurement_of_ceilings_says_that_none_were_kept) {
    const Sandbox box;
    const Process measure(box, "measure --device cpu --threads 1");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    measure.send(SIGINT);
    const Outcome run = measure.end();
    EXPECT_EQ(run.exit, 130);
    EXPECT_THAT(run.err, HasSubstr("raceline: stopped: no ceilings were kept"));
    EXPECT_FALSE(std::filesystem::exists(box.path("cache/raceline")) &&
                 !std::filesystem::is_empty(box.path("cache/raceline")));
}

TEST(SignalledTwice, a_run_stops_at_once_and_keeps_what_was_whole) {
    const Sandbox box;
    const std::string file = box.path("r.jsonl");
    const std::string slow = " --shape h=16,q=4096,k=4096,d=256,dtype=fp32";
    const Process check(box, "check --device cpu --tile best --receipts " + file +
                                 " --shape h=2,q=64,k=64,d=64" + slow + slow);
    ASSERT_TRUE(Process::wait_until(
        [&] { return std::filesystem::exists(file) && rows_of_kind(file, "check") > 0; }));
    check.send(SIGINT);
    ASSERT_TRUE(Process::wait_until([&] {
        return Sandbox::read(box.path("err")).find("stopping after") != std::string::npos;
    }));
    check.send(SIGINT);
    const Outcome run = check.end();
    EXPECT_EQ(run.exit, 130);
    EXPECT_THAT(run.err, HasSubstr("stopped at once: 1 of 3 cases was checked, and is kept in "));
    EXPECT_EQ(rows_of_kind(file, "check"), 1U);
    EXPECT_EQ(box.run("report --check " + file).exit, 0);
}

// Nothing was kept, and no file is there that a report would take for the newest run.
TEST(SignalledTwice, a_run_without_a_case_leaves_no_file) {
    const Sandbox box;
    const Process bench(box, "bench --device cpu --shape h=16,q=16384,k=16384,d=256,dtype=fp32");
    const std::string folder = box.path("state/raceline");
    const auto begun = [&] {
        return std::filesystem::exists(folder) && !std::filesystem::is_empty(folder) &&
               rows_of_kind(std::filesystem::directory_iterator(folder)->path(), "prediction") > 0;
    };
    ASSERT_TRUE(Process::wait_until(begun));
    bench.send(SIGINT);
    ASSERT_TRUE(Process::wait_until([&] {
        return Sandbox::read(box.path("err")).find("stopping after") != std::string::npos;
    }));
    bench.send(SIGINT);
    const Outcome run = bench.end();
    EXPECT_EQ(run.exit, 130);
    EXPECT_THAT(run.err, HasSubstr("stopped at once: no case was measured: nothing was kept"));
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(SignalledTwice, a_file_that_was_named_stays) {
    const Sandbox box;
    const std::string file = box.path("r.jsonl");
    const Process bench(box,
                        "bench --device cpu --shape h=16,q=16384,k=16384,d=256,dtype=fp32 "
                        "--receipts " +
                            file);
    ASSERT_TRUE(Process::wait_until(
        [&] { return std::filesystem::exists(file) && rows_of_kind(file, "prediction") > 0; }));
    bench.send(SIGINT);
    ASSERT_TRUE(Process::wait_until([&] {
        return Sandbox::read(box.path("err")).find("stopping after") != std::string::npos;
    }));
    bench.send(SIGINT);
    EXPECT_THAT(bench.end().err, HasSubstr("no case was measured: " + file + " has none of it"));
    EXPECT_EQ(rows_of_kind(file, "prediction"), 1U);
}

}  // namespace
}  // namespace raceline::test
