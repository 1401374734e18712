// SPDX-License-Identifier: Apache-2.0
// The tables of docs/ladder.md beside the tracks: counters, gap, sweeps, products, memory.
#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "model/prediction.hpp"
#include "receipt/row.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "report/ladder_cases.hpp"
#include "report/ladder_counters.hpp"
#include "report/ladder_data.hpp"
#include "report/ladder_gap.hpp"
#include "report/ladder_memory.hpp"
#include "report/ladder_not_run.hpp"
#include "report/ladder_report.hpp"
#include "report/ladder_sweeps.hpp"
#include "run/run_case.hpp"
#include "timing/measurement.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;
using testing::Not;

// Rows as programs write them, with times that a test decides.
class LadderTables : public testing::Test {
protected:
    Json put(const char* kind, const Json& content, std::string_view source_hash = "") {
        Json made = make_row(context_, kind, source_hash, content);
        made["written"] =
            fmt::format("2026-01-01T00:{:02}:{:02}.000000Z", clock_ / 60, clock_ % 60);
        ++clock_;
        rows_.push_back(made);
        return made;
    }
    Case case_of(const char* suite, const char* kernel, int tile, const char* shape) const {
        Case which;
        which.suite = suite;
        which.kernel = &find_kernel(kernel);
        which.tile = tile;
        which.workload = parse_shape(shape);
        which.options.how = {.cold = true, .launch_path = "graph", .threads = 0};
        return which;
    }
    std::string run(const char* suite, const char* kernel, int tile, const char* shape,
                    double measured) {
        const Case which = case_of(suite, kernel, tile, shape);
        const Json about = row_to_json(row_case(which, h200_));
        const auto with = [&](Json content) {
            Json all = about;
            all.update(content);
            return all;
        };
        const Prediction p = predict_case(which, h200_);
        const Json first = put("prediction", with({{"prediction", row_to_json(p)}}));
        Correctness good;
        good.passed = true;
        return put("measurement",
                   with({{"prediction_id", first.at("id")},
                         {"correctness", row_to_json(good)},
                         {"measurement", row_to_json(summarize({measured, measured}))}}),
                   which.kernel->source_hash)
            .at("id")
            .get<std::string>();
    }

    Device h200_ = datasheet_device("h200");
    RowContext context_;
    std::vector<Json> rows_;
    int clock_ = 10;
};

constexpr const char* gap_shape = "h=8,q=512,k=512,d=64,dtype=fp16";

TEST_F(LadderTables, the_gap_is_taken_apart_by_the_fastest_tile_of_each_step) {
    run("ladder-gap", "light_barriers", 0, gap_shape, 80e-6);
    run("ladder-gap", "light_barriers", 1, gap_shape, 64e-6);
    run("ladder-gap", "tensor_cores", 0, gap_shape, 32e-6);
    Json about = row_to_json(row_case(case_of("ladder-gap", "prefill_sm90", 0, gap_shape), h200_));
    about["measurement"] = row_to_json(summarize({9e-6}));
    about["peer"] = {{"name", "cudnn"}, {"version", "9.1"}, {"seconds_median", 8e-6}};
    put("comparison", about);
    const std::string text = gap_markdown(rows_);
    EXPECT_THAT(text, HasSubstr("### h=8,q=512,k=512,d=64,dtype=fp16"));
    EXPECT_THAT(text, HasSubstr("| light_barriers | rows=32 |"));
    EXPECT_THAT(text, HasSubstr("| 32.0 µs | 2.00× |"));
    EXPECT_THAT(text, HasSubstr("| 33 % | tensor cores |"));
    EXPECT_THAT(text, HasSubstr("| cudnn | 9.1 | the fastest library | 8.00 µs | 4.00× |"));
    EXPECT_THAT(text, HasSubstr("8.0× in all; of it, in logarithms: rest 67 %, tensor cores 33 %"));
}

TEST_F(LadderTables, the_gap_takes_rows_of_its_own_suite_alone) {
    run("ladder", "light_barriers", 0, gap_shape, 80e-6);
    run("from-scratch", "tensor_cores", 0, gap_shape, 32e-6);
    EXPECT_EQ(gap_markdown(rows_), "");
}

TEST_F(LadderTables, every_step_of_the_gap_has_a_tile) {
    for (const Json& step : ladder_data("ladder/gap.json")) {
        if (!step.contains("kernel")) {
            continue;
        }
        const Kernel& kernel = find_kernel(step.at("kernel").get<std::string>());
        int fitting = 0;
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            bool fits = kernel.why_not(parse_shape(gap_shape), tile, h200_).empty();
            for (const auto& [name, value] : kernel.tile(tile)) {
                const Json wanted = step.at("tile").value(std::string(name), Json());
                fits = fits && (wanted.is_null() || wanted == value);
            }
            fitting += fits ? 1 : 0;
        }
        EXPECT_GT(fitting, 0) << step.dump();
    }
}

