// SPDX-License-Identifier: Apache-2.0
// That the CUDA-core rungs of the prefill ladder implement what they name, read from their compiled
// code, and that counts() declares what the compiler made of them.
#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "ladder/prefill/rows.hpp"
#include "registry/registry.hpp"
#include "tests/ladder/sass.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using test::Function;
using test::Mix;

struct Variant {
    int tile, rows, headdim;
    bool half;
    [[nodiscard]] Workload workload() const {
        return parse_shape("b=1,h=2,q=256,k=256,d=" + std::to_string(headdim) +
                           (half ? ",dtype=fp16" : ",dtype=fp32"));
    }
    /// Of a staged tile of 32 rows: elements a thread.
    [[nodiscard]] int items() const { return headdim / rows; }
};

class Code : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        functions = test::functions_of(GetParam());
        if (functions.empty()) {
            GTEST_SKIP() << "a build without CUDA has no machine code";
        }
    }
    [[nodiscard]] static std::vector<Variant> variants() {
        std::vector<Variant> all;
        for (int tile = 0; tile < 3; ++tile) {
            for (const int d : {64, 128}) {
                all.push_back({tile, 8 << tile, d, false});
                all.push_back({tile, 8 << tile, d, true});
            }
        }
        return all;
    }
    /// Of the launch with this name.
    [[nodiscard]] const Function& function(const std::string& launch, const Variant& v) const {
        std::string part =
            std::to_string(launch.size()) + launch + "ILi" + std::to_string(v.tile) + "E";
        part += launch == "softmax"
                    ? "E"
                    : "Li" + std::to_string(v.headdim) + (v.half ? "E6__half" : "EfE");
        for (const auto& [name, f] : functions) {
            if (name.find(part) != std::string::npos) {
                return f;
            }
        }
        ADD_FAILURE() << GetParam() << " has no " << part;
        return functions.begin()->second;
    }
    [[nodiscard]] std::vector<Counts> counts(const Variant& v) const {
        return find_kernel(GetParam()).counts(v.workload(), v.tile, datasheet_device("h200"));
    }
    static const Step& step(const Counts& c, const std::string& name) {
        for (const Step& s : c.steps) {
            if (s.name == name) {
                return s;
            }
        }
        ADD_FAILURE() << c.launch << " has no step " << name;
        return c.steps.front();
    }
    static double instructions(const Counts& c, const std::string& name) {
        return step(c, name).work.at("op.issue") / c.threads;
    }

    std::map<std::string, Function> functions;
};

class EveryRung : public Code {};
INSTANTIATE_TEST_SUITE_P(Prefill, EveryRung, testing::Values("tiled", "online", "fused"));

TEST_P(EveryRung, nothing_spills_and_registers_are_as_declared) {
    for (const Variant& v : variants()) {
        for (const Counts& c : counts(v)) {
            const Function& f = function(c.launch, v);
            EXPECT_EQ(f.report.stack_bytes, 0) << c.launch << " rows " << v.rows;
            EXPECT_EQ(f.report.registers, c.registers)
                << c.launch << " rows " << v.rows << " d " << v.headdim << " half " << v.half;
        }
    }
}

TEST_P(EveryRung, no_matrix_instruction_yet) {
    for (const auto& [name, f] : functions) {
        EXPECT_EQ(f.all.matrix + f.all.warp_group_mma, 0) << name;
    }
}

TEST_P(EveryRung, no_step_is_shorter_than_declared) {
    for (const Variant& v : variants()) {
        for (const Counts& c : counts(v)) {
            if (c.launch == "softmax" || c.launch == "scores") {
                continue;  // read below
            }
            const Function& f = function(c.launch, v);
            const std::string what =
                c.launch + " rows " + std::to_string(v.rows) + " d " + std::to_string(v.headdim);
            const int loop = f.loop().instructions;
            EXPECT_NEAR(instructions(c, "tiles"), loop, 0.08 * loop) << what;
            EXPECT_GE(step(c, "tiles").clocks, 0.85 * f.loop().stalls) << what;
            const int rest = f.all.instructions - loop;
            const std::string once =
                c.launch == "outputs" && c.steps.size() == 2 && c.steps[1].name == "rest" ? "rest"
                                                                                          : "setup";
            EXPECT_NEAR(instructions(c, once), rest, 0.15 * rest) << what;
        }
    }
}

