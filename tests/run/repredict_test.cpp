// SPDX-License-Identifier: Apache-2.0
// Predictions that receipts hold are computed again, from the file and the tree alone.
#include "run/repredict.hpp"

#include <cmath>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "device/device_state.hpp"
#include "receipt/file.hpp"
#include "receipt/stored_text.hpp"
#include "registry/registry.hpp"
#include "run/run_case.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Outcome = Repredictor::Outcome;

class Repredict : public testing::Test {
protected:
    /// As a run would write it.
    [[nodiscard]] PredictionRow predicted(const Device& device) const {
        Case which;
        which.kernel = &find_kernel(device.kind == DeviceKind::cpu ? "cpu_flash" : "simt");
        which.workload = parse_shape("b=2,h=8/2,q=130,k=700,d=64,dtype=fp16,causal");
        which.options.how.launch_path = device.kind == DeviceKind::cpu ? "parallel" : "graph";
        which.options.how.threads = device.kind == DeviceKind::cpu ? device.units : 0;
        const PredictionRow row{.about = row_case(which, device),
                                .prediction = predict_case(which, device)};
        // Through text, as in a file.
        return row_from_json<PredictionRow>(Json::parse(dump_json(row_to_json(row))), 2);
    }
    /// With what every row has and these tests read.
    [[nodiscard]] static Json whole(const PredictionRow& row, const std::string& commit) {
        Json json = row_to_json(row);
        json["schema"] = 2;
        json["argv"] = {"raceline", "bench"};
        json["git"] = {{"commit", commit}, {"dirty", false}};
        return json;
    }
    static Device committed_h200() {
        Device device = datasheet_device("h200");
        apply_committed_rates(device);
        return device;
    }
    Repredictor again_;
};

TEST_F(Repredict, a_prediction_by_committed_rates_is_the_same_bit_for_bit) {
    const auto answer = again_.again(predicted(committed_h200()));
    EXPECT_EQ(answer.outcome, Outcome::same) << answer.why;
}

TEST_F(Repredict, an_edited_prediction_differs_and_says_in_what) {
    const PredictionRow good = predicted(committed_h200());
    const auto why = [&](void (*change)(PredictionRow&)) {
        PredictionRow row = good;
        change(row);
        const auto answer = again_.again(row);
        EXPECT_EQ(answer.outcome, Outcome::differs);
        return answer.why;
    };
    EXPECT_THAT(why([](PredictionRow& row) {
                    row.prediction.seconds = std::nextafter(row.prediction.seconds, 1);
                }),
                StartsWith("seconds was "));
    EXPECT_THAT(why([](PredictionRow& row) { row.prediction.limiter = "dram2"; }),
                StartsWith("limiter was \"dram2\", is "));
    EXPECT_THAT(why([](PredictionRow& row) { row.prediction.layer1.seconds.clear(); }),
                StartsWith("layer1 was {}"));
    EXPECT_THAT(why([](PredictionRow& row) { row.prediction.layer2.front().second *= 2; }),
                StartsWith("layer2 was"));
    EXPECT_THAT(why([](PredictionRow& row) { row.prediction.sm_clock_hz += 1; }),
                StartsWith("sm_clock_hz was"));
    EXPECT_THAT(why([](PredictionRow& row) { row.about.workload["seqlen_k"] = 701; }),
                HasSubstr("seconds was"));
    EXPECT_THAT(why([](PredictionRow& row) { row.about.tile = Json{{"m", 1}}; }),
                StartsWith("simt has no tile {\"m\":1}"));
}

TEST_F(Repredict, a_band_is_of_the_receipts_of_its_time_and_not_compared) {
    PredictionRow row = predicted(committed_h200());
    row.prediction.band = Interval{1, 2};
    EXPECT_EQ(again_.again(row).outcome, Outcome::same);
}

TEST_F(Repredict, another_model_or_kernel_is_left_to_its_own_program) {
    PredictionRow row = predicted(committed_h200());
    row.prediction.model_hash[0] = row.prediction.model_hash[0] == 'a' ? 'b' : 'a';
    EXPECT_EQ(again_.again(row).outcome, Outcome::other_model);
    row = predicted(committed_h200());
    row.about.kernel = "gone";
    EXPECT_EQ(again_.again(row).outcome, Outcome::other_model);
}

// A program and a row of one commit have one model.
TEST_F(Repredict, a_row_of_this_very_program_must_be_of_its_model) {
    const std::string commit(40, 'c');
    Json row = whole(predicted(committed_h200()), commit);
    EXPECT_EQ(again_.again(row, commit).outcome, Outcome::same);
    const Json good = row;
    row["prediction"]["model_hash"] = std::string(64, 'f');
    const auto answer = again_.again(row, commit);
    EXPECT_EQ(answer.outcome, Outcome::differs);
    EXPECT_THAT(answer.why, StartsWith("model_hash was ffff"));
    row["git"]["dirty"] = true;
    EXPECT_EQ(again_.again(row, commit).outcome, Outcome::other_model);
    row["git"] = {{"commit", std::string(40, 'd')}, {"dirty", false}};
    EXPECT_EQ(again_.again(row, commit).outcome, Outcome::other_model);
    EXPECT_EQ(again_.again(row, "").outcome, Outcome::other_model);
    row = good;
    row["kernel"] = "gone";
    EXPECT_THAT(again_.again(row, commit).why, HasSubstr("has no kernel gone"));
}

