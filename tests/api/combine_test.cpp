// SPDX-License-Identifier: Apache-2.0
// The public call `combine`: against float64 and against one call over all keys, with any strides,
// and every call that is refused.
#include <cmath>
#include <cstring>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "api/engine_choice.hpp"
#include "raceline/raceline.h"
#include "tests/api/c_view.hpp"
#include "workload/inputs.hpp"

namespace raceline {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Parts with room between heads and rows, LSEs as (rows, heads, parts), so that nothing is
// contiguous but head dims.
class Combine : public testing::TestWithParam<std::pair<DType, DType>> {
protected:
    static constexpr std::int64_t parts = 5, rows = 7, heads = 3, d = 20, gap = 4;
    static constexpr std::int64_t pitch = d + gap;

    Combine() {
        std::mt19937 random(5);
        std::normal_distribution<double> normal;
        const auto bytes = [](DType type) { return type == DType::fp32 ? 4U : 2U; };
        out_parts.resize(parts * rows * heads * pitch * bytes(from));
        for (std::size_t i = 0; i < out_parts.size() / bytes(from); ++i) {
            store_element(out_parts.data(), from, i, normal(random));
        }
        for (std::int64_t i = 0; i < parts * rows * heads; ++i) {
            lse_parts.push_back(static_cast<float>(2 * normal(random)));
        }
        out.assign(rows * heads * pitch * bytes(to), untouched);
        lse.assign(rows * heads, -777);
        args.out_parts = {out_parts.data(),
                          from,
                          {parts, rows, heads, d},
                          {rows * heads * pitch, heads * pitch, pitch, 1}};
        args.lse_parts = {
            lse_parts.data(), DType::fp32, {parts, rows, heads}, {1, heads * parts, parts}};
        args.out = {out.data(), to, {rows, heads, d}, {heads * pitch, pitch, 1}};
        args.lse = {lse.data(), DType::fp32, {rows, heads}, {heads, 1}};
    }
    float& lse_of(std::int64_t part, std::int64_t row, std::int64_t head) {
        return lse_parts[static_cast<std::size_t>((row * heads + head) * parts + part)];
    }
    double part_at(std::int64_t part, std::int64_t row, std::int64_t head, std::int64_t c) const {
        const auto at = ((part * rows + row) * heads + head) * pitch + c;
        return load_element(out_parts.data(), from, static_cast<std::size_t>(at));
    }
    double out_at(std::int64_t row, std::int64_t head, std::int64_t c) const {
        return load_element(out.data(), to,
                            static_cast<std::size_t>((row * heads + head) * pitch + c));
    }
    // By the definition, in float64. Columns d and following must be as they were.
    void expect_right(const std::vector<float>& sinks = {}) {
        const double allowed = to == DType::bf16 ? 8e-3 : to == DType::fp16 ? 1e-3 : 2e-6;
        for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t head = 0; head < heads; ++head) {
                double sum = sinks.empty() ? 0 : std::exp(double{sinks[head]});
                for (std::int64_t part = 0; part < parts; ++part) {
                    sum += std::exp(double{lse_of(part, row, head)});
                }
                const float got = lse[static_cast<std::size_t>(row * heads + head)];
                if (sum == 0) {
                    EXPECT_EQ(got, -infinity);
                } else {
                    EXPECT_NEAR(got, std::log(sum), 2e-6 * (1 + std::abs(std::log(sum))));
                }
                for (std::int64_t c = 0; c < d; ++c) {
                    double mean = 0;
                    for (std::int64_t part = 0; part < parts; ++part) {
                        const double weight = std::exp(double{lse_of(part, row, head)});
                        mean += weight == 0 ? 0 : weight / sum * part_at(part, row, head, c);
                    }
                    EXPECT_NEAR(out_at(row, head, c), mean, allowed * (1 + std::abs(mean)))
                        << row << ' ' << head << ' ' << c;
                }
            }
        }
        const std::size_t width = out.size() / (rows * heads * pitch);
        for (std::int64_t i = 0; i < rows * heads; ++i) {
            const std::byte* behind = out.data() + (i * pitch + d) * width;
            EXPECT_TRUE(std::all_of(behind, behind + gap * width,
                                    [](std::byte b) { return b == untouched; }));
        }
    }

    static constexpr std::byte untouched{0x5A};
    DType from = GetParam().first, to = GetParam().second;
    std::vector<std::byte> out_parts, out;
    std::vector<float> lse_parts, lse;
    CombineArgs args;
};

