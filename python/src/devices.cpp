// SPDX-License-Identifier: Apache-2.0
// Devices and their ceilings, as JSON texts.
#include "devices.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/predicted_case.hpp"
#include "device/device_state.hpp"
#include "options.hpp"
#include "receipt/rows.hpp"
#include "run/ceiling_run.hpp"
#include "support/json.hpp"

namespace raceline::python {
namespace {

namespace nb = nanobind;

Json device_json(Device device) {
    apply_rates(device, std::nullopt);
    Json all{{"id", device.id}, {"name", device.name}};
    all.update(listed_members(device));
    return all;
}

std::string devices() {
    const nb::gil_scoped_release released;
    Json all = Json::array();
    const std::optional<Device> cuda = live_cuda();
    if (cuda) {
        all.push_back(device_json(*cuda));
    }
    all.push_back(device_json(live_cpu()));
    for (const std::string& id : device_ids()) {
        if (id != "cpu" && (!cuda || cuda->id != id)) {
            all.push_back(device_json(datasheet_device(id)));
        }
    }
    return dump_json(all);
}

struct MeasureOptions {
    std::string device;
    int threads = 0;
    bool if_missing = false;
    bool quick = false;
};

// Called between two probes: the one place where Ctrl-C can be heard.
void report(const nb::object& progress, std::string_view what, int done, int total) {
    const nb::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) {
        throw nb::python_error();
    }
    if (!progress.is_none()) {
        progress(nb::str(what.data(), what.size()), done, total);
    }
}

Json measured(const MeasureOptions& options, const RowContext& context,
              const nb::object& progress) {
    const Device device = live_device(options.device);
    const std::string path = ceilings_cache_path(device);
    Json result{{"device", device.id}, {"name", device.name}, {"path", path}};
    Json& rows = result["ceilings"] = Json::array();
    if (options.if_missing && std::filesystem::exists(path)) {
        return result;
    }
    if (!options.quick) {
        require_cache(device);
    }
    const auto ceilings = probe_ceilings(
        device, options.threads,
        [&](std::string_view what, int done, int total) { report(progress, what, done, total); },
        options.quick ? ProbeEffort::quick : ProbeEffort::full);
    for (const Ceiling& ceiling : ceilings) {
        rows.push_back(row_to_json(ceiling));
    }
    if (options.quick) {
        result["path"] = "";  // too noisy to be anyone's rates
    } else {
        keep_ceilings(device, ceilings, context, {});
    }
    return result;
}

// Threads beyond an int are beyond every machine: the library refuses the largest one by name.
int read_threads(nb::handle value) {
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    return static_cast<int>(std::clamp<std::int64_t>(read_integer("threads", value), -1, most));
}

std::string measure(nb::handle device, nb::handle threads, nb::handle if_missing, nb::handle quick,
                    const std::vector<std::string>& argv, const nb::object& progress) {
    const MeasureOptions options{read_text("device", device), read_threads(threads),
                                 read_bool("if_missing", if_missing), read_bool("quick", quick)};
    std::vector<const char*> words;
    words.reserve(argv.size());
    for (const std::string& word : argv) {
        words.push_back(word.c_str());
    }
    const nb::gil_scoped_release released;
    return dump_json(
        measured(options, RowContext::of_this_process(static_cast<int>(words.size()), words.data()),
                 progress));
}

}  // namespace

void bind_devices(nb::module_& module) {
    module.def("devices", &devices);
    module.def("measure", &measure, nb::arg("device").none(), nb::arg("threads").none(),
               nb::arg("if_missing").none(), nb::arg("quick").none(), nb::arg("argv"),
               nb::arg("progress").none());
    module.def("judged_point",
               [](double flops, double bytes, double seconds, const std::string& engine,
                  const std::string& memory, const std::string& device) {
                   return api::point_text({.flops = flops,
                                           .bytes = bytes,
                                           .seconds = seconds,
                                           .engine = engine,
                                           .memory = memory},
                                          device);
               });
    module.def("ceilings_path",
               [](const std::string& device) { return ceilings_cache_path(live_device(device)); });
}

}  // namespace raceline::python
