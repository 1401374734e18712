// SPDX-License-Identifier: Apache-2.0
#include "report/machines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>

#include "report/first_sight.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

std::string label_of(const std::string& id, const std::string& name) {
    return device_label(Json{{"id", id}, {"name", name}});
}

std::string cache_text(std::int64_t bytes) {
    constexpr std::int64_t kibi = 1024;
    return bytes % (kibi * kibi) == 0 ? fmt::format("{} MiB", bytes / (kibi * kibi))
                                      : fmt::format("{} KiB", bytes / kibi);
}

// Of a size that reads a little otherwise after each start of a machine, two digits.
std::string about(std::int64_t bytes) {
    const double scale =
        std::pow(10, std::floor(std::log10(std::max(1.0, static_cast<double>(bytes)))) - 1);
    return format_si(std::round(static_cast<double>(bytes) / scale) * scale, "B");
}

// No clocks: these are live. Cores come first and memory last.
constexpr std::size_t traits = 5;
std::array<std::string, traits> traits_of(const Device& device) {
    return {counted_text(static_cast<std::size_t>(std::max(0, device.units)), "core"),
            fmt::format("{}-bit SIMD", device.simd_bits), cache_text(device.l2_bytes) + " of L2",
            cache_text(device.llc_bytes) + " of last-level cache",
            about(device.memory_bytes) + " of memory"};
}

using Machines = std::map<std::string, std::array<std::string, traits>>;  // by rates_id

// Which traits tell them apart. Cores are those in use, as --threads has it: they count only where
// another machine shows by its memory.
std::array<bool, traits> telling(const Machines& machines) {
    std::array<bool, traits> tells{};
    for (const auto& [rates_id, one] : machines) {
        for (std::size_t i = 0; i < traits; ++i) {
            tells.at(i) |= one.at(i) != machines.begin()->second.at(i);
        }
    }
    tells.front() &= tells.back();
    return tells;
}

// "cpu (NAME)" and its words.
std::string named(const std::string& label, const std::string& words) {
    return label.ends_with(')') ? label.substr(0, label.size() - 1) + ", " + words + ")"
                                : label + " (" + words + ")";
}

}  // namespace

MachineWords machines_of(const std::vector<const TimedRows*>& all) {
    std::map<std::string, Machines> machines;  // by label
    for (const TimedRows* rows : all) {
        for (const auto& [label, states] : rows->stated) {
            for (const auto& [rates_id, stated] : states) {
                const Device& device = stated.device;
                if (device.kind == DeviceKind::cpu) {
                    machines[label_of(device.id, device.name)][rates_id] = traits_of(device);
                }
            }
        }
    }
    MachineWords words;
    for (const auto& [label, of_label] : machines) {
        const std::array<bool, traits> tells = telling(of_label);
        for (const auto& [rates_id, one] : of_label) {
            for (std::size_t i = 0; i < traits; ++i) {
                if (tells.at(i)) {
                    std::string& text = words[{label, rates_id}];
                    text += (text.empty() ? "" : ", ") + one.at(i);
                }
            }
        }
    }
    return words;
}

void name_machines(TimedRows& rows, const MachineWords& words) {
    if (words.empty()) {
        return;
    }
    std::set<std::string> labels;
    const auto name = [&](std::string& label, const std::string& shared,
                          const std::string& rates_id) {
        const auto found = words.find({shared, rates_id});
        label = found == words.end() ? label : named(shared, found->second);
        labels.insert(label);
    };
    for (TimedCase& one : rows.cases) {
        name(one.device, label_of(one.about.device.id, one.about.device.name),
             one.predicted ? one.predicted->rates_id : "");
    }
    for (TimedPeer& peer : rows.peers) {
        name(peer.device, peer.device, peer.rates_id);
    }
    const auto stated = std::move(rows.stated);
    rows.stated.clear();
    for (const auto& [label, states] : stated) {
        for (const auto& [rates_id, one] : states) {
            const std::string shared = label_of(one.device.id, one.device.name);
            const auto found = words.find({shared, rates_id});
            if (found != words.end()) {
                rows.stated[named(shared, found->second)].insert_or_assign(rates_id, one);
            }
            if (found == words.end() || labels.contains(shared)) {
                rows.stated[shared].insert_or_assign(rates_id, one);
            }
        }
    }
}

bool has_named_machines(const TimedRows& rows) {
    return std::ranges::any_of(rows.cases, [](const TimedCase& one) {
        return one.device != label_of(one.about.device.id, one.about.device.name);
    });
}

}  // namespace raceline
