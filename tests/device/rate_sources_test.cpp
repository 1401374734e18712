// SPDX-License-Identifier: Apache-2.0
// Which rates win: a given file, the cache of this very machine, committed, datasheet.
#include "device/rate_sources.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "device/catalog.hpp"
#include "device/datasheet.hpp"
#include "device/rate_origin.hpp"
#include "raceline/error.hpp"
#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/rows.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Json ceiling_row(const Device& device, std::string_view resource, double value,
                 double clock_hz = 1.7e9) {
    const Ceiling ceiling{std::string(resource), value, "byte/s", clock_hz, 0, "as a test says", 0};
    const char* argv[] = {"test"};
    return make_row(
        RowContext::of_this_process(1, argv), "ceiling", "none",
        Json{{"device", Json{{"id", device.id}, {"name", device.name}, {"driver", device.driver}}},
             {"ceiling", row_to_json(ceiling)}});
}

class RateSources : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() /
                  ("raceline-rates-" +
                   std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
        if (const char* before = std::getenv("XDG_CACHE_HOME")) {
            before_ = before;
        }
        setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
        device_ = datasheet_device("h200");
        device_.driver = "580.95.05";
        device_.live = true;
    }
    void TearDown() override {
        before_ ? setenv("XDG_CACHE_HOME", before_->c_str(), 1) : unsetenv("XDG_CACHE_HOME");
        fs::remove_all(folder_);
    }
    void write(const std::string& path, const std::vector<Json>& rows) {
        ReceiptWriter writer(path);
        for (const Json& row : rows) {
            writer.append(row);
        }
    }
    // What tools/embed would compile in for the device.
    void commit(const std::vector<Json>& rows) {
        text_ = text_of(rows);
        embedded_[0] = {"receipts/h200/ceilings.jsonl", text_};
    }
    std::string text_of(const std::vector<Json>& rows) {
        const fs::path path = folder_ / "committed.jsonl";
        fs::remove(path);
        write(path.string(), rows);
        std::ifstream in(path);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void apply(const std::optional<std::string>& file = {}) {
        apply_rates(device_, file, embedded_);
    }

    fs::path folder_;
    std::optional<std::string> before_;
    Device device_;
    std::string text_;
    std::array<build_info::EmbeddedFile, 1> embedded_{};
};

TEST_F(RateSources, DatasheetWhereNothingIsMeasured) {
    const Device before = device_;
    apply();
    EXPECT_EQ(device_.rate("byte.dram_read"), before.rate("byte.dram_read"));
    EXPECT_EQ(device_.rates_id, rates_id_of(before, "datasheet"));
    EXPECT_EQ(device_.rates_id.size(), 16U);
}

// A process may be denied tiles of bf16 that another one on the same machine has measured.
TEST_F(RateSources, TilesThatThisProcessMayNotUseHaveNoRate) {
    device_ = datasheet_device("cpu");
    const std::string path = (folder_ / "with-tiles.jsonl").string();
    Json tiles = ceiling_row(device_, "flop.amx.bf16", 3e12);
    tiles["ceiling"]["unit"] = "flop/s";
    write(path, {tiles, ceiling_row(device_, "byte.dram_read", 1e11)});
    device_.has_bf16_tiles = false;
    apply(path);
    EXPECT_EQ(device_.find("flop.amx.bf16"), std::nullopt);
    EXPECT_EQ(device_.find("byte.dram_read"), 1e11);
    device_.has_bf16_tiles = true;
    apply(path);
    EXPECT_EQ(device_.find("flop.amx.bf16"), 3e12);
}

// A call that predicts must not read the files anew, as it once did.
TEST(CommittedDevice, IsMadeOnceAndIsWhatItsFilesSay) {
    for (const std::string& id : device_ids()) {
        const Device& device = committed_device(id);
        EXPECT_EQ(&device, &committed_device(id));
        EXPECT_EQ(&datasheet_json(id), &datasheet_json(id));
        Device anew = datasheet_device(id);
        apply_rates(anew, std::nullopt);
        EXPECT_EQ(device.rates_id, anew.rates_id) << id;
        EXPECT_EQ(device.power.joules, anew.power.joules) << id;
        EXPECT_EQ(device.sustained_clock_hz, anew.sustained_clock_hz) << id;
    }
    EXPECT_THROW(committed_device("h20"), Error);
    EXPECT_THROW(committed_device("h20"), Error) << "the second time as the first";
}

