// SPDX-License-Identifier: Apache-2.0
// Random cases of cpu_flash through the gate, on every SIMD target of this machine.
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "device/catalog.hpp"
#include "raceline/raceline.hpp"
#include "registry/registry.hpp"
#include "run/gate.hpp"
#include "workload/inputs.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using Random = std::mt19937_64;

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}
bool one_in(Random& random, int n) {
    return between(random, 1, n) == 1;
}

template <class T>
T any_of(Random& random, std::initializer_list<T> list) {
    return *(list.begin() + between(random, 0, static_cast<std::int64_t>(list.size()) - 1));
}

void draw_lengths(Random& random, Workload& w) {
    const bool decode = one_in(random, 3);
    w.seqlen_q = decode
                     ? between(random, 1, 3)
                     : any_of<std::int64_t>(random, {0, 1, 15, 16, 17, 63, 64, 65, 100, 255, 300});
    w.seqlen_k = any_of<std::int64_t>(random, {0, 1, 2, 31, 95, 96, 97, 192, 200, 383, 500, 700});
    if (one_in(random, 3)) {
        for (std::int64_t b = 0; b < w.batch; ++b) {
            w.seqlens_q.push_back(between(random, 0, w.seqlen_q));
            w.seqlens_k.push_back(between(random, 0, w.seqlen_k));
        }
        // The longest must be one of them.
        w.seqlens_q[0] = w.seqlen_q;
        w.seqlens_k[static_cast<std::size_t>(w.batch) - 1] = w.seqlen_k;
    } else if (one_in(random, 3)) {
        w.page_size = any_of<std::int64_t>(random, {1, 7, 16, 64});
    }
}

Workload draw(Random& random) {
    Workload w;
    w.batch = between(random, 1, 3);
    w.heads_kv = between(random, 1, 3);
    w.heads_q = w.heads_kv * any_of<std::int64_t>(random, {1, 1, 2, 3, 4, 5, 8, 13});
    draw_lengths(random, w);
    w.headdim = any_of<std::int64_t>(random, {1, 2, 7, 16, 33, 64, 72, 80, 96, 128, 192, 512, 576});
    w.headdim_v = one_in(random, 2)
                      ? w.headdim
                      : any_of<std::int64_t>(random, {1, 3, 8, 17, 48, 64, 100, 128, 512});
    w.dtype = any_of(random, {DType::fp32, DType::fp16, DType::bf16});
    w.kv_dtype = one_in(random, 6) ? DType::e4m3 : w.dtype;
    w.mask = one_in(random, 2) ? Mask::causal : Mask::full;
    if (one_in(random, 4)) {
        w.window = Window{between(random, -1, 200), between(random, -1, 60)};
    }
    w.softcap = one_in(random, 5) ? 3.0 : 0.0;
    w.sinks = one_in(random, 4);
    if (one_in(random, 6)) {
        w.scale = any_of(random, {1e-3, 0.3, 1.0});
    }
    if (one_in(random, 8)) {
        w.mla = true;
        w.heads_q = w.heads_q / w.heads_kv;
        w.heads_kv = 1;
        w.headdim_v = std::max<std::int64_t>(1, w.headdim - 8);
    }
    return w;
}

/// Output, LSE and workspace of one launch, poisoned; the workspace ends in a guard.
struct Call {
    static constexpr std::size_t guard = 256;
    std::vector<std::byte> out, workspace;
    std::vector<float> lse;

    Call(const Workload& w, const Inputs& inputs, std::size_t workspace_bytes)
        : out(inputs.out_elements * static_cast<std::size_t>(bytes_of(w.dtype)), std::byte{0xFF}),
          workspace(workspace_bytes + guard, std::byte{0xFF}),
          lse(inputs.lse_elements, std::nanf("")) {}

    [[nodiscard]] AttentionCall args(const Workload& w, Inputs& inputs) {
        InputPointers at = pointers_into(inputs);
        at.out = out.data();
        at.lse = lse.data();
        return make_args(w, inputs, at);
    }
    [[nodiscard]] bool guard_intact() const {
        for (std::size_t i = workspace.size() - guard; i < workspace.size(); ++i) {
            if (workspace[i] != std::byte{0xFF}) {
                return false;
            }
        }
        return true;
    }
};

Device cpu(int threads) {
    Device device = live_cpu();
    device.units = threads;
    return device;
}

