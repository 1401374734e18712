// SPDX-License-Identifier: Apache-2.0
// Times that others published of devices that nobody measured here, beside what the model says.
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "model/speed_of_light.hpp"
#include "registry/registry.hpp"
#include "report/docs_peers.hpp"
#include "report/docs_tables.hpp"
#include "support/check.hpp"
#include "support/json.hpp"
#include "support/text_table.hpp"
#include "tune/best_tile.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// The peer's time over ours on a device where both ran, for the head dim and mask of the shape.
double measured_quotient(DocsEvidence& evidence, const Json& entry, const Workload& workload) {
    const DocsBlock choice{
        .text = "published",
        .kind = "published",
        .arguments = {{"from", entry.at("measured").get<std::string>()},
                      {"peer", entry.at("peer").get<std::string>()},
                      {"kernel", entry.at("kernel").get<std::string>()},
                      {"d", std::to_string(workload.headdim)},
                      {"mask", workload.mask == Mask::full ? "full" : "causal"}}};
    std::vector<double> ratios;
    for (const DocsSample& sample : settled_rows(evidence, choice).samples) {
        ratios.push_back(sample.ratio);
    }
    return geometric_mean(ratios);
}

std::string error_cell(double predicted, double published) {
    return format_signed_percent(predicted / published - 1, 1);
}

void add_lines(TextTable& table, DocsEvidence& evidence, const Json& entry) {
    Device device = datasheet_device(entry.at("device").get<std::string>());
    apply_committed_rates(device);
    const Kernel& kernel = find_kernel(entry.at("kernel").get<std::string>());
    const LaunchCase how{.cold = false, .launch_path = "stream", .threads = 0};
    for (const Json& one : entry.at("shapes")) {
        const Workload workload = parse_shape(one.at("shape").get<std::string>());
        const TileChoice best = ranked_tiles(kernel, workload, device, how).front();
        const double quotient = measured_quotient(evidence, entry, workload);
        const double now = best.prediction.seconds * quotient;
        const double before = one.value("predicted_seconds", 0.0);
        const double published =
            one.contains("published_flops_per_second")
                ? workload.flops() / one.at("published_flops_per_second").get<double>()
                : one.value("published_seconds", 0.0);
        const double bound = speed_of_light(device, workload, how).seconds;
        const std::string list = entry.value("list", 1) > 1 ? ", second list" : "";
        table.add({device.name + list, "`" + format_shape(workload) + "`",
                   "`" + std::string(kernel.name) + "`", format_seconds(best.prediction.seconds),
                   fmt::format("{:.2f}", quotient), format_seconds(now),
                   before > 0 ? format_seconds(before) : "", format_seconds(bound),
                   published > 0 ? format_seconds(published) : "",
                   published > 0 && before > 0 ? error_cell(before, published) : "",
                   published > 0 ? error_cell(now, published) : ""});
    }
}

}  // namespace

std::string docs_published(DocsEvidence& evidence) {
    const std::string path = evidence.root() + "/docs/published.json";
    std::ifstream in(path);
    require(in.good(), Status::io, "cannot read {}", path);
    const Json list = parse_json(std::string(std::istreambuf_iterator<char>(in), {}), path);
    TextTable table(
        "device | shape | kernel | >ours, predicted | >peer / ours, H200 | >peer, predicted | "
        ">when first predicted | >bound | >published | >error then | >error now");
    for (const Json& entry : list.at("entries")) {
        add_lines(table, evidence, entry);
    }
    return table.markdown();
}

}  // namespace raceline
