// SPDX-License-Identifier: Apache-2.0
// The kernels of operations beside attention on an emulated GPU, in every tile: rows that are
// shorter than what a thread holds, end inside of a chunk, or are wider than all threads hold.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cuda_fp16.h>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "model/occupancy.hpp"
#include "registry/registry.hpp"
#include "run/backend.hpp"
#include "tests/proof/proof.hpp"
#include "workload/operation.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// Runs each shape in every tile that serves it, of which there must be one.
void check_all(const char* name, std::initializer_list<const char*> shapes,
               const Device& device = test::small_hopper_gpu(2)) {
    const auto backend = make_cpu_backend(device);
    const Kernel& kernel = find_kernel(name);
    CaseOptions options;
    options.seed = 23;
    options.draws = {Draw::plain, Draw::non_finite};
    for (const char* shape : shapes) {
        const Workload w = parse_shape(shape);
        int ran = 0;
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.why_not(w, tile, backend->device()).empty()) {
                const Correctness verdict = backend->check(kernel, tile, w, options);
                EXPECT_TRUE(verdict.passed)
                    << shape << ' ' << kernel.tile_text(tile) << ": " << verdict.why;
                ++ran;
            }
        }
        EXPECT_GT(ran, 0) << shape;
    }
}

TEST(EmulatedRows, every_tile_holds_rows_of_any_width) {
    check_all("rows_cuda",
              {"op=rmsnorm,n=5x200,dtype=bf16", "op=softmax,n=3x513,dtype=fp32",
               "op=layernorm,n=9x1024,dtype=fp16", "op=add+store+rmsnorm,n=7x129,dtype=bf16",
               "op=softmax+bias,n=2x8,dtype=bf16", "op=add+add+mul,n=3x77,dtype=bf16"});
}

// Rows of whole chunks, which take the code that knows the chain: of half warps, warps and CTAs.
TEST(EmulatedRows, chains_with_code_of_their_own) {
    check_all("rows_cuda", {"op=relu,n=5x56,dtype=fp32",
                            "op=silu+mul,n=3x264,dtype=bf16",
                            "op=gelu+mul,n=3x1032,dtype=fp16",
                            "op=sigmoid+mul+add,n=3x264,dtype=bf16",
                            "op=add+relu,n=300x24,dtype=fp32",
                            "op=bias+gelu,n=3x264,dtype=fp16",
                            "op=softmax,n=5x520,dtype=fp32",
                            "op=layernorm,n=3x1032,dtype=bf16",
                            "op=rmsnorm,n=33x128,dtype=bf16",
                            "op=rope,n=5x256,d=64,dtype=bf16",
                            "op=add+rmsnorm,n=3x2056,dtype=bf16",
                            "op=rmsnorm+rope,n=35x128,d=128,dtype=bf16",
                            "op=add+store+rmsnorm,n=7x136,dtype=fp16",
                            "op=add+store+layernorm,n=3x264,dtype=fp32",
                            "op=sigmoid,n=3x264,dtype=bf16",
                            "op=square,n=9x24,dtype=fp32",
                            "op=tanh,n=3x264,dtype=fp16",
                            "op=sub,n=5x136,dtype=bf16",
                            "op=gain,n=5x520,dtype=fp32",
                            "op=gain+bias,n=7x136,dtype=fp16"});
}

// Rows that are reduced more than once, of which a thread has four chunks: their elements are
// computed again, and the last chunk is not there in every lane.
TEST(EmulatedRows, rows_are_computed_again_for_each_reduction) {
    check_all("rows_cuda", {"op=softmax,n=3x6152,dtype=fp32", "op=layernorm,n=2x13000,dtype=bf16",
                            "op=layernorm,n=3x3208,dtype=fp16", "op=softmax,n=2x7000,dtype=bf16"});
}

