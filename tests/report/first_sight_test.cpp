// SPDX-License-Identifier: Apache-2.0
// Three classes, judged by what was measured before, whoever wrote it down.
#include "report/first_sight.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/receipt/example_rows.hpp"

namespace raceline {
namespace {

PastMeasurement measured(const std::string& kernel, int seqlen_k, const std::string& written) {
    Json row = example::with_case(Json{{"kind", "measurement"}, {"written", written}});
    row["kernel"] = kernel;
    row["workload"]["seqlen_k"] = seqlen_k;
    return measured_by(row);
}

std::vector<std::string> itself(std::string_view kernel) {
    return {std::string(kernel)};
}

// As tools/residuals.cpp embeds it.
struct Committed {
    explicit Committed(std::span<const PastMeasurement> of) {
        add_first_dates(dates, of);
        for (const auto& [key, written] : dates) {
            sights.push_back({key, written});
        }
    }
    FirstDates dates;
    std::vector<build_info::EmbeddedSight> sights;
};

TEST(FirstSight, has_three_classes) {
    const std::vector<PastMeasurement> past{measured("cpu_flash", 512, "2026-01-02")};
    const Committed committed(past);
    const FirstSights sights(committed.sights, itself);
    EXPECT_EQ(sights.of(measured("simt", 512, "2026-01-03"), "2026-01-03"), Sight::new_kernel);
    EXPECT_EQ(sights.of(measured("cpu_flash", 513, "2026-01-03"), "2026-01-03"), Sight::new_case);
    EXPECT_EQ(sights.of(measured("cpu_flash", 512, "2026-01-03"), "2026-01-03"), Sight::seen);
}

TEST(FirstSight, is_judged_by_what_was_written_before_and_never_by_the_row_itself) {
    const std::vector<PastMeasurement> past{measured("cpu_flash", 512, "2026-01-02")};
    const Committed committed(past);
    FirstSights sights(committed.sights, itself);
    EXPECT_EQ(sights.of(past[0], "2026-01-02"), Sight::new_kernel);
    sights.add(past);  // the committed file, named on the command line
    EXPECT_EQ(sights.of(past[0], "2026-01-02"), Sight::new_kernel);
    EXPECT_EQ(sights.of(measured("cpu_flash", 512, "2026-01-01"), "2026-01-01"), Sight::new_kernel)
        << "what was measured later teaches nothing";
}

TEST(FirstSight, a_kernel_is_known_from_another_run_only) {
    const std::vector<PastMeasurement> run{measured("simt", 512, "2026-01-02"),
                                           measured("simt", 513, "2026-01-03")};
    FirstSights sights({}, itself);
    sights.add(run);
    EXPECT_EQ(sights.of(run[1], "2026-01-02"), Sight::new_kernel) << "of the run that began then";
    EXPECT_EQ(sights.of(run[1], "2026-01-03"), Sight::new_case) << "of a run of its own";
}

TEST(FirstSight, knows_a_kernel_by_each_of_its_names) {
    const std::vector<PastMeasurement> past{measured("old", 512, "2026-01-02")};
    const Committed committed(past);
    const FirstSights sights(committed.sights, [](std::string_view kernel) {
        return kernel == "new" ? std::vector<std::string>{"new", "old"} : itself(kernel);
    });
    EXPECT_EQ(sights.of(measured("new", 512, "2026-01-03"), "2026-01-03"), Sight::seen);
    EXPECT_EQ(sights.of(measured("new", 513, "2026-01-03"), "2026-01-03"), Sight::new_case);
    EXPECT_EQ(sights.of(measured("other", 512, "2026-01-03"), "2026-01-03"), Sight::new_kernel);
}

TEST(FirstSight, the_tile_the_driver_and_the_suite_are_no_part_of_the_case) {
    PastMeasurement a = measured("cpu_flash", 512, "2026-01-02");
    PastMeasurement b = a;
    b.tile = Json{{"m", 1}};
    b.suite = "another";
    b.device["driver"] = "2";
    EXPECT_EQ(sight_keys(a, a.kernel).of_case, sight_keys(b, b.kernel).of_case);
}

TEST(FirstSight, a_device_is_a_processor_where_an_id_is_of_many) {
    EXPECT_EQ(sight_device({{"id", "h200"}, {"name", "H200"}, {"driver", "1"}}),
              sight_device({{"id", "h200"}, {"name", "NVIDIA H200"}, {"driver", "2"}}));
    EXPECT_EQ(sight_device({{"id", "cpu"}, {"name", " One  CPU "}}),
              sight_device({{"id", "cpu"}, {"name", "One CPU"}}));
    EXPECT_NE(sight_device({{"id", "cpu"}, {"name", "One"}}),
              sight_device({{"id", "cpu"}, {"name", "Another"}}));
    PastMeasurement a = measured("cpu_flash", 512, "2026-01-02");
    PastMeasurement b = a;
    b.device["name"] = "Another CPU";
    EXPECT_NE(sight_keys(a, a.kernel).kernel, sight_keys(b, b.kernel).kernel);
    EXPECT_NE(sight_keys(a, a.kernel).of_case, sight_keys(b, b.kernel).of_case);
}

std::string normalised(const Json& row) {
    return normalised_case(row.at("workload"), row.at("case"), row.value("op", "attention"),
                           row.value("pass", "forward"))
        .dump();
}

TEST(NormalisedCase, leaves_out_what_says_nothing) {
    const Json row = example::with_case(Json::object());
    const std::string as_written = normalised(row);
    EXPECT_EQ(normalised(example::as_schema_1(row)), as_written);
    Json other = row;
    other["workload"].update(Json{{"softcap", 0}, {"later", nullptr}, {"another", 0}});
    other["workload"].update(Json{{"accuracy", "accurate"}, {"lengths", Json::array()}});
    other["workload"].erase("page_size");
    other["workload"].erase("sinks");
    other["case"].erase("regime");
    other["case"]["later"] = false;
    EXPECT_EQ(normalised(other), as_written);
    other = row;
    other["workload"]["heads_kv"] = other["workload"]["heads_q"];
    Json shorter = other;
    for (const char* member : {"heads_kv", "headdim_v", "kv_dtype", "batch"}) {
        shorter["workload"].erase(member);
    }
    EXPECT_EQ(normalised(shorter), normalised(other));
}

// Each changes nothing of what was asked for, so none may make a case that nobody has measured.
TEST(NormalisedCase, says_one_problem_in_one_way) {
    Json row = example::with_case(Json::object());
    row["workload"]["window"] = nullptr;
    const std::string plain = normalised(row);
    const Json members{{"accuracy", "fast"},
                       {"scale", 0.1250000001},  // of head dim 64
                       {"window", {511, 0}},
                       {"seqlens_q", {128}},
                       {"seqlens_k", {512}}};
    for (const auto& [member, value] : members.items()) {
        Json other = row;
        other["workload"][member] = value;
        EXPECT_EQ(normalised(other), plain) << member;
        other["workload"]["later"] = 1;
        EXPECT_NE(normalised(other), plain) << "a member that this version does not know";
    }
}

// How a case was run is no part of it: measured cold, its time warm is no first sight.
TEST(NormalisedCase, leaves_out_how_a_case_was_run_and_on_which_inputs) {
    const Json row = example::with_case(Json::object());
    const Json circumstances{
        {"cold", false}, {"regime", "alone"}, {"launch_path", "stream"}, {"threads", 3}};
    for (const auto& [member, value] : circumstances.items()) {
        Json other = row;
        other["case"][member] = value;
        EXPECT_EQ(normalised(other), normalised(row)) << member;
    }
    Json seeded = example::row("measurement");
    seeded["correctness"]["seed"] = 2;
    Json otherwise = seeded;
    otherwise["correctness"]["seed"] = 3;
    EXPECT_EQ(sight_keys(measured_by(seeded), "cpu_flash").of_case,
              sight_keys(measured_by(otherwise), "cpu_flash").of_case);
}

TEST(NormalisedCase, keeps_what_makes_another_case) {
    const Json row = example::with_case(Json::object());
    const std::string as_written = normalised(row);
    const auto differs = [&](const char* object, const char* member, const Json& value) {
        Json other = row;
        other[object][member] = value;
        EXPECT_NE(normalised(other), as_written) << member;
    };
    const Json other_values{{"batch", 2},      {"heads_kv", 4},      {"kv_dtype", "e4m3"},
                            {"headdim_v", 32}, {"window", {126, 0}}, {"dtype", "fp16"},
                            {"softcap", 30.5}, {"sinks", true},      {"page_size", 16},
                            {"scale", 0.126},  {"mla", true},        {"later", 1}};
    for (const auto& [member, value] : other_values.items()) {
        differs("workload", member.c_str(), value);
    }
    differs("workload", "window", nullptr);
    differs("case", "later", 1);
    Json backward = row;
    backward["pass"] = "backward";
    EXPECT_NE(normalised(backward), as_written);
}

TEST(StartsOfRuns, are_of_the_first_row_of_each_command) {
    std::vector<Json> rows(4, example::row("measurement"));
    rows[0]["written"] = "2026-01-02";
    rows[1]["written"] = "2026-01-01";
    rows[2]["written"] = "2026-01-03";
    rows[3]["written"] = "2026-01-04";
    rows[2]["argv"] = {"raceline", "bench", "--suite", "another"};
    const auto starts = starts_of_runs(rows);
    ASSERT_EQ(starts.size(), 2U);
    EXPECT_EQ(starts.at(run_of(rows[0])), "2026-01-01");
    EXPECT_EQ(starts.at(run_of(rows[2])), "2026-01-03");
}

}  // namespace
}  // namespace raceline
