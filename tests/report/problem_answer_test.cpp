// SPDX-License-Identifier: Apache-2.0
// What `raceline predict` answers about a problem: the API's kernel, why it takes its time, what
// would help, and the bound.
#include "report/problem_answer.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>

#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "model/speed_of_light.hpp"
#include "registry/registry.hpp"
#include "report/answer_text.hpp"
#include "report/case_columns.hpp"
#include "report/explanation.hpp"
#include "report/help_sentences.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Device committed(const std::string& id) {
    Device device = datasheet_device(id);
    apply_committed_rates(device);
    return device;
}

Case problem(const std::string& shape, const std::string& path = "graph") {
    Case one;
    one.workload = parse_shape(shape);
    one.options.how.launch_path = path;
    return one;
}

ProblemAnswer answer_on(const Device& device, const Case& one) {
    return answer_problem(one, device, device, Calibration::used);
}

constexpr const char* prefill = "h=16,q=4096,k=4096,d=128,dtype=bf16";
constexpr const char* decode = "b=64,h=32/8,q=1,k=8192,d=128,dtype=bf16";

TEST(ProblemAnswer, IsTheChoiceOfTheApi) {
    const Device h200 = committed("h200");
    for (const char* suite : {"llama3-8b", "gpt-oss"}) {
        for (const Workload& workload : make_suite(suite).workloads) {
            Case one;
            one.workload = workload;
            one.options.how.launch_path = "stream";
            const ProblemAnswer answer = answer_on(h200, one);
            const auto choice = api::engine_of_call(workload, h200, 0);
            ASSERT_TRUE(choice);
            EXPECT_EQ(answer.which.kernel, choice->kernel) << format_shape(workload);
            EXPECT_EQ(answer.which.tile, choice->tile) << format_shape(workload);
            EXPECT_TRUE(answer.by_api);
        }
    }
}

// The rates of the device that is asked about change the time, those of calls the choice.
TEST(ProblemAnswer, ChoosesByTheRatesOfCallsAndTimesByThose) {
    const Device h200 = committed("h200");
    const Device slow = with_rate_of(h200, "dram", 0.5);
    const ProblemAnswer answer = answer_problem(problem(decode), slow, h200, Calibration::used);
    const ProblemAnswer usual = answer_on(h200, problem(decode));
    EXPECT_EQ(answer.which.kernel, usual.which.kernel);
    EXPECT_EQ(answer.which.tile, usual.which.tile);
    EXPECT_GT(answer.explained.prediction.seconds, 1.8 * usual.explained.prediction.seconds);
    EXPECT_GT(answer.bound.seconds, 1.8 * usual.bound.seconds);
    // Such slow products would send the call elsewhere, if it knew of them.
    const Device weak = with_rate_of(h200, "flop.wgmma.bf16", 0.01);
    EXPECT_EQ(answer_problem(problem(prefill), weak, h200, Calibration::used).which.kernel->name,
              "prefill_sm90");
    EXPECT_NE(answer_on(weak, problem(prefill)).which.kernel->name, "prefill_sm90");
}

TEST(ProblemAnswer, ExplainsAllOfTheTimeLongestFirst) {
    const Device h200 = committed("h200");
    for (const char* shape : {prefill, decode}) {
        const ProblemAnswer answer = answer_on(h200, problem(shape));
        const Prediction& p = answer.explained.prediction;
        const double sum =
            std::accumulate(answer.terms.begin(), answer.terms.end(), 0.0,
                            [](double all, const TimeTerm& term) { return all + term.seconds; });
        EXPECT_NEAR(sum, p.seconds, 1e-9 * p.seconds);
        EXPECT_EQ(answer.terms.front().name, p.limiter);
        EXPECT_TRUE(
            std::ranges::is_sorted(answer.terms, std::ranges::greater{}, &TimeTerm::seconds));
        // What lies beside has no large part in the sum.
        for (const TimeTerm& term : answer.beside) {
            const auto whole = p.layer1.seconds.find(term.name);  // hidden work is none of these
            EXPECT_LE(term.seconds, whole == p.layer1.seconds.end() ? p.seconds : whole->second);
            for (const auto& [name, seconds] : p.layer2) {
                if (name == term.name) {
                    EXPECT_LT(seconds, term.seconds) << name;
                }
            }
        }
        EXPECT_FALSE(answer.beside.empty());
    }
}

