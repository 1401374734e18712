// SPDX-License-Identifier: Apache-2.0
// Named suites: what they promise, and that random ones stay what they are.
#include "workload/suites.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "support/check.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Suites, ParseAndHoldWhatTheyPromise) {
    for (const std::string& name : suite_names()) {
        const Suite suite = make_suite(name);
        EXPECT_FALSE(suite.workloads.empty()) << name;
        for (const Workload& w : suite.workloads) {
            EXPECT_EQ(parse_shape(format_shape(w)), w);
            EXPECT_EQ(std::count(suite.workloads.begin(), suite.workloads.end(), w), 1)
                << name << ": " << format_shape(w);
        }
    }
    EXPECT_GE(make_suite("quickstart").workloads.size(), 16U);
    const auto training = make_suite("training-16k").workloads;
    EXPECT_EQ(training.size(), 36U);
    for (const Workload& w : training) {
        EXPECT_EQ(w.tokens_q(), 16384);
        EXPECT_EQ(w.heads_q * w.headdim, 2048);
    }
    for (const Workload& w : make_suite("quickstart", DType::fp16).workloads) {
        EXPECT_EQ(w.dtype, DType::fp16);
        EXPECT_EQ(w.kv_dtype, DType::fp16);
    }
}

TEST(Suites, RandomOnesAreReproducibleAndInNoBenchmark) {
    const auto first = make_suite("random:7").workloads;
    EXPECT_EQ(first.size(), 20U);
    EXPECT_EQ(first, make_suite("random:7").workloads);
    EXPECT_NE(first, make_suite("random:8").workloads);
    // Drawn without the standard library's distributions: the same everywhere, pinned here.
    EXPECT_EQ(format_shape(first[0]), "h=16/4,q=281;206;165,k=281;206;165,d=128,dtype=fp32,causal");
    for (const std::string& name : suite_names(SuiteGroup::benchmark)) {
        for (Workload w : make_suite(name).workloads) {
            for (const Workload& drawn : first) {
                w.dtype = drawn.dtype;
                w.kv_dtype = drawn.kv_dtype;
                EXPECT_NE(w, drawn) << name << ": " << format_shape(w);
            }
        }
    }
}

