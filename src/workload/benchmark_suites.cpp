// SPDX-License-Identifier: Apache-2.0
// The suites that are published and compared, written in the shape grammar so that each line can be
// pasted after --shape.
#include <array>
#include <cstdint>
#include <fmt/format.h>

#include "workload/suite_lists.hpp"

namespace raceline {
namespace {

using Shapes = std::vector<std::string>;

/// Small enough for two cores in half a minute, with everything in it that a kernel can get wrong.
Shapes quickstart() {
    return {
        "h=4,k=2048,d=64,dtype=fp32",
        "h=4,k=2048,d=128,dtype=fp32",
        "h=4,k=2048,d=64,dtype=fp32,causal",
        "h=8/2,k=512,d=128,dtype=fp32,causal",
        "h=8,k=512,d=64,dtype=bf16",
        "h=8,k=1024,d=64,dtype=bf16,causal",
        "h=8,k=1024,d=128,dtype=bf16",
        "h=8/2,k=1024,d=128,dtype=bf16,causal",
        "h=8/2,k=511;100;333,d=64,dtype=bf16,causal",
        "h=8/2,q=200,k=1000,d=128,dtype=bf16,causal,page=64",
        "h=8,q=1,k=8192,d=64,dtype=fp32",
        "h=8,q=1,k=8192,d=128,dtype=bf16",
        "h=32/8,q=1,k=8192,d=128,dtype=fp32",
        "h=32/8,q=1,k=32768,d=128,dtype=bf16",
        "h=16/2,q=1,k=4096,d=64,dtype=fp32,page=64",
        "b=4,h=32/8,q=1,k=2048,d=128,dtype=bf16,page=64",
        "b=8,h=8/1,q=1,k=3000;17;1024;2048;513;4096;1;777,d=64,dtype=bf16,page=16",
        "h=64/8,q=1,k=4096,d=64,dtype=bf16,causal,window=127,sinks",
        "b=4,h=8,q=1,k=1024,d=64,dtype=fp16",
    };
}

/// One query token beside caches of every format: groups, batches, contexts past the L2, pages.
void add_decode_sweeps(Shapes& shapes) {
    const auto add = [&](int batch, int group, int k, const char* cache) {
        shapes.push_back(
            fmt::format("b={},h=32/{},q=1,k={},d=128,dtype=fp16{}", batch, 32 / group, k, cache));
    };
    for (const char* cache : {"", ",kv=e4m3", ",kv=nvfp4"}) {
        for (const int group : {1, 2, 4, 8, 16, 32}) {
            add(1, group, 8192, cache);
        }
    }
    for (const int batch : {2, 4, 8, 16, 32, 64, 128}) {
        add(batch, 4, 8192, "");
    }
    for (const int k : {32768, 131072, 524288, 1048576}) {
        add(1, 4, k, "");
    }
    for (const char* cache : {",kv=e4m3", ",kv=nvfp4"}) {
        add(8, 4, 8192, cache);
        add(64, 4, 8192, cache);
        add(1, 4, 131072, cache);
        add(1, 4, 1048576, cache);
    }
    for (const int batch : {1, 8, 64}) {
        add(batch, 4, 8192, ",page=64");
    }
    // One head and as long a context: splits reach into the thousands where a tile asks for them.
    shapes.emplace_back("h=1,q=1,k=1048576,d=128,dtype=fp16");
}

/// Latent attention with the heads of deepseek-v3, one user and many.
void add_latent_sweep(Shapes& shapes) {
    for (int k = 2048; k <= 131072; k *= 2) {
        shapes.push_back(fmt::format("h=128,q=1,k={},mla=512+64,dtype=fp16", k));
    }
    for (const char* served : {"b=8,h=128,q=1,k=8192", "b=64,h=128,q=1,k=8192",
                               "b=128,h=128,q=1,k=2048", "b=1,h=16,q=1,k=8192"}) {
        shapes.push_back(fmt::format("{},mla=512+64,dtype=fp16", served));
    }
    shapes.emplace_back("b=8,h=128,q=1,k=8192,mla=512+64,dtype=fp16,page=64");
}

/// What the ladder's rungs were published on. fp16: the one type that every rung takes.
Shapes ladder() {
    Shapes shapes;
    for (const int d : {64, 128}) {
        for (const char* mask : {"", ",causal"}) {
            for (const int n : {512, 2048, 8192}) {
                shapes.push_back(fmt::format("h=8,k={},d={},dtype=fp16{}", n, d, mask));
            }
        }
    }
    for (const int d : {64, 128}) {
        for (const int k : {2048, 8192, 16384}) {
            shapes.push_back(fmt::format("h=8,q=1,k={},d={},dtype=fp16", k, d));
        }
    }
    add_decode_sweeps(shapes);
    add_latent_sweep(shapes);
    return shapes;
}

Shapes from_scratch() {
    return {"h=8,k=512,d=64,dtype=fp16", "h=8,k=512,d=64,dtype=fp16,causal"};
}

/// As many bytes of K and V each, on one head, eight, and eight shared by 32: tiles that ask for
/// one wave of CTAs to 32 make from one split to thousands.
Shapes ladder_splits() {
    return {"h=1,q=1,k=1048576,d=128,dtype=fp16", "h=8,q=1,k=131072,d=128,dtype=fp16",
            "h=32/8,q=1,k=131072,d=128,dtype=fp16"};
}

/// What lies between the best rung and the fastest library is taken apart on these.
Shapes ladder_gap() {
    return {"h=8,k=512,d=64,dtype=fp16", "h=8,k=8192,d=64,dtype=fp16"};
}

/// 16,384 tokens in all, 2048 hidden columns.
Shapes training() {
    Shapes shapes;
    for (const int d : {64, 128, 256}) {
        for (const char* mask : {"", ",causal"}) {
            for (int n = 512; n <= 16384; n *= 2) {
                shapes.push_back(fmt::format("b={},h={},q={},k={},d={},dtype=bf16{}", 16384 / n,
                                             2048 / d, n, n, d, mask));
            }
        }
    }
    return shapes;
}

struct Served {
    std::int64_t batch, context;
};
// From one interactive user to a full machine; the product stays within one GPU's memory.
constexpr std::array served{Served{1, 2048},   Served{1, 8192},  Served{1, 32768},
                            Served{1, 131072}, Served{8, 8192},  Served{64, 8192},
                            Served{128, 2048}, Served{32, 32768}};

/// Prefill of one prompt and of several, a chunk over an older context, and decode, contiguous and
/// paged. `model` is the part of the shape that the model fixes.
Shapes serving(const std::string& model) {
    Shapes shapes;
    for (const int n : {512, 2048, 8192, 32768}) {
        shapes.push_back(fmt::format("k={},{},dtype=bf16,causal", n, model));
    }
    shapes.push_back(fmt::format("b=8,k=2048,{},dtype=bf16,causal", model));
    shapes.push_back(fmt::format("q=512,k=8192,{},dtype=bf16,causal,page=64", model));
    for (const Served& s : served) {
        const std::string decode =
            fmt::format("b={},q=1,k={},{},dtype=bf16", s.batch, s.context, model);
        shapes.push_back(decode);
        shapes.push_back(decode + ",page=64");
    }
    return shapes;
}

/// Prefill expands the latent (192 columns of K, 128 of V); decode reads it as it is, with the
/// scale of the expanded head dim.
Shapes deepseek() {
    Shapes shapes;
    for (const int n : {512, 2048, 8192}) {
        shapes.push_back(fmt::format("h=128,k={},d=192/128,dtype=bf16,causal", n));
    }
    shapes.emplace_back("b=8,h=128,k=2048,d=192/128,dtype=bf16,causal");
    for (const Served& s : served) {
        const std::string decode =
            fmt::format("b={},h=128,q=1,k={},mla=512+64,dtype=bf16,scale=0.07216878364870323",
                        s.batch, s.context);
        shapes.push_back(decode);
        shapes.push_back(decode + ",page=64");
    }
    return shapes;
}

/// Layers alternate between 128 tokens of window and the whole context; all have sinks.
Shapes gpt_oss() {
    Shapes shapes;
    for (const char* layer : {"", ",window=127"}) {
        for (const int n : {512, 2048, 8192, 32768}) {
            shapes.push_back(fmt::format("h=64/8,k={},d=64,dtype=bf16,causal{},sinks", n, layer));
        }
        for (const Served& s : served) {
            shapes.push_back(
                fmt::format("b={},h=64/8,q=1,k={},d=64,dtype=bf16,causal{},sinks,page=64", s.batch,
                            s.context, layer));
        }
    }
    return shapes;
}

// Random suites avoid the shapes of these suites and of no others: what random:SEED draws is named
// in receipts and must stay, so a suite that is added here changes it. New ones that are no
// benchmarks stand in tool_suites.cpp.
constexpr std::array benchmarks{
    SuiteEntry{"quickstart", "a bit of everything, half a minute on two cores", quickstart},
    SuiteEntry{"ladder", "the shapes of the teaching rungs, fp16", ladder},
    SuiteEntry{"from-scratch", "one shape, full and causal, fp16", from_scratch},
    SuiteEntry{"ladder-splits", "one token over long caches, for every number of splits",
               ladder_splits},
    SuiteEntry{"ladder-gap", "two prefills between the best rung and the fastest library",
               ladder_gap},
    SuiteEntry{"training-16k", "16,384 tokens in all, d 64 to 256, full and causal", training},
    SuiteEntry{"llama3-8b", "32/8 heads of 128: prefill and decode",
               +[] { return serving("h=32/8,d=128"); }},
    SuiteEntry{"llama3-70b", "64/8 heads of 128: prefill and decode",
               +[] { return serving("h=64/8,d=128"); }},
    SuiteEntry{"deepseek-v3", "128 heads: expanded prefill (192/128), latent decode (512+64)",
               deepseek},
    SuiteEntry{"gpt-oss", "64/8 heads of 64 with sinks, every other layer a window of 128",
               gpt_oss},
};

}  // namespace

std::span<const SuiteEntry> benchmark_suites() {
    return benchmarks;
}

}  // namespace raceline
