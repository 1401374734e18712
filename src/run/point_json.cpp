// SPDX-License-Identifier: Apache-2.0
#include "run/point_json.hpp"

#include <nlohmann/json.hpp>

#include "model/work_point.hpp"

namespace raceline {

Json point_to_json(const std::string& name, const WorkPoint& point, const PointVerdict& verdict,
                   const Device& device) {
    return {{"name", name},
            {"device", {{"id", device.id}, {"name", device.name}}},
            {"flops", point.flops},
            {"bytes", point.bytes},
            {"seconds", point.seconds},
            {"engine", verdict.engine},
            {"engine_rate", verdict.engine_rate},
            {"memory", verdict.memory},
            {"memory_rate", verdict.memory_rate},
            {"arithmetic_intensity", verdict.intensity},
            {"ridge", verdict.ridge},
            {"compute_seconds", verdict.compute_seconds},
            {"memory_seconds", verdict.memory_seconds},
            {"bound_seconds", verdict.bound_seconds},
            {"limiter", verdict.limiter},
            {"of_roof", verdict.of_roof},
            {"standing", standing_of(verdict)},
            {"gain_of_tenth", verdict.gain_of_tenth},
            {"rates", verdict.rates}};
}

}  // namespace raceline
