// SPDX-License-Identifier: Apache-2.0
// A row passes block by block through the steps up to the first reduction, in fp32 in a buffer that
// stays in a cache; then again through those up to the next one, and so on. Blocks stay in L1, so
// that only operands and results touch memory. Without reductions one block is all that is held.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows_cpu/launch.cpp"
// clang-format off: the targets are chosen before Highway is seen
#include "cpu/simd/highway_targets.hpp"
#include <hwy/foreach_target.h>
// clang-format on
#include <algorithm>
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <limits>
#include <omp.h>

#include "cpu/simd/elements-inl.hpp"
#include "cpu/simd/stream-inl.hpp"
#include "device/device.hpp"
#include "kernels/rows_cpu/layout.hpp"
#include "workload/row_program.hpp"

#ifndef RACELINE_ROWS_CPU_CALL
#define RACELINE_ROWS_CPU_CALL
namespace raceline::kernels::rows_cpu {
/// One launch, as every target runs it.
struct Call {
    const OperationArgs& args;
    RowProgram program;
    Layout layout;
    std::int64_t head;
    float eps;
    bool stream;
};
}  // namespace raceline::kernels::rows_cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::rows_cpu::HWY_NAMESPACE {

using namespace raceline::simd::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace)

/// x[i] = function(x[i]) for a block, whose end is padded to whole vectors.
template <class Function>
void each(float* x, std::int64_t count, const Function& function) {
    const F d;
    for (std::int64_t i = 0; i < count; i += kLanes) {
        hn::Store(function(hn::Load(d, x + i)), d, x + i);
    }
}

template <class Function>
void with(float* x, const float* operand, std::int64_t count, const Function& function) {
    const F d;
    for (std::int64_t i = 0; i < count; i += kLanes) {
        hn::Store(function(hn::Load(d, x + i), hn::LoadU(d, operand + i)), d, x + i);
    }
}

Vec sigmoid(Vec x) {
    const F d;
    const Vec one = hn::Set(d, 1.0F);
    return hn::Div(one, hn::Add(one, exp(hn::Neg(x))));
}

Vec silu(Vec x) {
    const F d;
    return hn::Div(x, hn::Add(hn::Set(d, 1.0F), exp(hn::Neg(x))));
}

Vec gelu(Vec x) {
    const F d;
    const Vec cubed = hn::Mul(x, hn::Mul(x, x));
    const Vec inner = hn::Mul(hn::Set(d, static_cast<float>(gelu_c)),
                              hn::MulAdd(hn::Set(d, static_cast<float>(gelu_k)), cubed, x));
    return hn::Mul(hn::Mul(hn::Set(d, 0.5F), x), hn::Add(hn::Set(d, 1.0F), tanh(inner)));
}

Vec relu(Vec x) {
    const F d;
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);  // NaN stays
}

void add(float* x, const float* operand, std::int64_t count) {
    with(x, operand, count, [](Vec a, Vec b) { return hn::Add(a, b); });
}

void multiply(float* x, const float* operand, std::int64_t count) {
    with(x, operand, count, [](Vec a, Vec b) { return hn::Mul(a, b); });
}

/// One thread's buffers and what it knows of its row.
class RowRun {
public:
    /// `scratch`: Layout::scratch_bytes, aligned as they are.
    RowRun(const Call& call, std::byte* scratch)
        : call_(call),
          type_(call.args.tensors[0].dtype),
          bytes_(static_cast<std::int64_t>(bytes_of(type_))),
          row_(reinterpret_cast<float*>(scratch)),
          operand_(row_ + call.layout.held()),
          packed_(operand_ + call.layout.padded_block()) {}