void expect_right(const Workload& w, int tile, int threads, std::uint64_t seed, Draw draw) {
    const Kernel& kernel = find_kernel("cpu_flash");
    const Device device = cpu(threads);
    if (const std::string why = kernel.why_not(w, tile, device); !why.empty()) {
        EXPECT_THAT(why, testing::AnyOf(testing::HasSubstr("does not depend on the tile"),
                                        testing::HasSubstr("for products of AMX tiles")));
        tile = 0;
    }
    SCOPED_TRACE(format_shape(w) + " tile " + kernel.tile_text(tile) + " threads " +
                 std::to_string(threads) + " seed " + std::to_string(seed));
    Inputs inputs = make_inputs(w, {.seed = seed, .draw = draw, .poison = true});
    Call call(w, inputs, kernel.workspace(w, tile, device));
    const AttentionCall args = call.args(w, inputs);
    kernel.launch(args, tile, device, call.workspace.data(), nullptr);
    EXPECT_TRUE(call.guard_intact()) << "wrote past the end of the workspace";
    const Correctness verdict =
        judge(w, inputs, kernel.precision(w), call.out, call.lse, seed, draw);
    EXPECT_TRUE(verdict.passed) << verdict.why;
}
void expect_right(const Workload& w, int tile, int threads, std::uint64_t seed) {
    expect_right(w, tile, threads, seed, seed % 2 == 0 ? Draw::outliers : Draw::plain);
}

/// SIMD targets that this machine can run; restored at the end.
class Target : public testing::TestWithParam<std::int64_t> {
protected:
    void SetUp() override {
        if ((hwy::SupportedTargets() & GetParam()) == 0 && GetParam() != HWY_EMU128) {
            GTEST_SKIP() << "this CPU lacks " << hwy::TargetName(GetParam());
        }
        hwy::SetSupportedTargetsForTest(GetParam());
    }
    void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(Target, RandomCases) {
    const int cases = GetParam() == HWY_EMU128 ? 40 : 150;
    const int tiles = find_kernel("cpu_flash").tile_count();
    for (int i = 0; i < cases && !HasFatalFailure() && !HasNonfatalFailure(); ++i) {
        Random random(static_cast<std::uint64_t>(i + 1000));
        const Workload w = draw(random);
        expect_right(w, static_cast<int>(between(random, 0, tiles - 1)),
                     static_cast<int>(between(random, 1, 4)), static_cast<std::uint64_t>(i));
    }
}

TEST_P(Target, ShapesThatSplitKeys) {
    const int few = GetParam() == HWY_EMU128 ? 1 : 4;
    for (const char* shape :
         {"b=1,h=1,q=1,k=5000,d=64,dtype=fp32", "b=1,h=8/1,q=1,k=3001,d=128,dtype=bf16,sinks",
          "b=1,h=32/1,q=1,k=4096,d=64,dtype=bf16,page=64", "b=1,h=1,q=65,k=4000,d=64,causal",
          "b=2,h=4/2,q=2,k=900,d=80,dtype=fp16,window=700"}) {
        for (int threads = 1; threads <= few; ++threads) {
            expect_right(parse_shape(shape), 0, threads, 7);
        }
    }
}

// max() drops NaN on some targets and not on others, so each has to show that it does not.
TEST_P(Target, NaNAndInfinitiesReachTheOutput) {
    for (const char* shape :
         {"h=4/2,q=70,k=200,d=64,dtype=fp32,causal", "h=4/2,q=70,k=200,d=64,dtype=bf16,softcap=20",
          "h=4/2,q=70,k=200,d=64,dtype=bf16,causal", "h=4/2,q=70,k=217,d=64,dtype=bf16,window=30:3",
          "h=4/2,q=70,k=200,d=80,dtype=fp16", "b=2,h=8/2,q=1,k=300,d=64,dtype=fp32",
          "b=2,h=8/2,q=1,k=300,d=64,dtype=bf16", "h=8/2,q=1,k=300,d=64,dtype=fp16,softcap=20"}) {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            expect_right(parse_shape(shape), 0, 2, seed, Draw::non_finite);
        }
    }
}

// P is relative to a base that lags behind the row's maximum. Where P is rounded to bf16 the
// heaviest key's is no longer exact, which the kernel's precision has to say: of these seeds the
// gate refused several without it.
TEST(CpuFlash, rounded_probabilities_relative_to_an_old_base_pass_for_every_seed) {
    const Workload w = parse_shape("b=2,h=16,q=1,k=300,mla=512+64,dtype=bf16,page=16");
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        expect_right(w, static_cast<int>(seed % 3), 2, seed, Draw::outliers);
    }
}