TEST_P(Combine, is_the_weighted_mean_of_its_parts) {
    combine(args, {});
    expect_right();
}

// Sizes are rounded before the model is asked, but not beyond what a kernel counts.
TEST(CombineChoice, is_made_up_to_the_largest_call) {
    CombineCall call;
    call.parts = 2;
    call.headdim = 1;
    for (const std::int64_t heads : {1, 3, 1 << 20}) {
        call.heads = heads;
        call.rows = std::numeric_limits<std::int32_t>::max() / heads;
        EXPECT_EQ(api::remembered_combine(call, Place::cpu, 1).kernel->name, "combine_cpu")
            << heads;
    }
}

TEST_P(Combine, counts_no_part_that_has_seen_no_key) {
    for (std::int64_t part = 0; part < parts; ++part) {
        lse_of(part, 2, 1) = -infinity;
        if (part != 3) {
            lse_of(part, 4, 2) = -infinity;
        }
        for (std::int64_t c = 0; c < d; ++c) {  // whatever it left
            const auto row = ((part * rows + 2) * heads + 1) * pitch + c;
            store_element(out_parts.data(), from, static_cast<std::size_t>(row),
                          std::numeric_limits<double>::quiet_NaN());
        }
    }
    combine(args, {});
    expect_right();
    EXPECT_EQ(out_at(2, 1, 0), 0);
    for (std::int64_t c = 0; from == to && c < d; ++c) {
        EXPECT_EQ(out_at(4, 2, c), part_at(3, 4, 2, c));
    }
}

TEST_P(Combine, adds_a_sink_once) {
    const std::vector<float> sinks{0.5F, -infinity, 3};
    for (std::int64_t part = 0; part < parts; ++part) {
        lse_of(part, 0, 2) = -infinity;
    }
    args.sinks = sinks.data();
    combine(args, {});
    expect_right(sinks);
    EXPECT_EQ(lse[2], 3);
    EXPECT_EQ(out_at(0, 2, 0), 0);
}

TEST_P(Combine, lets_nan_through_and_nothing_else_with_it) {
    lse_of(1, 3, 0) = std::nanf("");
    lse_of(2, 5, 1) = infinity;
    const auto at = ((4 * rows + 6) * heads + 2) * pitch + 1;
    store_element(out_parts.data(), from, static_cast<std::size_t>(at),
                  std::numeric_limits<double>::quiet_NaN());
    combine(args, {});
    EXPECT_TRUE(std::isnan(out_at(3, 0, 7)) && std::isnan(lse[3 * heads]));
    EXPECT_TRUE(std::isnan(out_at(5, 1, 7)) && std::isnan(lse[5 * heads + 1]));
    EXPECT_TRUE(std::isnan(out_at(6, 2, 1)) && !std::isnan(lse[6 * heads + 2]));
    EXPECT_FALSE(std::isnan(out_at(6, 2, 0)) || std::isnan(out_at(3, 1, 7)));
}

TEST_P(Combine, gives_the_same_through_c_and_without_an_lse) {
    combine(args, {});
    const std::vector<std::byte> of_cpp = out;
    out.assign(out.size(), untouched);
    rl_tensor parts_view = tests::c_view(args.out_parts), lses = tests::c_view(args.lse_parts),
              out_view = tests::c_view(args.out);
    rl_combine_args given = RL_INIT(rl_combine_args);
    given.out_parts = &parts_view;
    given.lse_parts = &lses;
    given.out = &out_view;
    ASSERT_EQ(rl_combine(&given, RL_CPU, nullptr), RL_OK) << rl_last_error();
    EXPECT_EQ(out, of_cpp);
    out_view.shape[0] = rows + 1;
    EXPECT_EQ(rl_combine(&given, RL_CPU, nullptr), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), testing::HasSubstr("out has shape (8, 3, 20)"));
    given.struct_size = 3;
    EXPECT_EQ(rl_combine(&given, RL_CPU, nullptr), RL_INVALID_ARGUMENT);
}

