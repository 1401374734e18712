// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <omp.h>

#include "probe/bf16_tiles.hpp"
#include "probe/dot_bf16.hpp"
#include "probe/steps.hpp"
#include "support/bf16_tiles.hpp"
#include "support/check.hpp"
#include "support/statistics.hpp"
#include "support/text_table.hpp"
#include "timing/measurement.hpp"

namespace raceline::probe {
namespace {

// What the widest server cores can start in a cycle, and so what no probe may exceed: two vector
// FMAs at 256 and 512 bits (Intel since Haswell, AMD since Zen), four at 128 bits on Arm
// (Neoverse V1, V2). A core with fewer only leaves its limit unreached.
double fma_ports(const VectorLoops& loops) {
#if defined(__aarch64__)
    return loops.vector_bytes <= 16 ? 4 : 2;
#else
    static_cast<void>(loops);
    return 2;
#endif
}

// Adds and maxima go to four pipes on Zen 3 to 5 and on Arm, to three on Intel.
constexpr double plain_ports = 4;

double lanes(const VectorLoops& loops) {
    return loops.vector_bytes / 4.0;
}

Pass best_arithmetic(const Setting& setting, int threads,
                     std::initializer_list<VectorLoops::Arithmetic> variants) {
    Pass best;
    for (const auto loop : variants) {
        best = better(best, best_pass(threads, setting.effort,
                                      [loop](int, std::uint64_t rounds) { return loop(rounds); }));
    }
    return best;
}

void probe_fma(const Setting& setting, std::vector<Ceiling>& out) {
    for (std::size_t index = 0; index < setting.sets.size(); ++index) {
        const VectorLoops& loops = setting.sets[index];
        const double per_clock = lanes(loops) * 2 * fma_ports(loops);
        const auto pass = best_arithmetic(setting, setting.threads, {loops.fma_12, loops.fma_20});
        const auto id = index == 0 ? std::string("flop.fma.fp32")
                                   : fmt::format("flop.fma.fp32@{}", loops.target);
        out.push_back({id, pass.rate, "flop/s", pass.clock_hz, 0,
                       fmt::format("fp32 multiply-add on {}, 12 and 20 independent chains, {} "
                                   "threads, best repetition",
                                   loops.target, setting.threads),
                       per_clock * pass.summed_clock_hz});
        if (index == 0) {
            const auto alone = best_arithmetic(setting, 1, {loops.fma_12, loops.fma_20});
            out.push_back({id + ".unit", alone.rate, "flop/s", alone.clock_hz, 0,
                           fmt::format("as {}, one thread, the others idle", id),
                           per_clock * alone.summed_clock_hz});
        }
    }
}

void probe_dot(const Setting& setting, std::vector<Ceiling>& out) {
    const auto pass = best_arithmetic(setting, setting.threads, {dot_bf16});
    out.push_back({"flop.dot.bf16", pass.rate, "flop/s", pass.clock_hz, 0,
                   fmt::format("VDPBF16PS on 512 bits, 20 independent chains, {}, best repetition",
                               counted_text(setting.threads, "thread")),
                   2.0 * dot_bf16_flops_per_instruction * pass.summed_clock_hz});
}

void probe_tiles(const Setting& setting, std::vector<Ceiling>& out) {
    const auto pass = best_arithmetic(setting, setting.threads, {bf16_tiles});
    out.push_back({"flop.amx.bf16", pass.rate, "flop/s", pass.clock_hz, 0,
                   fmt::format("TDPBF16PS on tiles of 16 x 32 and 32 x 16, four independent sums, "
                               "{}, best repetition",
                               counted_text(setting.threads, "thread")),
                   bf16_tile_flops / bf16_tile_rows * pass.summed_clock_hz});
}

constexpr std::size_t exp_count = 2 * exp_grain;  // 4 KiB in, 4 KiB out: in any L1

struct ExpOperands {
    alignas(256) std::array<float, exp_count> from;
    alignas(256) std::array<float, exp_count> to;
    ExpOperands() {
        for (std::size_t i = 0; i < exp_count; ++i) {
            from[i] = -0.0123F * static_cast<float>(i);
        }
    }
};

// A wrong exponential can be fast: the loop's answers are looked at before its time counts.
void check_exp2(VectorLoops::Exp2 loop) {
    ExpOperands operands;
    loop(operands.to.data(), operands.from.data(), exp_count, 1);
    for (std::size_t i = 0; i < exp_count; ++i) {
        const double want = std::exp2(static_cast<double>(operands.from[i]));
        require(std::abs(operands.to[i] / want - 1) < 3e-7, Status::internal,
                "the exponential's probe computed 2^{} = {} instead of {}", operands.from[i],
                operands.to[i], want);
    }
}

void probe_exp(const Setting& setting, std::vector<Ceiling>& out) {
    Pass best;
    for (const auto loop : {setting.best.exp2_by_4, setting.best.exp2_by_8}) {
        check_exp2(loop);
        best = better(best,
                      best_pass(setting.threads, setting.effort, [loop](int, std::uint64_t rounds) {
                          ExpOperands operands;
                          loop(operands.to.data(), operands.from.data(), exp_count, rounds);
                          return static_cast<double>(exp_count * rounds);
                      }));
    }
    out.push_back({"op.exp", best.rate, "op/s", best.clock_hz, 0,
                   fmt::format("2^x in fp32 on {}: rounding by magic number, polynomial of degree "
                               "5, exponent by shift and add; operands and results in L1, {}, "
                               "best repetition",
                               setting.best.target, counted_text(setting.threads, "thread")),
                   0});
}

void probe_simd(const Setting& setting, std::vector<Ceiling>& out) {
    const auto pass = best_arithmetic(setting, setting.threads, {setting.best.simd_mix});
    out.push_back({"op.simd", pass.rate, "op/s", pass.clock_hz, 0,
                   fmt::format("fp32 lanes of maxima and sums in equal parts on {}, 13 independent "
                               "chains, {}, best repetition",
                               setting.best.target, counted_text(setting.threads, "thread")),
                   lanes(setting.best) * plain_ports * pass.summed_clock_hz});
}

// An empty region is entered as often as a median needs; a first batch starts the threads.
void probe_parallel_region(const Setting& setting, std::vector<Ceiling>& out) {
    const int samples = setting.effort.repetitions >= 9 ? 2001 : 201;
    std::vector<double> seconds;
    for (int sample = -100; sample < samples; ++sample) {
        const double begin = monotonic_seconds();
#pragma omp parallel num_threads(setting.threads)
        {
            // Not even an empty region may be optimised away.
            asm volatile("" ::: "memory");
        }
        const double elapsed = monotonic_seconds() - begin;
        if (sample >= 0) {
            seconds.push_back(elapsed);
        }
    }
    out.push_back({"floor.parallel_region", median(seconds), "s", cpu_clock_hz(), 0,
                   fmt::format("empty OpenMP region of {} entered back to back, median of "
                               "{}",
                               counted_text(setting.threads, "thread"), samples),
                   0});
}

}  // namespace

void append_arithmetic_steps(const Setting& setting, std::vector<Step>& steps) {
    steps.push_back({"multiply-add", probe_fma});
    if (setting.device.has_bf16_dot && has_dot_bf16()) {
        steps.push_back({"bf16 dot product", probe_dot});
    }
    if (setting.device.has_bf16_tiles) {
        steps.push_back({"bf16 tiles", probe_tiles});
    }
    steps.push_back({"exponential", probe_exp});
    steps.push_back({"vector operations", probe_simd});
    steps.push_back({"parallel region", probe_parallel_region});
}

}  // namespace raceline::probe