// Rows that begin anywhere in a chunk, and end anywhere: a vector has to be joined for each place,
// also one that is shorter than a chunk.
TEST(EmulatedRows, rows_begin_and_end_inside_of_chunks) {
    check_all("rows_cuda",
              {"op=layernorm+gain,n=9x131,dtype=bf16", "op=rmsnorm+bias,n=9x7,dtype=fp16",
               "op=layernorm,n=9x5,dtype=bf16", "op=rmsnorm,n=9x1,dtype=bf16",
               "op=softmax+gain,n=5x3,dtype=fp32", "op=layernorm,n=5x2049,dtype=fp32",
               "op=gain+sub+bias,n=9x1031,dtype=bf16", "op=add+store+rmsnorm,n=9x253,dtype=fp16",
               "op=layernorm+tanh,n=3x4095,dtype=bf16"});
}
// Rows as long as their lanes hold: the end stands before the begin where they begin inside a
// chunk.
TEST(EmulatedRows, rows_that_fill_their_lanes_begin_anywhere) {
    check_all("rows_cuda",
              {"op=rmsnorm+bias,n=9x127,dtype=fp16", "op=layernorm+gain,n=9x255,dtype=bf16",
               "op=softmax+gain,n=9x511,dtype=fp32", "op=rmsnorm,n=9x2047,dtype=bf16",
               "op=softmax,n=5x4093,dtype=fp32", "op=gain+sub+bias,n=9x2045,dtype=bf16"});
}
TEST(EmulatedRows, wide_rows_begin_and_end_inside_of_chunks) {
    check_all("rows_cuda", {"op=rmsnorm+bias,n=9x8195,dtype=bf16", "op=rmsnorm,n=9x8191,dtype=bf16",
                            "op=softmax+store+gain,n=5x8197,dtype=fp32"});
}

// Rows of an operation on tensors that begin `odd` elements behind a multiple of 16 bytes, in every
// tile; nothing before or behind the result may change.
void check_places(const char* shape, std::size_t odd) {
    const Device device = test::small_hopper_gpu(2);
    const Kernel& kernel = find_kernel("rows_cuda");
    const Workload w = parse_shape(shape);
    const auto rows = static_cast<std::size_t>(w.extent(grid_rows));
    const auto width = static_cast<std::size_t>(w.extent(grid_width));
    alignas(16) static std::array<float, 8192> in{}, gain{}, out{};
    for (std::size_t i = 0; i < rows * width; ++i) {
        in[odd + i] = static_cast<float>(i % 7) - 2;
    }
    for (std::size_t i = 0; i < width; ++i) {
        gain[odd + i] = static_cast<float>(i % 5);
    }
    const std::size_t begin = 8 + odd;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (!kernel.why_not(w, tile, device).empty()) {
            continue;
        }
        out.fill(9);
        const std::vector<void*> addresses{&in[odd], &gain[odd], &out[begin]};
        kernel.enqueue(make_operation_args(w, addresses), tile, device, nullptr, nullptr);
        for (std::size_t i = 0; i < rows * width; ++i) {
            const float expected = in[odd + i] * gain[odd + i % width];
            EXPECT_EQ(out[begin + i], expected) << kernel.tile_text(tile) << ' ' << i;
        }
        EXPECT_EQ(out[begin - 1], 9) << kernel.tile_text(tile);
        EXPECT_EQ(out[begin + rows * width], 9) << kernel.tile_text(tile);
    }
}

TEST(EmulatedRows, rows_take_any_address_and_leave_what_stands_around_them) {
    for (const std::size_t odd : {0, 1}) {
        check_places("op=gain,n=5x70,dtype=fp32", odd);   // narrow
        check_places("op=gain,n=3x601,dtype=fp32", odd);  // wider than the warps of lone rows
        check_places("op=gain,n=2x3000,dtype=fp32", odd);
    }
}

