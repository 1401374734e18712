// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "options.hpp"
#include "receipt/named_file.hpp"
#include "run/run_case.hpp"
#include "selection.hpp"
#include "support/text_table.hpp"
#include "terminal.hpp"

namespace raceline::cli {
namespace {

Json device_content(const Device& d) {
    Json rates = Json::object();
    for (const auto& [resource, rate] : d.rates) {
        rates[resource] = Json{{"value", rate.value}, {"source", rate.source}};
    }
    return Json{{"suite", ""},
                {"device", {{"id", d.id}, {"name", d.name}, {"driver", d.driver}}},
                {"live", d.live},
                {"year", d.year},
                {"units", d.units},
                {"clock_hz", d.clock_hz},
                {"memory_bytes", d.memory_bytes},
                {"l2_bytes", d.l2_bytes},
                {"llc_bytes", d.llc_bytes},
                {"rates_id", d.rates_id},
                {"rates", rates}};
}

std::string best_matrix_rate(const Device& d) {
    double best = 0;
    for (const auto& [resource, rate] : d.rates) {
        const bool whole = resource.find('@') == std::string::npos &&
                           !resource.ends_with(".unit") && !resource.ends_with(".burst");
        if (whole && resource.starts_with("flop.") && resource.ends_with(".bf16")) {
            best = std::max(best, rate.value);
        }
    }
    return best > 0 ? format_si(best, "flop/s") : "";
}

std::string rate_text(const Device& d, std::string_view resource, std::string_view unit) {
    const auto rate = d.find(resource);
    return rate ? format_si(*rate, unit) : "";
}

void print_one(const Device& d) {
    fmt::print("{} ({}){}: {} units, {:.3g} GHz, memory {}, last-level cache {}; rates {}\n",
               d.name, d.id, d.live ? ", live" : "", d.units, d.clock_hz / 1e9,
               format_si(static_cast<double>(d.memory_bytes), "B"),
               format_si(static_cast<double>(d.llc_bytes), "B"), d.rates_id);
    TextTable table({{"resource"}, {"rate", TextTable::Align::right}, {"note"}, {"source"}});
    for (const auto& [resource, rate] : d.rates) {
        const bool time = resource.starts_with("floor.") || resource.starts_with("latency.");
        const std::string_view unit = resource.starts_with("byte.") ? "B/s"
                                      : resource.starts_with("op.") ? "op/s"
                                                                    : "flop/s";
        table.add({resource, time ? format_seconds(rate.value) : format_si(rate.value, unit),
                   rate.note, rate.source});
    }
    fmt::print("{}", table.str());
    if (!d.power.known()) {
        return;
    }
    fmt::print("limit {:.0f} W, idle {:.0f} W at the highest clock ({})\n", d.power.limit_w,
               d.power.idle_w, d.power.source);
    TextTable energies({{"resource"}, {"energy", TextTable::Align::right}});
    for (const auto& [resource, joules] : d.power.joules) {
        const std::string_view each = resource.starts_with("byte.") ? "byte"
                                      : resource.starts_with("op.") ? "op"
                                                                    : "flop";
        energies.add({resource, fmt::format("{:.3g} pJ/{}", 1e12 * joules, each)});
    }
    fmt::print("{}", energies.str());
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
    if (!options.device.empty()) {
        print_one(devices.front());
        return exit_ok;
    }
    using Align = TextTable::Align;
    TextTable table({{"device"},
                     {"live"},
                     {"name"},
                     {"year", Align::right},
                     {"units", Align::right},
                     {"bf16 dense", Align::right},
                     {"fp32", Align::right},
                     {"DRAM read", Align::right},
                     {"memory", Align::right},
                     {"rates"}});
    for (const Device& d : devices) {
        table.add({d.id, d.live ? "live" : "", d.name, d.year > 0 ? std::to_string(d.year) : "",
                   std::to_string(d.units), best_matrix_rate(d),
                   rate_text(d, "flop.fma.fp32", "flop/s"), rate_text(d, "byte.dram_read", "B/s"),
                   d.memory_bytes > 0 ? format_si(static_cast<double>(d.memory_bytes), "B") : "",
                   d.rates_id});
    }
    fmt::print("{}", table.str());
    return exit_ok;
}

}  // namespace raceline::cli
