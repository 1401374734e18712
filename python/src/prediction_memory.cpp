// SPDX-License-Identifier: Apache-2.0
// A prediction depends on the workload, the device and its rates alone. Making one reads devices
// and rates from their files and ranks every tile; the answer is kept and looked up by what it
// depends on, the user's file of rates included, by its time of change.
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

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

using Memory = std::unordered_map<std::string, nb::object>;

// Python objects must not outlive the interpreter: the module owns the memory, not a static.
nb::object remembered(Memory& memory, std::string key, const std::string& device,
                      const nb::object& make, const std::function<std::string()>& predict) {
    constexpr std::size_t most = 4096;
    key += '\0' + device + '\0' + rates_stamp(device);
    if (const auto found = memory.find(key); found != memory.end()) {
        return found->second;
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
    memory.emplace(std::move(key), made);
    return made;
}

}  // namespace

void bind_predictions(nb::module_& module) {
    nb::class_<Memory>(module, "Predictions", "Predictions by what they depend on.")
        .def(nb::init<>())
        .def("__len__", &Memory::size)
        .def("clear", [](Memory& memory) { memory.clear(); })
        .def("of_call",
             [](Memory& memory, const Call& call, nb::handle device, const nb::object& make) {
                 const std::string name = read_text("device", device);
                 return remembered(memory, call.key(), name, make,
                                   [&] { return call.predict(name); });
             })
        .def("of_shape", [](Memory& memory, nb::handle shape, nb::handle device, nb::handle backend,
                            const nb::object& make) {
            const std::string text = read_text("shape", shape);
            const std::string name = read_text("device", device);
            const std::string kernel = read_text("backend", backend);
            return remembered(memory, "shape " + text + '\0' + kernel, name, make,
                              [&] { return predict_shape(text, name, kernel); });
        });
}

}  // namespace raceline::python