TEST(ProblemAnswer, SaysInOneLineWhyNothingRuns) {
    const Device mi300x = committed("mi300x");
    const ProblemAnswer answer = answer_on(mi300x, problem(decode));
    EXPECT_EQ(answer.which.kernel, nullptr);
    EXPECT_FALSE(answer.served());
    EXPECT_THAT(answer.refusal, HasSubstr("each runs on CUDA GPUs, not on mi300x"));
    EXPECT_THAT(answer.refusal, AllOf(Not(HasSubstr("\n")), Not(HasSubstr("combine"))));
    EXPECT_GT(answer.bound.seconds, 0);
    const std::string text = answer_text(answer, mi300x, {});
    EXPECT_THAT(text, AllOf(HasSubstr("No kernel of the API serves it: decode_sm90"),
                            HasSubstr("Bound of the problem: "), HasSubstr(" by dram")));
    EXPECT_THAT(text, Not(HasSubstr("Why")));
}

TEST(ProblemAnswer, HasTheCompulsoryBytesBesideTheBound) {
    const Device h200 = committed("h200");
    const ProblemAnswer answer =
        answer_on(h200, problem("op=adam,n=1000x1000,dtype=bf16,master=fp32"));
    EXPECT_THAT(answer_text(answer, h200, {}), HasSubstr("; 14.0 MB read, 14.0 MB written)"));
}

// A kernel for trees alone says nothing to a call that has none.
TEST(ProblemAnswer, NamesKernelsForTreesToCallsWithATreeAlone) {
    const Device h200 = committed("h200");
    const std::string shape = "h=8,q=4,k=64,d=64,kv=nvfp4";
    EXPECT_THAT(answer_on(h200, problem(shape)).refusal,
                AllOf(HasSubstr("decode_sm90"), Not(HasSubstr("_tree"))));
    EXPECT_THAT(answer_on(h200, problem(shape + ",tree=1")).refusal, HasSubstr("decode_sm90_tree"));
}

// Another kind of device is a reason only where there is no better one.
TEST(ProblemAnswer, GivesTheReasonsOfTheDevicesOwnKernels) {
    const ProblemAnswer answer =
        answer_on(committed("cpu"), problem("h=8,q=64,k=64,d=600,dtype=fp32", "parallel"));
    EXPECT_THAT(answer.refusal, AllOf(StartsWith("cpu_flash: "), Not(HasSubstr("CUDA"))));
}

TEST(WhatHelps, IsWhatTheModelSaysOfAFasterDevice) {
    const Device h200 = committed("h200");
    const ProblemAnswer answer = answer_on(h200, problem(decode));
    const auto gain =
        std::ranges::find(answer.helps.rates, std::string("dram"), &RateGain::resource);
    ASSERT_NE(gain, answer.helps.rates.end());
    const Device faster = with_rate_of(h200, "dram", 1.1);
    EXPECT_GT(faster.rate("byte.dram_read"), 1.09 * h200.rate("byte.dram_read"));
    EXPECT_GT(faster.rate("byte.dram_read.unit"), 1.09 * h200.rate("byte.dram_read.unit"));
    EXPECT_EQ(faster.rate("byte.l2"), h200.rate("byte.l2"));
    const auto counts = answer.which.kernel->counts(answer.which.workload, answer.which.tile, h200);
    EXPECT_DOUBLE_EQ(gain->seconds, predict(faster, counts, answer.which.options.how).seconds);
    EXPECT_NEAR(gain->saved, 0.075, 0.012) << "most of what it waits for is memory";
    EXPECT_TRUE(
        std::ranges::is_sorted(answer.helps.rates, std::ranges::greater{}, &RateGain::saved));
}

// Half a device: exponentials are no part of flop.fma's name, nor a matrix type of another's.
TEST(WhatHelps, ChangesNoOtherRate) {
    const Device h200 = committed("h200");
    const Device faster = with_rate_of(h200, "flop.wgmma.bf16", 2);
    for (const auto& [id, rate] : h200.rates) {
        const bool its = id.starts_with("flop.wgmma.bf16");
        EXPECT_EQ(faster.rate(id), (its ? 2 : 1) * rate.value) << id;
    }
}

