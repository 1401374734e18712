// SPDX-License-Identifier: Apache-2.0
// Every suite is predicted for every device: each problem has a bound, and a time by at least one
// kernel wherever the API would run one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "api/engine_choice.hpp"
#include "command_line.hpp"
#include "device/catalog.hpp"
#include "model/rates.hpp"
#include "receipt/row.hpp"
#include "support/check.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

// What the command prints, without starting a process for it.
std::vector<Json> predicted(const std::string& suite, const std::string& device) {
    const std::array<const char*, 7> words{"raceline",    "predict",  "--json",      "--suite",
                                           suite.c_str(), "--device", device.c_str()};
    cli::CommandLine line = cli::parse_command_line(static_cast<int>(words.size()), words.data());
    line.options.context =
        RowContext::of_this_process(static_cast<int>(words.size()), words.data());
    testing::internal::CaptureStdout();
    int exit = -1;
    try {
        exit = line.run(line.options);
    } catch (const Error& error) {
        ADD_FAILURE() << suite << " on " << device << ": " << error.what();
    }
    std::istringstream out(testing::internal::GetCapturedStdout());
    EXPECT_EQ(exit, 0) << suite << " on " << device;
    std::vector<Json> rows;
    for (std::string text; std::getline(out, text);) {
        rows.push_back(Json::parse(text));
    }
    return rows;
}

bool api_would_run(const Workload& workload, const Device& device) {
    try {
        std::ignore = api::choose_engine(workload, device, 0, {.backend = {}, .must_run = false});
        return true;
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::unsupported) << error.what();
        return false;
    }
}

void expect_bound(const Json& bound, const std::string& where) {
    EXPECT_GT(bound.at("seconds"), 0) << where;
    EXPECT_NE(bound.at("limiter"), "") << where;
    EXPECT_NE(bound.at("engine"), "") << where;
    EXPECT_NE(bound.at("rates"), "") << where;
    EXPECT_GT(bound.at("ridge"), 0) << where;
}

void expect_row(const Json& row, const std::string& where) {
    if (row.at("kind") == "bound") {
        expect_bound(row.at("bound"), where);
        return;
    }
    ASSERT_EQ(row.at("kind"), "prediction") << where;
    expect_bound(row.at("bound"), where);
    const Json& prediction = row.at("prediction");
    EXPECT_NE(prediction.at("limiter"), "") << where;
    EXPECT_GT(prediction.at("seconds"), 0) << where;
    // No kernel passes the bound, neither by the model nor with committed errors taken out.
    const double bound = row.at("bound").at("seconds").get<double>() * (1 - 1e-9);
    EXPECT_GE(prediction.at("seconds"), bound) << where << ' ' << row.at("kernel");
    EXPECT_GE(prediction.at("expected_seconds"), bound) << where << ' ' << row.at("kernel");
    EXPECT_FALSE(row.at("rates").empty()) << where;
    for (const auto& [resource, origin] : row.at("rates").items()) {
        EXPECT_NE(origin, "") << where << ' ' << resource;
    }
}

// What goes at the units' clock takes no less than at the clock that the row says. A call's
// launches may have clocks of their own, of which a row has the longest one's.
void expect_clock_is_kept(const Json& prediction, const Device& device, const std::string& where) {
    const double slower = device.clock_hz / prediction.at("sm_clock_hz").get<double>();
    for (const auto& [resource, seconds] : prediction.at("layer1").items()) {
        if (goes_by_unit_clock(resource) && !is_matrix(resource)) {
            EXPECT_GE(prediction.at("seconds").get<double>() * 1.02, seconds.get<double>() * slower)
                << where << ' ' << resource;
        }
    }
}

class EveryDevice : public testing::TestWithParam<std::string> {};

TEST_P(EveryDevice, predicts_every_suite) {
    const std::string& id = GetParam();
    Device device = datasheet_device(id);
    apply_committed_rates(device);
    std::vector<std::string> suites = suite_names();
    suites.insert(suites.end(), {"random:7", "serving:7", "operations:7", "operations-any:7",
                                 "layer:llama3-8b:decode=8x1024"});
    for (const std::string& suite : suites) {
        std::size_t bounds = 0;
        std::set<std::string> promised, answered;  // problems
        for (const Json& row : predicted(suite, id)) {
            if (row.at("kind") == "device") {
                continue;  // of this very CPU, whose ceilings nobody committed
            }
            const Workload workload = workload_from_json(row.at("workload"));
            const std::string where = suite + " on " + id + ": " + format_shape(workload);
            expect_row(row, where);
            if (row.at("kind") == "prediction") {
                answered.insert(where);
                if (device.power.sets_clock()) {
                    expect_clock_is_kept(row.at("prediction"), device, where);
                }
            }
            if (row.at("kind") == "bound") {
                ++bounds;
                if (!row.contains("unserved")) {
                    promised.insert(where);
                }
                EXPECT_EQ(row.contains("unserved"), !row.value("unserved", Json()).empty());
                if (row.contains("unserved")) {
                    EXPECT_FALSE(api_would_run(workload, device)) << where;
                    for (const auto& [kernel, reason] : row.at("unserved").items()) {
                        EXPECT_NE(reason, "") << where << ' ' << kernel;
                    }
                }
            }
        }
        EXPECT_GE(bounds, 1U) << suite << " on " << id;
        EXPECT_EQ(promised, answered) << suite << " on " << id;
    }
}

// A freeze asks what a model was not made on only if some kernel serves it. Of products in fp16
// oneDNN on a CPU says why it has none.
TEST(AnyOperations, are_served_wherever_freezes_run) {
    for (const char* device : {"h200", "cpu"}) {
        for (int seed = 0; seed < 10; ++seed) {
            for (const Json& row : predicted(fmt::format("operations-any:{}", seed), device)) {
                const bool product_on_cpu = device == std::string_view("cpu") &&
                                            row.contains("unserved") &&
                                            row.at("workload").at("op") == "linear" &&
                                            row.at("workload").at("dtype") == "fp16";
                EXPECT_TRUE(product_on_cpu || !row.contains("unserved"))
                    << device << ": " << row.dump();
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Device, EveryDevice, testing::ValuesIn(device_ids()), [](const auto& one) {
    std::string name = one.param;
    std::ranges::replace(name, '-', '_');
    return name;
});

}  // namespace
}  // namespace raceline
