// SPDX-License-Identifier: Apache-2.0
// A prediction depends on the workload, the device and its rates alone. Making one reads devices
// and rates from their files and ranks every tile; the answer is kept and looked up by what it
// depends on, the user's file of rates included, by its time of change.
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <nanobind/stl/string.h>
#include <optional>
#include <utility>

#include "api/predicted_case.hpp"
#include "call.hpp"
#include "device/catalog.hpp"
#include "options.hpp"
#include "prediction.hpp"

namespace raceline::python {
namespace {

// The live devices cannot change while the process runs.
const std::optional<Device>& live(const std::string& name) {
    static const std::optional<Device> cuda = live_cuda();
    static const std::optional<Device> cpu = live_cpu();
    static const std::optional<Device> none;
    if (name == "cpu" || (name.empty() && !cuda)) {
        return cpu;
    }
    return cuda && (name.empty() || name == cuda->id) ? cuda : none;
}

std::string text_of_environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

// Which rates the answer went by: file and time of change; "" where no file can matter.
std::string rates_stamp(const std::string& device) {
    const std::optional<Device>& machine = live(device);
    if (!machine) {
        return {};
    }
    // The path needs a hash of the machine's description: once a place that it may be in.
    static std::map<std::string, std::filesystem::path> paths;
    const std::string place = machine->id + '\n' + text_of_environment("XDG_CACHE_HOME") + '\n' +
                              text_of_environment("HOME");
    auto found = paths.find(place);
    if (found == paths.end()) {
        found = paths.emplace(place, ceilings_cache_path(*machine)).first;
    }
    std::error_code missing;
    const auto changed = std::filesystem::last_write_time(found->second, missing);
    return missing ? place : place + std::to_string(changed.time_since_epoch().count());
}

// The memory is a dict of Python's, which its garbage collector can see through.
nb::object remembered(nb::dict memory, const std::string& about, const std::string& device,
                      const nb::object& make, const std::function<std::string()>& predict) {
    constexpr std::size_t most = 4096;
    const std::string text = about + '\0' + device + '\0' + rates_stamp(device);
    const nb::bytes key(text.data(), text.size());
    if (PyObject* const found = PyDict_GetItemWithError(memory.ptr(), key.ptr())) {
        return nb::borrow(found);
    }
    std::string json;
    {
        const nb::gil_scoped_release released;
        json = predict();
    }
    nb::object made = make(nb::str(json.c_str(), json.size()));
    if (memory.size() >= most) {
        memory.clear();
    }
    memory[key] = made;
    return made;
}

nb::object predicted_call(nb::dict memory, const Call& call, nb::handle device,
                          const nb::object& make) {
    const std::string name = read_text("device", device);
    return remembered(std::move(memory), call.key(), name, make,
                      [&] { return call.predict(name); });
}

nb::object predicted_shape(nb::dict memory, nb::handle shape, nb::handle device, nb::handle backend,
                           const nb::object& make) {
    const std::string text = read_text("shape", shape);
    const std::string name = read_text("device", device);
    const std::string kernel = read_text("backend", backend);
    return remembered(std::move(memory), "shape " + text + '\0' + kernel, name, make,
                      [&] { return predict_shape(text, name, kernel); });
}

}  // namespace

void bind_predictions(nb::module_& module) {
    module.def("predicted_call", &predicted_call, nb::arg("memory"), nb::arg("call"),
               nb::arg("device").none(), nb::arg("make"));
    module.def(
        "bound_of_shape",
        [](nb::handle shape, nb::handle device) {
            const std::string text = read_text("shape", shape);
            const std::string name = read_text("device", device);
            const nb::gil_scoped_release released;
            return api::bound_text(text, name);
        },
        nb::arg("shape"), nb::arg("device").none());
    module.def("predicted_shape", &predicted_shape, nb::arg("memory"), nb::arg("shape"),
               nb::arg("device").none(), nb::arg("backend").none(), nb::arg("make"));
}

}  // namespace raceline::python
