// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "device/catalog.hpp"
#include "page/page_parts.hpp"
#include "plot/peer_looks.hpp"
#include "plot/roofs.hpp"
#include "registry/registry.hpp"
#include "report/docs_peers.hpp"
#include "report/first_sight.hpp"
#include "report/receipt_diff.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

struct MemoryLevel {
    std::string_view name;
    std::vector<std::string_view> resources;
};

// Beside DRAM, whose intensity stands in the row. Each level's bytes are those of the resource
// whose ceiling is its roof (page/roofline.js); what is multiplied out of shared memory leaves it
// through the same ports as what is loaded.
const std::vector<MemoryLevel>& cache_levels() {
    static const std::vector<MemoryLevel> levels{{"llc", {"byte.llc"}},
                                                 {"l2", {"byte.l2"}},
                                                 {"l1", {"byte.l1"}},
                                                 {"smem", {"byte.smem_lsu", "byte.smem_mma"}}};
    return levels;
}

// All work of a case by this build's counts of its kernel; nothing where kernel or tile have left.
Work work_of(const TimedCase& one, const Device& device) {
    const std::optional<KernelOfToday> now = kernel_of_today(one, device);
    if (!now) {
        return {};
    }
    Work all;
    for (const Counts& launch : now->kernel->counts(one.workload, now->tile, device)) {
        all = all + launch.work;
    }
    return all;
}

double bytes_of(const Work& work, const MemoryLevel& level) {
    double bytes = 0;
    for (const std::string_view resource : level.resources) {
        if (const auto found = work.find(resource); found != work.end()) {
            bytes += found->second;
        }
    }
    return bytes;
}

// Flop per byte that crosses each level; a level whose bytes are not known is left out.
Json intensities(const TimedCase& one, const Device* device) {
    const double flops = one.workload.flops();
    double dram = one.predicted ? one.predicted->layer1.arithmetic_intensity : 0;
    if (!(dram > 0)) {
        dram = flops / (one.workload.bytes_read() + one.workload.bytes_written());
    }
    Json all = Json::object();
    if (dram > 0 && std::isfinite(dram)) {
        all["dram"] = short_number(dram);
    }
    if (device != nullptr && flops > 0) {
        const Work work = work_of(one, *device);
        for (const MemoryLevel& level : cache_levels()) {
            if (const double bytes = bytes_of(work, level); bytes > 0) {
                all[std::string(level.name)] = short_number(flops / bytes);
            }
        }
    }
    return all;
}

Json interval_json(const std::optional<Interval>& interval) {
    return interval ? Json::array({short_number(interval->low), short_number(interval->high)})
                    : Json();
}

// More digits than anybody sees, and less than half of what a double takes; the row has all. What
// has no short form stays as it is.
Json time_json(double seconds) {
    constexpr int digits = 8;
    Json time = short_number(seconds, digits);
    return time.is_null() ? Json(seconds) : time;
}

void add_prediction(Json& one, const Prediction& p) {
    one["predicted"] = time_json(p.seconds);
    one["limiter"] = p.limiter;
    one["bound"] = time_json(p.layer1.bound_seconds);
    one["roof"] = p.layer1.limiter;
    // Of the limiter where another resource is busier; none for the tail, latency and launches.
    const auto own = p.layer1.seconds.find(p.limiter);
    if (own != p.layer1.seconds.end() && p.limiter != p.layer1.limiter) {
        one["limiter_bound"] = time_json(own->second);
    }
    one["band"] = interval_json(p.band);
}

Json case_json(const TimedCase& one, const ReceiptText& text, const Device* device) {
    const Measurement& m = one.measured;
    Json result{{"device", one.device},
                {"suite", one.about.suite},
                {"kernel", one.kernel},
                {"tile", tile_fields(one.about.tile)},
                {"shape", one.shape},
                {"commit", one.commit},
                {"written", one.written},
                {"way", way_of(one)},
                {"measured", m.seconds_median},
                {"low", time_json(m.seconds_low)},
                {"high", time_json(m.seconds_high)},
                {"flops", one.workload.flops()},
                {"ai", intensities(one, device)},
                {"stale", one.stale},
                {"comparison", one.interleaved},
                {"row", place_json(text, one.id)},
                {"prediction_row", place_json(text, one.prediction_id)}};
    if (one.workload.flops() <= 0) {  // its rate is that of its compulsory bytes
        result["bytes"] = one.workload.bytes_read() + one.workload.bytes_written();
    }
    if (one.predicted) {
        add_prediction(result, *one.predicted);
    }
    return result;
}

Json roof_list(const std::vector<Roof>& roofs) {
    Json list = Json::array();
    for (const Roof& roof : roofs) {
        list.push_back(Json::array({roof.name, roof.resource, roof.rate, roof.measured}));
    }
    return list;
}

TileFields fields_of(const Json& tile) {
    TileFields fields;
    for (const auto& [name, value] : tile.items()) {
        // A row may hold anything: what is no number is no tile of any kernel.
        fields.emplace_back(name, value.is_number_integer() ? value.get<std::int64_t>() : -1);
    }
    return fields;
}

}  // namespace

