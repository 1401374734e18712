// SPDX-License-Identifier: Apache-2.0
// What the committed receipts decide: engine, tile and band of every fixed suite on every device,
// and the corrections and bands of every kernel at fixed times. Compared with past_choices.json: a
// receipt that moves to receipts/index.jsonl must change nothing here.
//
// New receipts, another model, tile or suite change these answers rightly. Then write the file
// again, read its diff, and say in the commit what changed them:
//   RACELINE_RENEW_PAST_CHOICES=1 build/tests/test_api --gtest_filter='PastChoices.*'
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "run/past_errors.hpp"
#include "support/build_info.hpp"
#include "support/check.hpp"
#include "tune/best_tile.hpp"
#include "workload/suites.hpp"

namespace raceline::api {
namespace {

const std::filesystem::path golden_path =
    std::filesystem::path(RACELINE_SOURCE_DIR) / "tests/api/past_choices.json";

/// Every file of devices/, and the CPUs by the names that receipts know them by: "cpu" is all of
/// them, and only the same processor's errors count.
std::map<std::string, Device> devices() {
    std::map<std::string, Device> all;
    for (const std::string& id : device_ids()) {
        all.emplace(id, datasheet_device(id));
    }
    for (const auto& past : build_info::residuals()) {
        if (past.device_id == "cpu") {
            Device device = datasheet_device("cpu");
            device.name = past.device_name;
            all.emplace("cpu " + device.name, device);
        }
    }
    for (auto& [label, device] : all) {
        apply_committed_rates(device);
    }
    return all;
}

/// [low, high] of a prediction of one second, or null.
Json band_ratios(std::string_view kernel, const Device& device, bool cold, double seconds) {
    const auto band = committed_errors().band(kernel, device, cold, seconds);
    return band ? Json{band->low / seconds, band->high / seconds} : Json(nullptr);
}

/// The kernel and its tile's values, without their names: there are 4,400 of them in the file.
std::string short_text(const Kernel& kernel, int tile) {
    std::string text(kernel.name);
    for (const auto& [name, value] : kernel.tile(tile)) {
        text += " " + std::to_string(value);
    }
    return text;
}

/// "none" where no engine serves the workload; else engine and tile, and where receipts know the
/// engine on this device the band and the correction of the prediction, both over its seconds.
Json choice_of(const Workload& workload, const Device& device) {
    EngineChoice choice;
    try {
        choice = decide_engine(workload, device, 0, {.backend = {}, .must_run = false});
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::unsupported) << error.what();
        return "none";
    }
    const Kernel& kernel = *choice.kernel;
    const double seconds =
        predict(device, kernel.counts(workload, choice.tile, device), launch_case(device, 0))
            .seconds;
    const std::string tile = short_text(kernel, choice.tile);
    const double expected = committed_errors().expected(kernel.name, device, true, seconds);
    const Json band = band_ratios(kernel.name, device, true, seconds);
    return band.is_null() && expected == seconds ? Json(tile)
                                                 : Json{tile, band, expected / seconds};
}

/// A kernel that receipts know on this device: bands of the three regimes, and what a prediction of
/// 1 µs to 0.1 s is corrected by. No model has a part in these.
Json errors_of(std::string_view kernel, const Device& device) {
    Json of = Json::object();
    for (const bool cold : {true, false}) {
        Json bands = Json::array();
        Json corrections = Json::array();
        for (const double seconds : {10e-6, 50e-6, 1e-3}) {
            bands.push_back(band_ratios(kernel, device, cold, seconds));
        }
        for (double seconds = 1e-6; seconds < 0.11; seconds *= 3.1622776601683795) {
            corrections.push_back(committed_errors().expected(kernel, device, cold, seconds) /
                                  seconds);
        }
        const Json nothing{nullptr, nullptr, nullptr};
        if (bands != nothing || corrections.front() != 1 || corrections.back() != 1) {
            of[cold ? "cold" : "warm"] = Json{{"bands", bands}, {"corrections", corrections}};
        }
    }
    return of;
}

Json choices_today() {
    Json all = Json::object();
    for (const auto& [label, device] : devices()) {
        Json& of = all[label];
        for (const std::string& suite : suite_names(SuiteGroup::benchmark)) {
            for (const Workload& workload : make_suite(suite).workloads) {
                of["suites"][suite].push_back(choice_of(workload, device));
            }
        }
        for (const Kernel& kernel : all_kernels()) {
            if (Json errors = errors_of(kernel.name, device); !errors.empty()) {
                of["errors"][std::string(kernel.name)] = std::move(errors);
            }
        }
    }
    return all;
}

/// The same but for the last digits of a number: compilers differ there.
void compare(const Json& golden, const Json& now, const std::string& where) {
    if (golden.is_number() && now.is_number()) {
        EXPECT_NEAR(now.get<double>() / golden.get<double>(), 1, 1e-9) << where;
        return;
    }
    ASSERT_EQ(golden.type(), now.type()) << where << ": " << golden << " then, now " << now;
    ASSERT_EQ(golden.size(), now.size()) << where;
    if (golden.is_object()) {
        for (const auto& [name, value] : golden.items()) {
            ASSERT_TRUE(now.contains(name)) << where << ": no " << name << " any more";
            compare(value, now.at(name), fmt::format("{} / {}", where, name));
        }
    } else if (golden.is_array()) {
        for (std::size_t i = 0; i < golden.size(); ++i) {
            compare(golden[i], now[i], fmt::format("{} / {}", where, i));
        }
    } else {
        EXPECT_EQ(golden, now) << where;
    }
}

// One line a suite and one a kernel, so that a diff shows what changed.
void write(const Json& all) {
    std::ofstream out(golden_path);
    std::string before_device = "{";
    for (const auto& [label, of] : all.items()) {
        out << before_device << "\n" << Json(label) << ": {";
        before_device = ",";
        std::string before_group;
        for (const auto& [group, members] : of.items()) {
            out << before_group << "\n " << Json(group) << ": {";
            before_group = ",";
            std::string before_member;
            for (const auto& [name, value] : members.items()) {
                out << before_member << "\n  " << Json(name) << ": " << value.dump();
                before_member = ",";
            }
            out << "}";
        }
        out << "}";
    }
    out << "}\n";
}

TEST(PastChoices, are_those_of_the_time_when_every_receipt_was_a_file) {
    const Json now = choices_today();
    if (std::getenv("RACELINE_RENEW_PAST_CHOICES") != nullptr) {
        write(now);
        GTEST_SKIP() << golden_path << " was written again";
    }
    std::ifstream file(golden_path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Json golden = Json::parse(text, nullptr, false);
    ASSERT_TRUE(golden.is_object()) << golden_path;
    compare(golden, now, "");
}

}  // namespace
}  // namespace raceline::api