TEST(Suites, ServingOnesAreReproducibleAndReachEveryLimit) {
    EXPECT_EQ(make_suite("serving:7").workloads, make_suite("serving:7").workloads);
    EXPECT_NE(make_suite("serving:7").workloads, make_suite("serving:8").workloads);
    EXPECT_NE(make_suite("serving:7").workloads, make_suite("random:7").workloads);
    std::set<std::int64_t> batches, tokens, pages;
    std::set<DType> types, caches;
    std::int64_t longest = 0, shortest = 1000, short_keys = 0, keys = 0;
    int windows = 0, caps = 0, sinks = 0, latent = 0, own_tokens = 0, equal = 0;
    double largest = 0;
    for (int seed = 0; seed < 60; ++seed) {
        const auto drawn = make_suite("serving:" + std::to_string(seed)).workloads;
        ASSERT_EQ(drawn.size(), 20U);
        for (const Workload& w : drawn) {
            EXPECT_EQ(parse_shape(format_shape(w)), w) << format_shape(w);
            batches.insert(w.batch);
            pages.insert(w.page_size);
            types.insert(w.dtype);
            caches.insert(w.kv_dtype);
            windows += w.window ? 1 : 0;
            caps += w.softcap > 0 ? 1 : 0;
            sinks += w.sinks ? 1 : 0;
            latent += w.mla ? 1 : 0;
            own_tokens += w.seqlens_q.empty() ? 0 : 1;
            equal += w.batch > 1 && !w.ragged() ? 1 : 0;
            for (std::int64_t b = 0; b < w.batch; ++b) {
                tokens.insert(w.length_q(b));
                longest = std::max(longest, w.length_k(b));
                shortest = std::min(shortest, w.length_k(b));
                short_keys += w.length_k(b) < 362 ? 1 : 0;  // half of the doublings
                ++keys;
            }
            // More than one token a sequence: causal, or drafts would see each other's future.
            EXPECT_TRUE(w.seqlen_q == 1 || w.mask == Mask::causal) << format_shape(w);
            const auto columns = static_cast<double>(w.headdim + (w.mla ? 0 : w.headdim_v));
            largest = std::max(largest, static_cast<double>(w.tokens_k() * w.heads_kv) * columns *
                                            bytes_of(w.kv_dtype));
        }
    }
    EXPECT_EQ(*batches.begin(), 1);
    EXPECT_GT(*batches.rbegin(), 200);
    EXPECT_LE(*batches.rbegin(), 256);
    EXPECT_EQ(tokens.size(), 16U);
    EXPECT_EQ(*tokens.begin(), 1);
    EXPECT_EQ(*tokens.rbegin(), 16);
    EXPECT_EQ(shortest, 1);
    EXPECT_GT(longest, 120'000);
    EXPECT_LE(longest, 131'072);
    EXPECT_NEAR(static_cast<double>(short_keys) / static_cast<double>(keys), 0.5, 0.05);
    EXPECT_EQ(pages, (std::set<std::int64_t>{0, 16, 48, 64, 128, 256}));
    EXPECT_EQ(types, (std::set{DType::fp32, DType::fp16, DType::bf16}));
    EXPECT_EQ(caches, (std::set{DType::fp32, DType::fp16, DType::bf16, DType::e4m3, DType::nvfp4}));
    for (const int option : {windows, caps, sinks, latent, own_tokens, equal}) {
        EXPECT_GT(option, 20);
    }
    EXPECT_LE(largest, 16e9);
    EXPECT_GT(largest, 10e9);
}

// Receipts name random suites and what they drew. A suite that is added to those whose shapes they
// avoid would change them: what is no benchmark belongs to another group.
TEST(Suites, RandomOnesAvoidTheseSuitesAndNoOthers) {
    EXPECT_THAT(suite_names(SuiteGroup::benchmark),
                ElementsAre("quickstart", "ladder", "from-scratch", "ladder-splits", "ladder-gap",
                            "training-16k", "llama3-8b", "llama3-70b", "deepseek-v3", "gpt-oss"));
    // Drawn, though another suite has them.
    const auto holds = [](const std::string& suite, const std::string& shape) {
        const auto workloads = make_suite(suite).workloads;
        return std::find(workloads.begin(), workloads.end(), parse_shape(shape)) != workloads.end();
    };
    EXPECT_TRUE(holds("cpu-one-thread", "h=4,k=512,d=128,dtype=fp32"));
    EXPECT_TRUE(holds("random:26542", "h=4,k=512,d=128,dtype=fp32"));
    EXPECT_TRUE(holds("cpu-one-thread", "h=4,k=1024,d=128,dtype=fp32"));
    EXPECT_TRUE(holds("random:56560", "h=4,k=1024,d=128,dtype=fp32"));
}

TEST(Suites, RandomSevenIsWhatItWas) {
    std::vector<std::string> shapes;
    for (const Workload& w : make_suite("random:7").workloads) {
        shapes.push_back(format_shape(w));
    }
    EXPECT_THAT(
        shapes,
        ElementsAre(
            "h=16/4,q=281;206;165,k=281;206;165,d=128,dtype=fp32,causal",
            "h=32/8,q=1,k=3491,d=64,dtype=fp32,causal,window=547,softcap=50",
            "h=1,q=820;1190;1093,k=820;1190;1093,d=128,dtype=bf16,softcap=20",
            "h=2,q=1,k=1458;1034;835;957;1167;917;1416;1461;1214,d=64,dtype=fp16",
            "h=4/1,q=921,k=921,d=96,dtype=bf16,causal,window=390",
            "h=6/3,q=1,k=2410,d=128,dtype=fp32,causal,window=433",
            "h=8,q=291;293;217;162,k=291;293;217;162,d=32,dtype=fp16,causal,sinks,page=64",
            "h=12/3,q=1,k=3398,d=64,dtype=fp32",
            "h=8/4,q=623;634;841,k=623;634;841,d=128,dtype=bf16,causal,window=167",
            "h=1,q=1,k=1400,d=128,dtype=fp32,page=16", "h=2,q=607,k=607,d=128,dtype=fp32,page=32",
            "b=2,h=4/1,q=1,k=6200,d=96,dtype=fp32",
            "h=4/2,q=2042,k=2042,d=64,dtype=bf16,causal,window=309",
            "h=2,q=1,k=1294;1015;871;1265,d=32,dtype=fp32,page=16",
            "h=16/2,q=448;451;516,k=448;451;516,d=64,dtype=bf16",
            "h=24/3,q=1,k=19889;23183;14080;21055,d=128,dtype=fp32,causal,window=534,softcap=30",
            "h=1,q=988,k=988,d=64,dtype=fp32,page=64", "h=32/4,q=1,k=9871,d=128,dtype=fp32",
            "h=8/1,q=188;237;266;258,k=188;237;266;258,d=128,dtype=bf16,causal",
            "b=9,h=16/2,q=1,k=2001,d=128,dtype=bf16"));
}

// One of several types holds each of them.
TEST(Suites, ThoseOfToolsHoldTheirTypesAlone) {
    const std::map<std::string, std::set<DType>> types{
        {"combine", {DType::bf16, DType::fp16, DType::fp32}},
        {"lengths", {DType::bf16}},
        {"lengths-ends", {DType::bf16}},
        {"operations", {DType::bf16, DType::fp32}},
        {"lengths-long", {DType::bf16}},
        {"lengths-long-fast", {DType::e4m3}},
        {"lengths-longest", {DType::bf16}},
        {"lengths-longest-full", {DType::bf16}},
        {"lengths-shortest-full", {DType::bf16}},
        {"lengths-shortest-causal", {DType::bf16}},
        {"portable-profile", {DType::bf16, DType::fp32}},
        {"fused-chains", {DType::bf16}},
        {"ladder-wide", {DType::fp16}},
        {"operations-odd", {DType::bf16, DType::fp32}},
        {"decode-odd", {DType::bf16}},
        {"decode-grid", {DType::bf16}},
        {"decode-grid-paged", {DType::bf16}},
        {"decode-grid-e4m3", {DType::bf16}},
        {"decode-grid-paged-e4m3", {DType::bf16}},
        {"decode-grid-e4m3-token", {DType::bf16}},
        {"warm-up", {DType::bf16}},
        {"warm-up-decode", {DType::bf16}},
        {"cpu-figures", {DType::fp32, DType::bf16, DType::fp16}},
        {"cpu-one-thread", {DType::fp32}},
        {"edges", {DType::bf16, DType::fp16}},
        {"edges-e4m3", {DType::e4m3}},
        {"edges-promotion", {DType::e4m3}},
        {"edges-ladder", {DType::fp16, DType::fp32}},
        {"edges-decode", {DType::bf16, DType::fp16}},
        {"edges-decode-tree", {DType::bf16, DType::fp16}},
        {"edges-operations", {DType::bf16, DType::fp16, DType::fp32}},
        {"sanitizer-operations", {DType::bf16, DType::fp16, DType::fp32}},
        {"sanitizer", {DType::bf16, DType::fp16}},
        {"sanitizer-decode", {DType::bf16, DType::fp16}},
        {"sanitizer-decode-e4m3", {DType::bf16}},
        {"sanitizer-e4m3", {DType::e4m3}},
        {"sanitizer-ladder", {DType::fp16}},
        {"sanitizer-portable", {DType::fp32, DType::fp16, DType::bf16}},
    };
    for (const SuiteGroup group : {SuiteGroup::measurement, SuiteGroup::check}) {
        for (const std::string& name : suite_names(group)) {
            ASSERT_TRUE(types.contains(name)) << name << ": which types does it hold?";
            std::set<DType> held;
            for (const Workload& w : make_suite(name).workloads) {
                held.insert(w.dtype);
                // Rungs and decode alone are asked for caches of another type.
                EXPECT_TRUE(w.kv_dtype == w.dtype || name == "edges-ladder" || w.seqlen_q == 1 ||
                            name.find("decode") != std::string::npos)
                    << format_shape(w);
            }
            EXPECT_EQ(held, types.at(name)) << name;
        }
    }
}

// Their rows lie beside those of training-16k: the same calls.
TEST(Suites, LengthsArePartsOfTraining) {
    for (const char* dtype : {"bf16", "e4m3"}) {
        const auto training = make_suite("training-16k", parse_dtype(dtype)).workloads;
        for (const char* name :
             {"lengths", "lengths-ends", "lengths-long", "lengths-longest", "lengths-long-fast",
              "lengths-longest-full", "lengths-shortest-full", "lengths-shortest-causal"}) {
            for (Workload w : make_suite(name, parse_dtype(dtype)).workloads) {
                EXPECT_EQ(w.accuracy == Accuracy::fast, name == std::string("lengths-long-fast"));
                w.accuracy = Accuracy::accurate;
                EXPECT_EQ(std::count(training.begin(), training.end(), w), 1) << format_shape(w);
            }
        }
    }
    EXPECT_EQ(make_suite("lengths").workloads.size(), 18U);
    EXPECT_EQ(make_suite("lengths-ends").workloads.size(), 12U);
    EXPECT_EQ(make_suite("lengths-long").workloads.size(), 12U);
    EXPECT_EQ(make_suite("lengths-long-fast").workloads.size(), 12U);
    EXPECT_EQ(make_suite("lengths-longest").workloads.size(), 6U);
}

// A profiler looks at one launch of a program: scripts name one shape by suite and head dim.
TEST(Suites, ProfiledPartsAreOneShape) {
    const auto part = [](const std::string& name) {
        const Suite suite = make_suite(name);
        EXPECT_EQ(suite.workloads.size(), 1U) << name;
        return format_shape(suite.workloads.front());
    };
    for (const char* d : {"64", "128", "256"}) {
        part(std::string("lengths-longest-full:") + d);
        part(std::string("lengths-shortest-full:") + d);
        part(std::string("lengths-shortest-causal:") + d);
    }
    EXPECT_EQ(part("lengths-longest-full:64"), "h=32,q=16384,k=16384,d=64,dtype=bf16");
    EXPECT_EQ(part("lengths-shortest-full:128"), "b=32,h=16,q=512,k=512,d=128,dtype=bf16");
    EXPECT_EQ(part("lengths-shortest-causal:256"), "b=32,h=8,q=512,k=512,d=256,dtype=bf16,causal");
    EXPECT_EQ(part("portable-profile:128"), "b=4,h=32/8,q=1,k=8192,d=128,dtype=bf16");
    EXPECT_EQ(part("portable-profile:64"), "h=4,q=2048,k=2048,d=64,dtype=fp32");
}

// Scripts run a suite in parts, so that what breaks at one head dim does not hide the others: no
// shape may fall between them.
TEST(Suites, PartsMakeUpTheWhole) {
    for (const char* name : {"edges", "edges-e4m3", "edges-promotion", "lengths-long",
                             "lengths-long-fast", "warm-up", "lengths-longest-full"}) {
        std::size_t shapes = 0;
        for (const char* part : {":64", ":128", ":256"}) {
            const Suite suite = make_suite(name + std::string(part));
            EXPECT_EQ(suite.name, name + std::string(part));
            shapes += suite.workloads.size();
        }
        EXPECT_EQ(shapes, make_suite(name).workloads.size()) << name;
    }
    for (const Workload& w : make_suite("edges:128", DType::fp16).workloads) {
        EXPECT_GT(w.headdim, 64);
        EXPECT_LE(w.headdim, 128);
        EXPECT_EQ(w.dtype, DType::fp16);
    }
}

TEST(Suites, UnknownNamesAreAnswered) {
    const auto refused = [](const std::string& name) {
        try {
            make_suite(name);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::invalid_argument);
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_THAT(refused("quikstart"), HasSubstr("did you mean 'quickstart'?"));
    EXPECT_THAT(refused("random:x"), HasSubstr("needs a seed"));
    EXPECT_THAT(refused("random:"), HasSubstr("needs a seed"));
    EXPECT_THAT(refused("random:7:64"), HasSubstr("needs a seed"));
    EXPECT_THAT(refused("serving:x"), HasSubstr("suite 'serving:' needs a seed"));
    EXPECT_THAT(refused("servin:7"), HasSubstr("did you mean"));
    // In a terminal it is a few lines: what checks and tools use is counted.
    const std::string unknown = refused("no such suite");
    for (const std::string& name : suite_names(SuiteGroup::benchmark)) {
        EXPECT_THAT(unknown, HasSubstr(" " + name + ","));
    }
    const std::size_t others = suite_names().size() - suite_names(SuiteGroup::benchmark).size();
    EXPECT_THAT(unknown, HasSubstr(fmt::format("and {} more that `raceline help", others)));
    EXPECT_LT(unknown.size(), 400U);
    EXPECT_THAT(refused("edges-decod"), HasSubstr("did you mean 'edges-decode'?"));
    EXPECT_THAT(unknown, HasSubstr(", random:SEED, serving:SEED"));
    EXPECT_THAT(refused("edgs:64"), HasSubstr("did you mean 'edges'?"));
    EXPECT_THAT(refused("edges:"), HasSubstr("a head dim from 1 to 1024, as in edges:128"));
    EXPECT_THAT(refused("edges:0"), HasSubstr("a head dim from 1 to 1024"));
    EXPECT_THAT(refused("edges:64x"), HasSubstr("a head dim from 1 to 1024"));
    EXPECT_THAT(refused("edges:64:64"), HasSubstr("a head dim from 1 to 1024"));
    EXPECT_THAT(refused("edges:16"), HasSubstr("no shape of a head dim over 8 and at most 16"));
}

// Rows name a suite in one spelling, however it was typed.
TEST(Suites, HaveOneSpelling) {
    EXPECT_EQ(make_suite("Llama3-8B").name, "llama3-8b");
    EXPECT_EQ(make_suite("llama3_8b").name, "llama3-8b");
    EXPECT_EQ(make_suite("TRAINING-16k:64").name, "training-16k:64");
    EXPECT_EQ(make_suite("Random:07").name, "random:7");
    EXPECT_EQ(make_suite("SERVING:7").name, "serving:7");
    EXPECT_EQ(make_suite("RANDOM:7").workloads, make_suite("random:7").workloads);
}

// The page says of most suites how many shapes they have: those of an entry are these.
TEST(Suites, AreAsLargeAsTheirPageSays) {
    std::ifstream in(RACELINE_SOURCE_DIR "/docs/shapes.md");
    std::string page{std::istreambuf_iterator<char>(in), {}};
    page.erase(0, page.find("\n## Suites"));
    const std::regex entry("\n- ((?:`[^`]+`(?:, )?)+): ((?:[^\n]|\n(?=  ))*)");
    const std::regex name("`([^`:]+)(:SEED)?`"), size("([0-9]+) shapes");
    std::set<std::string> named;
    int compared = 0;
    for (std::sregex_iterator one(page.begin(), page.end(), entry), none; one != none; ++one) {
        const std::string names = (*one)[1], says = (*one)[2];
        std::smatch shapes;
        const bool has_size = std::regex_search(says, shapes, size);
        for (std::sregex_iterator n(names.begin(), names.end(), name); n != none; ++n) {
            const std::string suite = (*n)[1].str() + ((*n)[2].matched ? ":1" : "");
            named.insert(suite);
            if (has_size) {
                ++compared;
                EXPECT_EQ(std::to_string(make_suite(suite).workloads.size()), shapes[1]) << suite;
            }
        }
    }
    EXPECT_GT(compared, 15);
    for (const std::string& suite : suite_names()) {
        EXPECT_TRUE(named.contains(suite)) << suite << " is not in docs/shapes.md";
    }
}

}  // namespace
}  // namespace raceline
