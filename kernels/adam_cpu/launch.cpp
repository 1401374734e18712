// SPDX-License-Identifier: Apache-2.0
// One step of Adam, block by block: four streams are read and three or four written.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adam_cpu/launch.cpp"
// clang-format off: the targets are chosen before Highway is seen
#include "cpu/simd/highway_targets.hpp"
#include <hwy/foreach_target.h>
// clang-format on
#include <algorithm>
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <omp.h>

#include "cpu/simd/elements-inl.hpp"
#include "cpu/simd/stream-inl.hpp"
#include "device/device.hpp"
#include "kernels/adam_cpu/tile.hpp"
#include "workload/adam_step.hpp"

#ifndef RACELINE_ADAM_CPU_CALL
#define RACELINE_ADAM_CPU_CALL
namespace raceline::kernels::adam_cpu {
struct Call {
    const OperationArgs& args;
    AdamStep step;
    std::int64_t block, elements;
    bool stream;
};
}  // namespace raceline::kernels::adam_cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::adam_cpu::HWY_NAMESPACE {

using namespace raceline::simd::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace)

/// `count` parameters at p, gradients at g and moments at m and v become those after the step.
void step_block(const AdamStep& s, std::int64_t count, float* p, const float* g, float* m,
                float* v) {
    const F d;
    for (std::int64_t i = 0; i < count; i += kLanes) {
        const Vec grad = hn::Load(d, g + i);
        const Vec first =
            hn::MulAdd(hn::Set(d, s.beta1), hn::Load(d, m + i), hn::Mul(hn::Set(d, s.new1), grad));
        const Vec second = hn::MulAdd(hn::Set(d, s.beta2), hn::Load(d, v + i),
                                      hn::Mul(hn::Set(d, s.new2), hn::Mul(grad, grad)));
        const Vec root = hn::MulAdd(hn::Sqrt(second), hn::Set(d, s.unbias), hn::Set(d, s.eps));
        const Vec moved = hn::Mul(hn::Set(d, s.rate), hn::Div(first, root));
        hn::Store(hn::MulSub(hn::Set(d, s.keep), hn::Load(d, p + i), moved), d, p + i);
        hn::Store(first, d, m + i);
        hn::Store(second, d, v + i);
    }
}

void run_task(const Call& call, std::int64_t begin, std::int64_t end, std::byte* scratch) {
    const auto& tensors = call.args.tensors;
    const auto buffer = [&](std::size_t i) {
        return reinterpret_cast<float*>(scratch) + i * static_cast<std::size_t>(call.block);
    };
    const auto at = [&](std::size_t tensor, std::int64_t i) {
        const OperationTensor& t = tensors[tensor];
        return static_cast<std::byte*>(t.data) + i * static_cast<std::int64_t>(bytes_of(t.dtype));
    };
    for (std::int64_t first = begin; first < end; first += call.block) {
        const std::int64_t count = std::min(call.block, end - first);
        const auto elements = static_cast<std::size_t>(count);
        for (std::size_t i = adam_parameter; i <= adam_second; ++i) {
            to_float(at(i, first), tensors[i].dtype, elements, buffer(i));
        }
        step_block(call.step, count, buffer(adam_parameter), buffer(adam_gradient),
                   buffer(adam_first), buffer(adam_second));
        const auto put = [&](std::size_t tensor, std::size_t from) {
            put_floats(buffer(from), elements, tensors[tensor].dtype, call.stream,
                       reinterpret_cast<std::byte*>(buffer(buffers - 1)), at(tensor, first));
        };
        put(adam_new_parameter, adam_parameter);
        put(adam_new_first, adam_first);
        put(adam_new_second, adam_second);
        if (tensors[adam_new_master].rows > 0) {
            put(adam_new_master, adam_parameter);
        }
    }
    hwy::FlushStream();
}

}  // namespace raceline::kernels::adam_cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace raceline::kernels::adam_cpu {
HWY_EXPORT(run_task);

void launch(const OperationArgs& args, int tile, const Device& device, void* workspace,
            void* /*stream*/) {
    const Tile& shape = tile_list.at(static_cast<std::size_t>(tile));
    const Call call{args, adam_step_of(args), shape.block, args.extents[0] * args.extents[1],
                    shape.stream != 0};
    const std::size_t scratch = buffers * static_cast<std::size_t>(call.block) * sizeof(float);
#pragma omp parallel for schedule(dynamic) num_threads(std::max(1, device.units))
    for (std::int64_t first = 0; first < call.elements; first += parameters_of_task) {
        HWY_DYNAMIC_DISPATCH(run_task)(
            call, first, std::min(call.elements, first + parameters_of_task),
            static_cast<std::byte*>(workspace) +
                static_cast<std::size_t>(omp_get_thread_num()) * scratch);
    }
}
}  // namespace raceline::kernels::adam_cpu
#endif
