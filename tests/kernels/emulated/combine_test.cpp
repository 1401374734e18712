// SPDX-License-Identifier: Apache-2.0
// combine_cuda's own source on an emulated GPU with what the command line cannot name: strides,
// addresses that are no multiple of 16 bytes, an output of another type, no LSE.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "registry/registry.hpp"
#include "tests/proof/proof.hpp"
#include "workload/combine_call.hpp"
#include "workload/inputs.hpp"

namespace raceline {
namespace {

constexpr std::int64_t parts = 11, rows = 6, heads = 3;

struct Case {
    DType from, to;
    std::int64_t headdim, gap, before;  ///< elements behind each row, and before the first
};

// What a kernel leaves in memory that began as `untouched`, its LSEs behind it.
std::vector<std::byte> result_of(const Kernel& kernel, int tile, const Case& c,
                                 const Device& device, bool with_lse) {
    std::mt19937 random(9);
    std::normal_distribution<double> normal;
    const std::int64_t pitch = c.headdim + c.gap;
    const auto count = static_cast<std::size_t>(parts * rows * heads * pitch + c.before);
    std::vector<std::byte> out_parts(count * 4),
        out((rows * heads * pitch + c.before) * 4 + 64, std::byte{0x5A});
    std::vector<float> lse_parts(parts * rows * heads), lse(2 * rows * heads, -7), sinks(heads);
    for (std::size_t i = 0; i < count; ++i) {
        store_element(out_parts.data(), c.from, i, normal(random));
    }
    for (float& x : lse_parts) {
        x = random() % 5 == 0 ? -std::numeric_limits<float>::infinity()
                              : static_cast<float>(normal(random));
    }
    const auto bytes = [](DType type) { return type == DType::fp32 ? 4 : 2; };
    CombineCall call;
    call.parts = parts;
    call.rows = rows;
    call.heads = heads;
    call.headdim = c.headdim;
    call.out_parts = out_parts.data() + c.before * bytes(c.from);
    call.lse_parts = lse_parts.data();
    call.sinks = with_lse ? sinks.data() : nullptr;
    call.out = out.data() + c.before * bytes(c.to);
    call.lse = with_lse ? lse.data() : nullptr;
    call.parts_dtype = c.from;
    call.out_dtype = c.to;
    call.of_out_parts = {rows * heads * pitch, pitch, rows * pitch};  // heads before rows
    call.of_lse_parts = {1, heads * parts, parts};
    call.of_out = {0, heads * pitch, pitch};
    call.of_lse = {0, 2, 2 * rows};
    kernel.launch_operation(operation_args_of(call), tile, device, nullptr, nullptr);
    const auto* sums = reinterpret_cast<const std::byte*>(lse.data());
    out.insert(out.end(), sums, sums + lse.size() * sizeof(float));
    return out;
}

TEST(EmulatedCombine, takes_any_strides_types_and_addresses) {
    Device cpu;
    const Device gpu = test::small_hopper_gpu(2);
    const Kernel &on_gpu = find_kernel("combine_cuda"), &on_cpu = find_kernel("combine_cpu");
    for (const DType from : {DType::fp32, DType::fp16, DType::bf16}) {
        for (const DType to : {DType::fp32, DType::fp16, DType::bf16}) {
            for (const Case& c :
                 {Case{from, to, 64, 0, 0}, Case{from, to, 64, 8, 8}, Case{from, to, 64, 4, 4},
                  Case{from, to, 33, 0, 0}, Case{from, to, 16, 3, 1}, Case{from, to, 600, 0, 0}}) {
                for (int i = 0; i < 2 * on_gpu.tile_count(); ++i) {
                    const bool with_lse = i % 2 == 0;
                    const auto got = result_of(on_gpu, i / 2, c, gpu, with_lse);
                    const auto expected = result_of(on_cpu, 0, c, cpu, with_lse);
                    ASSERT_EQ(got.size(), expected.size());
                    const auto lses = 2 * rows * heads * sizeof(float);
                    const std::size_t width = to == DType::fp32 ? 4 : 2;
                    const double step = to == DType::bf16 ? 8e-3 : to == DType::fp16 ? 1e-3 : 4e-6;
                    for (std::size_t e = 0; e < (got.size() - lses) / width; ++e) {
                        const double x = load_element(got.data(), to, e);
                        const double y = load_element(expected.data(), to, e);
                        ASSERT_NEAR(x, y, step * (1 + std::abs(y)))
                            << on_gpu.tile_text(i / 2) << ' ' << name_of(from) << ' ' << name_of(to)
                            << ' ' << c.headdim << ' ' << c.gap << ", element " << e;
                    }
                    for (std::size_t e = 0; e < lses / sizeof(float); ++e) {
                        const std::byte* at = got.data() + got.size() - lses;
                        const std::byte* of = expected.data() + got.size() - lses;
                        ASSERT_NEAR(load_element(at, DType::fp32, e),
                                    load_element(of, DType::fp32, e), 4e-6);
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace raceline
