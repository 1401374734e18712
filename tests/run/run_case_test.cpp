// SPDX-License-Identifier: Apache-2.0
#include "run/run_case.hpp"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "support/out_of_memory.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// A backend whose answers a test decides.
class ScriptedBackend final : public Backend {
public:
    ScriptedBackend() : device_(live_cpu()) {
        apply_rates(device_, std::nullopt);
        timed_outputs.passed = true;
    }
    [[nodiscard]] std::string_view name() const override { return "cpu"; }
    [[nodiscard]] const Device& device() const override { return device_; }
    Correctness check(const Kernel&, int, const Workload& workload,
                      const CaseOptions& options) override {
        ++checks;
        if (process_limit_ends) {
            return check_draws(options, workload,
                               [](Draw) -> Correctness { throw std::bad_alloc(); });
        }
        if (memory_ends) {
            return check_draws(options, workload, [](Draw) -> Correctness {
                throw OutOfMemory("it needs 31 GB at once, and 30 GB are free");
            });
        }
        return verdict;
    }
    Timed measure(const Kernel&, int, const Workload&, const CaseOptions&) override {
        ++measurements;
        return {summarize({1e-3, 2e-3, 3e-3}), timed_outputs};
    }
    Correctness verdict;
    Correctness timed_outputs;
    int checks = 0;
    int measurements = 0;
    bool memory_ends = false;
    bool process_limit_ends = false;

private:
    Device device_;
};

class RunCase : public testing::Test {
protected:
    RunCase() {
        which.kernel = &find_kernel("cpu_flash");
        which.workload = parse_shape("b=1,h=4/2,q=16,k=16,d=64,dtype=fp32");
        which.options.how = {.cold = true, .launch_path = "parallel", .threads = 1};
        sink.context = &context;
        // Whether a device row comes first depends on the ceilings that this user has measured.
        sink.emit = [this](const Json& row) {
            if (row.at("kind") != "device") {
                rows.push_back(row);
            }
        };
    }
    RowContext context;
    RowSink sink;
    Case which;
    ScriptedBackend backend;
    std::vector<Json> rows;
};

// As under `ulimit -v`: it says nothing of the kernel, and is no failure of the gate.
TEST_F(RunCase, memory_that_a_process_does_not_get_is_a_refusal_with_the_bytes) {
    backend.process_limit_ends = true;
    EXPECT_THAT(run_case(which, backend, sink).refusal,
                testing::HasSubstr("of memory, more than this process gets"));
    EXPECT_THAT(check_case(which, backend, sink).refusal,
                testing::HasSubstr("of memory, more than this process gets"));
}

TEST_F(RunCase, predicts_before_it_proves_and_proves_before_it_measures) {
    backend.verdict.passed = true;
    const CaseResult result = run_case(which, backend, sink);
    EXPECT_FALSE(result.failed());
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].at("kind"), "prediction");
    EXPECT_EQ(rows[0].at("prediction").at("model_hash").get<std::string>().size(), 64U);
    EXPECT_EQ(rows[1].at("kind"), "measurement");
    EXPECT_EQ(rows[1].at("prediction_id"), rows[0].at("id"));
    EXPECT_EQ(rows[1].at("measurement").at("seconds_median"), 2e-3);
}

TEST_F(RunCase, a_wrong_answer_keeps_its_row_and_has_no_time) {
    backend.verdict.passed = false;
    backend.verdict.why = "row 3 is off";
    const CaseResult result = run_case(which, backend, sink);
    EXPECT_TRUE(result.failed());
    EXPECT_EQ(backend.measurements, 0);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_TRUE(rows[1].at("measurement").is_null());
    EXPECT_EQ(rows[1].at("correctness").at("passed"), false);
}

TEST_F(RunCase, what_the_kernel_does_not_support_is_a_row_with_the_reason) {
    which.kernel = &find_kernel("simt");
    const CaseResult result = run_case(which, backend, sink);
    EXPECT_FALSE(result.refusal.empty());
    EXPECT_EQ(backend.checks, 0);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].at("kind"), "refusal");
    EXPECT_EQ(rows[0].at("reason"), result.refusal);
}

