// SPDX-License-Identifier: Apache-2.0
// Where a page's ceilings come from: each value opens the row that holds it.
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include "device/catalog.hpp"
#include "device/device_state.hpp"
#include "page/page_parts.hpp"
#include "plot/roofs.hpp"
#include "receipt/file.hpp"
#include "receipt/stored_text.hpp"

namespace raceline {
namespace {

const std::string receipts = std::string(RACELINE_SOURCE_DIR) + "/receipts/";

class Provenance : public testing::Test {
protected:
    Provenance() {
        std::string form = (std::filesystem::temp_directory_path() / "page-XXXXXX").string();
        folder_ = mkdtemp(form.data());
    }
    ~Provenance() override { std::filesystem::remove_all(folder_); }

    // Committed ceilings with half of each value, as another card of the same name may have.
    std::string halved(const std::string& path) {
        const std::string file = folder_ / "half.jsonl";
        ReceiptWriter writer(file);
        for (Json row : read_receipts(path).rows) {
            row.erase("hash");
            row.erase("prev");
            row["schema"] = 2;
            row["ceiling"]["value"] = row["ceiling"]["value"].get<double>() / 2;
            row["ceiling"]["limit"] = row["ceiling"].value("limit", 0.0) / 2;
            writer.append(std::move(row));
        }
        return file;
    }

    static Json rates_of(const std::vector<std::string>& files, const std::string& device) {
        rows_ = {};
        text_ = {};
        for (const std::string& file : files) {
            text_.add(file);
        }
        rows_ = timed_rows_of(text_.rows());
        KnownDevices devices(rows_);
        return provenance_json(rows_, text_, devices).at("rates").at(device);
    }

    // What the row says that a value opens.
    static double in_row(const Json& rate) {
        for (const Json& row : text_.rows()) {
            if (place_json(text_, row.at("id").get<std::string>()) == rate.at("row")) {
                EXPECT_EQ(row.at("ceiling").at("resource"), rate.at("resource"));
                return row.at("ceiling").at("value").get<double>();
            }
        }
        return 0;
    }

    static void expect_each_opens_its_own(const Json& rates, std::size_t least) {
        std::size_t opened = 0;
        for (const Json& rate : rates) {
            if (!rate.at("row").is_null()) {
                EXPECT_EQ(rate.at("value").get<double>(), in_row(rate)) << rate;
                ++opened;
            }
        }
        EXPECT_GE(opened, least);
    }

    static void expect_roofs_are_listed(const Json& rates, const std::string& device) {
        std::set<double> values;
        for (const Json& rate : rates) {
            values.insert(rate.at("value").get<double>());
        }
        const Roofs roofs = roofs_of(device, rows_.cases.front().about.device, rows_);
        EXPECT_FALSE(roofs.memory.empty());
        for (const auto* list : {&roofs.memory, &roofs.engines}) {
            for (const Roof& roof : *list) {
                EXPECT_TRUE(values.contains(roof.rate)) << roof.resource;
            }
        }
    }