// Whole tiles of bf16 begin and end where no row sees their keys. (Where the CPU has no AMX these
// cases show the pairs.)
TEST(CpuFlash, masks_and_lengths_around_whole_tiles) {
    const Kernel& kernel = find_kernel("cpu_flash");
    int i = 0;
    const auto judge = [&](const std::string& shape) {
        const Workload w = parse_shape(shape);
        const int tile = ++i % kernel.tile_count();
        if (kernel.why_not(w, tile, cpu(2)).empty()) {
            SCOPED_TRACE(shape);
            expect_right(w, tile, 1 + i % 2, static_cast<std::uint64_t>(i),
                         i % 3 == 0 ? Draw::outliers : Draw::plain);
        }
    };
    for (const char* mask :
         {"", ",causal", ",window=40:7", ",causal,window=33,sinks", ",softcap=20,causal"}) {
        for (const char* lengths :
             {"q=33,k=31", "q=64,k=32", "q=40,k=33", "q=129,k=191", "q=65,k=193", "q=520,k=600"}) {
            for (const char* dims : {"h=4/2,d=32", "h=4/2,d=64/80", "h=4/2,d=160/16",
                                     "h=4,mla=512+64", "h=8/2,d=128,kv=e4m3,page=16"}) {
                judge(fmt::format("{},{},dtype=bf16{}", dims, lengths, mask));
            }
        }
    }
    for (int tree = 1; tree <= 20; ++tree) {
        judge(fmt::format("h=16/2,q=31,k=300,d=64,dtype=bf16,tree={}", tree));
    }
}

// What a thread packed for an earlier sequence, NaN among it, is no value of a later one's keys.
TEST(CpuFlash, a_short_sequence_behind_one_with_nan_stays_finite) {
    const Workload w = parse_shape("h=2,q=40;40;40;40;40;40,k=64;17;64;5;64;29,d=64,dtype=bf16");
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        expect_right(w, 0, 1, seed, Draw::non_finite);
    }
}

// One key has all the weight: the output is its value, and bf16 holds each one of e4m3.
TEST(CpuFlash, DecodeGivesBackEveryValueOfE4m3) {
    constexpr std::int64_t columns = 256;
    std::vector<std::uint8_t> cache(columns);
    std::iota(cache.begin(), cache.end(), std::uint8_t{0});
    std::vector<std::uint8_t> keys(columns, 0);
    std::vector<std::uint16_t> q(columns, 0), out(columns);
    DecodeArgs args;
    args.q = TensorView::contiguous(q.data(), DType::bf16, {1, 1, 1, columns});
    args.k_cache = TensorView::contiguous(keys.data(), DType::e4m3, {1, 1, 1, columns});
    args.v_cache = TensorView::contiguous(cache.data(), DType::e4m3, {1, 1, 1, columns});
    args.out = TensorView::contiguous(out.data(), DType::bf16, {1, 1, 1, columns});
    args.max_seqlen_k = 1;
    std::vector<std::byte> memory(decode_workspace(args, Place::cpu) + workspace_alignment);
    void* start = memory.data();
    std::size_t space = memory.size();
    Execution execution;
    execution.workspace_bytes = memory.size() - workspace_alignment;
    execution.workspace = std::align(workspace_alignment, execution.workspace_bytes, start, space);
    decode(args, execution);
    for (std::size_t i = 0; i < columns; ++i) {
        const double expected =
            load_element(reinterpret_cast<const std::byte*>(cache.data()), DType::e4m3, i);
        const double found =
            load_element(reinterpret_cast<const std::byte*>(out.data()), DType::bf16, i);
        EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected))) << i;
    }
}