class Tiled : public Code {};
INSTANTIATE_TEST_SUITE_P(Prefill, Tiled, testing::Values("tiled"));

TEST_P(Tiled, every_product_reads_shared_memory) {
    for (const Variant& v : variants()) {
        const Function& scores = function("scores", v);
        // Four columns of Q and K a load; operands are loaded once each, by all threads together.
        EXPECT_EQ(scores.all.shared_loads.at(16), v.headdim / 4 * 2);
        EXPECT_GE(scores.all.fmas, v.headdim);
        EXPECT_EQ(Mix::total(scores.all.global_loads), v.headdim / 32 + v.items());
        EXPECT_EQ(scores.all.barriers, 1);
        EXPECT_EQ(Mix::total(scores.all.global_stores), 1);  // one score a lane

        const Mix& loop = function("outputs", v).loop();
        EXPECT_EQ(loop.shared_loads.at(4), v.headdim);  // 32 keys × columns of a lane
        EXPECT_EQ(loop.shared_loads.at(16), 8);         // of P
        EXPECT_EQ(loop.fmas, v.headdim);
        EXPECT_EQ(Mix::total(loop.global_loads), v.items() + 1);  // V, and S from memory
        EXPECT_EQ(loop.barriers, 2);
        EXPECT_EQ(Mix::total(loop.global_stores), 0);
    }
}

TEST_P(Tiled, scores_are_as_long_as_declared) {
    for (const Variant& v : variants()) {
        const Counts c = counts(v).front();
        const Mix& all = function("scores", v).all;
        EXPECT_NEAR(instructions(c, "tile"), all.instructions, 0.06 * all.instructions) << v.rows;
        EXPECT_GE(c.steps[0].clocks, 0.9 * all.stalls);
    }
}

class Online : public Code {};
INSTANTIATE_TEST_SUITE_P(Prefill, Online, testing::Values("online"));

TEST_P(Online, stores_no_score) {
    for (const Variant& v : variants()) {
        for (const char* launch : {"totals", "outputs"}) {
            const Mix& loop = function(launch, v).loop();
            EXPECT_EQ(Mix::total(loop.global_stores), 0) << launch;
            EXPECT_EQ(Mix::total(loop.global_loads),
                      v.items() * (std::string(launch) == "totals" ? 1 : 2));
            EXPECT_EQ(loop.shared_loads.at(16), v.headdim / 2 + (launch[0] == 't' ? 0 : 8));
            EXPECT_EQ(loop.barriers, 2);
        }
        // Two floats a row.
        const Workload w = v.workload();
        EXPECT_EQ(find_kernel("online").workspace(w, v.tile, datasheet_device("h200")),
                  static_cast<std::size_t>(w.heads_q * w.seqlen_q * 8));
    }
}

// Passes through shared memory of a warp and tile: what the machine code reads and writes, K by
// sixteen different bytes a lane, Q and P by the same sixteen bytes for all.
double passes(const Mix& loop, int headdim) {
    const int keys = headdim / 4;
    return Mix::total(loop.shared_stores) + loop.shared_loads.at(4) + 4.0 * keys +
           2.0 * (loop.shared_loads.at(16) - keys);
}
double declared_passes(const Counts& c) {
    for (const Step& step : c.steps) {
        if (step.name == "tiles") {
            return step.work.at("byte.smem_lsu") / 128 / (c.threads / 32.0);
        }
    }
    return 0;
}

TEST_P(Online, passes_through_shared_memory_are_as_compiled) {
    for (const Variant& v : variants()) {
        EXPECT_DOUBLE_EQ(declared_passes(counts(v).at(1)),
                         passes(function("outputs", v).loop(), v.headdim));
        Mix totals = function("totals", v).loop();
        totals.shared_loads[4] = 0;
        EXPECT_DOUBLE_EQ(declared_passes(counts(v).at(0)), passes(totals, v.headdim));
    }
}