Json in_columns(const Json& objects) {
    Json columns = Json::object();
    for (std::size_t i = 0; i < objects.size(); ++i) {
        for (const auto& [name, value] : objects[i].items()) {
            Json& column = columns[name];
            while (column.size() < i) {
                column.push_back(no_member);
            }
            column.push_back(value);
        }
    }
    for (Json& column : columns) {
        while (column.size() < objects.size()) {
            column.push_back(no_member);
        }
    }
    return columns;
}

std::optional<KernelOfToday> kernel_of_today(const TimedCase& one, const Device& device) {
    const Kernel* kernel = kernel_once_called(one.kernel);
    const int tile = kernel == nullptr ? -1 : kernel->find_tile(fields_of(one.about.tile));
    if (tile < 0 || !why_not(*kernel, one.workload, tile, device).empty()) {
        return std::nullopt;
    }
    return KernelOfToday{kernel, tile};
}

const Device* KnownDevices::of(const TimedCase& one) {
    const Device* stated = stated_device_of(rows_, one);
    return stated == nullptr ? of(one.device, one.about.device) : stated;
}

const Device* KnownDevices::of(const std::string& label, const DeviceName& name) {
    if (const StatedDevice* stated = last_stated(rows_, label)) {
        return &stated->device;
    }
    const auto [at, fresh] = known_.try_emplace(label);
    std::optional<Device>& known = at->second;
    if (fresh) {
        try {
            Device device = datasheet_device(name.id);
            device.name = name.name;
            device.driver = name.driver;
            apply_committed_rates(device);
            known = std::move(device);
        } catch (const Error&) {
            known.reset();  // the page says which devices it does not know
        }
    }
    return known ? &*known : nullptr;
}

Json cases_json(const TimedRows& rows, const ReceiptText& text, const Scorecard& card,
                KnownDevices& devices, NumberedTexts& texts) {
    std::map<ScoreGroup, std::size_t> numbers;  // of the scorecard's groups, in its order
    for (const Score& score : card.scores()) {
        numbers.try_emplace(score.group, numbers.size());
    }
    std::map<std::string, ScoreGroup> groups;
    for (const ScoredRow& row : card.scored_rows()) {
        groups.emplace(row.id, row.group);
    }
    std::map<std::string, std::size_t> same;  // numbers of the identities
    Json cases = Json::array();
    for (const TimedCase& one : rows.cases) {
        Json result;
        try {
            result = case_json(one, text, devices.of(one));
        } catch (const Error&) {  // a case that today's counts refuse
            result = case_json(one, text, nullptr);
        }
        const auto group = groups.find(one.id);
        result["sight"] = group == groups.end() ? "" : sight_name(group->second.sight);
        if (group != groups.end()) {
            result["group"] = numbers.at(group->second);
        }
        result["same"] = same.try_emplace(case_identity(one), same.size()).first->second;
        for (const char* const text_of : {"shape", "tile", "way"}) {
            result[text_of] = texts.of(result[text_of].get<std::string>());
        }
        cases.push_back(std::move(result));
    }
    return in_columns(cases);
}

Json peers_json(const TimedRows& rows, const ReceiptText& text) {
    Json peers = Json::array();
    const std::vector<std::size_t> looks = peer_numbers(rows.peers);
    for (std::size_t i = 0; i < rows.peers.size(); ++i) {
        const TimedPeer& peer = rows.peers[i];
        peers.push_back({{"device", peer.device},
                         {"kernel", peer.kernel},
                         {"shape", peer.shape},
                         {"peer", peer.peer},
                         {"title", peer_title(peer.peer)},
                         {"form", peer.form},
                         {"look", looks[i]},
                         {"ratio", peer.ratio},
                         {"low", peer.ratio_low},
                         {"high", peer.ratio_high},
                         {"commit", peer.commit},
                         {"written", peer.written},
                         {"stale", peer.stale},
                         {"row", place_json(text, peer.id)}});
    }
    return peers;
}

std::map<std::string, DeviceName> devices_of(const TimedRows& rows) {
    std::map<std::string, DeviceName> devices;
    for (const TimedCase& one : rows.cases) {
        devices.emplace(one.device, one.about.device);
    }
    for (const Json& row : rows.rows) {
        if (row.at("kind") == CeilingRow::kind) {
            devices.emplace(device_label(row.at("device")), row_from_json<CeilingRow>(row).device);
        }
    }
    return devices;
}

Json roofs_json(const TimedRows& rows) {
    Json all = Json::object();
    for (const auto& [label, device] : devices_of(rows)) {
        const Roofs roofs = roofs_of(label, device, rows);
        all[label] = {{"memory", roof_list(roofs.memory)},
                      {"engines", roof_list(roofs.engines)},
                      {"sets", roofs.sets},
                      {"unstated", roofs.unstated}};
    }
    return all;
}

}  // namespace raceline