TEST(CommittedDevice, IsOneForAllThreads) {
    std::vector<const Device*> seen(8);
    {
        std::vector<std::jthread> threads;
        for (const Device*& device : seen) {
            threads.emplace_back([&device] { device = &committed_device("v100"); });
        }
    }
    EXPECT_EQ(std::ranges::count(seen, seen.front()), std::ssize(seen));
}

TEST_F(RateSources, EachSourceBeatsTheNext) {
    commit({ceiling_row(device_, "byte.dram_read", 4.1e12)});
    apply();
    EXPECT_EQ(device_.rate("byte.dram_read"), 4.1e12);
    const std::string committed = device_.rates_id;

    write(ceilings_cache_path(device_), {ceiling_row(device_, "byte.dram_read", 4.2e12)});
    device_ = datasheet_device("h200");
    device_.driver = "580.95.05";
    device_.live = true;
    apply();
    EXPECT_EQ(device_.rate("byte.dram_read"), 4.2e12);
    EXPECT_NE(device_.rates_id, committed);

    const std::string file = (folder_ / "given.jsonl").string();
    write(file, {ceiling_row(device_, "byte.dram_read", 4.3e12)});
    apply(file);
    EXPECT_EQ(device_.rate("byte.dram_read"), 4.3e12);
    // The API's choice of tile must not see the cache.
    apply_committed_rates(device_, embedded_);
    EXPECT_EQ(device_.rate("byte.dram_read"), 4.1e12);
}

TEST_F(RateSources, MeasuredKeepsTheOthersAndSaysSo) {
    const Device before = device_;
    commit({ceiling_row(device_, "byte.dram_read", 4.1e12),
            ceiling_row(device_, "byte.dram_read", 4.15e12),
            ceiling_row(device_, "floor.launch_graph", 1.1e-6)});
    apply();
    EXPECT_EQ(device_.rate("byte.dram_read"), 4.15e12) << "the later row wins";
    EXPECT_EQ(device_.rate("flop.wgmma.bf16"), before.rate("flop.wgmma.bf16"));
    EXPECT_EQ(device_.rates.at("byte.dram_read").source, "probe: as a test says");
    EXPECT_EQ(device_.rates.at("op.ex2").per_clock_per_unit, 16);

    bool found = false;
    for (const RateComparison& row : compare_rates(before, device_)) {
        if (row.resource == "byte.dram_read") {
            EXPECT_EQ(row.datasheet.value_or(Rate{}).value, 4.8e12);
            EXPECT_EQ(row.measured.value_or(Rate{}).value, 4.15e12);
            found = true;
        } else if (row.resource == "floor.launch_graph") {
            EXPECT_FALSE(row.datasheet.has_value());
            EXPECT_TRUE(row.measured.has_value());
        } else {
            EXPECT_FALSE(row.measured.has_value()) << row.resource;
        }
    }
    EXPECT_TRUE(found);
}

TEST_F(RateSources, CacheOfAnotherMachineIsPassedOver) {
    Device other = device_;
    other.driver = "570.1";
    // In this machine's file, but measured under another driver: the row's own device decides.
    write(ceilings_cache_path(device_), {ceiling_row(other, "byte.dram_read", 1e12)});
    apply();
    EXPECT_EQ(device_.rate("byte.dram_read"), 4.8e12);
    EXPECT_THAT(cache_damage(device_), HasSubstr("no ceiling of this device"));
}

// A cut, edited or empty file is named, and rates are as if there were none.
TEST_F(RateSources, DamagedCacheIsNamedAndNotUsed) {
    const std::string path = ceilings_cache_path(device_);
    EXPECT_EQ(cache_damage(device_), "");
    write(path, {ceiling_row(device_, "byte.dram_read", 4.2e12),
                 ceiling_row(device_, "byte.dram_write", 4.1e12)});
    EXPECT_EQ(cache_damage(device_), "");
    std::ifstream in(path);
    const std::string good(std::istreambuf_iterator<char>(in), {});
    std::string edited = good;
    edited.replace(edited.find("4200000000000"), 2, "99");
    for (const auto& [content, said] :
         {std::pair{good.substr(0, good.size() / 3), "last line is cut"},
          {good.substr(0, good.size() - 40), "last line is cut"},
          {edited, "hash does not match"},
          {std::string("nonsense\n"), "line 1"},
          {std::string(), "cut"}}) {
        std::ofstream(path, std::ios::trunc) << content;
        EXPECT_THAT(cache_damage(device_), HasSubstr(said));
        device_ = datasheet_device("h200");
        device_.driver = "580.95.05";
        device_.live = true;
        apply();
        EXPECT_EQ(device_.rate("byte.dram_read"), 4.8e12) << said;
    }
}

