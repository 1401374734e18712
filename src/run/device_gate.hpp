// SPDX-License-Identifier: Apache-2.0
// The gate on a GPU: inputs answered there in float64, every output compared there.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "run/cuda_arena.hpp"
#include "run/device_inputs.hpp"
#include "run/device_reference.hpp"
#include "run/gate.hpp"

namespace raceline {

/// One draw of a workload's inputs on the current GPU, and what every kernel and tile judged on it
/// shares. No kernel ever sees this copy. The workload must outlive it.
class DeviceDraw {
public:
    DeviceDraw(const Workload& workload, std::uint64_t seed, Draw draw);
    DeviceDraw(DeviceDraw&&) = delete;

    [[nodiscard]] const DeviceInputs& inputs() const { return inputs_; }

    /// Every element of the outputs in set `index` of an arena. `precision` is what the kernel
    /// declares. The first call works out the float64 answer and compares rows of it with the
    /// host's; a difference is an Error(internal): then no verdict can be trusted.
    Correctness judge(const Precision& precision, const CudaArena& arena, int index);

private:
    /// Arrays that the kernels of the gate read, kept on the device.
    struct Tables {
        cuda::DeviceBuffer tiles, start_q, start_k, row_keys, bad_values, key_scales, value_scales;
    };
    /// Memory of the operands that the gate's products read.
    struct Gathered {
        cuda::DeviceBuffer q, k, v, mean_squares;
    };
    struct Exact {
        cuda::DeviceBuffer out, lse, spread, largest, sum;
    };
    struct Rounded {
        Precision precision;
        Reference reference;
    };

    void upload_tables();
    void answer();
    void compare_with_host();
    void compare_row_with_host(GateAnswers& host, std::size_t i) const;
    const Reference& reference(const Precision& precision);
    [[nodiscard]] Gathered gather(Rounding products, std::int64_t first_channel) const;
    static device_gate::Operands addresses(const Gathered& gathered);
    [[nodiscard]] bool rounds_operands(Rounding products) const;
    Errors errors_of_rounding(const device_gate::Steps& steps, std::int64_t first_channel);
    [[nodiscard]] device_gate::Found run_comparison(const device_gate::Outputs& outputs) const;
    [[nodiscard]] std::string bad_output(const device_gate::Found& found, const CudaArena& arena,
                                         int index) const;
    Correctness judge_on_host(const Precision& precision, const CudaArena& arena, int index);

    const Workload& workload_;
    std::uint64_t seed_;
    Draw draw_;
    DeviceInputs inputs_;
    Tables tables_;
    device_gate::DrawnCall problem_{};
    std::int64_t rows_ = 0, scattering_ = 0;
    int bad_values_ = 0;
    Gathered operands_;
    std::optional<Exact> exact_;
    device_gate::Answers answers_{};
    std::vector<Rounded> rounded_;
};

}  // namespace raceline
