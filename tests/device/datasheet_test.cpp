// SPDX-License-Identifier: Apache-2.0
// devices/*.json: every number has a source, and units x rate per clock x clock gives the peak.
#include "device/datasheet.hpp"

#include <cmath>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "device/catalog.hpp"
#include "raceline/error.hpp"
#include "support/json.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

constexpr double arithmetic_tolerance = 0.015;

// Rates whose file says in "arithmetic" why the vendor's figure is not the product. None today;
// one that is added must be named here as well.
const std::set<std::string> excused = {};

Json read_file(const std::string& id) {
    const std::string path = std::string(RACELINE_SOURCE_DIR) + "/devices/" + id + ".json";
    std::ifstream in(path);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    return parse_json(text, path);
}

bool is_compute(const std::string& resource) {
    return resource.starts_with("flop.") || resource.starts_with("op.");
}

TEST(Datasheet, EveryAskedDeviceIsThere) {
    EXPECT_THAT(device_ids(),
                testing::ElementsAre("a10", "a100-40", "a100-80", "b200", "b300", "cpu", "gh200",
                                     "h100-pcie", "h100-sxm", "h200", "l4", "l40s", "mi300x",
                                     "rtx3090", "rtx4090", "rtx5090", "t4", "v100"));
}

TEST(Datasheet, UnitsTimesRateTimesClockIsThePeak) {
    int checked = 0;
    for (const std::string& id : device_ids()) {
        const Json file = read_file(id);
        const double units = file.at("sizes").at("units").at("value").get<double>();
        for (const auto& [resource, rate] : file.at("rates").items()) {
            std::string which = id;
            which.append(" ").append(resource);
            if (is_compute(resource)) {
                ASSERT_TRUE(rate.contains("per_clock_per_unit")) << which;
            }
            if (!rate.contains("per_clock_per_unit")) {
                continue;
            }
            const double product = units * rate.at("per_clock_per_unit").at("value").get<double>() *
                                   rate.at("clock_hz").get<double>();
            const double off = std::abs(rate.at("value").get<double>() / product - 1);
            const bool excuse = excused.contains(which);
            EXPECT_EQ(excuse, rate.contains("arithmetic")) << which;
            EXPECT_EQ(excuse, off > arithmetic_tolerance)
                << which << ": " << rate.at("value") << " against " << product;
            ++checked;
        }
    }
    EXPECT_GT(checked, 150);
}

TEST(Datasheet, EveryNumberNamesUnitAndSource) {
    for (const std::string& id : device_ids()) {
        const Json file = read_file(id);
        EXPECT_EQ(file.at("id"), id);
        for (const char* group : {"sizes", "rates"}) {
            for (const auto& [key, entry] : file.at(group).items()) {
                EXPECT_FALSE(entry.at("unit").get<std::string>().empty()) << id << " " << key;
                EXPECT_FALSE(entry.at("source").get<std::string>().empty()) << id << " " << key;
            }
        }
    }
}

TEST(Datasheet, MatrixRatesStateDenseAndAccumulator) {
    for (const std::string& id : device_ids()) {
        const Device device = datasheet_device(id);
        for (const auto& [resource, rate] : device.rates) {
            const bool matrix =
                resource.starts_with("flop.wgmma") || resource.starts_with("flop.mma") ||
                resource.starts_with("flop.tcgen05") || resource.starts_with("flop.mfma");
            if (matrix) {
                EXPECT_THAT(rate.note, HasSubstr("dense")) << id << " " << resource;
                EXPECT_THAT(rate.note, HasSubstr("accumulator")) << id << " " << resource;
            }
            EXPECT_TRUE(rate.source.starts_with("datasheet: ")) << id << " " << resource;
        }
    }
}

// The figures that public tables get wrong, and the ridges that follow from them.
TEST(Datasheet, TheFiguresThatPublicTablesGetWrong) {
    const Device sxm = datasheet_device("h100-sxm");
    const Device h200 = datasheet_device("h200");
    EXPECT_NEAR(sxm.rate("flop.wgmma.fp16"), 989e12, 1e12);
    EXPECT_NEAR(sxm.rate("flop.wgmma.bf16") / sxm.rate("byte.dram_read"), 295, 1);
    EXPECT_NEAR(h200.rate("flop.wgmma.bf16") / h200.rate("byte.dram_read"), 206, 1);
    const Device consumer = datasheet_device("rtx3090");
    EXPECT_NEAR(consumer.rate("flop.mma.fp16"), 71e12, 1e12);
    EXPECT_NEAR(consumer.rate("flop.mma.fp16_acc16"), 142e12, 1e12);
    EXPECT_NEAR(datasheet_device("t4").rate("flop.mma.fp16") / 320e9, 203.125, 1e-9);
    EXPECT_NEAR(datasheet_device("t4").rate("flop.fma.fp32") / 320e9, 25.3125, 1e-9);
}