// A kernel whose chains are as long as its products gains little by faster products alone, and a
// tenth by a tenth of everything.
TEST(WhatHelps, NamesWhatTakesThePlaceOfALimiter) {
    const ProblemAnswer answer = answer_on(committed("h200"), problem(prefill));
    const auto gain = std::ranges::find(answer.helps.rates, answer.explained.prediction.limiter,
                                        &RateGain::resource);
    ASSERT_NE(gain, answer.helps.rates.end());
    EXPECT_LT(gain->saved, 0.05);
    EXPECT_EQ(gain->in_place, "latency");
    EXPECT_NEAR(answer.helps.saved_by_all, 0.09, 0.01);
}

TEST(WhatHelps, KnowsHowFullTheDeviceIs) {
    const ProblemAnswer answer =
        answer_on(committed("h200"), problem("h=8,q=128,k=128,d=64,dtype=bf16"));
    const auto counts =
        answer.which.kernel->counts(answer.which.workload, answer.which.tile, committed("h200"));
    EXPECT_EQ(answer.helps.fill.ctas, counts.front().ctas);
    EXPECT_LT(answer.helps.fill.waves(), 0.1);
    EXPECT_GE(answer.helps.fill.at_once, 132);
    EXPECT_THAT(testing::PrintToString(help_sentences(answer)),
                AllOf(HasSubstr("16 CTAs leave 116 of 132 units without one"),
                      HasSubstr("more of them would help")));
    EXPECT_THAT(testing::PrintToString(help_sentences(
                    answer_on(committed("h200"), problem("op=rmsnorm,n=8192,dtype=bf16")))),
                HasSubstr("1 CTA leaves 131 of 132 units without one"));
}

// A rate that the board cannot feed lowers the clock, and with it all that waits.
TEST(WhatHelps, NamesTheClockThatTheBoardsPowerAllows) {
    const Device h200 = committed("h200");
    const ProblemAnswer answer =
        answer_on(h200, problem("b=4,h=32,q=2048,k=2048,d=256,dtype=bf16"));
    const auto gain = std::ranges::find(answer.helps.rates, "flop.wgmma.bf16", &RateGain::resource);
    ASSERT_NE(gain, answer.helps.rates.end());
    EXPECT_LT(gain->clock_hz, answer.explained.prediction.sm_clock_hz);
    EXPECT_THAT(testing::PrintToString(help_sentences(answer)),
                HasSubstr(fmt::format("the board's power then allows {:.2f} GHz, not {:.2f}",
                                      gain->clock_hz * 1e-9,
                                      answer.explained.prediction.sm_clock_hz * 1e-9)));
}

TEST(WhatHelps, SaysWhatAGraphSaves) {
    const Device h200 = committed("h200");
    const Case by_stream = problem("h=8,q=1,k=64,d=64,dtype=bf16", "stream");
    const ProblemAnswer slow = answer_on(h200, by_stream);
    EXPECT_GT(slow.helps.graph_seconds, 0);
    EXPECT_LT(slow.helps.graph_seconds, slow.explained.prediction.seconds);
    EXPECT_EQ(answer_on(h200, problem("h=8,q=1,k=64,d=64,dtype=bf16")).helps.graph_seconds, 0);
    EXPECT_THAT(testing::PrintToString(help_sentences(slow)), HasSubstr("Launched by a graph"));
}

std::size_t widest(const std::string& text) {
    std::istringstream in(text);
    std::size_t most = 0;
    for (std::string line; std::getline(in, line);) {
        most = std::max(most, text_width(line));
    }
    return most;
}

TEST(AnswerText, SaysKernelWhyHelpAndBoundInThisOrder) {
    const Device h200 = committed("h200");
    const ProblemAnswer answer = answer_on(h200, problem(prefill));
    const std::string text = answer_text(answer, h200, {.columns = 100});
    std::size_t at = 0;
    for (const char* part :
         {prefill, "on NVIDIA H200", "kernel    prefill_sm90, which the API runs", "expected",
          "limiter   flop.wgmma.bf16", "\nWhy: the model's ", "█", "products in bf16 by wgmma",
          "beside what stands above", "░", "op.ex2", "\nWhat would help\n",
          "\nBound of the problem: "}) {
        const std::size_t found = text.find(part, at);
        ASSERT_NE(found, std::string::npos) << part << " behind:\n" << text.substr(at);
        at = found;
    }
    EXPECT_THAT(text, HasSubstr(format_seconds(answer.explained.prediction.seconds)));
    EXPECT_THAT(text, HasSubstr(format_seconds(answer.bound.seconds)));
}

