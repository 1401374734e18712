// SPDX-License-Identifier: Apache-2.0
// One case on the emulated GPU: poisoned memory around every output, judged by the gate.
#pragma once

#include <cstddef>
#include <gtest/gtest.h>
#include <vector>

#include "registry/registry.hpp"
#include "run/gate.hpp"
#include "workload/inputs.hpp"

namespace raceline::test {

// Memory that starts as NaN, with a zone behind it that must stay so.
class Poisoned {
public:
    explicit Poisoned(std::size_t bytes) : bytes_(bytes), memory_(bytes + red_zone, 0xFF) {}
    template <class T>
    T* at() {
        return reinterpret_cast<T*>(memory_.data());
    }
    [[nodiscard]] bool intact() const {
        for (std::size_t i = bytes_; i < memory_.size(); ++i) {
            if (memory_[i] != 0xFF) {
                return false;
            }
        }
        return true;
    }

private:
    static constexpr std::size_t red_zone = 256;
    std::size_t bytes_;
    std::vector<unsigned char> memory_;
};

inline Device small_gpu(int units) {
    Device d;
    d.kind = DeviceKind::cuda;
    d.compute_capability = 90;
    d.units = units;
    d.smem_bytes_per_unit = 233472;
    d.smem_bytes_per_cta = 232448;
    d.threads_per_unit = 2048;
    d.registers_per_unit = 65536;
    d.memory_bytes = std::int64_t{1} << 36;
    d.l2_bytes = 50 << 20;
    return d;
}

inline Correctness run_emulated(const Kernel& kernel, const Workload& w, int tile,
                                const Device& device) {
    const Inputs in = make_inputs(w, {.seed = 7});
    Poisoned out(in.out_elements * static_cast<std::size_t>(bytes_of(w.dtype)));
    Poisoned lse(in.lse_elements * sizeof(float));
    Poisoned scratch(kernel.workspace(w, tile, device));
    const auto data = [](const auto& list) { return list.empty() ? nullptr : list.data(); };
    const auto writable = [](const std::vector<std::byte>& bytes) {
        return const_cast<std::byte*>(bytes.data());
    };
    InputPointers at;
    at.q = writable(in.q);
    at.k = writable(in.k);
    at.v = writable(w.mla ? in.k : in.v);
    at.out = out.at<void*>();
    at.lse = lse.at<float>();
    at.seqlens_k = data(in.seqlens_k);
    at.block_table = data(in.block_table);
    at.k_scale = data(in.k_scale);
    at.v_scale = data(in.v_scale);
    kernel.launch(make_args(w, in, at), tile, device, scratch.at<void*>(), nullptr);
    EXPECT_TRUE(out.intact() && lse.intact() && scratch.intact());
    return judge(
        w, in, kernel.precision(w),
        {out.at<std::byte>(), in.out_elements * static_cast<std::size_t>(bytes_of(w.dtype))},
        {lse.at<float>(), in.lse_elements}, 7);
}

}  // namespace raceline::test
