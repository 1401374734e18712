// SPDX-License-Identifier: Apache-2.0
#include "report/machines.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/receipt_diff.hpp"
#include "report/timed_rows.hpp"

namespace raceline {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<Json> rows_of(const std::string& name) {
    return read_timed_rows({std::string(RACELINE_SOURCE_DIR) + "/receipts/cpu/" + name}).rows;
}
const std::string avx2 = "2026-11-25-quickstart-10ce1dc4c1bd.jsonl.gz";
const std::string avx512 = "2026-11-23-random-1261355047-4b2ec0278ce6.jsonl.gz";

// The run of the one machine, and as if it had been run on another one of that name.
std::vector<Json> also_on(const std::function<void(Json& state)>& another) {
    std::vector<Json> rows = rows_of(avx2);
    const std::size_t count = rows.size();
    for (std::size_t i = 0; i < count; ++i) {
        Json row = rows[i];
        for (const char* const id : {"id", "prediction_id"}) {
            if (row.contains(id)) {
                std::string of = row.at(id).get<std::string>();
                std::ranges::reverse(of);
                row[id] = of;
            }
        }
        if (row.at("kind") == "device") {
            row["state"]["rates_id"] = "another";
            another(row["state"]);
        } else if (row.contains("prediction")) {
            row["prediction"]["rates_id"] = "another";
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::set<std::string> devices_of(const TimedRows& rows) {
    std::set<std::string> devices;
    for (const TimedCase& one : rows.cases) {
        devices.insert(one.device);
    }
    return devices;
}

TEST(Machines, of_one_name_are_told_apart_where_both_appear) {
    std::vector<Json> rows = rows_of(avx2);
    EXPECT_THAT(devices_of(timed_rows_of(rows)), UnorderedElementsAre("cpu (AMD EPYC)"));
    for (Json& row : rows_of(avx512)) {
        rows.push_back(std::move(row));
    }
    const TimedRows both = timed_rows_of(rows);
    EXPECT_THAT(devices_of(both),
                UnorderedElementsAre("cpu (AMD EPYC, 256-bit SIMD, 512 KiB of L2)",
                                     "cpu (AMD EPYC, 512-bit SIMD, 1 MiB of L2)"));
    for (const TimedCase& one : both.cases) {
        const Device* stated = stated_device_of(both, one);
        ASSERT_NE(stated, nullptr);
        EXPECT_EQ(one.device.find("512-bit") != std::string::npos, stated->simd_bits == 512);
    }
}

// Cores are those in use, so that they alone tell of no other machine.
TEST(Machines, are_told_apart_by_cores_with_the_memory_that_comes_with_them) {
    EXPECT_THAT(devices_of(timed_rows_of(also_on([](Json& state) { state["units"] = 8; }))),
                UnorderedElementsAre("cpu (AMD EPYC)"));
    EXPECT_THAT(devices_of(timed_rows_of(also_on([](Json& state) {
                    state["units"] = 8;
                    state["memory_bytes"] = 4 * state["memory_bytes"].get<std::int64_t>();
                }))),
                UnorderedElementsAre("cpu (AMD EPYC, 2 cores, 25.0 GB of memory)",
                                     "cpu (AMD EPYC, 8 cores, 100 GB of memory)"));
}

TEST(Machines, that_no_row_states_keep_their_name) {
    std::vector<Json> rows = also_on([](Json& state) { state["llc_bytes"] = 1 << 24; });
    for (Json& row : rows) {
        if (row.contains("prediction") && row["prediction"]["rates_id"] == "another") {
            row["prediction"]["rates_id"] = "unknown";
        }
    }
    const TimedRows read = timed_rows_of(rows);
    EXPECT_THAT(
        devices_of(read),
        UnorderedElementsAre("cpu (AMD EPYC)", "cpu (AMD EPYC, 32 MiB of last-level cache)"));
    EXPECT_NE(last_stated(read, "cpu (AMD EPYC)"), nullptr);
}

TEST(Machines, of_a_diff_are_matched_with_a_note_or_by_what_tells_them_apart) {
    const TimedRows first = timed_rows_of(rows_of(avx2));
    const std::vector<Json> on_both = also_on([](Json& state) { state["llc_bytes"] = 1 << 24; });
    const std::size_t half = on_both.size() / 2;
    const TimedRows second =
        timed_rows_of({on_both.begin() + static_cast<long>(half), on_both.end()});
    const ReceiptDiff other = diff_of(first, second);
    EXPECT_EQ(other.cases.size(), first.cases.size());
    EXPECT_THAT(other.notes, Contains("after: cpu (AMD EPYC) has 16 MiB of last-level cache: "
                                      "another machine of that name"));
    // Of two machines on one side each stands beside itself.
    const ReceiptDiff same = diff_of(first, timed_rows_of(on_both));
    EXPECT_EQ(same.cases.size(), first.cases.size());
    EXPECT_EQ(same.only_after.size(), first.cases.size());
    for (const CaseDiff& one : same.cases) {
        EXPECT_THAT(one.after.device, HasSubstr("32 MiB"));
        EXPECT_EQ(one.before.device, one.after.device);
    }
}

}  // namespace
}  // namespace raceline
