// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_memory.hpp"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "device/catalog.hpp"
#include "model/rates.hpp"
#include "report/ladder_data.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

double number(const Json& object, const char* member) {
    return object.at(member).get<double>();
}

// The first row of the first kernel on each shape is what the others are compared with.
std::string peak_table(std::span<const Json> rows) {
    TextTable table(
        "shape | rung | >inputs and output | >workspace asked for | >peak allocated | >of the "
        "first");
    std::map<std::string, double> first;
    bool any = false;
    for (const Json* row : by_time(rows, "ceiling")) {
        if (!row->contains("memory")) {
            continue;
        }
        const Json& m = row->at("memory");
        const std::string shape = format_shape(workload_from_json(m.at("workload")));
        const double peak = number(m, "peak_bytes");
        const double start = first.emplace(shape, peak).first->second;
        table.add({shape, m.at("kernel").get<std::string>(),
                   format_si(number(m, "input_bytes"), "B"),
                   format_si(number(m, "workspace_bytes"), "B"), format_si(peak, "B"),
                   fmt::format("1/{:.1f}", start / peak)});
        any = true;
    }
    return any ? "\nWhat a call holds, by the device's free memory before and during it (in steps "
                 "of "
                 "2 MiB):\n\n" +
                     table.markdown()
               : "";
}

std::string capacity_table(std::span<const Json> rows) {
    TextTable table("cache of one layer | >bytes a token | >tokens that fit | >of the first");
    double first = 0;
    for (const Json* row : by_time(rows, "ceiling")) {
        if (!row->contains("capacity")) {
            continue;
        }
        const Json& c = row->at("capacity");
        const double tokens = number(c, "tokens");
        first = first > 0 ? first : tokens;
        table.add({c.at("cache").get<std::string>(),
                   fmt::format("{}", number(c, "bytes_per_token")), format_si(tokens, ""),
                   fmt::format("{:.2f}×", tokens / first)});
    }
    return first > 0
               ? "\nTokens of cache that were allocated with 1 GiB left free (128 heads of 128, "
                 "8 heads of 128, a latent of 512 + 64):\n\n" +
                     table.markdown()
               : "";
}

}  // namespace

std::string memory_markdown(std::span<const Json> rows) {
    const std::string text = peak_table(rows) + capacity_table(rows);
    return text.empty() ? "" : "\n## Memory\n" + text;
}

std::string products_markdown(std::span<const Json> rows) {
    TextTable table("M × N × K | >time | >TFLOP/s | >of tensor peak | >TB/s | >of DRAM");
    // The last run of each, smallest K and N first.
    std::map<std::tuple<double, double, double>, const Json*> last;
    for (const Json* row : by_time(rows, "ceiling")) {
        if (row->contains("product")) {
            const Json& p = row->at("product");
            last[{number(p, "m"), number(p, "k"), number(p, "n")}] = row;
        }
    }
    for (const auto& [size, row] : last) {
        const auto& [m, k, n] = size;
        Device device = datasheet_device(row->at("device").at("id").get<std::string>());
        apply_committed_rates(device);
        const Json& p = row->at("product");
        const double seconds = number(p, "seconds_median");
        const double flops = 2 * m * n * k / seconds;
        const double bytes = number(p, "bytes") / seconds;
        table.add({fmt::format("{} × {} × {}", m, n, k), format_seconds(seconds),
                   fmt::format("{:.1f}", flops / 1e12),
                   fmt::format("{:.0f} %", 100 * flops / ceiling(device, "flop.wgmma.e4m3")),
                   fmt::format("{:.2f}", bytes / 1e12),
                   fmt::format("{:.0f} %", 100 * bytes / ceiling(device, "byte.dram_read"))});
    }
    return last.empty() ? ""
                        : "\n## Products in 8 bits\n\ncuBLASLt's e4m3 products at the shapes of a "
                          "latent decode, bf16 output, operands cold: what a decode of MLA in 8 "
                          "bits is held against. Bytes are operands read once and the output "
                          "written once; ceilings are the measured ones.\n\n" +
                              table.markdown();
}

}  // namespace raceline
