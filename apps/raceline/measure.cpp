// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "interruption.hpp"
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

void print_table(const std::vector<Ceiling>& ceilings, const TextStyle& style) {
    constexpr std::size_t least_method = 30;
    TextTable table("resource | >ceiling | >?2 of its limit | >?1 clock | how");
    table.column("how").least = least_method;
    for (const Ceiling& c : ceilings) {
        table.add({c.resource, format_quantity(c.value, c.unit),
                   c.limit > 0 ? format_percent(c.value / c.limit) : "",
                   c.clock_hz > 0 ? format_si(c.clock_hz, "Hz") : "", c.method});
    }
    fmt::print("{}", table.str(style));
}

// The model reads committed ones of a device (receipts/DEVICE/power.jsonl) or those of --rates.
int run_measure_power(const Options& options, const Device& device) {
    require(device.kind == DeviceKind::cuda, Status::unsupported,
            "--power reads a GPU's own meter; {} has none", device.name);
    require(!options.receipts.empty(), Status::invalid_argument,
            "--power writes into a receipt file: give --receipts FILE");
    ReceiptWriter writer(options.receipts);  // before the probes, which would be in vain
    Progress bar(1);
    const std::vector<Ceiling> rows = probe_cuda_power(
        device, [&](std::string_view what, int done, int) { bar.step(done, what); });
    std::ranges::for_each(rows, check_ceiling);
    const RowSink sink{.context = &options.context, .writer = &writer, .emit = {}};
    put_ceilings(device, rows, sink, [&](const Json& /*content*/, const Json& row) {
        if (options.json) {
            print_row(row);
        }
    });
    if (!options.json) {
        print_table(rows, stdout_style(options));
    }
    say("what the resources of {} draw is in {}", device.name, options.receipts);
    return exit_ok;
}

}  // namespace

int run_measure(const Options& options) {
    const StopBeforeCases stop("no ceilings were kept, those of before stay");
    const Device device = live_device(options.device);
    if (options.power) {
        return run_measure_power(options, device);
    }
    const std::string path = ceilings_cache_path(device);
    const std::string damage = cache_damage(device);
    if (!damage.empty()) {
        say("the ceilings that were kept of this machine are damaged, and are measured again ({})",
            damage);
    } else if (options.if_missing && std::filesystem::exists(path)) {
        say("the ceilings of {} are already in {}", device.name, path);
        return exit_ok;
    }
    require_logical_cpus(device, options.threads, "--threads");
    require_cache(device);
    std::optional<ReceiptWriter> also;
    if (!options.receipts.empty()) {
        also.emplace(options.receipts);
    }
    std::vector<Ceiling> ceilings;
    {
        std::unique_ptr<Progress> bar;
        const ProbeProgress progress = [&](std::string_view what, int done, int total) {
            bar = bar ? std::move(bar) : std::make_unique<Progress>(total);
            bar->step(done, what);
        };
        ceilings = probe_ceilings(device, options.threads, progress, ProbeEffort::full);
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
        print_table(ceilings, stdout_style(options));
    }
    say("the ceilings of {} are in {}", device.name, path);
    return exit_ok;
}

}  // namespace raceline::cli