TEST(AnswerText, FitsItsColumns) {
    const Device h200 = committed("h200");
    for (const char* shape : {prefill, decode, "h=8,q=128,k=128,d=64,dtype=bf16"}) {
        const ProblemAnswer answer = answer_on(h200, problem(shape));
        for (const std::size_t columns : {60U, 80U, 100U, 140U}) {
            const std::string text = answer_text(answer, h200, {.columns = columns});
            EXPECT_LE(widest(text.substr(text.find("\nWhy"))), columns) << text;
        }
    }
}

// Terms too short for a line of their own are in one together, so that the shown ones add up.
TEST(AnswerText, ShowsAllOfTheTime) {
    const Device h200 = committed("h200");
    for (const char* shape : {prefill, decode}) {
        const ProblemAnswer answer = answer_on(h200, problem(shape));
        double rest = 0;
        for (const TimeTerm& term : answer.terms) {
            rest += term.share < least_share ? term.seconds : 0;
        }
        ASSERT_GT(rest, 0);
        const std::string text = answer_text(answer, h200, {.columns = 140});
        const std::string line = text.substr(text.find("\n  rest ") + 1);
        EXPECT_THAT(line.substr(0, line.find('\n')),
                    AllOf(HasSubstr(format_seconds(rest)), HasSubstr("all that is shorter")));
        EXPECT_LT(text.find("\n  rest "), text.find("beside what stands above"));
    }
}

// What takes a limiter's place and decides for nothing until then stands beside the other work.
TEST(AnswerText, HasABarOfWorkThatIsHidden) {
    const Device h200 = committed("h200");
    for (const char* shape : {decode, "h=32/8,q=1,k=8192,d=128,dtype=bf16"}) {
        const ProblemAnswer answer = answer_on(h200, problem(shape));
        const Prediction& p = answer.explained.prediction;
        ASSERT_FALSE(std::ranges::count(answer.terms, "byte.l2_link", &TimeTerm::name)) << shape;
        const auto hidden = std::ranges::find(answer.beside, "byte.l2_link", &TimeTerm::name);
        ASSERT_NE(hidden, answer.beside.end()) << shape;
        EXPECT_GT(hidden->seconds, 0);
        EXPECT_LT(hidden->seconds, p.seconds);
        EXPECT_DOUBLE_EQ(hidden->share, hidden->seconds / p.seconds);
        const std::string text = answer_text(answer, h200, {.columns = 140});
        EXPECT_THAT(text, HasSubstr(": byte.l2_link takes its place."));
        const std::string beside = text.substr(text.find("beside what stands above"));
        EXPECT_THAT(beside, AllOf(testing::ContainsRegex("\n  byte.l2_link +░"),
                                  HasSubstr("L2 traffic between halves\n")));
        EXPECT_THAT(explanation(answer.which, h200, answer.explained),
                    testing::ContainsRegex("\nbyte.l2_link +" + format_seconds(hidden->seconds)));
    }
    const ProblemAnswer by_products = answer_on(h200, problem(prefill));
    EXPECT_FALSE(std::ranges::count(by_products.beside, "latency", &TimeTerm::name))
        << "a wait is no work beside others";
    EXPECT_THAT(answer_text(by_products, h200, {}), HasSubstr(": latency takes its place"));
}

// What takes a limiter's place and has no bar, as idle units had none, says what it is.
TEST(AnswerText, ExplainsATermWithoutABar) {
    const Device h100 = committed("h100-sxm");
    EXPECT_THAT(answer_text(answer_on(h100, problem("op=rope,n=5916x128,dtype=fp16")), h100, {}),
                HasSubstr("tail (idle units at the end, hidden until then) takes its place"));
}

// A time far from the bound for want of a kernel says nothing of the device.
TEST(AnswerText, SaysWhereAKernelIsMadeForOtherDevices) {
    const Device b200 = committed("b200");
    const ProblemAnswer far = answer_on(b200, problem(decode));
    EXPECT_THAT(far.made_for_others,
                AllOf(HasSubstr("decode_sm90, prefill_sm90 take this problem"),
                      HasSubstr("each needs a Hopper GPU"), Not(HasSubstr("cpu_flash"))));
    EXPECT_THAT(answer_text(far, b200, {}), HasSubstr("What the device can do is the bound below"));
    EXPECT_THAT(answers_table(std::array{far, far}, {}),
                HasSubstr("of 2 shapes look at the bound: decode_sm90"));
    const Device h200 = committed("h200");
    EXPECT_EQ(answer_on(h200, problem(decode)).made_for_others, "");
    EXPECT_EQ(answer_on(h200, problem("op=add,n=64x4096,dtype=bf16")).made_for_others, "")
        << "rows_cpu is for no GPU";
}

