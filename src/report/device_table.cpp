// SPDX-License-Identifier: Apache-2.0
#include "report/device_table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>
#include <vector>

#include "report/rate_text.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

/// The fastest engine's dense operations a second in a type, or 0. Not of one unit, not of a
/// moment.
double best_rate(const Device& d, std::string_view type) {
    double best = 0;
    for (const auto& [resource, rate] : d.rates) {
        const bool whole = resource.find('@') == std::string::npos &&
                           !resource.ends_with(".unit") && !resource.ends_with(".burst");
        if (whole && resource.starts_with("flop.") && resource.ends_with(type)) {
            best = std::max(best, rate.value);
        }
    }
    return best;
}

/// In TFLOP/s, the unit of all such columns: "1640", "45.3".
std::string teraflops_text(double rate) {
    const double tera = rate / 1e12;
    if (rate <= 0) {
        return "";
    }
    return tera < 100 ? fmt::format("{:.3g}", tera) : fmt::format("{:.0f}", tera);
}

/// Operations a byte of DRAM from which on the type's fastest engine limits, and not memory.
std::string ridge_text(const Device& d, std::string_view type) {
    const double bytes = d.find("byte.dram_read").value_or(0);
    const double best = best_rate(d, type);
    return best > 0 && bytes > 0 ? fmt::format("{:.3g}", best / bytes) : "";
}

std::string known_rate(const Device& d, std::string_view resource) {
    const auto rate = d.find(resource);
    return rate ? rate_text(resource, *rate) : "";
}

/// This machine's and such of no year first, then the oldest.
std::vector<const Device*> by_generation(std::span<const Device> devices) {
    std::vector<const Device*> sorted;
    for (const Device& device : devices) {
        sorted.push_back(&device);
    }
    std::ranges::sort(sorted, [](const Device* a, const Device* b) {
        return std::tie(a->year, a->id) < std::tie(b->year, b->id);
    });
    return sorted;
}

std::string bytes_text(std::int64_t bytes) {
    return bytes > 0 ? format_si(static_cast<double>(bytes), "B") : "";
}

// Without the colon of a description that is empty.
std::string origin_of_power(const Device& d) {
    std::string source = d.power.source;
    source.erase(source.find_last_not_of(": ") + 1);
    return source.empty() ? "" : " (" + source + ")";
}

std::string power_text(const Device& d, const TextStyle& style) {
    TextTable energies("resource | >energy");
    for (const auto& [resource, joules] : d.power.joules) {
        energies.add({resource, energy_text(resource, joules)});
    }
    return fmt::format("\n{}: limit {}, idle {} at the highest clock{}\n{}",
                       inked("Power", Ink::heading, style), format_si(d.power.limit_w, "W"),
                       format_si(d.power.idle_w, "W"), origin_of_power(d), energies.str(style));
}

}  // namespace

std::string device_text(const Device& d, const TextStyle& style) {
    constexpr std::size_t least_text = 20;
    TextTable table("resource | >rate | ?1 note | source");
    table.column("note").least = least_text;
    table.column("source").least = 2 * least_text;
    table.column("source").broken_before = 1;
    for (const auto& [resource, rate] : d.rates) {
        table.add({resource, rate_text(resource, rate.value), rate.note, rate.source});
    }
    const std::string size = counted_text(static_cast<std::size_t>(d.units),
                                          d.kind == DeviceKind::cpu ? "core" : "unit");
    const std::string rest = fmt::format(" ({}){}: {}, {}, memory {}, last-level cache {}", d.id,
                                         d.live ? ", live" : "", size, format_si(d.clock_hz, "Hz"),
                                         bytes_text(d.memory_bytes), bytes_text(d.llc_bytes));
    // Laid out without its ink, which takes no columns.
    std::string head = paragraph(d.name + rest, style);
    if (head.starts_with(d.name)) {
        head.replace(0, d.name.size(), inked(d.name, Ink::heading, style));
    }
    return fmt::format("{}{}rates {}\n{}", head, table.str(style), d.rates_id,
                       d.power.known() ? power_text(d, style) : "");
}

std::string devices_table(std::span<const Device> devices, const TextStyle& style) {
    // What is left out first where room is short: types and ridges are what devices differ in.
    const std::string what = "device | ?2 live | ?4 name | >?7 year | >?1 units";
    const std::string rates = " | >?13 fp16 | >?14 bf16 | >?12 fp8 | >?11 fp32";
    const std::string ridges =
        " | >?9 ridge fp16 | >?10 ridge bf16 | >?8 ridge fp8 | >?8 ridge fp32";
    TextTable table(what + rates + ridges + " | >?6 DRAM read | >?3 memory | ?0 rates");
    for (const Device* device : by_generation(devices)) {
        const Device& d = *device;
        table.add({d.id, d.live ? "live" : "", d.name, d.year > 0 ? std::to_string(d.year) : "",
                   std::to_string(d.units), teraflops_text(best_rate(d, ".fp16")),
                   teraflops_text(best_rate(d, ".bf16")), teraflops_text(best_rate(d, ".e4m3")),
                   teraflops_text(d.find("flop.fma.fp32").value_or(0)), ridge_text(d, ".fp16"),
                   ridge_text(d, ".bf16"), ridge_text(d, ".e4m3"), ridge_text(d, ".fma.fp32"),
                   known_rate(d, "byte.dram_read"), bytes_text(d.memory_bytes), d.rates_id});
    }
    return table.str(style) +
           paragraph(
               "fp16 to fp32: the type's fastest engine, dense, in TFLOP/s; of fp32 plain "
               "multiply-adds. Ridge: FLOP/B of "
               "DRAM from which on that engine limits, and not memory.",
               style);
}

}  // namespace raceline
