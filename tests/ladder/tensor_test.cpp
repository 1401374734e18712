// SPDX-License-Identifier: Apache-2.0
// That the rungs named after tensor cores run on them, read from their compiled code, and that
// counts() declares what the compiler made of them.
#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "ladder/prefill/wmma/tile.hpp"
#include "registry/registry.hpp"
#include "tests/ladder/sass.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using test::Function;
using test::Mix;

class Tensor : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        functions = test::functions_of(GetParam());
        if (functions.empty()) {
            GTEST_SKIP() << "a build without CUDA has no machine code";
        }
        ASSERT_EQ(static_cast<int>(functions.size()), 2 * kernel.tile_count());
    }
    [[nodiscard]] const Function& function(int tile, int headdim) const {
        const std::string part =
            "7forwardILi" + std::to_string(tile) + "ELi" + std::to_string(headdim) + "E";
        for (const auto& [name, f] : functions) {
            if (name.find(part) != std::string::npos) {
                return f;
            }
        }
        ADD_FAILURE() << GetParam() << " has no " << part;
        return functions.begin()->second;
    }
    [[nodiscard]] Counts counts(int tile, int headdim) const {
        const Workload w =
            parse_shape("b=1,h=2,q=256,k=256,dtype=fp16,d=" + std::to_string(headdim));
        return kernel.counts(w, tile, datasheet_device("h200")).front();
    }
    template <class Visit>
    void each(const Visit& visit) const {
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            for (const int d : {64, 128}) {
                SCOPED_TRACE(kernel.tile_text(tile) + " d " + std::to_string(d));
                visit(function(tile, d), counts(tile, d), d);
            }
        }
    }

    const Kernel& kernel = find_kernel(GetParam());
    std::map<std::string, Function> functions;
};
INSTANTIATE_TEST_SUITE_P(Rungs, Tensor, testing::Values("wmma", "tensor_cores", "wide_vectors"));

TEST_P(Tensor, every_product_is_a_matrix_instruction) {
    each([](const Function& f, const Counts& c, int d) {
        // Of a warp, sixteen rows × 32 keys, two products; one HMMA is 16 × 8 × 16.
        EXPECT_EQ(f.loop().matrix, 2 * 16 * 32 * d / (16 * 8 * 16));
        EXPECT_DOUBLE_EQ(c.steps.back().work.at("flop.mma.fp16"),
                         f.loop().matrix * (c.threads / 32.0) * 2 * 16 * 8 * 16);
        // What is left of FFMA belongs to exponentials, four each, and to the sum.
        EXPECT_LE(f.loop().fmas, 4 * f.loop().exponentials + 1);
        EXPECT_EQ(f.loop().exponentials, 32 / 2 + 1);
    });
}

TEST_P(Tensor, the_output_stays_in_registers) {
    each([](const Function& f, const Counts&, int) {
        EXPECT_EQ(f.report.stack_bytes, 0);
        // Accumulators that went through shared memory in the loop would be loaded and stored there
        // beside the scores (8 stores of 8 bytes), factors (4 loads) and probabilities.
        EXPECT_LE(f.loop().shared_loads.at(8), 4);
        EXPECT_EQ(Mix::total(f.loop().global_stores), 0);
    });
}

TEST_P(Tensor, counts_are_as_compiled) {
    each([](const Function& f, const Counts& c, int) {
        EXPECT_EQ(f.report.registers, c.registers);
        const int loop = f.loop().instructions;
        EXPECT_NEAR(c.steps.back().work.at("op.issue") / c.threads, loop, 0.06 * loop);
        EXPECT_GE(c.steps.back().clocks, f.loop().stalls);
        // 2 passes a store of 8 bytes, 4 of 16, 4 a load of 16 bytes or of a fragment, 2 of 8.
        const Mix& m = f.loop();
        const auto at = [](const std::map<int, int>& by, int bytes) {
            const auto found = by.find(bytes);
            return found == by.end() ? 0 : found->second;
        };
        const int passes = 4 * (m.matrix_loads + at(m.shared_loads, 16) + at(m.shared_stores, 16)) +
                           2 * (at(m.shared_loads, 8) + at(m.shared_stores, 8)) +
                           at(m.shared_stores, 2) + at(m.shared_loads, 4) + at(m.shared_stores, 4);
        EXPECT_DOUBLE_EQ(c.steps.back().work.at("byte.smem_lsu"), passes * 128.0 * c.threads / 32);
    });
}

