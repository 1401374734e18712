// SPDX-License-Identifier: Apache-2.0
// The list of published times that predictions are held against: what it names is there, and no
// published time is under the bound.
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "device/catalog.hpp"
#include "model/speed_of_light.hpp"
#include "registry/registry.hpp"
#include "report/docs_tables.hpp"
#include "support/json.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

Json published() {
    std::ifstream in(RACELINE_SOURCE_DIR "/docs/published.json");
    return Json::parse(in);
}

TEST(Published, names_three_shapes_a_device_that_its_kernel_can_be_predicted_on) {
    const Json list = published();
    std::set<std::string> devices;
    std::set<std::string> sources;
    for (const Json& entry : list.at("entries")) {
        const auto id = entry.at("device").get<std::string>();
        devices.insert(id);
        EXPECT_TRUE(sources.insert(id + entry.at("source").get<std::string>()).second)
            << id << " stands there twice";
        EXPECT_FALSE(entry.at("source").get<std::string>().empty()) << id;
        EXPECT_FALSE(entry.at("library").get<std::string>().empty()) << id;
        Device device = datasheet_device(id);
        apply_committed_rates(device);
        const Kernel& kernel = find_kernel(entry.at("kernel").get<std::string>());
        std::set<std::string> shapes;
        for (const Json& shape : entry.at("shapes")) {
            const auto text = shape.at("shape").get<std::string>();
            const Workload w = parse_shape(text);
            EXPECT_EQ(format_shape(w), text) << id;
            EXPECT_EQ(why_not(kernel, w, device), "") << id << ' ' << text;
            shapes.insert(text);
        }
        EXPECT_EQ(shapes.size(), 3U) << id;
    }
    for (const Json& missing : list.at("without_source")) {
        const auto id = missing.at("device").get<std::string>();
        EXPECT_TRUE(devices.insert(id).second) << id << " has a source";
        EXPECT_NO_THROW(datasheet_device(id));
        EXPECT_FALSE(missing.at("why").get<std::string>().empty()) << id;
    }
    // Those that the comparison is about.
    for (const char* id : {"a100-80", "rtx4090", "l4", "h100-sxm", "b200"}) {
        EXPECT_TRUE(devices.contains(id)) << id;
    }
}

// Of today's model; what it said when the figures were not yet copied stands beside them.
TEST(Published, times_are_within_a_quarter_but_for_those_of_blackwell) {
    DocsEvidence evidence(RACELINE_SOURCE_DIR);
    std::istringstream table(docs_published(evidence));
    std::size_t rows = 0;
    bool blackwell = false;
    for (std::string line; std::getline(table, line);) {
        const std::size_t end = line.rfind(" % |");
        if (end == std::string::npos) {
            blackwell = line.starts_with("**") ? line.find("B200") != std::string::npos : blackwell;
            continue;
        }
        const std::size_t begin = line.rfind("| ", end) + 2;
        const double percent = std::stod(line.substr(begin, end - begin));
        if (!blackwell) {
            EXPECT_LE(std::abs(percent), 25) << line;
            ++rows;
        }
    }
    EXPECT_EQ(rows, 21U);
}

// A library that beats the bound of the problem has
// found a fault in the device's rates.
TEST(Published, no_published_time_is_under_the_bound) {
    const Json list = published();
    for (const Json& entry : list.at("entries")) {
        Device device = datasheet_device(entry.at("device").get<std::string>());
        apply_committed_rates(device);
        for (const Json& one : entry.at("shapes")) {
            const Workload w = parse_shape(one.at("shape").get<std::string>());
            if (!one.contains("published_flops_per_second")) {
                continue;  // its figure is not copied yet
            }
            const double seconds = w.flops() / one.at("published_flops_per_second").get<double>();
            const LaunchCase how{.cold = false, .launch_path = "stream", .threads = 0};
            EXPECT_GE(seconds, speed_of_light(device, w, how).seconds)
                << device.id << ' ' << format_shape(w);
        }
    }
}

}  // namespace
}  // namespace raceline
