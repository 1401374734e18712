// SPDX-License-Identifier: Apache-2.0
// Layer 1 against published roofline models: their byte counts written by hand, their constants as
// a device set that exists in this test only. Expected values are to the digits published.
#include <cmath>
#include <gtest/gtest.h>

#include "model_fixtures.hpp"

namespace raceline {
namespace {

Device published(const char* id, double bytes_per_second, double fp32, double fp16) {
    Device device = device_with(DeviceKind::cuda, 1,
                                {{"byte.dram_read", bytes_per_second},
                                 {"byte.dram_write", bytes_per_second},
                                 {"flop.mma.fp16", fp16}});
    if (fp32 > 0) {
        device.rates["flop.fma.fp32"].value = fp32;
    }
    device.id = id;
    return device;
}
const Device t4 = published("published-t4", 320e9, 8.1e12, 65e12);
const Device a100 = published("published-a100", 2039e9, 0, 312e12);
const Device b300 = published("published-b300", 8000e9, 0, 2500e12);

struct Shape {
    double batch = 1, heads_q = 8, heads_kv = 8, nq = 1, nk = 1, d = 64;
    [[nodiscard]] double flops() const { return 4 * batch * heads_q * nq * nk * d; }
};

Counts counted(const char* engine, double flops, double read, double write) {
    return counts_of({{engine, flops}, {"byte.dram_read", read}, {"byte.dram_write", write}});
}

// Operands re-read for every tile, four sweeps over the score matrix (two of them writes), O.
Counts materialised(double n, double d, double tile_m, double tile_n, double b) {
    const double bh = 8;
    const double operands = 2 * bh * n * n * d * (1 / tile_m + 1 / tile_n) * b;
    const double sweep = bh * n * n * b;
    return counted("flop.fma.fp32", 4 * bh * n * n * d, operands + 2 * sweep,
                   2 * sweep + bh * n * d * b);
}

// K and V once a group at the cache's width, Q and O at their own.
Counts fused(const char* engine, const Shape& s, double kv_width, double q_width) {
    const double rows = s.batch * s.heads_q * s.nq * s.d * q_width;
    return counted(engine, s.flops(), 2 * s.batch * s.heads_kv * s.nk * s.d * kv_width + rows,
                   rows);
}

// One latent of L + R columns a token; Q of L + R and O of L columns a head.
Counts mla(double kv_width, double q_width) {
    const double h = 128, nk = 8192, latent = 512, rope = 64;
    return counted("flop.mma.fp16", 2 * h * nk * (2 * latent + rope),
                   kv_width * nk * (latent + rope) + q_width * h * (latent + rope),
                   q_width * h * latent);
}

struct Expected {
    const char* what;
    const Device* device;
    Counts counts;
    double intensity;
    int intensity_digits;
    double ridge;
    int ridge_digits;
    const char* limiter;
    double time;
    int time_digits;
    double unit;
};

// Agrees with a published figure if it rounds to it.
void expect_digits(double value, double published_value, int digits, const char* what) {
    EXPECT_NEAR(value, published_value, 0.5000001 * std::pow(10.0, -digits)) << what;
}

void expect_rows(const std::vector<Expected>& rows) {
    for (const Expected& row : rows) {
        const Roofline line = roofline(*row.device, {&row.counts, 1});
        expect_digits(line.arithmetic_intensity, row.intensity, row.intensity_digits, row.what);
        expect_digits(line.ridge, row.ridge, row.ridge_digits, row.what);
        EXPECT_EQ(line.limiter, row.limiter) << row.what;
        expect_digits(line.bound_seconds / row.unit, row.time, row.time_digits, row.what);
        EXPECT_EQ(line.arithmetic_intensity < line.ridge, line.limiter == "dram") << row.what;
    }
}

constexpr double ms = 1e-3, us = 1e-6;
constexpr const char* fma = "flop.fma.fp32";
constexpr const char* tensor = "flop.mma.fp16";

TEST(PublishedIntensity, NaiveFp32OnT4) {
    const auto naive = [](double n, double d) { return materialised(n, d, 1, 1, 4); };
    expect_rows({
        {"512x64", &t4, naive(512, 64), 0.2460, 4, 25.3125, 4, "dram", 6.8190, 4, ms},
        {"2048x64", &t4, naive(2048, 64), 0.2461, 4, 25.3125, 4, "dram", 109.0650, 4, ms},
        {"8192x64", &t4, naive(8192, 64), 0.2461, 4, 25.3125, 4, "dram", 1744.883, 3, ms},
        {"512x128", &t4, naive(512, 128), 0.2479, 4, 25.3125, 4, "dram", 13.5332, 4, ms},
        {"2048x128", &t4, naive(2048, 128), 0.2480, 4, 25.3125, 4, "dram", 216.4523, 4, ms},
        {"8192x128", &t4, naive(8192, 128), 0.2481, 4, 25.3125, 4, "dram", 3462.922, 3, ms},
    });
}

TEST(PublishedIntensity, TiledFp32OnT4) {
    const auto d64 = [](double n) { return materialised(n, 64, 64, 64, 4); };
    const auto d128 = [](double n) { return materialised(n, 128, 32, 32, 4); };
    expect_rows({
        {"512x64", &t4, d64(512), 7.8769, 4, 25.3125, 4, "dram", 0.21299, 5, ms},
        {"2048x64", &t4, d64(2048), 7.9689, 4, 25.3125, 4, "dram", 3.36855, 5, ms},
        {"8192x64", &t4, d64(8192), 7.9922, 4, 25.3125, 4, "dram", 53.7395, 4, ms},
        {"512x128", &t4, d128(512), 6.3210, 4, 25.3125, 4, "dram", 0.53084, 5, ms},
        {"2048x128", &t4, d128(2048), 6.3801, 4, 25.3125, 4, "dram", 8.41482, 5, ms},
        {"8192x128", &t4, d128(8192), 6.3950, 4, 25.3125, 4, "dram", 134.3226, 4, ms},
    });
}

TEST(PublishedIntensity, FusedPrefillOnT4) {
    const auto fp32 = [](double n) { return fused(fma, {.nq = n, .nk = n}, 4, 4); };
    const auto fp16 = [](double n) { return fused(tensor, {.nq = n, .nk = n}, 2, 2); };
    expect_rows({
        {"fp32 512", &t4, fp32(512), 128, 9, 25.3125, 4, fma, 0.06628, 5, ms},
        {"fp32 2048", &t4, fp32(2048), 512, 9, 25.3125, 4, fma, 1.06049, 5, ms},
        {"fp32 8192", &t4, fp32(8192), 2048, 9, 25.3125, 4, fma, 16.96777, 5, ms},
        {"fp16 512", &t4, fp16(512), 256, 9, 203.125, 3, tensor, 0.008260, 6, ms},
        {"fp16 2048", &t4, fp16(2048), 1024, 9, 203.125, 3, tensor, 0.132153, 6, ms},
        {"fp16 8192", &t4, fp16(8192), 4096, 9, 203.125, 3, tensor, 2.114445, 6, ms},
    });
}

TEST(PublishedIntensity, DecodeOnT4) {
    const auto fp16 = [](double nk) { return fused(tensor, {.nk = nk}, 2, 2); };
    const Shape group8{.heads_kv = 1, .nk = 8192, .d = 128};
    expect_rows({
        {"2048", &t4, fp16(2048), 0.9995, 4, 203.125, 3, "dram", 0.013114, 6, ms},
        {"8192", &t4, fp16(8192), 0.9999, 4, 203.125, 3, "dram", 0.052435, 6, ms},
        {"16384", &t4, fp16(16384), 0.9999, 4, 203.125, 3, "dram", 0.104864, 6, ms},
        {"G8 fp16", &t4, fused(tensor, group8, 2, 2), 7.9922, 4, 203.125, 3, "dram", 13.120, 3, us},
        {"G8 fp8", &t4, fused(tensor, group8, 1, 1), 15.9844, 4, 203.125, 3, "dram", 6.560, 3, us},
    });
}

TEST(PublishedIntensity, GroupedDecodeOnA100) {
    const auto group = [](double g) { return fused(tensor, {2, 32, 32 / g, 1, 8192, 128}, 2, 2); };
    expect_rows({
        {"G1", &a100, group(1), 0.9999, 4, 153.016, 3, "dram", 0.131667, 6, ms},
        {"G2", &a100, group(2), 1.9995, 4, 153.016, 3, "dram", 0.065841, 6, ms},
        {"G4", &a100, group(4), 3.9980, 4, 153.016, 3, "dram", 0.032929, 6, ms},
        {"G8", &a100, group(8), 7.9922, 4, 153.016, 3, "dram", 0.016472, 6, ms},
        {"G16", &a100, group(16), 15.9688, 4, 153.016, 3, "dram", 0.008244, 6, ms},
        {"G32", &a100, group(32), 31.8755, 4, 153.016, 3, "dram", 0.004130, 6, ms},
    });
}

constexpr double nvfp4 = 0.5625;  // half a byte and one scale byte for 16 elements

TEST(PublishedIntensity, Nvfp4AndMlaOnB300) {
    const auto fp4 = [](double g) {
        return fused(tensor, {1, 16, 16 / g, 1, 8192, 128}, nvfp4, nvfp4);
    };
    expect_rows({
        {"NVFP4 G1", &b300, fp4(1), 3.5551, 4, 312.5, 1, "dram", 2.360, 3, us},
        {"NVFP4 G8", &b300, fp4(8), 28.4167, 4, 312.5, 1, "dram", 0.295, 3, us},
        {"NVFP4 G16", &b300, fp4(16), 56.7780, 4, 312.5, 1, "dram", 0.148, 3, us},
        {"MLA fp16", &b300, mla(2, 2), 234.8465, 4, 312.5, 1, "dram", 1.214, 3, us},
        {"MLA fp8", &b300, mla(1, 1), 469.6931, 4, 312.5, 1, tensor, 0.913, 3, us},
        {"MLA NVFP4", &b300, mla(nvfp4, nvfp4), 835.0099, 4, 312.5, 1, tensor, 0.913, 3, us},
    });
}

TEST(PublishedIntensity, With16BitQueriesAndOutput) {
    const auto intensity = [](const Counts& counts) {
        return roofline(b300, {&counts, 1}).arithmetic_intensity;
    };
    const auto fp4 = [](double g) {
        return fused(tensor, {1, 16, 16 / g, 1, 8192, 128}, nvfp4, 2);
    };
    expect_digits(intensity(fused(tensor, {1, 8, 1, 1, 8192, 128}, 1, 2)), 15.9688, 4, "fp8");
    expect_digits(intensity(fp4(1)), 3.5540, 4, "NVFP4 G1");
    expect_digits(intensity(fp4(8)), 28.3460, 4, "NVFP4 G8");
    expect_digits(intensity(fp4(16)), 56.4966, 4, "NVFP4 G16");
    expect_digits(intensity(mla(1, 2)), 456.60, 2, "MLA fp8");
    expect_digits(intensity(mla(nvfp4, 2)), 778.01, 2, "MLA NVFP4");
}

TEST(PublishedIntensity, LessonFigures) {
    const auto intensity = [](double flops, double read, double write) {
        const Counts counts = counted(tensor, flops, read, write);
        return roofline(t4, {&counts, 1}).arithmetic_intensity;
    };
    const double n = 4096;
    EXPECT_DOUBLE_EQ(intensity(n, 4 * n, 4 * n), 0.125) << "ReLU fp32";
    EXPECT_DOUBLE_EQ(intensity(n, 2 * n, 2 * n), 0.25) << "ReLU fp16";
    expect_digits(intensity(2 * n, 8 * n, 4 * n), 0.167, 3, "add + ReLU, fused");
    expect_digits(intensity(2 * n * n * n, 8 * n * n, 4 * n * n), 682.7, 1, "matmul fp32");
    const auto linear = [&](double batch) {
        return intensity(2 * batch * n * n, 2 * n * n + 2 * batch * n, 2 * batch * n);
    };
    expect_digits(linear(1), 1.0, 1, "linear layer, batch 1, fp16");
    expect_digits(linear(512), 409.6, 1, "linear layer, batch 512, fp16");
    // Adam, fp32: weight, gradient and both moments read, all but the gradient written. The lesson
    // counts the 7 flops of the moments, m += a (g - m) and v += b (g g - v).
    expect_digits(intensity(7 * n, 16 * n, 12 * n), 0.25, 2, "Adam");
}

TEST(PublishedIntensity, LessonAttentionAtLength2048) {
    const double n = 2048, d = 64;
    const auto line = [](const Counts& counts) { return roofline(t4, {&counts, 1}); };
    // Naive, fp16, by its own count: Q, K, V and O once, and three sweeps over the scores.
    const Counts naive =
        counted(tensor, 4 * n * n * d, 2 * (3 * n * d + 2 * n * n), 2 * (n * d + n * n));
    expect_digits(line(naive).arithmetic_intensity, 40.96, 2, "naive");
    EXPECT_EQ(line(naive).limiter, "dram");
    const Counts one_pass = fused(tensor, {.nq = n, .nk = n}, 2, 2);
    EXPECT_DOUBLE_EQ(line(one_pass).arithmetic_intensity, 1024);
    EXPECT_EQ(line(one_pass).limiter, tensor);
}

}  // namespace
}  // namespace raceline
