// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "device/catalog.hpp"
#include "device/device_state.hpp"
#include "device/rate_origin.hpp"
#include "page/page_parts.hpp"
#include "registry/registry.hpp"
#include "report/explanation.hpp"
#include "report/first_sight.hpp"
#include "support/check.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

// Constants of a kernel show themselves when it predicts: more shapes than this find no others.
constexpr std::size_t shapes_of_a_kernel = 12;

// A ceiling that stands in a row of the page's files.
struct OwnCeiling {
    std::string row;  // its id
    double value = 0, clock_hz = 0;
    std::string method;
};
using OwnCeilings = std::map<std::string, OwnCeiling>;  // by resource

// By the device's label; of several rows of a resource the last one counts.
std::map<std::string, OwnCeilings> own_ceilings(const std::vector<Json>& rows) {
    std::map<std::string, OwnCeilings> found;
    for (const Json& row : rows) {
        if (row.at("kind") == CeilingRow::kind) {
            const Json& ceiling = row.at("ceiling");
            found[device_label(row.at("device"))][ceiling.at("resource").get<std::string>()] = {
                row.at("id").get<std::string>(), ceiling.at("value").get<double>(),
                ceiling.value("clock_hz", 0.0), ceiling.value("method", std::string())};
        }
    }
    return found;
}

// Beside rates (device/device.hpp) ceiling rows hold products of other libraries, bytes of buffers
// and the like, which stand behind no roof and no prediction.
bool is_rate(std::string_view resource) {
    constexpr std::array<std::string_view, 6> rates{"byte.",  "flop.",    "op.",
                                                    "floor.", "latency.", "size."};
    return std::ranges::any_of(
        rates, [&](std::string_view beginning) { return resource.starts_with(beginning); });
}

// One that the files measured and that the device of this build does not have, or has otherwise.
Json own_json(const std::string& resource, const OwnCeiling& own, const Json& datasheet,
              const ReceiptText& text) {
    return {{"resource", resource},
            {"value", own.value},
            {"origin", "measured, in a file of this page"},
            {"source", own.method},
            {"note", ""},
            {"clock_hz", own.clock_hz},
            {"datasheet", datasheet},
            {"row", place_json(text, own.row)}};
}

// What predictions of this build use, and beside it what the files measured where that differs: a
// value opens the row that holds it and no other.
Json rates_json(const Device& device, const OwnCeilings& ceilings, const ReceiptText& text) {
    const Device sheet = datasheet_device(device.id);
    const auto stated = [&](const std::string& resource) {
        const auto found = sheet.rates.find(resource);
        return found == sheet.rates.end() ? Json() : Json(found->second.value);
    };
    Json rates = Json::array();
    for (const auto& [resource, rate] : device.rates) {
        const auto own = ceilings.find(resource);
        const bool same = own != ceilings.end() && own->second.value == rate.value;
        rates.push_back({{"resource", resource},
                         {"value", rate.value},
                         {"origin", origin_text(rate)},
                         {"source", rate.source},
                         {"note", rate.note},
                         {"clock_hz", rate.clock_hz},
                         {"datasheet", stated(resource)},
                         {"row", same ? place_json(text, own->second.row) : Json()}});
    }
    for (const auto& [resource, own] : ceilings) {
        const auto rate = device.rates.find(resource);
        const bool shown = rate != device.rates.end() && rate->second.value == own.value;
        if (is_rate(resource) && !shown) {
            rates.push_back(own_json(resource, own, stated(resource), text));
        }
    }
    return rates;
}

// The constants that a prediction of this case rests on; none where kernel or tile have left.
std::vector<Constant> constants_of(const TimedCase& one, const Device& device) {
    const std::optional<KernelOfToday> now = kernel_of_today(one, device);
    if (!now) {
        return {};
    }
    CaseOptions options;
    options.how = one.about.launch;
    try {
        return explain_case({one.about.suite, now->kernel, now->tile, one.workload, options},
                            device)
            .constants;
    } catch (const Error&) {
        return {};  // a rate that the device does not have
    }
}

struct KernelUse {
    std::set<std::string> shapes;
    std::vector<Constant> constants;
};

