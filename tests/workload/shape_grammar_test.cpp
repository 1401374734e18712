// SPDX-License-Identifier: Apache-2.0
#include "workload/shape_grammar.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "support/check.hpp"
#include "workload/normal.hpp"
#include "workload/plainest.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
    try {
        parse_shape(text);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::invalid_argument);
        return error.what();
    }
    ADD_FAILURE() << text << " was accepted";
    return {};
}

TEST(ShapeGrammar, blanks_around_fields_do_not_matter) {
    EXPECT_EQ(parse_shape(" h=32/8, q=1 ,k=64,d=64"), parse_shape("h=32/8,q=1,k=64,d=64"));
    EXPECT_THAT(refusal("h=32/8, ,q=1,k=64,d=64"), HasSubstr("empty field at character 8"));
}

TEST(ShapeGrammar, ReadsEveryField) {
    const Workload w = parse_shape(
        "b=2,h=32/8,q=1,k=8192,d=192/128,dtype=bf16,kv=e4m3,causal,window=1023,softcap=30.5,sinks,"
        "scale=0.125,page=64,accuracy=fast");
    Workload expected;
    expected.batch = 2;
    expected.heads_q = 32;
    expected.heads_kv = 8;
    expected.seqlen_k = 8192;
    expected.headdim = 192;
    expected.headdim_v = 128;
    expected.kv_dtype = DType::e4m3;
    expected.mask = Mask::causal;
    expected.window = Window{1023, -1};
    expected.softcap = 30.5;
    expected.sinks = true;
    expected.scale = 0.125;
    expected.page_size = 64;
    expected.accuracy = Accuracy::fast;
    EXPECT_EQ(w, expected);
}

TEST(ShapeGrammar, scales_of_tokens_are_those_of_an_e4m3_cache_alone) {
    const std::string cache = "h=4/2,q=1,k=64,d=64,dtype=bf16,kv=e4m3";
    const Workload w = parse_shape(cache + ",scales=token");
    EXPECT_TRUE(w.has_token_scales());
    EXPECT_EQ(parse_shape(format_shape(w)), w);
    EXPECT_EQ(parse_shape(cache + ",scales=head"), parse_shape(cache));
    EXPECT_EQ(w.bytes_kv(), parse_shape(cache).bytes_kv() + 64 * 2 * 2 * 4);
    EXPECT_THAT(refusal(cache + ",scales=row"), HasSubstr("'row' must be head or token"));
    EXPECT_THAT(refusal(cache + ",scales=tokn"), HasSubstr("did you mean 'token'?"));
    EXPECT_THAT(refusal("h=4/2,q=1,k=64,d=64,dtype=bf16,scales=token"),
                HasSubstr("scales=token with dtype bf16 and a cache in bf16"));
    EXPECT_THAT(refusal("h=4,q=1,k=64,mla=64+16,dtype=bf16,kv=e4m3,scales=token"),
                HasSubstr("scales=token with mla"));
}

TEST(ShapeGrammar, FillsInWhatIsLeftOut) {
    const Workload w = parse_shape("h=8,k=512,d=64", DType::fp16);
    EXPECT_EQ(w.batch, 1);
    EXPECT_EQ(w.heads_kv, 8);
    EXPECT_EQ(w.seqlen_q, 512);  // prefill: as many queries as keys
    EXPECT_EQ(w.headdim_v, 64);
    EXPECT_EQ(w.dtype, DType::fp16);
    EXPECT_EQ(w.kv_dtype, DType::fp16);
    EXPECT_EQ(parse_shape("h=8,q=7,d=64").seqlen_k, 7);
}

TEST(ShapeGrammar, ReadsRaggedBatches) {
    const Workload w = parse_shape("h=8,q=1,k=100;2048;7,d=64");
    EXPECT_EQ(w.batch, 3);
    EXPECT_EQ(w.seqlen_k, 2048);
    EXPECT_EQ(w.length_k(2), 7);
    EXPECT_EQ(w.length_q(2), 1);
    EXPECT_EQ(w.tokens_k(), 2155);
    EXPECT_EQ(w.tokens_q(), 3);
    EXPECT_EQ(parse_shape("h=8,k=5;,d=64").seqlens_k.size(), 1U);
    EXPECT_EQ(parse_shape("h=8,q=1;5;7,d=64").seqlens_k, (std::vector<std::int64_t>{1, 5, 7}));
}

