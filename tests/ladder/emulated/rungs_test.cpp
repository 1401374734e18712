// SPDX-License-Identifier: Apache-2.0
// Every rung's own source, run on the host and judged by the gate, over every tile and every shape
// below that it supports. What only a GPU can show (the memory model, real rounding, speed) is not
// shown here.
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "run/gate.hpp"
#include "workload/inputs.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr std::size_t red_zone = 256;

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
    std::size_t bytes_;
    std::vector<unsigned char> memory_;
};

Device small_gpu() {
    Device d;
    d.kind = DeviceKind::cuda;
    d.compute_capability = 90;
    d.units = 7;
    d.smem_bytes_per_unit = 233472;
    d.smem_bytes_per_cta = test::most_shared_bytes;
    d.threads_per_unit = 2048;
    d.memory_bytes = std::int64_t{1} << 36;
    d.l2_bytes = 50 << 20;
    d.rates["flop.mma.fp16"] = {1e15, "any", 0, "", 0};
    return d;
}

Correctness run(const Kernel& kernel, const Workload& w, int tile, const Device& device) {
    const Inputs in = make_inputs(w, {.seed = 11});
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
        {lse.at<float>(), in.lse_elements}, 11);
}

// Lengths that are no multiple of a tile, more queries than keys and fewer, no keys at all.
const std::vector<std::string> shapes{
    "b=2,h=2,q=37,k=70,d=64,dtype=fp16",
    "b=2,h=2,q=37,k=70,d=64,dtype=fp32",
    "b=1,h=2,q=70,k=37,d=128,dtype=fp16,causal",
    "b=1,h=1,q=70,k=37,d=128,dtype=fp32,causal",
    "b=1,h=2,q=150,k=150,d=64,dtype=fp16,causal",
    "b=1,h=1,q=37,k=300,d=128,dtype=fp16,causal",
    "b=1,h=1,q=3,k=0,d=64,dtype=fp16",
    "b=1,h=2,q=1,k=513,d=128,dtype=fp16",
    "b=1,h=1,q=128,k=128,d=64,dtype=fp16",
    "b=1,h=1,q=65,k=1,d=128,dtype=fp16",
};

// From the build: the folders whose device files are linked into this program.
const std::vector<std::string> rungs{RACELINE_EMULATED};

class Rung : public testing::TestWithParam<std::string> {};
TEST_P(Rung, is_correct_in_every_tile) {
    test::shared_memory() = [] { return reinterpret_cast<float*>(test::dynamic_shared); };
    const Kernel& kernel = find_kernel(GetParam());
    const Device device = small_gpu();
    int ran = 0;
    for (const std::string& shape : shapes) {
        const Workload w = parse_shape(shape);
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.why_not(w, tile, device).empty()) {
                const Correctness c = run(kernel, w, tile, device);
                EXPECT_TRUE(c.passed) << shape << ' ' << kernel.tile_text(tile) << ": " << c.why;
                ++ran;
            }
        }
    }
    EXPECT_GE(ran, 6) << "the shapes of this test are too few for it";
}
INSTANTIATE_TEST_SUITE_P(Emulated, Rung, testing::ValuesIn(rungs),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace raceline