INSTANTIATE_TEST_SUITE_P(
    Types, Combine,
    testing::Values(std::pair{DType::fp32, DType::fp32}, std::pair{DType::fp16, DType::fp16},
                    std::pair{DType::bf16, DType::bf16}, std::pair{DType::fp32, DType::bf16},
                    std::pair{DType::fp32, DType::fp16}, std::pair{DType::bf16, DType::fp32}));

struct Mistake {
    const char* said;
    std::function<void(CombineArgs&)> make;
};

TEST(CombineRefusals, name_the_argument_and_leave_the_output_alone) {
    const Mistake mistakes[] = {
        {"out_parts has 3 sizes and 3 strides; this call takes 4",
         [](CombineArgs& a) { a.out_parts.shape.pop_back(), a.out_parts.strides.pop_back(); }},
        {"out_parts has 0 parts; it must have at least 1",
         [](CombineArgs& a) { a.out_parts.shape[0] = a.lse_parts.shape[0] = 0; }},
        {"out_parts has a head dim of 0; it must be at least 1",
         [](CombineArgs& a) { a.out_parts.shape[3] = a.out.shape[2] = 0; }},
        {"threads is 5000; it must be 0 (all) to 4096", [](CombineArgs& a) { a.threads = 5000; }},
        {"out_parts has dtype e4m3; it must be fp32, fp16 or bf16",
         [](CombineArgs& a) { a.out_parts.dtype = DType::e4m3; }},
        {"out has dtype e4m3", [](CombineArgs& a) { a.out.dtype = DType::e4m3; }},
        {"lse_parts has dtype bf16; it is always fp32",
         [](CombineArgs& a) { a.lse_parts.dtype = DType::bf16; }},
        {"lse_parts has shape (2, 3, 5); it must be (parts, rows, heads) = (2, 3, 4)",
         [](CombineArgs& a) { a.lse_parts.shape[2] = 5; }},
        {"out has shape (3, 4, 7); it must be (rows, heads, headdim) = (3, 4, 8)",
         [](CombineArgs& a) { a.out.shape[2] = 7; }},
        {"lse has shape (4, 4)", [](CombineArgs& a) { a.lse.shape[0] = 4; }},
        {"out_parts's last stride is 2", [](CombineArgs& a) { a.out_parts.strides[3] = 2; }},
        {"out's strides", [](CombineArgs& a) { a.out.strides[0] = 0; }},
        {"out_parts is a null pointer", [](CombineArgs& a) { a.out_parts.data = nullptr; }},
        {"lse_parts is a null pointer", [](CombineArgs& a) { a.lse_parts.data = nullptr; }},
        {"out is a null pointer", [](CombineArgs& a) { a.out.data = nullptr; }},
        {"out overlaps out_parts", [](CombineArgs& a) { a.out.data = a.out_parts.data; }},
        {"lse overlaps lse_parts", [](CombineArgs& a) { a.lse.data = a.lse_parts.data; }},
        {"their product must be below 2^31",
         [](CombineArgs& a) {
             a.out_parts.shape[1] = a.out_parts.shape[2] = 100000;
             a.out_parts.strides = {0, 0, 0, 1};
         }},
    };
    for (const Mistake& mistake : mistakes) {
        std::vector<float> parts(2 * 3 * 4 * 8), lses(2 * 3 * 4), out(3 * 4 * 8, -5), lse(12, -5);
        CombineArgs args;
        args.out_parts = TensorView::contiguous(parts.data(), DType::fp32, {2, 3, 4, 8});
        args.lse_parts = TensorView::contiguous(lses.data(), DType::fp32, {2, 3, 4});
        args.out = TensorView::contiguous(out.data(), DType::fp32, {3, 4, 8});
        args.lse = TensorView::contiguous(lse.data(), DType::fp32, {3, 4});
        mistake.make(args);
        try {
            combine(args, {});
            ADD_FAILURE() << "it ran; it should say: " << mistake.said;
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::invalid_argument) << error.what();
            EXPECT_THAT(error.what(), testing::HasSubstr(mistake.said));
        }
        EXPECT_EQ(out, std::vector<float>(96, -5)) << mistake.said;
        EXPECT_EQ(lse, std::vector<float>(12, -5)) << mistake.said;
    }
}

}  // namespace
}  // namespace raceline
