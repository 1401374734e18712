// SPDX-License-Identifier: Apache-2.0
#include "model/work_rates.hpp"

#include "device/rate_origin.hpp"

namespace raceline {

std::map<std::string, std::string> rates_of(const Device& device,
                                            const std::vector<Counts>& launches) {
    std::map<std::string, std::string> origins;
    for (const Counts& launch : launches) {
        for (const auto& [id, amount] : launch.work) {
            const auto rate = device.rates.find(id);
            if (amount > 0 && rate != device.rates.end()) {
                origins[id] = origin_text(rate->second);
            }
        }
    }
    return origins;
}

}  // namespace raceline