// A CPU with AMX is given tiles for what fills them, and is told what they take.
TEST(CpuFlash, CountsTilesOnADeviceThatHasThem) {
    Device device = cpu(2);
    device.has_bf16_dot = true;
    device.has_bf16_tiles = false;
    const auto engine = [&](const char* shape) -> std::string {
        const Counts c = find_kernel("cpu_flash").counts(parse_shape(shape), 0, device).front();
        for (const char* id : {"flop.amx.bf16", "flop.dot.bf16", "flop.fma.fp32"}) {
            if (c.work.contains(id)) {
                EXPECT_EQ(c.work.contains("byte.l1"), std::string_view(id) == "flop.amx.bf16");
                return id;
            }
        }
        return "";
    };
    const char* whole = "h=8,q=512,k=512,d=64,dtype=bf16";
    EXPECT_EQ(engine(whole), "flop.dot.bf16");
    device.has_bf16_tiles = true;
    EXPECT_EQ(engine(whole), "flop.amx.bf16");
    EXPECT_EQ(engine("h=8,q=512,k=512,d=128,dtype=bf16,kv=e4m3"), "flop.amx.bf16");
    EXPECT_EQ(engine("h=8,q=512,k=512,d=80,dtype=bf16"), "flop.dot.bf16");
    EXPECT_EQ(engine("h=8,q=1,k=512,d=64,dtype=bf16"), "flop.dot.bf16");
    EXPECT_EQ(engine("h=8,q=512,k=512,d=64,dtype=fp16"), "flop.fma.fp32");
    EXPECT_EQ(engine("h=8,q=512,k=512,d=64,dtype=bf16,kv=e4m3,scales=token"), "flop.fma.fp32");
}

// What fills a tile in part is multiplied as all of it; a window begins and ends inside tiles.
TEST(CpuFlash, CountsWholeTilesOfKeys) {
    Device device = cpu(1);
    device.has_bf16_dot = true;
    device.has_bf16_tiles = true;
    const auto work = [&](const char* shape) {
        return find_kernel("cpu_flash").counts(parse_shape(shape), 0, device).front().work;
    };
    const Work part = work("h=1,q=512,k=33,d=64,dtype=bf16");
    const Work whole = work("h=1,q=512,k=64,d=64,dtype=bf16");
    EXPECT_EQ(part.at("flop.amx.bf16"), whole.at("flop.amx.bf16"));
    EXPECT_EQ(part.at("op.exp"), whole.at("op.exp"));
    // By a replay of step_panel's loop.
    const Work window = work("h=8/1,q=2048,k=2048,d=128,dtype=bf16,causal,window=15");
    EXPECT_NEAR(window.at("flop.amx.bf16"), 4.006e8, 0.001e8);
    EXPECT_NEAR(window.at("op.exp"), 7.823e5, 0.001e5);
}

#if HWY_ARCH_X86
constexpr std::int64_t kTargets[] = {HWY_AVX3, HWY_AVX2, HWY_SSE4, HWY_EMU128};
#else
constexpr std::int64_t kTargets[] = {HWY_NEON, HWY_EMU128};
#endif
INSTANTIATE_TEST_SUITE_P(Every, Target, testing::ValuesIn(kTargets),
                         [](const auto& target) { return hwy::TargetName(target.param); });

/// Moves packed rows apart: `pad` elements after every row of `width`.
std::vector<std::byte> spread(const std::vector<std::byte>& packed, std::size_t width,
                              std::size_t pad, std::size_t bytes) {
    const std::size_t rows = packed.size() / (width * bytes);
    std::vector<std::byte> apart(rows * (width + pad) * bytes, std::byte{0xFF});
    for (std::size_t r = 0; r < rows; ++r) {
        std::memcpy(apart.data() + r * (width + pad) * bytes, packed.data() + r * width * bytes,
                    width * bytes);
    }
    return apart;
}

