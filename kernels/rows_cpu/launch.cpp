// SPDX-License-Identifier: Apache-2.0
// Elements pass through all steps up to a reduction in registers, four vectors at a time, and only
// there or at a rotation do they go to a buffer in fp32 that holds a row. A chain without these
// touches nothing but its operands and its result. Chains of compiled_chains.hpp have loops of
// their own where vectors are wide; the others ask for each step which one it is.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows_cpu/launch.cpp"
// clang-format off: the targets are chosen before Highway is seen
#include "cpu/simd/highway_targets.hpp"
#include <hwy/foreach_target.h>
// clang-format on
#include <algorithm>
#include <array>
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <limits>
#include <omp.h>

#include "cpu/simd/group-inl.hpp"
#include "device/device.hpp"
#include "kernels/rows_cpu/call.hpp"
#include "registry/deal_out.hpp"
#include "workload/compiled_chains.hpp"
#include "workload/row_program.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::rows_cpu::HWY_NAMESPACE {

using namespace raceline::simd::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace)

HWY_INLINE Vec sigmoid(Vec x) {
    const F d;
    const Vec one = hn::Set(d, 1.0F);
    return hn::Div(one, hn::Add(one, exp(hn::Neg(x))));
}

HWY_INLINE Vec silu(Vec x) {
    const F d;
    return hn::Div(x, hn::Add(hn::Set(d, 1.0F), exp(hn::Neg(x))));
}

/// x (1 + tanh u) / 2 is x / (1 + e^-2u), which leaves something of large negative elements, too.
HWY_INLINE Vec gelu(Vec x) {
    const F d;
    const Vec cubed = hn::Mul(x, hn::Mul(x, x));
    const Vec twice = hn::Mul(hn::Set(d, -2.0F * static_cast<float>(gelu_c)),
                              hn::MulAdd(hn::Set(d, static_cast<float>(gelu_k)), cubed, x));
    return hn::Div(x, hn::Add(hn::Set(d, 1.0F), exp(twice)));
}

HWY_INLINE Vec relu(Vec x) {
    const F d;
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);  // NaN stays
}

constexpr auto sum = [](Vec a, Vec b) { return hn::Add(a, b); };
constexpr auto difference = [](Vec a, Vec b) { return hn::Sub(a, b); };
constexpr auto product = [](Vec a, Vec b) { return hn::Mul(a, b); };
constexpr auto larger = [](Vec a, Vec b) { return hn::Max(a, b); };

/// The steps of a program from number `first` up to a stop, and that stop.
struct Pass {
    std::span<const RowInstruction> steps;
    const RowInstruction* stop;        ///< none: to the result
    bool loads;                        ///< from the operand, else from the buffer
    bool keeps;                        ///< in the buffer what its steps have left
    std::int64_t part = 0, parts = 0;  ///< of the next row, which is fetched meanwhile; 0: none is
    std::size_t matrices = 1;          ///< operands that have a row for each, of the whole program
    std::array<std::int32_t, longest_row_chain + 1> tensors{};  ///< theirs
};

constexpr std::size_t stop_behind(std::span<const RowInstruction> steps, std::size_t first) {
    while (first < steps.size() && !is_stop(steps[first].op)) {
        ++first;
    }
    return first;
}

/// The pass of steps from number `first` to before `end`.
constexpr Pass pass_of(std::span<const RowInstruction> steps, std::size_t first, std::size_t end) {
    const RowInstruction* stop = end < steps.size() ? &steps[end] : nullptr;
    const bool keeps = stop != nullptr && !leaves_elements(steps.first(end + 1));
    Pass pass{steps.subspan(first, end - first), stop, leaves_elements(steps.first(first)), keeps};
    if (const std::int64_t passes = passes_of(steps); passes > 1) {
        pass.part = passes_of(steps.first(first)) - 1;
        pass.parts = passes;
    }
    for (const RowInstruction& step : steps) {
        if (takes_matrix(step.op)) {
            pass.tensors[pass.matrices++] = step.tensor;
        }
    }
    return pass;
}

