// SPDX-License-Identifier: Apache-2.0
// judge_point of the public interfaces, C++ and C.
#include <nlohmann/json.hpp>

#include "api/c_boundary.hpp"
#include "api/predicted_case.hpp"
#include "model/work_point.hpp"
#include "run/point_json.hpp"

namespace raceline {

PointVerdict judge_point(const WorkPoint& point, const std::string& device) {
    return judge_point(api::device_of_prediction(device, 0), point);
}

namespace api {

std::string point_text(const WorkPoint& point, const std::string& device_name) {
    const Device device = device_of_prediction(device_name, 0);
    return dump_json(point_to_json("", point, judge_point(device, point), device));
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