TEST_F(RunCase, memory_that_ends_is_a_refusal_and_no_failure_of_the_gate) {
    backend.memory_ends = true;
    const CaseResult checked = check_case(which, backend, sink);
    EXPECT_FALSE(checked.failed());
    EXPECT_THAT(checked.refusal, testing::HasSubstr("30 GB are free"));
    const CaseResult run = run_case(which, backend, sink);
    EXPECT_FALSE(run.failed());
    EXPECT_EQ(run.refusal, checked.refusal);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].at("kind"), "refusal");
    EXPECT_EQ(rows[1].at("kind"), "prediction");
    EXPECT_EQ(rows[2].at("kind"), "refusal");
}

// A draw with outliers whose LSE is 9 roundoffs off, 3.4 times its reference's: right all the same.
TEST_F(RunCase, the_gate_takes_an_lse_of_outliers_as_far_off_as_its_roundings_go) {
    which.workload = parse_shape("h=2,q=33,k=65,d=64,dtype=bf16,causal");
    which.options.seed = 583993113;
    Device device = live_cpu();
    apply_rates(device, std::nullopt);
    const CaseResult result = check_case(which, *make_cpu_backend(device), sink);
    EXPECT_FALSE(result.failed()) << result.correctness->why;
}

TEST_F(RunCase, the_cpu_backend_refuses_a_wrong_scale) {
    // The gate as a whole, through the real backend: right as it is …
    Device device = live_cpu();
    apply_rates(device, std::nullopt);
    const auto real = make_cpu_backend(device);
    const CaseResult good = check_case(which, *real, sink);
    EXPECT_FALSE(good.failed()) << good.correctness->why;
    EXPECT_GT(good.correctness->cases, 0);
    // … and refused with a softmax scale that is 2 % off.
    Kernel broken = *which.kernel;
    broken.launch = [](const AttentionCall& args, int tile, const Device& d, void* scratch,
                       void* stream) {
        AttentionCall wrong = args;
        wrong.scale *= 1.02F;
        find_kernel("cpu_flash").launch(wrong, tile, d, scratch, stream);
    };
    which.kernel = &broken;
    EXPECT_TRUE(check_case(which, *real, sink).failed());
}

// Right while the gate looks, and then wrong in every call, or in all but those of the first set.
int launches;
bool spares_first_set;
void launch_that_turns_wrong(const AttentionCall& args, int tile, const Device& d, void* scratch,
                             void* stream) {
    static void* first_set;
    find_kernel("cpu_flash").launch(args, tile, d, scratch, stream);
    ++launches;
    first_set = launches == 2 ? args.out.data : first_set;
    if (launches > 1 && !(spares_first_set && args.out.data == first_set)) {
        *static_cast<float*>(args.out.data) += 1;
    }
}

TEST_F(RunCase, the_cpu_backend_judges_what_was_timed_in_all_sets) {
    Device device = live_cpu();
    apply_rates(device, std::nullopt);
    Kernel broken = *which.kernel;
    broken.launch = launch_that_turns_wrong;
    which.kernel = &broken;
    which.options.draws = {Draw::plain};
    for (const bool spares : {false, true}) {
        launches = 0;
        spares_first_set = spares;
        const CaseResult result = run_case(which, *make_cpu_backend(device), sink);
        EXPECT_TRUE(result.failed()) << spares;
        EXPECT_FALSE(result.measurement) << spares;
        EXPECT_THAT(result.correctness->why, testing::StartsWith("what was timed: ")) << spares;
    }
}

TEST_F(RunCase, the_cpu_backend_draws_what_is_not_finite) {
    Device device = live_cpu();
    apply_rates(device, std::nullopt);
    Kernel broken = *which.kernel;
    broken.launch = [](const AttentionCall& args, int tile, const Device& d, void* scratch,
                       void* stream) {
        find_kernel("cpu_flash").launch(args, tile, d, scratch, stream);
        auto* const out = static_cast<float*>(args.out.data);
        std::replace_if(out, out + 4 * 16 * 64, [](float x) { return !std::isfinite(x); }, 0.25F);
    };
    which.kernel = &broken;
    const CaseResult result = check_case(which, *make_cpu_backend(device), sink);
    EXPECT_TRUE(result.failed());
    EXPECT_THAT(result.correctness->why, testing::StartsWith("non_finite inputs: "));
}

}  // namespace
}  // namespace raceline