/// One thread's buffer and what it knows of its row.
template <class Format>
class RowRun {
public:
    /// `scratch`: Layout::scratch_bytes, aligned as they are.
    RowRun(const Call& call, std::byte* scratch)
        : call_(call), row_(reinterpret_cast<float*>(scratch)) {}

    /// Elements from number `at` on: a whole row where there are rows.
    void run(std::int64_t at, std::int64_t count) {
        const std::span<const RowInstruction> steps = call_.program.steps();
        begin(at, count);
        for (std::size_t first = 0; first <= steps.size();) {
            const std::size_t end = stop_behind(steps, first);
            const Pass pass = pass_of(steps, first, end);
            Sums sums = sums_of(pass.stop);
            pass_from(pass, 0, sums);
            finish(pass.stop, sums);
            first = end + 1;
        }
    }

    /// The same of the chain of that number, from its step `first` on.
    template <std::size_t chain, std::size_t first = 0>
    void run_compiled(std::int64_t at, std::int64_t count) {
        static constexpr RowProgram program = compiled_programs[chain];
        static constexpr std::size_t end = stop_behind(program.steps(), first);
        constexpr bool last = end == program.steps().size();
        if constexpr (first == 0) {
            begin(at, count);
        }
        static constexpr Pass whole = pass_of(program.steps(), first, end);
        Sums sums = sums_of(whole.stop);
        std::int64_t i = 0;
        for (; i + kGroup <= count_; i += kGroup) {
            Group x = loaded(whole.loads, i, kGroup);
            [&]<std::size_t... step>(std::index_sequence<step...>) {
                ((x = applied(program.list[first + step], i, kGroup, x)), ...);
            }(std::make_index_sequence<end - first>());
            leave(whole, i, kGroup, x, sums);
        }
        if (i < count_) {
            pass_from(whole, i, sums);
        }
        finish(whole.stop, sums);
        if constexpr (!last) {
            run_compiled<chain, end + 1>(at, count);
        }
    }

private:
    static constexpr auto bytes = static_cast<std::int64_t>(Format::bytes);

    struct Sums {
        Group each;
        bool nan = false;
    };
    static Sums sums_of(const RowInstruction* stop) {
        const bool largest = stop != nullptr && stop->op == RowOp::reduce_max;
        return {group_of(largest ? -std::numeric_limits<float>::infinity() : 0.0F)};
    }

    void begin(std::int64_t at, std::int64_t count) {
        at_ = at;
        count_ = count;
    }

    HWY_INLINE Group loaded(bool from_operand, std::int64_t i, std::int64_t count) const {
        return from_operand ? load_some<Format>(matrix(0, i), count) : load_floats(row_ + i);
    }

    HWY_NOINLINE void pass_from(const Pass& pass, std::int64_t first, Sums& sums) {
        for (std::int64_t i = first; i < count_; i += kGroup) {
            const std::int64_t count = std::min(kGroup, count_ - i);
            Group x = loaded(pass.loads, i, count);
            for (const RowInstruction& step : pass.steps) {
                x = applied(step, i, count, x);
            }
            leave(pass, i, count, x, sums);
        }
    }

    /// Where elements go behind the last step of a pass.
    HWY_INLINE void leave(const Pass& pass, std::int64_t i, std::int64_t count, const Group& x,
                          Sums& sums) {
        if (pass.stop == nullptr) {
            put(call_.program.result, i, count, x);
        } else {
            if (pass.keeps) {
                put_floats<false>(x, row_ + i);
            }
            sums.each = reduced(pass.stop->op, x, count, sums.each, sums.nan);
        }
        if (pass.parts > 0) {
            fetch_next_row(pass, i);
        }
    }