TEST(ShapeGrammar, ReadsMlaAndWindows) {
    const Workload w = parse_shape("h=128,q=1,k=64,mla=512+64");
    EXPECT_TRUE(w.mla);
    EXPECT_EQ(w.headdim, 576);
    EXPECT_EQ(w.headdim_v, 512);
    EXPECT_EQ(w.heads_kv, 1);
    EXPECT_EQ(parse_shape("h=1,k=9,d=8,window=4:2").window, (Window{4, 2}));
    EXPECT_EQ(parse_shape("h=1,k=9,d=8,window=inf:2").window, (Window{-1, 2}));
}

// One problem is one case, however it is spelled.
TEST(ShapeGrammar, WordsThatChangeNothingAreDropped) {
    const std::string plain = "h=8,q=64,k=128,d=64,dtype=bf16";
    EXPECT_EQ(format_shape(parse_shape(plain + ",scale=0.125")), plain);
    EXPECT_EQ(format_shape(parse_shape(plain + ",scale=0.1251")), plain + ",scale=0.1251");
    // 128^-0.5 as Python rounds it: the last place is another than that of 1 / sqrt(128).
    EXPECT_EQ(format_shape(parse_shape("h=8,q=64,k=128,d=128,scale=0.08838834764831845")),
              "h=8,q=64,k=128,d=128,dtype=bf16");
    EXPECT_EQ(format_shape(parse_shape(plain + ",window=inf:inf")), plain);
    EXPECT_EQ(format_shape(parse_shape(plain + ",causal,window=inf:4")), plain + ",causal");
    for (const char* right : {"", ":0", ":4", ":inf"}) {
        EXPECT_EQ(format_shape(parse_shape(plain + ",causal,window=3" + right)),
                  plain + ",causal,window=3");
    }
    EXPECT_EQ(format_shape(parse_shape(plain + ",window=3:4")), plain + ",window=3:4");
}

TEST(ShapeGrammar, SuggestsTheFieldThatWasMeant) {
    EXPECT_THAT(refusal("h=8,k=1,d=64,causl"),
                HasSubstr("'causl' is unknown; did you mean 'causal'"));
    EXPECT_THAT(refusal("h=8,k=1,d=64,windw=4"), HasSubstr("did you mean 'window'"));
    EXPECT_THAT(refusal("h=8,k=1,d=64,pag=4"), HasSubstr("did you mean 'page'"));
    // Among all names that are read.
    EXPECT_THAT(refusal("h=8,k=1,head_dm=64"), HasSubstr("did you mean 'head_dim'"));
    EXPECT_THAT(refusal("h=8,k=1,d=64,batchsize=4"), HasSubstr("did you mean 'batch_size'"));
    EXPECT_THAT(refusal("h=8,d=64,seqlen=4"), HasSubstr("did you mean 'seqlen_"));
    EXPECT_THAT(refusal("h=8,k=1,d=64,headskv=4"), HasSubstr("did you mean 'heads_kv'"));
    EXPECT_THAT(refusal("h=8,k=1,d=64,accuracy=fsat"), HasSubstr("did you mean 'fast'?"));
    EXPECT_THAT(refusal("h=8,k=1,d=64,banana=1"), HasSubstr("valid fields: b h q k d"));
    // The words of --op.
    EXPECT_THAT(refusal("rmsnorm,n=8192x4096"), HasSubstr("write op=rmsnorm before its fields"));
    EXPECT_THAT(refusal("silu+mul,n=8192x4096"), HasSubstr("write op=silu+mul before its fields"));
    EXPECT_THAT(refusal("add+banana,n=8192x4096"), HasSubstr("'add+banana' is unknown"));
}

// As rows of receipts name them.
TEST(ShapeGrammar, ReadsHeadsInTwoFields) {
    const Workload w = parse_shape("h=32/8,q=1,k=64,d=128");
    EXPECT_EQ(parse_shape("heads_q=32,heads_kv=8,q=1,k=64,d=128"), w);
    EXPECT_EQ(parse_shape("HEADS-KV=8,h=32,q=1,k=64,d=128"), w);
    EXPECT_EQ(parse_shape("heads_q=32,q=1,k=64,d=128"), parse_shape("h=32,q=1,k=64,d=128"));
    EXPECT_THAT(refusal("h=32/8,heads_kv=8,k=64,d=128"), HasSubstr("gives them again"));
    EXPECT_THAT(refusal("h=32,heads_kv=8,heads_kv=8,k=64,d=128"), HasSubstr("given twice"));
    EXPECT_THAT(refusal("h=32,heads_kv=0,k=64,d=128"), HasSubstr("at least one head"));
    EXPECT_THAT(refusal("h=32,heads_kv,k=64,d=128"), HasSubstr("'heads_kv'"));
    EXPECT_THAT(refusal("heads_kv=8,k=64,d=128"), HasSubstr("'h' is missing"));
}

