// SPDX-License-Identifier: Apache-2.0
// raceline.h: operations beside attention.
#include <nlohmann/json.hpp>

#include "api/c_boundary.hpp"
#include "raceline/operation.hpp"
#include "support/json.hpp"

struct rl_operation {
    raceline::Operation operation;
    raceline::Place place;
};

namespace {

using namespace raceline;
using raceline::api::guarded;

const Operation& read_operation(const rl_operation* operation) {
    api::require_pointer(operation, "operation");
    return operation->operation;
}

template <class Address>
std::span<Address const> read_addresses(Address const* addresses, std::int64_t count) {
    require(count >= 0, Status::invalid_argument, "count is {}; it must be 0 or more", count);
    if (count > 0) {
        api::require_pointer(addresses, "addresses");
    }
    return {addresses, static_cast<std::size_t>(count)};
}

}  // namespace

extern "C" {

rl_status rl_operation_create(const char* shape, int32_t place, const char* kernel, int32_t threads,
                              rl_operation** operation) {
    return guarded([&] {
        api::require_pointer(operation, "operation");
        *operation = nullptr;
        api::require_pointer(shape, "shape");
        const Place its = api::place_of(place);
        *operation =
            new rl_operation{Operation(shape, its, api::text_or_empty(kernel), threads), its};
    });
}

rl_status rl_operation_describe(const rl_operation* operation, char** json) {
    return guarded([&] {
        api::require_pointer(json, "json");
        *json = nullptr;
        const Operation& its = read_operation(operation);
        Json tensors = Json::array();
        for (const OperationTensorInfo& t : its.tensors()) {
            tensors.push_back({{"name", t.name},
                               {"dtype", t.indices ? "int32" : name_of(t.dtype)},
                               {"rows", t.rows},
                               {"width", t.width},
                               {"bytes", t.bytes()},
                               {"output", t.output}});
        }
        const Json all{{"kernel", its.kernel()},
                       {"workspace_bytes", its.workspace_bytes()},
                       {"tensors", tensors}};
        *json = api::copied_text(dump_json(all));
    });
}

rl_status rl_operation_run(const rl_operation* operation, void* const* addresses, int64_t count,
                           void* stream, void* workspace, size_t workspace_bytes) {
    return guarded([&] {
        read_operation(operation).run(read_addresses<void*>(addresses, count),
                                      {operation->place, stream, workspace, workspace_bytes});
    });
}

rl_status rl_operation_check(const rl_operation* operation, const void* const* addresses,
                             int64_t count, uint64_t seed, char** json) {
    return guarded([&] {
        api::require_pointer(json, "json");
        *json = nullptr;
        double error = 0, bound = 0;
        const std::string why = read_operation(operation).check(
            read_addresses<const void*>(addresses, count), seed, &error, &bound);
        Json verdict{{"passed", why.empty()}, {"relative_rms", error}, {"bound", bound}};
        if (!why.empty()) {
            verdict["why"] = why;
        }
        *json = api::copied_text(dump_json(verdict));
    });
}

void rl_operation_free(rl_operation* operation) {
    delete operation;
}

}  // extern "C"