// Whole lines are missing behind the first ones: each of those says how many there were.
TEST_F(RateSources, CacheWithoutItsLastRowsIsNamedAndNotUsed) {
    const std::string path = ceilings_cache_path(device_);
    Json first = ceiling_row(device_, "byte.dram_read", 4.2e12);
    Json second = ceiling_row(device_, "byte.dram_write", 4.1e12);
    first["of"] = second["of"] = 2;
    write(path, {first, second});
    EXPECT_EQ(cache_damage(device_), "");
    fs::remove(path);
    write(path, {first});
    EXPECT_THAT(cache_damage(device_), HasSubstr("holds 1 of 2 ceilings"));
    apply();
    EXPECT_EQ(device_.rate("byte.dram_read"), 4.8e12);
}

TEST_F(RateSources, CacheInAnotherUnitOrOfNoMachineIsNamedAndNotUsed) {
    const std::string path = ceilings_cache_path(device_);
    write(path, {ceiling_row(device_, "latency.dram", 6e-7)});  // in bytes a second
    EXPECT_THAT(cache_damage(device_), HasSubstr("unit is \"byte/s\", not s"));
    fs::remove(path);
    write(path, {ceiling_row(device_, "byte.dram_read", 4.2e17)});
    EXPECT_THAT(cache_damage(device_), HasSubstr("is no machine's"));
}

// As `measure` kept them once: whole rows, in which all cores are slower than one.
TEST_F(RateSources, CacheThatContradictsItselfIsNamedAndNotUsed) {
    write(ceilings_cache_path(device_), {ceiling_row(device_, "byte.dram_read", 4.2e12),
                                         ceiling_row(device_, "byte.dram_read.unit", 9e12)});
    EXPECT_THAT(cache_damage(device_), HasSubstr("slower than one of them"));
    apply();
    EXPECT_EQ(device_.rate("byte.dram_read"), 4.8e12);
}

TEST_F(RateSources, CacheCountsOnlyWhereTheDeviceIsLive) {
    write(ceilings_cache_path(device_), {ceiling_row(device_, "byte.dram_read", 4.2e12)});
    device_.live = false;
    apply();
    EXPECT_EQ(device_.rate("byte.dram_read"), 4.8e12);
}

TEST_F(RateSources, CommittedCpuCeilingsAreOfThatModelOnly) {
    Device cpu = datasheet_device("cpu");
    cpu.name = "One CPU";
    commit({ceiling_row(cpu, "byte.dram_read", 3e10)});
    embedded_[0].path = "receipts/cpu/ceilings.jsonl";
    apply_committed_rates(cpu, embedded_);
    EXPECT_EQ(cpu.rate("byte.dram_read"), 3e10);
    Device another = datasheet_device("cpu");
    another.name = "Another CPU";
    apply_committed_rates(another, embedded_);
    EXPECT_NE(another.rate("byte.dram_read"), 3e10);
}

TEST_F(RateSources, BrokenLinesLeaveTheRest) {
    commit({ceiling_row(device_, "byte.dram_read", 4.1e12)});
    text_ = "{not json\n" + text_ + "{\"kind\":\"ceiling\"}\n{\"unfinished";
    embedded_[0].content = text_;
    apply();
    EXPECT_EQ(device_.rate("byte.dram_read"), 4.1e12);
}

TEST_F(RateSources, GivenFileMustHoldThisDevice) {
    const std::string file = (folder_ / "given.jsonl").string();
    write(file, {ceiling_row(datasheet_device("t4"), "byte.dram_read", 2.4e11)});
    try {
        apply(file);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::invalid_argument);
        EXPECT_THAT(error.what(), HasSubstr("h200"));
        EXPECT_THAT(error.what(), HasSubstr("t4"));
    }
    EXPECT_THROW(apply((folder_ / "absent.jsonl").string()), Error);
}

