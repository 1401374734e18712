// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_counters.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "device/device.hpp"
#include "model/counts.hpp"
#include "support/json.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// "dram 81 %, op.issue 40 %": the two busiest.
std::string busiest_text(const Counted& counted) {
    std::vector<std::pair<double, std::string>> order;
    order.reserve(counted.busy.size());
    for (const auto& [resource, share] : counted.busy) {
        order.emplace_back(-share, resource);
    }
    std::sort(order.begin(), order.end());
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, order.size()); ++i) {
        text += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", order[i].second,
                            -100 * order[i].first);
    }
    return text;
}

// Bytes that the record counts, reads and writes, of the tile that was profiled.
std::string declared_text(const Kernel& kernel, const std::string& shape, const Counted& counted,
                          const Device& device) {
    const Workload w = parse_shape(shape);
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        Json fields = Json::object();
        for (const auto& [name, value] : kernel.tile(tile)) {
            fields[std::string(name)] = value;
        }
        if (fields.dump() != counted.tile || !kernel.why_not(w, tile, device).empty()) {
            continue;
        }
        double read = 0, written = 0;
        for (const Counts& counts : kernel.counts(w, tile, device)) {
            const auto amount = [&](const char* id) {
                const auto found = counts.work.find(id);
                return found == counts.work.end() ? 0 : found->second;
            };
            read += amount("byte.dram_read");
            written += amount("byte.dram_write");
        }
        return fmt::format("{} + {}", format_si(read, "B"), format_si(written, "B"));
    }
    return "";
}

std::string conflicts_text(const Counted& counted) {
    return counted.shared_passes > 0
               ? fmt::format("{:.0f} %", 100 * counted.bank_conflicts / counted.shared_passes)
               : "";
}

std::string term_text(const Counted& counted) {
    const WrongTerm wrong = wrong_term(counted);
    return wrong.name.empty()
               ? ""
               : fmt::format("{}: {} predicted, {} counted", wrong.name,
                             format_seconds(wrong.predicted), format_seconds(wrong.counted));
}

}  // namespace

std::string counters_table(const std::vector<RungCases>& rungs, const Device& device) {
    TextTable table(
        "rung | shape | ?9 limiter predicted | limiter by counters | right | busiest | warps wait "
        "for "
        "| >DRAM read + written, counted | >declared | >passes by bank conflicts | >CTAs | "
        ">occupancy | furthest off");
    bool any = false;
    for (const auto& [kernel, cases] : rungs) {
        for (const RungCase& c : cases) {
            if (!c.counted) {
                continue;
            }
            const Counted& n = *c.counted;
            const bool right = limiter_hit(n.predicted_limiter, n.limiter);
            table.add(
                {std::string(kernel->name), c.shape, n.predicted_limiter, n.limiter,
                 right ? "yes" : "no", busiest_text(n), n.stall,
                 fmt::format("{} + {}", format_si(n.dram_read, "B"), format_si(n.dram_write, "B")),
                 declared_text(*kernel, c.shape, n, device), conflicts_text(n),
                 fmt::format("{:.0f}", n.ctas), fmt::format("{:.0f} %", 100 * n.occupancy),
                 term_text(n)});
            any = true;
        }
    }
    return any ? table.markdown() : "";
}

}  // namespace raceline
