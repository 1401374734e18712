// SPDX-License-Identifier: Apache-2.0
#include "model/rates.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "device/rate_origin.hpp"

namespace raceline {
namespace {

const Rate* find_rate(const Device& device, std::string_view id) {
    const auto found = device.rates.find(id);
    return found == device.rates.end() ? nullptr : &found->second;
}

const Rate* find_ceiling(const Device& device, std::string_view id) {
    const Rate* rate = find_rate(device, id);
    return rate == nullptr && id == "byte.dram_write" ? find_rate(device, "byte.dram_read") : rate;
}

const Rate* find_with_suffix(const Device& device, std::string_view id, std::string_view suffix) {
    std::array<char, 64> name;  // no allocation on this path
    if (id.size() + suffix.size() > name.size()) {
        return nullptr;
    }
    char* end = std::copy(id.begin(), id.end(), name.data());
    end = std::copy(suffix.begin(), suffix.end(), end);
    return find_ceiling(device, {name.data(), static_cast<std::size_t>(end - name.data())});
}

// Matrix engines alone draw enough power to pull the clock down.
double clock_scale(const Device& device, std::string_view id, const Rate& rate) {
    if (!is_matrix(id) || rate.clock_hz <= 0 || device.sustained_clock_hz <= 0) {
        return 1;
    }
    return std::min(1.0, device.sustained_clock_hz / rate.clock_hz);
}

}  // namespace

bool is_matrix(std::string_view id) {
    constexpr std::array<std::string_view, 4> engines{"flop.wgmma.", "flop.mma.", "flop.tcgen05.",
                                                      "flop.mfma."};
    return std::any_of(engines.begin(), engines.end(),
                       [&](std::string_view engine) { return id.starts_with(engine); });
}

bool goes_by_unit_clock(std::string_view id) {
    return id.starts_with("flop.") || id.starts_with("op.") || id.starts_with("byte.smem") ||
           id == "byte.l1";
}

double clock_under_load(const Device& device, double matrix_share) {
    const double highest = device.clock_hz;
    const double sustained = device.sustained_clock_hz;
    if (sustained <= 0 || sustained >= highest) {
        return highest;
    }
    return highest - (highest - sustained) * std::clamp(matrix_share, 0.0, 1.0);
}

bool is_dram(std::string_view id) {
    return id == "byte.dram_read" || id == "byte.dram_write" || id == dram;
}

double ceiling(const Device& device, std::string_view id) {
    const Rate* rate = find_ceiling(device, id);
    // device.rate says what is missing; it is asked only then.
    return rate != nullptr && rate->value > 0 ? rate->value : device.rate(id);
}

std::string_view missing_rate(const Device& device, const Work& work) {
    for (const auto& [id, amount] : work) {
        const Rate* rate = find_ceiling(device, id);
        if (amount > 0 && (rate == nullptr || rate->value <= 0)) {
            return id;
        }
    }
    return {};
}

double sustained_rate(const Device& device, std::string_view id) {
    const double value = ceiling(device, id);
    const Rate* rate = find_rate(device, id);
    return rate == nullptr ? value : value * clock_scale(device, id, *rate);
}

double highest_over_rate_clock(const Device& device, std::string_view id) {
    const Rate* rate = is_matrix(id) ? find_rate(device, id) : nullptr;
    if (rate == nullptr || rate->clock_hz <= 0 || device.clock_hz <= 0) {
        return 1;
    }
    return device.clock_hz / (rate->clock_hz * clock_scale(device, id, *rate));
}

double turnaround_seconds(double read, double write, double copy) {
    const double apart = 1 / read + 1 / write;
    return std::max(2 / copy - apart, -std::min(1 / read, 1 / write));
}

double turnaround_seconds(const Device& device) {
    const Rate* copy = find_rate(device, "byte.dram_copy");
    const Rate* read = find_rate(device, "byte.dram_read");
    if (copy == nullptr || read == nullptr) {
        return 0;
    }
    return turnaround_seconds(read->value, ceiling(device, "byte.dram_write"), copy->value);
}

double unit_rate(const Device& device, std::string_view id) {
    const Rate* rate = find_with_suffix(device, id, ".unit");
    return rate != nullptr && rate->value > 0
               ? rate->value
               : sustained_rate(device, id) / std::max(1, device.units);
}

// Every launch asks for both of each of its resources: the device's names are sorted, so that
// "<id>.unit" stands next to the id, and one search finds the two.
Speed speed_of(const Device& device, std::string_view id) {
    constexpr std::string_view unit = ".unit";
    const auto first = device.rates.lower_bound(id);
    const bool known = first != device.rates.end() && first->first == id;
    Speed speed;
    speed.device = known && first->second.value > 0
                       ? first->second.value * clock_scale(device, id, first->second)
                       : sustained_rate(device, id);
    speed.alone = speed.device / std::max(1, device.units);
    for (auto next = first; next != device.rates.end() && next->first.starts_with(id); ++next) {
        if (next->first.size() == id.size() + unit.size() && next->first.ends_with(unit) &&
            next->second.value > 0) {
            speed.alone = next->second.value;
        }
    }
    return speed;
}

double known_seconds(const Device& device, std::string_view id) {
    const Rate* rate = find_rate(device, id);
    return rate == nullptr ? 0 : rate->value;
}

double loaded_seconds(const Device& device, std::string_view id) {
    const Rate* rate = find_with_suffix(device, id, ".loaded");
    return rate == nullptr ? known_seconds(device, id) : rate->value;
}

const Rate* highest_rate(const Device& device, std::string_view id) {
    const Rate* best = nullptr;
    for (const std::string_view suffix :
         {std::string_view(), std::string_view(".burst"), unscaled_suffix}) {
        const auto found = device.rates.find(std::string(id) + std::string(suffix));
        if (found != device.rates.end() && (best == nullptr || found->second.value > best->value)) {
            best = &found->second;
        }
    }
    return best;
}

}  // namespace raceline