    HWY_INLINE void finish(const RowInstruction* stop, const Sums& sums) {
        if (stop != nullptr && stop->op == RowOp::rope) {
            rope(stop->tensor);
        } else if (stop != nullptr) {
            const bool largest = stop->op == RowOp::reduce_max;
            statistic_ = finished(stop->finish, sums.nan ? not_a_number : all(sums.each, largest),
                                  static_cast<float>(count_), call_.eps);
        }
    }

    static float all(const Group& sums, bool largest) {
        const F d;
        return largest
                   ? hn::GetLane(
                         hn::MaxOfLanes(d, larger(larger(sums.a, sums.b), larger(sums.c, sums.d))))
                   : hn::GetLane(hn::SumOfLanes(d, sum(sum(sums.a, sums.b), sum(sums.c, sums.d))));
    }

    // What stands behind the end of the row must not count.
    static HWY_INLINE Group reduced(RowOp op, const Group& x, std::int64_t count, const Group& sums,
                                    bool& nan) {
        switch (op) {
            case RowOp::reduce_max: {
                const Group v =
                    only_some<Format>(x, count, -std::numeric_limits<float>::infinity());
                // A maximum's lanes may lose a NaN.
                nan = nan || (may_have_nan(v) && has_nan(v));
                return map(v, sums, larger);
            }
            case RowOp::reduce_sum: return map(only_some<Format>(x, count, 0.0F), sums, sum);
            case RowOp::reduce_squares: {
                const Group v = only_some<Format>(x, count, 0.0F);
                return {hn::MulAdd(v.a, v.a, sums.a), hn::MulAdd(v.b, v.b, sums.b),
                        hn::MulAdd(v.c, v.c, sums.c), hn::MulAdd(v.d, v.d, sums.d)};
            }
            default: return sums;  // a rotation
        }
    }

    [[nodiscard]] std::byte* data(std::int32_t tensor, std::int64_t element) const {
        return static_cast<std::byte*>(call_.args.tensors[static_cast<std::size_t>(tensor)].data) +
               element * bytes;
    }
    [[nodiscard]] std::byte* matrix(std::int32_t tensor, std::int64_t first) const {
        return data(tensor, at_ + first);
    }

    // The row behind this one comes while this one is computed with, into the second cache: a part
    // of it in each pass, so that memory is as busy in all of them. Behind the last row there may
    // be nothing, which a prefetch does not mind.
    HWY_INLINE void fetch_next_row(const Pass& pass, std::int64_t i) const {
        constexpr std::int64_t line = 64;
        const std::int64_t first = count_ + (pass.part * count_ + i) / pass.parts;
        for (std::size_t m = 0; m < pass.matrices; ++m) {
            const std::byte* next = matrix(pass.tensors[m], first);
            for (std::int64_t at = 0; at * pass.parts < kGroup * bytes; at += line) {
                __builtin_prefetch(next + at, 0, 2);
            }
        }
    }

    HWY_INLINE Group applied(const RowInstruction& step, std::int64_t first, std::int64_t count,
                             const Group& x) {
        const auto with_matrix = [&](const auto& function) {
            return map(x, load_some<Format>(matrix(step.tensor, first), count), function);
        };
        const auto with_vector = [&](const auto& function) {
            return map(x, load_some<Format>(data(step.tensor, first), count), function);
        };
        switch (step.op) {
            case RowOp::relu: return map(x, relu);
            case RowOp::gelu: return map(x, gelu);
            case RowOp::silu: return map(x, silu);
            case RowOp::sigmoid: return map(x, sigmoid);
            case RowOp::tanh: return map(x, [](Vec v) { return tanh(v); });
            case RowOp::exp: return map(x, [](Vec v) { return exp(v); });
            case RowOp::square: return map(x, x, product);
            case RowOp::add_matrix: return with_matrix(sum);
            case RowOp::sub_matrix: return with_matrix(difference);
            case RowOp::mul_matrix: return with_matrix(product);
            case RowOp::add_vector: return with_vector(sum);
            case RowOp::mul_vector: return with_vector(product);
            case RowOp::add_statistic: return map(x, group_of(statistic_), sum);
            case RowOp::mul_statistic: return map(x, group_of(statistic_), product);
            case RowOp::store: put(step.tensor, first, count, x); return x;
            default: return x;  // what passes end at
        }
    }