// The model scales matrix rates down to this clock, so it may not be below that of any of them, and
// neither a burst nor the weaker mma.sync may raise it.
TEST_F(RateSources, SustainedClockIsTheHighestUnderLastingMatrixLoad) {
    commit({ceiling_row(device_, "flop.wgmma.bf16", 7e14, 1.5e9),
            ceiling_row(device_, "flop.wgmma.e4m3", 13e14, 1.4e9),
            ceiling_row(device_, "flop.wgmma.bf16.burst", 8e14, 1.8e9),
            ceiling_row(device_, "flop.mma.bf16", 6e14, 1.7e9),
            ceiling_row(device_, "flop.fma.fp32", 6e13, 1.95e9)});
    apply();
    EXPECT_EQ(device_.sustained_clock_hz, 1.5e9);
    EXPECT_EQ(device_.rates.at("flop.wgmma.bf16").note, "sustained");
    EXPECT_EQ(device_.rates.at("flop.wgmma.bf16.burst").note, "burst");
    EXPECT_EQ(device_.rates.at("flop.fma.fp32").note, "");
}

TEST_F(RateSources, SustainedClockIsThatOfMmaWhereThereIsNothingStronger) {
    commit({ceiling_row(device_, "flop.mma.bf16", 6e14, 1.7e9)});
    apply();
    EXPECT_EQ(device_.sustained_clock_hz, 1.7e9);
}

TEST_F(RateSources, IdFollowsValuesAndOrigin) {
    const std::string id = rates_id_of(device_, "cache");
    EXPECT_NE(id, rates_id_of(device_, "file"));
    device_.rates.at("op.ex2").value *= 1 + 1e-12;
    EXPECT_NE(id, rates_id_of(device_, "cache"));
}

TEST_F(RateSources, FingerprintFollowsTheMachine) {
    const std::string print = device_fingerprint(device_);
    Device other = device_;
    other.memory_bytes += 1 << 20;  // the kernel's own share
    EXPECT_EQ(device_fingerprint(other), print);
    other.units -= 1;
    EXPECT_NE(device_fingerprint(other), print);
    other = device_;
    other.driver += "1";
    EXPECT_NE(device_fingerprint(other), print);
    EXPECT_THAT(ceilings_cache_path(device_),
                testing::StartsWith(folder_.string() + "/raceline/ceilings-h200-"));
}

// Anybody may write into a folder of temporary files, and rates there would change predictions.
TEST_F(RateSources, without_a_folder_of_the_user_there_is_no_cache) {
    unsetenv("XDG_CACHE_HOME");
    const char* const before = std::getenv("HOME");
    const std::string home = before == nullptr ? "" : before;
    setenv("HOME", "/home/somebody", 1);
    EXPECT_THAT(ceilings_cache_path(device_),
                testing::StartsWith("/home/somebody/.cache/raceline/ceilings-h200-"));
    for (const char* no_folder : {"", "relative"}) {
        setenv("HOME", no_folder, 1);
        EXPECT_EQ(cache_folder(), "") << no_folder;
        EXPECT_EQ(ceilings_cache_path(device_), "") << no_folder;
        EXPECT_THROW(required_cache_folder(), Error) << no_folder;
        apply();
        EXPECT_EQ(cache_damage(device_), "");
    }
    setenv("HOME", home.c_str(), 1);
}

TEST(CeilingRow, RoundTripAndRefusal) {
    const Ceiling ceiling{"op.ex2", 3.9e12, "op/s", 1.9e9, 400, "independent chains", 4e12};
    const Ceiling back = ceiling_from_json(row_to_json(ceiling));
    EXPECT_EQ(back.resource, ceiling.resource);
    EXPECT_EQ(back.value, ceiling.value);
    EXPECT_EQ(back.unit, ceiling.unit);
    EXPECT_EQ(back.clock_hz, ceiling.clock_hz);
    EXPECT_EQ(back.power_w, ceiling.power_w);
    EXPECT_EQ(back.method, ceiling.method);
    EXPECT_EQ(back.limit, ceiling.limit);
    EXPECT_THROW(ceiling_from_json(Json{{"resource", "op.ex2"}, {"value", "fast"}}), Error);
    EXPECT_THROW(ceiling_from_json(Json{{"value", 1.0}}), Error);
    EXPECT_THROW(ceiling_from_json(Json(nullptr)), Error);
}

