// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/emulated_case.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "workload/inputs.hpp"

namespace raceline::test {
namespace {

// Memory that starts as NaN, with a zone behind it that must stay so.
class Poisoned {
public:
    explicit Poisoned(std::size_t bytes) : bytes_(bytes), memory_(bytes + red_zone, untouched) {}
    template <class T>
    T* at() {
        return reinterpret_cast<T*>(memory_.data());
    }
    [[nodiscard]] bool intact() const {
        return std::all_of(memory_.begin() + static_cast<std::ptrdiff_t>(bytes_), memory_.end(),
                           [](std::byte b) { return b == untouched; });
    }

private:
    static constexpr std::size_t red_zone = 256;
    static constexpr std::byte untouched{0xFF};
    std::size_t bytes_;
    std::vector<std::byte> memory_;
};

// A tensor whose rows of `row` elements stand apart; what is between them is NaN and must stay so.
class Spread {
public:
    Spread(std::size_t rows, std::int64_t row, DType type, Gaps gaps)
        : rows_(rows),
          row_(static_cast<std::size_t>(row * bytes_of(type))),
          pitch_(row_ + static_cast<std::size_t>(gaps.behind * bytes_of(type))),
          elements_(row),
          behind_(gaps.behind),
          memory_(rows * pitch_ + 64, untouched),
          start_(memory_.data() + static_cast<std::size_t>(gaps.before * bytes_of(type))) {}
    void take(const std::byte* packed) {
        for (std::size_t i = 0; i < rows_; ++i) {
            std::copy_n(packed + i * row_, row_, start_ + i * pitch_);
        }
    }
    void give(std::byte* packed) const {
        for (std::size_t i = 0; i < rows_; ++i) {
            const std::byte* row = start_ + i * pitch_;
            std::copy_n(row, row_, packed + i * row_);
            EXPECT_TRUE(
                std::all_of(row + row_, row + pitch_, [](std::byte b) { return b == untouched; }))
                << "written behind row " << i;
        }
    }
    // The same tensor, apart.
    [[nodiscard]] TensorArg of(const TensorArg& packed) {
        const auto apart = [&](std::int64_t stride) {
            return stride / elements_ * (elements_ + behind_);
        };
        return {start_, apart(packed.batch_stride), apart(packed.seq_stride),
                apart(packed.head_stride)};
    }

private:
    static constexpr std::byte untouched{0xFF};
    std::size_t rows_, row_, pitch_;
    std::int64_t elements_, behind_;
    std::vector<std::byte> memory_;
    std::byte* start_;
};

}  // namespace

Correctness run_emulated(const Kernel& kernel, const Workload& w, int tile, const Device& device,
                         Draw draw, Gaps gaps, std::span<std::byte> workspace) {
    constexpr std::uint64_t seed = 7;
    const Inputs in = make_inputs(w, {.seed = seed, .draw = draw});
    const std::size_t out_bytes = in.out_elements * static_cast<std::size_t>(bytes_of(w.dtype));
    Poisoned out(out_bytes);
    Poisoned lse(in.lse_elements * sizeof(float));
    Poisoned scratch(kernel.workspace(w, tile, device));
    InputPointers at = pointers_into(in);
    at.out = out.at<void*>();
    at.lse = lse.at<float>();
    AttentionCall args = make_args(w, in, at);
    const auto spread = [&](const std::vector<std::byte>& packed, std::int64_t row, DType type) {
        Spread tensor(packed.size() / static_cast<std::size_t>(row * bytes_of(type)), row, type,
                      gaps);
        tensor.take(packed.data());
        return tensor;
    };
    Spread q = spread(in.q, w.headdim, w.dtype);
    Spread k = spread(in.k, w.headdim, w.kv_dtype);
    Spread v = spread(w.mla ? in.k : in.v, w.headdim_v, w.kv_dtype);
    Spread outputs(in.out_elements / static_cast<std::size_t>(w.headdim_v), w.headdim_v, w.dtype,
                   gaps);
    const bool apart = gaps.behind != 0 || gaps.before != 0;
    if (apart) {
        args.q = q.of(args.q);
        args.k = k.of(args.k);
        args.v = v.of(args.v);
        args.out = outputs.of(args.out);
    }
    EXPECT_TRUE(workspace.empty() || workspace.size() == kernel.workspace(w, tile, device));
    void* const its_workspace =
        workspace.empty() ? scratch.at<void*>() : static_cast<void*>(workspace.data());
    kernel.launch(args, tile, device, its_workspace, nullptr);
    if (apart) {
        outputs.give(out.at<std::byte>());
    }
    EXPECT_TRUE(out.intact()) << "the output is written past its end";
    EXPECT_TRUE(lse.intact()) << "the LSE is written past its end";
    EXPECT_TRUE(scratch.intact()) << "the workspace is written past its end";
    return judge(w, in, kernel.precision(w), {out.at<std::byte>(), out_bytes},
                 {lse.at<float>(), in.lse_elements}, seed, draw);
}

}  // namespace raceline::test