// Q has none of it: it is not offered where it would be refused.
TEST(ShapeGrammar, NamesAFormatOfCachesForCachesAlone) {
    EXPECT_THAT(refusal("h=8,k=16,d=64,dtype=fp33"), HasSubstr("fp32, fp16, bf16, e4m3 are"));
    EXPECT_THAT(refusal("h=8,k=16,d=64,kv=fp33"), HasSubstr("bf16, e4m3, nvfp4 are accepted"));
    EXPECT_THAT(refusal("h=8,k=16,d=64,dtype=nvfp4"), HasSubstr("nvfp4 is a cache format"));
}

TEST(ShapeGrammar, ReadsCapitalLettersAndLongNames) {
    const Workload w = parse_shape("b=2,h=32/8,q=16,k=64,d=128,dtype=fp16,kv=e4m3,causal,page=16");
    for (const char* text :
         {"B=2,H=32/8,Q=16,K=64,D=128,DTYPE=FP16,KV=E4M3,CAUSAL,PAGE=16",
          "batch=2,heads=32/8,seqlen_q=16,seqlen_k=64,headdim=128,dtype=float16,kv_dtype=fp8,"
          "causal,page_size=16",
          "Batch=2,HEADS=32/8,seqlen-q=16,SeqLen_K=64,head_dim=128,type=half,"
          "kv=float8_e4m3fn,Causal,page-size=16,OP=Attention,PASS=Forward",
          "batch_size=2,h=32/8,q=16,k=64,d=128,dtype=fp16,kv=e4m3,causal,page=16"}) {
        EXPECT_EQ(parse_shape(text), w) << text;
    }
    EXPECT_EQ(parse_shape("h=1,k=9,d=8,WINDOW=INF:2").window, (Window{-1, 2}));
    EXPECT_EQ(parse_shape("h=1,k=9,d=8,accuracy=FAST").accuracy, Accuracy::fast);
    EXPECT_EQ(parse_shape("OP=Combine,PARTS=3,Rows=10,heads=4,D=64,Sinks=1"),
              parse_shape("op=combine,parts=3,rows=10,heads=4,d=64,sinks=1"));
    EXPECT_THAT(refusal("h=8,HEADS=4,k=1,d=64"), HasSubstr("'h' is given twice"));
    EXPECT_THAT(refusal("op=combine,parts=3,PARTS=3"), HasSubstr("'parts' is given twice"));
}

// A file is written by programs: another spelling there is damage.
TEST(ShapeGrammar, ReadsFilesByTheLetter) {
    const Json good = workload_to_json(parse_shape("h=8,k=100,d=64"));
    for (const auto& [member, value] : {std::pair{"dtype", "BF16"}, {"kv_dtype", "bfloat16"}}) {
        Json bad = good;
        bad[member] = value;
        EXPECT_THROW(workload_from_json(bad), Error) << value;
    }
    Json fast = good;
    fast["accuracy"] = "FAST";
    EXPECT_THROW(workload_from_json(fast), Error);
    Json combined = workload_to_json(parse_shape("op=combine,parts=3,rows=10,heads=4,d=64"));
    combined["extents"]["PARTS"] = combined["extents"]["parts"];
    combined["extents"].erase("parts");
    EXPECT_THROW(workload_from_json(combined), Error);
}

// What help says of a field is what the parser does with it.
TEST(ShapeGrammar, ReadsEveryFieldAsItIsWritten) {
    std::set<std::string> names;
    for (const ShapeField& field : shape_fields()) {
        const std::string name(field.name);
        EXPECT_TRUE(names.insert(name).second) << name;
        EXPECT_FALSE(field.meaning.empty()) << name;
        const std::string beside = name == "h"        ? "q=1,k=300,d=64"
                                   : name == "d"      ? "h=32,q=1,k=300"
                                   : name == "mla"    ? "h=32,q=1,k=300"
                                   : name == "q"      ? "h=32,k=300,d=64"
                                   : name == "k"      ? "h=32,q=1,d=64"
                                   : name == "scales" ? "h=32,q=1,k=300,d=64,kv=e4m3"
                                                      : "h=32,q=1,k=300,d=64";
        const std::string written = name == "d" ? "d=128" : std::string(field.written);
        EXPECT_NO_THROW(parse_shape(beside + "," + written)) << written;
        if (field.fallback.empty()) {
            EXPECT_THAT(refusal(beside), HasSubstr("'" + name + "' is missing")) << name;
        } else {
            EXPECT_NO_THROW(parse_shape(name == "mla" ? beside + ",d=64" : beside)) << name;
        }
        if (!field.aliases.empty()) {
            const std::string alias(field.aliases.substr(0, field.aliases.find(' ')));
            EXPECT_NO_THROW(parse_shape(beside + "," + alias + written.substr(name.size())))
                << alias;
        }
    }
}

