// SPDX-License-Identifier: Apache-2.0
// `raceline point`: a kernel of one's own on the roofline of a device.
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "model/work_point.hpp"
#include "options.hpp"
#include "plot/charts.hpp"
#include "point_file.hpp"
#include "report/point_table.hpp"
#include "run/point_json.hpp"
#include "run/point_names.hpp"
#include "selection.hpp"
#include "support/check.hpp"
#include "terminal.hpp"
#include "usage.hpp"

namespace raceline::cli {
namespace {

std::vector<NamedPoint> points_of(const Options& options) {
    const WorkPoint& given = options.point;
    if (options.files.empty()) {
        require(given.flops != 0 || given.bytes != 0, Status::invalid_argument,
                "point needs --flops, --bytes or a file of points, as in `raceline point --flops "
                "1.4e11 --bytes 1e8`");
        return {{options.name.empty() ? "point" : options.name, given}};
    }
    require(options.files.size() == 1, Status::invalid_argument, "point takes one file, and {}",
            given_text(options.files.size()));
    require(given.flops == 0 && given.bytes == 0 && given.seconds == 0 && options.name.empty(),
            Status::invalid_argument,
            "--name, --flops, --bytes and --seconds describe one point; {} has points of its own",
            options.files.front());
    return read_points(options.files.front(), given);
}

}  // namespace

int run_point(const Options& options) {
    require_picture_output(options);
    std::vector<NamedPoint> points = points_of(options);
    const Device device = select_device(options);
    std::vector<PointVerdict> verdicts;
    std::vector<JudgedPoint> judged;
    std::vector<ChartedPoint> charted;
    for (NamedPoint& point : points) {
        try {
            point.work = with_known_names(device, std::move(point.work));
            verdicts.push_back(judge_point(device, point.work));
        } catch (const Error& error) {
            fail(error.status(), "{}{}: {}", point.where.empty() ? "" : point.where + ": ",
                 point.name, error.what());
        }
        judged.push_back({point.name, point.work.seconds, verdicts.back()});
        charted.push_back({point.name, verdicts.back(), point.work});
    }
    for (std::size_t i = 0; options.json && i < points.size(); ++i) {
        fmt::print("{}\n",
                   dump_json(point_to_json(points[i].name, points[i].work, verdicts[i], device)));
    }
    if (!options.json) {
        fmt::print("{}", point_table(judged, stdout_style(options)));
    }
    if (!options.output.empty()) {
        draw(points_chart(device, charted), options);
    }
    return exit_ok;
}

}  // namespace raceline::cli
