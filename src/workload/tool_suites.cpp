// SPDX-License-Identifier: Apache-2.0
// The suites that tools/*.sh run. A list of their own: random suites avoid the shapes of the
// benchmark suites and would change if these stood among them.
#include <array>
#include <fmt/format.h>
#include <initializer_list>

#include "workload/operation_suites.hpp"
#include "workload/suite_lists.hpp"

namespace raceline {
namespace {

using Shapes = std::vector<std::string>;

/// Of training-16k some lengths of a sequence, and what `rest` says: type and accuracy.
Shapes training_lengths(std::initializer_list<int> lengths, std::string_view rest,
                        std::initializer_list<const char*> masks = {"", ",causal"}) {
    Shapes shapes;
    for (const int d : {64, 128, 256}) {
        for (const int n : lengths) {
            for (const char* mask : masks) {
                shapes.push_back(fmt::format("b={},h={},q={},k={},d={}{},{}", 16384 / n, 2048 / d,
                                             n, n, d, mask, rest));
            }
        }
    }
    return shapes;
}

/// Prefill at two lengths, and decode over caches of four times the last-level cache and more.
Shapes cpu_figures() {
    constexpr std::array types{"fp32", "bf16", "fp16"};
    Shapes shapes;
    for (const int d : {64, 128}) {
        for (const int n : {2048, 4096}) {
            for (const char* type : types) {
                for (const char* mask : {"", ",causal"}) {
                    shapes.push_back(fmt::format("h=8,k={},d={},dtype={}{}", n, d, type, mask));
                }
            }
        }
    }
    for (const char* type : {"fp32", "bf16", "fp16", "bf16,kv=e4m3"}) {
        shapes.push_back(fmt::format("h=32/8,q=1,k=32768,d=128,dtype={}", type));
        shapes.push_back(fmt::format("h=32/32,q=1,k=16384,d=128,dtype={}", type));
    }
    return shapes;
}

Shapes cpu_one_thread() {
    Shapes shapes;
    for (const int d : {64, 128}) {
        for (const int n : {256, 512, 1024}) {
            shapes.push_back(fmt::format("h=4,k={},d={},dtype=fp32", n, d));
        }
    }
    return shapes;
}

Shapes warm_up() {
    Shapes shapes;
    for (const int d : {64, 128, 256}) {
        shapes.push_back(fmt::format("h=2,k=256,d={},dtype=bf16", d));
    }
    return shapes;
}

/// Kernels for decode differ by head dim, group and the cache's type.
Shapes warm_up_decode() {
    Shapes shapes;
    for (const char* heads : {"h=4/1,d=128", "h=8/1,d=128", "h=1,d=128", "h=1,d=64"}) {
        for (const char* cache : {"bf16", "e4m3"}) {
            shapes.push_back(
                fmt::format("b=1,{},q=1,k=128,dtype=bf16,kv={},page=64", heads, cache));
        }
    }
    return shapes;
}

/// Plain tiles first, then each way of not filling one. `type` is that of most calls, `other` of a
/// few of them.
void add_edges(Shapes& shapes, int d, std::string_view type, std::string_view other) {
    const auto add = [&](std::string_view shape, int headdim, std::string_view dtype,
                         std::string_view rest = "") {
        shapes.push_back(fmt::format("{},d={},dtype={}{}", shape, headdim, dtype, rest));
    };
    for (const int n : {128, 1, 63, 64, 65, 127, 129, 1000}) {
        add(fmt::format("b=1,h=2,q={},k={}", n, n), d, type);
        add(fmt::format("b=2,h=4/2,q={},k={}", n, n), d, type, ",causal");
    }
    add("b=2,h=4/2,q=100,k=333", d, other, ",causal");
    add("b=2,h=4/1,q=333,k=100", d, type, ",causal");
    add("b=1,h=6/3,q=515,k=1", d, other);
    add("b=1,h=2,q=70,k=0", d, type);
    add("b=3,h=16/4,q=777,k=1500", d, type);
    add("b=1,h=4/2,q=600,k=600", d, type, ",window=100");
    add("b=2,h=4/4,q=260,k=400", d, type, ",causal,sinks");
    // A head dim that fills its tile not wholly: rows of a tensor map are multiples of 16 bytes.
    add("b=1,h=2,q=200,k=300", type == "e4m3" ? d - 16 : d - 24, type, ",causal");
    add("b=4,h=4/2,q=300;1;129;0,k=300;70;129;5", d, type, ",causal");
    add("b=3,h=8/2,q=7,k=100;517;7", d, other);
}

Shapes edges() {
    Shapes shapes;
    for (const int d : {64, 128, 256}) {
        add_edges(shapes, d, "bf16", "fp16");
        // More work tiles than a GPU has SMs; of most tiles the last one of a head has one row.
        shapes.push_back(fmt::format("b=5,h=32/8,q=385,k=385,d={},dtype=bf16,causal", d));
    }
    for (const char* more : {"b=2,h=4/2,q=300,k=300,d=192/128,dtype=bf16,causal",
                             "b=1,h=4/2,q=100,k=513,d=160/72,dtype=fp16",
                             "b=2,h=4/2,q=300,k=300,d=64,dtype=bf16,causal,softcap=30",
                             "b=1,h=4/2,q=200,k=333,d=128,dtype=fp16,softcap=5,sinks",
                             "b=1,h=2,q=300,k=300,d=256,dtype=bf16,window=60:9,softcap=50"}) {
        shapes.emplace_back(more);
    }
    return shapes;
}

Shapes edges_e4m3() {
    Shapes shapes;
    for (const int d : {64, 128, 256}) {
        add_edges(shapes, d, "e4m3", "e4m3");
        // Long: sums that the tensor core is left alone with.
        shapes.push_back(fmt::format("b=1,h=2,q=200,k=16384,d={},dtype=e4m3", d));
        shapes.push_back(fmt::format("b=1,h=2/1,q=130,k=70000,d={},dtype=e4m3", d));
    }
    shapes.emplace_back("b=2,h=4/2,q=300,k=300,d=192/128,dtype=e4m3,causal");
    shapes.emplace_back("b=1,h=4/2,q=100,k=513,d=160/80,dtype=e4m3");
    return shapes;
}

/// Without accuracy=fast only tiles that promote their sums to fp32 are tried, with it all of them.
Shapes edges_promotion() {
    Shapes shapes;
    for (const int d : {64, 128, 256}) {
        const auto add = [&](std::string_view shape, int headdim, std::string_view rest) {
            shapes.push_back(fmt::format("{},d={},dtype=e4m3,{}", shape, headdim, rest));
        };
        add("b=2,h=4/2,q=333,k=517", d, "causal");
        add("b=1,h=2,q=200,k=1000", d - 16, "window=300");
        add("b=4,h=4/2,q=300;1;129;0,k=300;70;129;5", d, "causal,accuracy=fast");
        add("b=1,h=2,q=200,k=16384", d, "sinks");
        add("b=1,h=2,q=200,k=16384", d, "accuracy=fast");
    }
    return shapes;
}

Shapes edges_ladder() {
    return {"b=2,h=4,q=100,k=100,d=64,dtype=fp16",
            "b=1,h=2,q=130,k=130,d=64,dtype=fp16,causal",
            "b=1,h=2,q=77,k=77,d=128,dtype=fp32,causal",
            "b=2,h=8/2,q=1,k=1000,d=64,dtype=fp16,page=64",
            "b=1,h=8,q=1,k=3001,d=128,dtype=fp32",
            "b=2,h=8/2,q=1,k=1000,d=128,dtype=fp16,kv=e4m3,page=64",
            "b=1,h=29/1,q=1,k=333,d=64,dtype=fp16,kv=nvfp4",
            "b=2,h=128,q=1,k=1000,mla=512+64,dtype=fp16,page=64"};
}

/// Few query tokens: lengths and pages of every kind, masks, sinks, padded head dims, e4m3.
Shapes edges_decode() {
    Shapes shapes;
    for (const char* type :
         {"bf16", "fp16", "bf16,kv=e4m3", "fp16,kv=e4m3", "bf16,kv=e4m3,scales=token"}) {
        for (const char* shape : {"b=1,h=8/2,q=1,k=700,d=128",
                                  "b=2,h=3,q=1,k=333,d=64",
                                  "b=1,h=4/1,q=1,k=1,d=128",
                                  "b=5,h=8/4,q=1,k=65,d=128",
                                  "b=1,h=8/1,q=1,k=5000,d=256",
                                  "b=1,h=12/2,q=4,k=300,d=64,causal",
                                  "b=2,h=8/2,q=16,k=9000,d=128,causal",
                                  "b=1,h=4/2,q=16,k=9,d=64,causal",
                                  "b=1,h=2,q=3,k=0,d=128",
                                  "b=2,h=4/2,q=2,k=4000,d=64,window=500",
                                  "b=1,h=4,q=1,k=2000,d=128,sinks",
                                  "b=1,h=4/2,q=3,k=150,d=64,causal,softcap=20,sinks",
                                  "b=1,h=4/2,q=1,k=211,d=80/64",
                                  "b=5,h=4/2,q=1,k=0;70000;1;64;129,d=128,page=64",
                                  "b=3,h=8/2,q=1,k=100;517;7,d=64,page=16",
                                  "b=3,h=4/2,q=2,k=100;51;7,d=128,page=7,causal",
                                  "b=3,h=4/2,q=3;0;1,k=40;9;1200,d=64,causal",
                                  "b=300,h=8/2,q=1,k=100,d=64",
                                  "b=40,h=8/2,q=1,k=70,d=64,page=16",
                                  "b=1100,h=4/1,q=1,k=9,d=64,page=16"}) {
            shapes.push_back(fmt::format("{},dtype={}", shape, type));
        }
    }
    return shapes;
}

/// Trees of speculated tokens: as many as a matrix tile has rows and others, in caches of any
/// length.
Shapes edges_decode_tree() {
    Shapes shapes;
    for (int n = 0; n < 200; ++n) {
        constexpr std::array calls{"b=2,h=8/2,q=16,k=700,d=128,dtype=bf16",
                                   "b=3,h=8/2,q=6,k=100;5170;7,d=64,dtype=fp16,page=16",
                                   "b=3,h=4/2,q=3;16;1,k=40;9;1200,d=80/64,dtype=fp16,sinks",
                                   "b=2,h=8/2,q=8,k=900,d=128,dtype=bf16,kv=e4m3,page=64",
                                   "h=8/1,q=12,k=5,d=256,dtype=bf16,softcap=20"};
        shapes.push_back(fmt::format("{},tree={}", calls[n % calls.size()], n + 1));
    }
    return shapes;
}

/// One call of each head dim; in all types the same but for `other`, which the second one has.
Shapes sanitizer_prefill(std::string_view type, std::string_view other) {
    return {fmt::format("b=1,h=4/2,q=150,k=300,d=64,dtype={},causal", type),
            fmt::format("b=1,h=4/2,q=300,k=150,d=128,dtype={},causal", other),
            fmt::format("b=1,h=2,q=129,k=257,d=256,dtype={}", type)};
}

Shapes sanitizer() {
    Shapes shapes = sanitizer_prefill("bf16", "fp16");
    shapes.emplace_back("b=1,h=2,q=130,k=200,d=64,dtype=bf16,softcap=30");
    shapes.emplace_back("b=3,h=2,q=300;1;129,k=300;70;129,d=64,dtype=bf16,causal");
    return shapes;
}

Shapes sanitizer_ladder() {
    return {"b=1,h=2,q=37,k=70,d=64,dtype=fp16,causal", "b=1,h=1,q=70,k=37,d=128,dtype=fp16"};
}

/// Options that the portable kernels alone take, and decode.
Shapes sanitizer_portable() {
    return {"b=2,h=4/2,q=37,k=70,d=64,dtype=fp32,causal",
            "b=1,h=2,q=33,k=65,d=64,dtype=fp16,causal",
            "b=3,h=8/2,q=1,k=100;517;7,d=128,dtype=bf16,page=64",
            "b=2,h=4/2,q=5,k=90,d=72/40,dtype=bf16,window=20,softcap=30,sinks",
            "b=1,h=16/1,q=1,k=133,mla=512+64,dtype=bf16"};
}

/// A decoder's calls of one token: small batches over short and long contexts, and large ones.
Shapes decode_grid(std::string_view rest) {
    Shapes shapes;
    for (const char* heads : {"h=32/8,d=128", "h=64/8,d=128", "h=32/32,d=128", "h=8/8,d=64"}) {
        for (const char* cache : {"b=1,k=2048", "b=1,k=8192", "b=1,k=32768", "b=1,k=131072",
                                  "b=8,k=8192", "b=64,k=8192", "b=128,k=2048", "b=32,k=32768"}) {
            shapes.push_back(fmt::format("{},{},q=1,dtype=bf16{}", cache, heads, rest));
        }
    }
    return shapes;
}

/// What decode-grid has none of: other head dims, pages and scales, more query tokens, trees.
Shapes decode_odd() {
    Shapes shapes;
    for (const char* d : {"72", "80", "88", "96", "104", "112", "120", "136", "192", "120/128"}) {
        shapes.push_back(fmt::format("b=64,h=32/8,q=1,k=8192,d={},dtype=bf16", d));
    }
    for (const char* rest : {"page=7", "page=16", "page=24", "page=128", "kv=e4m3,page=7",
                             "kv=e4m3,scales=token", "kv=e4m3,scales=token,page=64"}) {
        shapes.push_back(fmt::format("b=64,h=32/8,q=1,k=8192,d=128,dtype=bf16,{}", rest));
    }
    for (const char* tokens : {"h=32/8,q=4", "h=32/8,q=8", "h=32/8,q=16", "h=64/8,q=3"}) {
        shapes.push_back(fmt::format("b=64,{},k=8192,d=128,dtype=bf16,causal", tokens));
    }
    for (const char* tree : {"b=64,h=32/8,q=4,k=8192,d=128", "b=8,h=32/8,q=16,k=8192,d=128,page=64",
                             "h=64/8,q=8,k=4096,d=128"}) {
        shapes.push_back(fmt::format("{},dtype=bf16,tree=1", tree));
    }
    return shapes;
}

/// What suite `operations` has none of: rows of odd width and wider than a CTA holds, chains
/// without code of their own, products of a few rows by wide weights.
Shapes operations_odd() {
    Shapes shapes;
    for (const char* rows :
         {"rmsnorm,n=8192x4095,dtype=bf16",         "softmax,n=8192x4095,dtype=fp32",
          "relu,n=65536x4095,dtype=bf16",           "relu,n=65537x4095,dtype=bf16",
          "rmsnorm,n=1024x100000,dtype=bf16",       "layernorm,n=1024x100000,dtype=bf16",
          "softmax,n=1024x100000,dtype=bf16",       "layernorm,n=512x250000,dtype=fp32",
          "rmsnorm,n=512x1000000,dtype=bf16",       "softmax,n=16384x12288,dtype=bf16",
          "square+rmsnorm,n=300001x64,dtype=bf16",  "softmax,n=300001x64,dtype=bf16",
          "layernorm,n=150000x128,dtype=bf16",      "layernorm+tanh,n=16384x8192,dtype=bf16",
          "layernorm+gelu,n=16384x8192,dtype=bf16", "sub,n=32768x4096,dtype=bf16",
          "add+add+add,n=32768x4096,dtype=bf16",    "sigmoid,n=32768x4096,dtype=bf16",
          "gain+bias,n=32768x4096,dtype=bf16",      "softmax,n=2048x50257,dtype=bf16",
          "layernorm,n=2000x17947,dtype=bf16",      "layernorm,n=8192x16384,dtype=bf16",
          "softmax,n=8192x16384,dtype=bf16"}) {
        shapes.push_back(fmt::format("op={}", rows));
    }
    for (const char* product :
         {"m=1,n=128256,k=4096", "m=4,n=128256,k=4096", "m=1,n=57344,k=8192", "m=3,n=40000,k=8192",
          "m=16,n=57344,k=8192", "m=129,n=14336,k=4096"}) {
        shapes.push_back(fmt::format("op=linear,{},dtype=bf16", product));
    }
    return shapes;
}

/// Partial results of a few tokens and of many: 8 parts of 1 MB to 1 GB, other numbers and types.
Shapes combine() {
    return {"op=combine,parts=8,rows=16,heads=32,d=128,dtype=bf16",
            "op=combine,parts=8,rows=1024,heads=32,d=128,dtype=bf16",
            "op=combine,parts=8,rows=4096,heads=32,d=128,dtype=bf16",
            "op=combine,parts=8,rows=16384,heads=32,d=128,dtype=bf16",
            "op=combine,parts=8,rows=8192,heads=32,d=128,dtype=fp32",
            "op=combine,parts=2,rows=4096,heads=32,d=128,dtype=fp16",
            "op=combine,parts=64,rows=64,heads=8,d=128,dtype=fp32",
            "op=combine,parts=3,rows=1000,heads=7,d=64,dtype=bf16,sinks=1"};
}

/// Rows shorter than what a thread holds, wider than all threads hold, ends inside of a chunk,
/// every step, and every operation with one element and with many.
Shapes edges_operations() {
    return {"op=rmsnorm,n=5x200,dtype=bf16",
            "op=rmsnorm,n=1x1,dtype=fp32",
            "op=softmax,n=3x513,dtype=fp32",
            "op=layernorm,n=9x1024,dtype=fp16",
            "op=softmax,n=3x6152,dtype=fp32",
            "op=layernorm,n=5x13000,dtype=bf16",
            "op=add+store+rmsnorm,n=7x129,dtype=bf16",
            "op=softmax+bias,n=2x8,dtype=bf16",
            "op=add+rmsnorm+softmax,n=3x40000,dtype=bf16",
            "op=layernorm+store+silu,n=2x33001,dtype=fp32",
            "op=relu,n=3x50,dtype=fp32",
            "op=gelu+mul,n=5x4096,dtype=bf16",
            "op=sigmoid+tanh,n=300x50,dtype=fp32",
            "op=exp+square+sub+gain+bias,n=30x50,dtype=fp16",
            "op=rope,n=37x512,d=128,dtype=bf16",
            "op=rope,n=5x192,d=64,dtype=fp32",
            "op=rmsnorm+rope,n=300x128,d=128,dtype=bf16",
            "op=adam,n=1x1,dtype=fp32",
            "op=adam,n=37x333,dtype=bf16,master=fp32",
            "op=adam,n=8x4096,dtype=bf16,state=bf16",
            "op=embedding,tokens=1,vocab=3,d=5,dtype=fp32",
            "op=embedding,tokens=333,vocab=1000,d=768,dtype=bf16",
            "op=crossentropy,n=5x7,dtype=fp32",
            "op=crossentropy,n=33x50257,dtype=bf16",
            "op=linear,m=1,n=64,k=64,dtype=bf16",
            "op=linear,m=37,n=200,k=136,dtype=fp16",
            "op=gemm,m=100,n=64,k=72,dtype=fp32",
            "op=linear+bias+gelu,m=33,n=256,k=128,dtype=bf16",
            "op=linear+bias+relu,m=33,n=256,k=128,dtype=fp32"};
}

Shapes sanitizer_operations() {
    return {"op=add+store+rmsnorm,n=7x129,dtype=bf16",
            "op=softmax,n=3x5130,dtype=fp32",
            "op=layernorm,n=2x33001,dtype=fp16",
            "op=rmsnorm+rope,n=30x128,d=128,dtype=bf16",
            "op=adam,n=7x333,dtype=bf16,master=fp32",
            "op=embedding,tokens=33,vocab=100,d=768",
            "op=crossentropy,n=5x5025,dtype=bf16",
            "op=square+rmsnorm,n=33x64,dtype=bf16",
            "op=square+rmsnorm,n=7001x64,dtype=bf16",
            "op=sub+tanh,n=7x129,dtype=bf16",
            "op=rmsnorm,n=3x1,dtype=bf16",
            "op=gain+bias,n=5x3,dtype=bf16",
            "op=layernorm+tanh,n=5x4095,dtype=bf16"};
}

constexpr std::array measuring{
    SuiteEntry{"operations", "operations beside attention, at sizes that memory has to serve",
               operation_shapes},
    SuiteEntry{
        "operations-odd",
        "odd, narrow and very wide rows, chains without code of their own, products of a few rows",
        operations_odd},
    SuiteEntry{"combine", "partial results of attention over disjoint keys, 2 to 64 parts",
               combine},
    SuiteEntry{"decode-grid",
               "one token over 8 caches, from one sequence to 128, of 4 models' heads",
               +[] { return decode_grid(""); }},
    SuiteEntry{"decode-grid-paged", "decode-grid in pages of 64 tokens",
               +[] { return decode_grid(",page=64"); }},
    SuiteEntry{"decode-grid-e4m3", "decode-grid over a cache in e4m3",
               +[] { return decode_grid(",kv=e4m3"); }},
    SuiteEntry{"decode-grid-paged-e4m3", "decode-grid over a cache in e4m3, in pages of 64 tokens",
               +[] { return decode_grid(",kv=e4m3,page=64"); }},
    SuiteEntry{"decode-grid-e4m3-token", "decode-grid-e4m3 with a scale for each token and KV head",
               +[] { return decode_grid(",kv=e4m3,scales=token"); }},
    SuiteEntry{"decode-odd", "other head dims, pages and scales, more query tokens, trees",
               decode_odd},
    SuiteEntry{"lengths", "of training-16k 1024, 4096 and 16,384 tokens a sequence",
               +[] { return training_lengths({1024, 4096, 16384}, "dtype=bf16"); }},
    SuiteEntry{"lengths-ends", "of training-16k the shortest and the longest sequences",
               +[] { return training_lengths({512, 16384}, "dtype=bf16"); }},
    SuiteEntry{"lengths-long", "of training-16k 4096 and 16,384 tokens a sequence",
               +[] { return training_lengths({16384, 4096}, "dtype=bf16"); }},
    SuiteEntry{"lengths-long-fast", "lengths-long in e4m3, sums left to the tensor core",
               +[] { return training_lengths({16384, 4096}, "dtype=e4m3,accuracy=fast"); }},
    SuiteEntry{"lengths-longest", "of training-16k one sequence of 16,384 tokens",
               +[] { return training_lengths({16384}, "dtype=bf16"); }},
    SuiteEntry{"lengths-longest-full", "of lengths-longest what has no mask, a shape a head dim",
               +[] { return training_lengths({16384}, "dtype=bf16", {""}); }},
    SuiteEntry{"lengths-shortest-full", "of training-16k 512 tokens without a mask",
               +[] { return training_lengths({512}, "dtype=bf16", {""}); }},
    SuiteEntry{"lengths-shortest-causal", "of training-16k 512 tokens under a causal mask",
               +[] { return training_lengths({512}, "dtype=bf16", {",causal"}); }},
    SuiteEntry{"portable-profile", "decode in bf16 and prefill in fp32, for portable kernels",
               +[] {
                   return Shapes{"b=4,h=32/8,q=1,k=8192,d=128,dtype=bf16",
                                 "h=4,q=2048,k=2048,d=64,dtype=fp32"};
               }},
    SuiteEntry{"fused-chains", "chains of operations that are worth fusing",
               +[] {
                   return Shapes{"op=add+rmsnorm,n=16384x4096,dtype=bf16",
                                 "op=silu+mul,n=16384x14336,dtype=bf16",
                                 "op=rmsnorm+rope,n=524288x128,dtype=bf16",
                                 "op=linear+bias+gelu,m=4096,n=14336,k=4096,dtype=bf16",
                                 "op=rmsnorm+linear+silu,m=4096,n=4096,k=4096,dtype=bf16"};
               }},
    SuiteEntry{"ladder-wide", "a second shape of each rung: short prefill, many sequences",
               +[] {
                   return Shapes{"h=8,k=512,d=64,dtype=fp16",
                                 "b=64,h=32/8,q=1,k=8192,d=128,dtype=fp16"};
               }},
    SuiteEntry{"warm-up", "one small prefill a head dim, for libraries that compile", warm_up},
    SuiteEntry{"warm-up-decode", "one small decode a kernel, for libraries that compile",
               warm_up_decode},
    SuiteEntry{"cpu-figures", "what a CPU's figures rest on: prefill, decode, four types",
               cpu_figures},
    SuiteEntry{"cpu-one-thread", "small prefill in fp32, for one thread", cpu_one_thread},
};

constexpr std::array checking{
    SuiteEntry{"edges", "prefill in 16 bits: odd and empty lengths, ragged, windows, sinks", edges},
    SuiteEntry{"edges-e4m3", "prefill in e4m3: as edges, and sums over long contexts", edges_e4m3},
    SuiteEntry{"edges-promotion", "prefill in e4m3 with accurate and with fast sums",
               edges_promotion},
    SuiteEntry{"edges-ladder", "a few calls of every kind that a rung takes", edges_ladder},
    SuiteEntry{"edges-decode", "up to 16 query tokens: every kind of cache, mask and option",
               edges_decode},
    SuiteEntry{"edges-decode-tree", "200 random trees of up to 16 speculated tokens",
               edges_decode_tree},
    SuiteEntry{"edges-operations", "operations beside attention: every step, odd and wide rows",
               edges_operations},
    SuiteEntry{"sanitizer", "small prefill in 16 bits", sanitizer},
    SuiteEntry{"sanitizer-operations", "one small case of each operation of our own",
               sanitizer_operations},
    SuiteEntry{"sanitizer-decode", "one and more query tokens, contiguous and in pages",
               +[] {
                   return Shapes{"b=1,h=8/2,q=1,k=700,d=128,dtype=bf16",
                                 "b=3,h=8/2,q=2,k=100;517;7,d=64,dtype=fp16,page=16,causal",
                                 "b=2,h=4/2,q=1,k=300,d=128,dtype=bf16,kv=e4m3,page=64",
                                 "b=1,h=2,q=1,k=130,d=256,dtype=bf16"};
               }},
    SuiteEntry{"sanitizer-decode-e4m3", "caches in e4m3, contiguous, ragged and in pages",
               +[] {
                   return Shapes{
                       "b=1,h=8/2,q=1,k=700,d=64,dtype=bf16,kv=e4m3",
                       "b=3,h=4/2,q=2,k=100;517;7,d=64,dtype=bf16,kv=e4m3,page=16,causal"};
               }},
    SuiteEntry{"sanitizer-e4m3", "small prefill in e4m3",
               +[] { return sanitizer_prefill("e4m3", "e4m3"); }},
    SuiteEntry{"sanitizer-ladder", "small prefill in fp16", sanitizer_ladder},
    SuiteEntry{"sanitizer-portable", "small prefill and decode, every option", sanitizer_portable},
};

}  // namespace

std::span<const SuiteEntry> measuring_suites() {
    return measuring;
}

std::span<const SuiteEntry> checking_suites() {
    return checking;
}

}  // namespace raceline