// Half of what fp16 can tell apart, also where e^2x is nearly 1.
TEST(EmulatedRows, tanh_is_as_close_as_its_type) {
    const Device device = test::small_hopper_gpu(2);
    const Kernel& kernel = find_kernel("rows_cuda");
    constexpr std::size_t count = 2048;
    const Workload w = parse_shape("op=tanh,n=1x2048,dtype=fp16");
    alignas(16) static std::array<__half, count> in{}, out{};
    for (std::size_t i = 0; i < count; ++i) {
        const double size = std::exp2(-13 + 16 * static_cast<double>(i) / count);
        in[i] = __float2half(static_cast<float>(i % 2 == 0 ? size : -size));
    }
    const std::vector<void*> addresses{in.data(), out.data()};
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (!kernel.why_not(w, tile, device).empty()) {
            continue;
        }
        kernel.enqueue(make_operation_args(w, addresses), tile, device, nullptr, nullptr);
        for (std::size_t i = 0; i < count; ++i) {
            const double x = __half2float(in[i]), exact = std::tanh(x);
            EXPECT_NEAR(__half2float(out[i]), exact, std::fabs(exact) * 0x1.08p-11) << x;
        }
    }
}

// Whatever the width: a mean that is off in its last bit leaves a rest, which the norm makes large.
TEST(EmulatedRows, equal_elements_less_their_mean_are_zeros) {
    const Device device = test::small_hopper_gpu(2);
    const Kernel& kernel = find_kernel("rows_cuda");
    constexpr std::size_t most = 3 * 4095;
    alignas(16) static std::array<__half, most> in{}, gain{}, bias{}, out{};
    in.fill(__float2half(60000.0F));
    gain.fill(__float2half(1.0F));
    bias.fill(__float2half(0.5F));
    const std::vector<void*> addresses{in.data(), gain.data(), bias.data(), out.data()};
    for (const char* shape :
         {"op=layernorm,n=3x4095,dtype=fp16", "op=layernorm,n=3x960,dtype=fp16",
          "op=layernorm+relu,n=3x960,dtype=fp16", "op=layernorm+relu,n=3x1920,dtype=fp16"}) {
        const Workload w = parse_shape(shape);
        const auto count = static_cast<std::size_t>(w.extent(grid_rows) * w.extent(grid_width));
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (!kernel.why_not(w, tile, device).empty()) {
                continue;
            }
            kernel.enqueue(make_operation_args(w, addresses), tile, device, nullptr, nullptr);
            for (std::size_t i = 0; i < count; ++i) {
                ASSERT_EQ(__half2float(out[i]), 0.5F) << shape << ' ' << kernel.tile_text(tile);
            }
        }
    }
}

// Rows that begin anywhere inside of 16 bytes and that a thread holds: more than a CTA has, the
// last warp with few, even and odd widths, up to the widest that each tile holds.
TEST(EmulatedRows, the_narrowest_rows_have_a_thread_each) {
    const Kernel& kernel = find_kernel("rows_cuda");
    const auto backend = make_cpu_backend(test::small_hopper_gpu(2));
    CaseOptions options;
    options.draws = {Draw::plain, Draw::non_finite};
    for (const char* shape :
         {"op=add+store+rmsnorm,n=301x13,dtype=bf16", "op=layernorm,n=131x31,dtype=fp16",
          "op=softmax+mul,n=161x14,dtype=bf16", "op=bias+gelu,n=129x1,dtype=bf16",
          "op=sub+store+layernorm,n=70x15,dtype=fp32",
          "op=add+mul+rmsnorm+store+silu,n=33x5,dtype=fp32", "op=softmax,n=1x3,dtype=fp16",
          "op=layernorm,n=67x61,dtype=bf16", "op=add+store+rmsnorm,n=129x54,dtype=fp16",
          "op=softmax,n=90x27,dtype=fp32"}) {
        const Workload w = parse_shape(shape);
        int ran = 0;
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.tile_text(tile).find("lanes=1,") != std::string::npos &&
                kernel.why_not(w, tile, backend->device()).empty()) {
                const Correctness verdict = backend->check(kernel, tile, w, options);
                EXPECT_TRUE(verdict.passed) << shape << ": " << verdict.why;
                ++ran;
            }
        }
        EXPECT_GT(ran, 0) << shape;
    }
}

