// SPDX-License-Identifier: Apache-2.0
#include "device/rate_origin.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "device/catalog.hpp"
#include "device/datasheet.hpp"
#include "device/power.hpp"
#include "device/rate_sources.hpp"

namespace raceline {
namespace {

struct Named {
    RateOrigin origin;
    std::string_view prefix, text;
};
// The longer ones first: "probe: " of a committed row is what all other readers know.
constexpr std::array named{
    Named{RateOrigin::here, "probe here: ", "measured here"},
    Named{RateOrigin::file, "probe in a file: ", "rates file"},
    Named{RateOrigin::committed, "probe: ", "committed"},
    Named{RateOrigin::scaled, "datasheet x ", ""},
    Named{RateOrigin::datasheet, "", "datasheet"},
};

const Named& named_of(const Rate& rate) {
    return *std::ranges::find_if(
        named, [&](const Named& one) { return rate.source.starts_with(one.prefix); });
}

// What a device multiplies matrices with, the newest first. An older one stays for programs of
// older devices, at a rate of its own.
constexpr std::array<std::string_view, 3> engines{"flop.tcgen05.", "flop.wgmma.", "flop.mma."};

std::string_view main_engine(const Device& device) {
    const auto* const found = std::ranges::find_if(engines, [&](std::string_view engine) {
        const auto first = device.rates.lower_bound(engine);
        return first != device.rates.end() && first->first.starts_with(engine);
    });
    return found == engines.end() ? std::string_view() : *found;
}

bool engines_product(std::string_view id) {
    return std::ranges::any_of(engines, [&](std::string_view one) { return id.starts_with(one); });
}

struct Reference {
    std::string id;
    Device stated, measured;
};

std::optional<Reference> reference_of(std::string_view path,
                                      std::span<const build_info::EmbeddedFile> embedded) {
    constexpr std::string_view folder = "receipts/";
    constexpr std::string_view file = "/ceilings.jsonl";
    if (!path.starts_with(folder) || !path.ends_with(file)) {
        return std::nullopt;
    }
    path.remove_prefix(folder.size());
    path.remove_suffix(file.size());
    const std::vector<std::string> ids = device_ids();
    if (std::ranges::find(ids, path) == ids.end()) {
        return std::nullopt;
    }
    Reference found{std::string(path), datasheet_device(path), datasheet_device(path)};
    lay_over_committed_rates(found.measured, embedded);
    return found.stated.kind == DeviceKind::cuda ? std::optional(std::move(found)) : std::nullopt;
}

// Of those that serve; of two that are as near the newer one.
std::optional<Reference> nearest_measured(const Device& device,
                                          std::span<const build_info::EmbeddedFile> embedded,
                                          const std::function<bool(const Reference&)>& serves) {
    std::optional<Reference> best;
    const auto distance = [&](const Reference& one) {
        return std::tuple(std::abs(one.stated.compute_capability - device.compute_capability),
                          -one.stated.compute_capability, -one.stated.year);
    };
    for (const auto& one : embedded) {
        auto found = reference_of(one.path, embedded);
        if (found && serves(*found) && (!best || distance(*found) < distance(*best))) {
            best = std::move(found);
        }
    }
    return best;
}

// The id on the reference whose quotient a rate takes.
std::string counterpart(const Device& device, std::string_view id, const Reference& reference) {
    const std::string_view own = main_engine(device);
    const std::string_view other = main_engine(reference.stated);
    return !own.empty() && !other.empty() && id.starts_with(own)
               ? std::string(other) + std::string(id.substr(own.size()))
               : std::string(id);
}

std::optional<double> measured_share(const Reference& reference, const std::string& id) {
    const auto stated = reference.stated.rates.find(id);
    const auto measured = reference.measured.rates.find(id);
    const bool both = stated != reference.stated.rates.end() &&
                      measured != reference.measured.rates.end() && is_measured(measured->second);
    return both ? std::optional(measured->second.value / stated->second.value) : std::nullopt;
}

void scale(Rate& rate, double factor, std::string_view reference) {
    rate.value *= factor;
    rate.source = fmt::format("datasheet x {:.2f} of {}: {}", factor, reference,
                              rate.source.substr(std::string_view("datasheet: ").size()));
}

// No vendor states what a launch or a load takes. A board of the same generation takes as long as
// the one that was measured; an older or newer one is left without.
void take_times(Device& device, const Reference& reference) {
    if (device.compute_capability != reference.stated.compute_capability) {
        return;
    }
    for (const auto& [id, rate] : reference.measured.rates) {
        if (is_time_id(id) && is_measured(rate) && !device.rates.contains(id)) {
            Rate& taken = device.rates[id];
            taken.value = rate.value;
            taken.source = fmt::format(
                "datasheet x 1.00 of {}: no vendor states it; as measured there", reference.id);
        }
    }
}

// `id` as so many times the device's own `beside` as on the reference, where it lacks it.
void take_quotient(Device& device, const Reference& reference, const std::string& id,
                   const std::string& beside) {
    const auto measured = [&](const std::string& of) {
        const auto found = reference.measured.rates.find(of);
        return found != reference.measured.rates.end() && is_measured(found->second)
                   ? found->second.value
                   : 0;
    };
    const auto own = device.rates.find(beside);
    const double over = measured(id), under = measured(beside);
    if (device.rates.contains(id) || own == device.rates.end() || over <= 0 || under <= 0) {
        return;
    }
    Rate& taken = device.rates[id];
    taken.value = own->second.value * over / under;
    taken.source = fmt::format("datasheet x {:.2f} of {}: its {} over its {}, on this one's",
                               over / under, reference.id, id, beside);
}

// How much longer a load takes a CTA among others than one thread of an idle chip is a matter of
// the kernel's shape more than of the chip: a device that lacks it takes the quotient of the
// nearest that has it, on its own latency.
void take_loaded_times(Device& device, const Reference& reference) {
    constexpr std::string_view suffix = ".loaded";
    for (const auto& [id, loaded] : reference.measured.rates) {
        if (id.ends_with(suffix)) {
            take_quotient(device, reference, id, id.substr(0, id.size() - suffix.size()));
        }
    }
}

// Of one SM and clock, between its L1 and the L2: arXiv 1804.06826 for Volta. That it holds up to
// Ada is assumed.
constexpr double bytes_of_port = 64;

// One SM draws what it can have under way, whatever else the board has: as much on any of them, but
// never more than the board, nor than passes its port.
void take_unit_rates(Device& device, const Reference& reference) {
    for (const std::string whole : {"byte.dram_read", "byte.l2"}) {
        const std::string id = whole + ".unit";
        const auto own = device.rates.find(whole);
        const auto measured = reference.measured.rates.find(id);
        if (device.rates.contains(id) || own == device.rates.end() ||
            measured == reference.measured.rates.end() || !is_measured(measured->second)) {
            continue;
        }
        Rate& taken = device.rates[id];
        taken.value = std::min(measured->second.value, own->second.value);
        taken.source = fmt::format("datasheet x 1.00 of {}: no vendor states it; as measured there",
                                   reference.id);
        const double port = bytes_of_port * device.clock_hz;
        if (device.compute_capability < 90 && port > 0 && port < taken.value) {
            taken.value = port;
            taken.source += ", but no more than 64 bytes a clock (arXiv 1804.06826, Volta)";
        }
    }
}

// The link between the halves of the L2 has the L2's clock, on boards of the same die.
void take_halves(Device& device, const Reference& reference) {
    if (device.rates.contains("size.l2.half") &&
        device.compute_capability == reference.stated.compute_capability) {
        take_quotient(device, reference, "byte.l2_link", "byte.l2");
        take_quotient(device, reference, "latency.l2.far", "latency.l2");
    }
}

// What the reference's board draws, on another one. Joules go with the process and, where it is the
// same die at another highest clock, with the voltage there; DRAM's own with the memory's kind.
// Idle watts go with the limit: boards are built so that it is a like share (an assumption).
void scale_power(Device& device, const Reference& reference) {
    const Power& known = reference.measured.power;
    if (device.power.known() || !known.known() || device.power.limit_w <= 0 ||
        device.process_energy <= 0 || reference.stated.process_energy <= 0) {
        return;
    }
    const bool same_die = device.compute_capability == reference.stated.compute_capability;
    const double clocks = same_die ? device.clock_hz / reference.stated.clock_hz : 1;
    const double volts = 1 - known.voltage_slope * (1 - clocks);
    const double factor = device.process_energy / reference.stated.process_energy * volts * volts;
    Power& own = device.power;
    own.idle_w = known.idle_w * own.limit_w / known.limit_w;
    own.voltage_slope = known.voltage_slope * clocks / volts;
    // With the die, the clock and the watts of the reference it keeps the clock that was seen
    // there.
    own.decides = known.decides || !same_die || clocks != 1 || own.limit_w != known.limit_w;
    own.source = fmt::format("probe of {} x {:.2f}", reference.id, factor);
    for (const auto& [id, joules] : known.joules) {
        const bool memory = id.starts_with("byte.dram");
        const double outside = memory ? reference.stated.memory_energy : 0;
        own.joules[id] =
            std::max(0.0, joules - outside) * factor + (memory ? device.memory_energy : 0);
    }
    for (const auto& [id, rate] : device.rates) {
        const auto found = known.joules.find(counterpart(device, id, reference));
        if (found != known.joules.end()) {
            own.joules.try_emplace(id, found->second * factor);
        }
    }
}

// A matrix rate at the clock that nothing but these products leaves, as lasting probes measure it:
// the datasheet's a clock x what the reference reaches of its own a clock.
void scale_by_clock(Device& device, const std::string& id, const Reference& reference) {
    const std::string other = counterpart(device, id, reference);
    const auto stated = reference.stated.rates.find(other);
    const auto measured = reference.measured.rates.find(other);
    Rate& rate = device.rates[id];
    const double reached = measured->second.value / measured->second.clock_hz /
                           (stated->second.value / stated->second.clock_hz);
    const double at_highest = reached * rate.value * device.clock_hz / rate.clock_hz;
    const double clock = device.power.sets_clock()
                             ? clock_within_limit(device, draw_of(device, id, at_highest))
                             : measured->second.clock_hz;
    const std::string by = clock < device.clock_hz
                               ? fmt::format("{} at {:.2f} GHz in {:.0f} W", reference.id,
                                             clock / 1e9, device.power.limit_w)
                               : reference.id;
    scale(rate, reached, by);
    rate.value *= clock / rate.clock_hz;
    rate.clock_hz = clock;
    if (id.starts_with(main_engine(device))) {
        device.sustained_clock_hz = std::max(device.sustained_clock_hz, clock);
    }
}

bool has_clock(const Rate& rate) {
    return rate.clock_hz > 0 && rate.per_clock_per_unit > 0;
}

// A board may run above the clock at which its vendor states a rate.
bool runs_above_stated(const Device& device, const std::string& id, const Rate& rate) {
    return !is_time_id(id) && rate.clock_hz > 0 && device.clock_max_hz > rate.clock_hz;
}

// What bounds go by.
Rate at_highest_clock(const Device& device, const std::string& id, Rate stated) {
    if (runs_above_stated(device, id, stated)) {
        stated.value *= device.clock_max_hz / stated.clock_hz;
        stated.clock_hz = device.clock_max_hz;
        // Which states it at another clock.
        constexpr std::string_view sheet = "datasheet: ";
        const std::string_view source = stated.source;
        stated.source = fmt::format("datasheet, at {:.4g} GHz: {}", stated.clock_hz / 1e9,
                                    source.substr(source.starts_with(sheet) ? sheet.size() : 0));
    }
    return stated;
}

}  // namespace

RateOrigin origin_of(const Rate& rate) {
    return named_of(rate).origin;
}

std::string_view source_prefix(RateOrigin origin) {
    return std::ranges::find(named, origin, &Named::origin)->prefix;
}

bool is_measured(const Rate& rate) {
    return origin_of(rate) <= RateOrigin::committed;
}

std::string origin_text(const Rate& rate) {
    const Named& one = named_of(rate);
    return one.origin == RateOrigin::scaled ? rate.source.substr(0, rate.source.find(':'))
                                            : std::string(one.text);
}

void complete_latencies(Device& device, std::span<const build_info::EmbeddedFile> embedded) {
    if (device.kind != DeviceKind::cuda) {
        return;
    }
    const auto complete = [&](const char* id, const auto& take) {
        const auto has_it = [&](const Reference& one) {
            const auto found = one.measured.rates.find(id);
            return found != one.measured.rates.end() && is_measured(found->second);
        };
        if (device.rates.contains(id)) {
            return;
        }
        if (const auto reference = nearest_measured(device, embedded, has_it)) {
            take(device, *reference);
        }
    };
    complete("latency.dram.loaded", take_loaded_times);
    complete("byte.l2_link", take_halves);
    complete("byte.dram_read.unit", take_unit_rates);
}

void scale_to_measured(Device& device, std::span<const build_info::EmbeddedFile> embedded) {
    const bool stated_only = std::ranges::all_of(device.rates, [](const auto& one) {
        return origin_of(one.second) == RateOrigin::datasheet;
    });
    if (device.kind != DeviceKind::cuda || !stated_only) {
        return;
    }
    const auto reference =
        nearest_measured(device, embedded, [](const Reference&) { return true; });
    if (!reference) {
        return;
    }
    scale_power(device, *reference);
    take_times(device, *reference);
    const auto stated = device.rates;
    for (const auto& [id, rate] : stated) {
        const bool products = engines_product(id) && device.power.joules.contains(id);
        bool bounded_apart = runs_above_stated(device, id, rate);
        if (const auto share = measured_share(*reference, counterpart(device, id, *reference))) {
            if (products && has_clock(rate)) {
                scale_by_clock(device, id, *reference);
            } else {
                scale(device.rates[id], *share, reference->id);
            }
            bounded_apart = true;
        }
        if (bounded_apart) {
            device.rates[id + std::string(unscaled_suffix)] = at_highest_clock(device, id, rate);
        }
    }
}

}  // namespace raceline
