// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "device/catalog.hpp"
#include "device/probes.hpp"
#include "options.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "terminal.hpp"

namespace raceline::cli {
namespace {

Device live_device(const Options& options) {
    auto cuda = live_cuda();
    if (options.device == "cpu" || (options.device.empty() && !cuda)) {
        return live_cpu();
    }
    if (cuda &&
        (options.device.empty() || options.device == "cuda" || options.device == cuda->id)) {
        return *cuda;
    }
    fail(Status::no_device, "device '{}' is not on this machine: only a live one can be measured",
         options.device);
}

void print_table(const std::vector<Ceiling>& ceilings) {
    using Align = TextTable::Align;
    TextTable table({{"resource", Align::left},
                     {"ceiling", Align::right},
                     {"of its limit", Align::right},
                     {"clock", Align::right},
                     {"how", Align::left}});
    for (const Ceiling& c : ceilings) {
        const std::string value =
            c.unit == "s" ? format_seconds(c.value) : format_si(c.value, c.unit);
        table.add({c.resource, value,
                   c.limit > 0 ? fmt::format("{:.0f} %", 100 * c.value / c.limit) : "",
                   c.clock_hz > 0 ? fmt::format("{:.2f} GHz", c.clock_hz / 1e9) : "", c.method});
    }
    fmt::print("{}", table.str());
}

}  // namespace

int run_measure(const Options& options) {
    Device device = live_device(options);
    const std::string path = ceilings_cache_path(device);
    if (options.if_missing && std::filesystem::exists(path)) {
        say("ceilings of {} are in {}", device.name, path);
        return exit_ok;
    }
    std::vector<Ceiling> ceilings;
    {
        std::unique_ptr<Progress> bar;
        const ProbeProgress progress = [&](std::string_view what, int done, int total) {
            bar = bar ? std::move(bar) : std::make_unique<Progress>(total);
            bar->step(done, what);
        };
        ceilings = device.kind == DeviceKind::cpu ? probe_cpu(device, options.threads, progress)
                                                  : probe_cuda(device, progress);
    }
    // A new file takes the old one's place only when it is whole.
    const std::string fresh = fmt::format("{}.{}", path, getpid());
    std::optional<ReceiptWriter> cache(fresh);
    std::optional<ReceiptWriter> also;
    if (!options.receipts.empty()) {
        also.emplace(options.receipts);
    }
    for (const Ceiling& ceiling : ceilings) {
        check_ceiling(ceiling);
        const Json content{
            {"suite", ""},
            {"device", {{"id", device.id}, {"name", device.name}, {"driver", device.driver}}},
            {"ceiling", ceiling_to_json(ceiling)}};
        const Json row = RowSink{.context = &options.context, .writer = &*cache, .emit = {}}.put(
            "ceiling", "", content);
        if (also) {
            RowSink{.context = &options.context, .writer = &*also, .emit = {}}.put("ceiling", "",
                                                                                   content);
        }
        if (options.json) {
            print_row(row);
        }
    }
    cache.reset();
    std::filesystem::rename(fresh, path);
    if (!options.json) {
        print_table(ceilings);
    }
    say("ceilings of {}: {}", device.name, path);
    return exit_ok;
}

}  // namespace raceline::cli