// Our kernels are predicted for devices, too, that no build of them is for.
TEST(AnswerText, SaysThatNothingIsCompiledForAnOldDevice) {
    const auto answer = [](const char* id) {
        return answer_on(committed(id), problem("op=rmsnorm,n=1024x4096"));
    };
    const ProblemAnswer v100 = answer("v100");
    EXPECT_EQ(v100.not_compiled,
              "it is what the code would take: CUDA 13 compiles for compute capability 7.5 and "
              "later, and v100 has 7.0");
    EXPECT_THAT(answer("t4").not_compiled, HasSubstr("RACELINE_CUDA_ARCHS=75-real runs"));
    EXPECT_EQ(answer("a100-80").not_compiled, "");
    EXPECT_THAT(answer_text(v100, committed("v100"), {}), HasSubstr("what the code would take"));
    EXPECT_THAT(answers_table(std::array{v100, v100}, {}),
                HasSubstr("of all times: it is what the code would take"));
}

// Columns that are no multiple of eight leave the fast kernels, which a reader should know.
TEST(AnswerText, SaysThatFasterKernelsDoNotTakeTheProblem) {
    const Device h200 = committed("h200");
    const ProblemAnswer odd = answer_on(h200, problem("b=64,h=32/8,q=1,k=8192,d=100"));
    EXPECT_TRUE(odd.others_refuse);
    EXPECT_THAT(answer_text(odd, h200, {}), HasSubstr("-v says why"));
    EXPECT_FALSE(answer_on(h200, problem("b=64,h=32/8,q=1,k=8192,d=104")).others_refuse);
    EXPECT_FALSE(answer_on(h200, problem("h=8,q=1,k=8,d=100")).others_refuse) << "a short call";
    EXPECT_FALSE(answer_on(h200, problem("op=layernorm,n=512x100000,dtype=bf16")).others_refuse)
        << "there is no other";
    EXPECT_FALSE(answer_on(h200, problem("b=8,h=64/8,q=16,k=8192,d=128,causal")).others_refuse)
        << "the fast kernel runs";
}

// The longest term has the longest bar, and the bars of two terms are as their shares.
TEST(AnswerText, DrawsBarsAsLongAsTheirShares) {
    const Device h200 = committed("h200");
    const ProblemAnswer answer = answer_on(h200, problem(decode));
    const std::string text = answer_text(answer, h200, {.columns = 140});
    const std::size_t from = text.find("\n  dram ") + 1;
    const std::string line = text.substr(from, text.find('\n', from) - from);
    // One byte of every block is this one, and of µ none.
    const auto blocks = std::ranges::count(line, '\xE2');
    EXPECT_NEAR(static_cast<double>(blocks), 40 * answer.terms.front().share, 1) << line;
}

TEST(AnswersTable, HasARowForEachProblemAndALineForEachReason) {
    const Device mi300x = committed("mi300x");
    const Device h200 = committed("h200");
    const std::vector<ProblemAnswer> answers{
        answer_on(h200, problem(prefill)), answer_on(h200, problem(decode)),
        answer_on(mi300x, problem(decode)), answer_on(mi300x, problem(prefill))};
    const std::string text = answers_table(answers, {});
    EXPECT_THAT(text,
                AllOf(HasSubstr("prefill_sm90"), HasSubstr("decode_sm90"), HasSubstr("none")));
    EXPECT_THAT(text, testing::ContainsRegex("none .*flop.mfma.bf16"));
    EXPECT_THAT(text, HasSubstr("no kernel of the API serves 2 shapes: decode_sm90,"));
    EXPECT_LE(widest(answers_table(std::span(answers).first(2), {.columns = 100})), 100U);
}

// The share stands beside the expected time, and is of it.
TEST(AnswersTable, HasTheBoundsShareOfTheExpectedTime) {
    const ProblemAnswer answer = answer_on(committed("h200"), problem(prefill));
    const Prediction& p = answer.explained.prediction;
    const double bound = answer.bound.seconds;
    ASSERT_NE(format_percent(bound / p.expected_seconds), format_percent(bound / p.seconds));
    const std::string text = answers_table(std::array{answer}, {});
    EXPECT_THAT(text, HasSubstr(" " + format_percent(bound / p.expected_seconds) + " "));
    EXPECT_THAT(text, testing::Not(HasSubstr(" " + format_percent(bound / p.seconds) + " ")));
}

