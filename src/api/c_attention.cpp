// SPDX-License-Identifier: Apache-2.0
// raceline.h: attention, predictions and the list of devices.
#include <nlohmann/json.hpp>

#include "api/c_boundary.hpp"
#include "api/predicted_case.hpp"
#include "device/catalog.hpp"
#include "support/json.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace {

using namespace raceline;
using raceline::api::guarded;

Execution execution_of(int32_t place, void* stream, void* workspace, std::size_t bytes) {
    return {api::place_of(place), stream, workspace, bytes};
}

// Runs `predicted` and hands its row content out as text.
template <class Predict>
rl_status predict_into(char** json, Predict&& predict) noexcept {
    return guarded([&] {
        api::require_pointer(json, "json");
        *json = nullptr;
        *json = api::copied_text(dump_json(api::predicted_case_to_json(predict())));
    });
}

void list(Json& all, const Device& device) {
    all.push_back(Json{
        {"id", device.id}, {"name", device.name}, {"year", device.year}, {"live", device.live}});
}

}  // namespace

extern "C" {

rl_status rl_forward_workspace(const rl_forward_args* args, int32_t place, size_t* bytes) {
    return guarded([&] {
        api::require_pointer(bytes, "bytes");
        *bytes = forward_workspace(api::read_forward(args), api::place_of(place));
    });
}

rl_status rl_decode_workspace(const rl_decode_args* args, int32_t place, size_t* bytes) {
    return guarded([&] {
        api::require_pointer(bytes, "bytes");
        *bytes = decode_workspace(api::read_decode(args), api::place_of(place));
    });
}

rl_status rl_forward(const rl_forward_args* args, int32_t place, void* stream, void* workspace,
                     size_t workspace_bytes) {
    return guarded([&] {
        forward(api::read_forward(args), execution_of(place, stream, workspace, workspace_bytes));
    });
}

rl_status rl_decode(const rl_decode_args* args, int32_t place, void* stream, void* workspace,
                    size_t workspace_bytes) {
    return guarded([&] {
        decode(api::read_decode(args), execution_of(place, stream, workspace, workspace_bytes));
    });
}

rl_status rl_combine(const rl_combine_args* args, int32_t place, void* stream) {
    return guarded(
        [&] { combine(api::read_combine(args), execution_of(place, stream, nullptr, 0)); });
}

rl_status rl_devices(char** json) {
    return guarded([&] {
        api::require_pointer(json, "json");
        *json = nullptr;
        Json all = Json::array();
        const std::optional<Device> cuda = live_cuda();
        if (cuda) {
            list(all, *cuda);
        }
        list(all, live_cpu());
        for (const std::string& id : device_ids()) {
            if (!cuda || cuda->id != id) {
                list(all, datasheet_device(id));
            }
        }
        *json = api::copied_text(dump_json(all));
    });
}

rl_status rl_predict_shape(const char* shape, const char* device, const char* kernel, char** json) {
    return predict_into(json, [&] {
        api::require_pointer(shape, "shape");
        return api::predict_shape_case(shape, api::text_or_empty(device),
                                       api::text_or_empty(kernel));
    });
}

rl_status rl_predict_bound(const char* shape, const char* device, char** json) {
    return guarded([&] {
        api::require_pointer(json, "json");
        *json = nullptr;
        api::require_pointer(shape, "shape");
        *json = api::copied_text(api::bound_text(shape, api::text_or_empty(device)));
    });
}

rl_status rl_predict_forward(const rl_forward_args* args, const char* device, char** json) {
    return predict_into(json, [&] {
        return api::predict_forward_case(api::read_forward(args), api::text_or_empty(device));
    });
}

rl_status rl_predict_decode(const rl_decode_args* args, const char* device, char** json) {
    return predict_into(json, [&] {
        return api::predict_decode_case(api::read_decode(args), api::text_or_empty(device));
    });
}

rl_status rl_predict_case(const rl_case* which, char** json) {
    return predict_into(json, [&] {
        const rl_case known = api::read_struct(which, "which");
        api::require_pointer(known.shape, "which.shape");
        return api::predict_workload(parse_shape(known.shape), api::text_or_empty(known.device),
                                     api::text_or_empty(known.kernel), known.threads,
                                     api::text_or_empty(known.launch_path));
    });
}

rl_status rl_suite(const char* name, const char* dtype, char** json) {
    return guarded([&] {
        api::require_pointer(json, "json");
        *json = nullptr;
        api::require_pointer(name, "name");
        const std::string type = api::text_or_empty(dtype);
        const auto wanted = type.empty() ? std::nullopt : std::optional(parse_dtype(type));
        Json shapes = Json::array();
        for (const Workload& workload : make_suite(name, wanted).workloads) {
            shapes.push_back(format_shape(workload));
        }
        *json = api::copied_text(dump_json(shapes));
    });
}

}  // extern "C"
