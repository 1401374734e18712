// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "device/device_state.hpp"
#include "options.hpp"
#include "receipt/named_file.hpp"
#include "report/device_table.hpp"
#include "run/run_case.hpp"
#include "selection.hpp"
#include "terminal.hpp"

namespace raceline::cli {
namespace {

Json device_content(const Device& d) {
    Json content{{"suite", ""}, {"device", {{"id", d.id}, {"name", d.name}, {"driver", d.driver}}}};
    content.update(listed_members(d));
    return content;
}

std::vector<Device> listed(const Options& options) {
    if (!options.device.empty()) {
        return {select_device(options)};
    }
    if (options.rates) {
        require_receipts(*options.rates);
    }
    std::vector<Device> all{live_cpu()};
    const auto cuda = live_cuda();
    for (const std::string& id : device_ids()) {
        if (id != "cpu") {
            all.push_back(cuda && cuda->id == id ? *cuda : datasheet_device(id));
        }
    }
    for (Device& device : all) {
        apply_rates(device, options.rates);
    }
    return all;
}

}  // namespace

int run_devices(const Options& options) {
    const std::vector<Device> devices = listed(options);
    if (options.json) {
        const RowSink sink{.context = &options.context, .writer = nullptr, .emit = print_row};
        for (const Device& device : devices) {
            sink.put("device", "", device_content(device));
        }
        return exit_ok;
    }
    const TextStyle style = stdout_style(options);
    fmt::print("{}", options.device.empty() ? devices_table(devices, style)
                                            : device_text(devices.front(), style));
    return exit_ok;
}

}  // namespace raceline::cli