    std::filesystem::path folder_;
    static inline ReceiptText text_;
    static inline TimedRows rows_;
};

TEST_F(Provenance, committed_ceilings_open_their_rows) {
    const Json rates =
        rates_of({receipts + "h200/2026-11-23-prefill_mma-training-16k-4b2ec0278ce6.jsonl.gz",
                  receipts + "h200/ceilings.jsonl"},
                 "h200");
    expect_each_opens_its_own(rates, 20);
    expect_roofs_are_listed(rates, "h200");
}

TEST_F(Provenance, other_ceilings_of_the_files_stand_beside_the_committed_ones) {
    const Json rates =
        rates_of({receipts + "h200/2026-11-23-prefill_mma-training-16k-4b2ec0278ce6.jsonl.gz",
                  halved(receipts + "h200/ceilings.jsonl")},
                 "h200");
    expect_each_opens_its_own(rates, 20);
    expect_roofs_are_listed(rates, "h200");
}

TEST_F(Provenance, ceilings_of_a_cpu_are_those_of_its_file) {
    const std::string device = "cpu (Intel(R) Xeon(R) Processor @ 2.50GHz)";
    const Json rates = rates_of({receipts + "cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz",
                                 receipts + "cpu/2026-11-22-ceilings-f13186e093fd.jsonl.gz"},
                                device);
    expect_each_opens_its_own(rates, 15);
    expect_roofs_are_listed(rates, device);
}

// What the row of a device says of a rate.
double in_state(const Json& rate, const Json& place, const ReceiptText& text) {
    for (const Json& row : text.rows()) {
        if (place_json(text, row.at("id").get<std::string>()) == place) {
            const Json& rates = row.at("state").at("rates");
            return rates.at(rate.at("resource").get<std::string>()).at("value").get<double>();
        }
    }
    return 0;
}

// The predictions of a CPU rest on what its row says was measured, and not on a datasheet.
TEST_F(Provenance, ceilings_of_a_cpu_are_those_that_the_row_of_its_device_states) {
    const std::string device = "cpu (AMD EPYC)";
    const Json rates =
        rates_of({receipts + "cpu/2026-11-25-quickstart-10ce1dc4c1bd.jsonl.gz"}, device);
    std::size_t measured = 0;
    for (const Json& rate : rates) {
        if (rate.at("origin") == "measured, in a row of this page") {
            EXPECT_EQ(rate.at("value").get<double>(), in_state(rate, rate.at("row"), text_));
            ++measured;
        } else {
            EXPECT_EQ(rate.at("origin"), "datasheet") << rate;
            EXPECT_TRUE(rate.at("row").is_null()) << rate;
        }
    }
    EXPECT_GE(measured, 15U);
    expect_roofs_are_listed(rates, device);
    // Whoever reads a page, "here" is another machine.
    KnownDevices known(rows_);
    for (const auto& [source, origin] : what_if_json(rows_, known).at("origins").items()) {
        EXPECT_EQ(origin.get<std::string>().find("here"), std::string::npos) << source;
    }
}

// Rows that state another machine of its name say nothing of the one that these predictions rest
// on: no part of the page may show its ceilings as theirs.
TEST_F(Provenance, a_device_whose_ceilings_no_row_states_has_none_in_any_part) {
    const std::string device = "cpu (AMD EPYC)";
    const std::string file = receipts + "cpu/2026-11-25-quickstart-10ce1dc4c1bd.jsonl.gz";
    for (const std::size_t machines : {1U, 2U}) {
        std::vector<Json> rows = read_receipts(file).rows;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (rows[i].contains("prediction")) {
                rows[i]["prediction"]["rates_id"] =
                    "of another " + std::to_string(i / 2 % machines);
            }
        }
        const TimedRows read = timed_rows_of(rows);
        ASSERT_TRUE(read.stated.contains(device));
        const Json roofs = roofs_json(read).at(device);
        EXPECT_EQ(roofs.at("sets"), machines);
        EXPECT_TRUE(roofs.at("unstated").get<bool>());
        EXPECT_TRUE(roofs.at("memory").empty() && roofs.at("engines").empty());
        const std::string why =
            missing_roofs(roofs_of(device, read.cases.front().about.device, read));
        EXPECT_NE(why.find("no row states"), std::string::npos) << why;
        KnownDevices devices(read);
        EXPECT_TRUE(provenance_json(read, ReceiptText(), devices).at("rates").at(device).empty());
        EXPECT_FALSE(what_if_json(read, devices).at("devices").contains(device));
    }
    // As they were written all of them have it.
    const TimedRows stated =
        read_timed_rows({receipts + "cpu/2026-11-25-quickstart-10ce1dc4c1bd.jsonl.gz"});
    KnownDevices known(stated);
    EXPECT_FALSE(roofs_json(stated).at(device).at("unstated").get<bool>());
    EXPECT_TRUE(what_if_json(stated, known).at("devices").contains(device));
}

// Rows of devices say all of one as it was when they were written: rates that were measured since
// are not among theirs.
TEST_F(Provenance, what_if_asks_about_the_devices_that_predict_asks_about) {
    const TimedRows rows = read_timed_rows(stored_receipts(receipts));
    std::size_t with_state = 0;
    for (const Json& row : rows.rows) {
        with_state += row.at("kind") == DeviceRow::kind && row.contains("state") ? 1 : 0;
    }
    EXPECT_GT(with_state, 0U);
    KnownDevices known(rows);
    const Json what_if = what_if_json(rows, known);
    for (const std::string& id : device_ids()) {
        Device device = datasheet_device(id);
        apply_committed_rates(device);
        EXPECT_EQ(what_if.at("devices").at(id), device_state_to_json(device)) << id;
        EXPECT_FALSE(what_if.at("own").contains(id)) << id;
    }
    // A machine of one's own, as that of the CPU receipts, has no other place.
    EXPECT_GT(what_if.at("devices").size(), device_ids().size());
}

TEST_F(Provenance, what_is_no_rate_is_no_ceiling) {
    const Json rates =
        rates_of({receipts + "h200/2026-11-23-prefill_mma-training-16k-4b2ec0278ce6.jsonl.gz",
                  receipts + "h200/2026-11-23-e4m3-product-4b2ec0278ce6.jsonl.gz"},
                 "h200");
    for (const Json& rate : rates) {
        EXPECT_FALSE(rate.at("resource").get<std::string>().starts_with("gemm.")) << rate;
    }
}

}  // namespace
}  // namespace raceline
