// SPDX-License-Identifier: Apache-2.0
#include "device/rate_sources.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "device/catalog.hpp"
#include "device/ceiling_checks.hpp"
#include "device/rate_origin.hpp"
#include "device/resource_names.hpp"
#include "receipt/file.hpp"
#include "support/check.hpp"
#include "support/once_for_each.hpp"
#include "support/sha256.hpp"

namespace raceline {
namespace {

constexpr std::string_view burst_suffix = ".burst";

struct MeasuredCeiling {
    std::string device_id, device_name, driver;
    Ceiling ceiling;
};

// A row of another kind, or one that this version cannot read, is passed over: rows of newer
// versions must not take the older ones with them.
void collect(const Json& row, std::vector<MeasuredCeiling>& into) {
    if (!row.is_object() || text_member(row, "kind") != "ceiling" || !row.contains("ceiling") ||
        !row.contains("device") || !row.at("device").is_object()) {
        return;
    }
    const Json& device = row.at("device");
    try {
        into.push_back({text_member(device, "id"), text_member(device, "name"),
                        text_member(device, "driver"), ceiling_from_json(row.at("ceiling"))});
    } catch (const Error& error) {
        if (error.status() != Status::corrupt) {
            throw;
        }
    }
}

std::vector<MeasuredCeiling> ceilings_in(const ReceiptFile& file) {
    std::vector<MeasuredCeiling> found;
    for (const Json& row : file.rows) {
        collect(row, found);
    }
    return found;
}

std::vector<MeasuredCeiling> ceilings_in_files(const std::string& id,
                                               std::span<const build_info::EmbeddedFile> embedded) {
    const std::string folder = "receipts/" + id;
    std::vector<MeasuredCeiling> found;
    for (const auto& file : embedded) {
        if (file.path == folder + "/ceilings.jsonl" || file.path == folder + "/power.jsonl") {
            const auto more = ceilings_in(parse_receipts(file.content));
            found.insert(found.end(), more.begin(), more.end());
        }
    }
    return found;
}

std::vector<MeasuredCeiling> committed_ceilings(
    const Device& device, std::span<const build_info::EmbeddedFile> embedded) {
    // Those that are compiled in stay as they are. A test's files come and go.
    static OnceForEach<std::string, std::vector<MeasuredCeiling>> compiled_in;
    const auto read = [&] { return ceilings_in_files(device.id, embedded); };
    std::vector<MeasuredCeiling> found = embedded.data() == build_info::embedded_files().data()
                                             ? compiled_in.get(device.id, read)
                                             : read();
    // "cpu" is every CPU and "cuda" every GPU without a file: there only the same model's count.
    const bool generic = device.id == "cpu" || device.id == "cuda";
    std::erase_if(found, [&](const MeasuredCeiling& row) {
        return row.device_id != device.id || (generic && row.device_name != device.name);
    });
    return found;
}

// Rows that are missing, as a clause, or "". Files from before rows said how many they are pass.
std::string missing_rows(const ReceiptFile& file) {
    for (const Json& row : file.rows) {
        const auto of = row.find("of");
        if (of != row.end() && *of != file.rows.size()) {
            return fmt::format("holds {} of {} ceilings", file.rows.size(), of->dump());
        }
    }
    return {};
}

bool ends_with_line(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    in.seekg(-1, std::ios::end);
    return in.get() == '\n';
}

std::vector<MeasuredCeiling> ceilings_of(const Device& device, const ReceiptFile& file) {
    std::vector<MeasuredCeiling> found = ceilings_in(file);
    std::erase_if(found, [&](const MeasuredCeiling& row) {
        return row.device_id != device.id || row.device_name != device.name ||
               row.driver != device.driver;
    });
    return found;
}

// What no probe would keep today, though an earlier version may have: the first sentence, or "".
std::string doubt_about(const std::vector<MeasuredCeiling>& measured) {
    std::map<std::string, Ceiling> newest;
    for (const MeasuredCeiling& row : measured) {
        check_ceiling(row.ceiling);
        newest[row.ceiling.resource] = row.ceiling;
    }
    std::vector<Ceiling> ceilings;
    ceilings.reserve(newest.size());
    for (const auto& [resource, ceiling] : newest) {
        ceilings.push_back(ceiling);
    }
    const std::vector<std::string> reasons = contradictions(ceilings);
    return reasons.empty() ? std::string() : reasons.front();
}

std::vector<MeasuredCeiling> cached_ceilings(const Device& device) {
    const std::string path = ceilings_cache_path(device);
    std::error_code ignored;
    if (!device.live || !std::filesystem::exists(path, ignored)) {
        return {};
    }
    if (!cache_damage(device).empty()) {
        return {};  // what is left of a damaged file may be half of the truth
    }
    return ceilings_of(device, read_receipts(path));
}

// A row that is passed over would leave another rate in its place, and nobody would know.
void check_given(const Device& device, const ReceiptFile& file, const std::string& path) {
    if (!file.bad.empty()) {
        fail(Status::invalid_argument, "rates file {}: line {}: {}", path, file.bad.front().line,
             file.bad.front().reason);
    }
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
        const Json& row = file.rows[i];
        if (text_member(row, "kind") != "ceiling" || !row.contains("ceiling") ||
            !row.contains("device") || text_member(row.at("device"), "id") != device.id) {
            continue;
        }
        try {
            check_given_ceiling(ceiling_from_json(row.at("ceiling")));
        } catch (const Error& error) {
            fail(Status::invalid_argument, "rates file {}: line {}: {}", path, file.lines[i],
                 error.what());
        }
    }
}

// A file named by the user: rows for other devices in it are no error, none for this one is.
std::vector<MeasuredCeiling> given_ceilings(const Device& device, const std::string& path) {
    const ReceiptFile file = read_receipts(path);
    check_given(device, file, path);
    std::vector<MeasuredCeiling> found = ceilings_in(file);
    std::set<std::string> others;
    for (const MeasuredCeiling& row : found) {
        others.insert(row.device_id);
    }
    std::erase_if(found, [&](const MeasuredCeiling& row) { return row.device_id != device.id; });
    require(!found.empty(), Status::invalid_argument,
            "rates file {} holds no ceilings of device \"{}\"; {}", path, device.id,
            others.empty() ? std::string("it holds no ceiling row at all")
                           : fmt::format("it has those of {}", fmt::join(others, ", ")));
    return found;
}

// The probes measure a matrix rate twice: "<id>" under lasting load, "<id>.burst" before the power
// limit pulls the clock down.
std::string load_of(std::string_view resource) {
    if (resource.ends_with(burst_suffix)) {
        return "burst";
    }
    const bool matrix = resource.starts_with("flop.wgmma.") || resource.starts_with("flop.mma.") ||
                        resource.starts_with("flop.tcgen05.");
    return matrix ? "sustained" : "";
}

// The highest, since the model scales every matrix rate down to this clock: a measured one holds at
// its own and must not be scaled twice. mma.sync draws less power, so it counts only alone.
double sustained_clock(const Device& device) {
    double strongest = 0;
    double warp_level = 0;
    for (const auto& [resource, rate] : device.rates) {
        if (is_measured(rate) && rate.note == "sustained") {
            double& highest = resource.starts_with("flop.mma.") ? warp_level : strongest;
            highest = std::max(highest, rate.clock_hz);
        }
    }
    return strongest > 0 ? strongest : warp_level;
}

// A row of `measure --power`; false: it is a rate's. Mixes are there to show that watts add up.
bool lay_over_power(Power& power, const Ceiling& row, std::string_view source) {
    constexpr std::string_view energy = "energy.";
    if (row.resource.starts_with(energy)) {
        power.joules[row.resource.substr(energy.size())] = row.value;
        power.source = source;
    } else if (row.resource == "power.limit") {
        power.limit_w = row.value;
    } else if (row.resource == "power.idle") {
        power.idle_w = row.value;
    } else if (row.resource == "power.voltage_slope") {
        power.voltage_slope = row.value;
    } else {
        return row.resource.starts_with("power.");
    }
    return true;
}

// Later rows win: a file that was measured into twice holds the older values first.
void lay_over(Device& device, const std::vector<MeasuredCeiling>& measured, RateOrigin origin) {
    for (const auto& [id, name, driver, ceiling] : measured) {
        if (lay_over_power(device.power, ceiling, source_prefix(origin))) {
            continue;
        }
        if (ceiling.resource == "flop.amx.bf16" && !device.has_bf16_tiles) {
            continue;  // measured by a process that was allowed what this one is not
        }
        Rate& rate = device.rates[ceiling.resource];
        rate.value = ceiling.value;
        rate.clock_hz = ceiling.clock_hz;
        rate.source = std::string(source_prefix(origin)) + ceiling.method;
        rate.note = load_of(ceiling.resource);
    }
    if (const double clock = sustained_clock(device); clock > 0) {
        device.sustained_clock_hz = clock;
        device.power.decides = false;
    }
}

}  // namespace

