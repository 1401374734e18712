// SPDX-License-Identifier: Apache-2.0
// judge_point of the public interfaces, C++ and C.
#include <nlohmann/json.hpp>

#include "api/c_boundary.hpp"
#include "api/predicted_case.hpp"
#include "model/work_point.hpp"
#include "run/point_json.hpp"
#include "run/point_names.hpp"

namespace raceline {

PointVerdict judge_point(const WorkPoint& point, const std::string& device) {
    const Device known = api::device_of_prediction(device, 0);
    return judge_point(known, with_known_names(known, point));
}

namespace api {

std::string point_text(const WorkPoint& point, const std::string& device_name) {
    const Device device = device_of_prediction(device_name, 0);
    const PointVerdict verdict = judge_point(device, with_known_names(device, point));
    return dump_json(point_to_json("", point, verdict, device));
}

}  // namespace api
}  // namespace raceline

rl_status rl_point(const rl_work_point* point, const char* device, char** json) {
    using namespace raceline;
    return api::guarded([&] {
        api::require_pointer(json, "json");
        *json = nullptr;
        const rl_work_point given = api::read_struct(point, "rl_work_point");
        WorkPoint work{.flops = given.flops,
                       .bytes = given.bytes,
                       .seconds = given.seconds,
                       .engine = api::text_or_empty(given.engine)};
        if (given.memory != nullptr && *given.memory != '\0') {
            work.memory = given.memory;
        }
        *json = api::copied_text(api::point_text(work, api::text_or_empty(device)));
    });
}
