// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

#include "device/catalog.hpp"
#include "model/prediction.hpp"
#include "registry/registry.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// Of a row's last chunks, which no thread has, rows that are computed again cost nothing: three
// quarters of the columns are three quarters of the instructions, and what each thread does once.
TEST(RowsCounts, chunks_that_are_not_there_are_not_computed_again) {
    const Kernel& kernel = find_kernel("rows_cuda");
    const Device device = datasheet_device("h200");
    const auto instructions = [&](const std::string& op, int width) {
        const Workload w =
            parse_shape("op=" + op + ",n=1024x" + std::to_string(width) + ",dtype=bf16");
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.tile_text(tile) == "threads=512,lanes=512,chunks=4") {
                return kernel.counts(w, tile, device).front().work.find("op.issue")->second;
            }
        }
        return 0.0;
    };
    for (const std::string op : {"softmax", "layernorm"}) {
        const double all = instructions(op, 16384);
        ASSERT_GT(all, 0);
        EXPECT_NEAR(instructions(op, 12288) / all, 0.75, 0.07) << op;
    }
}

// The tasks of a CPU are equal but for the last: a fifth that is small is no reason why the others
// should have less.
TEST(RowsCounts, more_rows_never_take_less_time_on_a_cpu) {
    Device device = datasheet_device("cpu");
    device.units = 8;
    for (const std::string op : {"adam", "relu", "rmsnorm"}) {
        double before = 0;
        for (const int rows : {15, 16, 17, 24, 31, 32, 33, 40}) {
            const Workload w = parse_shape(fmt::format("op={},n={}x4096,dtype=fp32", op, rows));
            const Kernel& kernel = find_kernel(op == "adam" ? "adam_cpu" : "rows_cpu");
            const double seconds = predict(device, kernel.counts(w, 0, device), {}).seconds;
            EXPECT_GE(seconds, 0.98 * before) << op << ' ' << rows;
            before = seconds;
        }
    }
}

}  // namespace
}  // namespace raceline