TEST_F(LadderTables, parallelism_stands_beside_every_bandwidth) {
    const char* shape = "h=1,q=1,k=1048576,d=128,dtype=fp16";
    run("ladder-splits", "splitkv", 5, shape, 20e-3);  // whole keys: one CTA
    run("ladder-splits", "splitkv", 0, shape, 200e-6);
    const std::string text = sweeps_markdown(rows_);
    EXPECT_THAT(text, HasSubstr("| waves=0 | 20.0 ms |"));
    EXPECT_THAT(text, HasSubstr("| 4.33 MB ("));  // 264 CTAs with 16 kB under way each
    EXPECT_THAT(text, HasSubstr("| 1 | 0.00 |"));
    // 2 · 1048576 · 128 · 2 bytes in 200 µs; one wave is two CTAs on each of 132 SMs.
    EXPECT_THAT(text, HasSubstr("| 100.00× |"));
    EXPECT_THAT(text, HasSubstr("| 2684 | "));
    EXPECT_THAT(text, HasSubstr("CTAs an SM holds 2."));
    EXPECT_THAT(text, HasSubstr("| 264 | 1.00 |"));
    EXPECT_THAT(text, Not(HasSubstr("### Batch")));
}

TEST_F(LadderTables, an_unsettled_time_stands_in_no_table) {
    const char* shape = "h=1,q=1,k=1048576,d=128,dtype=fp16";
    run("ladder-splits", "splitkv", 5, shape, 20e-3);
    run("ladder-splits", "splitkv", 0, shape, 200e-6);
    run("ladder-gap", "light_barriers", 0, gap_shape, 80e-6);
    run("ladder-gap", "light_barriers", 1, gap_shape, 64e-6);
    run("ladder-gap", "prefill_sm90", 0, gap_shape, 160e-6);
    const std::string sweeps = sweeps_markdown(rows_);
    const std::string gap = gap_markdown(rows_);
    run("ladder-splits", "splitkv", 0, shape, 100e-6);
    run("ladder-gap", "light_barriers", 1, gap_shape, 32e-6);
    EXPECT_NE(sweeps_markdown(rows_), sweeps) << "a later settled one does";
    EXPECT_NE(gap_markdown(rows_), gap);
    for (Json& row : rows_) {
        if (row.at("kind") == "measurement" &&
            row.at("measurement").at("seconds_median").get<double>() < 150e-6 &&
            row.at("measurement").at("seconds_median").get<double>() != 64e-6 &&
            row.at("measurement").at("seconds_median").get<double>() != 80e-6) {
            row["measurement"]["unsettled"] = true;
        }
    }
    EXPECT_EQ(sweeps_markdown(rows_), sweeps);
    EXPECT_EQ(gap_markdown(rows_), gap);
}

TEST_F(LadderTables, tiles_of_a_sweep_stand_in_the_order_of_numbers) {
    const char* shape = "h=1,q=1,k=1048576,d=128,dtype=fp16";
    const Kernel& kernel = find_kernel("splitkv");
    std::vector<std::int64_t> waves;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        waves.push_back(kernel.tile(tile).front().second);
        run("ladder-splits", "splitkv", tile, shape, 1e-3);
    }
    std::sort(waves.begin(), waves.end());
    ASSERT_GT(waves.back(), 9);  // as text it stands before 4
    const std::string text = sweeps_markdown(rows_);
    std::size_t before = 0;
    for (const std::int64_t wave : waves) {
        const auto at = text.find(fmt::format("| waves={} |", wave));
        ASSERT_NE(at, std::string::npos) << wave;
        EXPECT_GT(at, before) << wave;
        before = at;
    }
}

TEST_F(LadderTables, b300_is_predicted_from_counts_and_marked) {
    const std::string text = not_run_markdown();
    EXPECT_THAT(text, HasSubstr("| mla_tensor | h=128,q=1,k=8192,mla=512+64,dtype=fp16 |"));
    EXPECT_THAT(text, HasSubstr("time measured *not run*"));
    const Device b300 = datasheet_device("b300");
    const Workload w = parse_shape("h=128,q=1,k=8192,mla=512+64,dtype=fp16");
    const auto hopper = find_kernel("mla_tensor").counts(w, 0, b300);
    const auto launches = on_tcgen05(hopper);
    EXPECT_DOUBLE_EQ(launches.at(0).work.at("flop.tcgen05.fp16"),
                     hopper.at(0).work.at("flop.wgmma.fp16"));
    EXPECT_FALSE(launches.at(0).work.contains("flop.wgmma.fp16"));
    EXPECT_DOUBLE_EQ(launches.at(0).work.at("byte.dram_read"), 128 * 576 * 2 + 8192.0 * 576 * 2);
    EXPECT_NE(find_kernel("mla_tensor").why_not(w, 0, b300), "");  // it is not said to run there
}

