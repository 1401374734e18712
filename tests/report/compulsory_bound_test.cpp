// SPDX-License-Identifier: Apache-2.0
// A time that no program can reach is refused, whoever claims it.
#include "report/compulsory_bound.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/receipt_report.hpp"
#include "tests/receipt/example_rows.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Bound : public example::Folder {
protected:
    static void set_time(Json& at, double seconds) {
        at["seconds_median"] = at["seconds_low"] = at["seconds_high"] = seconds;
    }
    /// A prediction, then a measurement or comparison of it; keys decide bytes and operations.
    [[nodiscard]] Json about(int queries, int keys, bool cold) const {
        Json row = example::prediction();
        row["device"] = {{"id", device_}, {"name", name_}, {"driver", ""}};
        row["workload"]["seqlen_q"] = queries;
        row["workload"]["seqlen_k"] = keys;
        row["workload"]["window"] = nullptr;
        row["workload"]["mask"] = "full";
        row["case"]["cold"] = cold;
        row["prediction"]["layer1"] = {{"dram", 1e-9}};
        return row;
    }
    [[nodiscard]] ReceiptReport report(double ours, double theirs, int queries, int keys,
                                       bool cold = true) const {
        ReceiptWriter writer(path());
        const RowContext context = example::context();
        const Json predicted =
            writer.append(make_row(context, "prediction", "", about(queries, keys, cold)));
        Json row = about(queries, keys, cold);
        row.erase("prediction");
        row["prediction_id"] = predicted.at("id");
        row["correctness"] = example::verdict(true);
        row["measurement"] = example::measured();
        set_time(row["measurement"], ours);
        writer.append(make_row(context, "measurement", "", row));
        row["peer"] = example::content("comparison").at("peer");
        set_time(row["peer"], theirs);
        row["ratio"] = row["ratio_low"] = row["ratio_high"] = theirs / ours;
        writer.append(make_row(context, "comparison", "", row));
        ReceiptReport made;
        made.add(path());
        std::filesystem::remove(path());
        return made;
    }
    static std::string text(const ReceiptReport& made) {
        std::string all;
        for (const Finding& one : made.findings()) {
            all += std::to_string(one.line) + ": " + one.what + "\n";
        }
        return all;
    }
    std::string device_ = "h200", name_ = "NVIDIA H200";
};

TEST_F(Bound, a_time_that_the_device_can_reach_holds) {
    EXPECT_EQ(text(report(1e-4, 1e-4, 1, 1 << 17)), "");
}

TEST_F(Bound, ours_and_the_peers_cold_time_need_the_compulsory_bytes) {
    // K and V of 2 heads: 2 · 2 · 131072 · 64 · 2 B = 67 MB take 14.5 µs at 4.625 TB/s.
    EXPECT_THAT(text(report(1e-5, 1e-5, 1, 1 << 17)),
                AllOf(HasSubstr("2: cpu_flash took 10.0 µs"), HasSubstr("3: cpu_flash took"),
                      HasSubstr("3: torch_cpu took 10.0 µs"),
                      HasSubstr("less than the 14.5 µs that the compulsory bytes of the problem")));
    EXPECT_THAT(text(report(1e-4, 1e-5, 1, 1 << 17)), StartsWith("3: torch_cpu took 10.0 µs"));
    EXPECT_EQ(text(report(1.45e-5, 1.45e-5, 1, 1 << 17)), "");
}

TEST_F(Bound, a_cold_time_needs_the_operations_on_the_fastest_engine_of_the_type) {
    // 4 · 8 · 16384² · 64 = 550 GFLOP take 590 µs at 932 TFLOP/s in bursts; e4m3 does not count.
    EXPECT_THAT(text(report(5e-4, 1e-3, 1 << 14, 1 << 14)),
                AllOf(HasSubstr("2: cpu_flash took 500 µs"),
                      HasSubstr("less than the 590 µs that the operations of the problem take")));
    EXPECT_EQ(text(report(6e-4, 6e-4, 1 << 14, 1 << 14)), "");
}

TEST_F(Bound, a_warm_time_is_marked_and_not_refused) {
    const ReceiptReport made = report(1e-5, 1e-5, 1, 1 << 17, false);
    EXPECT_EQ(text(made), "");
    EXPECT_THAT(made.str(), HasSubstr("cpu_flash took 10.0 µs on"));
    EXPECT_THAT(made.str(), HasSubstr("it was warm, and ran from the cache"));
}

TEST_F(Bound, a_device_without_measured_ceilings_bounds_nothing) {
    device_ = "b200";
    name_ = "NVIDIA B200";
    EXPECT_EQ(text(report(1e-9, 1e-9, 1, 1 << 17)), "") << "a datasheet is no measurement";
}

TEST_F(Bound, ceilings_of_the_file_come_before_the_committed_ones) {
    CeilingRow slow;
    slow.device = {.id = "h200", .name = "NVIDIA H200", .driver = ""};
    slow.ceiling.resource = "byte.dram_read";
    slow.ceiling.value = 1e9;
    const auto of = [&](const Json& more) {
        CompulsoryBound bound;
        CeilingRow row = slow;
        row.more = more;
        bound.take(row);
        return bound.of(row_from_json<RowCase>(about(1, 1 << 17, true)))->seconds;
    };
    EXPECT_GT(of(Json::object()), 0.06);
    EXPECT_LT(of(Json{{"memory", {{"kernel", "x"}}}}), 2e-5) << "of a library: no ceiling";
}

}  // namespace
}  // namespace raceline
