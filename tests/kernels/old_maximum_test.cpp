// SPDX-License-Identifier: Apache-2.0
// Probabilities relative to an old maximum: what the gate grants prefill_sm90 for it. The case is
// one that it refused as long as its reference had the heaviest key's probability exact.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <span>
#include <vector>

#include "registry/registry.hpp"
#include "run/gate.hpp"
#include "workload/oracle.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// One query row a head over 17,762 keys. The last block of 64 keys, which comes first, has a
// maximum 8.1 powers of two below that of all keys, and a key of a sixth of the weight is rounded
// by nearly as much as can be.
class OldMaximum : public testing::Test {
protected:
    Workload w = parse_shape("b=1,h=2/1,q=1,k=17762,d=128,dtype=bf16");
    InputOptions options;
    Inputs in = make_inputs(w, options);

    [[nodiscard]] double element(const std::vector<std::byte>& from, std::int64_t index) const {
        return load_element(from.data(), w.dtype, index);
    }
    [[nodiscard]] std::vector<double> logits(std::int64_t head) const {
        std::vector<double> all;
        for (std::int64_t key = 0; key < w.seqlen_k; ++key) {
            double sum = 0;
            for (std::int64_t c = 0; c < w.headdim; ++c) {
                sum += element(in.q, head * w.headdim + c) * element(in.k, key * w.headdim + c);
            }
            all.push_back(sum * w.scale_value() * std::log2(std::exp(1.0)));
        }
        return all;
    }
    // In float64 but for P, relative to the largest of the logits from `from` on, and the output.
    [[nodiscard]] std::vector<std::byte> outputs(std::int64_t from) const {
        std::vector<std::byte> out(2 * w.heads_q * w.headdim_v);
        for (std::int64_t head = 0; head < w.heads_q; ++head) {
            const std::vector<double> s = logits(head);
            const double base = *std::max_element(s.begin() + from, s.end());
            std::vector<double> sums(w.headdim_v, 0.0);
            double denominator = 0;
            for (std::int64_t key = 0; key < w.seqlen_k; ++key) {
                const double p = std::exp2(s[key] - base);
                denominator += p;
                for (std::int64_t c = 0; c < w.headdim_v; ++c) {
                    sums[c] += round_to(p, Rounding::bf16) * element(in.v, key * w.headdim_v + c);
                }
            }
            for (std::int64_t c = 0; c < w.headdim_v; ++c) {
                store_element(out.data(), w.dtype, head * w.headdim_v + c, sums[c] / denominator);
            }
        }
        return out;
    }
    [[nodiscard]] Correctness judged(const Precision& precision, std::int64_t from) const {
        return judge(w, in, precision, outputs(from), {}, options.seed);
    }
};

TEST_F(OldMaximum, of_the_last_block_is_within_the_bound) {
    const Precision ours = find_kernel("prefill_sm90").precision(w);
    Precision fresh = ours;
    fresh.probability_scale = 1;
    const std::int64_t last_block = w.seqlen_k / 64 * 64;
    EXPECT_TRUE(judged(ours, last_block).passed) << judged(ours, last_block).why;
    EXPECT_FALSE(judged(fresh, last_block).passed) << "no longer the case that it was";
    EXPECT_TRUE(judged(fresh, 0).passed) << "relative to the row's own maximum";
}

TEST_F(OldMaximum, grants_no_more_than_rounding) {
    Precision ours = find_kernel("prefill_sm90").precision(w);
    const double granted = judged(ours, 0).bound;
    ours.probability_scale = 1;
    EXPECT_LT(granted, 1.3 * judged(ours, 0).bound);
}

}  // namespace
}  // namespace raceline