TEST(Datasheet, EnginesAreOnlyWhereTheyExist) {
    for (const std::string& id : device_ids()) {
        const Device device = datasheet_device(id);
        const int capability = device.compute_capability;
        const bool gpu = device.kind == DeviceKind::cuda;
        EXPECT_EQ(device.find("flop.wgmma.bf16").has_value(), capability == 90) << id;
        EXPECT_EQ(device.find("flop.tcgen05.bf16").has_value(),
                  capability == 100 || capability == 103)
            << id;
        EXPECT_EQ(device.find("flop.mma.bf16").has_value(), capability >= 80) << id;
        EXPECT_EQ(device.find("op.ex2").has_value(), device.kind != DeviceKind::cpu) << id;
        for (const char* resource :
             {"byte.dram_read", "byte.dram_write", "byte.dram_copy", "byte.l2", "flop.fma.fp32"}) {
            EXPECT_TRUE(device.find(resource).has_value()) << id << " " << resource;
        }
        if (gpu) {
            EXPECT_EQ(device.registers_per_unit, 65536) << id;
            EXPECT_GE(device.smem_bytes_per_unit, device.smem_bytes_per_cta) << id;
            EXPECT_EQ(device.llc_bytes, device.l2_bytes) << id;
        }
    }
}

TEST(Datasheet, IssueSlotsFollowFromSchedulersAndClock) {
    for (const std::string& id : device_ids()) {
        const Device device = datasheet_device(id);
        EXPECT_EQ(device.find("op.issue").has_value(), device.kind == DeviceKind::cuda) << id;
        if (device.kind == DeviceKind::cuda) {
            EXPECT_DOUBLE_EQ(device.rate("op.issue"), 128.0 * device.units * device.clock_hz) << id;
            // A multiply-add takes a slot: no device does more of them than it can issue.
            EXPECT_LE(device.rate("flop.fma.fp32") / 2, device.rate("op.issue") * 1.01) << id;
            EXPECT_NE(device.rates.at("op.issue").source.find("derived"), std::string::npos) << id;
        }
    }
    Json stated = datasheet_json("h200");
    stated["rates"]["op.issue"] = stated["rates"]["op.ex2"];
    EXPECT_EQ(device_from_json(stated, "stated").rate("op.issue"),
              datasheet_device("h200").rate("op.ex2"));
}

TEST(Datasheet, MmaOnHopperIsSlowerThanWgmma) {
    const Device device = datasheet_device("h200");
    EXPECT_NEAR(device.rate("flop.mma.bf16") / device.rate("flop.wgmma.bf16"), 0.629, 0.001);
    EXPECT_EQ(device.rate("flop.mma.e4m3"), device.rate("flop.mma.fp16"));
}

TEST(Datasheet, UnknownIdNamesTheNearest) {
    try {
        datasheet_device("h20");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::no_device);
        EXPECT_THAT(error.what(), HasSubstr("did you mean 'h200'"));
    }
    EXPECT_THROW(datasheet_device("h200.json"), Error);
    EXPECT_THROW(datasheet_device(""), Error);
}

TEST(Datasheet, MissingRateNamesDeviceAndResource) {
    try {
        std::ignore = datasheet_device("t4").rate("flop.wgmma.bf16");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::unsupported);
        EXPECT_THAT(error.what(), HasSubstr("t4"));
        EXPECT_THAT(error.what(), HasSubstr("flop.wgmma.bf16"));
    }
}

void expect_refused(const Json& file, const char* member) {
    try {
        device_from_json(file, "test.json");
        FAIL() << member;
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::corrupt);
        EXPECT_THAT(error.what(), HasSubstr(member));
        EXPECT_THAT(error.what(), HasSubstr("test.json"));
    }
}