// What all rows rest on is said once, in the line below the table.
TEST(AnswersTable, SaysRatesOfAllRowsOnce) {
    const Device h200 = committed("h200");
    const std::vector<ProblemAnswer> alike{answer_on(h200, problem(decode)),
                                           answer_on(h200, problem("h=8,q=1,k=64,d=64"))};
    for (const std::size_t columns : {0U, 60U, 100U}) {
        const std::string text = answers_table(alike, {.columns = columns});
        EXPECT_EQ(text.find("rates"), text.rfind("rates")) << text;
        EXPECT_THAT(text, HasSubstr("\nrates: committed + datasheet\n"));
    }
    const std::vector<ProblemAnswer> mixed{alike.front(),
                                           answer_on(committed("mi300x"), problem(decode))};
    EXPECT_THAT(answers_table(mixed, {}), testing::ContainsRegex("ridge +rates +tile"));
}

// At a hundred columns, of suites with long shapes and long names.
TEST(AnswersTable, KeepsTheRooflineWhereItIsNarrow) {
    const Device h200 = committed("h200");
    for (const char* suite :
         {"llama3-8b", "deepseek-v3", "serving:5", "operations:7", "random:3"}) {
        std::vector<ProblemAnswer> answers;
        for (const Workload& workload : make_suite(suite).workloads) {
            Case one;
            one.workload = workload;
            one.options.how.launch_path = "graph";
            answers.push_back(answer_on(h200, one));
        }
        std::istringstream text(answers_table(answers, {.columns = 100}));
        std::string heading;
        std::getline(text, heading);
        std::string rest(std::istreambuf_iterator<char>(text), {});
        for (const char* column : {"limiter", "of bound", "FLOP/B", "ridge"}) {
            EXPECT_TRUE(heading.find(column) != std::string::npos ||
                        rest.find(std::string("in all rows: ") + column) != std::string::npos)
                << suite << ": " << column << "\n"
                << heading;
        }
    }
}

TEST(RateOrigins, SayWhoseAreWhich) {
    RateOrigins origins;
    EXPECT_EQ(origins.text(), "");
    origins.add("committed", "prefill_sm90");
    origins.add("", "none");
    EXPECT_EQ(origins.text(), "committed");
    origins.add("committed + datasheet", "simt");
    EXPECT_EQ(origins.text(), "committed of prefill_sm90; committed + datasheet of simt");
    origins.add("committed", "simt");
    EXPECT_EQ(origins.text(),
              "committed of prefill_sm90, simt (1 row); committed + datasheet of simt (1 row)");
}

TEST(AnswerText, SaysWhatClockTheWattsLeave) {
    const Device l4 = committed("l4");
    EXPECT_THAT(answer_text(answer_on(l4, problem(prefill)), l4, {}),
                testing::ContainsRegex("clock +1\\.[0-9]+ GHz, of 2\\.04 at most, in 72 W"));
    EXPECT_THAT(answer_text(answer_on(l4, problem(prefill)), l4, {}),
                testing::ContainsRegex("rates .*datasheet x h200: .*flop.mma.bf16 [01]\\.[0-9]+"))
        << "how far a datasheet's rate is scaled, for each resource";
    const Device h200 = committed("h200");
    EXPECT_THAT(answer_text(answer_on(h200, problem(decode)), h200, {}),
                testing::ContainsRegex("clock +1\\.[0-9]+ GHz"));
}

TEST(ShortShape, SaysOfLongListsWhatTheyAre) {
    EXPECT_EQ(short_shape("h=8/1,q=1,k=3000;17;1024;2048;4096;1;777,d=64,dtype=bf16,page=16"),
              "h=8/1,q=1,k=1…4096(7),d=64,bf16,page=16");
    EXPECT_EQ(short_shape("h=8,q=1;2,k=5;,d=64,dtype=fp32"), "h=8,q=1;2,k=5;,d=64,fp32");
    EXPECT_EQ(short_shape("not a shape"), "not a shape");
    EXPECT_EQ(short_shape("k=1;x;3000000"), "k=1;x;3000000");
}

}  // namespace
}  // namespace raceline
