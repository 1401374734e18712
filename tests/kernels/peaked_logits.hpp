// SPDX-License-Identifier: Apache-2.0
// Inputs whose softmax has few heavy keys, as those of trained models do, and what a softmax that
// knows each row's maximum makes of them. Kernels take probabilities relative to older maxima,
// where heavy keys are rounded like any other: with normal logits that costs a few per cent of
// accuracy, here it would cost a quarter.
#pragma once

#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include "registry/registry.hpp"
#include "run/gate.hpp"
#include "workload/inputs.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::test {

/// Logits of a standard deviation of 4: queries times 4, by their exponents; what is tiny stays.
/// 16-bit types.
inline Inputs peaked_inputs(const Workload& w, std::uint64_t seed) {
    Inputs in = make_inputs(w, {.seed = seed, .draw = Draw::plain});
    const int bits = w.dtype == DType::fp16 ? 10 : 7;
    auto* q = reinterpret_cast<std::uint16_t*>(in.q.data());
    for (std::size_t i = 0; i < in.q.size() / 2; ++i) {
        if ((q[i] & 0x7fff) >> bits > 8) {
            q[i] = static_cast<std::uint16_t>(q[i] + (2 << bits));
        }
    }
    return in;
}

/// The relative RMS error, as a verdict has it, of outputs that are rounded as `precision` says,
/// with every row's heaviest key exact.
inline double error_beside_the_maximum(const Workload& w, const Inputs& in, Precision precision,
                                       std::uint64_t seed) {
    precision.probability_scale = 1;
    GateAnswers answers(w, in, seed);
    const std::vector<OracleRow>& exact = answers.exact();
    const std::vector<OracleRow>& rounded = answers.rounded(precision).front();
    double squares = 0;
    double all = 0;
    for (std::size_t row = 0; row < exact.size(); ++row) {
        for (std::size_t i = 0; i < exact[row].out.size(); ++i) {
            const double off = rounded[row].out[i] - exact[row].out[i];
            squares += off * off;
            all += exact[row].out[i] * exact[row].out[i];
        }
    }
    return std::sqrt(squares / all);
}

/// Every tile of the kernel that serves `shape` on `device` is at most `most` times as far off as
/// outputs whose heaviest keys are exact. `run(w, tile, in)` gives the gate's verdict on it.
template <class Run>
void expect_nearly_as_exact_as_beside_the_maximum(const Kernel& kernel, const char* shape,
                                                  const Device& device, double most,
                                                  const Run& run) {
    constexpr std::uint64_t seed = 7;
    const Workload w = parse_shape(shape);
    const Inputs in = peaked_inputs(w, seed);
    const double best = error_beside_the_maximum(w, in, kernel.precision(w), seed);
    int ran = 0;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (kernel.why_not(w, tile, device).empty()) {
            const Correctness c = run(w, tile, in);
            EXPECT_TRUE(c.passed) << kernel.tile_text(tile) << ": " << c.why;
            EXPECT_LT(c.relative_rms, most * best) << kernel.tile_text(tile);
            EXPECT_GT(c.relative_rms, 0.9 * best) << kernel.tile_text(tile);
            ++ran;
        }
    }
    EXPECT_GT(ran, 0) << shape;
}

}  // namespace raceline::test