TEST(DTypes, HaveAliases) {
    EXPECT_EQ(parse_dtype("BFloat16"), DType::bf16);
    EXPECT_EQ(parse_dtype("half"), DType::fp16);
    EXPECT_EQ(parse_dtype("float"), DType::fp32);
    EXPECT_EQ(parse_dtype("FP8"), DType::e4m3);
    EXPECT_EQ(parse_dtype("fp4"), DType::nvfp4);
    for (const DTypeNames& type : dtype_names()) {
        EXPECT_EQ(parse_dtype(name_of(type.dtype)), type.dtype);
        EXPECT_EQ(dtype_named(name_of(type.dtype)), type.dtype);
    }
    EXPECT_FALSE(find_dtype("e5m2").has_value());
    EXPECT_THROW(dtype_named("BF16"), Error);
}

TEST(ShapeGrammar, NamesWhatIsWrong) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "empty"},
        {"h=8,,k=1", "empty field at character 5"},
        {"h=8,k=1,d=64,", "empty field"},
        {"h=8,k=1,d=64,k=2", "'k' is given twice"},
        {"h=8,k=1,d=64,causal,full", "causal and full are one field"},
        {"h=8,k=1,d=64,mla=512+64", "d and mla are one field"},
        {"h=8,k=1x,d=64", "'k': '1x' is not a whole number"},
        {"h=8,k=-1,d=64", "'k': '-1'"},
        {"h=8,k=99999999999999999999,d=64", "'k'"},
        {"h=8,k=2147483648,d=64", "'k'"},
        {"h=8,k=1;;3,d=64", "'k': ''"},
        {"h=8,k=1,d=64,softcap=nan", "'softcap'"},
        {"h=8,k=1,d=64,scale=1e999", "'scale'"},
        {"h=8,k=1,d=64,scale=-1", "scale"},
        {"h=8,k=1,d=64,page=0", "'page'"},
        {"h=8,k=1,d=64,page", "'page' needs a value"},
        {"h=8,k=1,d=64,causal=1", "'causal' takes no value"},
        {"h=8,k=1,d=64,dtype=int8", "'int8' is unknown: fp32, fp16, bf16"},
        {"h=8,k=1,d=64,dtype=nvfp4", "nvfp4"},
        {"h=8,k=1,d=64,dtype=bf16,kv=fp32", "kv_dtype fp32"},
        {"h=8,k=1,mla=512", "512+64"},
        {"h=8,d=64", "'q' and 'k' are missing"},
        {"k=8,d=64", "'h' is missing"},
        {"k=8,h=4", "'d' is missing"},
        {"h=8/3,k=1,d=64", "heads_q 8 is not a multiple of heads_kv 3"},
        {"h=8/0,k=1,d=64", "at least one head"},
        {"h=8,k=1,d=0", "headdim is 0"},
        {"h=8,k=1,d=4096", "headdim is 4096"},
        {"b=2,h=8,k=1;2;3,d=64", "3 ragged lengths for batch 2"},
        {"h=8,q=1;2,k=1;2;3,d=64", "2 ragged lengths for batch 3"},
        {"h=128/8,k=1,mla=512+64", "1 KV head"},
        {"b=1000000,h=65536,k=2147483647,d=1024", "2^60 bytes"},
        {"b=0,h=8,k=1,d=64", "batch is 0"},
    };
    for (const auto& [text, part] : cases) {
        EXPECT_THAT(refusal(text), HasSubstr(part)) << text;
    }
    EXPECT_LT(refusal(std::string(1 << 20, 'x')).size(), 400U);
}