// Rows of eight chunks fill eight lanes. Of known chains those that reduce have code for them.
TEST(EmulatedRows, narrow_rows_have_eight_lanes) {
    const Device device = test::small_hopper_gpu(2);
    const Kernel& kernel = find_kernel("rows_cuda");
    int narrow = 0;
    while (kernel.tile_text(narrow).find("lanes=8,") == std::string::npos) {
        ++narrow;
    }
    const auto why_not = [&](const char* shape) {
        return kernel.why_not(parse_shape(shape), narrow, device);
    };
    EXPECT_EQ(why_not("op=square+rmsnorm,n=5x64,dtype=bf16"), "");
    EXPECT_EQ(why_not("op=rmsnorm,n=5x64,dtype=bf16"), "");
    EXPECT_NE(why_not("op=rope,n=5x64,d=64,dtype=bf16").find("half a warp"), std::string::npos);
    EXPECT_NE(why_not("op=square+rmsnorm,n=5x72,dtype=bf16").find("wider"), std::string::npos);
    // 63 elements have a part of nine chunks, if they begin at the last of one; the ninth's goes
    // into the first.
    EXPECT_EQ(why_not("op=square+rmsnorm,n=5x63,dtype=bf16"), "");
}

// An odd number of rows leaves half of the last warp without one, where lanes exchange all the
// same.
TEST(EmulatedRows, half_a_warp_without_a_row_goes_along) {
    check_all(
        "rows_cuda",
        {"op=square+rmsnorm,n=5x64,dtype=bf16", "op=square+rmsnorm,n=99x64,dtype=bf16",
         "op=rmsnorm,n=3x61,dtype=bf16", "op=square+rmsnorm,n=33x63,dtype=bf16",
         "op=square+rmsnorm+rope,n=7x64,d=64,dtype=bf16", "op=square+softmax,n=33x24,dtype=fp32"});
}

// Elements that do not know their row are dealt out in whole chunks, however wide a row is.
TEST(EmulatedRows, odd_rows_of_steps_that_know_none_fill_whole_chunks) {
    check_all("rows_cuda", {"op=relu,n=8x51,dtype=bf16", "op=silu+mul,n=4x1001,dtype=fp32",
                            "op=add,n=3x51,dtype=bf16", "op=gelu,n=1x4099,dtype=fp16"});
}

TEST(EmulatedRows, wide_rows_are_read_again_for_each_reduction) {
    check_all("rows_cuda", {"op=add+rmsnorm+softmax,n=3x40000,dtype=bf16",
                            "op=layernorm+store+silu,n=2x33001,dtype=fp32"});
}

TEST(EmulatedRows, wide_rows_of_known_chains_are_held_by_one_cta) {
    check_all("rows_cuda",
              {"op=rmsnorm,n=2x16640,dtype=fp32", "op=layernorm,n=1x28672,dtype=fp32"});
}

// Whether no tile goes over rows several times.
bool reads_rows_once(const char* shape, const Device& device) {
    const Kernel& kernel = find_kernel("rows_cuda");
    const Workload w = parse_shape(shape);
    bool once = true;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (kernel.why_not(w, tile, device).empty()) {
            once = once && kernel.counts(w, tile, device).back().reread.empty();
        }
    }
    return once;
}

// A CTA for each row where an SM has room for two. Without clusters, and on an SM that has room for
// one, it stays: there are more rows than CTAs, since a CTA asks for its next row early. The last
// round of chunks is not whole.
TEST(EmulatedRows, wide_rows_of_known_chains_are_kept_in_shared_memory) {
    Device without_clusters = test::small_hopper_gpu(2);
    without_clusters.compute_capability = 80;
    without_clusters.smem_bytes_per_unit = 100 * 1024;
    without_clusters.smem_bytes_per_cta = 99 * 1024;
    for (const char* shape :
         {"op=rmsnorm,n=5x40008,dtype=bf16", "op=layernorm,n=3x33280,dtype=fp16",
          "op=softmax,n=5x40000,dtype=bf16", "op=layernorm,n=5x16640,dtype=fp32"}) {
        check_all("rows_cuda", {shape});
        check_all("rows_cuda", {shape}, without_clusters);
    }
}

