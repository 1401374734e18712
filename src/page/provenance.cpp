// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
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

using RowsOfCeilings = std::map<std::pair<std::string, std::string>, std::string>;

// Ids of ceiling rows, by the device's label and the resource; the last one counts.
RowsOfCeilings rows_of_ceilings(const std::vector<Json>& rows) {
    RowsOfCeilings found;
    for (const Json& row : rows) {
        if (row.at("kind") == CeilingRow::kind) {
            found[{device_label(row.at("device")),
                   row.at("ceiling").at("resource").get<std::string>()}] =
                row.at("id").get<std::string>();
        }
    }
    return found;
}

Json rates_json(const std::string& label, const Device& device, const RowsOfCeilings& ceilings,
                const ReceiptText& text) {
    const Device sheet = datasheet_device(device.id);
    Json rates = Json::array();
    for (const auto& [resource, rate] : device.rates) {
        const auto stated = sheet.rates.find(resource);
        const auto row = ceilings.find({label, resource});
        rates.push_back(
            {{"resource", resource},
             {"value", rate.value},
             {"origin", origin_text(rate)},
             {"source", rate.source},
             {"note", rate.note},
             {"clock_hz", rate.clock_hz},
             {"datasheet", stated == sheet.rates.end() ? Json() : Json(stated->second.value)},
             {"row", row == ceilings.end() ? Json() : place_json(text, row->second)}});
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

}  // namespace

Json provenance_json(const TimedRows& rows, const ReceiptText& text, KnownDevices& devices) {
    const RowsOfCeilings ceilings = rows_of_ceilings(text.rows());
    Json rates = Json::object();
    std::map<std::pair<std::string, std::string>, KernelUse> uses;  // by device's label and kernel
    for (const TimedCase& one : rows.cases) {
        const Device* device = devices.of(one.about.device);
        if (device == nullptr) {
            continue;
        }
        if (!rates.contains(one.device)) {
            rates[one.device] = rates_json(one.device, *device, ceilings, text);
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

Json what_if_json() {
    Json devices = Json::object();
    Json origins = Json::object();
    for (const std::string& id : device_ids()) {
        Device device = datasheet_device(id);
        apply_committed_rates(device);
        for (const auto& [resource, rate] : device.rates) {
            origins[rate.source] = origin_text(rate);
        }
        devices[id] = device_state_to_json(device);
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
            {"origins", std::move(origins)},
            {"suites", std::move(suites)},
            {"kernels", std::move(kernels)}};
}

}  // namespace raceline
