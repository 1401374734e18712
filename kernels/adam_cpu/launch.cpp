// SPDX-License-Identifier: Apache-2.0
// Four vectors of parameters at a time, from memory to memory: a step needs nothing of its
// neighbours.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adam_cpu/launch.cpp"
// clang-format off: the targets are chosen before Highway is seen
#include "cpu/simd/highway_targets.hpp"
#include <hwy/foreach_target.h>
// clang-format on
#include <algorithm>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "cpu/simd/group-inl.hpp"
#include "device/device.hpp"
#include "kernels/adam_cpu/call.hpp"
#include "kernels/adam_cpu/tile.hpp"
#include "registry/deal_out.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::adam_cpu::HWY_NAMESPACE {

using namespace raceline::simd::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace)

HWY_INLINE void step(const AdamStep& s, Vec grad, Vec& parameter, Vec& first, Vec& second) {
    const F d;
    first = hn::MulAdd(hn::Set(d, s.beta1), first, hn::Mul(hn::Set(d, s.new1), grad));
    second =
        hn::MulAdd(hn::Set(d, s.beta2), second, hn::Mul(hn::Set(d, s.new2), hn::Mul(grad, grad)));
    const Vec root = hn::MulAdd(hn::Sqrt(second), hn::Set(d, s.unbias), hn::Set(d, s.eps));
    const Vec moved = hn::Mul(hn::Set(d, s.rate), hn::Div(first, root));
    parameter = hn::MulSub(hn::Set(d, s.keep), parameter, moved);
}

/// Of: the format of parameters and gradients. State: of both moments.
template <class Of, class State>
void step_range(const Call& call, std::int64_t begin, std::int64_t end) {
    const AdamStep constants = call.step;
    const auto at = [&](std::size_t tensor, std::int64_t i) {
        const OperationTensor& t = call.args.tensors[tensor];
        return static_cast<std::byte*>(t.data) + i * static_cast<std::int64_t>(bytes_of(t.dtype));
    };
    // With a master copy that is what the step reads.
    const bool master = call.args.tensors[adam_new_master].rows > 0;
    for (std::int64_t i = begin; i < end; i += kGroup) {
        const std::int64_t count = std::min(kGroup, end - i);
        Group p = master ? load_some<FormatOfFp32>(at(adam_parameter, i), count)
                         : load_some<Of>(at(adam_parameter, i), count);
        const Group g = load_some<Of>(at(adam_gradient, i), count);
        Group m = load_some<State>(at(adam_first, i), count);
        Group v = load_some<State>(at(adam_second, i), count);
        step(constants, g.a, p.a, m.a, v.a);
        step(constants, g.b, p.b, m.b, v.b);
        step(constants, g.c, p.c, m.c, v.c);
        step(constants, g.d, p.d, m.d, v.d);
        put_some<Of>(p, count, call.stream, at(adam_new_parameter, i));
        put_some<State>(m, count, call.stream, at(adam_new_first, i));
        put_some<State>(v, count, call.stream, at(adam_new_second, i));
        if (master) {
            put_some<FormatOfFp32>(p, count, call.stream, at(adam_new_master, i));
        }
    }
}

template <class Of>
void step_with(const Call& call, std::int64_t begin, std::int64_t end) {
    if (call.args.tensors[adam_first].dtype == DType::fp32) {
        step_range<Of, FormatOfFp32>(call, begin, end);
    } else {
        step_range<Of, FormatOfBf16>(call, begin, end);
    }
}

void run_task(const Call& call, std::int64_t begin, std::int64_t end) {
    const bool master = call.args.tensors[adam_new_master].rows > 0;
    switch (call.args.tensors[adam_gradient].dtype) {
        case DType::fp32: step_with<FormatOfFp32>(call, begin, end); break;
        case DType::fp16: step_with<FormatOfFp16>(call, begin, end); break;
        default:
            // All tensors in one format: their elements may come in any order.
            if (!master && call.args.tensors[adam_first].dtype == DType::bf16) {
                step_range<FormatOfBf16Pairs, FormatOfBf16Pairs>(call, begin, end);
            } else {
                step_with<FormatOfBf16>(call, begin, end);
            }
    }
    hwy::FlushStream();
}

}  // namespace raceline::kernels::adam_cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace raceline::kernels::adam_cpu {
HWY_EXPORT(run_task);

void launch(const OperationArgs& args, int tile, const Device& device, void* /*workspace*/,
            void* /*stream*/) {
    const Call call{args, adam_step_of(args),
                    tile_list.at(static_cast<std::size_t>(tile)).stream != 0};
    deal_out(device, args.extents[0] * args.extents[1], elements_of_task,
             [&](std::int64_t first, std::int64_t end) {
                 HWY_DYNAMIC_DISPATCH(run_task)(call, first, end);
             });
}
}  // namespace raceline::kernels::adam_cpu
#endif