TEST_F(LadderTables, more_than_the_dram_gives_is_marked_as_cache) {
    run("ladder", "gqa_wmma", 0, "h=32/8,q=1,k=8192,d=128,dtype=fp16", 5e-6);
    EXPECT_THAT(sweeps_markdown(rows_), HasSubstr("| cache |"));
}

TEST_F(LadderTables, sweeps_name_shapes_of_their_suites) {
    for (const Json& sweep : ladder_data("ladder/sweeps.json")) {
        const Suite suite = make_suite(sweep.at("suite").get<std::string>());
        for (const Json& text : sweep.at("shapes")) {
            const Workload w = parse_shape(text.get<std::string>());
            EXPECT_NE(std::find(suite.workloads.begin(), suite.workloads.end(), w),
                      suite.workloads.end())
                << text;
        }
        for (const Json& kernel : sweep.at("kernels")) {
            EXPECT_NE(find_rung_or_engine(kernel.get<std::string>()), nullptr) << kernel;
        }
    }
}

TEST_F(LadderTables, counters_stand_beside_what_was_declared_and_predicted) {
    const char* shape = "h=32/8,q=1,k=8192,d=128,dtype=fp16";
    const std::string id = run("ladder", "gqa", 0, shape, 30e-6);
    put("counters", {{"measurement_id", id},
                     {"counters",
                      {{"limiter", "op.issue"},
                       {"busy", {{"op.issue", 0.7}, {"dram", 0.3}}},
                       {"seconds", 28e-6},
                       {"totals",
                        {{"dram_read_bytes", 34e6},
                         {"dram_write_bytes", 1e4},
                         {"bank_conflicts_load", 10.0},
                         {"bank_conflicts_store", 15.0},
                         {"shared_wavefronts", 100.0}}},
                       {"stalls", {{"wait", 1.5}, {"long_scoreboard", 4.0}}},
                       {"launches",
                        {{{"name", "merge"}, {"seconds", 4e-6}, {"ctas", 32}},
                         {{"name", "forward"},
                          {"seconds", 24e-6},
                          {"ctas", 264},
                          {"occupancy_percent", 12.5}}}}}}});
    const auto cases = LadderCases(rows_).of("h200", find_kernel("gqa"), "ladder");
    ASSERT_EQ(cases.size(), 1U);
    const std::string text = counters_table({{&find_kernel("gqa"), cases}}, h200_);
    EXPECT_THAT(text, HasSubstr("| op.issue 70 %, dram 30 % | long_scoreboard |"));
    EXPECT_THAT(text, HasSubstr("| 34.0 MB + 10.0 kB |"));
    EXPECT_THAT(text, HasSubstr("| 33.6 MB + "));  // 2 · 8 · 8192 · 128 · 2 bytes of K and V
    EXPECT_THAT(text, HasSubstr("| 25 % | 264 | 12 % |"));
    EXPECT_THAT(text, HasSubstr(" counted |"));
    EXPECT_THAT(ladder_markdown(rows_), HasSubstr("| long_scoreboard |"));
}

TEST_F(LadderTables, products_are_shares_of_measured_ceilings) {
    const Json device = row_to_json(row_case(case_of("", "gqa", 0, gap_shape), h200_)).at("device");
    const Json ceiling{{"resource", "gemm.e4m3.m128.n1024.k576"}, {"value", 1.0}};
    put("ceiling",
        {{"device", device},
         {"ceiling", ceiling},
         {"product",
          {{"m", 128}, {"n", 1024}, {"k", 576}, {"bytes", 925696}, {"seconds_median", 2e-6}}}});
    EXPECT_THAT(products_markdown(rows_), HasSubstr("| 128 × 1024 × 576 | 2.00 µs | 75.5 | 5 % |"));
    EXPECT_EQ(memory_markdown(rows_), "");
}

TEST_F(LadderTables, memory_is_compared_with_the_first_of_its_kind) {
    const Json device = row_to_json(row_case(case_of("", "gqa", 0, gap_shape), h200_)).at("device");
    for (const auto& [cache, tokens] : {std::pair{"gqa8.fp16", 100.0}, {"gqa8.nvfp4", 355.6}}) {
        put("ceiling",
            {{"device", device},
             {"capacity", {{"cache", cache}, {"bytes_per_token", 4096}, {"tokens", tokens}}}});
    }
    const Json workload = workload_to_json(parse_shape(gap_shape));
    for (const auto& [kernel, peak] : {std::pair{"naive", 1000e6}, {"online", 10e6}}) {
        put("ceiling", {{"device", device},
                        {"memory",
                         {{"kernel", kernel},
                          {"workload", workload},
                          {"peak_bytes", peak},
                          {"input_bytes", 5e6},
                          {"workspace_bytes", 1e6}}}});
    }
    EXPECT_THAT(memory_markdown(rows_), HasSubstr("| gqa8.nvfp4 | 4096 | 356 | 3.56× |"));
    EXPECT_THAT(memory_markdown(rows_), HasSubstr("| online | 10.0 MB | 1/100.0 |"));
}

}  // namespace
}  // namespace raceline