TEST(Datasheet, BrokenFilesAreRefusedByMember) {
    const Json good = datasheet_json("h200");
    ASSERT_NO_THROW(device_from_json(good, "test.json"));
    Json file = good;
    file["sizes"]["units"].erase("source");
    expect_refused(file, "source");
    file = good;
    file["sizes"]["unitz"] = file["sizes"]["units"];
    expect_refused(file, "unitz");
    file = good;
    file["rates"]["op.ex2"]["value"] = "fast";
    expect_refused(file, "op.ex2");
    file = good;
    file["rates"]["op.ex2"]["value"] = 0;
    expect_refused(file, "op.ex2");
    file = good;
    file["kind"] = "gpu";
    expect_refused(file, "gpu");
    file = good;
    file["rates"]["op.ex2"]["scales_with"] = {"luck"};
    expect_refused(file, "luck");
    file = good;
    file.erase("rates");
    expect_refused(file, "rates");
    expect_refused(Json::array(), "schema");
}

// Formulas of the generic CPU: twice the cores, clock and width is eight times the rate.
TEST(Datasheet, GenericCpuScalesWithCoresClockAndWidth) {
    const Device base = datasheet_device("cpu");
    EXPECT_FALSE(base.find("flop.dot.bf16").has_value());
    EXPECT_FALSE(base.find("flop.amx.bf16").has_value());
    Device device = base;
    device.units = 2 * base.units;
    device.clock_hz = 2 * base.clock_hz;
    device.simd_bits = 2 * base.simd_bits;
    device.has_bf16_dot = true;
    device.has_bf16_tiles = true;
    device.rates.clear();
    read_rates(datasheet_json("cpu"), "cpu", base, device);
    EXPECT_DOUBLE_EQ(device.rate("flop.fma.fp32"), 8 * base.rate("flop.fma.fp32"));
    EXPECT_DOUBLE_EQ(device.rate("byte.l2"), 4 * base.rate("byte.l2"));
    EXPECT_DOUBLE_EQ(device.rate("byte.dram_read"), base.rate("byte.dram_read"));
    EXPECT_DOUBLE_EQ(device.rate("flop.dot.bf16"), 2 * device.rate("flop.fma.fp32"));
    EXPECT_DOUBLE_EQ(device.rate("flop.amx.bf16"), 1024 * device.units * device.clock_hz);
    const Rate& fma = device.rates.at("flop.fma.fp32");
    EXPECT_DOUBLE_EQ(fma.per_clock_per_unit * device.units * device.clock_hz, fma.value);
    EXPECT_DOUBLE_EQ(fma.clock_hz, device.clock_hz);
}

std::string refusal_of_device(const std::string& name) {
    try {
        return "accepted as " + device_called(name);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::no_device);
        return error.what();
    }
}

TEST(Datasheet, DevicesAreCalledByIdAndByTheirVendorsName) {
    for (const auto& [name, id] : {std::pair{"H200", "h200"},
                                   {"NVIDIA H200", "h200"},
                                   {"nvidia-h200", "h200"},
                                   {"rtx-4090", "rtx4090"},
                                   {"RTX 4090", "rtx4090"},
                                   {"GeForce RTX 4090", "rtx4090"},
                                   {"A100-80", "a100-80"},
                                   {"a100_80", "a100-80"},
                                   {"MI300X", "mi300x"},
                                   {"NVIDIA H100 80GB HBM3", "h100-sxm"},
                                   {"Tesla T4", "t4"},
                                   {"V100-SXM2-16GB", "v100"},
                                   {"NVIDIA GH200 480GB", "gh200"},
                                   {"CPU", "cpu"}}) {
        EXPECT_EQ(refusal_of_device(name), std::string("accepted as ") + id) << name;
    }
    for (const std::string& id : device_ids()) {
        EXPECT_EQ(device_called(id), id);
    }
    EXPECT_EQ(refusal_of_device("A100"),
              "device 'A100' may be any of a100-40, a100-80: name one of them");
    EXPECT_THAT(refusal_of_device("h100"), HasSubstr("h100-pcie, h100-sxm"));
    // Another board with other clocks.
    EXPECT_THAT(refusal_of_device("NVIDIA H200 NVL"), HasSubstr("is not known"));
    EXPECT_THAT(refusal_of_device("h20O"), HasSubstr("did you mean 'h200'?"));
    // Only what parts a name may be left out of it.
    for (const char* name : {"", "!!h200??", "h€200", "\xffh200", "h,200"}) {
        EXPECT_THAT(refusal_of_device(name), HasSubstr("is not known")) << name;
    }
}

}  // namespace
}  // namespace raceline