    /// Elements from number `at` on: a whole row where there are rows.
    void run(std::int64_t at, std::int64_t count) {
        const std::span<const RowInstruction> steps = call_.program.steps();
        at_ = at;
        count_ = count;
        for (std::size_t first = 0; first <= steps.size();) {
            std::size_t end = first;
            while (end < steps.size() && !is_reduction(steps[end].op)) {
                ++end;
            }
            const RowInstruction* reduction = end < steps.size() ? &steps[end] : nullptr;
            pass(steps.subspan(first, end - first), first == 0, reduction);
            first = end + 1;
        }
    }

private:
    /// All blocks through `steps`, then into `reduction`, or into the result if there is none.
    void pass(std::span<const RowInstruction> steps, bool loads, const RowInstruction* reduction) {
        const F d;
        const bool largest = reduction != nullptr && reduction->op == RowOp::reduce_max;
        Vec sums = hn::Set(d, largest ? -std::numeric_limits<float>::infinity() : 0.0F);
        for (std::int64_t first = 0; first < count_; first += call_.layout.block) {
            const std::int64_t count = std::min(call_.layout.block, count_ - first);
            float* x = row_ + (call_.layout.holds_rows ? first : 0);
            if (loads) {
                to_float(matrix(0, first), type_, static_cast<std::size_t>(count), x);
            }
            for (const RowInstruction& step : steps) {
                apply(step, first, count, x);
            }
            if (reduction == nullptr) {
                put(call_.program.result, first, count, x);
            } else {
                sums = reduce(reduction->op, x, count, sums);
            }
        }
        if (reduction != nullptr) {
            const float sum =
                hn::GetLane(largest ? hn::MaxOfLanes(d, sums) : hn::SumOfLanes(d, sums));
            // A maximum's lanes may have lost a NaN.
            statistic_ =
                finished(reduction->finish, nan_ ? std::numeric_limits<float>::quiet_NaN() : sum,
                         static_cast<float>(count_), call_.eps);
            nan_ = false;
        }
    }

    Vec reduce(RowOp op, float* x, std::int64_t count, Vec sums) {
        const F d;
        const std::int64_t whole =
            count / static_cast<std::int64_t>(kLanes) * static_cast<std::int64_t>(kLanes);
        // What stands behind the end of the row must not count.
        const float neutral =
            op == RowOp::reduce_max ? -std::numeric_limits<float>::infinity() : 0.0F;
        std::fill(x + count,
                  x + (whole == count ? count : whole + static_cast<std::int64_t>(kLanes)),
                  neutral);
        if (op == RowOp::reduce_max) {
            auto seen = hn::FirstN(d, 0);
            for (std::int64_t i = 0; i < count; i += kLanes) {
                const Vec v = hn::Load(d, x + i);
                seen = hn::Or(seen, hn::IsNaN(v));
                sums = hn::Max(sums, v);
            }
            nan_ = nan_ || !hn::AllFalse(d, seen);
            return sums;
        }
        // Four chains hide the latency of a sum.
        Vec a = sums, b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
        std::int64_t i = 0;
        const auto term = [&](std::int64_t from, Vec to) {
            const Vec v = hn::Load(d, x + from);
            return op == RowOp::reduce_squares ? hn::MulAdd(v, v, to) : hn::Add(to, v);
        };
        constexpr auto lanes = static_cast<std::int64_t>(kLanes);
        for (; i + 4 * lanes <= count; i += 4 * lanes) {
            a = term(i, a);
            b = term(i + lanes, b);
            c = term(i + 2 * lanes, c);
            e = term(i + 3 * lanes, e);
        }
        for (; i < count; i += lanes) {
            a = term(i, a);
        }
        return hn::Add(hn::Add(a, b), hn::Add(c, e));
    }

    [[nodiscard]] std::byte* data(std::int32_t tensor, std::int64_t element) const {
        return static_cast<std::byte*>(call_.args.tensors[static_cast<std::size_t>(tensor)].data) +
               element * bytes_;
    }
    [[nodiscard]] std::byte* matrix(std::int32_t tensor, std::int64_t first) const {
        return data(tensor, at_ + first);
    }

    void apply(const RowInstruction& step, std::int64_t first, std::int64_t count, float* x) {
        const F d;
        switch (step.op) {
            case RowOp::relu: each(x, count, relu); break;
            case RowOp::gelu: each(x, count, gelu); break;
            case RowOp::silu: each(x, count, silu); break;
            case RowOp::sigmoid: each(x, count, sigmoid); break;
            case RowOp::tanh: each(x, count, [](Vec v) { return tanh(v); }); break;
            case RowOp::exp: each(x, count, [](Vec v) { return exp(v); }); break;
            case RowOp::square: each(x, count, [](Vec v) { return hn::Mul(v, v); }); break;
            case RowOp::add_matrix:
                add(x, widened(matrix(step.tensor, first), count), count);
                break;
            case RowOp::add_vector: add(x, widened(data(step.tensor, first), count), count); break;
            case RowOp::mul_matrix:
                multiply(x, widened(matrix(step.tensor, first), count), count);
                break;
            case RowOp::mul_vector:
                multiply(x, widened(data(step.tensor, first), count), count);
                break;
            case RowOp::sub_matrix:
                with(x, widened(matrix(step.tensor, first), count), count,
                     [](Vec a, Vec b) { return hn::Sub(a, b); });
                break;
            case RowOp::add_statistic: {
                const Vec s = hn::Set(d, statistic_);
                each(x, count, [s](Vec v) { return hn::Add(v, s); });
                break;
            }
            case RowOp::mul_statistic: {
                const Vec s = hn::Set(d, statistic_);
                each(x, count, [s](Vec v) { return hn::Mul(v, s); });
                break;
            }
            case RowOp::rope: rope(step.tensor, count, x); break;
            case RowOp::store: put(step.tensor, first, count, x); break;
            case RowOp::reduce_max:
            case RowOp::reduce_sum:
            case RowOp::reduce_squares: break;  // between passes
        }
    }

