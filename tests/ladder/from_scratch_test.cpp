// SPDX-License-Identifier: Apache-2.0
// That the rungs from scratch before the tensor cores implement what they name, read from their
// compiled code, and that counts() declares what the compiler made of them.
#include <cmath>
#include <gtest/gtest.h>
#include <memory>

#include "device/catalog.hpp"
#include "ladder/from_scratch/block/tile.hpp"
#include "ladder/from_scratch/light_barriers/tile.hpp"
#include "ladder/from_scratch/minimal/tile.hpp"
#include "ladder/from_scratch/warp/tile.hpp"
#include "registry/registry.hpp"
#include "tests/ladder/sass.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using test::Function;
using test::Mix;

int of_width(const std::map<int, int>& by_width, int bytes) {
    const auto found = by_width.find(bytes);
    return found == by_width.end() ? 0 : found->second;
}

class FromScratch : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        functions = test::functions_of(GetParam());
        if (functions.empty()) {
            GTEST_SKIP() << "a build without CUDA has no machine code";
        }
    }
    // `first`: what the function's first template argument is for a tile.
    template <class Visit>
    void each(const Visit& visit) const {
        int visited = 0;
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            const bool by_threads = kernel.tile(tile)[0].first == "threads";
            const std::int64_t first = by_threads ? kernel.tile(tile)[0].second : tile;
            for (const int d : {64, 128}) {
                for (const bool half : {false, true}) {
                    const std::string part = "7forwardILi" + std::to_string(first) + "ELi" +
                                             std::to_string(d) + (half ? "E6__half" : "EfE");
                    const Workload w = parse_shape("b=1,h=2,q=256,k=256,d=" + std::to_string(d) +
                                                   (half ? ",dtype=fp16" : ",dtype=fp32"));
                    const Counts c = kernel.counts(w, tile, datasheet_device("h200")).front();
                    for (const auto& [name, f] : functions) {
                        if (name.find(part) != std::string::npos) {
                            SCOPED_TRACE(kernel.tile_text(tile) + " d " + std::to_string(d) +
                                         (half ? " fp16" : " fp32"));
                            visit(f, c, d, half, tile);
                            ++visited;
                        }
                    }
                }
            }
        }
        EXPECT_EQ(visited, 4 * kernel.tile_count());
    }
    static const Step& step(const Counts& c, const std::string& name) {
        for (const Step& s : c.steps) {
            if (s.name == name) {
                return s;
            }
        }
        ADD_FAILURE() << "no step " << name;
        return c.steps.front();
    }
    /// Instructions of a warp in one repeat of a step in which all warps work.
    static double instructions(const Counts& c, const std::string& name) {
        return step(c, name).work.at("op.issue") / c.threads;
    }
    static void expect_close(double declared, double compiled, const char* what) {
        EXPECT_NEAR(declared, compiled, 0.08 * compiled) << what;
    }

    const Kernel& kernel = find_kernel(GetParam());
    std::map<std::string, Function> functions;
};

class EveryScratchRung : public FromScratch {};
INSTANTIATE_TEST_SUITE_P(Ladder, EveryScratchRung,
                         testing::Values("minimal", "block", "warp", "light_barriers"));

TEST_P(EveryScratchRung, nothing_spills_and_registers_are_as_declared) {
    each([](const Function& f, const Counts& c, int, bool, int) {
        EXPECT_EQ(f.report.stack_bytes, 0);
        EXPECT_EQ(f.report.registers, c.registers);
        EXPECT_EQ(f.all.matrix, 0);
    });
}

class Minimal : public FromScratch {};
INSTANTIATE_TEST_SUITE_P(Ladder, Minimal, testing::Values("minimal"));

TEST_P(Minimal, is_as_plain_as_it_says) {
    each([](const Function& f, const Counts& c, int, bool half, int) {
        EXPECT_EQ(f.all.shuffles, 0);
        EXPECT_EQ(f.all.barriers, 5);
        EXPECT_EQ(of_width(f.all.global_loads, half ? 2 : 4), Mix::total(f.all.global_loads));
        EXPECT_EQ(c.ctas, 2 * 256);
    });
}

