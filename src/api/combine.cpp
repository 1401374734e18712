// SPDX-License-Identifier: Apache-2.0
// The public call `combine`: checks, then the kernel and tile that the model chooses.
#include <limits>

#include "api/engine_choice.hpp"
#include "api/refusal.hpp"
#include "api/tensor_checks.hpp"
#include "raceline/raceline.hpp"
#include "support/check.hpp"
#include "workload/combine_call.hpp"

namespace raceline {
namespace {

using api::bad;

void check_element(std::string_view name, const TensorView& view) {
    require(view.dtype == DType::fp32 || view.dtype == DType::fp16 || view.dtype == DType::bf16,
            bad, "{} has dtype {}; it must be fp32, fp16 or bf16", name, name_of(view.dtype));
}

// Everything that can be known without running.
void check_combine(const CombineArgs& args) {
    using api::Pointers;
    const auto parts = api::check_view("out_parts", args.out_parts, 4, Pointers::needed);
    const auto lses = api::check_strided("lse_parts", args.lse_parts, 3, Pointers::needed);
    const auto out = api::check_output("out", args.out, 3, Pointers::needed);
    check_element("out_parts", args.out_parts);
    check_element("out", args.out);
    require(args.lse_parts.dtype == DType::fp32, bad, "lse_parts has dtype {}; it is always fp32",
            name_of(args.lse_parts.dtype));
    const auto& n = args.out_parts.shape;
    require(n[0] >= 1, bad, "out_parts has 0 parts; it must have at least 1");
    require(n[3] >= 1, bad, "out_parts has a head dim of 0; it must be at least 1");
    require(n[1] * n[2] <= std::numeric_limits<std::int32_t>::max(), bad,
            "out_parts has {} rows of {} heads; their product must be below 2^31", n[1], n[2]);
    api::check_shape("lse_parts", args.lse_parts, {n[0], n[1], n[2]}, "(parts, rows, heads)");
    api::check_shape("out", args.out, {n[1], n[2], n[3]}, "(rows, heads, headdim)");
    const auto sinks =
        api::check_array("sinks", args.sinks, args.sinks == nullptr ? 0 : n[2], sizeof(float));
    api::check_apart(out, {parts, lses, sinks});
    if (args.lse.data != nullptr) {
        const auto lse = api::check_lse(args.lse, 2, Pointers::needed);
        api::check_shape("lse", args.lse, {n[1], n[2]}, "(rows, heads)");
        api::check_apart(lse, {parts, lses, sinks, out});
    }
}

CombineCall call_of(const CombineArgs& args) {
    using api::kernel_stride;
    const auto& n = args.out_parts.shape;
    CombineCall call;
    call.parts = n[0];
    call.rows = n[1];
    call.heads = n[2];
    call.headdim = n[3];
    call.out_parts = args.out_parts.data;
    call.lse_parts = static_cast<const float*>(args.lse_parts.data);
    call.sinks = args.sinks;
    call.out = args.out.data;
    call.lse = static_cast<float*>(args.lse.data);
    call.parts_dtype = args.out_parts.dtype;
    call.out_dtype = args.out.dtype;
    call.of_out_parts = {kernel_stride(args.out_parts, 0), kernel_stride(args.out_parts, 1),
                         kernel_stride(args.out_parts, 2)};
    call.of_lse_parts = {kernel_stride(args.lse_parts, 0), kernel_stride(args.lse_parts, 1),
                         kernel_stride(args.lse_parts, 2)};
    call.of_out = {0, kernel_stride(args.out, 0), kernel_stride(args.out, 1)};
    if (call.lse != nullptr) {
        call.of_lse = {0, kernel_stride(args.lse, 0), kernel_stride(args.lse, 1)};
    }
    return call;
}

}  // namespace

void combine(const CombineArgs& args, const Execution& execution) {
    check_combine(args);
    const Device& device = api::device_of(execution.place, args.threads);
    const CombineCall call = call_of(args);
    if (call.rows == 0 || call.heads == 0) {
        return;
    }
    const api::EngineChoice choice = api::remembered_combine(call, execution.place, args.threads);
    choice.kernel->launch_operation(operation_args_of(call), choice.tile, device, nullptr,
                                    execution.place == Place::cuda ? execution.stream : nullptr);
}

}  // namespace raceline
