// SPDX-License-Identifier: Apache-2.0
// `raceline point`: a kernel of one's own on the roofline of a device.
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "model/work_point.hpp"
#include "options.hpp"
#include "plot/charts.hpp"
#include "point_file.hpp"
#include "run/point_json.hpp"
#include "selection.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "terminal.hpp"

namespace raceline::cli {
namespace {

std::vector<NamedPoint> points_of(const Options& options) {
    const WorkPoint& given = options.point;
    if (options.files.empty()) {
        return {{options.name.empty() ? "point" : options.name, given}};
    }
    require(options.files.size() == 1, Status::invalid_argument,
            "point takes one file; {} were given", options.files.size());
    require(given.flops == 0 && given.bytes == 0 && given.seconds == 0 && options.name.empty(),
            Status::invalid_argument,
            "--name, --flops, --bytes and --seconds are of one point; {} has its own",
            options.files.front());
    return read_points(options.files.front(), given);
}

std::string share(double of_roof) {
    return of_roof > 0 ? fmt::format("{:.0f} %", 100 * of_roof) : "";
}

void print_points(const std::vector<NamedPoint>& points,
                  const std::vector<PointVerdict>& verdicts) {
    using Align = TextTable::Align;
    TextTable table({{"point", Align::left},
                     {"limiter", Align::left},
                     {"FLOP/B", Align::right},
                     {"ridge", Align::right},
                     {"bound", Align::right},
                     {"measured", Align::right},
                     {"of roof", Align::right},
                     {"", Align::left},
                     {"a tenth more", Align::right},
                     {"rate", Align::left}});
    for (std::size_t i = 0; i < points.size(); ++i) {
        const PointVerdict& v = verdicts[i];
        const double seconds = points[i].work.seconds;
        table.add(
            {points[i].name, v.limiter, v.intensity > 0 ? fmt::format("{:.3g}", v.intensity) : "",
             v.ridge > 0 ? fmt::format("{:.3g}", v.ridge) : "", format_seconds(v.bound_seconds),
             seconds > 0 ? format_seconds(seconds) : "", share(v.of_roof),
             std::string(standing_of(v)), fmt::format("{:.3g}x", v.gain_of_tenth), v.rates});
    }
    fmt::print("{}", table.str());
}

}  // namespace

int run_point(const Options& options) {
    require_picture_output(options);
    const std::vector<NamedPoint> points = points_of(options);
    const Device device = select_device(options);
    std::vector<PointVerdict> verdicts;
    std::vector<ChartedPoint> charted;
    for (const NamedPoint& point : points) {
        try {
            verdicts.push_back(judge_point(device, point.work));
        } catch (const Error& error) {
            fail(error.status(), "{}: {}", point.name, error.what());
        }
        charted.push_back({point.name, verdicts.back(), point.work});
    }
    for (std::size_t i = 0; options.json && i < points.size(); ++i) {
        fmt::print("{}\n",
                   dump_json(point_to_json(points[i].name, points[i].work, verdicts[i], device)));
    }
    if (!options.json) {
        print_points(points, verdicts);
    }
    if (!options.output.empty()) {
        draw(points_chart(device, charted), options);
    }
    return exit_ok;
}

}  // namespace raceline::cli