TEST(CeilingRow, MoreThanThreePerCentOverTheArithmeticIsRefused) {
    Ceiling ceiling{"op.ex2", 1.029e12, "op/s", 1e9, 0, "m", 1e12};
    EXPECT_NO_THROW(check_ceiling(ceiling));
    ceiling.value = 1.031e12;
    EXPECT_THROW(check_ceiling(ceiling), Error);
    ceiling.limit = 0;
    EXPECT_NO_THROW(check_ceiling(ceiling));
    ceiling.value = 0;
    EXPECT_THROW(check_ceiling(ceiling), Error);
}

TEST_F(RateSources, EachMeasuredRateSaysWhereItWasMeasured) {
    const auto text = [&] { return origin_text(device_.rates.at("byte.dram_read")); };
    EXPECT_EQ(text(), "datasheet");
    commit({ceiling_row(device_, "byte.dram_read", 4.1e12)});
    apply();
    EXPECT_EQ(text(), "committed");
    write(ceilings_cache_path(device_), {ceiling_row(device_, "byte.dram_read", 4.2e12)});
    apply();
    EXPECT_EQ(text(), "measured here");
    const std::string file = (folder_ / "given.jsonl").string();
    write(file, {ceiling_row(device_, "byte.dram_read", 4.3e12)});
    apply(file);
    EXPECT_EQ(text(), "rates file");
    EXPECT_EQ(origin_text(device_.rates.at("op.ex2")), "datasheet");
}

// A row that is passed over would leave another rate in its place.
TEST_F(RateSources, AGivenFileIsRefusedForWhatNoMachineHas) {
    const std::string file = (folder_ / "given.jsonl").string();
    const auto refusal = [&](const char* resource, double value, const char* unit) {
        fs::remove(file);
        Json row = ceiling_row(device_, resource, value);
        row["ceiling"]["unit"] = unit;
        write(file, {ceiling_row(device_, "byte.dram_read", 4.3e12), row});
        try {
            apply(file);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::invalid_argument);
            return std::string(error.what());
        }
        return std::string();
    };
    const std::string at = "rates file " + file + ": line 2: ";
    EXPECT_EQ(refusal("byte.foo", 1e12, "byte/s"), at + "no device has a resource 'byte.foo'");
    EXPECT_EQ(refusal("byte.dram_raed", 1e12, "byte/s"),
              at + "no device has a resource 'byte.dram_raed'; did you mean 'byte.dram_read'?");
    EXPECT_THAT(refusal("flop.fma.fp31", 1e12, "flop/s"), HasSubstr("did you mean"));
    EXPECT_THAT(refusal("bandwidth", 1e12, "byte/s"), HasSubstr("no device has a resource"));
    EXPECT_EQ(refusal("byte.l2", 9e12, "furlong"),
              at + "ceiling byte.l2: its unit is \"furlong\", not byte/s");
    EXPECT_THAT(refusal("power.limit", 700, "kW"), HasSubstr("its unit is \"kW\", not W"));
    EXPECT_THAT(refusal("byte.l2", 1e300, "byte/s"), HasSubstr("is no machine's"));
    EXPECT_THAT(refusal("byte.l2", 1e-300, "byte/s"), HasSubstr("is no machine's"));
    EXPECT_THAT(refusal("byte.l2", 0, "byte/s"), HasSubstr("must be a number above 0"));
    EXPECT_EQ(refusal("byte.l2.unit", 2e11, "byte/s"), "");
    EXPECT_EQ(refusal("energy.flop.wgmma.bf16", 5e-13, "J"), "");
    // What the writer of receipts would refuse, somebody may write by hand.
    for (const char* value : {"-1", "NaN", "1e400", "null", "\"fast\""}) {
        std::string text = ceiling_row(device_, "byte.dram_read", 123456789).dump();
        const std::size_t from = text.find("123456789");
        text.replace(from, text.find_first_of(",}", from) - from, value);
        std::ofstream(file) << text << "\n";
        EXPECT_THROW(apply(file), Error) << value;
    }
}

// Ceilings that were measured are none of these.
TEST_F(RateSources, CommittedFilesMayBeGiven) {
    const fs::path receipts = fs::path(RACELINE_SOURCE_DIR) / "receipts";
    for (const std::string file : {"ceilings.jsonl", "power.jsonl"}) {
        EXPECT_NO_THROW(apply((receipts / "h200" / file).string())) << file;
    }
    device_ = datasheet_device("cpu");
    EXPECT_NO_THROW(apply((receipts / "cpu/2026-11-22-ceilings-f13186e093fd.jsonl.gz").string()));
}

