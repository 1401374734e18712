// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "options.hpp"
#include "probe/probes.hpp"
#include "receipt/rows.hpp"
#include "run/ceiling_run.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "terminal.hpp"

namespace raceline::cli {
namespace {

std::string value_of(const Ceiling& c) {
    if (c.unit == "s") {
        return format_seconds(c.value);
    }
    if (c.unit == "J") {
        return fmt::format("{:.3g} pJ", 1e12 * c.value);
    }
    return c.unit == "1" ? fmt::format("{:.3g}", c.value) : format_si(c.value, c.unit);
}

void print_table(const std::vector<Ceiling>& ceilings) {
    using Align = TextTable::Align;
    TextTable table({{"resource", Align::left},
                     {"ceiling", Align::right},
                     {"of its limit", Align::right},
                     {"clock", Align::right},
                     {"how", Align::left}});
    for (const Ceiling& c : ceilings) {
        table.add({c.resource, value_of(c),
                   c.limit > 0 ? fmt::format("{:.0f} %", 100 * c.value / c.limit) : "",
                   c.clock_hz > 0 ? fmt::format("{:.2f} GHz", c.clock_hz / 1e9) : "", c.method});
    }
    fmt::print("{}", table.str());
}

// The model reads committed ones of a device (receipts/DEVICE/power.jsonl) or those of --rates.
int run_measure_power(const Options& options, const Device& device) {
    require(device.kind == DeviceKind::cuda, Status::unsupported,
            "--power reads a GPU's own meter; {} has none", device.name);
    require(!options.receipts.empty(), Status::invalid_argument,
            "--power writes into a receipt file: give --receipts FILE");
    Progress bar(1);
    const std::vector<Ceiling> rows = probe_cuda_power(
        device, [&](std::string_view what, int done, int) { bar.step(done, what); });
    std::ranges::for_each(rows, check_ceiling);
    ReceiptWriter writer(options.receipts);
    const RowSink sink{.context = &options.context, .writer = &writer, .emit = {}};
    put_ceilings(device, rows, sink, [&](const Json& /*content*/, const Json& row) {
        if (options.json) {
            print_row(row);
        }
    });
    if (!options.json) {
        print_table(rows);
    }
    say("power of {}: {}", device.name, options.receipts);
    return exit_ok;
}

}  // namespace

int run_measure(const Options& options) {
    const Device device = live_device(options.device);
    if (options.power) {
        return run_measure_power(options, device);
    }
    const std::string path = ceilings_cache_path(device);
    const std::string damage = cache_damage(device);
    if (!damage.empty()) {
        say("the ceilings kept of this machine are damaged, and measured again ({})", damage);
    } else if (options.if_missing && std::filesystem::exists(path)) {
        say("ceilings of {} are in {}", device.name, path);
        return exit_ok;
    }
    require_logical_cpus(device, options.threads, "--threads");
    std::vector<Ceiling> ceilings;
    {
        std::unique_ptr<Progress> bar;
        const ProbeProgress progress = [&](std::string_view what, int done, int total) {
            bar = bar ? std::move(bar) : std::make_unique<Progress>(total);
            bar->step(done, what);
        };
        ceilings = probe_ceilings(device, options.threads, progress, ProbeEffort::full);
    }
    std::optional<ReceiptWriter> also;
    if (!options.receipts.empty()) {
        also.emplace(options.receipts);
    }
    keep_ceilings(device, ceilings, options.context, [&](const Json& content, const Json& row) {
        if (also) {
            RowSink{.context = &options.context, .writer = &*also, .emit = {}}.put("ceiling", "",
                                                                                   content);
        }
        if (options.json) {
            print_row(row);
        }
    });
    if (!options.json) {
        print_table(ceilings);
    }
    say("ceilings of {}: {}", device.name, path);
    return exit_ok;
}

}  // namespace raceline::cli
