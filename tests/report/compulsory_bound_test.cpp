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
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
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
    // 4 · 8 · 16384² · 64 = 550 GFLOP take 589 µs at 933 TFLOP/s in bursts; e4m3 does not count.
    EXPECT_THAT(text(report(5e-4, 1e-3, 1 << 14, 1 << 14)),
                AllOf(HasSubstr("2: cpu_flash took 500 µs"),
                      HasSubstr("less than the 589 µs that the operations of the problem take")));
    EXPECT_EQ(text(report(6e-4, 6e-4, 1 << 14, 1 << 14)), "");
}

TEST_F(Bound, a_warm_time_is_marked_and_not_refused) {
    const ReceiptReport made = report(1e-5, 1e-5, 1, 1 << 17, false);
    EXPECT_EQ(text(made), "");
    EXPECT_THAT(made.str(), HasSubstr("cpu_flash took 10.0 µs on"));
    EXPECT_THAT(made.str(), HasSubstr("it was warm, and ran from the cache"));
}

// The cache helps against DRAM, not against multiplying.
TEST_F(Bound, a_warm_time_needs_the_operations_all_the_same) {
    EXPECT_THAT(text(report(5e-4, 1e-3, 1 << 14, 1 << 14, false)),
                AllOf(HasSubstr("2: cpu_flash took 500 µs"),
                      HasSubstr("less than the 589 µs that the operations of the problem take")));
    EXPECT_EQ(text(report(6e-4, 6e-4, 1 << 14, 1 << 14, false)), "");
}

TEST_F(Bound, a_device_without_measured_ceilings_bounds_nothing) {
    device_ = "b200";
    name_ = "NVIDIA B200";
    const ReceiptReport made = report(1e-9, 1e-9, 1, 1 << 17);
    EXPECT_EQ(text(made), "") << "a datasheet is no measurement";
    EXPECT_THAT(made.notes(), Contains(HasSubstr("cold times of NVIDIA B200 are not held to "
                                                 "ceilings: none are known")));
}

// A file's own ceilings: they decide nothing that committed ones say otherwise.
class OwnCeilings : public Bound {
protected:
    [[nodiscard]] CeilingRow ceiling(const char* resource, double value) const {
        CeilingRow row;
        row.device = {.id = device_, .name = name_, .driver = ""};
        row.ceiling.resource = resource;
        row.ceiling.value = value;
        row.ceiling.unit = "byte/s";
        return row;
    }
    [[nodiscard]] double least(CompulsoryBound& bound, int queries = 1) const {
        const auto found = bound.of(row_from_json<RowCase>(about(queries, 1 << 17, true)));
        return found ? found->seconds : 0;
    }
};

TEST_F(OwnCeilings, replace_committed_ones_that_they_resemble) {
    CompulsoryBound plain;
    const double before = least(plain);
    CompulsoryBound bound;
    bound.take(ceiling("byte.dram_read", 4.9e12));
    EXPECT_LT(least(bound), 0.97 * before);
    EXPECT_GT(least(bound), 0.9 * before);
    EXPECT_THAT(bound.remarks(), IsEmpty());
}

TEST_F(OwnCeilings, that_are_a_tenth_off_are_not_used_and_said) {
    CompulsoryBound plain;
    const double before = least(plain);
    for (const double value : {1e9, 4.1e12, 5.2e12, 1e18}) {
        CompulsoryBound bound;
        bound.take(ceiling("byte.dram_read", value));
        EXPECT_EQ(least(bound), before) << value;
        EXPECT_THAT(bound.remarks(),
                    ElementsAre(AllOf(StartsWith("the ceiling byte.dram_read of NVIDIA H200 is "),
                                      HasSubstr(" TB/s among the committed ones: cold times are "
                                                "held to those"))));
    }
}

// Each within a tenth of the one before.
TEST_F(OwnCeilings, cannot_climb_in_steps) {
    CompulsoryBound bound;
    bound.take(ceiling("byte.dram_read", 5.0e12));
    const double once = least(bound);
    bound.take(ceiling("byte.dram_read", 5.4e12));
    EXPECT_EQ(least(bound), once);
    EXPECT_THAT(bound.remarks(), SizeIs(1));
}

TEST_F(OwnCeilings, of_an_engine_that_nobody_committed_do_not_count) {
    CompulsoryBound plain;
    const double before = least(plain, 1 << 14);
    CompulsoryBound bound;
    bound.take(ceiling("flop.wonder.bf16", 1e20));
    EXPECT_EQ(least(bound, 1 << 14), before);
    EXPECT_THAT(bound.remarks(), ElementsAre(HasSubstr("and not among the committed ones")));
}

TEST_F(OwnCeilings, are_all_there_is_of_another_device) {
    device_ = "cpu";
    name_ = "some other CPU";
    CompulsoryBound bound;
    EXPECT_EQ(least(bound), 0);
    EXPECT_THAT(bound.remarks(), ElementsAre("cold times of some other CPU are not held to "
                                             "ceilings: none are known"));
    CompulsoryBound own;
    own.take(ceiling("byte.dram_read", 1e9));
    EXPECT_GT(least(own), 0.06);
    EXPECT_THAT(own.remarks(), IsEmpty());
}

TEST_F(OwnCeilings, of_a_library_are_none) {
    device_ = "cpu";
    name_ = "some other CPU";
    CompulsoryBound bound;
    CeilingRow row = ceiling("byte.dram_read", 1e9);
    row.more = Json{{"memory", {{"kernel", "x"}}}};
    bound.take(row);
    EXPECT_EQ(least(bound), 0);
}

TEST_F(OwnCeilings, that_are_too_high_let_no_time_pass_in_a_report) {
    const CeilingRow high = ceiling("byte.dram_read", 1e18);
    ReceiptWriter(path()).append(
        make_row(example::context(), CeilingRow::kind, "", row_to_json(high)));
    const ReceiptReport made = report(1e-5, 1e-4, 1, 1 << 17);
    EXPECT_THAT(text(made), HasSubstr("3: cpu_flash took 10.0 µs"));
    EXPECT_THAT(made.notes(), Contains(HasSubstr("the ceiling byte.dram_read of NVIDIA H200 is "
                                                 "1.00 EB/s")));
}

}  // namespace
}  // namespace raceline