TEST_F(RateSources, AGpuThatNobodyMeasuredGoesByWhatTheNearestOneReaches) {
    const Device h200 = datasheet_device("h200");
    commit({ceiling_row(device_, "byte.dram_read", 0.9 * h200.rate("byte.dram_read")),
            ceiling_row(device_, "flop.wgmma.bf16", 0.8 * h200.rate("flop.wgmma.bf16")),
            ceiling_row(device_, "flop.mma.bf16", 1.1 * h200.rate("flop.mma.bf16")),
            ceiling_row(device_, "floor.launch_graph", 1e-6)});
    const auto share = [&](const char* id, const char* resource) {
        const Device stated = datasheet_device(id);
        Device device = stated;
        apply_committed_rates(device, embedded_);
        EXPECT_FALSE(device.find("floor.launch_graph")) << id << ": not to another generation";
        return device.rate(resource) / stated.rate(resource);
    };
    Device sibling = datasheet_device("h100-sxm");
    apply_committed_rates(sibling, embedded_);
    EXPECT_EQ(sibling.find("floor.launch_graph"), 1e-6) << "of the same generation they are";
    EXPECT_EQ(origin_text(sibling.rates.at("floor.launch_graph")), "datasheet x 1.00 of h200");
    EXPECT_DOUBLE_EQ(share("a100-80", "byte.dram_read"), 0.9);
    EXPECT_DOUBLE_EQ(share("a100-80", "flop.mma.bf16"), 0.8) << "fastest engine by fastest engine";
    EXPECT_DOUBLE_EQ(share("b200", "flop.tcgen05.bf16"), 0.8);
    EXPECT_DOUBLE_EQ(share("b200", "flop.mma.bf16"), 1.1) << "the older engine by the older one";
    EXPECT_DOUBLE_EQ(share("a100-80", "op.ex2"), 1) << "not measured there";

    Device l4 = datasheet_device("l4");
    const double stated = l4.rate("byte.dram_read");
    apply_committed_rates(l4, embedded_);
    const Device once = l4;
    EXPECT_EQ(origin_text(l4.rates.at("byte.dram_read")), "datasheet x 0.90 of h200");
    EXPECT_EQ(l4.rate("byte.dram_read.datasheet"), stated) << "bounds go by it";
    EXPECT_THAT(l4.rates.at("byte.dram_read").source, HasSubstr("L4 datasheet"));
    EXPECT_NE(l4.rates_id, rates_id_of(datasheet_device("l4"), "datasheet"));
    apply_committed_rates(l4, embedded_);
    EXPECT_EQ(l4.rates_id, once.rates_id) << "scaled once";

    EXPECT_FALSE(once.find("latency.dram.loaded")) << "nobody has it";

    // Some boards run above the clock of their datasheet: the bound's rate is that of the highest.
    Device geforce = datasheet_device("rtx4090");
    const Device sheet = geforce;
    apply_committed_rates(geforce, embedded_);
    EXPECT_GT(geforce.clock_max_hz, geforce.clock_hz);
    for (const char* clocked : {"flop.mma.bf16", "flop.fma.fp32", "byte.l2"}) {
        EXPECT_DOUBLE_EQ(geforce.rate(clocked + std::string(".datasheet")),
                         sheet.rate(clocked) * geforce.clock_max_hz / geforce.clock_hz);
    }
    // The vendor states it at another clock.
    EXPECT_THAT(geforce.rates.at("flop.mma.bf16.datasheet").source,
                testing::StartsWith("datasheet, at 3.105 GHz: NVIDIA Ada"));
    EXPECT_EQ(origin_text(geforce.rates.at("flop.mma.bf16.datasheet")), "datasheet");
    EXPECT_EQ(geforce.rate("byte.dram_read.datasheet"), sheet.rate("byte.dram_read"));
    EXPECT_FALSE(geforce.find("latency.l2.datasheet"));

    // Another maker's engines are not like these, and a CPU's ceilings are its own.
    for (const char* id : {"mi300x", "cpu"}) {
        Device other = datasheet_device(id);
        apply_committed_rates(other, embedded_);
        EXPECT_EQ(other.rates_id, rates_id_of(datasheet_device(id), "datasheet")) << id;
    }
}