// Rows that begin and end inside of chunks, of which the first and the last have a neighbour's
// elements: kept by one CTA, by a cluster, and by a small CTA each.
TEST(EmulatedRows, kept_rows_begin_and_end_inside_of_chunks) {
    check_all("rows_cuda",
              {"op=rmsnorm,n=5x40003,dtype=bf16", "op=layernorm,n=3x33281,dtype=fp16",
               "op=softmax,n=5x40001,dtype=bf16", "op=layernorm,n=3x16642,dtype=fp32",
               "op=softmax,n=9x9003,dtype=fp32", "op=layernorm,n=9x18009,dtype=fp16",
               "op=rmsnorm,n=9x17415,dtype=bf16", "op=softmax,n=3x150001,dtype=bf16",
               "op=layernorm,n=3x70001,dtype=fp32", "op=rmsnorm,n=3x131077,dtype=fp16"});
}

// Of two matrices both rows are kept, and a result between is stored once: by one CTA, by a small
// one for each row, and by clusters; rows that begin and end inside of chunks, and such of which
// half as many elements fit.
TEST(EmulatedRows, rows_of_two_matrices_are_kept_together) {
    Device device = test::small_hopper_gpu(2);
    const auto check = [&](const char* shape) {
        EXPECT_TRUE(reads_rows_once(shape, device)) << shape;
        check_all("rows_cuda", {shape}, device);
    };
    check("op=add+rmsnorm,n=5x20008,dtype=bf16");
    check("op=add+store+layernorm,n=3x20003,dtype=fp16");
    check("op=add+store+rmsnorm,n=9x8707,dtype=bf16");
    check("op=add+store+layernorm,n=9x4500,dtype=fp32");
    device.smem_bytes_per_cta = 48 * 1024;
    device.smem_bytes_per_unit = 88 * 1024;
    check("op=add+store+layernorm,n=5x20004,dtype=fp32");
    check("op=add+rmsnorm,n=6x20001,dtype=fp16");
    check("op=add+store+layernorm,n=5x40001,dtype=bf16");
    device.smem_bytes_per_unit = 28 * 1024;
    check("op=add+store+rmsnorm,n=5x40011,dtype=bf16");
    check("op=add+store+rmsnorm,n=5x40008,dtype=fp16");
}

// Rows of which an SM has room for four: a small CTA for each, if there are four for every SM.
TEST(EmulatedRows, rows_of_known_chains_that_an_sm_keeps_four_of_have_a_small_cta_each) {
    const Device device = test::small_hopper_gpu(2);
    const auto small_ctas = [&](const char* shape) {
        const Kernel& kernel = find_kernel("rows_cuda");
        const Workload w = parse_shape(shape);
        std::int64_t ctas = 0;
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.why_not(w, tile, device).empty()) {
                const Counts counts = kernel.counts(w, tile, device).front();
                ctas += counts.smem_bytes > 16384 && counts.threads == 256 ? counts.ctas : 0;
            }
        }
        return ctas;
    };
    EXPECT_EQ(small_ctas("op=rmsnorm,n=11x20008,dtype=bf16"), 11);
    EXPECT_EQ(small_ctas("op=rmsnorm,n=7x20008,dtype=bf16"), 0) << "two SMs have room for eight";
    check_all("rows_cuda", {"op=rmsnorm,n=11x20008,dtype=bf16", "op=layernorm,n=9x18008,dtype=fp16",
                            "op=softmax,n=9x9004,dtype=fp32", "op=softmax,n=3x27648,dtype=bf16"});
}