Device with_ceilings(Device device, const std::map<std::string, double>& measured) {
    for (const auto& [resource, value] : measured) {
        if (is_rate(resource)) {
            Rate& rate = device.rates[resource];
            rate.value = value;
            rate.source = std::string(source_prefix(RateOrigin::file)) + "in a file of this page";
        }
    }
    return device;
}

// Devices as the rows have them: of the last row that says all of one, else the datasheet's with
// the ceilings that the rows measured. Those that this build has are not among them: a row knows
// their rates as they were when it was written, and `predict` has those of today.
std::map<std::string, Device> own_devices(const TimedRows& rows, KnownDevices& devices) {
    const std::vector<std::string> of_this_build = device_ids();
    std::map<std::string, Device> own;
    for (const Json& row : rows.rows) {
        if (row.at("kind") == DeviceRow::kind && row.contains("state")) {
            const std::string label = device_label(row.at("device"));
            if (std::ranges::find(of_this_build, label) != of_this_build.end()) {
                continue;
            }
            try {
                own.insert_or_assign(label, device_state_from_json(row.at("state")));
            } catch (const Error&) {  // of an older release, whose states had other fields
            }
        }
    }
    for (const auto& [label, name] : devices_of(rows)) {
        const auto measured = rows.ceilings.find(label);
        if (own.contains(label) || measured == rows.ceilings.end()) {
            continue;
        }
        const Device* known = devices.of(name);
        if (known != nullptr && known->id != label) {
            own.emplace(label, with_ceilings(*known, measured->second));
        }
    }
    return own;
}

}  // namespace

Json provenance_json(const TimedRows& rows, const ReceiptText& text, KnownDevices& devices) {
    const std::map<std::string, OwnCeilings> ceilings = own_ceilings(text.rows());
    Json rates = Json::object();
    for (const auto& [label, name] : devices_of(rows)) {
        if (const Device* device = devices.of(name)) {
            const auto own = ceilings.find(label);
            rates[label] =
                rates_json(*device, own == ceilings.end() ? OwnCeilings{} : own->second, text);
        }
    }
    std::map<std::pair<std::string, std::string>, KernelUse> uses;  // by device's label and kernel
    for (const TimedCase& one : rows.cases) {
        const Device* device = devices.of(one.about.device);
        if (device == nullptr) {
            continue;
        }
        KernelUse& use = uses[{one.device, one.kernel}];
        if (use.shapes.size() >= shapes_of_a_kernel || !use.shapes.insert(one.shape).second) {
            continue;
        }
        for (const Constant& constant : constants_of(one, *device)) {
            if (std::ranges::find(use.constants, constant) == use.constants.end()) {
                use.constants.push_back(constant);
            }
        }
    }
    Json constants = Json::array();
    for (const auto& [of, use] : uses) {
        constants.push_back({{"device", of.first},
                             {"kernel", of.second},
                             {"constants", constants_to_json(use.constants)}});
    }
    return {{"rates", std::move(rates)}, {"constants", std::move(constants)}};
}

Json what_if_json(const TimedRows& rows, KnownDevices& known) {
    Json devices = Json::object();
    Json origins = Json::object();
    const auto add = [&](const std::string& label, const Device& device) {
        for (const auto& [resource, rate] : device.rates) {
            origins[rate.source] = origin_text(rate);
        }
        devices[label] = device_state_to_json(device);
    };
    for (const std::string& id : device_ids()) {
        Device device = datasheet_device(id);
        apply_committed_rates(device);
        add(id, device);
    }
    Json own = Json::array();
    for (const auto& [label, device] : own_devices(rows, known)) {
        add(label, device);
        own.push_back(label);
    }
    Json suites = Json::array();
    for (const std::string& name : suite_names(SuiteGroup::benchmark)) {
        Json shapes = Json::array();
        for (const Workload& workload : make_suite(name).workloads) {
            shapes.push_back(format_shape(workload));
        }
        suites.push_back(Json::array({name, std::move(shapes)}));
    }
    Json kernels = Json::array();
    for (const Kernel& kernel : all_kernels()) {
        kernels.push_back(Json::array({kernel.name, kernel.summary, kernel.ladder}));
    }
    return {{"devices", std::move(devices)},
            {"own", std::move(own)},
            {"origins", std::move(origins)},
            {"suites", std::move(suites)},
            {"kernels", std::move(kernels)}};
}

}  // namespace raceline
