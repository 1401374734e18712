// SPDX-License-Identifier: Apache-2.0
// Runs as `bench` writes them, with times that a test decides.
#pragma once

#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unistd.h>

#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "run/run_case.hpp"
#include "timing/measurement.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::test {

class WrittenRuns : public testing::Test {
protected:
    WrittenRuns() {
        std::string form = (std::filesystem::temp_directory_path() / "runs-XXXXXX").string();
        folder_ = mkdtemp(form.data());
        which_.kernel = &find_kernel("cpu_flash");
        which_.workload = parse_shape("b=1,h=4/2,q=16,k=16,d=64,dtype=fp32");
        which_.options.how = {.cold = true, .launch_path = "parallel", .threads = 2};
        device_.id = "cpu";
        device_.name = "a test's CPU";
        context_.argv = {"raceline", "bench"};
        verdict_.passed = true;
        verdict_.relative_rms = verdict_.worst = 1e-7;
        verdict_.bound = 1e-6;
        verdict_.cases = 64;
        p_.limiter = "dram";
        p_.rates_id = "test";
        p_.model_hash = std::string(64, 'a');
    }
    ~WrittenRuns() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name = "r.jsonl") const {
        return (folder_ / name).string();
    }
    /// Another command: what it measures was not known to rows of the one before.
    void another_run() { context_.argv.push_back("again"); }

    /// A prediction, by p_ but for its time, and its measurement; the latter's id.
    std::string run(double predicted, double measured, const std::string& file = "r.jsonl") {
        return run(predicted, summarize({measured, measured, measured}), file);
    }
    /// One that the gate refused.
    void refuse(double predicted) {
        verdict_.passed = false;
        run(predicted, std::nullopt);
        verdict_.passed = true;
    }
    std::string run(double predicted, const std::optional<Measurement>& measured,
                    const std::string& file = "r.jsonl") {
        ReceiptWriter writer(path(file));
        const RowSink sink{.context = &context_, .writer = &writer, .emit = {}};
        p_.seconds = predicted;
        const RowCase about = row_case(which_, device_);
        const Json before = sink.put("0", PredictionRow{.about = about, .prediction = p_});
        const Json row =
            sink.put("0", MeasurementRow{.about = about,
                                         .prediction_id = before.at("id").get<std::string>(),
                                         .correctness = verdict_,
                                         .measurement = measured});
        return row.at("id").get<std::string>();
    }

    std::filesystem::path folder_;
    RowContext context_;
    Case which_;
    Device device_;
    Correctness verdict_;
    Prediction p_;
};

}  // namespace raceline::test
