// SPDX-License-Identifier: Apache-2.0
#include "device/rate_origin.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include "device/catalog.hpp"
#include "device/datasheet.hpp"
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
    apply_committed_rates(found.measured, embedded);
    return found.stated.kind == DeviceKind::cuda ? std::optional(std::move(found)) : std::nullopt;
}

// Of two that are as near the newer one.
std::optional<Reference> nearest_measured(const Device& device,
                                          std::span<const build_info::EmbeddedFile> embedded) {
    std::optional<Reference> best;
    const auto distance = [&](const Reference& one) {
        return std::pair(std::abs(one.stated.compute_capability - device.compute_capability),
                         -one.stated.compute_capability);
    };
    for (const auto& one : embedded) {
        auto found = reference_of(one.path, embedded);
        if (found && (!best || distance(*found) < distance(*best))) {
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

void scale_to_measured(Device& device, std::span<const build_info::EmbeddedFile> embedded) {
    const bool stated_only = std::ranges::all_of(device.rates, [](const auto& one) {
        return origin_of(one.second) == RateOrigin::datasheet;
    });
    if (device.kind != DeviceKind::cuda || !stated_only) {
        return;
    }
    const auto reference = nearest_measured(device, embedded);
    if (!reference) {
        return;
    }
    const auto stated = device.rates;
    for (const auto& [id, rate] : stated) {
        if (const auto share = measured_share(*reference, counterpart(device, id, *reference))) {
            scale(device.rates[id], *share, reference->id);
            device.rates[id + std::string(unscaled_suffix)] = rate;
        }
    }
}

}  // namespace raceline