TEST_F(RateSources, LatenciesUnderLoadFollowTheNearestDeviceThatHasThem) {
    Device h100 = datasheet_device("h100-sxm");
    commit({ceiling_row(device_, "latency.dram", 3.4e-7)});  // the H200's, alone
    const std::string text = text_of({ceiling_row(h100, "latency.dram", 3e-7),
                                      ceiling_row(h100, "latency.dram.loaded", 4.5e-7)});
    const std::array both{embedded_[0],
                          build_info::EmbeddedFile{"receipts/h100-sxm/ceilings.jsonl", text}};
    Device h200 = datasheet_device("h200");
    apply_committed_rates(h200, both);
    EXPECT_DOUBLE_EQ(h200.rate("latency.dram.loaded"), 3.4e-7 * 1.5) << "on its own latency";
    EXPECT_EQ(origin_text(h200.rates.at("latency.dram.loaded")), "datasheet x 1.50 of h100-sxm");
    EXPECT_EQ(origin_text(h200.rates.at("latency.dram")), "committed");
    apply_committed_rates(h100, both);
    EXPECT_DOUBLE_EQ(h100.rate("latency.dram.loaded"), 4.5e-7) << "its own";
    EXPECT_EQ(origin_text(h100.rates.at("latency.dram.loaded")), "committed");
    Device a100 = datasheet_device("a100-80");
    apply_committed_rates(a100, both);
    EXPECT_DOUBLE_EQ(a100.rate("latency.dram.loaded"), 1.5 * a100.rate("latency.dram"));
    EXPECT_FALSE(a100.find("latency.l2.loaded")) << "nobody has it";
}

TEST_F(RateSources, OneSmDrawsAsMuchOnEveryBoardAsPassesItsPort) {
    commit({ceiling_row(device_, "byte.dram_read.unit", 1.8e11),  // the H200's
            ceiling_row(device_, "byte.dram_read", 4.5e12)});
    for (const char* id : {"gh200", "h100-pcie", "a100-80", "l4"}) {
        Device board = datasheet_device(id);
        apply_committed_rates(board, embedded_);
        const bool hopper = board.compute_capability == 90;
        EXPECT_DOUBLE_EQ(board.rate("byte.dram_read.unit"),
                         hopper ? 1.8e11 : std::min(1.8e11, 64 * board.clock_hz))
            << id;
        EXPECT_EQ(origin_text(board.rates.at("byte.dram_read.unit")), "datasheet x 1.00 of h200");
    }
}

TEST_F(RateSources, TheLinkBetweenHalvesOfTheL2GoesWithTheL2OfTheSameDie) {
    const Device h100 = datasheet_device("h100-sxm");
    commit({ceiling_row(device_, "byte.l2", 9e12)});  // the H200's
    const std::string text =
        text_of({ceiling_row(h100, "byte.l2", 8e12), ceiling_row(h100, "byte.l2_link", 2e12),
                 ceiling_row(h100, "size.l2.half", 28e6)});
    const std::array both{embedded_[0],
                          build_info::EmbeddedFile{"receipts/h100-sxm/ceilings.jsonl", text}};
    Device h200 = datasheet_device("h200");
    apply_committed_rates(h200, both);
    EXPECT_DOUBLE_EQ(h200.rate("byte.l2_link"), 9e12 / 4);
    EXPECT_EQ(origin_text(h200.rates.at("byte.l2_link")), "datasheet x 0.25 of h100-sxm");
    EXPECT_DOUBLE_EQ(h200.rate("size.l2.half"), static_cast<double>(h200.l2_bytes) / 2)
        << "its datasheet's, since it has ceilings of its own";
    EXPECT_FALSE(h200.find("latency.l2.far")) << "nobody has it";
    Device a100 = datasheet_device("a100-80");
    apply_committed_rates(a100, both);
    EXPECT_FALSE(a100.find("byte.l2_link")) << "another die";
    Device b200 = datasheet_device("b200");
    apply_committed_rates(b200, both);
    EXPECT_DOUBLE_EQ(b200.rate("byte.l2_link"), 1e13) << "stated";
    Device l4 = datasheet_device("l4");
    apply_committed_rates(l4, both);
    EXPECT_FALSE(l4.find("size.l2.half")) << "in one piece";
}

}  // namespace
}  // namespace raceline