// Four lanes of two chunks and eight of two, the last of them not in every row.
TEST(EmulatedRows, narrow_rows_lie_in_few_lanes_of_two_chunks) {
    check_all("rows_cuda",
              {"op=rmsnorm,n=131x64,dtype=bf16", "op=layernorm,n=70x128,dtype=fp16",
               "op=softmax,n=67x20,dtype=fp32", "op=add+store+rmsnorm,n=5x56,dtype=bf16",
               "op=square+rmsnorm,n=66x40,dtype=bf16"});
}

// SMs with less shared memory: four to sixteen CTAs keep a row, the last one fewer chunks of it,
// and an SM has room for four of them or fewer. The record says how many they are, of whichever
// tile has such code. The machine says that two run at a time, and runs one after the other: the
// first takes all rows that are handed out.
TEST(EmulatedRows, wide_rows_of_known_chains_are_kept_by_clusters) {
    Device device = test::small_hopper_gpu(2);
    device.smem_bytes_per_unit = 88 * 1024;
    const auto largest_cluster = [&](const char* shape) {
        const Kernel& kernel = find_kernel("rows_cuda");
        const Workload w = parse_shape(shape);
        Counts largest;
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.why_not(w, tile, device).empty()) {
                const Counts counts = kernel.counts(w, tile, device).back();
                largest = counts.cluster > largest.cluster ? counts : largest;
            }
        }
        return largest;
    };
    const auto check = [&](int kilobytes, int cluster, int residents, const char* shape) {
        device.smem_bytes_per_unit = std::int64_t{kilobytes} * 1024;
        const Counts counts = largest_cluster(shape);
        EXPECT_EQ(counts.cluster, cluster) << shape;
        EXPECT_EQ(counts.threads, residents > 2 ? 256 : 512) << shape;
        EXPECT_EQ(occupancy(device, counts), residents) << shape;
        check_all("rows_cuda", {shape}, device);
    };
    device.smem_bytes_per_cta = 48 * 1024;
    check(88, 4, 4, "op=rmsnorm,n=5x40008,dtype=bf16");
    check(88, 4, 4, "op=softmax,n=5x16644,dtype=fp32");
    check(48, 8, 4, "op=layernorm,n=5x40008,dtype=bf16");
    check(48, 8, 4, "op=softmax,n=7x40009,dtype=fp16");
    check(28, 16, 4, "op=layernorm,n=6x40008,dtype=fp16");
    check(20, 16, 3, "op=rmsnorm,n=7x40009,dtype=bf16");
    check(14, 16, 2, "op=softmax,n=5x40001,dtype=fp16");
    check(8, 16, 1, "op=layernorm,n=6x40008,dtype=bf16");
}

// Every cluster asks for a row as it begins one. Without a workspace each takes its share.
TEST(EmulatedRows, each_row_is_handed_out_once) {
    Device device = test::small_hopper_gpu(2);
    device.smem_bytes_per_unit = 88 * 1024;
    device.smem_bytes_per_cta = 48 * 1024;
    const Kernel& kernel = find_kernel("rows_cuda");
    constexpr std::size_t rows = 9, width = 16648;
    const Workload w = parse_shape("op=rmsnorm,n=9x16648,dtype=fp32");
    alignas(16) static std::array<float, rows * width> in{}, handed_out{}, shared{};
    alignas(16) static std::array<float, width> gain{};
    for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<float>(i % 911) - 300;
    }
    gain.fill(1);
    int clusters = 0;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (!kernel.why_not(w, tile, device).empty() ||
            kernel.counts(w, tile, device).back().cluster == 1) {
            continue;
        }
        alignas(64) std::array<std::uint32_t, 16> counter{};
        counter.fill(77);
        const auto run = [&](float* out, void* workspace) {
            const std::vector<void*> addresses{in.data(), gain.data(), out};
            kernel.enqueue(make_operation_args(w, addresses), tile, device, workspace, nullptr);
        };
        run(handed_out.data(), counter.data());
        EXPECT_EQ(counter.front(), rows);
        EXPECT_EQ(counter.back(), 77U);
        run(shared.data(), nullptr);
        EXPECT_EQ(handed_out, shared);
        ++clusters;
    }
    EXPECT_EQ(clusters, 1);
}