TEST_P(Minimal, loops_are_as_long_as_declared) {
    each([](const Function& f, const Counts& c, int d, bool, int) {
        std::vector<Mix> products;  // sixteen columns of a score, a key, sixteen keys of an output
        int serial = 0;
        for (const Mix& loop : f.loops) {
            if (loop.fmas == 16 && Mix::total(loop.global_loads) == 16) {
                products.push_back(loop);
            }
            if (loop.fmas == 0 && of_width(loop.shared_loads, 16) == 4) {
                ++serial;
                expect_close(step(c, "serial").work.at("op.issue") / 32 / 2, loop.instructions,
                             "serial");
            }
            if (loop.exponentials == 4) {
                expect_close(instructions(c, "exponentials") * 4 / std::ceil(256.0 / c.threads),
                             loop.instructions, "exponentials");
            }
        }
        EXPECT_EQ(serial, 2);
        ASSERT_EQ(products.size(), 3U);
        const double key = products[1].instructions - products[0].instructions;
        expect_close(instructions(c, "scores"), products[0].instructions + key * 16 / d, "scores");
        const double working = std::min(c.threads / 32.0, d / 32.0);
        expect_close(step(c, "outputs").work.at("op.issue") / 32 / working,
                     products[2].instructions, "outputs");
        EXPECT_GE(step(c, "outputs").clocks, products[2].stalls);
    });
}

class Block : public FromScratch {};
INSTANTIATE_TEST_SUITE_P(Ladder, Block, testing::Values("block"));

TEST_P(Block, roles_are_as_declared) {
    each([](const Function& f, const Counts& c, int d, bool, int) {
        const Mix& tile = f.loop();
        EXPECT_EQ(tile.shuffles, 0);
        EXPECT_EQ(tile.barriers, 5);
        EXPECT_EQ(Mix::total(tile.global_loads), d / 2);  // K and V, an element a load
        EXPECT_EQ(of_width(tile.global_loads, 16), 0);
        double inner = 0;
        bool scores = false, outputs = false;
        for (const Mix& loop : f.loops) {
            if (loop.instructions == tile.instructions || loop.barriers > 0) {
                continue;
            }
            const bool in_tile =
                loop.shared_loads.contains(4) && Mix::total(loop.global_loads) == 0;
            inner += in_tile ? loop.instructions : 0;
            if (loop.fmas == d && of_width(loop.shared_loads, 4) == d) {
                scores = true;
                expect_close(instructions(c, "scores"), loop.instructions, "scores");
                EXPECT_GE(step(c, "scores").clocks, loop.stalls);
                // K by an element a lane, Q by sixteen bytes that are the same for all, the score.
                EXPECT_DOUBLE_EQ(step(c, "scores").work.at("byte.smem_lsu") / 128 / 4,
                                 d + 2.0 * of_width(loop.shared_loads, 16) + 1);
            } else if (of_width(loop.shared_loads, 4) > loop.fmas && loop.exponentials == 0) {
                outputs = true;
                expect_close(instructions(c, "outputs"), loop.instructions, "outputs");
                EXPECT_GE(step(c, "outputs").clocks, loop.stalls);
            }
        }
        EXPECT_TRUE(scores && outputs);
        const double serial = 2 * step(c, "maximum").work.at("op.issue") / 32;
        const bool unrolled = step(c, "exponentials").repeat / c.steps[0].repeat <= 4;
        const double exponentials = unrolled ? 4 * instructions(c, "exponentials") : 0;
        expect_close(instructions(c, "stage") + serial + exponentials, tile.instructions - inner,
                     "the rest of a tile");
    });
}

class Warp : public FromScratch {};
INSTANTIATE_TEST_SUITE_P(Ladder, Warp, testing::Values("warp", "light_barriers"));

