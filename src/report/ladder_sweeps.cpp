// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_sweeps.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "device/catalog.hpp"
#include "model/occupancy.hpp"
#include "model/rates.hpp"
#include "registry/registry.hpp"
#include "report/ladder_data.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

struct Measured {
    const Kernel* kernel = nullptr;
    int tile = -1;
    Workload workload;
    std::string device;
    double seconds = 0;
};

// What the row is about, if it is a correct measurement of a tile that still exists.
std::optional<Measured> measured_from(const Json& row) {
    const Kernel* kernel = kernel_once_called(row.at("kernel").get<std::string>());
    if (kernel == nullptr || settled_seconds(row) == 0) {
        return std::nullopt;
    }
    const Json& named = row.at("tile");
    TileFields fields;
    for (const auto& [name, value] : named.items()) {
        fields.emplace_back(kernel->field_name(name), value.get<std::int64_t>());
    }
    const int tile = kernel->find_tile(fields);
    if (tile < 0) {
        return std::nullopt;
    }
    return Measured{kernel, tile, workload_from_json(row.at("workload")),
                    row.at("device").at("id").get<std::string>(), settled_seconds(row)};
}

bool wanted_shape(const Json& sweep, const Workload& wanted, Workload w) {
    if (sweep.value("caches", false)) {
        w.kv_dtype = w.dtype;
    }
    return w == wanted;
}

std::vector<std::string> parallelism(const Measured& m, const Device& device) {
    const Counts counts = m.kernel->counts(m.workload, m.tile, device).front();
    const int residents = occupancy(device, counts);
    const double places = static_cast<double>(slots(device.units, residents, counts.cluster));
    const double at_once = std::min(places, static_cast<double>(counts.ctas));
    const double needed = known_seconds(device, "latency.dram") * ceiling(device, "byte.dram_read");
    return {fmt::format("{}", counts.ctas), fmt::format("{}", residents),
            fmt::format("{:.2f}", static_cast<double>(counts.ctas) / places),
            counts.bytes_in_flight > 0
                ? fmt::format("{} ({})", format_si(counts.bytes_in_flight * at_once, "B"),
                              format_si(needed, "B"))
                : ""};
}

std::vector<std::string> line_of(const Measured& m, double first_seconds, const Device& device) {
    const double bytes = m.workload.bytes_read() + m.workload.bytes_written();
    const double share = bytes / m.seconds / ceiling(device, "byte.dram_read");
    std::vector<std::string> line{
        format_shape(m.workload),
        std::string(m.kernel->name),
        m.kernel->tile_text(m.tile),
        format_seconds(m.seconds),
        first_seconds > 0 ? fmt::format("{:.2f}×", first_seconds / m.seconds) : "",
        fmt::format("{:.0f}", bytes / m.seconds / 1e9),
        share > 1 ? "cache" : fmt::format("{:.0f} %", 100 * share)};
    const auto rest = parallelism(m, device);
    line.insert(line.end(), rest.begin(), rest.end());
    return line;
}

// Shape, rung and, where every tile is shown, its fields: rows stand in the order of numbers.
using CaseKey = std::tuple<std::string, std::string_view, std::vector<std::int64_t>>;

// The last run of each case of a sweep.
std::map<CaseKey, Measured> cases_of(const Json& sweep, std::span<const Json> rows) {
    std::map<CaseKey, Measured> last;
    const bool every_tile = sweep.value("tiles", "") == "all";
    for (const Json* row : by_time(rows, "measurement")) {
        if (row->at("suite") != sweep.at("suite")) {
            continue;
        }
        if (auto m = measured_from(*row)) {
            std::vector<std::int64_t> fields;
            for (const auto& [name, value] : m->kernel->tile(m->tile)) {
                fields.push_back(every_tile ? value : 0);
            }
            last[{format_shape(m->workload), m->kernel->name, std::move(fields)}] = std::move(*m);
        }
    }
    return last;
}

std::string sweep_text(const Json& sweep, std::span<const Json> rows) {
    const auto cases = cases_of(sweep, rows);
    TextTable table(
        "shape | rung | tile asked for | >measured | >over the shape's first row | >GB/s | >of "
        "DRAM | >CTAs | >CTAs an SM holds | >waves run | >in flight (needed)");
    bool any = false;
    for (const Json& text : sweep.at("shapes")) {
        const Workload wanted = parse_shape(text.get<std::string>());
        double first = 0;
        for (const Json& name : sweep.at("kernels")) {
            for (const auto& [key, m] : cases) {
                if (m.kernel->name != name.get<std::string>() ||
                    !wanted_shape(sweep, wanted, m.workload)) {
                    continue;
                }
                Device device = datasheet_device(m.device);
                apply_committed_rates(device);
                table.add(line_of(m, first, device));
                first = first > 0 ? first : m.seconds;
                any = true;
            }
        }
    }
    return any ? fmt::format("\n### {}\n\n{}\n\n{}", sweep.at("title").get<std::string>(),
                             sweep.at("about").get<std::string>(), table.markdown())
               : "";
}

}  // namespace

std::string sweeps_markdown(std::span<const Json> rows) {
    std::string text;
    for (const Json& sweep : ladder_data("ladder/sweeps.json")) {
        text += sweep_text(sweep, rows);
    }
    if (text.empty()) {
        return "";
    }
    return "\n## Sweeps\n\nTimes are of the last run.\n\n"
           "- *Bandwidth* (GB/s) is that of the bytes that a call must move at least (Q, K, V and "
           "the "
           "output, once) over its time.\n"
           "- *Of DRAM* is its share of the measured read ceiling. More than all of it is marked "
           "*cache*.\n"
           "- A *wave* is as many CTAs as the whole GPU holds at once. The tile's `waves` is how "
           "many "
           "of them a rung asks for when it splits the keys (0: it does not split).\n"
           "- *Waves run* are the CTAs that it got over the places that there are. Below 1, places "
           "stay empty.\n"
           "- *In flight* are the bytes that the CTAs at work declare to have under way at once. "
           "In "
           "parentheses: those that DRAM's latency times its bandwidth asks for.\n" +
           text;
}

}  // namespace raceline