// Squares of large elements are infinite where those of their distances are not.
TEST(EmulatedRows, wide_rows_of_large_equal_elements_have_no_variance) {
    const Device device = test::small_hopper_gpu(2);
    const Kernel& kernel = find_kernel("rows_cuda");
    const Workload w = parse_shape("op=layernorm,n=2x16640,dtype=fp32");
    constexpr std::size_t width = 16640;
    alignas(16) static std::array<float, 2 * width> in{}, out{};
    alignas(16) static std::array<float, width> gain{}, bias{};
    in.fill(0x1p64F);
    gain.fill(1);
    bias.fill(0.5F);
    const std::vector<void*> addresses{in.data(), gain.data(), bias.data(), out.data()};
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (kernel.why_not(w, tile, device).empty()) {
            kernel.enqueue(make_operation_args(w, addresses), tile, device, nullptr, nullptr);
            for (const float one : out) {
                ASSERT_EQ(one, 0.5F) << kernel.tile_text(tile);
            }
        }
    }
}

// A tile is chosen by shape. This one has code for aligned rows alone.
TEST(EmulatedRows, the_tile_of_eight_chunks_takes_any_address) {
    const Device device = test::small_hopper_gpu(2);
    const Kernel& kernel = find_kernel("rows_cuda");
    const Workload w = parse_shape("op=softmax,n=2x16640,dtype=fp32");
    int tile = 0;
    while (tile + 1 < kernel.tile_count() &&
           kernel.tile_text(tile) != "threads=1024,lanes=1024,chunks=8") {
        ++tile;
    }
    ASSERT_EQ(kernel.why_not(w, tile, device), "");
    constexpr std::size_t width = 16640, odd = 1;
    std::vector<float> in(2 * width + odd);
    std::vector<float> out(2 * width + odd, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t i = 0; i < 2 * width; ++i) {
        in[odd + i] = static_cast<float>(i % 7);
    }
    const std::vector<void*> addresses{in.data() + odd, out.data() + odd};
    kernel.enqueue(make_operation_args(w, addresses), tile, device, nullptr, nullptr);
    for (std::size_t row = 0; row < 2; ++row) {
        const auto begin = out.begin() + static_cast<std::ptrdiff_t>(odd + row * width);
        const auto end = begin + static_cast<std::ptrdiff_t>(width);
        EXPECT_NEAR(std::accumulate(begin, end, 0.0), 1, 1e-4) << row;
    }
}

// A flat chain is read in chunks of 16 bytes where tensors allow it, and element by element else.
TEST(EmulatedRows, flat_chains_take_any_address) {
    const Kernel& kernel = find_kernel("rows_cuda");
    const Workload w = parse_shape("op=sub+tanh,n=3x77,dtype=fp32");
    const Device device = test::small_hopper_gpu(2);
    constexpr std::size_t count = 3 * 77;
    for (const std::size_t odd : {0, 1}) {
        std::vector<float> a(count + odd), b(count + odd);
        std::vector<float> out(count + odd + 4, 9.0F);
        for (std::size_t i = 0; i < count; ++i) {
            a[odd + i] = static_cast<float>(i % 7);
            b[odd + i] = static_cast<float>(i % 5);
        }
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (!kernel.why_not(w, tile, device).empty()) {
                continue;
            }
            const std::vector<void*> addresses{a.data() + odd, b.data() + odd, out.data() + odd};
            kernel.enqueue(make_operation_args(w, addresses), tile, device, nullptr, nullptr);
            for (std::size_t i = 0; i < count; ++i) {
                EXPECT_NEAR(out[odd + i], std::tanh(a[odd + i] - b[odd + i]), 1e-6)
                    << odd << ' ' << i;
            }
            EXPECT_EQ(out[odd + count], 9.0F) << "what stands behind the matrix";
        }
    }
}