class Scratch : public Tensor {};
INSTANTIATE_TEST_SUITE_P(Rungs, Scratch, testing::Values("tensor_cores", "wide_vectors"));

TEST_P(Scratch, keeps_one_barrier_and_sixteen_bytes_a_load) {
    each([](const Function& f, const Counts& c, int d) {
        EXPECT_EQ(f.loop().barriers, 1);
        EXPECT_EQ(f.all.barriers, 1);
        EXPECT_EQ(f.loop().global_loads.at(16), 2 * 32 * d * 2 / 16 / c.threads);
        EXPECT_EQ(Mix::total(f.all.global_loads), f.all.global_loads.at(16));
    });
}

class WideVectors : public Tensor {};
INSTANTIATE_TEST_SUITE_P(Rungs, WideVectors, testing::Values("wide_vectors"));

TEST_P(WideVectors, stores_nothing_narrow) {
    each([](const Function& f, const Counts& c, int d) {
        EXPECT_EQ(c.threads, 256);
        EXPECT_LE(f.report.registers, 65536 / 256);
        EXPECT_EQ(f.all.global_stores.at(16), d / 16);           // of 16 columns, eight a lane
        EXPECT_EQ(Mix::total(f.all.global_stores), d / 16 + 1);  // and the LSE of a row
        // Staged chunks, two of P, two of factors; accumulators are what WMMA stores by eight.
        EXPECT_EQ(f.loop().shared_stores.at(16), f.loop().global_loads.at(16) + 4);
        EXPECT_EQ(f.loop().shared_loads.at(16), 4);
    });
}

// Eight rows at a time, 16 bytes of each: what a fragment of halves is read by.
template <int width>
int fragment_passes() {
    return test::shared_passes(16, [](int lane) { return lane % 8 * width * 2 + lane / 8 * 16; });
}
// Accumulators: four rows of four pairs of floats in half a warp.
template <int width>
int accumulator_passes() {
    return test::shared_passes(8, [](int lane) { return lane / 4 * width * 4 + lane % 4 * 8; });
}
template <int width, int element>
int row_passes(int bytes) {
    return test::shared_passes(
        bytes, [&](int lane) { return lane / 2 * width * element + lane % 2 * bytes; });
}

TEST(Banks, fragments_have_no_conflicts) {
    constexpr int keys = kernels::wmma::tile_keys;
    EXPECT_EQ((fragment_passes<64 + 8>()), 4);
    EXPECT_EQ((fragment_passes<128 + 8>()), 4);
    EXPECT_EQ((fragment_passes<keys + 8>()), 4);  // P
    EXPECT_EQ((accumulator_passes<keys + 8>()), 2);
    EXPECT_EQ((accumulator_passes<16 + 8>()), 2);  // the factors
    EXPECT_EQ((row_passes<keys + 8, 4>(16)), 4);
    EXPECT_EQ((row_passes<16 + 8, 4>(16)), 4);
    EXPECT_EQ((row_passes<keys + 8, 2>(8)), 2);
    EXPECT_GT((fragment_passes<64>()), 4) << "without padding there are some";
    // wide_vectors: a lane a row, every other four rows in the other order.
    const auto swapped = [](int width) {
        return test::shared_passes(16, [&](int lane) {
            return (lane % 16 * width + lane / 16 * 8 + lane / 4 % 2 * 4) * 4;
        });
    };
    EXPECT_EQ(swapped(keys + 8), 4);
    EXPECT_EQ(swapped(16 + 8), 4);
    EXPECT_EQ(test::shared_passes(
                  16, [](int lane) { return (lane % 16 * (keys + 8) + lane / 16 * 8) * 2; }),
              4);
}

}  // namespace
}  // namespace raceline