    /// A block of an operand as floats; of one that is stored so, where it lies.
    const float* widened(const std::byte* from, std::int64_t count) {
        if (type_ == DType::fp32 && count % static_cast<std::int64_t>(kLanes) == 0) {
            return reinterpret_cast<const float*>(from);
        }
        to_float(from, type_, static_cast<std::size_t>(count), operand_);
        return operand_;
    }

    /// Whole heads of a block, whose length is a multiple of the head dim.
    void rope(std::int32_t tensor, std::int64_t count, float* x) {
        const OperationTensor& t = call_.args.tensors[static_cast<std::size_t>(tensor)];
        const float* cosines = static_cast<const float*>(t.data) + at_ / count_ * t.width;
        const std::int64_t half = call_.head / 2;
        const float* sines = cosines + half;
        const F d;
        for (std::int64_t head = 0; head < count; head += call_.head) {
            float* low = x + head;
            float* high = low + half;
            std::int64_t i = 0;
            for (; i + static_cast<std::int64_t>(kLanes) <= half; i += kLanes) {
                const Vec a = hn::LoadU(d, low + i);
                const Vec b = hn::LoadU(d, high + i);
                const Vec c = hn::LoadU(d, cosines + i);
                const Vec s = hn::LoadU(d, sines + i);
                hn::StoreU(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), d, low + i);
                hn::StoreU(hn::Add(hn::Mul(b, c), hn::Mul(a, s)), d, high + i);
            }
            for (; i < half; ++i) {
                const float a = low[i];
                const float b = high[i];
                low[i] = a * cosines[i] - b * sines[i];
                high[i] = b * cosines[i] + a * sines[i];
            }
        }
    }

    void put(std::int32_t tensor, std::int64_t first, std::int64_t count, const float* x) {
        put_floats(x, static_cast<std::size_t>(count), type_, call_.stream,
                   reinterpret_cast<std::byte*>(packed_), matrix(tensor, first));
    }

    const Call& call_;
    DType type_;
    std::int64_t bytes_, at_ = 0, count_ = 0;
    float* row_;
    float* operand_;
    float* packed_;
    float statistic_ = 0;
    bool nan_ = false;
};

void run_task(const Call& call, std::int64_t task, std::byte* scratch) {
    const Layout& layout = call.layout;
    RowRun run(call, scratch);
    const std::int64_t last = std::min(layout.runs, (task + 1) * layout.runs_of_task);
    for (std::int64_t i = task * layout.runs_of_task; i < last; ++i) {
        const std::int64_t at = i * layout.length;
        run.run(at, std::min(layout.length, layout.elements - at));
    }
    hwy::FlushStream();
}

}  // namespace raceline::kernels::rows_cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace raceline::kernels::rows_cpu {
HWY_EXPORT(run_task);

void launch(const OperationArgs& args, int tile, const Device& device, void* workspace,
            void* /*stream*/) {
    const Tile& shape = tile_list.at(static_cast<std::size_t>(tile));
    const std::int64_t head = args.extents[2];
    const RowProgram program = row_program_of(args);
    const Call call{args,
                    program,
                    layout_of(program, args.extents[0], args.extents[1], head, shape),
                    head,
                    static_cast<float>(args.scalars[0]),
                    shape.stream != 0};
#pragma omp parallel for schedule(dynamic) num_threads(std::max(1, device.units))
    for (std::int64_t task = 0; task < call.layout.tasks(); ++task) {
        HWY_DYNAMIC_DISPATCH(run_task)(
            call, task,
            static_cast<std::byte*>(workspace) +
                static_cast<std::size_t>(omp_get_thread_num()) * call.layout.scratch_bytes());
    }
}
}  // namespace raceline::kernels::rows_cpu
#endif