TEST_F(Repredict, another_programs_model_is_compared_before_its_rates) {
    const Prediction now = predicted(committed_h200()).prediction;
    Prediction written = now;
    written.rates_id = "others";
    EXPECT_EQ(Repredictor::compare(written, now).outcome, Outcome::no_rates);
    written.model_hash[0] = written.model_hash[0] == 'a' ? 'b' : 'a';
    const auto answer = Repredictor::compare(written, now);
    EXPECT_EQ(answer.outcome, Outcome::differs);
    EXPECT_THAT(answer.why, HasSubstr("model_hash was"));
}

TEST_F(Repredict, a_member_that_a_program_writes_and_a_row_lacks_is_a_difference) {
    PredictionRow good = predicted(committed_h200());
    good.prediction.calibrated = {.count = 2, .hash = "h", .errors = 0, .errors_hash = ""};
    const Prediction now = good.prediction;
    ASSERT_EQ(Repredictor::compare(good.prediction, now).outcome, Outcome::same);
    for (const char* member : {"calibrated", "uncalibrated_seconds", "datasheet_seconds"}) {
        Json json = row_to_json(good.prediction);
        ASSERT_EQ(json.erase(member), 1U) << member;
        const auto answer = Repredictor::compare(row_from_json<Prediction>(json, 2), now);
        EXPECT_EQ(answer.outcome, Outcome::differs);
        EXPECT_THAT(answer.why, StartsWith(std::string(member) + " was not there, is "));
    }
}

TEST_F(Repredict, rates_that_a_run_did_not_describe_are_a_difference) {
    const Device device = committed_h200();
    const auto with_rates = [&](const char* rates_id, const char* argument = "bench") {
        Json row = whole(predicted(device), std::string(40, 'c'));
        row["prediction"]["rates_id"] = rates_id;
        row["argv"] = {"raceline", argument};
        return row;
    };
    EXPECT_EQ(again_.rates_fault(with_rates("one")), "");
    EXPECT_EQ(again_.rates_fault(with_rates("one")), "");
    EXPECT_THAT(again_.rates_fault(with_rates("two")),
                StartsWith("rates_id is two, but this run goes by the rates one of h200"));
    EXPECT_EQ(again_.rates_fault(with_rates("two", "predict")), "") << "another run";
    EXPECT_EQ(again_.rates_fault(with_rates(device.rates_id.c_str())), "") << "committed";
    Json described = with_rates("two");
    described["kind"] = "device";
    described["state"] = {{"rates_id", "two"}};
    again_.take_device(described);
    EXPECT_EQ(again_.rates_fault(with_rates("two")), "");
    EXPECT_NE(again_.rates_fault(with_rates("one")), "") << "the file has the device's state";
}

// This machine's own rates, and part of its cores: the file has to say both.
TEST_F(Repredict, a_machine_of_which_the_file_has_the_rates_is_computed_from_the_file) {
    Device device = live_cpu();
    device.rates["byte.dram_read"].value = 12.3456789e9;
    device.rates_id = rates_id_of(device, "cache");
    device = restrict_units(std::move(device), 1);
    const PredictionRow row = predicted(device);
    const auto without = again_.again(row);
    EXPECT_EQ(without.outcome, Outcome::no_rates);
    EXPECT_THAT(without.why, StartsWith("the rates " + device.rates_id + " of cpu are not in"));
    Json described = *uncommitted_state(device);
    described.update(Json{{"kind", "device"}, {"git", Json::object()}, {"argv", Json::array()}});
    again_.take_device(Json::parse(dump_json(described)));
    const auto answer = again_.again(row);
    EXPECT_EQ(answer.outcome, Outcome::same) << answer.why;
}

TEST_F(Repredict, a_run_writes_its_device_once_before_its_predictions) {
    std::vector<Json> rows;
    const RowContext context;
    const RowSink sink{.context = &context, .writer = nullptr, .emit = [&](const Json& row) {
                           rows.push_back(row);
                       }};
    Device device = live_cpu();
    sink.describe(device);
    sink.describe(device);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].at("kind"), "device");
    device.units += 1;
    sink.describe(device);
    EXPECT_EQ(rows.size(), 2U);
    sink.describe(committed_h200());
    EXPECT_EQ(rows.size(), 2U) << "the tree has these rates";
    sink.describe(device);
    EXPECT_EQ(rows.size(), 3U) << "the last row before a prediction is its device";
}

// Rows of this tree's model: whoever changes how a prediction comes about without changing the
// model's hash is told so here.
TEST(CommittedPredictions, of_this_model_are_the_same_bit_for_bit) {
    int same = 0;
    for (const std::string& path : stored_receipts(RACELINE_SOURCE_DIR "/receipts")) {
        Repredictor again;
        const ReceiptFile file = read_receipts(path);
        for (std::size_t i = 0; i < file.rows.size(); ++i) {
            if (file.rows[i].at("kind") == "device") {
                again.take_device(file.rows[i]);
            } else if (file.rows[i].at("kind") == "prediction") {
                EXPECT_EQ(again.rates_fault(file.rows[i]), "")
                    << path << ": line " << file.lines[i];
                const auto answer = again.again(row_from_json<PredictionRow>(file.rows[i]));
                EXPECT_NE(answer.outcome, Outcome::differs)
                    << path << ": line " << file.lines[i] << ": " << answer.why;
                same += answer.outcome == Outcome::same ? 1 : 0;
            }
        }
    }
    // None right after a change of the model; then the next receipts bring some.
    RecordProperty("computed_again", same);
}

}  // namespace
}  // namespace raceline