TEST(EmulatedRows, every_elementwise_step) {
    check_all("rows_cuda", {"op=relu,n=3x50,dtype=fp32", "op=gelu,n=3x50,dtype=fp32",
                            "op=silu,n=3x50,dtype=fp32", "op=sigmoid+tanh,n=3x50,dtype=fp32",
                            "op=exp,n=3x50,dtype=fp32", "op=square+sub,n=3x50,dtype=fp32",
                            "op=gain+bias,n=3x50,dtype=fp16", "op=gelu+mul,n=5x4096,dtype=bf16"});
}

// Rows of several pieces, the last of them shorter, where a CTA has pieces of two rows.
TEST(EmulatedRows, rows_whose_elements_do_not_know_each_other_are_dealt_out_in_pieces) {
    check_all("rows_cuda", {"op=rope,n=3x5120,d=128,dtype=bf16", "op=bias,n=3x3000,dtype=fp16",
                            "op=bias+gelu,n=2x1032,dtype=fp32"});
}

TEST(EmulatedRows, rope_finds_its_partners_in_other_lanes) {
    check_all("rows_cuda",
              {"op=rope,n=5x256,d=64,dtype=bf16", "op=rope,n=3x512,d=128,dtype=fp32",
               "op=rmsnorm+rope,n=9x256,d=256,dtype=fp16", "op=rope,n=3x64,d=16,dtype=bf16",
               "op=rope+store+rmsnorm,n=2x8192,d=128,dtype=bf16"});
}

TEST(EmulatedAdam, every_type_of_state) {
    check_all("adam_cuda",
              {"op=adam,n=7x100,dtype=fp32", "op=adam,n=3x333,dtype=bf16",
               "op=adam,n=3x333,state=bf16,dtype=bf16", "op=adam,n=1x8,state=bf16,dtype=fp32",
               "op=adam,n=5x61,master=fp32,dtype=bf16",
               "op=adam,n=5x61,master=fp32,state=bf16,step=1,dtype=bf16"});
}

TEST(EmulatedEmbedding, rows_of_any_size) {
    check_all("embedding_cuda", {"op=embedding,tokens=33,vocab=50,d=64,dtype=bf16",
                                 "op=embedding,tokens=5,vocab=3,d=33,dtype=fp32",
                                 "op=embedding,tokens=300,vocab=9,d=7,dtype=fp16",
                                 "op=embedding,tokens=17,vocab=100,d=20,dtype=e4m3",
                                 "op=embedding,tokens=40,vocab=6,d=77,dtype=e4m3",
                                 "op=embedding,tokens=61,vocab=9,d=33,dtype=bf16",
                                 "op=embedding,tokens=7,vocab=2,d=1001,dtype=bf16",
                                 "op=embedding,tokens=9,vocab=4,d=1002,dtype=fp16",
                                 "op=embedding,tokens=5,vocab=3,d=1036,dtype=bf16",
                                 "op=embedding,tokens=1,vocab=1,d=49,dtype=bf16",
                                 "op=embedding,tokens=17,vocab=100,d=3,dtype=e4m3"});
}

TEST(EmulatedCrossentropy, rows_end_anywhere) {
    check_all("crossentropy_cuda",
              {"op=crossentropy,n=3x2,dtype=bf16", "op=crossentropy,n=5x1000,dtype=fp32",
               "op=crossentropy,n=2x4099,dtype=fp16", "op=crossentropy,n=2x16384,dtype=bf16",
               "op=crossentropy,n=9x3,dtype=bf16", "op=crossentropy,n=9x7,dtype=fp16",
               "op=crossentropy,n=9x9,dtype=fp32", "op=crossentropy,n=19x300,dtype=bf16"});
}

}  // namespace
}  // namespace raceline
