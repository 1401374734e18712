// SPDX-License-Identifier: Apache-2.0
// One step of Adam, block by block: four streams are read and three or four written.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adam_cpu/launch.cpp"
// clang-format off: the targets are chosen before Highway is seen
#include "cpu/simd/highway_targets.hpp"
#include <hwy/foreach_target.h>
// clang-format on
#include <algorithm>
#include <array>
#include <cmath>
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <omp.h>

#include "cpu/simd/elements-inl.hpp"
#include "cpu/simd/stream-inl.hpp"
#include "device/device.hpp"
#include "kernels/adam_cpu/tile.hpp"

#ifndef RACELINE_ADAM_CPU_CALL
#define RACELINE_ADAM_CPU_CALL
namespace raceline::kernels::adam_cpu {
/// The constants of a step, as its elements use them.
struct Step {
    float beta1, beta2, new1, new2;  ///< new: one less the beta
    float rate;                      ///< with the first moment's bias taken out
    float unbias;                    ///< of the root of the second moment
    float eps, keep;                 ///< keep: what decay leaves of a parameter
};
struct Call {
    const OperationArgs& args;
    Step step;
    std::int64_t block, elements;
    bool stream;
};
/// As operations/adam lists them.
enum Tensor : std::size_t {
    parameter,
    gradient,
    first_moment,
    second_moment,
    new_parameter,
    new_first,
    new_second,
    new_master
};
}  // namespace raceline::kernels::adam_cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::adam_cpu::HWY_NAMESPACE {

using namespace raceline::simd::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace)

/// `count` parameters at p, gradients at g and moments at m and v become those after the step.
void step_block(const Step& s, std::int64_t count, float* p, const float* g, float* m, float* v) {
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
        for (std::size_t i = parameter; i <= second_moment; ++i) {
            to_float(at(i, first), tensors[i].dtype, elements, buffer(i));
        }
        step_block(call.step, count, buffer(parameter), buffer(gradient), buffer(first_moment),
                   buffer(second_moment));
        const auto put = [&](std::size_t tensor, std::size_t from) {
            put_floats(buffer(from), elements, tensors[tensor].dtype, call.stream,
                       reinterpret_cast<std::byte*>(buffer(buffers - 1)), at(tensor, first));
        };
        put(new_parameter, parameter);
        put(new_first, first_moment);
        put(new_second, second_moment);
        if (tensors[new_master].rows > 0) {
            put(new_master, parameter);
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
    const auto [lr, beta1, beta2, eps, decay] = std::array{
        args.scalars[0], args.scalars[1], args.scalars[2], args.scalars[3], args.scalars[4]};
    const auto steps = static_cast<double>(args.extents[2]);
    const auto number = [](double x) { return static_cast<float>(x); };
    const Step step{number(beta1),
                    number(beta2),
                    number(1 - beta1),
                    number(1 - beta2),
                    number(lr / (1 - std::pow(beta1, steps))),
                    number(1 / std::sqrt(1 - std::pow(beta2, steps))),
                    number(eps),
                    number(1 - lr * decay)};
    const Call call{args, step, shape.block, args.extents[0] * args.extents[1], shape.stream != 0};
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