std::string cache_damage(const Device& device) {
    const std::string path = ceilings_cache_path(device);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
        return {};
    }
    try {
        const ReceiptFile file = read_receipts(path);
        // It was written whole and then put in its place, so that no kill explains half a line.
        if (!ends_with_line(path)) {
            return path + ": its last line is cut";
        }
        if (const std::vector<BadLine> bad = check_receipts(file); !bad.empty()) {
            return fmt::format("{}: line {}: {}", path, bad.front().line, bad.front().reason);
        }
        const std::vector<MeasuredCeiling> measured = ceilings_of(device, file);
        if (measured.empty()) {
            return path + ": holds no ceiling of this device";
        }
        if (const std::string missing = missing_rows(file); !missing.empty()) {
            return path + ": " + missing;
        }
        const std::string doubt = doubt_about(measured);
        return doubt.empty() ? doubt : fmt::format("{}: {}", path, doubt);
    } catch (const Error& error) {
        return error.what();
    }
}

std::string rates_id_of(const Device& device, std::string_view origin) {
    std::string text(origin);
    for (const auto& [resource, rate] : device.rates) {
        text += fmt::format("\n{} {:.17g}", resource, rate.value);
    }
    if (const Power& power = device.power; power.known()) {
        text += fmt::format("\npower {:.17g} {:.17g} {:.17g}", power.limit_w, power.idle_w,
                            power.voltage_slope);
        for (const auto& [resource, joules] : power.joules) {
            text += fmt::format("\nenergy.{} {:.17g}", resource, joules);
        }
    }
    return sha256_hex(text).substr(0, 16);
}