    /// The heads of the row in the buffer.
    void rope(std::int32_t tensor) {
        const OperationTensor& t = call_.args.tensors[static_cast<std::size_t>(tensor)];
        const float* cosines = static_cast<const float*>(t.data) + at_ / count_ * t.width;
        const std::int64_t half = call_.head / 2;
        const float* sines = cosines + half;
        const F d;
        for (std::int64_t head = 0; head < count_; head += call_.head) {
            float* low = row_ + head;
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

    void put(std::int32_t tensor, std::int64_t first, std::int64_t count, const Group& x) {
        put_some<Format>(x, count, call_.stream, matrix(tensor, first));
    }

    static constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
    const Call& call_;
    float* row_;
    std::int64_t at_ = 0, count_ = 0;
    float statistic_ = 0;
};

template <class Run>
void each_row(const Call& call, std::int64_t task, const Run& run) {
    const Layout& layout = call.layout;
    const std::int64_t last = std::min(layout.runs, (task + 1) * layout.runs_of_task);
    for (std::int64_t i = task * layout.runs_of_task; i < last; ++i) {
        const std::int64_t at = i * layout.length;
        run(at, std::min(layout.length, layout.elements - at));
    }
}

template <class Format>
void run_rows(const Call& call, std::int64_t task, std::byte* scratch) {
    RowRun<Format> rows(call, scratch);
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
    const auto known = [&]<std::size_t... chain>(std::index_sequence<chain...>) {
        const auto tried = [&](auto number) {
            constexpr std::size_t it = decltype(number)::value;
            // Only a rotation has its elements in the order of memory, and it needs that.
            constexpr bool in_order = !std::is_same_v<Format, FormatOfBf16Pairs>;
            if constexpr (has_rope(compiled_programs[it]) <= in_order &&
                          (has_rope(compiled_programs[it]) ||
                           !std::is_same_v<Format, FormatOfBf16>)) {
                if (call.chain == it) {
                    each_row(call, task, [&](std::int64_t at, std::int64_t count) {
                        rows.template run_compiled<it>(at, count);
                    });
                    return true;
                }
            }
            return false;
        };
        return (tried(std::integral_constant<std::size_t, chain>()) || ...);
    }(std::make_index_sequence<compiled_programs.size()>());
    if (known) {
        return;
    }
#endif
    each_row(call, task, [&](std::int64_t at, std::int64_t count) { rows.run(at, count); });
}

void run_task(const Call& call, std::int64_t task, std::byte* scratch) {
    switch (call.args.tensors[0].dtype) {
        case DType::fp32: run_rows<FormatOfFp32>(call, task, scratch); break;
        case DType::fp16: run_rows<FormatOfFp16>(call, task, scratch); break;
        default:
            // A rotation knows where in a row an element stands.
            if (has_rope(call.program)) {
                run_rows<FormatOfBf16>(call, task, scratch);
            } else {
                run_rows<FormatOfBf16Pairs>(call, task, scratch);
            }
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
                    compiled_index(program),
                    layout_of(program, args.extents[0], args.extents[1]),
                    head,
                    static_cast<float>(args.scalars[0]),
                    shape.stream != 0};
    deal_out(device, call.layout.tasks(), 1, [&](std::int64_t task, std::int64_t /*end*/) {
        const auto thread = static_cast<std::size_t>(omp_get_thread_num());
        HWY_DYNAMIC_DISPATCH(run_task)(
            call, task, static_cast<std::byte*>(workspace) + thread * call.layout.scratch_bytes());
    });
}
}  // namespace raceline::kernels::rows_cpu
#endif