TEST(CpuFlash, StridesAreFollowed) {
    for (const char* shape : {"b=2,h=6/2,q=40,k=130,d=64,dtype=fp32,causal",
                              "b=2,h=6/2,q=1,k=130,d=80/48,dtype=bf16"}) {
        SCOPED_TRACE(shape);
        const Kernel& kernel = find_kernel("cpu_flash");
        const Workload w = parse_shape(shape);
        const Device device = cpu(2);
        Inputs inputs = make_inputs(w, {.seed = 3});
        Call call(w, inputs, kernel.workspace(w, 0, device));
        AttentionArgs args = call.args(w, inputs);
        constexpr std::size_t pad = 5;
        const auto bytes = static_cast<std::size_t>(bytes_of(w.dtype));
        const auto d = static_cast<std::size_t>(w.headdim);
        const auto dv = static_cast<std::size_t>(w.headdim_v);
        auto q = spread(inputs.q, d, pad, bytes);
        auto k = spread(inputs.k, d, pad, bytes);
        auto v = spread(inputs.v, dv, pad, bytes);
        auto out = spread(call.out, dv, pad, bytes);
        const auto stretch = [&](TensorArg& t, std::vector<std::byte>& data, std::size_t width) {
            const auto wide = [&](std::int64_t stride) {
                return stride / static_cast<std::int64_t>(width) *
                       static_cast<std::int64_t>(width + pad);
            };
            t = {data.data(), wide(t.batch_stride), wide(t.seq_stride), wide(t.head_stride)};
        };
        stretch(args.q, q, d);
        stretch(args.k, k, d);
        stretch(args.v, v, dv);
        stretch(args.out, out, dv);
        kernel.launch(args, 0, device, call.workspace.data(), nullptr);
        for (std::size_t r = 0; r < call.out.size() / (dv * bytes); ++r) {
            std::memcpy(call.out.data() + r * dv * bytes, out.data() + r * (dv + pad) * bytes,
                        dv * bytes);
            for (std::size_t i = 0; i < pad * bytes; ++i) {
                ASSERT_EQ(out[(r * (dv + pad) + dv) * bytes + i], std::byte{0xFF})
                    << "wrote behind row " << r;
            }
        }
        const Correctness verdict = judge(w, inputs, kernel.precision(w), call.out, call.lse, 3);
        EXPECT_TRUE(verdict.passed) << verdict.why;
    }
}

TEST(CpuFlash, RefusesWhatItCannotRead) {
    const Kernel& kernel = find_kernel("cpu_flash");
    EXPECT_THAT(kernel.why_not(parse_shape("b=1,h=1,q=1,k=1,d=577,dtype=fp32"), 0, cpu(1)),
                testing::HasSubstr("head dim 577"));
    EXPECT_EQ(kernel.why_not(parse_shape("h=128,q=1,k=9,mla=512+64,dtype=bf16"), 0, cpu(1)), "");
    Workload fp4 = parse_shape("b=1,h=1,q=1,k=16,d=64");
    fp4.kv_dtype = DType::nvfp4;
    EXPECT_THAT(kernel.why_not(fp4, 0, cpu(1)), testing::HasSubstr("nvfp4"));
}

/// The counted products are at least the useful ones, and not much more on whole tiles.
TEST(CpuFlash, CountsCoverTheWork) {
    const Kernel& kernel = find_kernel("cpu_flash");
    for (const char* shape :
         {"b=1,h=8,q=2048,k=2048,d=64,dtype=fp32", "b=1,h=8,q=2048,k=2048,d=128,dtype=fp32,causal",
          "b=1,h=32/8,q=1,k=4096,d=128,dtype=fp32"}) {
        SCOPED_TRACE(shape);
        const Workload w = parse_shape(shape);
        const std::vector<Counts> counts = kernel.counts(w, 0, cpu(2));
        const double products = counts.at(0).work.at("flop.fma.fp32");
        EXPECT_GE(products, w.flops());
        EXPECT_LE(products, 1.1 * w.flops());
    }
}

/// Too many row blocks to plan are counted by samples, a few less by the plan: twice the rows are
/// twice the work. A packed batch of the same rows is counted alike.
TEST(CpuFlash, CountsOfVeryManyRowsFollowThoseOfThePlan) {
    const Kernel& kernel = find_kernel("cpu_flash");
    for (const char* mask : {"", ",window=4096:0"}) {
        for (const char* const times : {"q=%,k=8192", "q=%;%,k=8192"}) {
            const auto flops = [&](const std::string& rows) {
                std::string shape = std::string("h=8/2,d=64,dtype=fp32,") + times + mask;
                for (auto at = shape.find('%'); at != std::string::npos; at = shape.find('%')) {
                    shape.replace(at, 1, rows);
                }
                return kernel.counts(parse_shape(shape), 0, cpu(8)).at(0).work.at("flop.fma.fp32");
            };
            const double ratio = flops("4194304") / flops("1048576");
            EXPECT_NEAR(ratio, *mask == 0 ? 4 : 1, 0.01) << times << mask;
        }
    }
    const auto longest = kernel.counts(
        parse_shape("h=32/8,q=2147483647,k=2147483647,d=128,dtype=fp32,causal"), 0, cpu(8));
    EXPECT_NEAR(longest.at(0).work.at("flop.fma.fp32") / 2147483647.0,
                4 * 32 * 128 * 2147483648.0 / 2, 1e-3 * 4 * 32 * 128 * 2147483648.0 / 2);
}

}  // namespace
}  // namespace raceline