bool lay_over_committed_rates(Device& device, std::span<const build_info::EmbeddedFile> embedded) {
    const std::vector<MeasuredCeiling> committed = committed_ceilings(device, embedded);
    lay_over(device, committed, RateOrigin::committed);
    return !committed.empty();
}

void apply_committed_rates(Device& device, std::span<const build_info::EmbeddedFile> embedded) {
    const bool any = lay_over_committed_rates(device, embedded);
    scale_to_measured(device, embedded);
    complete_latencies(device, embedded);
    device.rates_id = rates_id_of(device, any ? "committed" : "datasheet");
}

void apply_committed_rates(Device& device) {
    apply_committed_rates(device, build_info::embedded_files());
}

const Device& committed_device(std::string_view id) {
    static OnceForEach<std::string, Device> known;
    return known.get(std::string(id), [&] {
        Device device = datasheet_device(id);
        apply_committed_rates(device);
        return device;
    });
}

void apply_rates(Device& device, const std::optional<std::string>& rates_file,
                 std::span<const build_info::EmbeddedFile> embedded) {
    // A file or cache of ceilings says nothing of power.
    for (const MeasuredCeiling& row : committed_ceilings(device, embedded)) {
        lay_over_power(device.power, row.ceiling, source_prefix(RateOrigin::committed));
    }
    if (rates_file) {
        lay_over(device, given_ceilings(device, *rates_file), RateOrigin::file);
        device.rates_id = rates_id_of(device, "file");
        return;
    }
    if (const auto cached = cached_ceilings(device); !cached.empty()) {
        lay_over(device, cached, RateOrigin::here);
        device.rates_id = rates_id_of(device, "cache");
        return;
    }
    apply_committed_rates(device, embedded);
}

void apply_rates(Device& device, const std::optional<std::string>& rates_file) {
    apply_rates(device, rates_file, build_info::embedded_files());
}

std::vector<RateComparison> compare_rates(const Device& before, const Device& after) {
    std::set<std::string_view> resources;
    for (const auto* device : {&before, &after}) {
        for (const auto& [resource, rate] : device->rates) {
            resources.insert(resource);
        }
    }
    std::vector<RateComparison> compared;
    for (const std::string_view resource : resources) {
        RateComparison row{std::string(resource), std::nullopt, std::nullopt};
        if (const auto found = before.rates.find(resource);
            found != before.rates.end() && !is_measured(found->second)) {
            row.datasheet = found->second;
        }
        if (const auto found = after.rates.find(resource);
            found != after.rates.end() && is_measured(found->second)) {
            row.measured = found->second;
        }
        compared.push_back(std::move(row));
    }
    return compared;
}

std::string device_fingerprint(const Device& device) {
    // Whole GiB: the kernel's own share of the memory changes with every update.
    const std::int64_t gib = (device.memory_bytes + (std::int64_t{1} << 29)) >> 30;
    const std::string text = fmt::format(
        "{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", device.id, device.name, device.driver, device.units,
        gib, device.simd_bits, device.l1_bytes, device.l2_bytes, device.llc_bytes);
    return device.id + "-" + sha256_hex(text).substr(0, 16);
}

// No folder that others may write into stands in: whoever writes rates there changes predictions.
std::string cache_folder() {
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
        return (std::filesystem::path(cache) / "raceline").string();
    }
    if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
        return (std::filesystem::path(home) / ".cache/raceline").string();
    }
    return {};
}

std::string required_cache_folder() {
    std::string folder = cache_folder();
    require(!folder.empty(), Status::io,
            "there is no folder for the user's cache: neither XDG_CACHE_HOME nor HOME names an "
            "absolute path; set one");
    return folder;
}

std::string ceilings_cache_path(const Device& device) {
    const std::string folder = cache_folder();
    return folder.empty() ? folder : folder + "/ceilings-" + device_fingerprint(device) + ".jsonl";
}

}  // namespace raceline