/// Any valid workload, drawn from a seed.
Workload draw(std::uint64_t seed) {
    std::uint64_t n = 0;
    const auto below = [&](std::uint64_t bound) {
        return static_cast<std::int64_t>(random_below(seed, n++, bound));
    };
    Workload w;
    w.batch = 1 + below(5);
    w.mla = below(6) == 0;
    w.heads_kv = w.mla ? 1 : 1 + below(9);
    w.heads_q = w.heads_kv * (1 + below(9));
    w.seqlen_q = below(3000);
    w.seqlen_k = below(3000);
    for (auto [lengths, longest] :
         {std::pair{&w.seqlens_q, &w.seqlen_q}, {&w.seqlens_k, &w.seqlen_k}}) {
        if (below(3) == 0) {
            *longest = 0;
            for (std::int64_t b = 0; b < w.batch; ++b) {
                lengths->push_back(below(500));
                *longest = std::max(*longest, lengths->back());
            }
        }
    }
    w.headdim = 1 + below(600);
    w.headdim_v = w.mla ? 1 + below(w.headdim) : below(2) == 0 ? w.headdim : 1 + below(600);
    w.dtype = static_cast<DType>(below(4));
    w.kv_dtype = below(3) == 0 ? DType::e4m3 : w.dtype;
    w.mask = below(2) == 0 ? Mask::full : Mask::causal;
    if (below(2) == 0) {
        w.window = Window{below(500) - 1, below(500) - 1};
    }
    w.softcap = below(2) == 0 ? 0 : random_unit(seed, n++) * 60;
    w.sinks = below(2) == 0;
    if (below(2) == 0) {
        w.scale = random_unit(seed, n++) + 1e-9;
    }
    w.page_size = below(2) == 0 ? 0 : 1 + below(300);
    w.accuracy = below(2) == 0 ? Accuracy::accurate : Accuracy::fast;
    if (w.mask == Mask::full && !w.window && w.seqlen_q <= 32 && below(2) == 0) {
        w.tree = below(500);
    }
    return w;
}

TEST(ShapeGrammar, EveryWorkloadSurvivesTextAndJson) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        const Workload w = draw(seed);
        validate(w);
        const std::string text = format_shape(w);
        EXPECT_EQ(parse_shape(text, DType::nvfp4), canonical(w)) << text;
        EXPECT_EQ(workload_from_json(Json::parse(workload_to_json(w).dump())), w) << text;
    }
}

TEST(WorkloadJson, HasTheReceiptsNames) {
    const Json row = workload_to_json(parse_shape("h=8/2,q=1,k=100,d=64,causal,window=9"));
    EXPECT_EQ(row.dump(),
              R"({"batch":1,"heads_q":8,"heads_kv":2,"seqlen_q":1,"seqlen_k":100,"headdim":64,)"
              R"("headdim_v":64,"dtype":"bf16","kv_dtype":"bf16","mask":"causal","window":[9,-1],)"
              R"("softcap":0.0,"sinks":false,"page_size":0})");
}

// Rows from before there was a choice have no such member, and keep their keys.
TEST(WorkloadJson, NamesTheAccuracyOnlyIfItIsFast) {
    Workload w = parse_shape("h=8,k=100,d=64,dtype=e4m3,accuracy=accurate");
    EXPECT_FALSE(workload_to_json(w).contains("accuracy"));
    EXPECT_EQ(format_shape(w).find("accuracy"), std::string::npos);
    EXPECT_EQ(w, parse_shape("h=8,k=100,d=64,dtype=e4m3"));
    w.accuracy = Accuracy::fast;
    EXPECT_EQ(workload_to_json(w).at("accuracy"), "fast");
    EXPECT_THAT(refusal("h=8,k=100,d=64,accuracy=high"),
                HasSubstr("accuracy is 'high'; it must be accurate or fast"));
    w.accuracy = static_cast<Accuracy>(2);
    EXPECT_THROW(validate(w), Error);
}

TEST(WorkloadJson, DamageIsCorruptAndNamed) {
    const Json good = workload_to_json(parse_shape("h=8/2,q=1,k=100,d=64"));
    const auto refused = [&](const char* member, const Json& value) {
        Json bad = good;
        bad[member] = value;
        try {
            workload_from_json(bad);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::corrupt);
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_THAT(refused("batch", "two"), HasSubstr("'batch' has the wrong type"));
    EXPECT_THAT(refused("heads_kv", 3), HasSubstr("not a multiple"));
    EXPECT_THAT(refused("mask", "diagonal"), HasSubstr("'mask'"));
    EXPECT_THAT(refused("window", Json::array({1})), HasSubstr("'window'"));
    EXPECT_THAT(refused("accuracy", "exact"), HasSubstr("accuracy is 'exact'"));
    EXPECT_THAT(refused("accuracy", 1), HasSubstr("'accuracy' has the wrong type"));
    EXPECT_THAT(refused("seqlens_k", Json::array({1, "x"})), HasSubstr("'seqlens_k'"));
    EXPECT_THAT(refused("window", Json::array({~std::uint64_t{0}, 1})), HasSubstr("'window'"));
    EXPECT_THAT(refused("batch", ~std::uint64_t{0}), HasSubstr("'batch'"));
    Json missing = good;
    missing.erase("sinks");
    EXPECT_THROW(workload_from_json(missing), Error);
    EXPECT_THROW(workload_from_json(Json(3)), Error);
}

}  // namespace
}  // namespace raceline
