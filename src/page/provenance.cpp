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
#include "plot/roofs.hpp"
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

// In words that hold wherever the page is read: what a row says was measured on the machine that
// wrote it, not here.
std::string origin_on_page(const Rate& rate) {
    const RateOrigin origin = origin_of(rate);
    return origin == RateOrigin::here   ? "measured on this device"
           : origin == RateOrigin::file ? "measured, in a file of this page"
                                        : origin_text(rate);
}

// Of a device that a row states: `state`, else "". What was measured opens the row.
struct RatesOf {
    const Device& device;
    std::string state;
};

std::map<std::string, Rate, std::less<>> datasheet_rates(const std::string& id) {
    try {
        return datasheet_device(id).rates;
    } catch (const Error&) {
        return {};  // a device that this build does not know
    }
}

// What predictions of this build use, and beside it what the files measured where that differs: a
// value opens the row that holds it and no other.
Json rates_json(const RatesOf& of, const OwnCeilings& ceilings, const ReceiptText& text) {
    const auto& [device, state] = of;
    const std::map<std::string, Rate, std::less<>> sheet = datasheet_rates(device.id);
    const auto stated = [&](const std::string& resource) {
        const auto found = sheet.find(resource);
        return found == sheet.end() ? Json() : Json(found->second.value);
    };
    const auto row_of = [&](const Rate& rate, bool same, const std::string& ceiling) {
        return same                                  ? place_json(text, ceiling)
               : !state.empty() && is_measured(rate) ? place_json(text, state)
                                                     : Json();
    };
    Json rates = Json::array();
    for (const auto& [resource, rate] : device.rates) {
        const auto own = ceilings.find(resource);
        const bool same = own != ceilings.end() && own->second.value == rate.value;
        rates.push_back(
            {{"resource", resource},
             {"value", rate.value},
             {"origin", !state.empty() && is_measured(rate) ? "measured, in a row of this page"
                                                            : origin_on_page(rate)},
             {"source", rate.source},
             {"note", rate.note},
             {"clock_hz", rate.clock_hz},
             {"datasheet", stated(resource)},
             {"row", row_of(rate, same, same ? own->second.row : "")}});
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

// A device whose predictions rest on ceilings that no row states has none here either: those of
// another machine of its name are not its own.
bool is_unstated(const std::string& label, const DeviceName& name, const TimedRows& rows) {
    return roofs_of(label, name, rows).unstated;
}

// Devices as the rows have them: of the last row that says all of one, else the datasheet's with
// the ceilings that the rows measured.
std::map<std::string, Device> own_devices(const TimedRows& rows, KnownDevices& devices) {
    std::map<std::string, Device> own;
    for (const auto& [label, states] : rows.stated) {
        const Device& device = last_stated(rows, label)->device;
        if (!is_unstated(label, {device.id, device.name, device.driver}, rows)) {
            own.emplace(label, device);
        }
    }
    for (const auto& [label, name] : devices_of(rows)) {
        const auto measured = rows.ceilings.find(label);
        if (own.contains(label) || measured == rows.ceilings.end()) {
            continue;
        }
        const Device* known = devices.of(label, name);
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
        if (const Device* device = devices.of(label, name)) {
            const auto own = ceilings.find(label);
            const StatedDevice* stated = last_stated(rows, label);
            Device shown = *device;
            if (is_unstated(label, name, rows)) {
                shown.rates.clear();
            }
            rates[label] =
                rates_json({.device = shown, .state = stated == nullptr ? "" : stated->id},
                           own == ceilings.end() ? OwnCeilings{} : own->second, text);
        }
    }
    std::map<std::pair<std::string, std::string>, KernelUse> uses;  // by device's label and kernel
    for (const TimedCase& one : rows.cases) {
        const Device* device = devices.of(one);
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
            origins[rate.source] = origin_on_page(rate);
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