TEST_P(Warp, reduces_by_shuffles_and_loads_sixteen_bytes) {
    each([&](const Function& f, const Counts& c, int d, bool half, int tile) {
        const Mix& loop = f.loop();
        const auto& fields = kernel.tile(tile);
        const auto rows = static_cast<int>(fields[0].second);
        const bool wide = fields.size() == 1 || fields[1].second != 0;
        EXPECT_EQ(loop.shuffles, 10 * rows / 4);
        const int bytes = 2 * 32 * d * (half ? 2 : 4) / 128;  // of K and V a thread
        EXPECT_EQ(of_width(loop.global_loads, 16), wide ? bytes / 16 : 0);
        EXPECT_EQ(Mix::total(loop.global_loads), wide ? bytes / 16 : bytes / (half ? 2 : 4));
        EXPECT_EQ(of_width(loop.shared_loads, 4) + of_width(loop.shared_loads, 8),
                  std::string(GetParam()) == "warp" ? rows * d / 4 / 128 : 0);  // factors
        EXPECT_GE(of_width(loop.shared_loads, 16), rows / 4 * d / 2);
        EXPECT_EQ(c.threads, 128);
    });
}

TEST_P(Warp, roles_are_as_declared) {
    each([](const Function& f, const Counts& c, int, bool, int) {
        const Mix& tile = f.loop();
        double inner = 0;
        for (const Mix& loop : f.loops) {
            if (loop.instructions < tile.instructions && loop.fmas >= 64) {
                inner = loop.instructions;
                expect_close(instructions(c, "outputs"), loop.instructions, "outputs");
                EXPECT_GE(step(c, "outputs").clocks, loop.stalls);
            }
        }
        EXPECT_GT(inner, 0);
        const double own = step(c, "softmax").repeat / c.steps[0].repeat;
        expect_close(instructions(c, "stage") + own * instructions(c, "softmax"),
                     tile.instructions - inner, "staging and softmax");
        EXPECT_GE(step(c, "stage").clocks + own * step(c, "softmax").clocks,
                  0.85 * (tile.stalls - inner));
    });
}

// How many barriers a tile has is what the fourth rung is about.
TEST(Barriers, are_counted) {
    const std::map<std::string, int> of_a_tile{{"block", 5}, {"warp", 3}, {"light_barriers", 1}};
    for (const auto& [rung, barriers] : of_a_tile) {
        for (const auto& [name, f] : test::functions_of(rung)) {
            EXPECT_EQ(f.loop().barriers, barriers) << name;
        }
    }
}

TEST(Banks, from_scratch) {
    namespace k = kernels;
    const auto passes = [](const auto& shared, int bytes, const auto& element) {
        return test::shared_passes(bytes, [&](int lane) {
            return reinterpret_cast<const char*>(&element(lane)) -
                   reinterpret_cast<const char*>(&shared);
        });
    };
    const auto block = std::make_unique<k::block::Shared<32, 128>>();
    EXPECT_EQ(passes(*block, 4, [&](int l) -> auto& { return block->k[l][77]; }), 1);
    EXPECT_EQ(passes(*block, 4, [&](int l) -> auto& { return block->s[l][5]; }), 1);
    EXPECT_EQ(passes(*block, 4, [&](int l) -> auto& { return block->v[5][32 + l]; }), 1);
    const auto warp = std::make_unique<k::warp::Shared<32, 64>>();
    EXPECT_EQ(passes(*warp, 16, [&](int l) -> auto& { return warp->k[l][8]; }), 4);
    EXPECT_EQ(passes(*warp, 16, [&](int l) -> auto& { return warp->v[3][l % 16 * 4]; }), 4);
    EXPECT_EQ(passes(*warp, 16, [&](int l) -> auto& { return warp->p[l / 16][4]; }), 2);
    // Eight halves become eight floats: this one takes twice as long, and is counted so.
    EXPECT_EQ(passes(*warp, 16, [&](int l) -> auto& { return warp->k[l / 8][l % 8 * 8]; }), 8);
    const auto light = std::make_unique<k::light_barriers::Shared<32, 128>>();
    EXPECT_EQ(passes(*light, 16, [&](int l) -> auto& { return light->k[1][l][8]; }), 4);
    EXPECT_EQ(passes(*light, 16, [&](int l) -> auto& { return light->v[1][3][l * 4]; }), 4);
}

}  // namespace
}  // namespace raceline