class Fused : public Code {};
INSTANTIATE_TEST_SUITE_P(Prefill, Fused, testing::Values("fused"));

TEST_P(Fused, one_launch_keeps_its_output_in_registers) {
    for (const Variant& v : variants()) {
        EXPECT_EQ(counts(v).size(), 1U);
        const Mix& loop = function("forward", v).loop();
        EXPECT_EQ(Mix::total(loop.global_stores), 0);
        EXPECT_EQ(Mix::total(loop.global_loads), 2 * v.items());
        // Both products in one loop; nothing of O passes through shared memory: the stores are the
        // staged elements and the row of P.
        EXPECT_GE(loop.fmas, 2 * v.headdim);
        EXPECT_EQ(loop.shared_loads.at(16), v.headdim / 2 + 8);
        EXPECT_EQ(loop.shared_loads.at(4), v.headdim);
        EXPECT_EQ(Mix::total(loop.shared_stores), 2 * v.items() + 1);
        EXPECT_EQ(loop.barriers, 2);
        EXPECT_EQ(loop.shuffles, 5);  // one maximum for 32 keys
        EXPECT_DOUBLE_EQ(declared_passes(counts(v).front()), passes(loop, v.headdim));
        EXPECT_EQ(find_kernel("fused").workspace(v.workload(), v.tile, datasheet_device("h200")),
                  0U);
    }
}

// What a warp asks of shared memory at once, by the layout that the kernels use. All but the first
// pattern are the same in the three rungs.
template <class Shared>
void expect_no_conflicts(const Shared& shared) {
    const auto offset = [&](const auto& element) {
        return reinterpret_cast<const char*>(&element) - reinterpret_cast<const char*>(&shared);
    };
    if constexpr (requires { shared.k; }) {
        for (int d = 0; d < 64; d += 4) {
            EXPECT_EQ(test::shared_passes(16, [&](int lane) { return offset(shared.k[lane][d]); }),
                      4);
        }
        // Staging: neighbouring lanes store neighbouring columns.
        EXPECT_EQ(test::shared_passes(4, [&](int lane) { return offset(shared.k[3][32 + lane]); }),
                  1);
    }
    if constexpr (requires { shared.v; }) {
        EXPECT_EQ(test::shared_passes(4, [&](int lane) { return offset(shared.v[5][lane]); }), 1);
        EXPECT_EQ(test::shared_passes(4, [&](int lane) { return offset(shared.p[2][lane]); }), 1);
    }
}

TEST(Banks, tiles_have_no_conflicts) {
    namespace p = kernels::prefill;
    expect_no_conflicts(p::ScoresShared<8, 64>{});
    expect_no_conflicts(p::ScoresShared<32, 128>{});
    expect_no_conflicts(p::ValuesShared<8, 64>{});
    expect_no_conflicts(p::ValuesShared<32, 128>{});
    expect_no_conflicts(p::BothShared<8, 64>{});
    expect_no_conflicts(p::BothShared<16, 128>{});
    expect_no_conflicts(p::BothShared<32, 128>{});
}

TEST(Banks, a_tile_without_padding_would_have_them) {
    const int unpadded = test::shared_passes(16, [](int lane) { return lane * 64 * 4; });
    EXPECT_EQ(unpadded, 32);  // the fault that two published rungs carried unseen
    EXPECT_EQ(test::shared_passes(4, [](int lane) { return lane * 64 * 4; }), 32);
    EXPECT_EQ(test::shared_passes(4, [](int) { return 64; }), 1);  // a broadcast
    EXPECT_EQ(test::shared_passes(16, [](int) { return 64; }), 2);
    EXPECT_EQ(test::shared_passes(16, [](int lane) { return lane / 8 * 1040; }), 2);
    EXPECT_EQ(test::shared_passes(16, [](int lane) { return lane % 8 * 16; }), 4);
}

}  // namespace
}  // namespace raceline
